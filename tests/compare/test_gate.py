"""From two measured sides to an exit code: everything that `compare` and `judge` do, at once."""

from __future__ import annotations

import random

import pytest
from tests.compare.sides import counts, noisy, samples, side

from flowgauge.compare.comparison import compare
from flowgauge.compare.gate import judge
from flowgauge.model.benchmark import Fingerprint
from flowgauge.model.gate import MetricPolicy, Policy
from flowgauge.model.metric import CaseCounts, Measured, Samples
from flowgauge.model.verdict import GateResult

CASES, RUNS = ("short", "long", "odd"), 12
SIZE = {"short": 1.0, "long": 3.0, "odd": 1.5}


def workflow(
    sid: str, seed: int, *, search_ms: float = 100.0, answer_ms: float = 200.0, price: float = 1.0, runs: int = RUNS, **fingerprint: str
) -> Measured:
    """Two nodes, one after the other: what each takes, and what a run costs."""
    search: dict[str, list[float]] = {}
    answer: dict[str, list[float]] = {}
    for place, case in enumerate(CASES):
        search[case] = noisy(search_ms * SIZE[case], runs, seed * 100 + place)
        answer[case] = noisy(answer_ms * SIZE[case], runs, seed * 100 + 50 + place)
    whole = {case: [a + b for a, b in zip(search[case], answer[case], strict=True)] for case in CASES}
    chance = random.Random(seed)
    tokens = {case: [round(500 * SIZE[case]) + chance.randint(0, 40) for _ in range(runs)] for case in CASES}
    metrics = {
        "duration_ms": samples(whole),
        "cost_usd": samples({case: [count * 2e-6 * price for count in found] for case, found in tokens.items()}, unit="USD"),
        "tokens_prompt": samples(tokens, unit="tokens"),
    }
    given = {"dataset": "d", "price_table": "prices-1", "machine": "m", **fingerprint}
    nodes = {"search": samples(search), "answer": samples(answer)}
    return side(sid, {case: counts(runs, runs) for case in CASES}, metrics, nodes, Fingerprint(**given))


def gated(candidate: Measured, baseline: Measured | None, policy: Policy | None = None) -> GateResult:
    asked = policy or Policy()
    return judge(compare(candidate, baseline, policy=asked), candidate, asked)


def words_of(result: GateResult, subject: str) -> str:
    (line,) = [line for line in result.lines if line.subject == subject]
    return line.words


def test_the_same_twice_passes() -> None:
    result = gated(workflow("new", 1), workflow("old", 2))
    assert result.exit_code == 0, result.lines
    assert {verdict.verdict for verdict in result.comparison.metrics} <= {"unchanged", "inconclusive"}
    assert result.comparison.differences == ()


def test_one_node_slower_fails_the_gate_which_names_it() -> None:
    result = gated(workflow("new", 1, search_ms=160.0), workflow("old", 2))
    assert result.exit_code == 1
    assert [line.subject for line in result.lines if line.status == "failed"] == ["duration_ms"]
    words = words_of(result, "duration_ms")
    assert "node 'search'" in words
    assert "node 'answer'" not in words
    slowest = result.comparison.nodes[0]
    assert (slowest.node_id, slowest.significant) == ("search", True)
    assert slowest.share is not None and slowest.share > 0.8
    assert slowest.ratio is not None and slowest.interval is not None
    assert slowest.interval.low < 1.6 < slowest.interval.high


def test_where_nodes_are_not_known_the_gate_fails_all_the_same() -> None:
    slow, old = workflow("new", 1, search_ms=160.0), workflow("old", 2)
    bare = side("new", slow.cases, slow.metrics)
    result = gated(bare, old)
    assert result.exit_code == 1
    assert "node" not in words_of(result, "duration_ms")


def test_only_the_price_changed() -> None:
    """Cost regressed, latency did not, and the price table is named."""
    result = gated(workflow("new", 1, price=1.5, price_table="prices-2"), workflow("old", 1))
    assert result.exit_code == 1
    verdicts = {verdict.metric: verdict.verdict for verdict in result.comparison.metrics}
    assert verdicts == {"duration_ms": "unchanged", "cost_usd": "regressed", "tokens_prompt": "unchanged"}
    (difference,) = result.comparison.differences
    assert (difference.what, difference.candidate, difference.baseline) == ("price_table", "prices-2", "prices-1")
    assert "price_table" in words_of(result, "cost_usd")
    assert "price_table" not in words_of(result, "duration_ms")


def test_strict_refuses_what_is_not_alike() -> None:
    sides = workflow("new", 1, price=1.5, price_table="prices-2"), workflow("old", 1)
    assert gated(*sides, Policy(strict=True)).exit_code == 3
    assert gated(*sides, Policy(strict=True, allow=("price_table",))).exit_code == 1


def _without_a_run(cases: dict[str, CaseCounts]) -> Measured:
    return side("new", cases, {}, {}, Fingerprint(dataset="d", price_table="prices-1", machine="m"))


@pytest.mark.parametrize("policy", [Policy(), Policy(rule="prove"), Policy(rule="threshold")], ids=lambda policy: policy.rule)
@pytest.mark.parametrize(
    "candidate",
    [
        pytest.param(_without_a_run({case: counts(0, 5, infrastructure=5) for case in CASES}), id="everything failed by 429"),
        pytest.param(_without_a_run({}), id="nothing ran"),
        pytest.param(_without_a_run({case: counts(0, 0) for case in CASES}), id="no case was run"),
    ],
)
def test_nothing_to_judge_is_3_and_neither_0_nor_1(candidate: Measured, policy: Policy) -> None:
    result = gated(candidate, workflow("old", 2), policy)
    assert (result.exit_code, result.status) == (3, "not_measured")


def test_wrong_answers_throughout_are_1_though_no_time_could_be_measured() -> None:
    result = gated(_without_a_run({case: counts(0, 5) for case in CASES}), workflow("old", 2))
    assert result.exit_code == 1
    assert "vanished" in words_of(result, "duration_ms")


def test_too_noisy_to_tell_passes_under_detect_with_the_runs_needed_and_not_under_prove() -> None:
    def noise(sid: str, seed: int) -> Measured:
        return side(sid, {"": counts(8, 8)}, {"duration_ms": samples(noisy(100, 8, seed, 0.4))})

    sides = noise("new", 5), noise("old", 6)
    detect = gated(*sides, Policy(rates="ignore"))
    assert detect.exit_code == 0
    (verdict,) = detect.comparison.metrics
    assert verdict.verdict == "inconclusive"
    assert verdict.runs_needed is not None and verdict.runs_needed > 8
    assert f"about {verdict.runs_needed} runs a side" in words_of(detect, "duration_ms").replace(",", "")
    prove = gated(*sides, Policy(rates="ignore", rule="prove"))
    assert (prove.exit_code, prove.lines[0].verdict) == (3, "inconclusive")


def test_one_sample_is_inconclusive_unless_the_rule_is_a_bare_threshold() -> None:
    def single(sid: str, value: float) -> Measured:
        return side(sid, metrics={"build": samples({}, unit="s", value=value)})

    sides = single("new", 10.6), single("old", 10.0)
    detect = gated(*sides)
    assert (detect.exit_code, detect.lines[0].verdict) == (0, "inconclusive")
    assert gated(*sides, Policy(rule="threshold")).exit_code == 1
    assert gated(*sides, Policy(rule="threshold", tolerance=0.06)).exit_code == 0
    assert gated(*sides, Policy(metrics={"build": MetricPolicy(rule="threshold", direction="higher")})).exit_code == 0


def test_a_metric_of_the_candidate_alone_is_judged_only_where_it_is_asked_for() -> None:
    def scored(sid: str, extra: dict[str, Samples]) -> Measured:
        return side(sid, metrics={"duration_ms": samples([100.0] * 9), **extra})

    sides = scored("new", {"score.tone": samples([0.5] * 9, "higher", "")}), scored("old", {})
    assert [line.subject for line in gated(*sides, Policy(rule="prove")).lines] == ["duration_ms"]
    asked = gated(*sides, Policy(rule="prove", metrics={"score.tone": MetricPolicy()}))
    assert (asked.exit_code, asked.lines[1].subject) == (3, "score.tone")


def test_what_is_ignored_takes_no_power_from_what_is_judged() -> None:
    """Corrected for one metric, not for thirteen; the rest is compared all the same."""
    extra = {f"score.{place}": samples(noisy(1, 6, place), "higher", "") for place in range(12)}
    other = {name: samples(noisy(1, 6, 99), "higher", "") for name in extra}
    new = side("new", metrics={"duration_ms": samples(noisy(125, 6, 1)), **extra})
    old = side("old", metrics={"duration_ms": samples(noisy(100, 6, 2)), **other})
    alone = compare(new, old, policy=Policy(only=("duration_ms",)))
    together = compare(new, old, policy=Policy())
    assert alone.metrics[0].p_adjusted == alone.metrics[0].p_harm
    assert together.metrics[0].p_adjusted is not None and together.metrics[0].p_harm is not None
    assert together.metrics[0].p_adjusted > together.metrics[0].p_harm
    assert [verdict.metric for verdict in alone.metrics] == [verdict.metric for verdict in together.metrics]


@pytest.mark.parametrize(
    ("baseline", "attempt"),
    [pytest.param(None, "no_baseline", id="no baseline"), pytest.param(workflow("new", 1), "self_baseline", id="the candidate itself")],
)
def test_what_cannot_be_compared_says_so(baseline: Measured | None, attempt: str) -> None:
    result = gated(workflow("new", 1), baseline)
    assert (result.exit_code, result.comparison.attempt) == (3, attempt)
    assert result.comparison.metrics == ()
    assert result.comparison.reason


def test_both_sides_are_named_with_their_commits() -> None:
    found = compare(workflow("new", 1), workflow("old", 2), policy=Policy(count_all_failures=True))
    assert (found.candidate, found.candidate_sid, found.candidate_commit) == ("new", "new", "commit-new")
    assert (found.baseline, found.baseline_sid, found.baseline_commit) == ("old", "old", "commit-old")
    assert found.count_all_failures
    assert found.candidate_infrastructure is not None
    assert (found.candidate_infrastructure.count, found.candidate_infrastructure.total) == (0, 36)


@pytest.mark.parametrize(
    ("cases", "note"),
    [
        pytest.param({"a": counts(4, 4), "b": counts(4, 4)}, "", id="twice as many runs of each case are even"),
        pytest.param({"a": counts(4, 4), "b": counts(1, 1)}, "more often on one side", id="uneven runs"),
        pytest.param({"c": counts(4, 4)}, "No case is on both sides: c against a, b", id="nothing in common"),
    ],
)
def test_an_uneven_mix_of_cases_is_noted(cases: dict[str, CaseCounts], note: str) -> None:
    found = compare(side("new", cases), side("old", {"a": counts(2, 2), "b": counts(2, 2)}), policy=Policy())
    assert note in " ".join(found.notes)
    assert bool(found.notes) is bool(note)


def test_a_gate_between_two_that_are_alike_alarms_no_more_than_one_time_in_twenty() -> None:
    """Noisy times with outliers, costs, tokens and a score, five cases of which some are flaky: everything that is judged by default."""
    chance = random.Random(8)

    def drawn(sid: str, rates: list[float]) -> Measured:
        passed = {str(case): sum(chance.random() < rate for _ in range(5)) for case, rate in enumerate(rates)}
        times = {
            case: [chance.lognormvariate(5, 0.5) * chance.choice((*[1] * 30, 5)) for _ in range(count)] for case, count in passed.items()
        }
        costs = {case: [chance.lognormvariate(-7, 0.5) for _ in range(5)] for case in passed}
        scores = {case: [min(1.0, max(0.0, chance.gauss(0.7, 0.2))) for _ in range(5)] for case in passed}
        metrics = {
            "duration_ms": samples({case: values for case, values in times.items() if values}),
            "cost_usd": samples(costs, unit="USD"),
            "score.tone": samples(scores, "higher", ""),
        }
        return side(sid, {case: counts(count, 5) for case, count in passed.items()}, metrics)

    alarms = 0
    for _ in range(200):
        rates = [chance.choice((0.5, 0.7, 0.8, 0.9, 1.0)) for _ in range(5)]
        alarms += gated(drawn("new", rates), drawn("old", rates)).exit_code == 1
    assert alarms <= 10
