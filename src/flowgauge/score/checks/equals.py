"""`equals`: the value is the one expected, as JSON: 1 is 1.0, true is not 1, the order of keys does not matter, NaN equals nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from flowgauge.model.workflow import Json
from flowgauge.score.check import PASSED, Check, Evidence, Finding, Measure, wrong
from flowgauge.score.checks.text import Fold, TextOptions, fold_of, text_of
from flowgauge.score.words import shown


class EqualsOptions(TextOptions, frozen=True, kw_only=True):
    """How two values are compared."""

    as_text: Annotated[bool, Meta(description="Compare the values as text: `42` of a CSV file is the number 42.")] = False


def same_json(left: Json, right: Json, fold: Fold | None = None) -> bool:
    """Equality of JSON values, however deep. Texts are compared as `fold` makes them."""
    pairs = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            pairs.extend((entry, other[key]) for key, entry in one.items())
        elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
            if len(one) != len(other):
                return False
            pairs.extend(zip(one, other, strict=True))
        elif not _same_leaf(one, other, fold):
            return False
    return True


def _same_leaf(one: Json, other: Json, fold: Fold | None) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if fold is not None and isinstance(one, str) and isinstance(other, str):
        return fold(one) == fold(other)
    return bool(one == other)


def prepare(options: EqualsOptions, value: Json) -> Measure:
    """Plain text, by far the most frequent, is compared without any detour."""
    fold = fold_of(options)
    if options.as_text:
        return _as_text(fold, text_of(value))
    if type(value) is str and fold is None:
        return lambda found, _: PASSED if found == value else _differs(found, value)
    if type(value) is str and fold is not None:
        folded = fold(value)
        return lambda found, _: PASSED if type(found) is str and fold(found) == folded else _differs(found, value)
    return _measure(lambda found: same_json(found, value, fold), value)


def _as_text(fold: Fold | None, wanted: str | None) -> Measure:
    fold = fold or str
    folded = None if wanted is None else fold(wanted)

    def same(found: Json) -> bool:
        text = text_of(found)
        return text is folded if text is None or folded is None else fold(text) == folded

    return _measure(same, wanted)


def _measure(same: Callable[[Json], bool], wanted: Json) -> Measure:
    def measure(found: Json, _: Evidence) -> Finding:
        return PASSED if same(found) else _differs(found, wanted)

    return measure


def _differs(found: Json, wanted: Json) -> Finding:
    return wrong(f"Expected {shown(wanted)}, found {shown(found)}.")


CHECK = Check(options=EqualsOptions, prepare=prepare, summary="The value is the one expected.")
