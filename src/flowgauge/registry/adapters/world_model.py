"""world_model: flush rate, correction density and queries, from a health source that the user names.

The source is a JSON file or an http(s) address that answers JSON. A figure that
it does not have is not there; one that is no number is an error. It is read by a
process of its own, so that the time limit holds for all of it.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from flowgauge.errors import Failed
from flowgauge.model.figure import Direction, Metric
from flowgauge.model.workflow import Value
from flowgauge.nodes.program import Limits
from flowgauge.registry import fetching
from flowgauge.registry.adapter import Skip
from flowgauge.registry.adapters.built_in import BuiltIn, Context
from flowgauge.registry.programs import run_guarded

FIGURES: dict[str, tuple[Direction, str]] = {
    "flush_rate": ("higher", "ratio"),
    "correction_density": ("lower", "ratio"),
    "queries": ("higher", "count"),
}
_MOST_BYTES = 5_000_000
_LONGEST_S = 30.0
_TAIL = 300


class Settings(Value, frozen=True):
    """Where the figures are."""

    source: Annotated[str, Meta(description="A JSON file, or an http or https address that answers JSON.")] = ""
    fields: Annotated[
        dict[str, str], Meta(description="Where a figure stands in the source, as a.b.c; flush_rate: flush_rate by default, and so on.")
    ] = {}


def run(settings: Settings, context: Context) -> Mapping[str, Metric]:
    """What the source has of the three figures."""
    if unknown := sorted(set(settings.fields) - set(FIGURES)):
        raise ValueError(f"there is no figure {unknown[0]!r}; known are {', '.join(FIGURES)}")
    told = _read(settings.source, min(_LONGEST_S, context.time_limit_s))
    found = {name: _at(told, settings.fields.get(name, name)) for name in FIGURES}
    if all(value is None for value in found.values()):
        raise ValueError(f"{settings.source} has none of {', '.join(FIGURES)}")
    return {name: _metric(name, value) for name, value in found.items() if value is not None}


def _metric(name: str, value: Any) -> Metric:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name} is {value!r}, which is no finite number")
    direction, unit = FIGURES[name]
    return Metric(value=float(value), direction=direction, unit=unit)


def _read(source: str, timeout_s: float) -> Any:
    argv = [sys.executable, "-I", str(Path(fetching.__file__).absolute()), source, str(_MOST_BYTES)]
    try:
        ended = run_guarded(argv, dict(os.environ), Limits(max_bytes=2 * _MOST_BYTES, timeout_s=timeout_s))
    except Failed as error:
        if error.failure.kind != "timeout":
            raise
        raise ValueError(f"{source} was not read to its end within {timeout_s:g} s") from None
    if ended.exit_code == fetching.ABSENT:
        raise Skip(f"there is no file {source}")
    if ended.exit_code:
        raise ValueError(f"{source} does not answer: {ended.stderr.decode(errors='replace')[-_TAIL:]}")
    if len(ended.stdout) > _MOST_BYTES:
        raise ValueError(f"{source} answers more than {_MOST_BYTES // 1_000_000} MB")
    try:
        return json.loads(ended.stdout)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{source} is no JSON: {error}") from None


def _at(told: Any, way: str) -> Any:
    for key in way.split("."):
        told = told.get(key) if isinstance(told, dict) else None
    return told


def _missing(settings: Settings) -> str:
    return "" if settings.source else "no source is named: set adapters.world_model.source in registry.yaml"


ROW = BuiltIn(name="world_model", tier="fast", settings=Settings, run=run, missing=_missing)
