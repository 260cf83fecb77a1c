"""`bench --dry-run`: the plan and what it is expected to take, without a call."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.bench import BenchRequest, load
from flowgauge.app.bench_job import configured
from flowgauge.errors import Failed
from flowgauge.model.bench import Bench, Case, Configuration, PlannedTrial
from flowgauge.model.workflow import Json
from flowgauge.nodes.ai import AiNode, model_of
from flowgauge.nodes.codec import read_workflow
from flowgauge.plan.estimate import Estimate, Guess, PerTrial, estimate
from flowgauge.plan.ids import bench_id, definition_hash
from flowgauge.plan.order import expand

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
    """The plan of a request; also of one that would go on with a stored bench."""
    bench, _ = load(store, request)
    if bench is None:
        bench = store.get_bench(request.resume or request.retry_errors).definition
    found = definition_hash(bench)
    would_be = request.bench_id or bench_id(bench.name, found, 1)
    earlier = {name: PerTrial(*known) for name, known in store.mean_cost_and_duration(found).items()}
    return Preview(
        bench_id=would_be,
        definition_hash=found,
        configs=len(bench.configs),
        cases=len(bench.cases),
        estimate=estimate(bench, earlier=earlier, guess=_guess(store, bench)),
        first=tuple(itertools.islice(expand(bench, would_be), SHOWN)),
    )


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
