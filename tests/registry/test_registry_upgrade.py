from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowgauge.model.figure import Direction, Metric
from flowgauge.registry.adapter import Outcome, Tier
from flowgauge.registry.snapshot import Snapshot, Taken, merged
from flowgauge.registry.upgrade import UpgradeCheck, check_upgrade

MOMENT = datetime(2026, 2, 24, 12, tzinfo=UTC)


def snapshot(version: str, metrics: dict[str, Metric], *, tier: Tier = "fast", errors: tuple[str, ...] = ()) -> Snapshot:
    outcomes = [
        Outcome(adapter="a", tier=tier, status="measured", metrics=metrics),
        *(Outcome(adapter=name, tier=tier, status="error", reason="it broke") for name in errors),
    ]
    return merged(None, version, Taken(outcomes=tuple(outcomes), git_sha="", machine="", moment=MOMENT))


def one(value: float | None, direction: Direction = "higher", unit: str = "") -> dict[str, Metric]:
    return {"m": Metric(value=value, direction=direction, unit=unit)}


def check(old: Snapshot | None, new: Snapshot | None, *, strict: bool = False) -> UpgradeCheck:
    return check_upgrade("v1", old, "v2", new, strict=strict)


@pytest.mark.parametrize(
    ("old", "new", "direction", "safe"),
    [
        pytest.param(1.0, 0.95, "higher", True, id="exactly 0.95 of it is let through"),
        pytest.param(1.0, 0.9499999999, "higher", False, id="below 0.95 is not"),
        pytest.param(100.0, 95.0, "higher", True, id="95 of 100"),
        pytest.param(0.7, 0.665, "higher", True, id="0.95 of what no binary fraction is"),
        pytest.param(1.0, 1.05, "lower", True, id="exactly 1.05 of it is let through"),
        pytest.param(1.0, 1.0500000001, "lower", False, id="above 1.05 is not"),
        pytest.param(0.1, 0.105, "lower", True, id="1.05 of a tenth"),
        pytest.param(850.0, 892.5, "lower", True, id="892.5 of 850"),
        pytest.param(850.0, 892.6, "lower", False, id="892.6 of 850"),
        pytest.param(0.0, 0.0, "lower", True, id="zero stays zero"),
        pytest.param(0.0, 1e-9, "lower", False, id="from zero any harm is too much"),
        pytest.param(0.0, -1e-9, "higher", False, id="from zero downwards, too"),
        pytest.param(0.0, 5.0, "higher", True, id="from zero upwards is better"),
        pytest.param(-100.0, -105.0, "higher", True, id="a negative value, five percent of its size lower"),
        pytest.param(-100.0, -105.1, "higher", False, id="a negative value, more than that lower"),
        pytest.param(-100.0, -95.0, "lower", True, id="a negative value, five percent of its size higher"),
        pytest.param(-100.0, -94.9, "lower", False, id="a negative value, more than that higher"),
        pytest.param(1.0, 0.0, "higher", False, id="a guardrail that broke"),
    ],
)
def test_a_metric_is_held_to_five_percent(old: float, new: float, direction: Direction, safe: bool) -> None:
    found = check(snapshot("v1", one(old, direction)), snapshot("v2", one(new, direction)))
    assert (found.safe, found.exit_code) == (safe, 0 if safe else 1)


@given(st.integers(-(10**6), 10**6), st.integers(0, 10**5), st.sampled_from(["higher", "lower"]))
def test_what_is_no_worse_is_always_safe(old: int, better: int, direction: Direction) -> None:
    new = old + better if direction == "higher" else old - better
    assert check(snapshot("v1", one(old, direction)), snapshot("v2", one(new, direction))).safe


def test_a_regression_is_named_with_both_figures() -> None:
    found = check(snapshot("v1", one(0.98, unit="ratio")), snapshot("v2", one(0.5, unit="ratio")))
    assert "m regressed: 0.5 ratio against 0.98 ratio" in found.reason


def test_a_first_version_is_let_through_and_says_so() -> None:
    found = check(None, snapshot("v2", one(1)))
    assert (found.safe, found.exit_code, found.first) == (True, 0, True)
    assert "first version" in found.reason


def test_strict_does_not_let_a_first_version_through() -> None:
    found = check(None, snapshot("v2", one(1)), strict=True)
    assert (found.safe, found.exit_code) == (False, 3)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param(snapshot("v1", one(1)), None, "no snapshot of v2", id="no new snapshot"),
        pytest.param(None, None, "no snapshot of v2", id="neither"),
        pytest.param(snapshot("v1", one(1)), snapshot("v2", one(1), tier="heavy"), "no fast tier", id="only the heavy tier is there"),
        pytest.param(snapshot("v1", one(1)), snapshot("v2", {"n": one(1)["m"]}), "m vanished", id="a metric vanished"),
        pytest.param(snapshot("v1", one(1)), snapshot("v2", one(None)), "No fast-tier metric", id="a metric could not be measured"),
        pytest.param(snapshot("v1", one(1)), snapshot("v2", one(1, unit="ms")), "units differ", id="another unit"),
        pytest.param(snapshot("v1", one(1)), snapshot("v2", one(1, "lower")), "differ in what is better", id="another direction"),
        pytest.param(snapshot("v1", one(1)), snapshot("v2", one(1), errors=("b",)), "adapter b failed: it broke", id="an adapter failed"),
        pytest.param(None, snapshot("v2", one(1), errors=("b",)), "adapter b failed", id="one failed in a first version"),
        pytest.param(None, snapshot("v2", {}), "No fast-tier metric", id="a first version of which nothing was measured"),
        pytest.param(
            snapshot("v1", one(1), tier="heavy"),
            snapshot("v2", one(1)),
            "no fast tier in the snapshot of v1",
            id="the old one has no fast tier",
        ),
        pytest.param(snapshot("v1", one(None)), snapshot("v2", one(1)), "Nothing was judged", id="nothing of the old one was measured"),
    ],
)
def test_what_is_not_measured_is_not_safe(old: Snapshot | None, new: Snapshot | None, told: str) -> None:
    found = check(old, new)
    assert (found.safe, found.exit_code) == (False, 3)
    assert told in found.reason


def test_a_regression_wins_over_what_is_not_measured() -> None:
    found = check(snapshot("v1", {**one(1), "n": one(1)["m"]}), snapshot("v2", one(0.5)))
    assert found.exit_code == 1


def test_a_metric_that_is_new_is_not_judged() -> None:
    assert check(snapshot("v1", one(1)), snapshot("v2", {**one(1), "fresh": one(0)["m"]})).safe


def test_heavy_metrics_are_not_judged() -> None:
    heavy = Taken(
        outcomes=(Outcome(adapter="h", tier="heavy", status="measured", metrics={"slow": one(1)["m"]}),),
        git_sha="",
        machine="",
        moment=MOMENT,
    )
    old = merged(snapshot("v1", one(1)), "v1", heavy)
    assert check(old, snapshot("v2", one(1))).safe


def test_a_version_against_itself_tells_nothing() -> None:
    same = snapshot("v1", one(1))
    assert check_upgrade("v1", same, "v1", same).exit_code == 3


def test_the_answer_can_be_written_as_json() -> None:
    found = check(snapshot("v1", one(1)), snapshot("v2", one(0.5)))
    assert msgspec.json.decode(msgspec.json.encode(found), type=UpgradeCheck) == found


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param(100.0, 94.99999, "94.99999 ratio against 100 ratio (× 0.9499999)", id="as many digits as decide"),
        pytest.param(1.0, 0.9499999999, "0.9499999999 ratio against 1 ratio", id="ten of them"),
        pytest.param(100_000.0, 94_999.9, "94,999.9 ratio against 100,000 ratio", id="after the point of a large number"),
        pytest.param(0.98, 0.5, "0.5 ratio against 0.98 ratio (× 0.51)", id="no more than are needed"),
        pytest.param(1e308, 1e307, "1e+307 ratio against 1e+308 ratio (× 0.1)", id="not all digits of an enormous number"),
    ],
)
def test_the_figures_shown_are_beyond_the_tolerance(old: float, new: float, told: str) -> None:
    found = check(snapshot("v1", one(old, unit="ratio")), snapshot("v2", one(new, unit="ratio")))
    assert found.exit_code == 1
    assert told in found.reason


@pytest.mark.parametrize(
    "new",
    [
        pytest.param(one(0.5), id="a regression"),
        pytest.param({"n": one(1)["m"]}, id="a metric that vanished"),
        pytest.param(one(None), id="one that could not be measured"),
        pytest.param({}, id="nothing"),
    ],
)
def test_the_words_are_those_of_an_upgrade_not_of_a_gate(new: dict[str, Metric]) -> None:
    reason = check(snapshot("v1", one(1)), snapshot("v2", new)).reason
    for foreign in ("bench ", "policy", "rule", "0 samples", "baseline", "candidate"):
        assert foreign not in reason
    assert "v2" in reason


def test_a_version_is_first_only_where_no_other_has_a_snapshot() -> None:
    new = snapshot("v2", one(1))
    assert check_upgrade("v1", None, "v2", new, known=["v2"]).first
    found = check_upgrade("v11", None, "v2", new, known=["v10", "v2"])
    assert (found.safe, found.exit_code, found.first) == (False, 3, False)
    assert "is not the first: 1 other version has one. Did you mean 'v10'?" in found.reason
