"""Continuous metrics of two sides: latency, cost, tokens, scores.

Samples by case in, one verdict a metric out: improved, unchanged, regressed,
inconclusive or vanished. Several metrics are judged together, so chance has
several tries; that is corrected for. A metric too noisy to judge is
inconclusive, never a pass. Refuses values that are not finite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias, TypeVar

import msgspec

from flowgauge.compare.constants import Constants, constants, is_score, luck, runs_for, runs_without_luck
from flowgauge.compare.effects import Effect, Reading, effect_of
from flowgauge.compare.matching import Matched, match
from flowgauge.compare.needed import Needed, runs_needed
from flowgauge.compare.threshold import BARE, beyond, threshold_verdict
from flowgauge.errors import UsageError
from flowgauge.model.benchmark import Interval
from flowgauge.model.figure import Direction
from flowgauge.model.metric import Samples
from flowgauge.model.verdict import Estimate, GateRule, MetricVerdict, Verdict
from flowgauge.stats.corrections import benjamini_hochberg

T = TypeVar("T")
PerMetric: TypeAlias = T | Callable[[str], T]
"""One for all metrics, or whatever a metric's name gives."""
_FEWEST = 2
_DOUBTFUL = 0.1
"""The p at which the mean looks harmful: more than alpha, as nothing is claimed by it."""


class Tested(NamedTuple):
    """A metric that went through a test, before the correction for the number of metrics."""

    effect: Effect
    p_harm: float
    by_mean: bool
    p_harmless: float
    p_better: float
    mean_harmful: bool
    """By the mean alone it looks like harm: then it is called neither unchanged nor improved."""


def compare_metrics(
    candidate: Mapping[str, Samples],
    baseline: Mapping[str, Samples],
    *,
    tolerance: PerMetric[float] = 0.05,
    min_samples: PerMetric[int] = _FEWEST,
    rule: PerMetric[GateRule] = "detect",
    direction: Mapping[str, Direction] | None = None,
    alpha: float = 0.05,
) -> tuple[MetricVerdict, ...]:
    """Every metric of either side, the baseline's first. `direction` overrides what the sides say of themselves."""
    names = [*baseline, *(name for name in candidate if name not in baseline)]
    found = []
    for name in names:
        ours, theirs = candidate.get(name), baseline.get(name)
        start = _start(name, ours, theirs, (direction or {}).get(name), _of(tolerance, name))
        found.append(_judge(start, ours, theirs, _of(min_samples, name), _of(rule, name), alpha))
    tested = [number for number, (_, test) in enumerate(found) if test]
    harm = _corrected([test.p_harm for _, test in found if test], tested)
    better = _corrected([test.p_better for _, test in found if test], tested)
    return tuple(
        _decided(verdict, test, harm[number], better[number], alpha) if test else verdict for number, (verdict, test) in enumerate(found)
    )


def _judge(
    start: MetricVerdict, ours: Samples | None, theirs: Samples | None, fewest: int, rule: GateRule, alpha: float
) -> tuple[MetricVerdict, Tested | None]:
    """A verdict that stands, or one that waits for its p-values to be corrected."""
    missing = _missing(start, ours, theirs)
    if missing or ours is None or theirs is None:
        return missing or start, None
    if rule == "threshold":
        return _by_threshold(start, ours, theirs), None
    matched = match(ours.by_case, theirs.by_case)
    n, m = matched.sizes
    start = msgspec.structs.replace(
        start,
        method=matched.words,
        candidate=Estimate(value=start.candidate.value, n=n, cases=len(matched.candidate)),
        baseline=Estimate(value=start.baseline.value, n=m, cases=len(matched.baseline)),
    )
    if min(n, m) < max(_FEWEST, fewest):
        return msgspec.structs.replace(start, reason=_too_few(n, m, max(_FEWEST, fewest))), None
    if matched.design == "none":
        return msgspec.structs.replace(start, reason="the sides have no case in common"), None
    fixed = constants(matched)
    if fixed and (not fixed.scaled or fixed.p <= alpha):
        return _exact(start, fixed, matched, alpha), None
    return start, _test(effect_of(matched, start.direction), start)


def _test(effect: Effect, start: MetricVerdict) -> Tested:
    p_harm, by_mean = effect.harm(start.tolerance, start.direction)
    return Tested(
        effect=effect,
        p_harm=p_harm,
        by_mean=by_mean,
        p_harmless=effect.typical.harmless(start.tolerance, start.direction),
        p_better=effect.typical.better(start.direction),
        mean_harmful=effect.mean is not None and effect.mean.harm(start.tolerance, start.direction) <= _DOUBTFUL,
    )


def _decided(start: MetricVerdict, test: Tested, harm: float, better: float, alpha: float) -> MetricVerdict:
    verdict: Verdict = (
        "regressed" if harm <= alpha else "improved" if better <= alpha else "unchanged" if test.p_harmless <= alpha else "inconclusive"
    )
    doubtful = verdict in ("improved", "unchanged") and test.mean_harmful
    verdict = "inconclusive" if doubtful else verdict
    mean = test.effect.mean
    shown = mean if verdict == "regressed" and test.by_mean and mean else test.effect.typical
    bounds = shown.view.interval()
    needed, reason = Needed(None), ""
    if doubtful and mean:
        reason = _mean_moved(mean, start.direction)
    elif verdict == "inconclusive":
        needed = runs_needed(test.effect, test.effect.typical.bound(start.tolerance, start.direction), alpha)
    return msgspec.structs.replace(
        start,
        verdict=verdict,
        candidate=msgspec.structs.replace(start.candidate, value=shown.candidate),
        baseline=msgspec.structs.replace(start.baseline, value=shown.baseline),
        ratio=shown.view.ratio,
        interval=Interval(*bounds) if bounds else None,
        p_harm=test.p_harm,
        p_harmless=test.p_harmless,
        p_better=test.p_better,
        p_adjusted=harm,
        method=shown.words,
        runs_needed=needed.runs,
        reason=reason or needed.reason,
    )


def _mean_moved(mean: Reading, direction: Direction) -> str:
    worse = "higher" if direction == "lower" else "lower"
    ratio = f" (× {mean.view.ratio:.3g})" if mean.view.ratio else ""
    return f"the typical run is not worse, but the mean is {worse}{ratio}: some runs are much worse"


def _exact(start: MetricVerdict, fixed: Constants, matched: Matched, alpha: float) -> MetricVerdict:
    """Neither side varies, or both alike."""
    harmful = not fixed.same and beyond(fixed.candidate, fixed.baseline, start.tolerance, start.direction)
    good = not fixed.same and (fixed.candidate < fixed.baseline) is (start.direction == "lower")
    score = fixed.same and is_score(fixed, start.direction)
    p = luck(start.tolerance, matched.sizes[0]) if score else 0.0 if fixed.same else fixed.p
    verdict: Verdict = "regressed" if harmful else "improved" if good else "unchanged"
    sure = p <= alpha
    needed = runs_without_luck(start.tolerance, alpha) if score else runs_for(alpha, len(matched.candidate))
    ratio = fixed.candidate / fixed.baseline if fixed.baseline > 0 else None
    return msgspec.structs.replace(
        start,
        verdict=verdict if sure else "inconclusive",
        candidate=msgspec.structs.replace(start.candidate, value=fixed.candidate),
        baseline=msgspec.structs.replace(start.baseline, value=fixed.baseline),
        ratio=ratio,
        interval=Interval(ratio, ratio) if ratio is not None and sure else None,
        p_harm=p if harmful else 1.0,
        p_harmless=1.0 if harmful else p,
        p_better=p if good else 1.0,
        p_adjusted=p if harmful else 1.0,
        method=f"{matched.words}; {'every run changed by one factor' if fixed.scaled else 'neither side varies'}",
        runs_needed=None if sure else needed,
        reason="" if sure else "neither side varies, but so few runs may do so by chance",
    )


def _by_threshold(start: MetricVerdict, ours: Samples, theirs: Samples) -> MetricVerdict:
    new, old = start.candidate.value, start.baseline.value
    if new is None or old is None:
        return start
    return msgspec.structs.replace(
        start,
        verdict=threshold_verdict(new, old, start.tolerance, start.direction),
        candidate=msgspec.structs.replace(start.candidate, n=ours.n, cases=len(ours.by_case)),
        baseline=msgspec.structs.replace(start.baseline, n=theirs.n, cases=len(theirs.by_case)),
        ratio=new / old if old > 0 else None,
        method=BARE,
    )


def _start(name: str, ours: Samples | None, theirs: Samples | None, direction: Direction | None, tolerance: float) -> MetricVerdict:
    """Inconclusive until something is known."""
    known = theirs or ours
    if known is None:
        raise ValueError(f"Neither side has {name}.")
    return MetricVerdict(
        metric=name,
        direction=direction or known.direction,
        unit=known.unit,
        verdict="inconclusive",
        candidate=_estimate(name, "candidate", ours),
        baseline=_estimate(name, "baseline", theirs),
        tolerance=tolerance,
        reason="" if direction or not ours or not theirs or ours.direction == theirs.direction else "the sides differ in what is better",
    )


def _missing(start: MetricVerdict, ours: Samples | None, theirs: Samples | None) -> MetricVerdict | None:
    """What cannot be judged whatever the rule."""
    if theirs is None or start.baseline.value is None:
        return msgspec.structs.replace(start, reason=f"the baseline {'does not have it' if theirs is None else 'could not measure it'}")
    if ours is None or start.candidate.value is None:
        reason = f"the candidate {'does not have it' if ours is None else 'could not measure it'}"
        return msgspec.structs.replace(start, verdict="vanished", reason=reason)
    if ours.unit != theirs.unit:
        return msgspec.structs.replace(start, unit="", reason=f"the units differ: {ours.unit or 'none'} and {theirs.unit or 'none'}")
    return start if start.reason else None


def _estimate(name: str, side: str, samples: Samples | None) -> Estimate:
    if samples is None:
        return Estimate(value=None, n=0)
    known = [samples.value] if samples.value is not None else []
    if not all(map(math.isfinite, chain(known, *samples.by_case.values()))):
        raise UsageError(
            f"{name} of the {side} holds a value that is not a finite number.",
            remedy="Leave out what could not be measured; unknown is no number.",
        )
    return Estimate(value=_figure(samples), n=samples.n, cases=len(samples.by_case))


def _figure(samples: Samples) -> float | None:
    """As it was given, else the mean of all samples."""
    if samples.value is not None or not samples.n:
        return samples.value
    values: Sequence[Sequence[float]] = list(samples.by_case.values())
    return math.fsum(chain.from_iterable(values)) / samples.n


def _too_few(n: int, m: int, fewest: int) -> str:
    if not n and not m:
        return "only figures are known, no samples"
    return f"{n} against {m} samples, and {fewest} a side are needed"


def _corrected(p_values: list[float], places: list[int]) -> dict[int, float]:
    return dict(zip(places, benjamini_hochberg(p_values), strict=True))


def _of(setting: PerMetric[T], name: str) -> T:
    found: T = setting(name) if callable(setting) else setting
    return found
