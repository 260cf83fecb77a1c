"""Adapters, their outcomes, snapshots and upgrades, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from flowgauge.model.figure import Metric
from flowgauge.model.verdict import GateLine
from flowgauge.report import words
from flowgauge.report.fitting import Fitting

_MARKS = {"measured": ("✓", "green"), "skipped": ("–", "yellow"), "error": ("✗", "red")}
_STATUS = {"passed": ("✓", "green"), "failed": ("✗", "red"), "not_measured": ("?", "yellow")}


def adapter_table(rows: Sequence[tuple[str, str, str, str, bool]]) -> Fitting:
    """Name, tier, source, what is missing or wrong, and whether it is wrong."""
    table = Fitting("adapter", "tier", "from", "here", loose=("here",), spare=("from",))
    for name, tier, source, told, wrong in rows:
        state = (
            Text(f"error: {told}", style="red") if wrong else Text(f"skipped: {told}", style="yellow") if told else Text("ready", "green")
        )
        table.add_row(name, tier, source, state)
    return table


def outcome_lines(adapter: str, status: str, reason: str, metrics: Mapping[str, Metric]) -> Iterator[Text]:
    """One line an adapter, one a metric."""
    mark, style = _MARKS[status]
    yield Text.assemble((f"{mark} {adapter}", style), f"  {status}: {words.one_line(reason, 300)}" if reason else "")
    for name, metric in metrics.items():
        yield Text(f"    {name}  {figure(metric)}  ({metric.direction} is better)")


def metric_table(metrics: Mapping[str, Metric]) -> Fitting:
    """One row a metric."""
    table = Fitting("metric", "value", "better", right=("value",), spare=("better",))
    for name, metric in metrics.items():
        table.add_row(name, figure(metric), metric.direction)
    return table


def snapshot_table(rows: Sequence[tuple[str, str, str, str, int, int, int]]) -> Fitting:
    """Version, tier, captured, commit; how many metrics, skipped adapters, errors."""
    numbers = ("metrics", "skipped", "errors")
    table = Fitting("version", "tier", "captured", "commit", *numbers, right=numbers, spare=("commit", "skipped", "captured"))
    for version, tier, captured, commit, metrics, skipped, errors in rows:
        table.add_row(version, tier, captured, commit[:12], str(metrics), str(skipped), Text(str(errors), style="red" if errors else ""))
    return table


def gate_lines(lines: Sequence[GateLine]) -> Iterator[Text]:
    """One line a metric."""
    for line in lines:
        mark, style = _STATUS[line.status]
        yield Text.assemble((f"{mark} ", style), line.words)


def figure(metric: Metric) -> str:
    """0.95 ratio; unknown where it could not be measured."""
    if metric.value is None:
        return "unknown"
    return f"{metric.value:.6g} {metric.unit}".rstrip()
