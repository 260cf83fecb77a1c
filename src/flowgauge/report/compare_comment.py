"""A comparison as a comment on a pull request (`eval-pr-comment.md`): GitHub's Markdown, short enough for GitHub.

What is worst comes first; what is long is folded. Rows are left out where the
comment would grow too long, and each section says how many. Everything that a
model, a file or a user wrote is escaped: it can neither leave its cell nor
become markup, HTML, a link or a mention.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import msgspec

from flowgauge.model.verdict import Comparison, RateVerdict, Tier
from flowgauge.report import compare_tables as tables
from flowgauge.report import words
from flowgauge.report.compare_sentences import counts, pass_rate_sentence, verdict_sentence
from flowgauge.report.compare_source import CompareSource
from flowgauge.report.compare_words import p_value, points, share
from flowgauge.report.grid import Grid
from flowgauge.report.markdown import cell, code, escape

MAX_CHARS = 65_536
"""What GitHub takes for the body of a comment."""
_CELL_CHARS = 200
_RUNS_SHOWN = 10
_SECTIONS: tuple[tuple[str, tuple[Tier, ...]], ...] = (
    ("Regressions", ("hard_regression",)),
    ("Likely regressions", ("soft_regression",)),
    ("Worth watching", ("watch", "unreliable_baseline")),
    ("Improvements", ("improvement",)),
)


class Section(msgspec.Struct, frozen=True):
    """A part of the comment: what is always there, and rows of which some may be left out."""

    before: str
    rows: tuple[str, ...] = ()
    after: str = ""

    @property
    def fixed_chars(self) -> int:
        """Without rows, with room to say what was left out."""
        return len(self.before) + len(self.after) + len(_left_out(10**9))

    @property
    def rows_chars(self) -> int:
        """All rows."""
        return sum(map(len, self.rows))

    def fitted(self, chars: int) -> str:
        """With as many rows as fit."""
        kept = 0
        for row in self.rows:
            chars -= len(row)
            if chars < 0:
                break
            kept += 1
        rest = len(self.rows) - kept
        return self.before + "".join(self.rows[:kept]) + (_left_out(rest) if rest else "") + self.after


def _left_out(rows: int) -> str:
    return f"\n… and {rows:,} more, left out for length: eval-results.json has them all.\n"


def pr_comment(source: CompareSource, max_chars: int = MAX_CHARS) -> str:
    """The whole comment, no longer than it may be."""
    return fit(list(_sections(source)), max_chars)


def write_pr_comment(source: CompareSource, out: BinaryIO) -> None:
    """The same, as bytes."""
    out.write(pr_comment(source).encode("utf-8", "replace"))


def fit(sections: Sequence[Section], max_chars: int) -> str:
    """All sections: short ones whole, long ones share evenly what is left."""
    left = max_chars - sum(section.fixed_chars for section in sections)
    shares: dict[int, int] = {}
    waiting = sorted(range(len(sections)), key=lambda index: sections[index].rows_chars)
    for position, index in enumerate(waiting):
        shares[index] = min(sections[index].rows_chars, max(0, left) // (len(waiting) - position))
        left -= shares[index]
    return "".join(section.fitted(shares[index]) for index, section in enumerate(sections))


def _sections(source: CompareSource) -> Iterator[Section]:
    comparison = source.comparison
    yield Section(_heading(source) + _alert(source) + _summary(comparison))
    for title, tiers in _SECTIONS:
        yield from _cases(title, [one for one in comparison.rates if one.tier in tiers])
    for title, grid in (
        ("Metrics", tables.metrics(comparison)),
        ("Nodes that moved", tables.nodes(comparison)),
        ("Failure breakdown", tables.drift(comparison)),
    ):
        if grid is not None:
            yield Section(f"\n#### {title}\n\n{_head(grid)}", _rows(grid))
    yield from _folded("Per case", tables.rates(comparison.rates, "Scenario"), tables.quiet_cases(comparison))
    yield from _folded("Checks of the gate", tables.gate_lines(source), ())
    yield from _folded("Not alike", tables.differences(comparison), ())
    yield from _folded("How metrics were judged", tables.methods(comparison), ())
    yield _details(source)


def _heading(source: CompareSource) -> str:
    commit = f" {code(source.short_commit)}" if source.short_commit else ""
    against = f" against {escape(source.comparison.baseline, _CELL_CHARS)}" if source.comparison.baseline else ""
    return f"### Flowgauge{commit}: {escape(source.comparison.candidate, _CELL_CHARS)}{against}\n"


def alert_of(source: CompareSource) -> str:
    """CAUTION where something is worse, WARNING where it may be or could not be told, TIP for better, else NOTE."""
    comparison = source.comparison
    found = {one.tier for one in comparison.rates} | {one.verdict for one in comparison.metrics}
    status = source.gate.status if source.gate is not None else ""
    if status == "failed" or found & {"hard_regression", "regressed"}:
        return "CAUTION"
    if status == "not_measured" or comparison.attempt == "fetch_failed" or found & {"soft_regression", "vanished"}:
        return "WARNING"
    return "TIP" if found & {"improvement", "improved"} else "NOTE"


def _alert(source: CompareSource) -> str:
    return f"\n> [!{alert_of(source)}]\n> {escape(verdict_sentence(source), 2000)}\n"


def _summary(comparison: Comparison) -> str:
    lines = [*(f"{line}." for line in counts(comparison) if line), pass_rate_sentence(comparison)]
    return "".join(f"\n{escape(line)}\n" for line in lines if line)


def _cases(title: str, verdicts: Sequence[RateVerdict]) -> Iterator[Section]:
    if not verdicts:
        return
    rows = tuple(
        f"| {cell(one.key, _CELL_CHARS)} | {share(one.candidate)} | {share(one.baseline)} | {points(one.delta)} | {_p(one)} |\n"
        for one in verdicts
    )
    yield Section(f"\n#### {title}\n\n| Scenario | PR | Baseline | Δ | p |\n|---|---:|---:|---:|---:|\n", rows)
    failed = [one for one in verdicts if one.failed_runs]
    if failed:
        runs = sum(one.candidate.total - one.candidate.count for one in failed)
        yield Section(_open(words.plural(runs, "failed run")), tuple(map(_failed_runs, failed)), _CLOSE)


def _p(one: RateVerdict) -> str:
    return cell(p_value(one.p_value))


def _failed_runs(one: RateVerdict) -> str:
    shown = ", ".join(code(words.cut(run, 80)) for run in one.failed_runs[:_RUNS_SHOWN])
    more = f" and {len(one.failed_runs) - _RUNS_SHOWN:,} more" if len(one.failed_runs) > _RUNS_SHOWN else ""
    kinds = ", ".join(f"{escape(kind, 80)} {count:,}" for kind, count in Counter(one.failures).most_common())
    return f"- {escape(one.key, _CELL_CHARS)}{f' ({kinds})' if kinds else ''}: {shown}{more}\n"


_CLOSE = "\n</details>\n"


def _open(title: str) -> str:
    return f"\n<details><summary>{title}</summary>\n\n"


def _head(grid: Grid) -> str:
    titles = " | ".join(cell(title) for title in grid.columns)
    return f"| {titles} |\n|{'|'.join('---:' if title in grid.right else '---' for title in grid.columns)}|\n"


def _rows(grid: Grid) -> tuple[str, ...]:
    return tuple(f"| {' | '.join(cell(text, _CELL_CHARS) for text in row)} |\n" for row in grid.rows)


def _folded(title: str, grid: Grid | None, legend: Sequence[str]) -> Iterator[Section]:
    if grid is None:
        return
    below = "".join(f"\n- {escape(line, 400)}" for line in (*grid.legend, *legend))
    yield Section(_open(title) + _head(grid), _rows(grid), f"{below}\n{_CLOSE}" if below else _CLOSE)


def _details(source: CompareSource) -> Section:
    facts = "".join(f"- {name}: {code(words.cut(value, 400))}\n" for name, value in tables.facts(source))
    notes = tuple(f"- {escape(note, 1000)}\n" for note in source.comparison.notes)
    return Section(_open("Details") + facts, notes, _CLOSE)
