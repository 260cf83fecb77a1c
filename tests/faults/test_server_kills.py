"""A server killed with SIGKILL while it runs 20 plays and 2 benches: the next one finishes all of them, none lost, none twice."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.faults.killing_server import BENCHES, NODES, PLAYS, TRIALS, Load, node_runs, outputs, serving

from flowgauge.store import open_store
from flowgauge.store.store import Store

SOAK_KILLS = 50


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the plays answer where nobody is killed."""
    db = str(tmp_path_factory.mktemp("undisturbed") / "store.db")
    with serving(db) as server, open_store(db) as store:
        load = Load(server)
        load.wait_until_ended(store, server)
        check_whole(store, load, outputs(store, load))
        return outputs(store, load)


def check_whole(store: Store, load: Load, expected: dict[str, Any]) -> None:
    """Everything that was asked for has its one result, and nothing else is there."""
    assert load.unfinished(store) == []
    assert outputs(store, load) == expected
    for sid in load.plays.values():
        ends = Counter(run.node_id for run in store.get_node_runs(sid) if run.status == "success")
        assert ends == Counter(NODES), f"{sid}: {ends}"
    for bench_id in load.benches:
        record = store.get_bench(bench_id)
        trials = list(store.iter_trials(record.uid))
        assert (record.status, record.total, len(trials)) == ("finished", TRIALS, TRIALS)
        assert {trial.answer.status for trial in trials} == {"success"}
        assert Counter(trial.case for trial in trials) == Counter(f"case {number}" for number in range(TRIALS))
        made = store.list_benchmarks(bench=record.uid).items
        assert [(benchmark.num_runs, benchmark.success_rate) for benchmark in made] == [(TRIALS, 100.0)]
    plays = store.list_plays(limit=1000).items
    assert Counter(play.status for play in plays) == {"success": PLAYS + BENCHES * TRIALS}


def kill_and_restart(db: str, expected: dict[str, Any], *, part: float = 0.0, after_s: float = 0.0) -> float:
    """How much was done when it was killed."""
    with serving(db) as server, open_store(db) as store:
        load = Load(server)
        load.wait_until(store, part)
        time.sleep(after_s)
        server.kill()
        done = load.done(store)
        before = node_runs(store, list(load.plays.values()))
        ended = {sid for sid in load.plays.values() if store.get_play(sid).status == "success"}
    with serving(db) as server, open_store(db) as store:
        load.wait_until_ended(store, server)
        check_whole(store, load, expected)
        after = node_runs(store, list(load.plays.values()))
        assert {place: after.get(place) for place in before} == before, "what was stored is as it was"
        assert {sid for sid in ended if store.get_play(sid).resumed} == set(), "what had ended was not touched"
        assert server.stop() == 0
    return done


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(0.0, id="as soon as all is answered"),
        pytest.param(0.3, id="when a third is done"),
        pytest.param(0.8, id="when most is done"),
    ],
)
def test_a_server_killed_while_it_works(store_url: str, part: float, undisturbed: dict[str, Any]) -> None:
    assert kill_and_restart(store_url, undisturbed, part=part) < 1.0


def test_a_server_told_to_stop_leaves_the_rest_to_the_next(store_url: str, undisturbed: dict[str, Any]) -> None:
    with serving(store_url) as server, open_store(store_url) as store:
        load = Load(server)
        load.wait_until(store, 0.1)
        assert server.stop() == 0
        assert load.done(store) < 1.0
    with serving(store_url) as server, open_store(store_url) as store:
        load.wait_until_ended(store, server)
        check_whole(store, load, undisturbed)


def test_of_two_servers_on_one_store_the_other_takes_over_and_none_runs_what_the_other_runs(
    store_url: str, undisturbed: dict[str, Any]
) -> None:
    with serving(store_url) as one, serving(store_url) as other, open_store(store_url) as store:
        load = Load(one)
        load.wait_until(store, 0.2)
        owners = {store.get_play(sid).owner_sid for sid in load.plays.values()}
        assert len(owners) == 1, "the other leaves alone what a living one runs"
        before = node_runs(store, list(load.plays.values()))
        one.kill()
        load.wait_until_ended(store, other)
        check_whole(store, load, undisturbed)
        after = node_runs(store, list(load.plays.values()))
        assert {place: after.get(place) for place in before} == before
        assert all(store.get_play(sid).resumed <= 1 for sid in load.plays.values())


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_server_killed_fifty_times(store_url: str, undisturbed: dict[str, Any], tmp_path: Path) -> None:
    """Each time at another moment. On one store: what earlier rounds left is there, too."""
    chance = random.Random(7)
    moments = []
    for number in range(SOAK_KILLS):
        db = store_url if "://" in store_url else str(tmp_path / f"{number}.db")
        moments.append(kill_and_restart(db, undisturbed, part=chance.uniform(0.0, 0.95), after_s=chance.uniform(0.0, 0.1)))
        empty(db)
    print(f"killed when so much was done: {sorted(round(moment, 2) for moment in moments)}")
    assert sum(moment < 1.0 for moment in moments) > 0.8 * SOAK_KILLS


def empty(db: str) -> None:
    """For the next round, which counts everything that is there."""
    with open_store(db) as store:
        for name in ("to-be-killed", "to-be-measured"):
            store.delete_workflow(name, force=True)
