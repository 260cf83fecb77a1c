"""A comparison as one HTML file that needs nothing else: the verdict, then what it was made of, with pictures.

No script at all, and no request leaves the page, by its own policy. Everything
that a model, a file or a user wrote is escaped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from flowgauge.model.verdict import Comparison, RateVerdict
from flowgauge.report import compare_tables as tables
from flowgauge.report import html_parts as html
from flowgauge.report import words
from flowgauge.report.compare_charts import compare_charts
from flowgauge.report.compare_sentences import is_open, pass_rate_sentence, verdict_sentence
from flowgauge.report.compare_source import CompareSource
from flowgauge.report.compare_words import STATUSES, TIERS, VERDICTS
from flowgauge.report.grid import Grid

MOST_ROWS = 500
"""Of cases on one page; the JSON report has them all."""
_MARKS = {
    "verdict": {**{str(name): tone for name, tone in VERDICTS.items()}, **dict(TIERS.values())},
    "gate": {**{f"{mark} {name}": tone for mark, name, tone in STATUSES.values()}, "? undecided": "warn"},
    "more than noise": {"yes": "bad"},
}
"""The tone of a cell, by its column and its text."""


def write_html(source: CompareSource, out: BinaryIO) -> None:
    """The whole page."""
    out.writelines(part.encode("utf-8", "replace") for part in _parts(source))


def _parts(source: CompareSource) -> Iterator[str]:
    comparison = source.comparison
    title = f"{comparison.candidate} against {comparison.baseline}" if comparison.baseline else comparison.candidate
    yield html.head(title, html.page_part("bench.css") + html.page_part("compare.css"))
    yield from _header(source, title)
    yield _table("Metrics", tables.metrics(comparison))
    yield from html.figures(lambda width: compare_charts(source, width=width))
    yield _table("Gate", tables.gate_lines(source))
    yield from _pass_rates(comparison)
    yield _table("Nodes that moved", tables.nodes(comparison))
    yield _table("Failures that became more or less common", tables.drift(comparison))
    yield _table("What the two sides do not share", tables.differences(comparison))
    if comparison.notes:
        yield html.section("Notes", html.bullets(comparison.notes, "plain"))
    yield _table("How metrics were judged", tables.methods(comparison))
    yield html.section("What was compared", html.facts(tables.facts(source)))
    yield "</main>\n</body>\n</html>\n"


def _header(source: CompareSource, title: str) -> Iterator[str]:
    under = " · ".join(
        filter(None, (f"commit {source.short_commit}" if source.short_commit else "", source.gate.policy if source.gate else ""))
    )
    yield f'<header><h1>{html.safe(title)}</h1><p class="under">{html.safe(under)}</p></header>\n'
    mark, tone = _banner(source)
    head, _, rest = verdict_sentence(source).partition(": ")
    yield f'<div class="verdict {tone}" role="status"><span class="mark" aria-hidden="true">{mark}</span>'
    yield f"<h2>{html.safe(head)}</h2><p>{html.safe(rest)}</p></div>\n"
    yield f'<ul class="tally">{"".join(_tally(source.comparison))}</ul>\n'


def _banner(source: CompareSource) -> tuple[str, str]:
    """Mark and tone; a gate that let something undecided through is not green."""
    if source.gate is None:
        return ("≈", "") if source.comparison.attempt == "ok" else ("?", "warn")
    mark, _, tone = STATUSES[source.gate.status]
    return (mark, "warn") if any(map(is_open, source.gate.lines)) and tone == "good" else (mark, tone)


def _tally(comparison: Comparison) -> Iterator[str]:
    metrics = Counter(one.verdict for one in comparison.metrics)
    yield from (
        _pill(f"{words.plural(metrics[verdict], 'metric')} {verdict}", tone) for verdict, tone in VERDICTS.items() if metrics[verdict]
    )
    tiers = Counter(one.tier for one in comparison.rates)
    yield from (_pill(f"{words.plural(tiers[tier], 'case')}: {name}", tone) for tier, (name, tone) in TIERS.items() if tiers[tier])


def _pill(text: str, tone: str) -> str:
    return f'<li class="{tone}">{html.safe(text)}</li>'


def _table(title: str, grid: Grid | None) -> str:
    return "" if grid is None else html.section(title, html.grid_table(grid, _MARKS))


def _pass_rates(comparison: Comparison) -> Iterator[str]:
    if comparison.aggregate is None and not comparison.rates:
        return
    body = f"<p>{html.safe(pass_rate_sentence(comparison))}</p>" if comparison.aggregate is not None else ""
    loud = [one for one in comparison.rates if one.tier != "stable"]
    calm = [one for one in comparison.rates if one.tier == "stable"]
    body += _rate_table(loud) + html.bullets(tables.quiet_cases(comparison), "legend") + _failed_runs(loud[:MOST_ROWS])
    if calm:
        body += f"<details><summary>{words.plural(len(calm), 'stable case')}</summary>{_rate_table(calm)}</details>"
    yield html.section("Pass rates", body)


def _rate_table(verdicts: Sequence[RateVerdict]) -> str:
    grid = tables.rates(verdicts[:MOST_ROWS])
    if grid is None:
        return ""
    left = len(verdicts) - MOST_ROWS
    told = html.bullets([f"{left:,} more are in the JSON report"], "legend") if left > 0 else ""
    return html.table(grid, [_rate_row(one, row, grid) for one, row in zip(verdicts, grid.rows, strict=False)]) + told


def _rate_row(one: RateVerdict, row: Sequence[str], grid: Grid) -> str:
    cells = [
        f'<td class="name">{html.safe(one.key)}</td>',
        html.rate_cell(one.candidate, "candidate"),
        html.rate_cell(one.baseline, "baseline"),
    ]
    cells += [
        html.cell(grid, title, text, _MARKS.get(title, {}).get(text, "")) for title, text in zip(grid.columns[3:], row[3:], strict=True)
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _failed_runs(verdicts: Sequence[RateVerdict]) -> str:
    failed = [one for one in verdicts if one.failed_runs]
    lines = "".join(
        f"<li>{html.safe(one.key)}: {', '.join(f'<code>{html.safe(run)}</code>' for run in one.failed_runs)}</li>" for one in failed
    )
    return f"<details><summary>Failed runs of {words.plural(len(failed), 'case')}</summary><ul>{lines}</ul></details>" if failed else ""
