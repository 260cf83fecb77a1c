"""A whole run, from the scenario to its files: field for field, by their schemas, whole, and the same again."""

from __future__ import annotations

import asyncio
import json
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.perf.stage_rows import write_scenario

from flowgauge.app.perf import PerfOutcome, PerfRequest, run_perf
from flowgauge.cli.schema import schema_of
from flowgauge.errors import UsageError
from flowgauge.perf import keeping
from flowgauge.perf.artifact import violations
from flowgauge.perf.files import FILES, file_json_schema
from flowgauge.perf.history import read_run


def perf(**asked: Any) -> PerfOutcome:
    async def run() -> PerfOutcome:
        return await run_perf(PerfRequest(**asked), stop=asyncio.Event())

    return asyncio.run(run())


def read(outcome: PerfOutcome, word: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((outcome.folder / f"perf-{word}-{outcome.manifest.stamp}.json").read_bytes())
    return value


@pytest.fixture(scope="module")
def slice_of_24(tmp_path_factory: pytest.TempPathFactory) -> PerfOutcome:
    """The everyday slice, in a folder that holds another run's artifacts already."""
    folder = tmp_path_factory.mktemp("out") / "deliverables" / "perf"
    older = folder / "perf-runs-20200101T000000Z"
    older.mkdir(parents=True)
    (older / "episode-000001.json").write_bytes(b"x" * 100_000)
    return perf(episodes=24, workers=4, strict=True, compress=True, output_dir=folder)


def test_the_everyday_slice_keeps_its_thresholds(slice_of_24: PerfOutcome) -> None:
    assert slice_of_24.exit_code == 0
    assert [judgement.line for judgement in slice_of_24.broken] == []
    assert len(slice_of_24.summary.thresholds) == 5


@pytest.mark.parametrize("word", FILES)
def test_every_file_fits_its_published_schema(slice_of_24: PerfOutcome, word: str) -> None:
    schema = schema_of(f"perf-{word}")
    assert schema == file_json_schema(word)
    jsonschema.Draft202012Validator(schema).validate(read(slice_of_24, word))


def test_every_run_artifact_fits_the_published_schema(slice_of_24: PerfOutcome) -> None:
    validator = jsonschema.Draft202012Validator(schema_of("perf-run"))
    files = sorted((slice_of_24.folder / slice_of_24.summary.run_artifacts.root).iterdir())
    assert len(files) == 24
    for file in files:
        value = json.loads(file.read_bytes())
        validator.validate(value)
        assert violations(value) == []


SPEC = {
    "manifest": """generated_at episodes workers timeout strict_spec compress scenario system_samples artifact_set bundle host""",
    "summary": """summary episodes success_count failure_count max_wall_clock_s failure_reasons run_artifacts system_samples
        telemetry_verbosity""",
    "summary.summary": "total passed failed workers p50_wall_clock_s p95_wall_clock_s",
    "summary.run_artifacts": "root file_count total_bytes avg_bytes",
    "summary.system_samples": """available provider cpu_percent process_rss_bytes system_memory_total_bytes
        system_memory_available_bytes""",
    "summary.telemetry_verbosity": """artifact_bytes_total artifact_bytes_avg artifact_bytes_max llm_trace_entries_total
        llm_trace_entries_avg prompt_bytes_total completion_bytes_total tokens_used_total""",
    "metrics.rows.0": """task_ref agent run_count success_rate reproducibility_rate steps_p50 steps_p95 steps_ceiling tool_calls_p50
        tool_calls_p95 tool_calls_ceiling failure_taxonomy termination_taxonomy avg_wall_clock_s artifact_bytes_total prompt_bytes_total
        completion_bytes_total tokens_used_total""",
    "series.rows.0": """episode episode_index agent task_ref seed success wall_clock_s error artifact_bytes llm_trace_entries prompt_bytes
        completion_bytes tokens_used""",
    "series.samples.0": "at_s cpu_percent process_rss_bytes open_files event_loop_lag_ms",
    "manifest.host": "cpu cores memory_bytes os python versions git",
}
"""What the design asks for, field for field."""


@pytest.mark.parametrize("place", SPEC)
def test_field_for_field(slice_of_24: PerfOutcome, place: str) -> None:
    word, *way = place.split(".")
    value: Any = read(slice_of_24, word)
    for part in way:
        value = value[int(part) if part.isdigit() else part]
    assert set(SPEC[place].split()) <= value.keys()


def test_the_series_is_in_episode_order_with_the_planned_seeds(slice_of_24: PerfOutcome) -> None:
    rows = read(slice_of_24, "series")["rows"]
    bases = [facts["base_seed"] for facts in read(slice_of_24, "manifest")["scenario"]["rows"]]
    assert [row["episode"] for row in rows] == list(range(1, 25))
    assert [row["episode_index"] for row in rows] == list(range(24))
    assert [row["seed"] for row in rows] == [bases[index % 5] + index // 5 for index in range(24)]


def test_files_are_stamped_alike_and_all_are_named_in_the_manifest(slice_of_24: PerfOutcome) -> None:
    stamp = slice_of_24.manifest.stamp
    here = {file.name for file in slice_of_24.folder.iterdir() if file.is_file()}
    assert set(slice_of_24.manifest.artifact_set) == here
    assert all(stamp in name for name in here)
    assert {read(slice_of_24, word)["stamp"] for word in FILES} == {stamp}


def test_the_zip_holds_the_final_files_byte_for_byte(slice_of_24: PerfOutcome) -> None:
    bundle = slice_of_24.manifest.bundle
    assert bundle == f"perf-artifacts-{slice_of_24.manifest.stamp}.zip"
    with zipfile.ZipFile(slice_of_24.folder / bundle) as archive:
        assert archive.testzip() is None
        assert set(archive.namelist()) == set(slice_of_24.manifest.artifact_set) - {bundle}
        assert {f"perf-{word}-{slice_of_24.manifest.stamp}.json" for word in FILES} <= set(archive.namelist())
        for name in archive.namelist():
            assert archive.read(name) == (slice_of_24.folder / name).read_bytes()


def test_only_this_runs_artifacts_are_counted(slice_of_24: PerfOutcome) -> None:
    found = slice_of_24.summary.run_artifacts
    files = list((slice_of_24.folder / found.root).iterdir())
    assert (found.file_count, found.total_bytes) == (24, sum(file.stat().st_size for file in files))
    assert found.avg_bytes == found.total_bytes / 24
    assert found.total_bytes == slice_of_24.summary.telemetry_verbosity.artifact_bytes_total


def test_start_up_is_apart_from_every_wall_clock(slice_of_24: PerfOutcome) -> None:
    start = slice_of_24.summary.start_up
    assert start.workers_started == 4
    assert start.total_s > 0
    assert start.median_s is not None
    assert start.median_s > (slice_of_24.summary.summary.p50_wall_clock_s or 0)


def test_seeds_are_repeated_to_measure_reproducibility(slice_of_24: PerfOutcome) -> None:
    rows = slice_of_24.metrics.rows
    assert [(row.repeated_seeds, row.reproducibility_rate, row.identical_rate) for row in rows] == [(2, 1.0, 1.0)] * 5


def test_two_runs_with_the_same_seeds_have_equal_artifact_hashes(slice_of_24: PerfOutcome, tmp_path: Path) -> None:
    again = perf(episodes=24, workers=2, strict=True, output_dir=tmp_path, repeats=0)
    assert [row.artifact_hash for row in again.series.rows] == [row.artifact_hash for row in slice_of_24.series.rows]
    assert [row.run_id for row in again.series.rows] != [row.run_id for row in slice_of_24.series.rows]
    assert all(row.reproducibility_rate is None for row in again.metrics.rows)


def test_a_run_is_held_against_an_earlier_one_of_the_same_machine(slice_of_24: PerfOutcome, tmp_path: Path) -> None:
    manifest = slice_of_24.folder / f"perf-manifest-{slice_of_24.manifest.stamp}.json"
    found = perf(episodes=24, workers=4, output_dir=tmp_path, compare=manifest, repeats=0)
    assert found.summary.compared_with == slice_of_24.manifest.stamp
    subjects = {line.subject for line in found.summary.comparison}
    assert {"pass rate", "wall clock of vault@1 · agents.py:explorer", "artifact_bytes", "tokens_used"} <= subjects
    assert {line.verdict for line in found.summary.comparison if line.subject in ("artifact_bytes", "tokens_used")} == {"unchanged"}


def test_another_class_of_machine_is_refused_unless_told(slice_of_24: PerfOutcome, tmp_path: Path) -> None:
    for word in ("manifest", "summary", "series"):
        name = f"perf-{word}-{slice_of_24.manifest.stamp}.json"
        text = (slice_of_24.folder / name).read_text().replace(slice_of_24.manifest.host.machine, "vax-8mb")
        (tmp_path / name).write_text(text)
    asked = {"episodes": 5, "workers": 1, "output_dir": tmp_path / "out", "compare": tmp_path, "repeats": 0}
    with pytest.raises(UsageError, match=r"another class of machine: vax-8mb.*--any-machine"):
        perf(**asked)
    assert not (tmp_path / "out").exists()
    assert perf(**asked, any_machine=True).summary.compared_with == slice_of_24.manifest.stamp


SLOWER = "import time\ndef agent(run):\n    time.sleep({})\n    run.step({{'type': 'x'}})\n    return {}\n"


def test_a_slower_and_a_failing_run_are_found_by_comparison(tmp_path: Path) -> None:
    line = ['agent: "agents.py:agent", task: t@1, expect: 1']
    first = perf(scenario=write_scenario(tmp_path, SLOWER.format(0.002, 1), line), episodes=20, output_dir=tmp_path / "a", repeats=0)
    write_scenario(tmp_path, SLOWER.format(0.03, 1), line)
    slower = perf(scenario=tmp_path / "scenario.yaml", episodes=20, output_dir=tmp_path / "b", repeats=0, compare=first.folder)
    assert {line.subject: line.verdict for line in slower.summary.comparison}["wall clock of t@1 · agents.py:agent"] == "regressed"
    assert slower.exit_code == 1
    write_scenario(tmp_path, SLOWER.format(0.002, 2), line)
    failing = perf(scenario=tmp_path / "scenario.yaml", episodes=20, output_dir=tmp_path / "c", repeats=0, compare=first.folder)
    broken = {judgement.threshold for judgement in failing.broken}
    assert {"failure_count == 0", "no new failure_reasons"} <= broken
    assert failing.exit_code == 1


def test_earlier_runs_of_the_folder_tell_memory_between_runs_and_recovery(tmp_path: Path) -> None:
    line = ['agent: "agents.py:agent", task: t@1, expect: 1']
    out = tmp_path / "out"
    asked = {"scenario": tmp_path / "scenario.yaml", "episodes": 2, "workers": 1, "output_dir": out, "repeats": 0}
    write_scenario(tmp_path, SLOWER.format(0, 2), line)
    assert perf(**asked).summary.mean_time_to_recovery_s is None
    write_scenario(tmp_path, SLOWER.format(0, 1), line)
    recovered = perf(**asked)
    assert (recovered.summary.mean_time_to_recovery_s or 0) > 0
    assert (recovered.metrics.rows[0].mean_time_to_recovery_s or 0) > 0
    perf(**asked)
    between = {finding.name: finding for finding in perf(**asked).summary.drift}["memory_between_runs"]
    assert between.state == "steady"
    assert "in 3 runs" in between.line


def test_a_stamp_is_never_used_twice(tmp_path: Path) -> None:
    first, second = keeping.Folder(tmp_path), keeping.Folder(tmp_path)
    assert first.stamp != second.stamp
    assert first.runs != second.runs


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = keeping.Folder(tmp_path)
    name = folder.write("summary", b"old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(keeping.CannotWrite, match="No space left on device"):
        folder.write("summary", b"new")
    with pytest.raises(keeping.CannotWrite, match=r"perf-all.zip cannot be written: No space left"):
        folder.write_bundle("perf-all.zip", (name,))
    assert (tmp_path / name).read_bytes() == b"old"
    assert {path.name for path in tmp_path.iterdir()} == {name, folder.runs.name}
    assert folder.trouble.startswith(f"{name} cannot be written")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(None, "cannot be read", id="no file"),
        pytest.param("{}", "is no file of a perf run", id="another file"),
    ],
)
def test_what_is_no_run_cannot_be_compared_with(tmp_path: Path, content: str | None, words: str) -> None:
    path = tmp_path / "perf-manifest-20260101T000000Z.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsageError, match=words):
        read_run(path)


def test_a_folder_of_several_runs_says_which_to_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds 0 runs"):
        read_run(tmp_path)


def test_a_scenario_that_cannot_run_leaves_no_trace_in_the_folder(tmp_path: Path) -> None:
    path = write_scenario(tmp_path, "raise RuntimeError('not today')\ndef f(): pass\n", ['agent: "agents.py:f", task: t@1'])
    with pytest.raises(UsageError, match="not today"):
        perf(scenario=path, output_dir=tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
