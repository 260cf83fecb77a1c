"""One trial, whole, for a terminal: what went in, what came out, what the checks said, where the time went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from flowgauge.model.bench import BenchRecord, Trial
from flowgauge.model.play import NodeRun
from flowgauge.report import words
from flowgauge.report.play import node_table, output_text, rows_of


def trial_view(record: BenchRecord, trial: Trial, runs: Sequence[NodeRun]) -> Group:
    """Everything that is known about it."""
    answer = trial.answer
    case = next((case for case in record.definition.cases if case.name == trial.case), None)
    title = f"{trial.run_id} · {record.bench_id} · {trial.config} · {trial.case} · run {trial.repetition + 1}"
    parts: list[Any] = [Text(title, style="bold"), _facts(trial), ""]
    if case is not None:
        parts += [Text("inputs", style="bold"), Text(output_text(case.inputs))]
        if case.expected:
            parts += [Text("expected", style="bold"), Text(output_text(case.expected))]
    if answer.error is not None:
        parts += [
            Text("error", style="bold red"),
            Text(f"{answer.error.node_id}: {answer.error.message}"),
            Text(answer.error.detail, style="dim"),
        ]
    else:
        parts += [Text("output", style="bold"), Text(output_text(answer.output))]
    if trial.checks:
        parts += ["", _checks(trial)]
    if runs:
        parts += ["", node_table(rows_of(runs)), Text(f"flowgauge play show {answer.play_sid}", style="dim")]
    return Group(*parts)


def _facts(trial: Trial) -> Table:
    answer = trial.answer
    mark, style = words.STATUS_MARKS[answer.status]
    rows: dict[str, Text | str] = {
        "status": Text(f"{mark} {answer.status}{f' · {trial.failure_category}' if trial.failure_category else ''}", style=style),
        "own time": words.duration(answer.duration_ms),
        "first token": words.duration(answer.first_token_ms) if answer.first_token_ms is not None else "",
        "queueing": words.duration(answer.queue_ms),
        "back-off": words.duration(answer.backoff_ms),
        "scoring": words.duration(trial.score_ms),
        "retries": str(answer.retries),
        "tokens": words.tokens(answer.tokens_prompt, answer.tokens_completion),
        "cost": words.cost(answer.cost_usd, answer.cost_source),
        "repeated": f"{answer.repeated} calls, because a process died" if answer.repeated else "",
        "cached": "yes" if answer.cached else "",
    }
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for name, value in rows.items():
        if value:
            table.add_row(Text(name, style="dim"), value)
    return table


def _checks(trial: Trial) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("check", "verdict", "score", "why"):
        table.add_column(name)
    for check in trial.checks:
        verdict = "error" if check.error else {True: "✓ passed", False: "✗ not passed", None: "–"}[check.passed]
        score = "" if check.score is None else f"{check.score:.4g}"
        table.add_row(escape(check.name or check.type), verdict, score, escape(check.error or check.reason))
    return table
