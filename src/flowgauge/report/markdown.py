"""Markdown that means what it says: text from anywhere in, text that cannot become markup out.

What models and users wrote can neither leave its cell nor become markup, a
picture, a link, a mention or a reference to an issue.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flowgauge.report import words
from flowgauge.report.grid import Grid

_MARKUP = re.compile(r"[\\`*|\[\]~<>]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)|!(?=\[)")
_START = re.compile(r"^(?:(?=[#+-])|(\d{1,9})(?=[.)](?:\s|$)))")
"""What makes a list or a heading at the start of a line, though not in a cell."""
_LIVE = re.compile(r"@(?=\w)|#(?=\d)|:(?=//)|(?i:\bwww)(?=\.)")
"""What GitHub makes a mention, a reference or a link of, without any markup."""
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def escape(text: str, limit: int = 10_000) -> str:
    """One line that means nothing but itself, wherever it stands."""
    return _START.sub(lambda match: f"{match[1] or ''}\\", cell(text, limit))


def cell(text: str, limit: int = 10_000) -> str:
    """The same for the cell of a table, in which no list or heading can begin."""
    shown = _MARKUP.sub(_escaped, words.one_line(text, limit))
    return _LIVE.sub(lambda match: match.group() + "\N{WORD JOINER}", shown)


def _escaped(match: re.Match[str]) -> str:
    return _ENTITIES.get(match.group(), "\\" + match.group())


def code(text: str) -> str:
    """One line in a code span that its own backticks cannot close."""
    line = words.one_line(text)
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def section(title: str, grid: Grid | None) -> Iterator[str]:
    """A heading, the table and its legend; nothing where there is no table."""
    if grid is None:
        return
    yield ""
    if title:
        yield from (f"## {title}", "")
    yield from table(grid)
    if grid.legend:
        yield from ("", *(f"- {escape(line)}" for line in grid.legend))


def table(grid: Grid) -> Iterator[str]:
    """Padded, so that it can be read as it is."""
    titles = [cell(title) for title in grid.columns]
    rows = [[cell(value) for value in row] for row in grid.rows]
    widths = [max(3, *(len(row[index]) for row in (titles, *rows))) for index in range(len(titles))]
    rights = [title in grid.right for title in grid.columns]
    yield _row(titles, widths, rights)
    yield "| " + " | ".join(("-" * (width - 1) + ":") if right else "-" * width for width, right in zip(widths, rights, strict=True)) + " |"
    for row in rows:
        yield _row(row, widths, rights)


def _row(values: Sequence[str], widths: Sequence[int], rights: Sequence[bool]) -> str:
    padded = (value.rjust(width) if right else value.ljust(width) for value, width, right in zip(values, widths, rights, strict=True))
    return f"| {' | '.join(padded)} |"
