"""How long a regular expression may take at the worst, judged by its text alone.

Python's matcher backtracks: some patterns take exponential time on some texts,
and the texts here come from models. What is surely cheap is matched in place;
all else is matched in a worker process, under a time limit.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

_TOKEN = re.compile(
    r"""
      (?P<escape>\\[1-9]|\\.)
    | (?P<set>\[\^?\]?(?:[^\]\\]|\\.)*\])
    | (?P<group>\((?:\?(?::|P<\w+>)?)?)
    | (?P<close>\))
    | (?P<or>\|)
    | (?P<repeat>[*+?]|\{\d*(?:,\d*)?\})(?P<manner>[?+]?)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def worst_steps(pattern: str, length: int) -> float:
    """An upper bound of the steps that a search in a text of this length takes; infinite where it may be exponential."""
    factor, unbounded = _shape(pattern)
    try:
        return factor * float(max(length, 1)) ** (unbounded + 1)
    except OverflowError:
        return math.inf


@lru_cache(maxsize=4096)
def _shape(pattern: str) -> tuple[float, int]:
    """(ways to choose that do not depend on the text, number of unbounded repeats)."""
    factor, unbounded, before = float(len(pattern) or 1), 0, ""
    for token in _TOKEN.finditer(pattern):
        kind, text = str(token.lastgroup), token[0]
        if token["repeat"]:
            ways = _ways(token["repeat"])
            if before == "close" and ways > 2:
                return math.inf, 0  # a repeated group may match the same text in many ways
            unbounded += ways == math.inf
            factor *= 1 if ways == math.inf else ways
            kind = "repeat"
        elif kind == "or":
            factor *= 2
        elif _remembers(kind, text):
            return math.inf, 0
        before = kind
    return factor, unbounded


def _ways(repeat: str) -> float:
    if repeat in "*+":
        return math.inf
    if repeat == "?":
        return 2
    low, comma, high = repeat[1:-1].partition(",")
    if not comma:
        return 1 if low else 2
    return int(high) - int(low or 0) + 1 if high else math.inf


def _remembers(kind: str, text: str) -> bool:
    """Back references, look-arounds and inline flags: not followed here."""
    return (kind == "escape" and text[1] in "123456789") or (kind == "group" and text == "(?")
