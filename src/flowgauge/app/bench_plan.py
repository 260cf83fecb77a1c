"""`bench --dry-run`: the plan and what it is expected to take, without a call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.bench import BenchRequest, load
from flowgauge.app.bench_again import check_as_given, extended
from flowgauge.app.bench_job import configured
from flowgauge.errors import Failed
from flowgauge.model.bench import Bench, BenchRecord, Case, Configuration, PlannedTrial
from flowgauge.model.ids import bench_id
from flowgauge.model.workflow import Json
from flowgauge.nodes.ai import AiNode, model_of
from flowgauge.nodes.codec import read_workflow
from flowgauge.plan.estimate import Estimate, Guess, PerTrial, estimate
from flowgauge.plan.ids import definition_hash
from flowgauge.plan.order import expand, runs_of_cases

if TYPE_CHECKING:
    from flowgauge.store.store import Store

SHOWN = 10
CHARACTERS_PER_TOKEN = 4
USUAL_ANSWER_TOKENS = 200


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What would run."""

    bench_id: str
    definition_hash: str
    configs: int
    cases: int
    estimate: Estimate
    first: tuple[PlannedTrial, ...]


def preview(store: Store, request: BenchRequest) -> Preview:
    """The plan of a request: of what is left, where it would go on with a stored bench."""
    bench, _ = load(store, request)
    there = _stored(store, request, bench)
    if bench is None:
        assert there is not None
        check_as_given(there)
        bench = there.definition
    elif there is not None and request.extend:
        check_as_given(there)
        bench = extended(there.definition, bench, there.bench_id)
    found = definition_hash(bench)
    would_be = there.run_key if there else request.bench_id or bench_id(bench.name, found, _counter(store, bench, found))
    planned = list(_planned(store, request, bench, there, would_be))
    whole, left = runs_of_cases(bench), Counter(trial.config for trial in planned)
    earlier = {name: PerTrial(*known) for name, known in store.mean_cost_and_duration(found).items()}
    done = {config.name: whole - left[config.name] for config in bench.configs}
    return Preview(
        bench_id=there.bench_id if there else would_be,
        definition_hash=found,
        configs=len(bench.configs),
        cases=len(bench.cases),
        estimate=estimate(bench, earlier=earlier, guess=_guess(store, bench), done=done),
        first=tuple(planned[:SHOWN]),
    )


def _stored(store: Store, request: BenchRequest, bench: Bench | None) -> BenchRecord | None:
    """The bench that the request would take up; None where it would begin one."""
    if named := request.resume or request.retry_errors or request.extend:
        return store.get_bench(named)
    if bench is None or request.new:
        return None
    found = definition_hash(bench)
    for record in _alike(store, bench, found):
        if record.bench_id == request.bench_id or (not request.bench_id and record.status != "finished"):
            return record
    return None


def _alike(store: Store, bench: Bench, found: str) -> Iterator[BenchRecord]:
    """Benches of this name and definition, newest first."""
    cursor: str | None = None
    while True:
        page = store.list_benches(cursor, 1000, name=bench.name)
        yield from (record for record in page.items if record.definition_hash == found)
        if not page.next_cursor:
            return
        cursor = page.next_cursor


def _counter(store: Store, bench: Bench, found: str) -> int:
    return max((record.counter for record in _alike(store, bench, found)), default=0) + 1


def _planned(store: Store, request: BenchRequest, bench: Bench, there: BenchRecord | None, run_key: str) -> Iterator[PlannedTrial]:
    if there is None:
        return expand(bench, run_key)
    if request.retry_errors:
        failed = store.failed_run_ids(there.uid)
        return (trial for trial in expand(bench, run_key) if trial.run_id in failed)
    return expand(bench, run_key, store.finished_run_ids(there.uid))


def _guess(store: Store, bench: Bench) -> Guess | None:
    """The models' prices on the length of the prompts: one call for each ai node, an answer of the usual length."""
    if bench.target.kind != "workflow":
        return None
    from flowgauge.providers.prices import table

    prices = table.table()
    workflows = {name: read_workflow(item.content) for name, item in configured(store, bench).items()}

    def guess(configuration: Configuration, case: Case) -> PerTrial:
        total_usd = 0.0
        workflow = workflows[configuration.name]
        for node in workflow.nodes:
            if isinstance(node, AiNode):
                config = node.config.over(workflow.config)
                prompt_tokens = (len(node.prompt) + len(node.system) + _length(case.inputs)) // CHARACTERS_PER_TOKEN
                try:
                    name = "/".join(model_of(config))
                except Failed:
                    return PerTrial(None, None)
                cost_usd = prices.estimate(name, prompt_tokens, config.max_tokens or USUAL_ANSWER_TOKENS)
                if cost_usd is None:
                    return PerTrial(None, None)
                total_usd += cost_usd
        return PerTrial(total_usd, None)

    return guess


def _length(inputs: Json) -> int:
    return len(msgspec.json.encode(inputs))
