"""Several processes around one bench, through the real command: two terminals, dead workers, a dead parent."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import msgspec
import psutil
import pytest
from tests.bench.program import ASK, bench_file, questions, started

from flowgauge.report.bench_json import BenchReport
from flowgauge.store import open_store

SLOW = {"extra": {"mock": {"latency_ms": 120, "answer": "yes"}}}
COMMAND = ("bench", "ask.yaml", "--configs", "configs.yaml", "--db", "store.db", "--json")
TRIALS = 80


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workflow and a bench of 80 trials of 120 ms, long enough to be killed in the middle."""
    (tmp_path / "ask.yaml").write_text(ASK)
    bench_file(tmp_path, config=SLOW, state_variants=questions(20), runs=2, max_concurrent_runs=4)
    return tmp_path


def stored(folder: Path) -> int:
    db = folder / "store.db"
    if not db.exists():
        return 0
    with open_store(str(db)) as store:
        there = store.list_benches(limit=1).items
        return len(store.finished_run_ids(there[0].uid)) if there else 0


def wait_for(process: subprocess.Popen[str], folder: Path, count: int) -> None:
    while stored(folder) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def finished(folder: Path, *more: str) -> tuple[int, str, BenchReport]:
    process = started(*COMMAND, *more, cwd=folder)
    out, err = process.communicate(timeout=90)
    return process.returncode, err, msgspec.json.decode(out, type=BenchReport)


def check_whole(report: BenchReport) -> None:
    assert len(report.trials) == len({trial.run_id for trial in report.trials}) == TRIALS
    assert {trial.answer.output for trial in report.trials} == {"yes"}
    assert report.summary.bench.status == "finished"
    assert report.summary.bench.counter == 1


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return [child for child in psutil.Process(process.pid).children() if "executors.child" in " ".join(child.cmdline())]


def test_the_second_of_two_terminals_is_told_who_runs_it(folder: Path) -> None:
    bench_file(folder, config={"extra": {"mock": {"latency_ms": 150}}}, runs=200)
    first = started(*COMMAND, "-j", "1", cwd=folder)
    wait_for(first, folder, 1)
    for more in ((), ("--bench-id", bench_id_of(folder))):
        second = started(*COMMAND, *more, cwd=folder)
        out, err = second.communicate(timeout=60)
        assert (second.returncode, out) == (2, "")
        assert f"process {first.pid} on " in err
        assert "--new" in err
    resuming = started("bench", "--resume", "latest", "--db", "store.db", cwd=folder)
    _, err = resuming.communicate(timeout=60)
    assert (resuming.returncode, f"process {first.pid} on " in err) == (2, True)
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=60)
    assert first.returncode == 130


def bench_id_of(folder: Path) -> str:
    with open_store(str(folder / "store.db")) as store:
        return store.get_bench("latest").bench_id


def test_a_worker_that_is_killed_costs_no_result(folder: Path) -> None:
    process = started(*COMMAND, "--executor", "process", "--workers", "2", cwd=folder)
    wait_for(process, folder, 5)
    workers = workers_of(process)
    assert len(workers) == 2
    workers[0].kill()
    out, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    report = msgspec.json.decode(out, type=BenchReport)
    check_whole(report)
    assert all(trial.ok for trial in report.trials)
    assert sum(trial.answer.repeated for trial in report.trials) >= 1


def test_a_bench_in_worker_processes_that_is_killed_is_finished_by_the_same_command(folder: Path) -> None:
    process = started(*COMMAND, "--executor", "process", "--workers", "2", cwd=folder)
    wait_for(process, folder, 5)
    workers = workers_of(process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert alive == []
    kept = stored(folder)
    code, err, report = finished(folder, "--executor", "process", "--workers", "2")
    assert code == 0, err
    assert f"{kept} of {TRIALS} trials are done" in err
    check_whole(report)
