"""What a policy makes of a comparison, line by line. The comparison is given; how verdicts are found is tested elsewhere."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.compare.sides import counts, samples, side

from flowgauge.compare.comparison import not_compared
from flowgauge.compare.gate import judge
from flowgauge.compare.rates import compare_rates, rate_of
from flowgauge.errors import UsageError
from flowgauge.model.benchmark import Interval
from flowgauge.model.gate import History, KOfN, MetricPolicy, Policy
from flowgauge.model.metric import CaseCounts, Measured
from flowgauge.model.verdict import Attempt, Comparison, Difference, Estimate, GateLine, GateRule, MetricVerdict, Verdict

FINE = {"a": counts(10, 10)}
TIMES = {"duration_ms": samples([100.0] * 10)}


def verdict(verdict: Verdict, **more: Any) -> MetricVerdict:
    given: dict[str, Any] = {
        "metric": "duration_ms",
        "direction": "lower",
        "unit": "ms",
        "candidate": Estimate(value=1230.0, n=10),
        "baseline": Estimate(value=1000.0, n=10),
        "ratio": 1.23,
        "interval": Interval(1.15, 1.31),
    }
    return MetricVerdict(verdict=verdict, **{**given, **more})


def compared(
    candidate: dict[str, CaseCounts] | None = None, baseline: dict[str, CaseCounts] | None = None, **more: Any
) -> tuple[Comparison, Measured]:
    """As `compare` would put it together, but with the verdicts that are handed in."""
    mine = side("new", FINE if candidate is None else candidate, TIMES)
    theirs = side("old", FINE if baseline is None else baseline, TIMES)
    rates = compare_rates(mine.cases, theirs.cases, count_all_failures=more.pop("count_all_failures", False))
    made = msgspec.structs.replace(
        not_compared(mine, "ok", "", baseline="old"),
        aggregate=rates.aggregate,
        rates=rates.cases,
        only_baseline=rates.only_baseline,
        baseline_infrastructure=rate_of(theirs.infrastructure, theirs.runs),
        **more,
    )
    return made, mine


def line_of(lines: tuple[GateLine, ...], subject: str) -> GateLine:
    (found,) = [line for line in lines if line.subject == subject]
    return found


@pytest.mark.parametrize(
    ("found", "rule", "exit_code"),
    [
        ("improved", "detect", 0), ("unchanged", "detect", 0), ("regressed", "detect", 1), ("inconclusive", "detect", 0),
        ("vanished", "detect", 3),
        ("improved", "prove", 0), ("unchanged", "prove", 0), ("regressed", "prove", 1), ("inconclusive", "prove", 3),
        ("vanished", "prove", 3),
        ("improved", "threshold", 0), ("unchanged", "threshold", 0), ("regressed", "threshold", 1), ("inconclusive", "threshold", 3),
        ("vanished", "threshold", 3),
    ],
)  # fmt: skip
def test_a_verdict_under_a_rule(found: Verdict, rule: GateRule, exit_code: int) -> None:
    result = judge(*compared(metrics=(verdict(found),)), Policy(rule=rule, rates="ignore"))
    assert result.exit_code == exit_code
    assert result.status == {0: "passed", 1: "failed", 3: "not_measured"}[exit_code]
    assert [(line.subject, line.verdict, line.rule) for line in result.lines] == [("duration_ms", found, rule)]


def test_an_inconclusive_metric_is_named_with_the_runs_that_decide_it() -> None:
    result = judge(*compared(metrics=(verdict("inconclusive", runs_needed=47, interval=Interval(0.9, 1.7)),)), Policy(rates="ignore"))
    words = line_of(result.lines, "duration_ms").words
    assert "inconclusive" in words
    assert "1,230 ms against 1,000 ms (× 1.23, 95 % interval 0.9 to 1.7)" in words
    assert "47 runs a side" in words


def test_a_reason_takes_the_place_of_noise() -> None:
    result = judge(*compared(metrics=(verdict("inconclusive", reason="one side has no samples"),)), Policy(rates="ignore"))
    assert "one side has no samples" in result.lines[0].words


def test_a_metric_that_is_ignored_is_not_there_even_where_it_vanished() -> None:
    lost = verdict("vanished", metric="cost_usd", unit="USD", candidate=Estimate(value=None, n=0), ratio=None, interval=None)
    metrics = (verdict("unchanged"), lost)
    assert judge(*compared(metrics=metrics), Policy(rates="ignore")).exit_code == 3
    ignored = judge(*compared(metrics=metrics), Policy(rates="ignore", metrics={"cost_usd": MetricPolicy(rule="ignore")}))
    assert ignored.exit_code == 0
    assert [line.subject for line in ignored.lines] == ["duration_ms"]
    assert judge(*compared(metrics=metrics), Policy(rates="ignore", only=("duration_ms",))).exit_code == 0


def test_a_metric_has_a_rule_of_its_own() -> None:
    metrics = (verdict("inconclusive"), verdict("inconclusive", metric="cost_usd"))
    result = judge(*compared(metrics=metrics), Policy(rates="ignore", metrics={"cost_usd": MetricPolicy(rule="prove")}))
    assert [(line.subject, line.status) for line in result.lines] == [("duration_ms", "passed"), ("cost_usd", "not_measured")]
    assert result.exit_code == 3


@pytest.mark.parametrize("policy", [Policy(only=("score.tone",)), Policy(metrics={"score.tone": MetricPolicy(tolerance=0.1)})])
def test_a_metric_that_is_asked_for_and_nowhere_is_not_measured(policy: Policy) -> None:
    result = judge(*compared(), msgspec.structs.replace(policy, rates="ignore"))
    assert result.exit_code == 3
    assert "neither side has" in line_of(result.lines, "score.tone").words


@pytest.mark.parametrize(
    ("rule", "policy", "exit_code"),
    [
        pytest.param("detect", Policy(min_samples=11), 0, id="too few samples are inconclusive"),
        pytest.param("prove", Policy(min_samples=11), 3, id="and prove nothing"),
        pytest.param("detect", Policy(metrics={"duration_ms": MetricPolicy(min_samples=11)}), 0, id="a minimum of the metric's own"),
        pytest.param("detect", Policy(min_samples=11, metrics={"duration_ms": MetricPolicy(min_samples=10)}), 1, id="which wins"),
        pytest.param("threshold", Policy(min_samples=11), 3, id="a bare threshold obeys a minimum that somebody set"),
    ],
)
def test_a_minimum_of_samples(rule: GateRule, policy: Policy, exit_code: int) -> None:
    result = judge(*compared(metrics=(verdict("regressed"),)), msgspec.structs.replace(policy, rule=rule, rates="ignore"))
    assert result.exit_code == exit_code
    assert ("10 samples of the 11" in result.lines[0].words) is (exit_code != 1)


def test_a_bare_threshold_takes_one_sample() -> None:
    single = verdict("regressed", candidate=Estimate(value=2.0, n=1), baseline=Estimate(value=1.0, n=1), interval=None)
    assert judge(*compared(metrics=(single,)), Policy(rates="ignore", rule="threshold")).exit_code == 1
    assert judge(*compared(metrics=(single,)), Policy(rates="ignore")).exit_code == 0


def test_harm_stands_beside_what_could_not_be_measured() -> None:
    result = judge(*compared(metrics=(verdict("regressed"), verdict("vanished", metric="cost_usd"))), Policy(rates="ignore"))
    assert result.exit_code == 1


# Pass rates.


@pytest.mark.parametrize(
    ("candidate", "baseline", "detect", "prove"),
    [
        pytest.param((3, 3), (3, 3), 0, 3, id="three of three: no harm seen, none excluded"),
        pytest.param((60, 60), (60, 60), 0, 0, id="sixty of sixty: excluded"),
        pytest.param((0, 3), (3, 3), 1, 1, id="all to none of three"),
        pytest.param((1, 3), (3, 3), 0, 3, id="all to one of three is soft"),
        pytest.param((400, 500), (450, 500), 1, 1, id="ten points of five hundred runs fail, though their tier is stable"),
        pytest.param((60, 100), (30, 100), 0, 0, id="better"),
    ],
)
def test_a_pass_rate_under_a_rule(candidate: tuple[int, int], baseline: tuple[int, int], detect: int, prove: int) -> None:
    sides = compared({"a": counts(*candidate)}, {"a": counts(*baseline)})
    assert (judge(*sides, Policy()).exit_code, judge(*sides, Policy(rule="prove")).exit_code) == (detect, prove)


def test_an_open_pass_rate_says_how_many_runs_decide_it() -> None:
    words = line_of(judge(*compared({"a": counts(10, 10)}, {"a": counts(10, 10)}), Policy(rule="prove")).lines, "pass rate").words
    assert "10/10 against 10/10 (stable, +0 points, p = 1)" in words
    assert "52 runs a side would decide it" in words


@pytest.mark.parametrize(("runs", "verdict"), [(51, "inconclusive"), (52, "stable")])
def test_a_pass_rate_is_called_by_its_tier_only_where_harm_is_excluded(runs: int, verdict: str) -> None:
    result = judge(*compared({"a": counts(runs, runs)}, {"a": counts(runs, runs)}), Policy())
    assert (result.exit_code, line_of(result.lines, "pass rate").verdict) == (0, verdict)


@pytest.mark.parametrize(
    ("candidate", "exit_code"),
    [pytest.param(95, 0, id="five percent lower exactly"), pytest.param(94, 1, id="more than five percent lower")],
)
def test_a_bare_threshold_on_the_pass_rate(candidate: int, exit_code: int) -> None:
    sides = compared({"a": counts(candidate, 100)}, {"a": counts(100, 100)})
    assert judge(*sides, Policy(rule="threshold")).exit_code == exit_code
    assert judge(*sides, Policy(rule="threshold", metrics={"success_rate": MetricPolicy(tolerance=0.1)})).exit_code == 0
    assert judge(*sides, Policy(rule="threshold", metrics={"success_rate": MetricPolicy(rule="ignore")})).status == "not_measured"


@pytest.mark.parametrize(
    ("fail_on", "table", "exit_code"),
    [
        pytest.param(("hard_regression",), (1, 3, 3, 3), 0, id="a soft regression passes by default"),
        pytest.param(("soft_regression",), (1, 3, 3, 3), 1, id="and fails where it is asked to"),
        pytest.param(("watch",), (0, 1, 1, 1), 1, id="a change that is watched, for the worse"),
        pytest.param(("watch",), (1, 1, 0, 1), 0, id="a change that is watched, for the better"),
        pytest.param((), (0, 3, 3, 3), 0, id="no tier fails it"),
    ],
)
def test_the_tiers_that_fail(fail_on: tuple[Any, ...], table: tuple[int, int, int, int], exit_code: int) -> None:
    sides = compared({"a": counts(*table[:2])}, {"a": counts(*table[2:])})
    assert judge(*sides, Policy(rates="tiers", fail_on=fail_on)).exit_code == exit_code


def test_one_broken_case_among_many_that_always_pass_fails_the_gate() -> None:
    steady = {f"case {place}": counts(3, 3) for place in range(50)}
    sides = compared({**steady, "broken": counts(0, 3)}, {**steady, "broken": counts(3, 3)})
    result = judge(*sides, Policy())
    assert result.exit_code == 1
    line = line_of(result.lines, "pass rate of broken")
    assert (line.status, line.verdict) == ("failed", "hard_regression")
    assert "0/3 against 3/3 (-100 points, p = 0.05)" in line.words
    assert "run-0" in line.words
    assert line_of(result.lines, "pass rate").status == "passed"
    assert line_of(result.lines, "pass rate by case").words == "50 other cases: 50 stable."


@pytest.mark.parametrize(
    ("policy", "exit_code"),
    [
        pytest.param(Policy(), 0, id="detect lets it pass, and says so"),
        pytest.param(Policy(correct_cases=False), 1, id="the bare tier fails"),
        pytest.param(Policy(rule="prove"), 3, id="prove leaves it open"),
    ],
)
def test_one_that_looks_broken_among_flaky_cases_proves_nothing(policy: Policy, exit_code: int) -> None:
    candidate = {f"case {place}": counts(1 + place % 2, 3) for place in range(20)}
    baseline = {f"case {place}": counts(2 - place % 2, 3) for place in range(20)}
    sides = compared({**candidate, "broken": counts(0, 3)}, {**baseline, "broken": counts(3, 3)})
    result = judge(*sides, policy)
    assert result.exit_code == exit_code
    line = line_of(result.lines, "pass rate of broken")
    assert ("proves nothing" in line.words) is (exit_code != 1)
    assert line.verdict == ("hard_regression" if exit_code == 1 else "inconclusive")


@pytest.mark.parametrize("rates", ["tiers", "aggregate"])
def test_a_look_that_may_err_less_asks_more_of_a_tier(rates: Any) -> None:
    """0 of 3 against 3 of 3 has p = 1/20: too much for a look that has 1 % to spend; 0 of 5 against 5 of 5 has 1/252."""
    three, five = (compared({"a": counts(0, n)}, {"a": counts(n, n)}) for n in (3, 5))
    for sides, alpha, exit_code in ((three, 0.05, 1), (three, 0.01, 0), (five, 0.01, 1), (five, 0.001, 0), (three, 0.2, 1)):
        assert judge(*sides, Policy(rates=rates, alpha=alpha)).exit_code == exit_code


def test_a_case_that_met_a_429_does_not_stop_the_gate_by_itself() -> None:
    steady = {f"case {place}": counts(1, 1) for place in range(99)}
    result = judge(*compared({**steady, "lost": counts(0, 1, infrastructure=1)}, {**steady, "lost": counts(1, 1)}), Policy())
    assert result.exit_code == 0
    assert "1 insufficient data" in line_of(result.lines, "pass rate by case").words


@pytest.mark.parametrize(("rule", "exit_code"), [("detect", 0), ("prove", 3)])
def test_cases_that_did_not_run_are_named(rule: GateRule, exit_code: int) -> None:
    result = judge(*compared({"a": counts(60, 60)}, {"a": counts(60, 60), "b": counts(60, 60)}), Policy(rule=rule))
    assert result.exit_code == exit_code
    assert "1 case of the baseline did not run: b" in line_of(result.lines, "cases").words


def test_no_case_in_common_is_not_measured() -> None:
    assert judge(*compared({"a": counts(9, 9)}, {"b": counts(9, 9)}), Policy()).exit_code == 3


def test_prove_of_tiers_alone_asks_it_of_every_case() -> None:
    sides = compared({"a": counts(60, 60), "b": counts(9, 9)}, {"a": counts(60, 60), "b": counts(9, 9)})
    result = judge(*sides, Policy(rule="prove", rates="tiers"))
    assert [(line.subject, line.status) for line in result.lines] == [("pass rate of b", "not_measured"), ("pass rate by case", "passed")]


# What leaves nothing to judge.


@pytest.mark.parametrize("policy", [Policy(), Policy(rule="prove"), Policy(rule="threshold"), Policy(count_all_failures=True)])
@pytest.mark.parametrize(
    ("candidate", "baseline", "words"),
    [
        pytest.param({"a": counts(0, 10, infrastructure=10)}, FINE, "All 10 runs of the candidate failed", id="everything is 429"),
        pytest.param({"a": counts(94, 100, infrastructure=6)}, FINE, "6 of 100 runs of the candidate", id="six percent are 429"),
        pytest.param(FINE, {"a": counts(94, 100, infrastructure=6)}, "6 of 100 runs of the baseline", id="six percent of the baseline"),
        pytest.param(FINE, {"a": counts(0, 0)}, "The baseline has no run", id="a baseline without a run"),
    ],
)
def test_infrastructure_failures_leave_nothing_to_judge(
    policy: Policy, candidate: dict[str, CaseCounts], baseline: dict[str, CaseCounts], words: str
) -> None:
    result = judge(*compared(candidate, baseline, metrics=(verdict("regressed"),)), policy)
    assert (result.exit_code, result.status) == (3, "not_measured")
    assert words in result.lines[0].words


def test_five_percent_of_infrastructure_failures_are_borne() -> None:
    sides = compared({"a": counts(95, 100, infrastructure=5)}, {"a": counts(100, 100)})
    assert judge(*sides, Policy()).exit_code == 0
    assert judge(*sides, Policy(max_infrastructure=0.04)).exit_code == 3
    assert "rate_limited 5" in judge(*sides, Policy(max_infrastructure=0.0)).lines[0].words


def test_nothing_ran() -> None:
    nothing = side("new")
    for attempt in ("ok", "no_baseline"):
        result = judge(not_compared(nothing, attempt, "There is none."), nothing, Policy(limits=("p95_ms <= 3",)))
        assert result.exit_code == 3
        assert "Nothing ran" in result.lines[0].words


DIFFERENT = (Difference("price_table", "new", "old", "The price tables differ (new against old): so it goes."),)


@pytest.mark.parametrize(
    ("policy", "exit_code"),
    [
        pytest.param(Policy(), 1, id="a difference is told, and harm stands"),
        pytest.param(Policy(strict=True), 3, id="strict refuses whatever else is found"),
        pytest.param(Policy(strict=True, allow=("price_table",)), 1, id="what is allowed is let pass"),
        pytest.param(Policy(strict=True, allow=("machine",)), 3, id="and nothing else"),
    ],
)
def test_not_comparable(policy: Policy, exit_code: int) -> None:
    result = judge(*compared(metrics=(verdict("regressed", metric="cost_usd", unit="USD"),), differences=DIFFERENT), policy)
    assert result.exit_code == exit_code
    told = result.lines[0].words if exit_code == 3 else line_of(result.lines, "cost_usd").words
    assert "price_table" in told


@pytest.mark.parametrize("attempt", ["no_baseline", "self_baseline", "fetch_failed", "not_attempted"])
def test_what_was_not_compared_is_never_a_pass(attempt: Attempt) -> None:
    candidate = side("new", FINE, TIMES)
    result = judge(not_compared(candidate, attempt, "There is none."), candidate, Policy())
    assert result.exit_code == 3
    assert [(line.subject, line.verdict) for line in result.lines] == [("baseline", attempt)]


@pytest.mark.parametrize(
    ("attempt", "limit", "exit_code"),
    [
        pytest.param("no_baseline", "success_rate >= 0.9", 3, id="a limit that holds does not make up for a baseline"),
        pytest.param("no_baseline", "success_rate >= 1.1", 1, id="a limit that is broken needs none"),
        pytest.param("not_attempted", "success_rate >= 0.9", 0, id="limits alone, where no baseline was named"),
        pytest.param("not_attempted", "success_rate >= 1.1", 1, id="limits alone, broken"),
    ],
)
def test_limits_need_no_baseline(attempt: Attempt, limit: str, exit_code: int) -> None:
    candidate = side("new", FINE, TIMES)
    assert judge(not_compared(candidate, attempt, "There is none."), candidate, Policy(limits=(limit,))).exit_code == exit_code


@pytest.mark.parametrize(
    ("limit", "exit_code"),
    [
        pytest.param("metric.duration_ms <= 100", 0, id="held"),
        pytest.param("metric.duration_ms <= 99", 1, id="broken"),
        pytest.param("cost_usd <= 1", 3, id="not known"),
    ],
)
def test_a_limit(limit: str, exit_code: int) -> None:
    result = judge(*compared(), Policy(rates="ignore", limits=(limit,)))
    assert result.exit_code == exit_code
    assert result.lines[0].rule == "limit"


def test_a_limit_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="is no rule"):
        judge(*compared(), Policy(limits=("fast",)))


def test_a_policy_that_judges_nothing_is_no_pass() -> None:
    assert judge(*compared(), Policy(rates="ignore")).exit_code == 3


# k of n.


@pytest.mark.parametrize(
    ("asked", "case", "status"),
    [
        pytest.param(KOfN(k=2), counts(2, 3), "passed", id="two of three"),
        pytest.param(KOfN(k=2), counts(1, 3), "failed", id="one of three"),
        pytest.param(KOfN(k=2), counts(1, 1), "not_measured", id="there are not even two runs"),
        pytest.param(KOfN(k=2), counts(2, 4, infrastructure=2), "passed", id="what says nothing does not count"),
        pytest.param(KOfN(k=1), counts(0, 2, infrastructure=2), "not_measured", id="nothing that counts"),
        pytest.param(KOfN(k=2, n=3), counts(2, 3), "passed", id="exactly three runs"),
        pytest.param(KOfN(k=2, n=3), counts(2, 2), "passed", id="two passed already"),
        pytest.param(KOfN(k=2, n=3), counts(0, 2), "failed", id="two failed already"),
        pytest.param(KOfN(k=2, n=3), counts(1, 2), "not_measured", id="the third decides"),
        pytest.param(KOfN(k=2, n=3), counts(4, 5), "passed", id="any three of five hold two that pass"),
        pytest.param(KOfN(k=2, n=3), counts(1, 5), "failed", id="no three of five hold two that pass"),
        pytest.param(KOfN(k=2, n=3), counts(3, 5), "not_measured", id="which of the five came first is not known"),
    ],
)
def test_k_of_n(asked: KOfN, case: CaseCounts, status: str) -> None:
    candidate = side("new", {"a": case})
    result = judge(not_compared(candidate, "not_attempted", ""), candidate, Policy(k_of_n=asked, max_infrastructure=1.0))
    if case.infrastructure < case.runs:
        assert result.status == status
        assert result.lines[0].rule.startswith(f"k of n: {asked.k}")
    else:
        assert result.exit_code == 3


def test_k_of_n_of_some_cases() -> None:
    candidate = side("new", {"a": counts(3, 3), "b": counts(0, 3)})
    comparison = not_compared(candidate, "not_attempted", "")
    assert judge(comparison, candidate, Policy(k_of_n=KOfN(k=2))).exit_code == 1
    assert judge(comparison, candidate, Policy(k_of_n=KOfN(k=2, cases=("a",)))).exit_code == 0
    unknown = judge(comparison, candidate, Policy(k_of_n=KOfN(k=2, cases=("a", "z"))))
    assert unknown.exit_code == 3
    assert "no such case" in unknown.lines[0].words


# History.

STEADY = [100.0, 102.0, 98.0, 101.0, 99.0]


@pytest.mark.parametrize(
    ("history", "value", "exit_code"),
    [
        pytest.param(History(method="z"), 104.7, 0, id="within three sigmas"),
        pytest.param(History(method="z"), 104.8, 1, id="beyond three sigmas (of 1.58)"),
        pytest.param(History(method="z", bound=5), 104.8, 0, id="within five"),
        pytest.param(History(method="z"), 10.0, 0, id="far on the better side"),
        pytest.param(History(method="t"), 103.69, 0, id="within the prediction interval: 100 + 2.132 · 1.581 · √1.2"),
        pytest.param(History(method="t"), 103.70, 1, id="beyond it"),
        pytest.param(History(method="iqr"), 104.0, 0, id="on Tukey's fence: 101 + 1.5 · 2"),
        pytest.param(History(method="iqr"), 104.01, 1, id="beyond it"),
        pytest.param(History(method="iqr", bound=2), 104.5, 0, id="a wider fence"),
    ],
)
def test_history(history: History, value: float, exit_code: int) -> None:
    candidate = side("new", metrics={"duration_ms": samples([value])})
    policy = Policy(metrics={"duration_ms": MetricPolicy(history=history)})
    result = judge(not_compared(candidate, "not_attempted", ""), candidate, policy, history={"duration_ms": STEADY})
    assert result.exit_code == exit_code
    assert [line.rule for line in result.lines] == ["history"]
    assert "over the last 5 benchmarks, mean 100 ms" in result.lines[0].words


def test_history_of_a_metric_of_which_more_is_better() -> None:
    candidate = side("new", metrics={"score.tone": samples([0.5], "higher", "")})
    policy = Policy(metrics={"score.tone": MetricPolicy(history=History(method="z"))})
    comparison = not_compared(candidate, "not_attempted", "")
    assert judge(comparison, candidate, policy, history={"score.tone": [0.9, 0.91, 0.89]}).exit_code == 1
    assert judge(comparison, candidate, policy, history={"score.tone": [0.1, 0.12, 0.11]}).exit_code == 0


@pytest.mark.parametrize(("method", "fewest"), [("z", 3), ("t", 3), ("iqr", 4)])
def test_too_short_a_history_is_not_measured(method: Any, fewest: int) -> None:
    candidate = side("new", metrics={"duration_ms": samples([100.0])})
    policy = Policy(metrics={"duration_ms": MetricPolicy(history=History(method=method))})
    comparison = not_compared(candidate, "not_attempted", "")
    assert judge(comparison, candidate, policy).exit_code == 3
    assert judge(comparison, candidate, policy, history={"duration_ms": STEADY[: fewest - 1]}).exit_code == 3
    assert judge(comparison, candidate, policy, history={"duration_ms": STEADY[:fewest]}).exit_code == 0


def test_only_the_last_of_a_history_count() -> None:
    candidate = side("new", metrics={"duration_ms": samples([100.0])})
    policy = Policy(metrics={"duration_ms": MetricPolicy(history=History(method="iqr", last=4))})
    long = [1.0] * 50
    comparison = not_compared(candidate, "not_attempted", "")
    assert judge(comparison, candidate, policy, history={"duration_ms": [*long, *STEADY[:4]]}).exit_code == 0
    assert judge(comparison, candidate, policy, history={"duration_ms": [*STEADY[:4], *long]}).exit_code == 1


def test_a_steady_history_takes_the_same_value_again() -> None:
    candidate = side("new", metrics={"tokens_prompt": samples([0.1 + 0.2], unit="tokens")})
    policy = Policy(metrics={"tokens_prompt": MetricPolicy(history=History(method="z"))})
    assert judge(not_compared(candidate, "not_attempted", ""), candidate, policy, history={"tokens_prompt": [0.3] * 5}).exit_code == 0


def test_history_takes_the_place_of_the_baseline_unless_a_rule_is_said() -> None:
    slow = verdict("regressed")
    asked = MetricPolicy(history=History(method="z"))
    history = {"duration_ms": STEADY}
    policy = Policy(rates="ignore", metrics={"duration_ms": asked})
    assert judge(*compared(metrics=(slow,)), policy, history=history).exit_code == 0
    both = Policy(rates="ignore", metrics={"duration_ms": msgspec.structs.replace(asked, rule="detect")})
    assert judge(*compared(metrics=(slow,)), both, history=history).exit_code == 1


def test_a_candidate_without_the_metric_has_no_place_in_history() -> None:
    candidate = side("new", FINE)
    policy = Policy(metrics={"cost_usd": MetricPolicy(history=History(method="z"))})
    result = judge(not_compared(candidate, "not_attempted", ""), candidate, policy, history={"cost_usd": STEADY})
    assert result.exit_code == 3
