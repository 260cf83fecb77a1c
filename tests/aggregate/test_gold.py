"""Which judge is closest to the human."""

from __future__ import annotations

import random

import pytest
from tests.aggregate.bench_rows import record, row

from flowgauge.aggregate.agreement import Pair, agreement, gold_number, gold_of
from flowgauge.aggregate.summary import summarise
from flowgauge.model.bench import Case, CheckResult, CheckSpec

CASES = tuple(Case(name=f"c{i}", expected={"tone": str(1 + i % 5), "label": "yes"}) for i in range(20))
CHECKS = (CheckSpec(type="judge", name="tone"), CheckSpec(type="equals", name="label", value="{{ expected.label }}"))


@pytest.mark.parametrize(
    ("value", "number"),
    [(True, 1.0), (3, 3.0), ("4.5", 4.5), (" Yes ", 1.0), ("fail", 0.0), ("billing", None), (None, None), ([1], None), ("nan", None)],
)
def test_gold_is_a_number_or_a_word_for_one(value: object, number: float | None) -> None:
    assert gold_number(value) == number


def test_full_agreement_is_one_and_what_cannot_be_compared_is_counted() -> None:
    pairs = [Pair(f"c{i}", i % 3, i % 3) for i in range(12)] + [Pair("x", 1.0, "good"), Pair("y", None, 1)]
    found = agreement(pairs)
    assert (found["pairs"], found["cases"], found["skipped"], found["same"], found["mean_difference"]) == (12, 12, 2, 1.0, 0.0)
    for name in ("kappa", "kappa_weighted", "alpha", "spearman", "kendall"):
        assert found[name] == pytest.approx(1.0)
        assert found[f"{name}_interval"]["high"] == pytest.approx(1.0)


def test_another_scale_keeps_the_order_and_not_the_values() -> None:
    found = agreement([Pair(f"c{i}", i / 20, i % 20) for i in range(20)])
    assert found["spearman"] == pytest.approx(1.0)
    assert found["alpha"] < 0.1
    assert found["kappa"] is None
    assert found["kappa_interval"] is None


def test_a_judge_that_never_differs_has_no_correlation() -> None:
    found = agreement([Pair(f"c{i}", 1.0, i % 2) for i in range(10)])
    assert (found["spearman"], found["kendall"], found["kappa"]) == (None, None, 0.0)


def test_no_pair_is_no_agreement() -> None:
    assert agreement([])["alpha"] is None


def test_runs_of_one_case_are_not_many_cases() -> None:
    chance = random.Random(2)
    once = [Pair(f"c{i}", float(i % 3 if chance.random() < 0.7 else 1), i % 3) for i in range(30)]
    found, repeated = agreement(once), agreement(once * 5)
    width = [told["alpha_interval"]["high"] - told["alpha_interval"]["low"] for told in (found, repeated)]
    assert (repeated["pairs"], repeated["cases"]) == (150, 30)
    assert width[1] == pytest.approx(width[0], rel=0.1)


def test_gold_is_for_those_who_judge_and_not_for_those_who_were_told() -> None:
    gold = gold_of(record("a", cases=CASES, checks=CHECKS).definition)
    assert set(gold) == {"tone"}


def test_the_summary_names_the_judge_that_is_closest() -> None:
    chance = random.Random(1)
    rows = [row("good", f"c{i}", scores={"tone": float(1 + i % 5)}) for i in range(20)]
    rows += [row("poor", f"c{i}", scores={"tone": float(chance.randint(1, 5))}) for i in range(20)]
    summary = summarise(record("good", "poor", cases=CASES, checks=CHECKS), rows)
    assert summary.agreement["good"]["tone"]["alpha"] == pytest.approx(1.0)
    assert summary.agreement["poor"]["tone"]["alpha"] < 0.6
    assert any(note.startswith("tone: closest to gold is good (alpha 1.00), then poor") for note in summary.notes)


def test_gold_that_decides_is_held_against_decisions() -> None:
    checks = {True: [CheckResult(name="fine", type="judge", passed=True)], False: [CheckResult(name="fine", type="judge", passed=False)]}
    rows = [row("a", f"c{i}", checks=checks[i % 2 == 0], scores={"fine": 0.4}) for i in range(10)]
    summary = summarise(record("a"), rows, gold={"fine": {f"c{i}": "yes" if i % 2 == 0 else "no" for i in range(10)}})
    assert summary.agreement["a"]["fine"]["kappa"] == pytest.approx(1.0)


def test_without_gold_there_is_no_agreement() -> None:
    assert summarise(record("a", cases=CASES, checks=CHECKS), [row("a", "c1", scores={"tone": 1.0})], gold={}).agreement == {}


def test_labels_are_held_against_labels() -> None:
    found = agreement([Pair(f"c{i}", ("Billing", "other")[i % 2], ("billing ", "other")[i % 2]) for i in range(10)])
    assert (found["same"], found["kappa"], found["alpha"]) == (1.0, 1.0, 1.0)
    assert "spearman" not in found


def test_pairs_that_gold_checks_kept_are_compared() -> None:
    checks = [
        CheckResult(name="human", type="gold", passed=i % 4 != 0, label="x" if i % 2 else "y", gold="x" if i % 4 else "z") for i in range(8)
    ]
    rows = [row("a", f"c{i}", checks=[check]) for i, check in enumerate(checks)]
    rows.append(row("a", "c9", checks=[CheckResult(name="human", type="gold")]))
    told = summarise(record("a"), rows).agreement["a"]["human"]
    assert (told["pairs"], told["cases"], told["same"]) == (8, 8, 0.5)
