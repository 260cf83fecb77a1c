"""Snapshots of agents, what changed between two, and what became of a validation, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from flowgauge.report.fitting import Fitting

_STYLES = {"improved": "green", "regressed": "red", "vanished": "red", "unknown": "yellow"}
_STATES = {"regressed": "red", "damaged": "yellow", "baseline": "green"}
_MARKS = {"passed": ("✓", "green"), "failed": ("✗", "red"), "not_measured": ("?", "yellow")}


def version_table(rows: Sequence[tuple[str, int, str | None, str, int, str]]) -> Fitting:
    """Agent, version, trigger, moment, plays, and its state: regressed, baseline, damaged or nothing."""
    table = Fitting("agent", "version", "trigger", "captured", "plays", "", right=("plays",), spare=("plays", "captured"))
    for agent, version, trigger, moment, plays, state in rows:
        table.add_row(agent, f"v{version}", trigger or "", moment, str(plays) if trigger else "", Text(state, style=_STATES.get(state, "")))
    return table


def change_table(rows: Sequence[tuple[str, float | None, float | None, str, str]]) -> Fitting:
    """Metric, old, new, unit, verdict."""
    table = Fitting("metric", "old", "new", "verdict", right=("old", "new"))
    for metric, old, new, unit, verdict in rows:
        table.add_row(metric, _number(old, unit), _number(new, unit), Text(verdict, style=_STYLES.get(verdict, "")))
    return table


def health_line(agent: str, status: str, reason: str) -> Text:
    """One line an agent."""
    mark, style = _MARKS[status]
    return Text.assemble((f"{mark} {agent} ", style), reason)


def _number(value: float | None, unit: str) -> str:
    return "unknown" if value is None else f"{value:.6g} {unit}".rstrip()
