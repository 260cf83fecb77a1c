"""Hashes and ids are the same on every machine: the values here were made on one, and must come out on all."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plan.plans import TARGET, bench

from flowgauge.model.bench import Bench, Case, CheckSpec, Configuration, Target
from flowgauge.model.ids import bench_id
from flowgauge.plan.ids import definition_hash, run_id
from flowgauge.plan.order import expand

GOLDEN_HASH = "7a69798f4ebf9f9270922877febb51fc82c242759e7d12cb849a899f42df683f"
GOLDEN_ID = "10fafeecbeca4fac"


def test_bench_run_id_deterministic() -> None:
    assert run_id("mini", "short", 0, "shootout-0123abcd-1") == GOLDEN_ID
    planned = [(trial.config, trial.case, trial.repetition, trial.run_id) for trial in expand(bench(), "shootout-0123abcd-1")]
    again = [(trial.config, trial.case, trial.repetition, trial.run_id) for trial in expand(bench(), "shootout-0123abcd-1")]
    assert planned == again
    assert len({name for *_, name in planned}) == 30
    for config, case, repetition, name in planned:
        assert name == run_id(config, case, repetition, "shootout-0123abcd-1")


def test_another_process_with_another_hash_seed_gives_the_same_ids() -> None:
    program = "from flowgauge.plan.ids import run_id; print(run_id('mini', 'short', 0, 'shootout-0123abcd-1'), end='')"
    for seed in ("1", "2"):
        told = subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        assert told.stdout == GOLDEN_ID


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(("mini", "short", 1, "b"), id="another repetition"),
        pytest.param(("mini", "long", 0, "b"), id="another case"),
        pytest.param(("max", "short", 0, "b"), id="another configuration"),
        pytest.param(("mini", "short", 0, "c"), id="another bench"),
        pytest.param(("minis", "hort", 0, "b"), id="the border between two names moved"),
        pytest.param(("short", "mini", 0, "b"), id="names exchanged"),
    ],
)
def test_another_place_has_another_run_id(place: tuple[str, str, int, str]) -> None:
    assert run_id(*place) != run_id("mini", "short", 0, "b")


PLACES = st.tuples(st.text(), st.text(), st.integers(0, 10**6), st.text())


@given(one=PLACES, other=PLACES)
def test_run_ids_are_separator_safe(one: tuple[str, str, int, str], other: tuple[str, str, int, str]) -> None:
    assert (run_id(*one) == run_id(*other)) is (one == other)
    assert len(run_id(*one)) == 16
    assert set(run_id(*one)) <= set("0123456789abcdef")


def test_the_hash_of_a_definition_is_the_same_on_every_machine() -> None:
    assert definition_hash(bench()) == GOLDEN_HASH


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"runs": 9}, id="runs"),
        pytest.param({"max_concurrent_runs": 50}, id="concurrency"),
        pytest.param({"budget_usd": 3.0}, id="budget"),
        pytest.param({"tags": {"a": "b"}}, id="tags"),
        pytest.param({"name": "other"}, id="its name"),
        pytest.param(
            {"cases": tuple(Case(name=f"a{n}", inputs={"q": n}, runs=3, tags={"x": "y"}) for n in range(2))}, id="runs and tags of cases"
        ),
        pytest.param(
            {"target": msgspec.structs.replace(TARGET, name="n", reference="other.place:ask")}, id="where the target's content lies"
        ),
    ],
)
def test_a_definition_stays_the_same_with_other(changes: dict[str, Any]) -> None:
    assert definition_hash(bench(**changes)) == GOLDEN_HASH


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"target": msgspec.structs.replace(TARGET, content="def ask(): return 1")}, id="content of the target"),
        pytest.param({"target": msgspec.structs.replace(TARGET, kind="command")}, id="kind of target"),
        pytest.param({"configs": (Configuration(name="c0"),)}, id="configurations"),
        pytest.param({"cases": (Case(name="a0", inputs={"q": 1}),)}, id="inputs"),
        pytest.param({"cases": (Case(name="a0", inputs={"q": 0}, expected={"x": 1}), Case(name="a1", inputs={"q": 1}))}, id="gold"),
        pytest.param({"checks": (CheckSpec(type="equals", value=1),)}, id="checks"),
        pytest.param({"seed": 1}, id="seed"),
        pytest.param({"limit": 2}, id="limit"),
        pytest.param({"cache": True}, id="cache"),
        pytest.param({"timeout_s": 60.0}, id="time limit"),
    ],
)
def test_a_definition_changes_with_another(changes: dict[str, Any]) -> None:
    assert definition_hash(bench(**changes)) != GOLDEN_HASH


def test_a_target_without_content_is_told_apart_by_its_reference() -> None:
    one, other = (Target(kind="http", reference=f"http://localhost/{path}", name="x") for path in "ab")
    assert definition_hash(bench(target=one)) != definition_hash(bench(target=other))


def test_the_order_of_keys_is_no_difference_and_the_border_of_cases_is() -> None:
    swapped = (
        Configuration(name="c", workflow_overrides={"config": {"a": 1, "b": 2}}),
        Configuration(name="c", workflow_overrides={"config": {"b": 2, "a": 1}}),
    )
    assert len({definition_hash(bench(configs=(config,))) for config in swapped}) == 1
    assert definition_hash(bench(cases=1)) != definition_hash(bench(cases=2))


def test_a_bench_that_was_stored_and_read_has_the_same_hash() -> None:
    whole = bench(checks=(CheckSpec(type="numeric", value=1, weight=2),), timeout_s=60)
    assert definition_hash(msgspec.json.decode(msgspec.json.encode(whole), type=Bench)) == definition_hash(whole)


@pytest.mark.parametrize(
    ("name", "spoken"),
    [("shootout", "shootout"), ("my bench / v2", "my-bench-v2"), ("pkg.mod:ask", "pkg.mod-ask"), ("日本", "bench"), ("", "bench")],
)
def test_a_bench_id_is_one_word(name: str, spoken: str) -> None:
    assert bench_id(name, "0123456789abcdef", 4) == f"{spoken}-01234567-4"
