"""A bench as Markdown: for a terminal's scrollback, a pull request, a wiki.

What models and users wrote is escaped, so that it can neither leave its cell
nor become markup, a picture or a mention.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from flowgauge.report import bench_tables, words
from flowgauge.report.bench_source import Source, first_errors
from flowgauge.report.bench_tables import Grid

_MARKUP = re.compile(r"[\\`*|\[\]~<>]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)|^[#+-]|!(?=\[)")
_MENTION = re.compile(r"@(?=\w)")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def escape(text: str) -> str:
    """One line that means nothing but itself."""
    line = words.one_line(text)
    shown = _MARKUP.sub(_escaped, line)
    return _MENTION.sub("@\N{WORD JOINER}", shown)


def _escaped(match: re.Match[str]) -> str:
    return _ENTITIES.get(match.group(), "\\" + match.group())


def code(text: str) -> str:
    """One line in a code span that its own backticks cannot close."""
    line = words.one_line(text)
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def bench_markdown(source: Source) -> str:
    """The whole report."""
    return "\n".join(_lines(source)).rstrip() + "\n"


def write_markdown(source: Source, out: BinaryIO) -> None:
    """The same, as bytes."""
    out.write(bench_markdown(source).encode("utf-8", "replace"))


def _lines(source: Source) -> Iterator[str]:
    summary = source.summary
    yield f"# Bench {escape(summary.bench.bench_id)}"
    yield ""
    yield f"{bench_tables.headline(summary)}."
    yield from _section("", bench_tables.comparison(summary))
    yield from _winners(source)
    examples = first_errors(source)
    yield from _section("Failures", bench_tables.failures(source, examples))
    yield from _section("By case", bench_tables.cases(summary))
    yield from _section("By node", bench_tables.nodes(summary))
    yield from _section("Agreement with human labels", bench_tables.agreement(summary))
    if summary.notes:
        yield from ("", "## Notes", "", *(f"- {escape(note)}" for note in summary.notes))
    yield from ("", "## How to repeat it", "")
    yield from (f"- {name}: {code(value)}" for name, value in bench_tables.facts(source))


def _winners(source: Source) -> Iterator[str]:
    found = bench_tables.winners(source.summary)
    if found:
        yield from ("", "## Winners", "")
    for winner in found:
        mark = "" if winner.significant or winner.tie else " (?)"
        yield f"- **{winner.title}{mark}**: {escape(winner.config)}, {winner.value} – {escape(winner.rest)}"
    if source.summary.pareto:
        front = ", ".join(escape(name) for name in source.summary.pareto)
        yield f"- **Pareto front** (no other is better in quality, cost and latency at once): {front}"


def _section(title: str, grid: Grid | None) -> Iterator[str]:
    if grid is None:
        return
    yield ""
    if title:
        yield from (f"## {title}", "")
    yield from _table(grid)
    if grid.legend:
        yield from ("", *(f"- {escape(line)}" for line in grid.legend))


def _table(grid: Grid) -> Iterator[str]:
    """Padded, so that it can be read as it is."""
    titles = [escape(title) for title in grid.columns]
    rows = [[escape(value) for value in row] for row in grid.rows]
    widths = [max(3, *(len(row[index]) for row in (titles, *rows))) for index in range(len(titles))]
    rights = [title in grid.right for title in grid.columns]
    yield _row(titles, widths, rights)
    yield "| " + " | ".join(("-" * (width - 1) + ":") if right else "-" * width for width, right in zip(widths, rights, strict=True)) + " |"
    for row in rows:
        yield _row(row, widths, rights)


def _row(values: list[str], widths: list[int], rights: list[bool]) -> str:
    padded = (value.rjust(width) if right else value.ljust(width) for value, width, right in zip(values, widths, rights, strict=True))
    return f"| {' | '.join(padded)} |"
