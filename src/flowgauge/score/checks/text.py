"""What checks of text share: how a value is read as text, and how texts are made alike before they are compared."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from flowgauge.lang.filters import to_text
from flowgauge.model.workflow import Json
from flowgauge.score.check import Options

Fold = Callable[[str], str]


class TextOptions(Options, frozen=True, kw_only=True):
    """How two texts are made alike."""

    ignore_case: Annotated[bool, Meta(description="`Yes` is `yes`.")] = False
    strip: Annotated[bool, Meta(description="Blanks at both ends do not count.")] = False
    normalise: Annotated[bool, Meta(description="Unicode NFKC, and any run of blanks is one blank.")] = False


def fold_of(options: TextOptions) -> Fold | None:
    """The function that makes texts alike; None where they are taken as they are."""
    steps: list[Fold] = []
    if options.normalise:
        steps.append(lambda text: " ".join(unicodedata.normalize("NFKC", text).split()))
    elif options.strip:
        steps.append(str.strip)
    if options.ignore_case:
        steps.append(str.casefold)
    if len(steps) < 2:
        return steps[0] if steps else None
    first, second = steps
    return lambda text: second(first(text))


def text_of(value: Json) -> str | None:
    """Text as it is, other values as JSON; null is no text."""
    return value if type(value) is str else None if value is None else to_text(value)


def texts_of(value: Json) -> tuple[str, ...]:
    """A value or a list of values, each as text."""
    listed = value if isinstance(value, list | tuple) else [value]
    return tuple(to_text(one) for one in listed)
