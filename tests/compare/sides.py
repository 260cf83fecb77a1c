"""Sides of comparisons, made by hand."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from flowgauge.model.benchmark import Benchmark, Fingerprint
from flowgauge.model.metric import CaseCounts, Direction, Measured, Samples


def counts(passed: int, runs: int, infrastructure: int = 0, **failures: int) -> CaseCounts:
    """What is neither passed nor named is a wrong answer."""
    rest = runs - passed - infrastructure - sum(failures.values())
    named = {**failures, "rate_limited": infrastructure, "wrong_answer": rest}
    failed = tuple(f"run-{place}" for place in range(min(5, runs - passed)))
    return CaseCounts(
        runs=runs,
        passed=passed,
        infrastructure=infrastructure,
        failures={name: count for name, count in named.items() if count},
        failed_runs=failed,
    )


def samples(
    by_case: Mapping[str, Sequence[float]] | Sequence[float], direction: Direction = "lower", unit: str = "ms", value: float | None = None
) -> Samples:
    return Samples(direction=direction, unit=unit, by_case=by_case if isinstance(by_case, Mapping) else {"": by_case}, value=value)


def noisy(centre: float, n: int, seed: int, spread: float = 0.05) -> list[float]:
    """Log-normal around a centre."""
    chance = random.Random(seed)
    return [centre * chance.lognormvariate(0, spread) for _ in range(n)]


def side(
    sid: str,
    cases: Mapping[str, CaseCounts] | None = None,
    metrics: Mapping[str, Samples] | None = None,
    nodes: Mapping[str, Samples] | None = None,
    fingerprint: Fingerprint | None = None,
) -> Measured:
    benchmark = Benchmark(
        sid=sid,
        bench_uid=f"uid-{sid}",
        bench_id=f"bench-{sid}",
        config="one",
        fingerprint=fingerprint or Fingerprint(),
        commit=f"commit-{sid}",
    )
    return Measured(label=sid, benchmark=benchmark, metrics=metrics or {}, cases=cases or {}, nodes=nodes or {})
