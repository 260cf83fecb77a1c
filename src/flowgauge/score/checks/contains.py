"""`contains` and `not_contains`: pieces of text that must, or must not, be there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from msgspec import Meta

from flowgauge.model.workflow import Json
from flowgauge.nodes.context import fail
from flowgauge.score.check import PASSED, Check, Evidence, Finding, Measure, wrong
from flowgauge.score.checks.text import TextOptions, fold_of, text_of, texts_of
from flowgauge.score.words import shown


class ContainsOptions(TextOptions, frozen=True, kw_only=True):
    """How pieces are looked for."""

    mode: Annotated[Literal["all", "any"], Meta(description="Of several pieces: must all be there, or any?")] = "all"


def prepare(options: ContainsOptions, value: Json) -> Measure:
    """`value` is a piece or a list of them."""
    pieces, read = _pieces(options, value)

    def measure(found: Json, _: Evidence) -> Finding:
        text = read(found)
        if text is None:
            return wrong("There is no text: the value is null.")
        lacking = [piece for piece in pieces if piece not in text]
        if not lacking or (options.mode == "any" and len(lacking) < len(pieces)):
            return PASSED
        return wrong(f"It does not contain {' or '.join(shown(piece) for piece in lacking[:5])}: {shown(found)}.")

    return measure


def prepare_absence(options: TextOptions, value: Json) -> Measure:
    """None of the pieces may be there. Null is no text and does not pass."""
    pieces, read = _pieces(options, value)

    def measure(found: Json, _: Evidence) -> Finding:
        text = read(found)
        if text is None:
            return wrong("There is no text: the value is null.")
        present = next((piece for piece in pieces if piece in text), None)
        return PASSED if present is None else wrong(f"It contains {shown(present)}.")

    return measure


def _pieces(options: TextOptions, value: Json) -> tuple[tuple[str, ...], Callable[[Json], str | None]]:
    fold = fold_of(options)
    pieces = tuple(fold(text) if fold else text for text in texts_of(value))
    if not all(pieces) or not pieces:
        raise fail("template", "There is nothing to look for: a piece of text is empty, and every text contains that.")
    if fold is None:
        return pieces, text_of

    def read(found: Json) -> str | None:
        text = text_of(found)
        return None if text is None else fold(text)

    return pieces, read


CONTAINS = Check(options=ContainsOptions, prepare=prepare, summary="Pieces of text are there.")
NOT_CONTAINS = Check(options=TextOptions, prepare=prepare_absence, summary="Pieces of text are not there.")
