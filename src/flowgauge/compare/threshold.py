"""The bare threshold: is one figure worse than another by more than the tolerance? No samples, no uncertainty.

Two finite figures in, a verdict out. Decided on decimals as they are written,
so 95 against 100 is not below 95 % of it. The tolerance is a share of the
baseline's size and always widens towards harm: from -100, lower values down to
-105 are let through where higher is better. From 0, any harm is beyond it.
"""

from __future__ import annotations

from decimal import Decimal, localcontext

from flowgauge.model.figure import Direction
from flowgauge.model.verdict import Verdict

BARE = "bare threshold"
"""How a verdict says that it was made so."""


def beyond(candidate: float, baseline: float, tolerance: float, direction: Direction) -> bool:
    """Worse by more than the tolerance?"""
    new, old, share = (Decimal(repr(float(value))) for value in (candidate, baseline, tolerance))
    with localcontext(prec=60):
        room = abs(old) * share
        return new < old - room if direction == "higher" else new > old + room


def threshold_verdict(candidate: float, baseline: float, tolerance: float, direction: Direction) -> Verdict:
    """Improved is the same the other way round."""
    if beyond(candidate, baseline, tolerance, direction):
        return "regressed"
    return "improved" if beyond(candidate, baseline, tolerance, "lower" if direction == "higher" else "higher") else "unchanged"
