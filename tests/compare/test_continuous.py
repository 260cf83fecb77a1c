"""Verdicts on continuous metrics, case by case: what is called what, and why."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

import pytest
from tests.compare.sides import noisy, samples

from flowgauge.compare.continuous import compare_metrics
from flowgauge.errors import UsageError
from flowgauge.model.metric import Samples
from flowgauge.model.verdict import MetricVerdict

ByCase = Mapping[str, Sequence[float]]


def one(candidate: Samples | None, baseline: Samples | None, **options: object) -> MetricVerdict:
    ours, theirs = ({"m": side} if side else {} for side in (candidate, baseline))
    (found,) = compare_metrics(ours, theirs, **options)  # type: ignore[arg-type]
    return found


def scores(values: Sequence[float]) -> Samples:
    return samples(values, "higher", "")


def by_case(factor: float, cases: int, runs: int, seed: int, spread: float = 0.1) -> Samples:
    chance = random.Random(seed)
    return samples({f"c{case}": [factor * (case + 1) * chance.lognormvariate(0, spread) for _ in range(runs)] for case in range(cases)})


@pytest.mark.parametrize(
    ("candidate", "baseline", "verdict"),
    [
        pytest.param(samples(noisy(130, 30, 1)), samples(noisy(100, 30, 2)), "regressed", id="clearly slower"),
        pytest.param(samples(noisy(80, 30, 1)), samples(noisy(100, 30, 2)), "improved", id="clearly faster"),
        pytest.param(samples(noisy(100, 60, 1)), samples(noisy(100, 60, 2)), "unchanged", id="the same, with enough runs"),
        pytest.param(samples(noisy(101, 6, 1, 0.3)), samples(noisy(100, 6, 2, 0.3)), "inconclusive", id="the same, with few noisy runs"),
        pytest.param(samples(noisy(103, 200, 1, 0.02)), samples(noisy(100, 200, 2, 0.02)), "unchanged", id="3 % slower is within 5 %"),
        pytest.param(samples([100.0]), samples([50.0]), "inconclusive", id="one sample a side proves nothing"),
        pytest.param(samples([100.0]), samples(noisy(50, 30, 1)), "inconclusive", id="nor does one against many"),
        pytest.param(scores(noisy(0.5, 20, 1)), scores(noisy(0.9, 20, 2)), "regressed", id="scores that fell"),
        pytest.param(scores([0.0, 1.0] * 10), scores([1.0, 1.0, 1.0, 0.0] * 5), "inconclusive", id="scores of 0 and 1 are noisy"),
        pytest.param(scores([0.0, 0.0, 0.0, 1.0] * 10), scores([1.0, 1.0, 1.0, 0.0] * 10), "regressed", id="until there are many"),
        pytest.param(by_case(1.3, 8, 3, 1), by_case(1.0, 8, 3, 2), "regressed", id="slower in every case"),
        pytest.param(by_case(1.0, 30, 3, 1), by_case(1.0, 30, 3, 2), "unchanged", id="the same in every case"),
    ],
)
def test_what_a_pair_of_samples_is_called(candidate: Samples, baseline: Samples, verdict: str) -> None:
    assert one(candidate, baseline).verdict == verdict


@pytest.mark.parametrize(
    ("candidate", "baseline", "verdict", "ratio"),
    [
        pytest.param([0.002] * 5, [0.002] * 5, "unchanged", 1.0, id="a price that stayed"),
        pytest.param([15.0] * 2, [15.0] * 2, "unchanged", 1.0, id="two runs are enough to be the same"),
        pytest.param([0.0024] * 3, [0.002] * 3, "regressed", 1.2, id="a price that rose"),
        pytest.param([0.0024] * 2, [0.002] * 2, "inconclusive", 1.2, id="two runs may fall apart by chance"),
        pytest.param([0.00204] * 3, [0.002] * 3, "unchanged", 1.02, id="a price that rose within the tolerance"),
        pytest.param([0.0021] * 3, [0.002] * 3, "unchanged", 1.05, id="by just as much as the tolerance"),
        pytest.param([0.0019] * 3, [0.002] * 3, "improved", 0.95, id="a price that fell"),
        pytest.param([0.0] * 3, [0.0] * 3, "unchanged", None, id="nothing all the time"),
        pytest.param([1.0] * 3, [0.0] * 3, "regressed", None, id="from nothing to something"),
        pytest.param([0.1 + 0.2] * 3, [0.3] * 3, "unchanged", 1.0, id="rounding is no difference"),
    ],
)
def test_what_never_varies_is_judged_exactly(candidate: list[float], baseline: list[float], verdict: str, ratio: float | None) -> None:
    found = one(samples(candidate, unit="USD"), samples(baseline, unit="USD"))
    assert found.verdict == verdict
    assert found.ratio == (None if ratio is None else pytest.approx(ratio))
    assert "neither side varies" in found.method


@pytest.mark.parametrize(
    ("value", "runs", "verdict", "needed"),
    [
        pytest.param(1.0, 58, "inconclusive", 59, id="58 perfect runs do not exclude that one in twenty fails"),
        pytest.param(1.0, 59, "unchanged", None, id="59 do"),
        pytest.param(0.5, 5, "inconclusive", 59, id="any score may be luck"),
        pytest.param(0.0, 3, "unchanged", None, id="but none is lower than 0"),
        pytest.param(7.0, 3, "unchanged", None, id="and what is above 1 is no score"),
    ],
)
def test_a_score_that_never_varied_may_be_luck(value: float, runs: int, verdict: str, needed: int | None) -> None:
    found = one(scores([value] * runs), scores([value] * 5))
    assert (found.verdict, found.runs_needed) == (verdict, needed)


def test_no_number_of_runs_excludes_any_harm_at_all_to_a_score() -> None:
    found = one(scores([1.0] * 99), scores([1.0] * 99), tolerance=0.0)
    assert (found.verdict, found.runs_needed) == ("inconclusive", None)


def test_constants_of_several_cases_are_judged_exactly_where_all_move_alike() -> None:
    old = {"a": [10.0, 10.0], "b": [200.0, 200.0]}
    found = one(samples({case: [1.5 * value for value in values] for case, values in old.items()}), samples(old))
    assert found.verdict == "regressed"
    assert (found.ratio, found.p_harm) == pytest.approx((1.5, 1 / 36))
    mixed = one(samples({"a": [15.0, 15.0], "b": [200.0, 200.0]}), samples(old))
    assert mixed.verdict == "inconclusive"
    assert "neither side varies" not in mixed.method


def test_constants_of_very_many_cases_are_judged_too() -> None:
    """2 to the power of their number is beyond a float."""
    cases = {f"c{number}": [1.0] for number in range(1100)}
    (found,) = compare_metrics({"m": samples({case: [1.2] for case in cases})}, {"m": samples(cases)})
    assert found.verdict == "regressed"
    assert found.ratio == pytest.approx(1.2)


def test_too_few_constants_say_how_many_would_do() -> None:
    found = one(samples([3.0, 3.0]), samples([2.0, 2.0]))
    assert (found.p_harm, found.runs_needed) == pytest.approx((1 / 6, 3))
    assert "by chance" in found.reason
    split = one(samples({"a": [3.0], "b": [6.0]}), samples({"a": [2.0], "b": [4.0]}))
    assert (split.p_harm, split.runs_needed) == pytest.approx((1 / 4, 4))


def test_a_metric_that_vanished_is_told() -> None:
    found = one(None, samples(noisy(100, 5, 1)))
    assert (found.verdict, found.reason) == ("vanished", "the candidate does not have it")
    assert found.baseline.value == pytest.approx(100, rel=0.1)
    unmeasured = one(samples({}, value=None), samples([1.0, 2.0]))
    assert (unmeasured.verdict, unmeasured.reason) == ("vanished", "the candidate could not measure it")


@pytest.mark.parametrize(
    ("candidate", "baseline", "reason"),
    [
        pytest.param(samples([1.0, 2.0]), None, "the baseline does not have it", id="new"),
        pytest.param(samples([1.0, 2.0]), samples({}), "the baseline could not measure it", id="not measured before"),
        pytest.param(samples([1.0, 2.0], unit="s"), samples([1.0, 2.0], unit="ms"), "the units differ: s and ms", id="other units"),
        pytest.param(samples([1.0, 2.0], "higher"), samples([1.0, 2.0]), "the sides differ in what is better", id="other directions"),
        pytest.param(samples({}, value=3.0), samples({}, value=2.0), "only figures are known, no samples", id="figures alone"),
        pytest.param(samples([1.0]), samples([1.0, 2.0]), "1 against 2 samples, and 2 a side are needed", id="one sample"),
        pytest.param(
            samples({"a": [1.0, 2.0]}), samples({"b": [1.0], "c": [2.0]}), "the sides have no case in common", id="one case against others"
        ),
    ],
)
def test_what_cannot_be_judged_says_why(candidate: Samples, baseline: Samples | None, reason: str) -> None:
    found = one(candidate, baseline)
    assert (found.verdict, found.reason, found.p_harm, found.runs_needed) == ("inconclusive", reason, None, None)


def test_a_policy_can_turn_the_direction() -> None:
    slower = one(samples(noisy(130, 30, 1)), samples(noisy(100, 30, 2)), direction={"m": "higher"})
    assert (slower.verdict, slower.direction) == ("improved", "higher")
    settled = one(samples([1.0, 2.0], "higher"), samples([1.0, 2.0]), direction={"m": "lower"})
    assert settled.reason == ""


def test_more_samples_can_be_asked_for() -> None:
    found = one(samples(noisy(200, 9, 1)), samples(noisy(100, 30, 2)), min_samples=10)
    assert (found.verdict, found.reason) == ("inconclusive", "9 against 30 samples, and 10 a side are needed")


def test_every_setting_can_differ_by_metric() -> None:
    candidate = {name: samples(noisy(115, 40, seed)) for seed, name in enumerate(("strict", "lenient", "bare"))}
    baseline = {name: samples(noisy(100, 40, seed + 10)) for seed, name in enumerate(("strict", "lenient", "bare"))}
    found = compare_metrics(
        candidate,
        baseline,
        tolerance=lambda name: 0.3 if name == "lenient" else 0.05,
        rule=lambda name: "threshold" if name == "bare" else "detect",
    )
    assert [(one.metric, one.verdict, one.tolerance) for one in found] == [
        ("strict", "regressed", 0.05),
        ("lenient", "unchanged", 0.3),
        ("bare", "regressed", 0.05),
    ]
    assert [one.method == "bare threshold" for one in found] == [False, False, True]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("side", ["candidate", "baseline"])
@pytest.mark.parametrize("rule", ["detect", "threshold"])
def test_what_is_no_number_is_refused_by_name(bad: float, side: str, rule: str) -> None:
    sides = {"candidate": samples([1.0, 2.0]), "baseline": samples([1.0, 2.0])} | {side: samples([1.0, bad])}
    with pytest.raises(UsageError, match=f"m of the {side} holds"):
        one(sides["candidate"], sides["baseline"], rule=rule)


def test_several_metrics_are_corrected_for_each_other() -> None:
    """Benjamini & Hochberg: the smallest of ten p-values is worth a tenth."""
    candidate = {f"m{number}": samples(noisy(100, 12, number)) for number in range(10)} | {"m0": samples(noisy(112, 12, 0))}
    baseline = {f"m{number}": samples(noisy(100, 12, 100 + number)) for number in range(10)}
    alone = one(candidate["m0"], baseline["m0"])
    together = compare_metrics(candidate, baseline)[0]
    assert alone.p_adjusted == alone.p_harm == together.p_harm
    assert together.p_adjusted == pytest.approx(10 * (alone.p_harm or 0.0))


def test_a_metric_that_never_varies_takes_no_power_from_the_others() -> None:
    noise = {"m": samples(noisy(112, 12, 0))}, {"m": samples(noisy(100, 12, 100))}
    fixed = {f"fixed{number}": samples([7.0] * 12) for number in range(9)}
    together = compare_metrics(noise[0] | fixed, noise[1] | fixed)
    assert together[0].p_adjusted == together[0].p_harm
    assert {found.verdict for found in together[1:]} == {"unchanged"}


def test_the_baselines_metrics_come_first_in_their_order() -> None:
    found = compare_metrics({"new": samples([1.0] * 3), "b": samples([1.0] * 3)}, {"b": samples([1.0] * 3), "a": samples([1.0] * 3)})
    assert [(one.metric, one.verdict) for one in found] == [("b", "unchanged"), ("a", "vanished"), ("new", "inconclusive")]


def test_the_figures_have_the_ratio_that_is_told() -> None:
    found = one(samples(noisy(130, 15, 1, 0.4)), samples(noisy(100, 20, 2, 0.4)))
    assert found.ratio is not None
    assert found.candidate.value is not None
    assert found.baseline.value is not None
    assert found.candidate.value / found.baseline.value == pytest.approx(found.ratio)
    assert (found.candidate.n, found.baseline.n) == (15, 20)


def test_a_few_outliers_do_not_hide_a_change() -> None:
    slow = [*noisy(130, 28, 1), 3000.0, 5000.0]
    found = one(samples(slow), samples([*noisy(100, 27, 2), 3000.0, 4000.0, 6000.0]))
    assert found.verdict == "regressed"
    assert found.ratio == pytest.approx(1.3, rel=0.05)


def test_more_slow_runs_are_harm_even_where_the_typical_run_is_as_fast() -> None:
    chance = random.Random(3)
    candidate, baseline = (
        [chance.lognormvariate(0, 0.1) * (10 if chance.random() < share else 1) for _ in range(200)] for share in (0.2, 0.03)
    )
    found = one(samples(candidate), samples(baseline))
    assert found.verdict == "regressed"
    assert "means" in found.method
    assert found.ratio == pytest.approx(sum(candidate) / sum(baseline))


def test_where_only_the_mean_looks_worse_it_is_neither_unchanged_nor_improved() -> None:
    chance = random.Random(4)
    candidate = [*(chance.lognormvariate(0, 0.01) for _ in range(27)), 9.0, 10.0, 11.0]
    baseline = [chance.lognormvariate(0, 0.01) for _ in range(30)]
    found = one(samples(candidate), samples(baseline))
    assert found.p_harmless is not None
    assert found.p_harmless < 0.001
    assert found.verdict == "inconclusive"
    assert "the mean is higher" in found.reason


def test_harm_that_is_not_yet_sure_says_how_many_runs_would_make_it_so() -> None:
    found = one(samples(noisy(116, 12, 1, 0.2)), samples(noisy(100, 12, 2, 0.2)))
    assert found.p_harm is not None
    assert 0.05 < found.p_harm < 0.3
    assert (found.verdict, found.reason) == ("inconclusive", "")
    assert found.runs_needed is not None
    assert 12 < found.runs_needed < 500


def test_cases_of_one_side_only_are_left_out_and_counted() -> None:
    ours, theirs = by_case(1.0, 9, 3, 1), by_case(1.0, 7, 3, 2)
    found = one(samples({**ours.by_case, "c0": []}), theirs)
    assert found.method.startswith("paired by 6 cases, 3 cases of one side only left out")
    assert (found.candidate.n, found.candidate.cases, found.baseline.cases) == (18, 6, 6)


@pytest.mark.parametrize(
    ("candidate", "baseline", "words"),
    [
        pytest.param({"a": 3, "b": 3}, {"a": 3, "c": 3}, "runs of one case, 2 cases of one side only left out", id="one in common"),
        pytest.param({"a": 9}, {"b": 9}, "runs of one case, which the sides call by different names", id="one of another name"),
        pytest.param({"a": 2, "b": 2, "c": 2}, {"d": 2, "e": 2}, "no case in common: each side's own cases", id="none in common"),
    ],
)
def test_cases_that_do_not_match_are_told(candidate: dict[str, int], baseline: dict[str, int], words: str) -> None:
    sides = [
        samples({case: noisy(100, runs, number) for number, (case, runs) in enumerate(side.items())}) for side in (candidate, baseline)
    ]
    assert one(sides[0], sides[1]).method.startswith(words)


def test_errors_are_clustered_by_case() -> None:
    """A thousand runs of three cases say much about these cases, and little about cases."""
    moved = {"a": 1.5, "b": 0.95, "c": 1.0}
    ours, theirs = (
        {case: noisy(100 * (factor if new else 1), 300, seed) for seed, (case, factor) in enumerate(moved.items())} for new in (1, 0)
    )
    found = one(samples(ours), samples({case: [1.001 * value for value in values] for case, values in theirs.items()}))
    assert found.verdict == "inconclusive"
    assert found.runs_needed is None
    assert "more runs of these 3 alone would not" in found.reason


def test_what_cases_have_in_common_falls_out() -> None:
    """Cases differ by a factor of 40, the sides by 20 %: only pairing shows it."""
    assert one(by_case(1.2, 40, 1, 1), by_case(1.0, 40, 1, 2)).verdict == "regressed"


@pytest.mark.parametrize(
    ("n", "spread", "expected"),
    [
        pytest.param(10, 0.05, 15, id="little noise"),
        pytest.param(10, 0.3, 475, id="much noise"),
    ],
)
def test_the_runs_needed_are_those_of_the_power_formula(n: int, spread: float, expected: int) -> None:
    """To tell no change from 5 % with 80 %: 2 (1.645 + 0.842)² (spread / ln 1.05)², or fewer where an effect is seen."""
    needed = [
        found.runs_needed
        for seed in range(40)
        if (found := one(samples(noisy(100, n, seed, spread)), samples(noisy(100, n, seed + 500, spread)))).verdict == "inconclusive"
    ]
    known = sorted(runs for runs in needed if runs is not None)
    assert len(known) > 10
    assert min(known) > n
    assert known[-1] < 8 * expected
    assert known[len(known) // 2] == pytest.approx(expected, rel=0.7)


def test_the_runs_needed_do_decide_it() -> None:
    chance = random.Random(6)
    first = one(
        samples([1.15 * chance.lognormvariate(0, 0.3) for _ in range(10)]), samples([chance.lognormvariate(0, 0.3) for _ in range(10)])
    )
    assert first.verdict == "inconclusive"
    assert first.runs_needed is not None
    decided = 0
    for _ in range(40):
        sides = [[factor * chance.lognormvariate(0, 0.3) for _ in range(first.runs_needed)] for factor in (1.0, 1.0)]
        decided += one(samples(sides[0]), samples(sides[1])).verdict in ("unchanged", "improved")
    assert decided >= 24


@pytest.mark.parametrize(
    ("candidate", "baseline", "verdict"),
    [
        pytest.param([-12.0, -11.0, -12.5, -11.8] * 3, [-10.0, -10.2, -9.9, -10.1] * 3, "improved", id="more negative is lower"),
        pytest.param([-8.0, -8.1, -7.9, -8.2] * 3, [-10.0, -10.2, -9.9, -10.1] * 3, "regressed", id="less negative is higher"),
        pytest.param([-9.9, -10.0, -10.1, -10.0] * 3, [-10.0, -10.2, -9.9, -10.1] * 3, "unchanged", id="within 5 % of its size"),
    ],
)
def test_negative_values_have_verdicts_without_a_ratio(candidate: list[float], baseline: list[float], verdict: str) -> None:
    found = one(samples(candidate), samples(baseline))
    assert (found.verdict, found.ratio, found.interval) == (verdict, None, None)
