"""A check made ready: its path, its templates and its measure, each made once where that is possible.

In: a CheckSpec. Out: results for one answer after the other. What cannot be
checked is a result with an error, whatever it was; nothing is raised but
cancellation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

import msgspec

from flowgauge.errors import Failed, FlowgaugeError
from flowgauge.model.bench import CheckResult, CheckSpec, check_names
from flowgauge.model.play import Usage
from flowgauge.model.workflow import Json
from flowgauge.nodes.context import fail
from flowgauge.score.check import PASSED, Evidence, Finding, Measure, wrong
from flowgauge.score.path import Matches, Missing, compile_path
from flowgauge.score.problems import check_problems
from flowgauge.score.table import CHECKS
from flowgauge.score.templates import GIVEN, Filled, LacksOutput
from flowgauge.score.words import cut

TROUBLE = (FlowgaugeError, ArithmeticError, LookupError, OSError, RecursionError, TypeError, ValueError, msgspec.MsgspecError)
"""What a check may run into in a value of any shape and size."""


class CompiledCheck:
    """One check of a bench or case."""

    __slots__ = (
        "_constant", "_find", "_literal", "_options", "_passed", "_read_options", "_value",
        "broken", "deciding", "name", "pending", "row", "spec", "uses_inputs",
    )  # fmt: skip

    def __init__(self, spec: CheckSpec, name: str) -> None:
        self.spec = spec
        self.name = name
        self.broken = " ".join(f"{one.field}: {one.message} {one.remedy}".rstrip() for one in check_problems(spec))
        """Why it can never be made; empty where it can."""
        self.row = CHECKS.get(spec.type, CHECKS["equals"])
        self.deciding = spec.required and not (self.row.last and spec.options.get("of"))
        """Does the trial fail where it does? `gold` with `of` is about another check, not about the target."""
        self.pending = CheckResult(name=name, type=spec.type)
        self._passed = CheckResult(name=name, type=spec.type, passed=True)
        self._find = compile_path(spec.path) if self.row.looks and not self.broken else None
        self._literal = {key: value for key, value in spec.options.items() if key in self.row.literal}
        templated = {key: value for key, value in spec.options.items() if key not in self.row.literal}
        self._value = Filled(None if self.broken else spec.value)
        self._options = Filled({} if self.broken else templated)
        self._read_options: Any = None if self._options.roots or self.broken else self._read(templated)
        self.uses_inputs = "inputs" in self._roots()
        self._constant: Measure | None = None
        if not self._roots():
            self._constant = self.prepare_for_case({})

    def _roots(self) -> frozenset[str]:
        return self._value.roots | self._options.roots

    def _read(self, options: dict[str, Json]) -> Any:
        return msgspec.convert({**self._literal, **options}, self.row.options, strict=False)

    def prepare(self, scope: dict[str, Json]) -> Measure:
        """Fill the templates in and make the measure. Raises what is in TROUBLE, and LacksOutput."""
        if self.broken:
            raise fail("template", self.broken)
        options = self._read(self._options.fill(scope)) if self._read_options is None else self._read_options
        return self.row.prepare(options, self._value.fill(scope))

    def prepare_for_case(self, scope: dict[str, Json]) -> Measure | None:
        """The measure for all trials of a case; None where it depends on the output."""
        if self._constant is not None:
            return self._constant
        if not self._roots() <= GIVEN:
            return None
        try:
            return self.prepare(scope)
        except TROUBLE as error:
            return _always(_as_failed(error))

    def check(self, evidence: Evidence, measure: Measure | None) -> CheckResult | Coroutine[Any, Any, CheckResult]:
        """The result, at once where nothing outside is asked."""
        try:
            found = self._find(evidence.answer) if self._find is not None else None
            if type(found) is Missing and not self.row.finds_missing:
                return self._result(wrong(found.reason))
            if type(found) is Matches and not self.row.finds_missing:
                found = list(found)
            finding = (measure or self.prepare(evidence.scope()))(found, evidence)
        except LacksOutput as lack:
            return self._result(wrong(str(lack)))
        except TROUBLE as error:
            return self._error(error)
        if finding is PASSED and self.spec.threshold is None:
            return self._passed
        return self._result(finding) if isinstance(finding, Finding) else self._later(finding)

    async def _later(self, finding: Awaitable[Finding]) -> CheckResult:
        try:
            return self._result(await finding)
        except TROUBLE as error:
            return self._error(error)

    def _result(self, finding: Finding) -> CheckResult:
        passed = finding.passed
        if self.spec.threshold is not None:
            if finding.score is None and passed is not False:
                return self._error(fail("invalid_output", "The check gave no score to hold against its threshold."))
            passed = passed is not False and finding.score is not None and finding.score >= self.spec.threshold
        reason = finding.reason
        if passed is False and not reason and finding.score is not None:
            reason = f"The score {finding.score:.4g} is below {self.spec.threshold}."
        return CheckResult(
            name=self.name,
            type=self.spec.type,
            passed=passed,
            score=finding.score,
            reason=reason,
            votes=finding.votes,
            usage=_used(finding.usage),
            label=finding.label,
            gold=finding.gold,
        )

    def _error(self, error: BaseException) -> CheckResult:
        failed = _as_failed(error)
        return CheckResult(name=self.name, type=self.spec.type, error=cut(failed.failure.message), usage=_used(failed.usage))


def compile_checks(specs: Iterable[CheckSpec], before: Iterable[CompiledCheck] = ()) -> tuple[CompiledCheck, ...]:
    """Make checks ready, each under a name that none before it has."""
    given = tuple(specs)
    names = check_names(given, (check.name for check in before))
    return tuple(CompiledCheck(spec, name) for spec, name in zip(given, names, strict=True))


def _always(error: Failed) -> Callable[[Json, Evidence], Finding]:
    def measure(_found: Json, _evidence: Evidence) -> Finding:
        raise error

    return measure


def _used(usage: Usage | None) -> Usage | None:
    return usage if usage is not None and usage != Usage() else None


def _as_failed(error: BaseException) -> Failed:
    if isinstance(error, Failed):
        return error
    if isinstance(error, RecursionError):
        return fail("invalid_output", "A value is nested too deeply to be checked.")
    words = str(error) if isinstance(error, FlowgaugeError) else f"{type(error).__name__}: {error}"
    return fail("internal", words)
