"""A comparison on a terminal: the verdict in words first, then what it was made of, the worst first.

What models and users wrote is shown as text: it cannot colour, move or clear.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from flowgauge.model.verdict import GateLine
from flowgauge.report import compare_tables as tables
from flowgauge.report import words
from flowgauge.report.compare_lines import ranked_lines
from flowgauge.report.compare_sentences import counts, is_open, pass_rate_sentence, verdict_sentence
from flowgauge.report.compare_source import CompareSource
from flowgauge.report.compare_words import STATUSES, TIERS, VERDICTS, in_words, listed
from flowgauge.report.fitting import Fitting
from flowgauge.report.grid import Grid

STYLES = {"good": "green", "bad": "bold red", "warn": "yellow", "dim": "dim", "": ""}
_TONES: dict[str, str] = {
    **dict(TIERS.values()),
    **{str(verdict): tone for verdict, tone in VERDICTS.items()},
}
_SPARE = ("that is", "more than noise", "share of the change", "expected", "p", "baseline")
"""What a narrow screen can do without, the first first; every report file has all of it."""
_LOOSE = ("what that means",)
_CELL_CHARS = 160
LINES_SHOWN = 40


def compare_view(source: CompareSource) -> Group:
    """Everything that is printed when two benchmarks have been compared, or gated."""
    return Group(*_parts(source))


def _parts(source: CompareSource) -> Iterator[Any]:
    comparison = source.comparison
    yield _verdict(source)
    yield Text(_sides(source), style="dim")
    if source.gate is not None:
        yield from _gate(ranked_lines(source))
    yield from _table(tables.metrics(comparison))
    if comparison.aggregate is not None:
        yield from ("", Text(pass_rate_sentence(comparison)))
    yield from _table(tables.notable_rates(comparison))
    if tables.notable_rates(comparison) is None:
        yield from (Text(f"  {line}", style="dim") for line in tables.quiet_cases(comparison))
    for grid in (tables.nodes(comparison), tables.drift(comparison), tables.differences(comparison)):
        yield from _table(grid)
    yield from (Text(f"note: {words.one_line(note, 500)}", style="yellow") for note in comparison.notes)


def _verdict(source: CompareSource) -> Text:
    head, _, rest = words.one_line(verdict_sentence(source), 1000).partition(":")
    tone = STATUSES[source.gate.status][2] if source.gate is not None else "" if source.comparison.attempt == "ok" else "warn"
    return Text().append(f"{head.upper()}:", style=f"bold {STYLES[tone].removeprefix('bold ')}".strip()).append(rest)


def _sides(source: CompareSource) -> str:
    comparison = source.comparison
    sides = f"{comparison.candidate} against {comparison.baseline}" if comparison.baseline else comparison.candidate
    return words.one_line(" · ".join(filter(None, (sides, *counts(comparison)))), 400)


def _gate(lines: Sequence[GateLine]) -> Iterator[Any]:
    """What failed or is open, with its sentence; the rest by name."""
    yield ""
    told = [line for line in lines if line.status != "passed" or is_open(line)]
    for line in told[:LINES_SHOWN]:
        mark, _, tone = ("?", "", "warn") if is_open(line) else STATUSES[line.status]
        head = Text().append(f"{mark} ", style=STYLES[tone]).append(f"{words.one_line(line.subject, 200)}: ", style="bold")
        rule = f" ({line.rule})" if line.rule else ""
        yield head.append(words.one_line(f"{in_words(line.verdict)}{rule}", 160), style=STYLES[tone])
        yield Padding(Text(words.one_line(line.words, 500)), (0, 0, 0, 4))
    if len(told) > LINES_SHOWN:
        yield Text(f"  and {len(told) - LINES_SHOWN:,} more like these")
    fine = [words.one_line(line.subject, 80) for line in lines if line.status == "passed" and not is_open(line)]
    if fine:
        yield Text("✓ ", style="green").append(listed(fine, 8), style="dim")


def _table(grid: Grid | None) -> Iterator[Any]:
    if grid is not None:
        yield from ("", fitting_of(grid, _TONES))
        yield from (Text(f"  {words.one_line(line, 300)}", style="dim") for line in grid.legend)


def fitting_of(grid: Grid, tones: Mapping[str, str]) -> Fitting:
    """A grid that fits the screen; cells that are a known word get its colour."""
    table = Fitting(*grid.columns, right=tuple(grid.right), spare=_SPARE, loose=_LOOSE)
    for row in grid.rows:
        cells = [words.one_line(text, _CELL_CHARS) for text in row]
        table.add_row(*(Text(text, style=STYLES[tones.get(text, "")]) for text in cells))
    return table
