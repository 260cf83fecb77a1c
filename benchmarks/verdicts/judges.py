"""Who judges: the gate, and what people use instead of one. Every judge says, of each pair, whether it raises the alarm."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache

import numpy as np
from benchmarks.verdicts.data import Kind, Pairs
from scipy import stats

from flowgauge.compare.comparison import compare
from flowgauge.compare.continuous import compare_metrics
from flowgauge.compare.gate import judge
from flowgauge.model.benchmark import Benchmark
from flowgauge.model.gate import Policy
from flowgauge.model.metric import CaseCounts, Measured, Samples
from flowgauge.model.verdict import GateResult, MetricVerdict

Judge = Callable[[Kind, Pairs], np.ndarray]
ALPHA, THRESHOLD = 0.05, 0.05
RESAMPLES = 500


def gate(tolerance: float) -> Judge:
    """The product, rule `detect`: a metric that regressed, or a pass rate that fails the gate."""

    def alarms(kind: Kind, pairs: Pairs) -> np.ndarray:
        candidates, baselines = pairs
        if kind.name == "pass rate":
            runs = candidates.shape[1]
            sums = zip(candidates.sum(axis=1).astype(int).tolist(), baselines.sum(axis=1).astype(int).tolist(), strict=True)
            return np.array(
                [rate_gate(ours, runs, theirs, baselines.shape[1], tolerance, ALPHA).status == "failed" for ours, theirs in sums]
            )
        sides = zip(candidates.tolist(), baselines.tolist(), strict=True)
        return np.array([verdict(kind, ours, theirs, tolerance, ALPHA).verdict == "regressed" for ours, theirs in sides])

    return alarms


def verdict(kind: Kind, candidate: list[float], baseline: list[float], tolerance: float, alpha: float) -> MetricVerdict:
    """The gate's own comparison of one metric."""
    ours, theirs = ({"metric": samples(kind, values)} for values in (candidate, baseline))
    return compare_metrics(ours, theirs, tolerance=tolerance, alpha=alpha)[0]


def samples(kind: Kind, values: list[float]) -> Samples:
    """By case, run after run."""
    cases = min(len(values), kind.cases or 1)
    return Samples(direction=kind.direction, unit="", by_case={f"case {case}": values[case::cases] for case in range(cases)})


@cache
def rate_gate(ours: int, runs: int, theirs: int, baseline_runs: int, tolerance: float, alpha: float) -> GateResult:
    """The gate on one case with so many passes; the same table is judged once."""
    policy = Policy(tolerance=tolerance, alpha=alpha)
    candidate, baseline = side("a", {"case": (ours, runs)}), side("b", {"case": (theirs, baseline_runs)})
    return judge(compare(candidate, baseline, policy=policy), candidate, policy)


def side(sid: str, passes: dict[str, tuple[int, int]], metrics: dict[str, Samples] | None = None) -> Measured:
    """One side as the gate reads it."""
    cases = {case: CaseCounts(runs=runs, passed=passed, infrastructure=0) for case, (passed, runs) in passes.items()}
    return Measured(label=sid, benchmark=Benchmark(sid=sid, bench_uid=sid, bench_id=sid, config=""), metrics=metrics or {}, cases=cases)


def welch(kind: Kind, pairs: Pairs) -> np.ndarray:
    """One-sided: worse at all?"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of sides without spread
        p = stats.ttest_ind(*_worse_up(kind, pairs), axis=1, equal_var=False, alternative="greater").pvalue
    return np.asarray(np.nan_to_num(p, nan=1.0) <= ALPHA)


def student(kind: Kind, pairs: Pairs) -> np.ndarray:
    """The same with a pooled spread."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        p = stats.ttest_ind(*_worse_up(kind, pairs), axis=1, alternative="greater").pvalue
    return np.asarray(np.nan_to_num(p, nan=1.0) <= ALPHA)


def mann_whitney(kind: Kind, pairs: Pairs) -> np.ndarray:
    """One-sided."""
    p = stats.mannwhitneyu(*_worse_up(kind, pairs), axis=1, alternative="greater").pvalue
    return np.asarray(np.nan_to_num(p, nan=1.0) <= ALPHA)


def bootstrap(kind: Kind, pairs: Pairs) -> np.ndarray:
    """Does the 90 % percentile interval of the difference of means leave out zero, on the worse side?"""
    chance = np.random.default_rng(7)
    candidates, baselines = _worse_up(kind, pairs)
    found = []
    for ours, theirs in zip(candidates, baselines, strict=True):
        drawn = (side[chance.integers(0, len(side), (RESAMPLES, len(side)))].mean(axis=1) for side in (ours, theirs))
        found.append(np.quantile(np.subtract(*drawn), ALPHA) > 0)
    return np.array(found)


def threshold(kind: Kind, pairs: Pairs) -> np.ndarray:
    """The mean is worse by more than 5 %."""
    ours, theirs = (side.mean(axis=1) for side in pairs)
    bare: np.ndarray = ours > theirs * (1 + THRESHOLD) if kind.direction == "lower" else ours < theirs * (1 - THRESHOLD)
    return bare


def _worse_up(kind: Kind, pairs: Pairs) -> Pairs:
    return pairs if kind.direction == "lower" else (-pairs[0], -pairs[1])


JUDGES: dict[str, Judge] = {
    "gate, tolerance 5 %": gate(0.05),
    "gate, tolerance 0": gate(0.0),
    "Welch": welch,
    "Mann-Whitney": mann_whitney,
    "bootstrap": bootstrap,
    "5 % threshold": threshold,
}
