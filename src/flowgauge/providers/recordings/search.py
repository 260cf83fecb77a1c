"""Say which recorded request is nearest to one that is not recorded, and what differs.

Requests as JSON in, a sentence out. Looks at a bounded number of them, so that
a long recording makes no slow error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import islice, zip_longest

import msgspec

from flowgauge.model.workflow import Json

COMPARED = 500
SHOWN = 3
_CHARS = 2000
_NOTHING = object()


def nearest(asked: bytes, recorded: Iterable[tuple[str, bytes]]) -> str:
    """A sentence such as: The nearest recorded one is 1a2b: messages[0].text is "a" here and "b" there."""
    text = asked.decode()[:_CHARS]
    matcher = SequenceMatcher(b=text, autojunk=False)
    best: tuple[float, str, bytes] | None = None
    for name, request in islice(recorded, COMPARED):
        matcher.set_seq1(request.decode()[:_CHARS])
        likeness = matcher.real_quick_ratio()
        if best is None or likeness >= best[0]:
            likeness = matcher.quick_ratio()
            if best is None or likeness > best[0]:
                best = likeness, name, request
    if best is None:
        return "It holds no exchange of this kind."
    _, name, request = best
    found = list(islice(_differences(msgspec.json.decode(asked), msgspec.json.decode(request), ""), SHOWN + 1))
    more = " and more" if len(found) > SHOWN else ""
    return f"The nearest recorded one is {name}: {'; '.join(found[:SHOWN])}{more}."


def _differences(here: Json, there: Json, path: str) -> Iterator[str]:
    if isinstance(here, dict) and isinstance(there, dict):
        for key in sorted({*here, *there}):
            yield from _differences(here.get(key, _NOTHING), there.get(key, _NOTHING), f"{path}.{key}")
    elif isinstance(here, list) and isinstance(there, list):
        for index, (mine, theirs) in enumerate(zip_longest(here, there, fillvalue=_NOTHING)):
            yield from _differences(mine, theirs, f"{path}[{index}]")
    elif here != there:
        at = _parting(here, there)
        yield f"{path.lstrip('.') or 'it'} is {_shown(here, at)} here and {_shown(there, at)} there"


def _parting(here: Json, there: Json) -> int:
    """Where two long texts part, so that what is shown differs."""
    if not (isinstance(here, str) and isinstance(there, str)):
        return 0
    same = next((at for at, (mine, theirs) in enumerate(zip(here, there, strict=False)) if mine != theirs), min(len(here), len(there)))
    return max(0, same - 20)


def _shown(value: Json, start: int) -> str:
    if value is _NOTHING:
        return "missing"
    text = msgspec.json.encode(value[start:] if isinstance(value, str) else value).decode()
    cut = text if len(text) <= 60 else f"{text[:60]}…"
    return f"…{cut}" if start else cut
