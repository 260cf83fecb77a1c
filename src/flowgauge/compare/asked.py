"""What a policy asks of one metric, defaults filled in."""

from __future__ import annotations

from typing import NamedTuple

from flowgauge.compare.figures import SUCCESS_RATE
from flowgauge.model.gate import MetricPolicy, MetricRule, Policy

_NOTHING = MetricPolicy()
_FEWEST = Policy().min_samples


class Asked(NamedTuple):
    """Of one metric."""

    rule: MetricRule
    tolerance: float
    min_samples: int


def asked_of(policy: Policy, metric: str) -> Asked:
    """What is not said of the metric is the policy's own.

    A bare threshold compares two figures, so only a minimum that somebody set counts there.
    A metric that is held against history is not held against the baseline, unless a rule is said.
    `only` is about continuous metrics; pass rates have a switch of their own.
    """
    own = policy.metrics.get(metric, _NOTHING)
    if policy.only and metric not in (*policy.only, SUCCESS_RATE):
        return Asked("ignore", policy.tolerance, policy.min_samples)
    rule = own.rule or ("ignore" if own.history else policy.rule)
    needed = own.min_samples or policy.min_samples
    if rule == "threshold" and own.min_samples is None and needed == _FEWEST:
        needed = 0
    return Asked(rule, policy.tolerance if own.tolerance is None else own.tolerance, needed)
