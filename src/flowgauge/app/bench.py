"""Bench: one target × configurations × cases × runs, measured, stored, aggregated.

Each stage is a line of `run_bench`: what to run, who runs it, the trials, the
end, the numbers.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from flowgauge.aggregate.rows import TrialRow
from flowgauge.app.bench_again import check_as_given, check_request, extended, taken_up
from flowgauge.app.bench_fingerprint import providers_of, retries_of
from flowgauge.app.bench_job import Setting, configured, open_job, workers_db
from flowgauge.app.bench_pins import hold
from flowgauge.app.bench_target import Aim, aim, aim_at_function
from flowgauge.app.provenance import commit_here, machine_class
from flowgauge.app.services import Isolation
from flowgauge.app.tracing import send_bench, trace_id_here
from flowgauge.app.workspace import Workspace
from flowgauge.errors import Conflict, StoreFailure
from flowgauge.model.bench import Bench, BenchRecord, PlannedTrial, Trial
from flowgauge.model.benchmark import Benchmark, BenchSummary
from flowgauge.plan.ids import definition_hash
from flowgauge.plan.order import expand, total
from flowgauge.run.executors.executor import Executor
from flowgauge.run.heap import steady_heap
from flowgauge.run.trials import TrialsOutcome, run_trials

if TYPE_CHECKING:
    from flowgauge.store.store import Store

How = Literal["new", "continued", "held"]
LOOK_S = 1.0
"""How often a bench looks for a request to stop it."""


class BenchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for. Of `resume`, `retry_errors`, `extend` and `bench_id` at most one is given."""

    workflow: str = ""
    target: str = ""
    version: str = ""
    configs: Any = None
    """A path, plain values, or nothing."""
    options: dict[str, Any] = {}
    """Laid over the file: runs, max_concurrency, filters, limit, tags, seed, budget_usd, cache, timeout_s, name."""
    bench_id: str = ""
    new: bool = False
    extend: str = ""
    resume: str = ""
    retry_errors: str = ""
    executor: Literal["local", "process"] = "local"
    workers: int | None = None
    isolation: Isolation = "auto"
    db: str = ""
    grace_s: float = 10.0
    function: Callable[..., Any] | None = None
    """A python target that was handed over as it is."""


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """A bench that this process owns, before its first trial."""

    record: BenchRecord
    how: How
    warnings: tuple[str, ...] = ()


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """What a follower is told before the first trial."""

    record: BenchRecord
    how: How
    done: int
    """Trials that have a result already."""
    left: int


class BenchOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """A bench, run and aggregated."""

    record: BenchRecord
    how: How
    ran: TrialsOutcome
    summary: BenchSummary
    benchmarks: tuple[Benchmark, ...] = ()
    warnings: tuple[str, ...] = ()


class Follower:
    """Told what happens; the command line draws it. Does nothing by itself."""

    def started(self, started: Started) -> None:
        """Before the first trial."""

    def trial(self, trial: Trial) -> None:
        """A trial is on disk."""


async def run_bench(
    workspace: Workspace, request: BenchRequest, *, follower: Follower | None = None, stop: asyncio.Event | None = None
) -> BenchOutcome:
    """Run what is asked for, from a plan to stored benchmarks."""
    return await finish_begun(workspace, request, await begin_bench(workspace, request), follower=follower, stop=stop)


async def begin_bench(workspace: Workspace, request: BenchRequest) -> Begun:
    """Define and own it: stored, and no trial of it run. Raises BadFile, NotFound, or Conflict where somebody else runs it."""
    aimed, warnings = await asyncio.to_thread(load, workspace.store, request)
    record, how = await asyncio.to_thread(begin, workspace, request, aimed)
    return Begun(record=record, how=how, warnings=warnings)


async def finish_begun(
    workspace: Workspace, request: BenchRequest, begun: Begun, *, follower: Follower | None = None, stop: asyncio.Event | None = None
) -> BenchOutcome:
    """From its plan to its stored benchmarks."""
    follower, stop = follower or Follower(), stop or asyncio.Event()
    record, how, warnings = begun.record, begun.how, begun.warnings
    plan, done, left = await asyncio.to_thread(remaining, workspace.store, record, request, how)
    follower.started(Started(record=record, how=how, done=done, left=left))
    begun_ms = workspace.services.clock.tick_ms()
    async with _cancellable(workspace.store, record.uid, stop):
        ran = await _measure(workspace, request, record, how, plan, follower, stop)
    took_ms = workspace.services.clock.tick_ms() - begun_ms
    ended = await asyncio.to_thread(_ended, workspace, request, record, ran, took_ms)
    if ran.status == "finished" != ended.status:
        warnings = (*warnings, f"Trials are left that were never run. Go on with: flowgauge bench --resume {ended.bench_id}")
    summary = await asyncio.to_thread(summary_of, workspace.store, ended)
    benchmarks = await asyncio.to_thread(_keep, workspace.store, summary)
    ended = await asyncio.to_thread(_finish, workspace, ended, took_ms)
    summary = msgspec.structs.replace(summary, bench=ended)
    untraced = await asyncio.to_thread(send_bench, workspace.store, summary, before=record.trace_id)
    warnings = (*warnings, untraced) if untraced else warnings
    return BenchOutcome(record=ended, how=how, ran=ran, summary=summary, benchmarks=benchmarks, warnings=warnings)


@steady_heap()
def load(store: Store, request: BenchRequest) -> tuple[Bench | None, tuple[str, ...]]:
    """The definition: from the file and the command line, or none where a stored bench is taken up again."""
    check_request(request)
    if request.resume or request.retry_errors:
        return None, ()
    if request.function is not None:
        return define(aim_at_function(request.function), request)
    bench, warnings = define(aim(store, request.workflow, request.target, request.version), request)
    return hold(store, bench), warnings


def define(aimed: Aim, request: BenchRequest) -> tuple[Bench, tuple[str, ...]]:
    """Read the bench file (or plain values) for a target. Raises BadFile with every mistake."""
    from flowgauge.define.bench import bench_from_value, load_bench
    from flowgauge.score.problems import check_problems
    from flowgauge.score.table import CHECK_TYPES

    options: Any = {**request.options, "check_types": CHECK_TYPES, "complain": check_problems}
    if request.configs is None or isinstance(request.configs, str | Path):
        loaded = load_bench(request.configs, aimed.target, aimed.workflow, **options)
    else:
        loaded = bench_from_value(request.configs, aimed.target, aimed.workflow, **options)
    told = tuple(f"{loaded.file or 'bench'}:{problem}" for problem in loaded.warnings)
    return loaded.bench, (*aimed.warnings, *told)


@steady_heap()
def begin(workspace: Workspace, request: BenchRequest, bench: Bench | None) -> tuple[BenchRecord, How]:
    """Own the bench: a new one, or one that was left. Raises Conflict where somebody else runs it.

    One that is taken up as it was defined has the status it was found in.
    It is run as it was given: what the store hides of a definition (a key in an input) is hidden from readers, not from the target.
    """
    store, owner_sid = workspace.store, workspace.owner.sid
    if bench is None:
        there = store.get_bench(request.resume or request.retry_errors)
        check_as_given(there)
        record, how = store.claim_bench(there.uid, owner_sid)
    elif request.extend:
        there = store.get_bench(request.extend)
        check_as_given(there)
        bench = extended(there.definition, bench, there.bench_id)
        record, how = store.extend_bench(request.extend, bench, definition_hash(bench), total(bench), owner_sid)
    else:
        record, how = store.start_bench(
            bench,
            definition_hash(bench),
            total(bench),
            owner_sid,
            new=request.new,
            bench_id=request.bench_id or None,
            commit=commit_here(),
            machine=machine_class(),
            price_table=workspace.services.gateway.price_table,
        )
    if how == "held":
        owner = store.get_owner(record.owner_sid)
        who = f"process {owner.pid} on {owner.host}" if owner else record.owner_sid
        raise Conflict(f"Bench {record.bench_id} is being run by {who}.", remedy="Let it end, stop it, or begin another with --new.")
    if bench is not None:
        return msgspec.structs.replace(record, definition=bench), how
    return msgspec.structs.replace(record, definition=taken_up(record.definition, request), status=there.status), how


def remaining(store: Store, record: BenchRecord, request: BenchRequest, how: How) -> tuple[Iterator[PlannedTrial], int, int]:
    """The trials to run, in order; how many have a result that stays; how many are to be run."""
    bench = record.definition
    if request.retry_errors:
        failed = store.failed_run_ids(record.uid)
        stays = len(store.finished_run_ids(record.uid)) - len(failed)
        return (planned for planned in expand(bench, record.run_key) if planned.run_id in failed), stays, len(failed)
    if how == "new":
        return expand(bench, record.run_key), 0, record.total
    done = store.finished_run_ids(record.uid)
    left = sum(1 for _ in expand(bench, record.run_key, done))
    return expand(bench, record.run_key, done), record.total - left, left


@contextlib.asynccontextmanager
async def _cancellable(store: Store, uid: str, stop: asyncio.Event) -> AsyncIterator[None]:
    """While it is measured, another process may ask for its end."""

    async def look() -> None:
        while not stop.is_set():
            await asyncio.sleep(LOOK_S)
            with contextlib.suppress(StoreFailure):
                if await asyncio.to_thread(store.bench_cancel_requested, uid):
                    stop.set()

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


async def _measure(
    workspace: Workspace,
    request: BenchRequest,
    record: BenchRecord,
    how: How,
    plan: Iterator[PlannedTrial],
    follower: Follower,
    stop: asyncio.Event,
) -> TrialsOutcome:
    store, journal = workspace.store, workspace.store.journal
    retrying = bool(request.retry_errors)
    setting = Setting(
        record=record,
        db=workers_db(store, request.db),
        workers=_workers(request, record.definition.max_concurrent_runs),
        isolation=request.isolation,
        continued=how != "new",
        generation=workspace.owner.sid if retrying else "",
    )

    async with open_job(workspace, setting, request.function) as (job, _):
        return await run_trials(
            plan,
            _executor(request, record.definition.max_concurrent_runs),
            job,
            lambda trial: journal.trial_finished(record.uid, trial, replace=retrying),
            on_trial=follower.trial,
            stop=stop,
            grace_s=request.grace_s,
            hurry=journal.hurry,
            budget=await asyncio.to_thread(_budget, store, record),
        )


def _executor(request: BenchRequest, max_concurrent: int) -> Executor:
    if request.executor == "process":
        from flowgauge.run.executors.process import ProcessExecutor

        return ProcessExecutor(max_concurrent, workers=_workers(request, max_concurrent))
    from flowgauge.run.executors.local import LocalExecutor

    return LocalExecutor(max_concurrent)


def _workers(request: BenchRequest, max_concurrent: int) -> int:
    """Processes that run trials: no more than there are trials at once."""
    return min(request.workers or os.cpu_count() or 1, max_concurrent) if request.executor == "process" else 1


def _budget(store: Store, record: BenchRecord) -> Any:
    """What earlier sessions spent counts, as far as prices are known, and says what a trial will cost. The cache was paid elsewhere."""
    from flowgauge.run.trial_budget import TrialBudget

    limit = record.definition.budget_usd
    if not limit:
        return None
    paid: dict[str, list[float]] = {}
    for row in store.trial_rows(record.uid):
        if (cost_usd := (trial := TrialRow(*row)).paid_usd) is not None:
            paid.setdefault(trial.config, []).append(cost_usd)
    means = {config: sum(costs) / len(costs) for config, costs in paid.items()}
    return TrialBudget(limit, spent_usd=sum(map(sum, paid.values())), estimate=lambda planned: means.get(planned.config))


def _ended(workspace: Workspace, request: BenchRequest, record: BenchRecord, ran: TrialsOutcome, took_ms: float) -> BenchRecord:
    """As it is stored, with the end that it comes to.

    Finished is what has a result for every trial: errors that were retried leave the rest of a stopped bench as it was.
    """
    status, there = ran.status, workspace.store.get_bench(record.uid)
    if status == "finished" and request.retry_errors and _lacks_some(workspace.store, record):
        status = "budget_exceeded" if record.status == "budget_exceeded" else "interrupted"
    now, trace_id = workspace.services.clock.now_ms(), trace_id_here()
    return msgspec.structs.replace(
        there, status=status, finished_at=now, duration_ms=there.duration_ms + took_ms, trace_id=trace_id or there.trace_id
    )


def _finish(workspace: Workspace, ended: BenchRecord, took_ms: float) -> BenchRecord:
    """After its benchmarks, so that a bench that has ended has them: one that dies before is taken up, and aggregated, again."""
    return workspace.store.finish_bench(
        ended.uid,
        ended.status,
        owner_sid=workspace.owner.sid,
        duration_ms=took_ms,
        trace_id=ended.trace_id,
        finished_at=ended.finished_at,
    )


def _lacks_some(store: Store, record: BenchRecord) -> bool:
    return next(expand(record.definition, record.run_key, store.finished_run_ids(record.uid)), None) is not None


@steady_heap()
def summary_of(store: Store, record: BenchRecord) -> BenchSummary:
    """The numbers of a stored bench, from its columns."""
    from flowgauge.aggregate.agreement import gold_of
    from flowgauge.aggregate.summary import summarise

    return summarise(record, store.trial_rows(record.uid), store.node_rows(record.uid), gold=gold_of(record.definition))


@steady_heap()
def _keep(store: Store, summary: BenchSummary) -> tuple[Benchmark, ...]:
    from flowgauge.aggregate.benchmarks import to_benchmarks

    target = summary.bench.definition.target
    if target.kind != "workflow":
        return store.put_benchmarks(to_benchmarks(summary))
    version = store.get_version(target.reference)
    each = configured(store, summary.bench.definition)
    base = msgspec.structs.replace(next(iter(each.values())), content=version.content, config={})
    return store.put_benchmarks(
        to_benchmarks(
            summary,
            workflow_sid=version.workflow_sid,
            version_sids=version.sid,
            providers=providers_of(each),
            retry_policy=retries_of(base),
        )
    )
