"""`similarity`: how much a text resembles the one expected, from 0 to 1. A scorer: it decides only by a `threshold`.

- `ratio`: twice the longest common subsequence of characters, by the sum of both lengths.
- `token_f1`: the harmonic mean of precision and recall of words, in any order.
- `rouge_l`: the same of the longest common subsequence of words, in order.
Two empty texts are alike. Texts too long to compare are an error, not a guess.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Annotated, Literal

from msgspec import Meta

from flowgauge.model.workflow import Json
from flowgauge.nodes.context import fail
from flowgauge.score.check import Check, Evidence, Finding, Measure, wrong
from flowgauge.score.checks.text import TextOptions, fold_of, text_of
from flowgauge.score.subsequence import ROWS_AT_ONCE, common_length

_WORD = re.compile(r"\w+")
MOST_CELLS = 4_000_000_000
"""Of the table of a common subsequence: about a second of work."""

Parts = Sequence[str]
Common = Callable[[Parts, Parts], Iterator[int]]


class SimilarityOptions(TextOptions, frozen=True, kw_only=True):
    """Which resemblance."""

    method: Annotated[Literal["ratio", "token_f1", "rouge_l"], Meta(description="See above.")] = "ratio"


def _shared_words(one: Parts, other: Parts) -> Iterator[int]:
    yield (Counter(one) & Counter(other)).total()


def _in_order(one: Parts, other: Parts) -> Iterator[int]:
    if len(one) * len(other) > MOST_CELLS:
        message = f"Texts of {len(one)} and {len(other)} parts are too long for this method. Use token_f1, or a narrower path."
        raise fail("invalid_output", message)
    return common_length(one, other)


METHODS: dict[str, tuple[Callable[[str], Parts], Common]] = {
    "ratio": (str, _in_order),
    "token_f1": (_WORD.findall, _shared_words),
    "rouge_l": (_WORD.findall, _in_order),
}


def prepare(options: SimilarityOptions, value: Json) -> Measure:
    """`value` is the text to resemble."""
    split, common = METHODS[options.method]
    fold = fold_of(options) or str
    wanted = split(fold(text_of(value) or ""))

    def measure(found: Json, _: Evidence) -> Finding | Awaitable[Finding]:
        text = text_of(found)
        if text is None:
            return wrong("There is no text: the value is null.")
        parts = split(fold(text))
        work = common(parts, wanted)
        if max(len(parts), len(wanted)) >= ROWS_AT_ONCE:
            return _in_turns(work, len(parts) + len(wanted))
        return _finding(max(work), len(parts) + len(wanted))

    return measure


async def _in_turns(work: Iterator[int], total: int) -> Finding:
    """Long work lets others run now and then."""
    shared = 0
    for step in work:
        shared = step
        await asyncio.sleep(0)
    return _finding(shared, total)


def _finding(shared: int, total: int) -> Finding:
    return Finding(None, 2 * shared / total if total else 1.0)


CHECK = Check(options=SimilarityOptions, prepare=prepare, summary="How much a text resembles the expected one, from 0 to 1.", scores=True)
