"""What a policy makes of pass rates: over all, and case by case.

Verdicts in, lines out. Over all, a gate asks more than the tier: is the rate
lower by more than the tolerance (`detect`), or is that excluded (`prove`)? A
case is judged by its tier under every rule; where many are judged at once, one
of them fails the gate only if chance would rarely make any look so bad.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from flowgauge.compare import words
from flowgauge.compare.asked import Asked, asked_of
from flowgauge.compare.family import chance_of_any, chance_of_several
from flowgauge.compare.figures import SUCCESS_RATE
from flowgauge.compare.rate_harm import Harm, rate_harm, runs_to_decide
from flowgauge.compare.tiers import CERTAIN, LIKELY
from flowgauge.model.benchmark import Rate
from flowgauge.model.gate import Policy
from flowgauge.model.verdict import AggregateRates, Comparison, GateLine, GateStatus, RateVerdict, Tier

SUBJECT = "pass rate"
_ROUNDING = 1e-12
_LEVELS: dict[Tier, float] = {"hard_regression": float(CERTAIN), "soft_regression": float(LIKELY)}
"""How rare a tier must be. `watch` has no test: who fails on it takes what comes."""
_AS_BAD: dict[Tier, frozenset[Tier]] = {
    "hard_regression": frozenset({"hard_regression"}),
    "soft_regression": frozenset({"hard_regression", "soft_regression"}),
}
_TOGETHER = 0.25
"""Of a tier's level: how rare several bad cases at once must be. It is a second try for chance, so it gets little."""
_NOTEWORTHY: frozenset[Tier] = frozenset({"hard_regression", "soft_regression", "watch", "unreliable_baseline"})


def rate_lines(comparison: Comparison, policy: Policy) -> Iterator[GateLine]:
    """Nothing where rates are ignored, or the baseline has none."""
    asked = asked_of(policy, SUCCESS_RATE)
    if policy.rates == "ignore" or asked.rule == "ignore":
        return
    if comparison.aggregate is None:
        if comparison.only_baseline:
            yield _line(
                SUBJECT, "not_measured", asked, "vanished", f"No case of the baseline's {_cases(comparison)} ran; run the same cases."
            )
        return
    if policy.rates in ("aggregate", "both"):
        yield _aggregate(comparison.aggregate, asked, policy)
    if policy.rates in ("tiers", "both"):
        yield from _by_case(comparison.rates, asked, policy)
    if comparison.only_baseline:
        told = f"{_cases(comparison)} of the baseline did not run: {words.listed(list(comparison.only_baseline))}; run the same cases."
        yield _line("cases", "not_measured" if asked.rule == "prove" else "passed", asked, "vanished", told)


def _aggregate(rates: AggregateRates, asked: Asked, policy: Policy) -> GateLine:
    told = f"The pass rate is {_rates(rates.candidate, rates.baseline)}"
    if rates.tier == "insufficient_data":
        return _line(SUBJECT, "not_measured", asked, rates.tier, f"{told}: a side has no run that counts; run it again.")
    if min(rates.candidate.total, rates.baseline.total) < asked.min_samples:
        return _line(
            SUBJECT, _open(asked), asked, "inconclusive", f"{told}, of fewer than the {asked.min_samples} runs asked for; run more."
        )
    if asked.rule == "threshold":
        return _bare(rates, asked, told)
    harm = rate_harm(rates.candidate, rates.baseline, tolerance=asked.tolerance, alpha=policy.alpha)
    p = 0.0 if rates.p_value is None else rates.p_value
    bad = _is_bad(rates.tier, rates.delta, policy) and p <= _level(rates.tier, policy)
    beyond = f"harm beyond the tolerance of {words.share(asked.tolerance)}"
    told = f"{told} ({rates.tier.replace('_', ' ')}, {_p(rates)})"
    if bad or harm.found:
        return _line(SUBJECT, "failed", asked, rates.tier if bad else "regressed", f"{told}: {beyond}; look at the failed runs.")
    if harm.excluded or (rates.tier == "improvement" and p <= policy.alpha):
        return _line(SUBJECT, "passed", asked, rates.tier, f"{told}: {beyond} is excluded.")
    more = _needed(rates.candidate, rates.baseline, asked, policy)
    return _line(SUBJECT, _open(asked), asked, "inconclusive", f"{told}: no sure harm, but {beyond} is not excluded{more}.")


def _bare(rates: AggregateRates, asked: Asked, told: str) -> GateLine:
    """The figures alone: lower than the baseline's times (1 - tolerance)?"""
    failed = (rates.candidate.value or 0.0) < (rates.baseline.value or 0.0) * (1 - asked.tolerance)
    lower = f"{'more' if failed else 'not more'} than {words.share(asked.tolerance)} lower"
    next_step = "; look at the failed runs" if failed else ""
    return _line(SUBJECT, "failed" if failed else "passed", asked, "regressed" if failed else "unchanged", f"{told}, {lower}{next_step}.")


def _by_case(rates: Sequence[RateVerdict], asked: Asked, policy: Policy) -> Iterator[GateLine]:
    """A line for each that is worth one, then one for all the others."""
    others: Counter[Tier] = Counter()
    for verdict in rates:
        told = _noteworthy(verdict, rates, asked, policy)
        if told is None:
            others[verdict.tier] += 1
        else:
            yield told
    if others:
        tiers = ", ".join(f"{count} {tier.replace('_', ' ')}" for tier, count in others.items())
        rest = "" if others.total() == len(rates) else "other "
        yield _line("pass rate by case", "passed", asked, "counted", f"{words.several(others.total(), f'{rest}case')}: {tiers}.")


def _noteworthy(verdict: RateVerdict, rates: Sequence[RateVerdict], asked: Asked, policy: Policy) -> GateLine | None:
    if _is_bad(verdict.tier, verdict.delta, policy):
        return _bad_case(verdict, rates, asked, policy)
    alone = policy.rates == "tiers" and asked.rule == "prove"
    if alone and verdict.tier != "improvement" and not _harm(verdict, asked, policy).excluded:
        more = _needed(verdict.candidate, verdict.baseline, asked, policy)
        told = f"harm beyond {words.share(asked.tolerance)} is not excluded{more}"
        return _case(verdict, "not_measured", asked, told, found="inconclusive")
    if verdict.tier in _NOTEWORTHY and (verdict.delta or 0.0) < 0:
        return _case(verdict, "passed", asked, "a tier that this policy lets pass")
    return None


def _bad_case(verdict: RateVerdict, rates: Sequence[RateVerdict], asked: Asked, policy: Policy) -> GateLine:
    if policy.correct_cases and verdict.tier in _AS_BAD and (told := _may_be_chance(verdict, rates, policy)):
        return _case(verdict, _open(asked), asked, f"{told}, so this proves nothing; run this case more often", found="inconclusive")
    failed = f"failed: {words.listed(list(verdict.failed_runs))}; " if verdict.failed_runs else ""
    return _case(verdict, "failed", asked, f"{failed}look at a failed run, or set another baseline if it is meant")


def _may_be_chance(verdict: RateVerdict, rates: Sequence[RateVerdict], policy: Policy) -> str:
    """Why a bad case proves nothing among so many; empty where it does, alone or together with others as bad."""
    as_bad, p, level = _AS_BAD[verdict.tier], verdict.p_value or 0.0, _level(verdict.tier, policy)
    alone = chance_of_any(rates, as_bad, p)
    if alone <= level:
        return ""
    bad = [one.p_value or 0.0 for one in rates if one.tier in as_bad]
    if len(bad) > 1 and chance_of_several(rates, as_bad, max(bad), len(bad)) <= level * _TOGETHER:
        return ""
    return f"though nothing changed, one of {words.several(len(rates), 'case')} looks so bad with a chance of {alone:.2g}"


def _level(tier: Tier, policy: Policy) -> float:
    """The tier's own; less in proportion where the policy asks for less than 5 %, as every look of a bench that is looked at often does."""
    return _LEVELS[tier] * min(1.0, policy.alpha / _LEVELS["hard_regression"]) + _ROUNDING if tier in _LEVELS else 1.0


def _open(asked: Asked) -> GateStatus:
    """What an inconclusive rate makes."""
    return "passed" if asked.rule == "detect" else "not_measured"


def _is_bad(tier: Tier, delta: float | None, policy: Policy) -> bool:
    """In a tier that fails the gate; `watch` is two-sided, and better is no harm."""
    return tier in policy.fail_on and (delta or 0.0) < 0


def _harm(verdict: RateVerdict, asked: Asked, policy: Policy) -> Harm:
    return rate_harm(verdict.candidate, verdict.baseline, tolerance=asked.tolerance, alpha=policy.alpha)


def _needed(candidate: Rate, baseline: Rate, asked: Asked, policy: Policy) -> str:
    runs = runs_to_decide(candidate, baseline, tolerance=asked.tolerance, alpha=policy.alpha)
    return f"; about {words.several(runs, 'run')} a side would decide it" if runs else ""


def _case(verdict: RateVerdict, status: GateStatus, asked: Asked, told: str, *, found: str = "") -> GateLine:
    figures = f"{_rates(verdict.candidate, verdict.baseline)} ({_p(verdict)})"
    said = f"{verdict.key}: {verdict.tier.replace('_', ' ')}, {figures}; {told}."
    return _line(f"{SUBJECT} of {verdict.key}", status, asked, found or verdict.tier, said)


def _line(subject: str, status: GateStatus, asked: Asked, verdict: str, told: str) -> GateLine:
    return GateLine(subject=subject, status=status, rule=asked.rule, verdict=verdict, words=told)


def _rates(candidate: Rate, baseline: Rate) -> str:
    return f"{words.counted(candidate)} against {words.counted(baseline)}"


def _p(verdict: RateVerdict | AggregateRates) -> str:
    if verdict.delta is None or verdict.p_value is None:
        return "no run on one side"
    return f"{verdict.delta * 100:+.3g} points, {words.p_value(verdict.p_value)}"


def _cases(comparison: Comparison) -> str:
    return words.several(len(comparison.only_baseline), "case")
