"""What a results file says about one subject, whatever program wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Annotated

import msgspec
from msgspec import Meta

from flowgauge.model.metric import Direction, Metric

Number = Annotated[float, Meta(ge=-1e100, le=1e100)]
"""Finite, and small enough that its square is."""
Seconds = Annotated[float, Meta(ge=0, le=1e100)]

DURATION = "duration_ms"
"""One name and one unit for time, so that policies fit results from everywhere."""
MS = "ms"
LONGEST_TAG = 200
MOST_SAMPLES = 10_000
"""Of one metric. A loop of microseconds gives hundreds of thousands, which say no more about the next run."""


class Ingested(msgspec.Struct, frozen=True, kw_only=True):
    """One subject as measured elsewhere."""

    subject: str
    """What the program calls it: a test's full name, a command line, a name of one's own. The same in every file."""
    metrics: dict[str, Metric]
    source: str
    """The format, with the version of the program where the file says it."""
    commit: str = ""
    """In full, with `+` where files differed from it; empty where the file names none."""
    measured_at: int | None = None
    """Milliseconds since 1970; None where the file does not say."""
    machine: str = ""
    """The class of the machine, in the words of our own benches; empty where the file does not say."""
    tags: dict[str, str] = {}
    notes: tuple[str, ...] = ()


def sampled(samples: Mapping[str, Sequence[float]], direction: Direction, unit: str, value: float | None = None) -> Metric:
    """A metric by its samples; its value is their mean, unless the file gives another."""
    every = [number for numbers in samples.values() for number in numbers]
    mean = fsum(every) / len(every) if every else None
    kept = {case: list(numbers) for case, numbers in samples.items() if numbers}
    return Metric(value=mean if value is None else value, direction=direction, unit=unit, samples=kept)


def tag(text: str) -> str:
    """Text of a program, fit to be stored and shown: short, and on one line."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:LONGEST_TAG])


def thinned(found: Ingested) -> Ingested:
    """With at most MOST_SAMPLES a metric, and a note for every metric that had more."""
    metrics = {name: _thinned(metric) for name, metric in found.metrics.items()}
    notes = [
        f"{name}: {count(metrics[name])} of {count(metric)} samples are kept, evenly spaced; the value is that of all."
        for name, metric in found.metrics.items()
        if metrics[name] is not metric
    ]
    return msgspec.structs.replace(found, metrics=metrics, notes=(*found.notes, *notes)) if notes else found


def count(metric: Metric) -> int:
    """Its samples, over all cases."""
    return sum(map(len, metric.samples.values()))


def _thinned(metric: Metric) -> Metric:
    total = count(metric)
    if total <= MOST_SAMPLES:
        return metric
    samples = {case: _spaced(numbers, max(1, len(numbers) * MOST_SAMPLES // total)) for case, numbers in metric.samples.items()}
    return msgspec.structs.replace(metric, samples=samples)


def _spaced(numbers: list[float], most: int) -> list[float]:
    return [numbers[at * len(numbers) // most] for at in range(most)]
