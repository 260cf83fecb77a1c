"""Pass rates by case, over all, and failures by category."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compare.sides import counts

from flowgauge.compare.drift import category_drift
from flowgauge.compare.rates import compare_rates
from flowgauge.model.metric import CaseCounts
from flowgauge.stats.intervals import wilson


def test_infrastructure_failures_are_in_neither_side_unless_all_failures_count() -> None:
    candidate, baseline = {"a": counts(6, 10, infrastructure=4)}, {"a": counts(10, 10)}
    judged, all_counted = (compare_rates(candidate, baseline, count_all_failures=all_) for all_ in (False, True))
    assert (judged.cases[0].candidate.count, judged.cases[0].candidate.total) == (6, 6)
    assert judged.cases[0].tier == "stable"
    assert (all_counted.cases[0].candidate.count, all_counted.cases[0].candidate.total) == (6, 10)
    assert all_counted.cases[0].tier == "hard_regression"
    for found in (judged.cases[0], all_counted.cases[0]):
        assert (found.candidate_all.count, found.candidate_all.total) == (6, 10)
        assert (found.baseline_all.count, found.baseline_all.total) == (10, 10)


def test_the_list_goes_by_tier_then_file_then_name() -> None:
    tables = {
        "b.yaml/hard": (0, 3, 3, 3),
        "a.yaml/z": (3, 3, 3, 3),
        "a.yaml/soft": (1, 3, 3, 3),
        "b.yaml/better": (3, 3, 0, 3),
        "a.yaml/none": (0, 0, 3, 3),
        "z.yaml/hard": (0, 3, 3, 3),
        "b.yaml/a-hard": (0, 3, 3, 3),
        "b.yaml/a": (3, 3, 3, 3),
        "c.yaml/unreliable": (0, 20, 7, 20),
        "c.yaml/watch": (0, 1, 1, 1),
    }
    found = compare_rates(
        {key: counts(c, n) for key, (c, n, _, _) in tables.items()}, {key: counts(c, n) for key, (_, _, c, n) in tables.items()}
    )
    assert [(one.key, one.tier) for one in found.cases] == [
        ("b.yaml/a-hard", "hard_regression"),
        ("b.yaml/hard", "hard_regression"),
        ("z.yaml/hard", "hard_regression"),
        ("a.yaml/soft", "soft_regression"),
        ("b.yaml/better", "improvement"),
        ("c.yaml/watch", "watch"),
        ("c.yaml/unreliable", "unreliable_baseline"),
        ("a.yaml/z", "stable"),
        ("b.yaml/a", "stable"),
        ("a.yaml/none", "insufficient_data"),
    ]


def test_what_one_side_lacks_is_listed_apart_and_in_no_average() -> None:
    candidate = {"both": counts(5, 10), "new": counts(10, 10)}
    baseline = {"both": counts(8, 10), "b/old": counts(0, 10), "a/old": counts(0, 10)}
    found = compare_rates(candidate, baseline)
    assert [one.key for one in found.cases] == ["both"]
    assert found.only_candidate == ("new",)
    assert found.only_baseline == ("a/old", "b/old")
    assert found.aggregate is not None
    assert (found.aggregate.candidate.count, found.aggregate.candidate.total) == (5, 10)
    assert (found.aggregate.baseline.count, found.aggregate.baseline.total) == (8, 10)
    assert found.aggregate.delta == pytest.approx(-0.3)


def test_a_case_that_one_side_could_not_measure_does_not_shift_the_mix() -> None:
    """The hard case failed by 429 on one side: counting it on the other only would look like harm."""
    candidate = {"easy": counts(10, 10), "hard": counts(1, 10)}
    baseline = {"easy": counts(10, 10), "hard": counts(0, 10, infrastructure=10)}
    found = compare_rates(candidate, baseline)
    assert found.aggregate is not None
    assert (found.aggregate.candidate.total, found.aggregate.baseline.total) == (10, 10)
    assert (found.aggregate.candidate_all.total, found.aggregate.baseline_all.total) == (20, 20)
    assert found.aggregate.tier == "stable"
    assert {one.key: one.tier for one in found.cases} == {"easy": "stable", "hard": "insufficient_data"}


def test_nothing_in_common_has_no_average() -> None:
    assert compare_rates({"a": counts(1, 1)}, {"b": counts(1, 1)}).aggregate is None


def test_failed_runs_and_their_categories_are_the_candidates() -> None:
    found = compare_rates({"a": counts(1, 4, timeout=1)}, {"a": counts(4, 4)}).cases[0]
    assert found.failed_runs == ("run-0", "run-1", "run-2")
    assert found.failures == {"timeout": 1, "wrong_answer": 2}


COUNTS = st.integers(0, 12).flatmap(
    lambda runs: st.integers(0, runs).flatmap(lambda passed: st.integers(0, runs - passed).map(lambda lost: counts(passed, runs, lost)))
)


@given(st.dictionaries(st.sampled_from("abcdef"), COUNTS), st.dictionaries(st.sampled_from("abcdef"), COUNTS), st.booleans())
def test_the_average_is_that_of_its_runs(candidate: dict[str, CaseCounts], baseline: dict[str, CaseCounts], all_: bool) -> None:
    found = compare_rates(candidate, baseline, count_all_failures=all_)
    assert {one.key for one in found.cases} == candidate.keys() & baseline.keys()
    assert {*found.only_candidate} | {*found.only_baseline} == candidate.keys() ^ baseline.keys()
    if found.aggregate is None:
        assert not found.cases
        return
    held = [one for one in found.cases if one.tier != "insufficient_data"]
    for name in ("candidate", "baseline"):
        rate = getattr(found.aggregate, name)
        assert rate.count == sum(getattr(one, name).count for one in held)
        assert rate.total == sum(getattr(one, name).total for one in held)
        assert (rate.interval.low, rate.interval.high) == wilson(rate.count, rate.total)
        assert rate.value == (rate.count / rate.total if rate.total else None)


@pytest.mark.parametrize(
    ("now", "runs", "before", "baseline_runs", "notable"),
    [
        pytest.param(5, 100, 0, 100, True, id="a twentieth more, five more"),
        pytest.param(4, 100, 0, 100, False, id="less than a twentieth"),
        pytest.param(3, 60, 0, 60, True, id="a twentieth exactly, three exactly"),
        pytest.param(2, 20, 0, 20, False, id="a tenth more, but only two"),
        pytest.param(0, 60, 3, 60, True, id="gone is notable, too"),
        pytest.param(8, 50, 10, 100, True, id="expected by the baseline's rate, not its count: 5 expected, 8 found"),
        pytest.param(7, 50, 10, 100, False, id="5 expected, 7 found"),
        pytest.param(0, 0, 3, 60, False, id="no run at all"),
    ],
)
def test_a_category_drifts(now: int, runs: int, before: int, baseline_runs: int, notable: bool) -> None:
    found = category_drift(
        {"a": counts(runs - now, runs, timeout=now)}, {"a": counts(baseline_runs - before, baseline_runs, timeout=before)}
    )
    assert [one.category for one in found] == (["timeout"] if notable else [])
    if notable:
        assert found[0].expected == pytest.approx(runs * before / baseline_runs)
        assert (found[0].candidate.count, found[0].baseline.count) == (now, before)


def test_drift_is_of_the_cases_that_both_have_and_the_largest_comes_first() -> None:
    candidate = {"a": counts(50, 100, timeout=20, connection=30), "only here": counts(0, 100, tool_error=100)}
    found = category_drift(candidate, {"a": counts(100, 100)})
    assert [one.category for one in found] == ["connection", "timeout"]
