"""Which spans a bench and a play have: records in, a tree out. Imports nothing of OpenTelemetry.

bench:<name>
└─ invoke_workflow <target>            one trial, or one play
   └─ execute_tool <node>              one attempt of a node; nodes inside nodes below it
      └─ chat <model>, execute_tool …  one exchange
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from flowgauge.integrations.otel import Spans
from flowgauge.model.bench import Trial
from flowgauge.model.benchmark import BenchSummary
from flowgauge.model.play import CostSource, NodeRun, Play, Step

OTHER = "_OTHER"
"""What the conventions call an error whose type is not known."""
_OUTSIDE = frozenset({"model", "http"})


def bench_root(spans: Spans, summary: BenchSummary, *, after: str = "") -> Any:
    """`bench:<name>` with what the bench found. End it with `end_bench`."""
    record = summary.bench
    successes = sum(config.overall.success.count for config in summary.configs)
    return spans.root(
        f"bench:{record.name}",
        record.created_at,
        {
            "bench.name": record.name,
            "bench.id": record.bench_id,
            "bench.total_runs": record.total,
            "bench.status": record.status,
            "bench.duration_ms": record.duration_ms,
            "bench.success_rate": successes / summary.trials if summary.trials else None,
            "bench.cheapest_config": summary.cheapest.config if summary.cheapest else None,
            "bench.fastest_config": summary.fastest.config if summary.fastest else None,
            "bench.interruptions": record.interruptions or None,
        },
        after=after,
    )


def end_bench(spans: Spans, root: Any, summary: BenchSummary, last_ms: float) -> None:
    """When the bench was finished, and not before its last trial."""
    record = summary.bench
    spans.end(root, max(record.finished_at, record.created_at, last_ms))


def add_trial(spans: Spans, root: Any, name: str, trial: Trial, runs: Sequence[NodeRun]) -> float:
    """One run and, of a workflow, its nodes. When it ended."""
    answer = trial.answer
    attributes = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": name,
        "bench.run_id": trial.run_id,
        "bench.config": trial.config,
        "bench.case": trial.case,
        "bench.repetition": trial.repetition,
        "bench.passed": trial.passed,
        "bench.cached": True if answer.cached else None,
        "gen_ai.request.model": answer.model,
        "flowgauge.play_sid": answer.play_sid,
        **_tokens(answer.tokens_prompt, answer.tokens_completion),
        **_cost(answer.cost_usd, answer.cost_source),
        **{f"bench.score.{score}": value for score, value in trial.scores.items()},
    }
    elapsed_ms = answer.duration_ms + answer.queue_ms + answer.backoff_ms
    started_at = answer.started_at or (runs[0].started_at if runs else 0)
    span = spans.child(root, f"invoke_workflow {name}", started_at, attributes)
    ended_at = max(started_at + elapsed_ms, _add_nodes(spans, span, runs))
    spans.end(span, ended_at, trial.failure_category, answer.error.message if answer.error else "")
    return ended_at


def add_play(spans: Spans, name: str, play: Play, runs: Sequence[NodeRun]) -> None:
    """A play by itself: `invoke_workflow` is the root."""
    attributes = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": name,
        "flowgauge.play_sid": play.sid,
        "flowgauge.version_sid": play.version_sid,
        **_tokens(play.tokens_prompt, play.tokens_completion),
        **_cost(play.cost_usd, play.cost_source),
    }
    root = spans.root(f"invoke_workflow {name}", play.started_at, attributes)
    ended_at = max(play.started_at + play.duration_ms, _add_nodes(spans, root, runs))
    kind = play.error.kind if play.error else "" if play.status == "success" else play.status
    spans.end(root, ended_at, kind, play.error.message if play.error else "")


def _add_nodes(spans: Spans, above: Any, runs: Iterable[NodeRun]) -> float:
    """Every attempt below the one it ran inside of. When the last ended."""
    open_runs: dict[str, list[tuple[NodeRun, Any]]] = {}
    for run in sorted((run for run in runs if run.status != "skipped"), key=lambda run: (_depth(run.node_id), run.started_at)):
        span = _node(spans, _parent(run, open_runs) or above, run)
        open_runs.setdefault(run.node_id, []).append((run, span))
    last_ms = 0.0
    for run, span in (pair for pairs in reversed(open_runs.values()) for pair in pairs):
        ended_at = run.started_at + run.queue_ms + run.duration_ms
        last_ms = max(last_ms, ended_at)
        spans.end(span, ended_at, _error_of(run), run.error.message if run.error else "")
    return last_ms


def _parent(run: NodeRun, open_runs: dict[str, list[tuple[NodeRun, Any]]]) -> Any:
    """The attempt that was under way: of the nearest node whose path begins this one's, the last that had begun."""
    path = run.node_id
    while path := path[: max(path.rfind("/"), path.rfind("["), 0)]:
        if path in open_runs:
            begun = [pair for pair in open_runs[path] if pair[0].started_at <= run.started_at]
            return (begun or open_runs[path])[-1][1]
    return None


def _depth(path: str) -> int:
    return path.count("/") + path.count("[")


def _node(spans: Spans, above: Any, run: NodeRun) -> Any:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": run.node_id,
        "flowgauge.attempt": run.attempt,
        "flowgauge.queue_ms": run.queue_ms or None,
        "flowgauge.backoff_ms": run.backoff_ms or None,
    }
    span = spans.child(above, f"execute_tool {run.node_id}", run.started_at, attributes)
    for number, step in enumerate(run.steps, 1):
        is_last = number == len(run.steps)
        _step(spans, span, step, _error_of(run) if is_last else "")
    return span


def _step(spans: Spans, above: Any, step: Step, kind: str) -> None:
    name, attributes = _exchange(step)
    span = spans.child(above, name, step.started_at, attributes, outside=step.kind in _OUTSIDE)
    spans.end(span, step.started_at + step.queue_ms + step.duration_ms, (kind or OTHER) if step.error else "", step.error)


def _exchange(step: Step) -> tuple[str, dict[str, Any]]:
    if step.kind != "model":
        return f"execute_tool {step.name}", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": step.name}
    provider, _, model = step.name.partition("/")
    return f"chat {model}", {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
        "flowgauge.first_token_ms": step.first_token_ms,
        **_tokens(step.usage.tokens_prompt, step.usage.tokens_completion),
        **_cost(step.usage.cost_usd, step.usage.cost_source),
    }


def _error_of(run: NodeRun) -> str:
    return run.error.kind if run.error else "" if run.status == "success" else run.status


def _tokens(prompt: int, completion: int) -> dict[str, int]:
    """Nothing where nobody counted."""
    return {"gen_ai.usage.input_tokens": prompt, "gen_ai.usage.output_tokens": completion} if prompt or completion else {}


def _cost(cost_usd: float | None, source: CostSource) -> dict[str, float | None]:
    return {} if source == "none" else {"flowgauge.cost_usd": cost_usd}
