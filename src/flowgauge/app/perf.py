"""Runs a perf scenario from its file to its files: load, start workers, run, judge, write.

Everything that can be wrong with what was asked is found before a worker is started.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from flowgauge.app.perf_services import SERVICES
from flowgauge.app.perf_workflows import stored_workflow
from flowgauge.app.provenance import commit_here, machine_class
from flowgauge.errors import NotMeasured
from flowgauge.model.ids import content_hash
from flowgauge.perf.builtin import SCENARIO
from flowgauge.perf.comparing import compare_runs, require_same_machine, require_same_scenario
from flowgauge.perf.files import (
    BUILT_IN,
    SAMPLED,
    Compared,
    Host,
    Judgement,
    Manifest,
    Metrics,
    RowFacts,
    RunArtifacts,
    Sample,
    ScenarioFacts,
    Series,
    SeriesRow,
    StartUp,
    Summary,
    as_json,
    file_name,
    series_as_json,
)
from flowgauge.perf.history import EarlierRun, earlier_runs, read_run
from flowgauge.perf.host import this_host
from flowgauge.perf.keeping import CannotWrite, Folder
from flowgauge.perf.metrics import metrics_rows
from flowgauge.perf.plan import episodes, prepare, repeats
from flowgauge.perf.pool import EpisodePool, StoppedEarly
from flowgauge.perf.running import run_episodes
from flowgauge.perf.sampling import Sampler
from flowgauge.perf.scenario import LoadedScenario, load_scenario
from flowgauge.perf.summary import summarise
from flowgauge.perf.thresholds import Threshold, chosen, judge, read_threshold, read_threshold_file
from flowgauge.perf.trend import Measured
from flowgauge.report.painting import painter


class PerfRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for."""

    scenario: Path | None = None
    """None: the built-in one."""
    episodes: int = 24
    workers: int = 4
    timeout_s: float = 180.0
    strict: bool = False
    compress: bool = False
    charts: bool = False
    output_dir: Path = Path("deliverables/perf")
    repeats: int = 2
    thresholds: tuple[str, ...] = ()
    threshold_file: Path | None = None
    compare: Path | None = None
    any_machine: bool = False
    db: str = ""
    command: str = "flowgauge perf"


class PerfOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    manifest: Manifest
    summary: Summary
    metrics: Metrics
    series: Series
    folder: Path
    trouble: str = ""
    """Why not everything is in the folder; empty: it is."""

    @property
    def broken(self) -> tuple[Judgement, ...]:
        """The thresholds that were not kept."""
        return tuple(judgement for judgement in self.summary.thresholds if judgement.broken)

    @property
    def exit_code(self) -> Literal[0, 1, 3, 130]:
        """As the command answers."""
        if self.trouble:
            return 3
        if self.manifest.interrupted:
            return 130
        found = {line.status for line in self.summary.comparison}
        if self.broken or "failed" in found:
            return 1
        return 3 if "not_measured" in found else 0


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """All that was read before anything ran."""

    loaded: LoadedScenario
    thresholds: tuple[Threshold, ...]
    earlier: EarlierRun | None
    earlier_rows: tuple[SeriesRow, ...]
    host: Host


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured."""

    rows: list[SeriesRow]
    again: list[SeriesRow]
    samples: list[Sample]
    duration_s: float
    start_up: StartUp


Told = Callable[[SeriesRow], None]


async def run_perf(request: PerfRequest, *, stop: asyncio.Event, told: Told = lambda _: None) -> PerfOutcome:
    """Raises UsageError before anything runs, NotMeasured where nothing could."""
    asked = await asyncio.to_thread(_read, request)
    folder = Folder(request.output_dir)
    try:
        ran = await _run(request, asked, folder, stop, told)
    except BaseException:
        folder.give_up()
        raise
    if not ran.rows and not stop.is_set() and not folder.trouble:
        raise NotMeasured("No episode came to an end.", remedy="Look at the scenario.")
    return await asyncio.to_thread(_conclude, request, asked, folder, ran, stop.is_set() or bool(folder.trouble))


def _read(request: PerfRequest) -> Asked:
    if request.charts:
        painter()  # a missing extra is said before anything runs
    machine = machine_class()
    loaded = load_scenario(request.scenario or SCENARIO, lambda reference: stored_workflow(request.db, reference))
    earlier = read_run(request.compare) if request.compare else None
    if earlier is not None:
        require_same_scenario(loaded.scenario.name, earlier.manifest)
        if not request.any_machine:
            require_same_machine(machine, earlier.manifest)
    from_file = read_threshold_file(request.threshold_file) if request.threshold_file else None
    return Asked(
        loaded=loaded,
        thresholds=chosen(request.episodes, from_file, map(read_threshold, request.thresholds), earlier.summary if earlier else None),
        earlier=earlier,
        earlier_rows=earlier.rows() if earlier else (),
        host=this_host(machine, commit_here(loaded.folder)),
    )


async def _run(request: PerfRequest, asked: Asked, folder: Folder, stop: asyncio.Event, told: Told) -> Ran:
    setup = prepare(asked.loaded, timeout_s=request.timeout_s, services=SERVICES, strict=request.strict)
    workers = min(request.workers, request.episodes)
    begun = time.perf_counter()
    try:
        async with EpisodePool(setup, workers, stop=stop) as pool:
            ready = time.perf_counter()
            sampler = Sampler(lambda: pool.pids, lambda: folder.file_count)
            async with sampler.sampling():
                plan = episodes(asked.loaded.scenario, request.episodes)
                rows = await run_episodes(pool, plan, folder, workers=workers, stop=stop, told=told)
            duration_s = time.perf_counter() - ready
            plan = repeats(asked.loaded.scenario, request.episodes, request.repeats)
            again = await run_episodes(pool, plan, folder, workers=workers, stop=stop, told=lambda _: None)
            start_up = StartUp(
                workers_started=len(pool.started_s), workers_replaced=pool.replaced, median_s=pool.start_s, total_s=ready - begun
            )
    except StoppedEarly:
        start_up = StartUp(workers_started=0, workers_replaced=0, median_s=None, total_s=time.perf_counter() - begun)
        return Ran(rows=[], again=[], samples=[], duration_s=0.0, start_up=start_up)
    return Ran(rows=rows, again=again, samples=sampler.samples, duration_s=duration_s, start_up=start_up)


def _conclude(request: PerfRequest, asked: Asked, folder: Folder, ran: Ran, interrupted: bool) -> PerfOutcome:
    manifest = _manifest(request, asked, folder, interrupted=interrupted, sampled=bool(ran.samples))
    history = earlier_runs(folder.path, manifest)
    past = [row for run in history for row in _rows_of(run)]
    summary = summarise(
        folder.stamp,
        ran.rows,
        workers=min(request.workers, request.episodes),
        duration_s=ran.duration_s,
        samples=ran.samples,
        start_up=ran.start_up,
        run_artifacts=_footprint(folder),
        recovered=[*past, *ran.again],
        earlier_rss_bytes=[bytes_ for run in history if (bytes_ := run.summary.system_samples.process_rss_bytes) is not None],
    )
    outcome = PerfOutcome(
        manifest=manifest,
        summary=_judged(asked, manifest, ran.rows, summary),
        metrics=Metrics(stamp=folder.stamp, rows=metrics_rows(ran.rows, ran.again, past)),
        series=Series(stamp=folder.stamp, rows=tuple(ran.rows), samples=tuple(ran.samples)),
        folder=folder.path,
    )
    return _written(outcome, folder, charts=request.charts, compress=request.compress)


def _judged(asked: Asked, manifest: Manifest, rows: Sequence[SeriesRow], summary: Summary) -> Summary:
    """With thresholds and comparison."""
    reference = asked.earlier.summary if asked.earlier else None
    judgements = judge(Measured(rows=rows, summary=summary, reference=reference), asked.thresholds)
    if asked.earlier is None:
        return msgspec.structs.replace(summary, thresholds=judgements)
    result = compare_runs(manifest, rows, asked.earlier.manifest, asked.earlier_rows)
    lines = tuple(Compared(subject=line.subject, status=line.status, verdict=line.verdict, line=line.words) for line in result.lines)
    return msgspec.structs.replace(summary, thresholds=judgements, compared_with=asked.earlier.manifest.stamp, comparison=lines)


def _written(outcome: PerfOutcome, folder: Folder, *, charts: bool, compress: bool) -> PerfOutcome:
    """All files, the manifest last: what it names is there. What cannot be written is told, and those that could be are named."""
    names: list[str] = []
    try:
        manifest = _put(outcome, folder, names, charts=charts, compress=compress)
    except CannotWrite:
        manifest = msgspec.structs.replace(outcome.manifest, artifact_set=tuple(sorted(names)))
    if not folder.runs.is_dir():
        gone = RunArtifacts(root=folder.runs.name, file_count=0, total_bytes=0, avg_bytes=None)
        outcome = msgspec.structs.replace(outcome, summary=msgspec.structs.replace(outcome.summary, run_artifacts=gone))
    return msgspec.structs.replace(outcome, manifest=manifest, trouble=folder.trouble)


def _put(outcome: PerfOutcome, folder: Folder, names: list[str], *, charts: bool, compress: bool) -> Manifest:
    """The manifest as it was written; `names` grows by every file that was."""
    if charts:
        names.extend(_pictures(outcome, folder))
    names.append(folder.write("summary", as_json(outcome.summary)))
    names.append(folder.write("metrics", as_json(outcome.metrics)))
    names.append(folder.write("series", series_as_json(outcome.series)))
    bundle = file_name("artifacts", folder.stamp, "zip") if compress else None
    own = file_name("manifest", folder.stamp)
    inside = (own, *sorted(names))
    manifest = msgspec.structs.replace(outcome.manifest, artifact_set=(*inside, *([bundle] if bundle else [])), bundle=bundle)
    names.append(folder.write("manifest", as_json(manifest)))
    if bundle:
        folder.write_bundle(bundle, inside)
    return manifest


def _pictures(outcome: PerfOutcome, folder: Folder) -> Iterator[str]:
    from flowgauge.perf.page import page_html
    from flowgauge.perf.pictures import pictures

    for word, ending, content in pictures(outcome.series):
        yield folder.write(word, content, ending)
    page = page_html(outcome.manifest, outcome.summary, outcome.metrics, outcome.series)
    yield folder.write("report", page.encode(), "html")


def _manifest(request: PerfRequest, asked: Asked, folder: Folder, *, interrupted: bool, sampled: bool) -> Manifest:
    scenario = asked.loaded.scenario
    return Manifest(
        stamp=folder.stamp,
        generated_at=datetime.now(UTC).isoformat(timespec="seconds"),
        command=request.command,
        episodes=request.episodes,
        workers=min(request.workers, request.episodes),
        timeout=request.timeout_s,
        strict_spec=request.strict,
        compress=request.compress,
        repeats=request.repeats,
        interrupted=interrupted,
        scenario=ScenarioFacts(
            name=scenario.name,
            file=str(request.scenario) if request.scenario else BUILT_IN,
            description=scenario.description,
            hash=content_hash(msgspec.json.encode(scenario, order="sorted")),
            rows=tuple(RowFacts(agent=row.name, task_ref=row.task, base_seed=row.seed, inputs=row.inputs) for row in scenario.rows),
        ),
        system_samples=SAMPLED if sampled else (),
        artifact_set=(),
        bundle=None,
        host=asked.host,
    )


def _footprint(folder: Folder) -> RunArtifacts:
    count = folder.file_count
    return RunArtifacts(
        root=folder.runs.name, file_count=count, total_bytes=folder.total_bytes, avg_bytes=folder.total_bytes / count if count else None
    )


def _rows_of(run: EarlierRun) -> Sequence[SeriesRow]:
    """None where a series was moved away: recovery is then told without it."""
    from flowgauge.errors import UsageError

    try:
        return run.rows()
    except UsageError:
        return ()
