"""Verdicts from Python: `fg.comparison(…)` and `fg.gate(…)`.

result = fg.gate("latest", baseline="release", policy="gate.yaml")
result.status, result.exit_code, [line.words for line in result.lines]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flowgauge.app.comparing import Compared, compare_stored, gate_stored
from flowgauge.app.policies import PolicySource, policy_of
from flowgauge.app.workspace import opened_store
from flowgauge.model.gate import Policy
from flowgauge.model.verdict import Comparison, GateResult


def comparison(candidate: str, baseline: str, *, policy: PolicySource = None, db: str | None = None, **over: Any) -> Comparison:
    """Hold one stored benchmark against another. `over`: fields of a policy, such as tolerance=0.1 or strict=True."""
    with opened_store(db) as store:
        return _compared(store, candidate, baseline, policy, over)[0].comparison


def gate(candidate: str, baseline: str = "", *, policy: PolicySource = None, db: str | None = None, **over: Any) -> GateResult:
    """The same with a decision: `status` is passed, failed or not_measured. A failed gate is a result, not an error.

    A policy of limits, k_of_n or history alone needs no baseline.
    """
    with opened_store(db) as store:
        compared, asked = _compared(store, candidate, baseline, policy, over)
        return gate_stored(store, compared, asked, policy_name=str(policy) if isinstance(policy, str | Path) else "")


def _compared(store: Any, candidate: str, baseline: str, policy: PolicySource, over: dict[str, Any]) -> tuple[Compared, Policy]:
    asked = policy_of(policy, **over)
    return compare_stored(store, candidate, baseline, asked), asked
