"""Does an agent still do as well as its baseline? Every action's success rate and every pass rate, held to 95 %.

Pure: a baseline and today's facts in, a verdict out. Bare thresholds, on decimals
as they are written. An action that vanished is a regression. What the baseline
knows and nobody measured now, or no baseline at all, is not measured: never a
pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from flowgauge.compare.threshold import beyond
from flowgauge.registry.agents.snapshot import AgentSnapshot, Facts, Health, is_pass_rate

TOLERANCE = 0.05
_FEWEST_DIGITS, _ALL_DIGITS = 6, 17
_EXIT: dict[Health, Literal[0, 1, 3]] = {"passed": 0, "failed": 1, "not_measured": 3}


class Regression(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that became worse."""

    metric: str
    """success_rate.<action>, or benchmark.<name>."""
    baseline: float
    current: float | None
    """None: it vanished."""
    words: str


class Validation(msgspec.Struct, frozen=True, kw_only=True):
    """The answer. A regression is a result, not an error."""

    passed: bool
    regressions: tuple[Regression, ...] = ()
    baseline_version: int | None = None
    prompt_id: str
    flow_id: str
    status: Health
    reason: str
    exit_code: Literal[0, 1, 3]
    """0 passed, 1 regressed or failed, 3 not measured."""
    plays: int = 0
    """How many it was measured by."""
    error: str = ""
    """Why validation itself failed; it is never a pass then."""


class _Judged(msgspec.Struct, frozen=True):
    held: int
    regressions: tuple[Regression, ...]
    unmeasured: tuple[str, ...]


def judge(prompt_id: str, flow_id: str, baseline: AgentSnapshot | None, now: Facts) -> Validation:
    """Hold the facts against the baseline."""
    if baseline is None:
        told = "There is no baseline: no snapshot that is not marked regressed; capture one: flowgauge agent capture"
        return answer(prompt_id, flow_id, None, "not_measured", told, now)
    found = _judged(baseline, now)
    version = baseline.version
    if found.regressions:
        told = " ".join(each.words for each in found.regressions)
        return answer(prompt_id, flow_id, version, "failed", told, now, found.regressions)
    if found.unmeasured:
        return answer(prompt_id, flow_id, version, "not_measured", " ".join(found.unmeasured), now)
    if not found.held:
        told = f"The baseline v{version} holds no success rate and no pass rate; capture another once there are plays or benchmarks."
        return answer(prompt_id, flow_id, version, "not_measured", told, now)
    figures = f"{found.held} figure{'' if found.held == 1 else 's'}"
    told = f"None of {figures} is below 95 % of baseline v{version}."
    return answer(prompt_id, flow_id, version, "passed", told, now)


def failure(prompt_id: str, flow_id: str, error: Exception) -> Validation:
    """Validation itself failed."""
    told = f"It could not be validated: {str(error) or type(error).__name__}"
    return Validation(passed=False, prompt_id=prompt_id, flow_id=flow_id, status="failed", reason=told, exit_code=1, error=told)


def answer(
    prompt_id: str,
    flow_id: str,
    version: int | None,
    status: Health,
    reason: str,
    now: Facts,
    regressions: Sequence[Regression] = (),
) -> Validation:
    """With everything that follows from the status."""
    return Validation(
        passed=status == "passed",
        regressions=tuple(regressions),
        baseline_version=version,
        prompt_id=prompt_id,
        flow_id=flow_id,
        status=status,
        reason=reason,
        exit_code=_EXIT[status],
        plays=now.source.plays,
    )


def _judged(baseline: AgentSnapshot, now: Facts) -> _Judged:
    lines = [*_actions(baseline, now), *_pass_rates(baseline, now)]
    regressions = tuple(line for line in lines if isinstance(line, Regression))
    return _Judged(len(lines), regressions, tuple(line for line in lines if isinstance(line, str) and line))


def _actions(baseline: AgentSnapshot, now: Facts) -> Iterator[Regression | str]:
    """A regression; or why it is not measured; or nothing to say."""
    rates = now.recipe_metrics.success_rates
    for action, old in baseline.recipe_metrics.success_rates.items():
        if old is None:
            continue
        metric, named = f"success_rate.{action}", f"the success rate of {action}"
        if action not in rates and (rates or now.recipe_metrics.action_count is not None):
            told = f"The action {action} vanished; baseline v{baseline.version} has it with {old:.6g}."
            yield Regression(metric=metric, baseline=old, current=None, words=told)
        else:
            yield _held(metric, named, old, rates.get(action), baseline.version)


def _pass_rates(baseline: AgentSnapshot, now: Facts) -> Iterator[Regression | str]:
    for name, old in baseline.benchmark_metrics.items():
        if old is not None and is_pass_rate(name):
            yield _held(f"benchmark.{name}", f"the benchmark {name}", old, now.benchmark_metrics.get(name), baseline.version)


def _held(metric: str, named: str, old: float, new: float | None, version: int) -> Regression | str:
    if new is None:
        return f"{named[:1].upper()}{named[1:]} was not measured since baseline v{version}."
    if not beyond(new, old, TOLERANCE, "higher"):
        return ""
    shown_new, shown_old = _apart(new, old)
    told = f"{named[:1].upper()}{named[1:]} is {shown_new}, below 95 % of {shown_old} in baseline v{version}."
    return Regression(metric=metric, baseline=old, current=new, words=told)


def _apart(new: float, old: float) -> tuple[str, str]:
    """Both with so many digits that what is said of them can be seen."""
    for digits in range(_FEWEST_DIGITS, _ALL_DIGITS):
        shown = f"{new:.{digits}g}", f"{old:.{digits}g}"
        if beyond(float(shown[0]), float(shown[1]), TOLERANCE, "higher"):
            return shown
    return repr(new), repr(old)
