"""`starts_with` and `ends_with`: how a text begins or ends."""

from __future__ import annotations

from collections.abc import Callable

from flowgauge.model.workflow import Json
from flowgauge.nodes.context import fail
from flowgauge.score.check import PASSED, Check, Evidence, Finding, Measure, wrong
from flowgauge.score.checks.text import TextOptions, fold_of, text_of, texts_of
from flowgauge.score.words import shown


def _prepare(fits: Callable[[str, tuple[str, ...]], bool], verb: str) -> Callable[[TextOptions, Json], Measure]:
    def prepare(options: TextOptions, value: Json) -> Measure:
        fold = fold_of(options) or str
        affixes = tuple(fold(text) for text in texts_of(value))
        if not all(affixes) or not affixes:
            raise fail("template", f"There is nothing to look for: every text {verb} an empty one.")

        def measure(found: Json, _: Evidence) -> Finding:
            text = text_of(found)
            if text is not None and fits(fold(text), affixes):
                return PASSED
            return wrong(f"Expected a text that {verb} {' or '.join(map(shown, affixes))}, found {shown(found)}.")

        return measure

    return prepare


STARTS_WITH = Check(options=TextOptions, prepare=_prepare(str.startswith, "starts with"), summary="The text starts with one of these.")
ENDS_WITH = Check(options=TextOptions, prepare=_prepare(str.endswith, "ends with"), summary="The text ends with one of these.")
