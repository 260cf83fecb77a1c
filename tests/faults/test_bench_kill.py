"""A bench killed with SIGKILL at any moment: the same command again gives every result once, as if nothing had happened."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.faults import killing_bench
from tests.faults.killing_bench import BENCH_ID, TRIALS, Kind

from flowgauge.store import open_store

KINDS: tuple[Kind, ...] = ("workflow", "python")
SOAK_POINTS = 500


class Undisturbed:
    """A bench that nobody kills."""

    def __init__(self, folder: Path, kind: Kind) -> None:
        self.db = str(folder / f"{kind}.db")
        log = folder / f"{kind}.log"
        process = killing_bench.start(self.db, log, kind)
        wait_until_begun(process, log)
        begin = time.monotonic()
        self.took_s = until_all_are_stored(process, self.db) - begin
        process.join()
        assert process.exitcode == 0
        self.report = killing_bench.report(self.db)
        self.calls = killing_bench.calls(log)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[Kind, Undisturbed]:
    folder = tmp_path_factory.mktemp("undisturbed")
    return {kind: Undisturbed(folder, kind) for kind in KINDS}


def until_all_are_stored(process: Any, db: str) -> float:
    """The moment. Later kills would only meet a bench that is done."""
    with open_store(db) as store:
        uid = store.get_bench(BENCH_ID).uid
        while process.is_alive() and len(store.finished_run_ids(uid)) < TRIALS:
            time.sleep(0.005)
    return time.monotonic()


def wait_until_begun(process: Any, log: Path) -> None:
    while process.is_alive() and not (log.exists() and log.read_text().startswith("begun")):
        time.sleep(0.002)


def forget(db: str) -> None:
    with open_store(db) as store:
        store.delete_bench(BENCH_ID)


def kill_once(db: str, log: Path, kind: Kind, after_s: float) -> int:
    """Kill it; how many of its trials are stored."""
    process = killing_bench.start(db, log, kind)
    wait_until_begun(process, log)
    time.sleep(after_s)
    assert process.pid is not None
    with contextlib.suppress(ProcessLookupError):  # it may have ended before its moment came
        os.kill(process.pid, signal.SIGKILL)
    process.join()
    with open_store(db) as store:
        record = store.get_bench(BENCH_ID)
        assert record.status == ("finished" if process.exitcode == 0 else record.status)
        return len(store.finished_run_ids(record.uid)) if record.status != "finished" else TRIALS


def check_finished(db: str, log: Path, kind: Kind, expected: Undisturbed) -> None:
    """The same command again, held against the bench that nobody killed."""
    with open_store(db) as store:
        before = list(store.iter_trials(store.get_bench(BENCH_ID).uid))
    called = killing_bench.calls(log)
    if store_status(db) != "finished":
        killing_bench.run(db, str(log), kind)
    with open_store(db) as store:
        record = store.get_bench(BENCH_ID)
        trials = list(store.iter_trials(record.uid))
        assert record.status == "finished"
        assert len(trials) == len({trial.run_id for trial in trials}) == TRIALS
        kept = {trial.run_id: trial for trial in trials}
        assert [trial for trial in before if kept[trial.run_id] != trial] == []
        if kind == "workflow":
            check_plays(store, [trial.answer.play_sid for trial in trials])
    differing = killing_bench.difference(killing_bench.report(db), expected.report)
    assert differing == {}, differing
    check_calls(kind, called, killing_bench.calls(log), expected.calls, left=TRIALS - len(before))


def check_calls(kind: Kind, before: Counter[str], after: Counter[str], expected: Counter[str], left: int) -> None:
    """What is stored is not called again: not a trial, and of a workflow not a node."""
    assert expected - after == Counter()
    fresh = (after - before).total()
    assert fresh == left if kind == "python" else fresh <= 2 * left


def store_status(db: str) -> str:
    with open_store(db) as store:
        return store.get_bench(BENCH_ID).status


def check_plays(store: Any, sids: list[str]) -> None:
    """A play for each trial and none besides; each node succeeded once in it."""
    assert len(set(sids)) == TRIALS
    assert store.info().rows["plays"] == TRIALS
    for sid in sids[:: TRIALS // 20]:
        assert sorted(run.node_id for run in store.get_node_runs(sid) if run.status == "success") == ["reply", "sort"]


def kill_at_random_moments(
    db: str, tmp_path: Path, undisturbed: dict[Kind, Undisturbed], kinds: tuple[Kind, ...], count: int, seed: int
) -> list[int]:
    chance = random.Random(seed)
    found = []
    for number in range(count):
        kind = kinds[number % len(kinds)]
        log = tmp_path / f"log{number}"
        stored = kill_once(db, log, kind, chance.uniform(0.0, undisturbed[kind].took_s))
        check_finished(db, log, kind, undisturbed[kind])
        forget(db)
        log.unlink()
        found.append(stored)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_ten_random_moments(store_url: str, tmp_path: Path, undisturbed: dict[Kind, Undisturbed], kind: Kind) -> None:
    found = kill_at_random_moments(store_url, tmp_path, undisturbed, (kind,), 10, seed=3)
    assert len(found) == 10
    assert any(0 < stored < TRIALS for stored in found), found


@pytest.mark.soak
def test_killed_at_many_random_moments(store_url: str, tmp_path: Path, undisturbed: dict[Kind, Undisturbed]) -> None:
    seed = int(time.time())
    found = kill_at_random_moments(store_url, tmp_path, undisturbed, KINDS, SOAK_POINTS, seed)
    assert len(found) == SOAK_POINTS
    tenths = Counter(f"{stored * 10 // TRIALS * 10} %" for stored in found)
    print(
        f"\n{SOAK_POINTS} kills on {store_url.split(':')[0][:8]} (seed {seed}), trials stored at the kill: {dict(sorted(tenths.items()))}"
    )


def test_killed_again_and_again(store_url: str, tmp_path: Path, undisturbed: dict[Kind, Undisturbed]) -> None:
    """Six deaths of one bench, then its end: still every result once."""
    log = tmp_path / "log"
    stored = [kill_once(store_url, log, "workflow", 0.04) for _ in range(6)]
    assert stored == sorted(stored)
    if store_status(store_url) != "finished":
        killing_bench.run(store_url, str(log), "workflow")
    assert killing_bench.difference(killing_bench.report(store_url), undisturbed["workflow"].report) == {}
