"""Trends as one HTML file that needs nothing else: a chart a metric, the changes in words, every point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from flowgauge.model.verdict import Trend
from flowgauge.report import html_parts as html
from flowgauge.report import trend_words
from flowgauge.report.trend_charts import trend_charts

_MARKS = {"good": "✓", "bad": "!", "": "≈", "dim": "?"}
WHOLE = 1080
"""Width of the plot on a screen."""
_FEW_POINTS = 12
"""Up to here the table of points is open."""


def write_html(trends: Sequence[Trend], out: BinaryIO) -> None:
    """The whole page."""
    out.writelines(part.encode("utf-8", "replace") for part in _parts(trends))


def _parts(trends: Sequence[Trend]) -> Iterator[str]:
    title = " and ".join(dict.fromkeys(trend.subject for trend in trends)) or "no trend"
    yield html.head(f"Trend of {title}", html.page_part("bench.css") + html.page_part("compare.css"))
    yield f"<header><h1>Trend of {html.safe(title)}</h1></header>\n"
    for trend in trends:
        yield from _trend(trend)
    yield "</main>\n</body>\n</html>\n"


def _trend(trend: Trend) -> Iterator[str]:
    tone = trend_words.TRENDS[trend.trend]
    head, _, rest = trend_words.headline(trend).partition(": ")
    yield f'<div class="verdict {tone}"><span class="mark" aria-hidden="true">{_MARKS[tone]}</span>'
    yield f"<h2>{html.safe(head)}</h2><p>{html.safe(rest)}</p></div>\n"
    yield from html.figures(lambda width: trend_charts((trend,), width=width), "whole", WHOLE)
    if trend.changes:
        yield html.section(
            "What changed", f'<ul class="plain">{"".join(_change(trend, index) for index in range(len(trend.changes)))}</ul>'
        )
    table = html.grid_table(trend_words.points(trend))
    opened = " open" if len(trend.points) <= _FEW_POINTS else ""
    yield html.section("Points", f"<details{opened}><summary>{len(trend.points):,} benchmarks, oldest first</summary>{table}</details>")
    if trend.notes:
        yield html.section("Notes", html.bullets(trend.notes, "plain"))


def _change(trend: Trend, index: int) -> str:
    one = trend.changes[index]
    return f'<li class="{"bad" if one.harmful else "good"}">{html.safe(trend_words.change_sentence(one, trend))}</li>'
