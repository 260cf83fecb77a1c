"""Every trial once, in an order that is fair to every configuration and the same everywhere."""

from __future__ import annotations

import itertools
import tracemalloc
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plan.plans import bench

from flowgauge.model.bench import Bench, Case
from flowgauge.plan.order import expand, total

BENCHES = st.builds(
    lambda configs, runs, seed, own: bench(
        configs, runs=runs, seed=seed, cases=tuple(Case(name=f"a{number}", runs=times) for number, times in enumerate(own))
    ),
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(-(2**63), 2**63 - 1),
    st.lists(st.none() | st.integers(1, 6), min_size=1, max_size=6),
)


def test_the_order_is_the_same_on_every_machine_and_python() -> None:
    order = [f"{trial.config}{trial.case}{trial.repetition}" for trial in expand(bench(runs=2, seed=7), "b")]
    assert " ".join(order) == "c0a10 c1a10 c2a10 c0a00 c2a00 c1a00 c2a01 c1a01 c0a01 c0a11 c1a11 c2a11"


@given(bench=BENCHES)
def test_every_trial_is_planned_exactly_once(bench: Bench) -> None:
    planned = list(expand(bench, "b"))
    wanted = {
        (config.name, case.name, number) for config in bench.configs for case in bench.cases for number in range(case.runs or bench.runs)
    }
    assert Counter((trial.config, trial.case, trial.repetition) for trial in planned) == Counter(wanted)
    assert len(planned) == total(bench)
    assert [trial.position for trial in planned] == list(range(len(planned)))


@given(bench=BENCHES)
def test_configurations_keep_pace_with_each_other_in_every_prefix(bench: Bench) -> None:
    counts = {config.name: 0 for config in bench.configs}
    for trial in expand(bench, "b"):
        counts[trial.config] += 1
        assert max(counts.values()) - min(counts.values()) <= 1


@given(bench=BENCHES)
def test_a_repetition_ends_before_the_next_begins(bench: Bench) -> None:
    repetitions = [trial.repetition for trial in expand(bench, "b")]
    assert repetitions == sorted(repetitions)


@given(bench=BENCHES, data=st.data())
def test_what_is_done_is_left_out_and_the_rest_keeps_its_place(bench: Bench, data: st.DataObject) -> None:
    planned = list(expand(bench, "b"))
    done = set(data.draw(st.lists(st.sampled_from([trial.run_id for trial in planned]))))
    assert list(expand(bench, "b", done)) == [trial for trial in planned if trial.run_id not in done]


def test_more_runs_leave_the_earlier_ones_where_they_were() -> None:
    few, many = list(expand(bench(runs=2), "b")), list(expand(bench(runs=6), "b"))
    assert many[: len(few)] == few


def test_a_seed_is_another_order_of_the_same_trials() -> None:
    one, other = (list(expand(bench(cases=20, seed=seed), "b")) for seed in (1, -1))
    assert [trial.run_id for trial in one] != [trial.run_id for trial in other]
    assert {trial.run_id for trial in one} == {trial.run_id for trial in other}


def test_repetitions_have_orders_of_their_own() -> None:
    whole = bench(configs=4, cases=10, runs=3)
    orders = [
        [(trial.config, trial.case) for trial in group]
        for _, group in itertools.groupby(expand(whole, "b"), key=lambda trial: trial.repetition)
    ]
    assert orders[0] != orders[1] != orders[2]


def test_no_configuration_is_always_first() -> None:
    firsts = Counter(trial.config for trial in expand(bench(configs=3, cases=60, runs=5), "b") if trial.position % 3 == 0)
    assert set(firsts) == {"c0", "c1", "c2"}
    assert min(firsts.values()) > 60


@pytest.mark.parametrize("repetitions", [10, 2_000])
def test_memory_does_not_grow_with_the_trials(repetitions: int) -> None:
    whole = msgspec.structs.replace(bench(configs=5, cases=2), runs=repetitions)
    tracemalloc.start()
    count = sum(1 for _ in expand(whole, "b"))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == total(whole) == 10 * repetitions
    assert peak_bytes < 200_000
