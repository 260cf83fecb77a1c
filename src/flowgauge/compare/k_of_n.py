"""At least k of n runs of every case must pass.

Counts in, lines out. Counts do not say which runs came first: where a case ran
more often than n, the first n are judged only as far as any choice of n would
be judged the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowgauge.compare import words
from flowgauge.compare.rates import counting
from flowgauge.model.gate import KOfN, Policy
from flowgauge.model.metric import Measured
from flowgauge.model.verdict import GateLine, GateStatus


def k_of_n_lines(candidate: Measured, policy: Policy) -> Iterator[GateLine]:
    """One for each case that does not pass, or one for all."""
    asked = policy.k_of_n
    if asked is None:
        return
    count = counting(count_all_failures=policy.count_all_failures)
    names = asked.cases or tuple(candidate.cases)
    open_cases = 0
    for name in names:
        counts = candidate.cases.get(name)
        passed, runs = count(counts) if counts else (0, 0)
        status = _status(passed, runs, asked)
        if status != "passed":
            open_cases += 1
            yield _line(
                f"pass rate of {name}", status, asked, f"{name} passed {passed} of {runs} runs{_next(counts is None, status, runs, asked)}."
            )
    if not names:
        yield _line("every case", "not_measured", asked, "There is no case to count; run the bench.")
    elif not open_cases:
        yield _line("every case", "passed", asked, f"{words.several(len(names), 'case')}: each passed at least {_asked(asked)}.")


def _status(passed: int, runs: int, asked: KOfN) -> GateStatus:
    """Decided where every choice of n runs, made or still to be made, says the same."""
    wanted = asked.n if asked.n is not None else runs
    beyond, missing = max(0, runs - wanted), max(0, wanted - runs)
    least, most = max(0, passed - beyond), min(wanted, passed + missing)
    if not runs or (asked.n is None and runs < asked.k):
        return "not_measured"
    return "passed" if least >= asked.k else "failed" if most < asked.k else "not_measured"


def _next(unknown: bool, status: GateStatus, runs: int, asked: KOfN) -> str:
    wanted = _asked(asked)
    if unknown:
        return f", and {wanted} are asked for: there is no such case in the bench; correct its name in the policy"
    if status == "failed":
        return f", and {wanted} are asked for; look at its failed runs"
    how = "fewer" if asked.n is not None and runs > asked.n else "more"
    return f", which leaves open whether it passes {wanted}: run it with {how} runs, {asked.n or asked.k}"


def _asked(asked: KOfN) -> str:
    return f"{asked.k} of {asked.n}" if asked.n is not None else f"{asked.k}"


def _line(subject: str, status: GateStatus, asked: KOfN, told: str) -> GateLine:
    verdict = {"passed": "held", "failed": "broken", "not_measured": "unknown"}[status]
    return GateLine(subject=subject, status=status, rule=f"k of n: {_asked(asked)}", verdict=verdict, words=told)
