"""Numbers as people read them. Unknown is shown as unknown, never as zero."""

from __future__ import annotations

import datetime
import re

from flowgauge.model.benchmark import Rate
from flowgauge.model.play import CostSource

STATUS_MARKS = {
    "success": ("✓", "green"),
    "failed": ("✗", "red"),
    "timeout": ("⏱", "red"),
    "cancelled": ("■", "yellow"),
    "budget_exceeded": ("$", "red"),
    "skipped": ("–", "dim"),
    "running": ("▶", "cyan"),
    "pending": ("·", "dim"),
}

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]")


def duration(milliseconds: float) -> str:
    """350 ns, 830 µs, 12.3 ms, 4.52 s, 3 min 20 s."""
    if 0 < milliseconds < 0.001:
        return f"{milliseconds * 1e6:.3g} ns"
    if milliseconds < 1:
        return f"{milliseconds * 1000:.0f} µs"
    if milliseconds < 1000:
        return f"{milliseconds:.3g} ms" if milliseconds < 100 else f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def span(seconds: int) -> str:
    """3600 → 1h, as people type it: in the largest unit that it is whole in."""
    units = (("w", 604_800), ("d", 86_400), ("h", 3600), ("m", 60), ("s", 1))
    return next(f"{seconds // each}{unit}" for unit, each in units if seconds % each == 0)


def cost(usd: float | None, source: CostSource) -> str:
    """$0.0021; $0 with a mark where the price is unknown; nothing where nothing was bought."""
    if source == "none":
        return ""
    if usd is None:
        return "$0 (unpriced)"
    if usd == 0:
        return "$0"
    digits = 6 if usd < 0.01 else 4 if usd < 1 else 2
    return f"${usd:.{digits}f}"


def tokens(prompt: int, completion: int) -> str:
    """120 → 34."""
    return f"{prompt:,} → {completion:,}" if prompt or completion else ""


def moment(milliseconds: int) -> str:
    """2026-01-31 14:05:09, in the reader's own zone."""
    if not milliseconds:
        return ""
    return datetime.datetime.fromtimestamp(milliseconds / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def age(milliseconds: int, now_ms: int) -> str:
    """How long ago: 12 s ago, 3 h ago, then the date."""
    seconds = (now_ms - milliseconds) / 1000
    if not milliseconds or seconds > 30 * 86400:
        return moment(milliseconds)
    for limit, unit, each in ((120, "s", 1), (7200, "min", 60), (172800, "h", 3600)):
        if seconds < limit:
            return f"{max(0, int(seconds // each))} {unit} ago"
    return f"{int(seconds // 86400)} days ago"


def size(count: float) -> str:
    """12.3 kB."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


UNKNOWN = "–"
"""What a table shows where a number is not known."""

COMPUTED_MARK = "†"
"""After a cost that was computed from tokens and a price table, not reported by the provider."""


def percent(share: float | None) -> str:
    """0.914 → 91.4 %; whole percents without a decimal."""
    return UNKNOWN if share is None else f"{round(share * 100, 1):g} %"


def rate(value: Rate) -> str:
    """90 % (59.6–98.2 %, 9/10)."""
    if value.value is None:
        return UNKNOWN
    low, high = (f"{round(bound * 100, 1):g}" for bound in (value.interval.low, value.interval.high))
    return f"{percent(value.value)} ({low}–{high} %, {value.count:,}/{value.total:,})"


def number(value: float | None) -> str:
    """Three digits that count: 0.914, 12.3, 1,234."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def plural(count: int, noun: str) -> str:
    """1 run, 2 runs, 1,000 runs."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, with an ellipsis where something is missing."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def printable(text: str) -> str:
    """Without control characters (a terminal would obey them), direction marks, surrogates and non-characters."""
    return _UNPRINTABLE.sub("", text)


def one_line(text: str, limit: int = 10_000) -> str:
    """Printable, and white space of any kind becomes one space."""
    return cut(printable(" ".join(text.split())), limit)
