"""Trends on a terminal: a line of small bars with marks below it, the changes in words, then every point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.text import Text

from flowgauge.model.verdict import Trend
from flowgauge.report import trend_words, words
from flowgauge.report.compare_terminal import STYLES
from flowgauge.report.compare_words import amount
from flowgauge.report.fitting import Fitting


def trend_view(trends: Sequence[Trend]) -> Group:
    """One after the other."""
    return Group(*(part for trend in trends for part in _parts(trend)))


def _parts(trend: Trend) -> Iterator[Any]:
    yield Text(words.one_line(trend.subject, 200), style="bold")
    yield Text(words.one_line(trend_words.headline(trend), 400), style=STYLES[trend_words.TRENDS[trend.trend]])
    yield Spark(trend)
    for one in trend.changes:
        yield Text(f"  {words.one_line(trend_words.change_sentence(one, trend), 400)}", style=STYLES["bad" if one.harmful else "good"])
    yield from ("", _table(trend))
    yield from (Text(f"note: {words.one_line(note, 500)}", style="yellow") for note in trend.notes)
    yield ""


class Spark:
    """The values as bars, as many as the screen is wide; below them ▲ where a step is, ~ where it drifts."""

    def __init__(self, trend: Trend) -> None:
        self.trend = trend

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        values = [point.value for point in self.trend.points]
        bars, left_out = trend_words.sparkline(values, max(1, options.max_width - 2))
        if not bars:
            return
        yield Text(f"  {bars}", style="cyan")
        marks = self._marks()[left_out:]
        if marks.strip():
            yield Text(f"  {marks.rstrip()}")
        known = [value for value in values if value is not None]
        if known:
            yield Text(f"  from {amount(min(known), self.trend.unit)} to {amount(max(known), self.trend.unit)}", style="dim")

    def _marks(self) -> str:
        line = [" "] * len(self.trend.points)
        for one in self.trend.changes:
            last = one.until_index if one.kind == "drift" and one.until_index is not None else one.index
            for index in range(max(0, one.index), min(last + 1, len(line))):
                line[index] = "~" if one.kind == "drift" else "▲"
        return "".join(line)


def _table(trend: Trend) -> Fitting:
    grid = trend_words.points(trend)
    table = Fitting(*grid.columns, right=tuple(grid.right), spare=("made", "95 %", "commit"))
    harmful = {one.index: one.harmful for one in trend.changes}
    for index, row in enumerate(grid.rows):
        style = STYLES["bad" if harmful[index] else "good"] if index in harmful else ""
        table.add_row(*(Text(words.one_line(text, 80), style=style) for text in row))
    return table
