"""The scorer: is an answer right, and how good is it?

In: an answer, its case and the inputs it was given. Out: Scored. A run that
failed is not checked. Everything that can be made once a bench or once a case
is; checks that ask nothing outside are made at once, the others side by side.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

import msgspec

from flowgauge.errors import UsageError
from flowgauge.model.bench import Answer, Case, CheckResult, CheckSpec
from flowgauge.model.workflow import Json
from flowgauge.nodes.context import Services
from flowgauge.nodes.together import together
from flowgauge.score.check import Evidence, Measure
from flowgauge.score.compiled import CompiledCheck, compile_checks

PLANS_KEPT = 10_000
"""Cases whose measures are kept ready; more than this begin anew."""


class Scored(msgspec.Struct, frozen=True):
    """What the checks say of one answer: the part of a Trial that is not the answer."""

    passed: bool | None
    """Did every required check pass? None: there was none, or one could not be made."""
    failure_category: str
    scores: dict[str, float]
    """What the target says about itself, and every check that gives a score, by name."""
    checks: tuple[CheckResult, ...]
    score_ms: float


Ready = tuple[CompiledCheck, Measure | None]
_Slow = dict[int, Coroutine[Any, Any, CheckResult]]
"""By place among the results."""


class _Plan:
    """The checks of one case, ready for its trials."""

    __slots__ = ("all", "case", "first", "inputs", "last")

    def __init__(self, case: Case, inputs: Mapping[str, Json] | None, ready: Sequence[Ready]) -> None:
        self.case = case
        self.inputs = inputs
        """None where no template names them."""
        self.first = tuple(one for one in ready if not one[0].row.last)
        self.last = tuple(one for one in ready if one[0].row.last)
        self.all = (*self.first, *self.last)

    def fits(self, case: Case, inputs: Mapping[str, Json]) -> bool:
        """Is it of this very case, and would the inputs fill the templates in the same way?"""
        return self.case is case and (self.inputs is None or self.inputs is inputs or self.inputs == inputs)


class Scorer:
    """Made once a bench. Raises UsageError for checks that cannot be made at all."""

    def __init__(self, checks: Sequence[CheckSpec], services: Services) -> None:
        self._services = services
        self._tick_ms = services.clock.tick_ms
        self._checks = compile_checks(checks)
        if broken := [f"{check.name}: {check.broken}" for check in self._checks if check.broken]:
            raise UsageError("Checks that cannot be made:\n" + "\n".join(broken))
        self._plans: dict[str, _Plan] = {}

    async def score(self, answer: Answer, case: Case, inputs: Mapping[str, Json]) -> Scored:
        """Check one answer."""
        begun = self.begin(answer, case, inputs)
        return begun if isinstance(begun, Scored) else await begun

    def begin(self, answer: Answer, case: Case, inputs: Mapping[str, Json]) -> Scored | Coroutine[Any, Any, Scored]:
        """The same, at once where no check asks anything outside."""
        begun_ms = self._tick_ms()
        if answer.status != "success":
            return Scored(None, _failure(answer), answer.scores, (), 0.0)
        plan = self._plans.get(case.name)
        if plan is None or not plan.fits(case, inputs):
            plan = self._plan(case, inputs)
        evidence = Evidence(answer, case.expected, inputs, self._services)
        results, slow = _made(plan.first, evidence)
        if slow:
            return self._later(plan, evidence, results, slow, begun_ms)
        return self._scored(plan, evidence, results, begun_ms)

    async def _later(self, plan: _Plan, evidence: Evidence, results: list[CheckResult], slow: _Slow, begun_ms: float) -> Scored:
        for place, result in zip(slow, await together(slow.values()), strict=True):
            results[place] = result
        return self._scored(plan, evidence, results, begun_ms)

    def _scored(self, plan: _Plan, evidence: Evidence, results: list[CheckResult], begun_ms: float) -> Scored:
        if plan.last:
            evidence.results = {result.name: result for result in results}
            results += _made(plan.last, evidence)[0]
        passed, category = _verdict(plan.all, results)
        return Scored(passed, category, _scores(evidence.answer, results), tuple(results), self._tick_ms() - begun_ms)

    def _plan(self, case: Case, inputs: Mapping[str, Json]) -> _Plan:
        checks = (*self._checks, *compile_checks(case.checks, self._checks)) if case.checks else self._checks
        scope = {"expected": case.expected, "inputs": inputs}
        named = any(check.uses_inputs for check in checks)
        plan = _Plan(case, inputs if named else None, [(check, check.prepare_for_case(scope)) for check in checks])
        if len(self._plans) >= PLANS_KEPT:
            self._plans.clear()
        self._plans[case.name] = plan
        return plan


def _made(ready: Sequence[Ready], evidence: Evidence) -> tuple[list[CheckResult], _Slow]:
    """The results in order, and what is still to be awaited for which of them."""
    results: list[CheckResult] = []
    slow: _Slow = {}
    for check, measure in ready:
        made = check.check(evidence, measure)
        if not isinstance(made, CheckResult):
            slow[len(results)], made = made, check.pending
        results.append(made)
    return results, slow


def _verdict(ready: Sequence[Ready], results: Sequence[CheckResult]) -> tuple[bool | None, str]:
    """A required check that is not passed decides, whatever became of the others."""
    passed, trouble = None, ""
    for (check, _), result in zip(ready, results, strict=True):
        if not check.deciding:
            continue
        if result.passed is False:
            return False, "wrong_answer"
        if result.error:
            trouble = trouble or check.row.failure
        passed = result.passed or passed
    return (None, trouble) if trouble else (passed, "")


def _scores(answer: Answer, results: Sequence[CheckResult]) -> dict[str, float]:
    scores = dict(answer.scores)
    for result in results:
        if result.score is not None:
            scores[result.name] = result.score
    return scores


def _failure(answer: Answer) -> str:
    if answer.error is not None:
        return answer.error.kind
    return "timeout" if answer.status == "timeout" else "internal"
