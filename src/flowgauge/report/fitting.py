"""Tables that fit a terminal: columns that can be spared are left out, figures and names are never cut.

Where even the columns that matter are too wide, every row becomes a few lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

GAP = 2
LOOSE_CHARS = 16
"""What a column of free text must have at the least; the rest of it is cut with an ellipsis."""


class Fitting:
    """Rows under titles. `spare` names what can be left out, the first first; `loose` what may be cut."""

    def __init__(self, *titles: str, right: Sequence[str] = (), spare: Sequence[str] = (), loose: Sequence[str] = ()) -> None:
        self._titles = titles
        self._right = frozenset(right)
        self._spare = spare
        self._loose = frozenset(loose)
        self._rows: list[list[Text]] = []

    def add_row(self, *cells: str | Text) -> None:
        """One cell a title; text is shown as it is, without markup."""
        self._rows.append([cell if isinstance(cell, Text) else Text(cell) for cell in cells])

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        kept = list(range(len(self._titles)))
        for title in (*self._spare, *(name for name in self._titles[::-1] if name in self._loose)):
            if self._width(kept) > options.max_width and title in self._titles and self._titles.index(title) in kept:
                kept.remove(self._titles.index(title))
        if self._width(kept) <= options.max_width:
            yield self._table(kept, options.max_width)
        else:
            yield from self._lines()

    def _width(self, kept: Sequence[int]) -> int:
        return sum(self._wide(index) + GAP for index in kept) - GAP

    def _wide(self, index: int) -> int:
        return min(self._longest(index), LOOSE_CHARS) if self._titles[index] in self._loose else self._longest(index)

    def _longest(self, index: int) -> int:
        return max(len(self._titles[index]), *(row[index].cell_len for row in self._rows), 0)

    def _widths(self, kept: Sequence[int], max_width: int) -> dict[int, int]:
        """What is left over goes to the columns of free text, the first first."""
        left = max_width - self._width(kept)
        widths = {}
        for index in kept:
            more = min(left, self._longest(index) - self._wide(index))
            widths[index] = self._wide(index) + more
            left -= more
        return widths

    def _table(self, kept: Sequence[int], max_width: int) -> Table:
        widths = self._widths(kept, max_width)
        table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
        for index in kept:
            title = self._titles[index]
            justify: Literal["right", "left"] = "right" if title in self._right else "left"
            overflow: Literal["ellipsis", "fold"] = "ellipsis" if title in self._loose else "fold"
            table.add_column(title, justify=justify, no_wrap=True, overflow=overflow, width=widths[index])
        for row in self._rows:
            table.add_row(*(row[index] for index in kept))
        return table

    def _lines(self) -> RenderResult:
        for row in self._rows:
            for title, cell in zip(self._titles, row, strict=True):
                if cell.plain:
                    yield Text(f"{title}: ", style="dim", end="").append_text(cell)
                    yield Text("\n", end="")
            yield Text("")
