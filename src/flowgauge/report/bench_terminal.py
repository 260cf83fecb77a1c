"""The end of a bench on a terminal: the comparison, who is first in what, what failed.

What models and users wrote is shown as text: it cannot colour, move or clear.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from flowgauge.model.benchmark import BenchSummary
from flowgauge.report import bench_tables, words
from flowgauge.report.bench_source import Source, first_errors
from flowgauge.report.grid import Grid

_SPARE = (
    "of the target",
    "success, measured runs",
    "checks passed",
    "retries",
    "first token",
    "tokens/run",
    bench_tables.JUDGE_COST,
    "cost/success",
    "model",
    "runs",
    "cost/run",
    "p95",
)
"""What a narrow screen can do without, the first first; every report file has all of it."""
_GAP = 2
_NAME_CHARS, _CELL_CHARS = 60, 120


class FittingTable:
    """A grid that leaves columns out until it fits the screen."""

    def __init__(self, grid: Grid, marked: frozenset[str] = frozenset()) -> None:
        self.grid = grid
        self.marked = marked

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        kept = list(range(len(self.grid.columns)))
        for title in _SPARE:
            if sum(self._width(index) for index in kept) > options.max_width and title in self.grid.columns:
                kept.remove(self.grid.columns.index(title))
        yield _table(self.grid, kept, self.marked)

    def _width(self, index: int) -> int:
        """As wide as its longest cell; text that may be folded asks for no more than a third of a screen."""
        cells = max(len(words.one_line(row[index])) for row in (self.grid.columns, *self.grid.rows))
        return (cells if not index or self.grid.columns[index] in self.grid.right else min(cells, 26)) + _GAP


def bench_view(source: Source) -> Group:
    """Everything that is printed when a bench ends."""
    summary = source.summary
    title = Text(words.one_line(summary.bench.bench_id, 200), style="bold")
    parts: list[Any] = [title, Text(bench_tables.headline(summary), style="dim"), "", comparison_table(summary), ""]
    parts += _winners(summary)
    failures = bench_tables.failures(source, first_errors(source))
    if failures is not None:
        parts += ["", FittingTable(failures)]
    parts += [Text(f"note: {words.one_line(note, 500)}", style="yellow") for note in summary.notes]
    return Group(*parts)


def comparison_table(summary: BenchSummary) -> FittingTable:
    """One row a configuration; those that nothing beats are marked."""
    return FittingTable(bench_tables.comparison(summary), frozenset(words.one_line(name, _NAME_CHARS) for name in summary.pareto))


def _table(grid: Grid, kept: Sequence[int], marked: frozenset[str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for index in kept:
        number = grid.columns[index] in grid.right
        justify: Literal["right", "left"] = "right" if number else "left"
        table.add_column(Text(words.one_line(grid.columns[index], 40)), justify=justify, no_wrap=number or not index, overflow="fold")
    for row in grid.rows:
        cells = [Text(words.one_line(row[index], _CELL_CHARS if index else _NAME_CHARS)) for index in kept]
        if cells[0].plain in marked:
            cells[0].stylize("bold green")
        table.add_row(*cells)
    return table


def _winners(summary: BenchSummary) -> list[Text]:
    lines = []
    for winner in bench_tables.winners(summary):
        line = Text().append(f"{winner.title:<14} ", style="dim")
        line.append(words.one_line(winner.config, _NAME_CHARS), style="bold green" if winner.significant else "bold yellow")
        line.append(f"  {winner.value}")
        line.append(f"  ({words.one_line(winner.rest, 160)})", style="dim")
        lines.append(line)
    if summary.pareto:
        names = ", ".join(words.one_line(name, _NAME_CHARS) for name in summary.pareto)
        lines.append(Text().append("Pareto front   ", style="dim").append(names, style="green"))
    return lines
