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
from flowgauge.model.calibration import Calibration, RunsPlan
from flowgauge.model.play import Play
from flowgauge.model.service import Schedule, Token
from flowgauge.model.verdict import Baseline
from flowgauge.model.workflow import Example, WorkflowRecord, WorkflowVersion
from flowgauge.report import words
from flowgauge.report.fitting import Fitting


def play_table(plays: Sequence[Play], names: Mapping[str, str], now_ms: int) -> Fitting:
    """Newest first, as given."""
    table = Fitting("play", "workflow", "status", "started", "time", "cost", right=("time", "cost"), spare=("started", "workflow", "cost"))
    for play in plays:
        mark, style = words.STATUS_MARKS[play.status]
        table.add_row(
            play.sid,
            play.name or names.get(play.workflow_sid, play.workflow_sid),
            Text(f"{mark} {play.status}", style=style),
            words.age(play.started_at, now_ms),
            words.duration(play.duration_ms),
            words.cost(play.cost_usd, play.cost_source),
        )
    return table


def workflow_table(records: Sequence[WorkflowRecord], numbers: Mapping[str, int], now_ms: int) -> Fitting:
    """Name, the version in use, when it changed last."""
    table = Fitting("workflow", "in use", "changed", "description", spare=("changed",), loose=("description",))
    for record in records:
        table.add_row(record.name, f"v{numbers[record.sid]}", words.age(record.updated_at, now_ms), record.description)
    return table


def version_table(versions: Sequence[WorkflowVersion], current_sid: str) -> Fitting:
    """Newest first, the one in use marked."""
    table = Fitting("version", "saved", "hash", "sid", spare=("saved", "sid"))
    for version in versions:
        mark = " ← in use" if version.sid == current_sid else ""
        table.add_row(f"v{version.number}{mark}", words.moment(version.created_at), version.hash[:12], version.sid)
    return table


def template_table(rows: Sequence[tuple[str, Sequence[str], str]]) -> Fitting:
    """Name, names of inputs, description."""
    table = Fitting("template", "inputs", "description", loose=("inputs", "description"))
    for name, inputs, description in rows:
        table.add_row(name, ", ".join(inputs), description)
    return table


def example_table(examples: Sequence[Example]) -> Fitting:
    """Name and values."""
    table = Fitting("example", "inputs", "description", loose=("inputs", "description"))
    for example in examples:
        table.add_row(example.name, msgspec.json.encode(example.input_values).decode()[:100], example.description)
    return table


def benchmark_table(benchmarks: Sequence[Benchmark], now_ms: int) -> Fitting:
    """One row a configuration of a bench."""
    numbers = ("runs", "success", "avg", "cost/run")
    spare = ("made", "benchmark", "runs", "avg", "bench")
    table = Fitting("benchmark", "bench", "config", "made", *numbers, right=numbers, spare=spare)
    for item in benchmarks:
        table.add_row(
            item.sid,
            item.bench_id or item.subject,
            item.config or item.kind,
            words.age(item.created_at, now_ms),
            str(item.num_runs),
            _success(item),
            words.duration(item.avg_duration_ms) if item.avg_duration_ms is not None else "–",
            words.cost(item.estimated_cost_usd, item.cost_source),
        )
    return table


def _success(item: Benchmark) -> str:
    """Not known of what came from elsewhere without it."""
    return f"{item.success_rate:.1f} %" if item.bench_uid or "success_rate" in item.metrics else "–"


def baseline_table(rows: Sequence[tuple[Baseline, Benchmark, str]], now_ms: int) -> Fitting:
    """One row a name: what stands under it, since when."""
    spare = ("benchmark", "set")
    table = Fitting("baseline", "benchmark", "of", "set", "success", "note", right=("success",), spare=spare, loose=("note",))
    for baseline, benchmark, label in rows:
        table.add_row(baseline.name, benchmark.sid, label, words.age(baseline.set_at, now_ms), _success(benchmark), baseline.note)
    return table


def baseline_history_table(rows: Sequence[tuple[Baseline, Benchmark | None, str]], now_ms: int) -> Fitting:
    """What stands under one name, then what stood there before. A benchmark that was deleted is gone."""
    spare = ("benchmark", "set")
    table = Fitting("baseline", "benchmark", "of", "set", "success", "note", right=("success",), spare=spare, loose=("note",))
    for place, (baseline, benchmark, label) in enumerate(rows):
        name = "before" if place else baseline.name
        success = _success(benchmark) if benchmark else "–"
        table.add_row(name, baseline.benchmark_sid, label or "gone", words.age(baseline.set_at, now_ms), success, baseline.note)
    return table


def token_table(tokens: Sequence[Token], now_ms: int) -> Fitting:
    """One row a token: what it may, and whether it still opens anything."""
    table = Fitting("token", "scope", "state", "used", "created", "sid", spare=("sid", "created"))
    for token in tokens:
        over = bool(token.expires_at) and token.expires_at <= now_ms
        ends = f"until {words.moment(token.expires_at)}" if token.expires_at else "open"
        state = Text("revoked", style="red") if token.revoked_at else Text("expired", style="red") if over else Text(ends, style="green")
        used = words.age(token.last_used_at, now_ms) if token.last_used_at else "never"
        table.add_row(token.name, token.scope, state, used, words.age(token.created_at, now_ms), token.sid)
    return table


def schedule_table(schedules: Sequence[Schedule]) -> Fitting:
    """One row a schedule: when it runs, and what came of the last time."""
    table = Fitting("schedule", "when", "next", "last", "result", "words", spare=("last",), loose=("words",))
    for each in schedules:
        when = each.cron or f"every {words.span(each.every_s)}"
        coming = "running" if each.running_at else words.moment(each.next_at) if each.enabled else "disabled"
        last = words.moment(each.last_at) if each.last_at else words.UNKNOWN
        style = _RESULT_STYLES.get(each.last_status, "")
        result = Text(each.last_status.replace("_", " ") or words.UNKNOWN, style=style)
        table.add_row(each.name, when, coming, last, result, words.one_line(each.last_words, 200))
    return table


_RESULT_STYLES = {"passed": "green", "measured": "green", "failed": "red", "error": "red", "not_measured": "yellow", "missed": "yellow"}


def calibration_table(rows: Sequence[Calibration]) -> Fitting:
    """One row a number of runs: how often the alarm is raised where nothing changed, and at each effect."""
    effects = sorted({effect for row in rows for effect in row.power})
    shares = ("false alarms", *(f"{effect:+.0%} seen" for effect in effects))
    table = Fitting("metric", "runs a case", "cases", *shares, right=("runs a case", "cases", *shares))
    for row in rows:
        found = (row.false_alarms, *(row.power[effect] for effect in effects))
        table.add_row(row.metric, str(row.runs), str(row.cases), *(words.percent(rate.value) for rate in found))
    return table


def runs_plan_table(plans: Sequence[RunsPlan]) -> Fitting:
    """One row a metric and effect: runs needed, and the chance to see it with fewer."""
    sizes = sorted({runs for plan in plans for runs in plan.chances})
    chances = tuple(f"at {runs}" for runs in sizes)
    right = ("effect", "runs a side", "cost", *chances)
    table = Fitting("metric", "effect", "runs a side", "cost", *chances, right=right, spare=chances[::-1])
    for plan in plans:
        runs = "never: within the tolerance" if plan.runs is None else f"{plan.runs:,}"
        cost = "–" if plan.cost_usd is None else words.cost(plan.cost_usd, "computed")
        shown = (words.percent(plan.chances.get(size)) for size in sizes)
        table.add_row(plan.metric, f"{plan.effect:+.0%}", runs, cost, *shown)
    return table


def trial_table(trials: Sequence[Trial]) -> Fitting:
    """One row a trial, in the order of the plan."""
    table = Fitting(
        "run id", "config", "case", "run", "status", "time", "cost", "failure",
        right=("run", "time", "cost"), spare=("failure", "cost", "run", "time"), loose=("failure",),
    )  # fmt: skip
    for trial in trials:
        mark, style = words.STATUS_MARKS[trial.answer.status if trial.ok else "failed"]
        table.add_row(
            trial.run_id,
            trial.config,
            trial.case,
            str(trial.repetition + 1),
            Text(f"{mark} {trial.answer.status if trial.ok else trial.failure_category or trial.answer.status}", style=style),
            words.duration(trial.answer.duration_ms),
            words.cost(trial.answer.cost_usd, trial.answer.cost_source),
            trial.answer.error.message[:80] if trial.answer.error else "",
        )
    return table


def price_table(rows: Sequence[Any]) -> Fitting:
    """USD per million tokens."""
    table = Fitting("model", "prompt $/M", "completion $/M", "source", right=("prompt $/M", "completion $/M"), spare=("source",))
    for row in rows:
        table.add_row(f"{row.provider}/{row.model}", f"{row.prompt_per_1m:g}", f"{row.completion_per_1m:g}", row.source)
    return table


def pairs_table(record: msgspec.Struct) -> Table:
    """A record's fields, a line each."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if isinstance(value, msgspec.Struct):
            for inner in value.__struct_fields__:
                table.add_row(Text(inner.replace("_", " "), style="bold"), escape(str(getattr(value, inner))))
            continue
        shown = ", ".join(f"{key} {count}" for key, count in value.items()) if isinstance(value, dict) else str(value)
        table.add_row(Text(name.replace("_", " "), style="bold"), escape(shown))
    return table
