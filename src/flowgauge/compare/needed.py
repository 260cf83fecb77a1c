"""How many runs would decide what is still open?

An effect in, a number of runs a side out, from the spread that was seen. None
where it cannot be estimated, or where more runs of the same cases would not
help: then words that say how many cases would.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from flowgauge.compare.effects import Effect
from flowgauge.compare.words import several
from flowgauge.stats.power import cases_for_means, runs_for_means
from flowgauge.stats.ratio_cases import Cases


class Needed(NamedTuple):
    """`reason` only where more runs of these cases would not do."""

    runs: int | None
    reason: str = ""


def runs_needed(effect: Effect, bound: float, alpha: float) -> Needed:
    """With a chance of 80 %, if the effect is the one that was seen; or none at all, where that is easier to tell from the bound."""
    view = effect.typical.view
    error, ratio = view.error(), view.ratio
    if not error or not ratio or ratio <= 0:
        return Needed(None)
    seen, none = view.apart(ratio, bound), view.apart(1.0, bound)
    for distance in (max(seen, none), seen):
        needed = (_cases if effect.matched.design == "paired" else _trials)(effect, error, distance, alpha)
        if needed.runs is None or needed.runs > min(effect.matched.sizes):
            return needed
    return Needed(None)


def _trials(effect: Effect, error: float, distance: float, alpha: float) -> Needed:
    n, m = effect.matched.units
    units = runs_for_means(distance, error / math.sqrt(1 / n + 1 / m), alpha=alpha)
    return Needed(None if units is None else math.ceil(units * _runs_a_unit(effect)))


def _cases(effect: Effect, error: float, distance: float, alpha: float) -> Needed:
    """More runs of the same cases lessen the noise within cases, not that between them."""
    cases = len(effect.matched.candidate)
    variance = error * error * cases
    wanted = cases_for_means(distance, math.sqrt(variance), alpha=alpha)
    if wanted is None:
        return Needed(None)
    within = _within(effect)
    if within is None:
        return Needed(math.ceil(wanted * _runs_a_unit(effect)))
    allowed = variance * cases / wanted - max(0.0, variance - within)
    if allowed <= 0:
        return Needed(None, f"about {several(wanted, 'case')} would decide it; more runs of these {cases:,} alone would not")
    return Needed(math.ceil(min(effect.matched.sizes) * max(1.0, min(within, variance) / allowed)))


def _within(effect: Effect) -> float | None:
    """Of a case's ratio, on the scale of the view."""
    ours, theirs = (Cases(groups).within_variance(logs=effect.logs) for groups in (effect.matched.candidate, effect.matched.baseline))
    if ours is None or theirs is None:
        return None
    return ours + theirs if effect.logs else (ours + theirs) / effect.typical.baseline**2


def _runs_a_unit(effect: Effect) -> float:
    return min(effect.matched.sizes) / min(effect.matched.units)
