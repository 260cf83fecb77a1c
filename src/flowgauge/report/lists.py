"""Lists of records as tables, for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from flowgauge.model.bench import Trial
from flowgauge.model.benchmark import Benchmark
from flowgauge.model.play import Play
from flowgauge.model.workflow import Example, WorkflowRecord, WorkflowVersion
from flowgauge.report import words

_WHOLE = frozenset(
    {"play", "sid", "version", "started", "saved", "changed", "in use", "time", "cost", "status", "hash", "benchmark", "run id", "made"}
)
"""Columns that are copied from or read at a glance: never broken over two lines."""


def _table(*columns: str, right: Sequence[str] = ()) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        table.add_column(
            name,
            justify="right" if name in right else "left",
            overflow="fold" if name in _WHOLE else "ellipsis",
            no_wrap=name in _WHOLE or name == "workflow",
        )
    return table


def play_table(plays: Sequence[Play], names: Mapping[str, str], now_ms: int) -> Table:
    """Newest first, as given."""
    table = _table("play", "workflow", "status", "started", "time", "cost", right=("time", "cost"))
    for play in plays:
        mark, style = words.STATUS_MARKS[play.status]
        table.add_row(
            play.sid,
            escape(play.name or names.get(play.workflow_sid, play.workflow_sid)),
            Text(f"{mark} {play.status}", style=style),
            words.age(play.started_at, now_ms),
            words.duration(play.duration_ms),
            words.cost(play.cost_usd, play.cost_source),
        )
    return table


def workflow_table(records: Sequence[WorkflowRecord], numbers: Mapping[str, int], now_ms: int) -> Table:
    """Name, the version in use, when it changed last."""
    table = _table("workflow", "in use", "changed", "description")
    for record in records:
        table.add_row(escape(record.name), f"v{numbers[record.sid]}", words.age(record.updated_at, now_ms), escape(record.description))
    return table


def version_table(versions: Sequence[WorkflowVersion], current_sid: str) -> Table:
    """Newest first, the one in use marked."""
    table = _table("version", "saved", "hash", "sid")
    for version in versions:
        mark = " ← in use" if version.sid == current_sid else ""
        table.add_row(f"v{version.number}{mark}", words.moment(version.created_at), version.hash[:12], version.sid)
    return table


def example_table(examples: Sequence[Example]) -> Table:
    """Name and values."""
    table = _table("example", "inputs", "description")
    for example in examples:
        table.add_row(escape(example.name), escape(msgspec.json.encode(example.input_values).decode()[:100]), escape(example.description))
    return table


def benchmark_table(benchmarks: Sequence[Benchmark], now_ms: int) -> Table:
    """One row a configuration of a bench."""
    table = _table(
        "benchmark", "bench", "config", "made", "runs", "success", "avg", "cost/run", right=("runs", "success", "avg", "cost/run")
    )
    for item in benchmarks:
        table.add_row(
            item.sid,
            escape(item.bench_id),
            escape(item.config),
            words.age(item.created_at, now_ms),
            str(item.num_runs),
            f"{item.success_rate:.1f} %",
            words.duration(item.avg_duration_ms) if item.avg_duration_ms is not None else "–",
            words.cost(item.estimated_cost_usd, item.cost_source),
        )
    return table


def trial_table(trials: Sequence[Trial]) -> Table:
    """One row a trial, in the order of the plan."""
    table = _table("run id", "config", "case", "run", "status", "time", "cost", "failure", right=("run", "time", "cost"))
    for trial in trials:
        mark, style = words.STATUS_MARKS[trial.answer.status if trial.ok else "failed"]
        table.add_row(
            trial.run_id,
            escape(trial.config),
            escape(trial.case),
            str(trial.repetition + 1),
            Text(f"{mark} {trial.answer.status if trial.ok else trial.failure_category or trial.answer.status}", style=style),
            words.duration(trial.answer.duration_ms),
            words.cost(trial.answer.cost_usd, trial.answer.cost_source),
            escape(trial.answer.error.message[:80] if trial.answer.error else ""),
        )
    return table


def price_table(rows: Sequence[Any]) -> Table:
    """USD per million tokens."""
    table = _table("model", "prompt $/M", "completion $/M", "source", right=("prompt $/M", "completion $/M"))
    for row in rows:
        table.add_row(escape(f"{row.provider}/{row.model}"), f"{row.prompt_per_1m:g}", f"{row.completion_per_1m:g}", row.source)
    return table


def pairs_table(record: msgspec.Struct) -> Table:
    """A record's fields, a line each."""
    table = _table("", "")
    table.show_header = False
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if isinstance(value, msgspec.Struct):
            for inner in value.__struct_fields__:
                table.add_row(Text(inner.replace("_", " "), style="bold"), escape(str(getattr(value, inner))))
            continue
        shown = ", ".join(f"{key} {count}" for key, count in value.items()) if isinstance(value, dict) else str(value)
        table.add_row(Text(name.replace("_", " "), style="bold"), escape(shown))
    return table
