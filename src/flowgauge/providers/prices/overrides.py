"""A user's own prices, from a YAML or JSON file.

A path in, prices by `provider/model` out. Refuses a file with mistakes and
lists every one with its line.

    openai/my-fine-tune: {prompt_per_1m: 3.0, completion_per_1m: 6.0}
    ollama/llama3: {prompt_per_1m: 0, completion_per_1m: 0}
"""

from __future__ import annotations

import math
from pathlib import Path

import msgspec

from flowgauge.documents.document import Document, Way, read_document
from flowgauge.errors import BadFile
from flowgauge.model.problem import Problem
from flowgauge.model.workflow import Json
from flowgauge.providers.parts import Mistakes, each

_NEEDED = ("prompt_per_1m", "completion_per_1m")
_ALLOWED = (*_NEEDED, "cached_per_1m", "cache_written_per_1m")


class Override(msgspec.Struct, frozen=True):
    """USD for a million tokens; what is None costs what a prompt token costs."""

    prompt_per_1m: float
    completion_per_1m: float
    cached_per_1m: float | None = None
    cache_written_per_1m: float | None = None


def read_overrides(path: Path) -> tuple[bytes, dict[str, Override]]:
    """The file's bytes, for its hash, and what they say."""
    document = read_document(path)
    if not isinstance(document.value, dict):
        raise BadFile(str(path), [Problem(1, "", "Expected a mapping of provider/model to prices.", "See docs: prices.")])
    found: dict[str, Override] = {}

    def read(way: Way, part: Json) -> None:
        name = str(way[-1])
        problems = _problems(document, way, name, part)
        if problems:
            raise Mistakes(problems)
        found[name] = Override(**part)

    each(document, (), document.value, read)
    return path.read_bytes(), found


def _problems(document: Document, way: Way, name: str, part: Json) -> list[Problem]:
    provider, _, model = name.partition("/")
    if not provider or not model:
        return [document.problem(way, f"{name!r} names no model.", "Write provider/model.")]
    if not isinstance(part, dict):
        return [document.problem(way, "Expected a mapping.", f"Give {' and '.join(_NEEDED)}.")]
    problems = [document.problem((*way, str(key)), "Unknown key.", f"Known: {', '.join(_ALLOWED)}.") for key in part if key not in _ALLOWED]
    problems += [document.problem((*way, key), "It is missing.", "USD for a million tokens.") for key in _NEEDED if key not in part]
    problems += [
        document.problem((*way, key), f"{value!r} is no price.", "Give a number of USD for a million tokens, 0 or more.")
        for key, value in part.items()
        if key in _ALLOWED and not _is_price(value)
    ]
    return problems


def _is_price(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
