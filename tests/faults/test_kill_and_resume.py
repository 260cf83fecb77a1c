"""A play killed with SIGKILL at any moment is finished by `play resume`, and no finished node runs again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from tests.faults import killing

from flowgauge.model.play import NodeRun, Play
from flowgauge.store import open_store

EXPECTED = {"outline", "route", "draft", "parts[0]", "parts[1]", "parts[2]", "parts", "count", "title", "close"}
SOAK_POINTS = 500


def check_resumed(db: str, log: Path, expected_output: object) -> str:
    """Finish whatever was left in the store and hold it against an undisturbed play. Says what was found."""
    with open_store(db) as store:
        there = store.list_plays(limit=1).items
        before = store.get_node_runs(there[0].sid) if there else ()
    if not there:
        return "nothing was stored"
    stored = {run.node_id for run in before if run.status == "success"}
    started = killing.starts(log)
    play, runs = asyncio.run(killing.finish(db, there[0].sid, log))
    assert_whole(play, runs, expected_output)
    again = killing.starts(log) - started
    assert not stored & set(again), f"finished nodes ran again: {stored & set(again)}"
    return f"{len(stored)} of {len(EXPECTED)} nodes were stored"


def assert_whole(play: Play, runs: tuple[NodeRun, ...], expected_output: object) -> None:
    assert play.status == "success", play.error
    assert play.output == expected_output
    successes = [run.node_id for run in runs if run.status == "success"]
    assert sorted(successes) == sorted(EXPECTED)
    assert [run.node_id for run in runs if run.status == "skipped"] == ["never"]
    assert play.tokens_prompt == sum(run.tokens_prompt for run in runs)
    assert play.cost_usd == pytest.approx(sum(run.cost_usd or 0.0 for run in runs))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, int, float]:
    """(output, number of journal writes, seconds) of a play that nobody kills."""
    folder = tmp_path_factory.mktemp("undisturbed")
    db = str(folder / "store.db")
    process = killing.start(db, folder / "log")
    process.join()
    assert process.exitcode == 0
    with open_store(db) as store:
        play = store.get_play(store.list_plays(limit=1).items[0].sid)
        runs = store.get_node_runs(play.sid)
    assert_whole(play, runs, play.output)
    return play.output, len(runs) + 2, play.duration_ms / 1000


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_every_journal_write(store_url: str, tmp_path: Path, undisturbed: tuple[object, int, float], when: killing.When) -> None:
    output, most_writes, _ = undisturbed
    found = []
    for number in range(1, most_writes + 1):
        log = tmp_path / f"log{number}"
        db = another(store_url, number)
        process = killing.start(db, log, kill_at_write=number, when=when)
        process.join()
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
        found.append(check_resumed(db, log, output))
    assert len(found) >= 5, "the journal wrote less often than the play has steps"
    assert len(set(found)) >= 4, found


def another(store_url: str, number: int) -> str:
    """A further store of the same kind: SQLite takes another file, PostgreSQL keeps its schema (the newest play counts)."""
    return store_url if store_url.startswith("postgres") else f"{store_url}.{number}"


def kill_at_random_moments(store_url: str, tmp_path: Path, output: object, count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    found = []
    for number in range(count):
        log = tmp_path / f"random{number}"
        db = another(store_url, 1000 + number)
        process = killing.start(db, log, model="default")
        begin = time.monotonic()
        while not killing.starts(log) and process.is_alive() and time.monotonic() - begin < 20:
            time.sleep(0.002)
        time.sleep(chance.uniform(0.0, 0.25))
        assert process.pid is not None
        with contextlib.suppress(ProcessLookupError):  # it may have ended before its moment came
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        found.append(check_resumed(db, log, output))
    return found


@pytest.fixture(scope="module")
def output_of_default(tmp_path_factory: pytest.TempPathFactory) -> object:
    """What the play answers with on the mock profile that takes time."""
    folder = tmp_path_factory.mktemp("slow")
    killing.start(str(folder / "store.db"), folder / "log", model="default").join()
    with open_store(str(folder / "store.db")) as store:
        return store.get_play(store.list_plays(limit=1).items[0].sid).output


def test_killed_at_ten_random_moments(store_url: str, tmp_path: Path, output_of_default: object) -> None:
    found = kill_at_random_moments(store_url, tmp_path, output_of_default, 10, seed=20)
    assert len(found) == 10


@pytest.mark.soak
def test_killed_at_many_random_moments(store_url: str, tmp_path: Path, output_of_default: object) -> None:
    found = kill_at_random_moments(store_url, tmp_path, output_of_default, SOAK_POINTS, seed=int(time.time()))
    assert len(found) == SOAK_POINTS
    counts = {word: found.count(word) for word in sorted(set(found))}
    print(f"\n{SOAK_POINTS} kills on {store_url.split(':')[0][:8]}: {counts}")


def test_the_command_resumes_a_killed_run(store_url: str, tmp_path: Path) -> None:
    """The same through the real program: `flowgauge run` is killed, `flowgauge play resume latest` finishes it."""
    file = tmp_path / "workflow.yaml"
    file.write_text(killing.WORKFLOW.replace("LATENCY", "slow"))
    program = [sys.executable, "-m", "flowgauge"]
    running = subprocess.Popen([*program, "run", str(file), "-i", "topic=tides", "--db", store_url, "--json"], stdout=subprocess.PIPE)
    begin = time.monotonic()
    while time.monotonic() - begin < 30:
        with open_store(store_url) as store:
            plays = store.list_plays(limit=1).items
            if plays and store.get_node_runs(plays[0].sid):
                break
        time.sleep(0.02)
    running.kill()
    running.communicate()
    with open_store(store_url) as store:
        stored = store.get_node_runs(store.list_plays(limit=1).items[0].sid)
    assert stored
    done = subprocess.run([*program, "play", "resume", "latest", "--db", store_url, "--json"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    answer = msgspec.json.decode(done.stdout)
    assert answer["play"]["status"] == "success"
    assert answer["play"]["resumed"] == 1
    kept = {(run["node_id"], run["started_at"]) for run in answer["node_runs"]}
    assert {(run.node_id, run.started_at) for run in stored} <= kept
