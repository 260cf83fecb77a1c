"""Trends as Markdown: for a log, a file, a terminal that is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from flowgauge.model.verdict import Trend
from flowgauge.report import trend_words
from flowgauge.report.markdown import escape, table

_WIDTH = 100


def trend_markdown(trends: Sequence[Trend]) -> str:
    """All of them."""
    return "\n".join(line for trend in trends for line in _lines(trend)).rstrip() + "\n"


def write_markdown(trends: Sequence[Trend], out: BinaryIO) -> None:
    """The same, as bytes."""
    out.write(trend_markdown(trends).encode("utf-8", "replace"))


def _lines(trend: Trend) -> Iterator[str]:
    bars, _ = trend_words.sparkline([point.value for point in trend.points], _WIDTH)
    yield from (f"# Trend of {escape(trend.subject)}", "", escape(trend_words.headline(trend)), "")
    if bars:
        yield from (f"`{bars}`", "")
    if trend.changes:
        yield from (*(f"- {escape(trend_words.change_sentence(one, trend))}" for one in trend.changes), "")
    yield from (*table(trend_words.points(trend)), "")
    if trend.notes:
        yield from (*(f"- note: {escape(note)}" for note in trend.notes), "")
