"""What a bench has spent, and whether another trial may start.

Trials under way are reserved at their estimate. Where there is none, it is the
mean of what trials of that configuration have cost so far; before the first of
them it is nothing. Judges are paid from the same purse as the target. Trials
without a known price are not bounded: they are counted.
"""

from __future__ import annotations

from collections.abc import Callable

from flowgauge.model.bench import PlannedTrial, Trial, judge_cost_usd, paid_usd

TOLERANCE = 1e-9
"""Sums of cents are not exact in binary."""

Estimate = Callable[[PlannedTrial], float | None]


class TrialBudget:
    """Dollars of one bench."""

    def __init__(self, limit_usd: float, *, spent_usd: float = 0.0, estimate: Estimate | None = None) -> None:
        self.limit_usd = limit_usd
        self.spent_usd = spent_usd
        self.unpriced = 0
        """Trials whose cost nobody knows."""
        self._estimate = estimate
        self._reserved: dict[str, float] = {}
        self._reserved_usd = 0.0
        self._means: dict[str, tuple[float, int]] = {}

    def reserve(self, planned: PlannedTrial) -> bool:
        """Set money aside for a trial; False where it would go past the limit."""
        estimate_usd = self._expected(planned)
        wanted_usd = self.spent_usd + self._reserved_usd + estimate_usd
        if self.spent_usd >= self.limit_usd or wanted_usd > self.limit_usd * (1 + TOLERANCE):
            return False
        self._reserved[planned.run_id] = estimate_usd
        self._reserved_usd += estimate_usd
        return True

    def settle(self, trial: Trial) -> None:
        """The trial is over: what it really cost takes the place of its estimate."""
        self._reserved_usd -= self._reserved.pop(trial.run_id, 0.0)
        answer, judge_usd = trial.answer, judge_cost_usd(trial.checks)
        if judge_usd is None or (answer.cost_usd is None and not answer.cached):
            self.unpriced += 1
        cost_usd = paid_usd(answer.cost_usd, judge_usd, cached=answer.cached)
        if cost_usd is None:
            return
        self.spent_usd += cost_usd
        total, count = self._means.get(trial.config, (0.0, 0))
        self._means[trial.config] = (total + cost_usd, count + 1)

    def _expected(self, planned: PlannedTrial) -> float:
        estimate_usd = self._estimate(planned) if self._estimate is not None else None
        if estimate_usd is not None:
            return estimate_usd
        total, count = self._means.get(planned.config, (0.0, 0))
        return total / count if count else 0.0
