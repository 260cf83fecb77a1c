"""1,000,000 stored trials compared: how long, and in how much memory?

Two benches of 500,000 trials (50 cases, 1 % failures, tokens, cost, time to first
token, one score, 200 bytes of output) with one node run each are written into an
SQLite store in bulk, through the store's own encoder and tables. Then each
comparison is made in a process of its own, from opening the store to the
verdicts. The candidate's node is 10 % slower, which must be found. Aim: 5 s, with
node runs 15 s, under 500 MB.

    python benchmarks/compare_scale.py [--quick] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.peers.field import HERE, ROOT, compiled, table

from flowgauge.model.bench import Answer, Bench, Case, Configuration, Target, Trial
from flowgauge.model.benchmark import Benchmark
from flowgauge.model.ids import BENCHMARK, content_hash, new_sid
from flowgauge.model.play import NodeRun
from flowgauge.store import open_store
from flowgauge.store.rows import NODE_COLUMNS, TRIAL_COLUMNS, RowEncoder

TRIALS, QUICK = 1_000_000, 100_000
CASES = 50
CONFIG = "mini"
FAILED_SHARE = 0.01
SLOWER = 1.1
LIMIT_MB = 500
LIMITS_S = {False: 5.0, True: 15.0}
"""Without and with node runs."""
OUTPUT = "An answer of about two hundred bytes. " * 5
MODEL = "openai/gpt-4o-mini"
_ROWS_AT_ONCE = 20_000


def a_trial(number: int, play_sid: str, node_ms: float, chance: random.Random) -> Trial:
    """One of `CASES` cases in turn; some fail."""
    failed = chance.random() < FAILED_SHARE
    prompt, completion = chance.randrange(80, 160), chance.randrange(20, 60)
    answer = Answer(
        status="timeout" if failed else "success",
        output=None if failed else OUTPUT,
        started_at=1_763_000_000_000 + number,
        duration_ms=node_ms + 2.0 + chance.random(),
        queue_ms=0.1,
        first_token_ms=None if failed else node_ms / 3,
        tokens_prompt=prompt,
        tokens_completion=completion,
        cost_usd=prompt * 1.5e-7 + completion * 6e-7,
        cost_source="computed",
        model=MODEL,
        play_sid=play_sid,
    )
    return Trial(
        run_id=content_hash(play_sid.encode())[:16],
        position=number,
        config=CONFIG,
        case=f"case-{number % CASES:03}",
        repetition=number // CASES,
        answer=answer,
        passed=None if failed else True,
        failure_category="timeout" if failed else "",
        scores={} if failed else {"quality": round(chance.betavariate(8, 2), 3)},
    )


def a_run(node_ms: float, number: int) -> NodeRun:
    started_at = 1_763_000_000_000 + number
    return NodeRun(
        node_id="classify", status="success", started_at=started_at, duration_ms=node_ms, model=MODEL, output={"text": "billing"}
    )


def rows(encoder: RowEncoder, uid: str, count: int, slower: float) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    chance = random.Random(slower)
    for number in range(count):
        play_sid = f"pl_{uid[3:]}{number:08}"
        node_ms = chance.lognormvariate(5.0 + number % CASES / CASES, 0.4) * slower
        yield encoder.trial(uid, a_trial(number, play_sid, node_ms, chance)), encoder.node_run(play_sid, a_run(node_ms, number))


def insert(connection: sqlite3.Connection, into: str, columns: Iterable[str], values: Iterable[tuple[Any, ...]]) -> None:
    names = list(columns)
    connection.executemany(f"INSERT INTO {into} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})", values)


def fill(path: str, uid: str, count: int, slower: float) -> None:
    """Not durable while it is written: the file is thrown away."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous=OFF")
    source = rows(RowEncoder(str), uid, count, slower)
    for start in range(0, count, _ROWS_AT_ONCE):
        made = [next(source) for _ in range(min(_ROWS_AT_ONCE, count - start))]
        connection.execute("BEGIN")
        insert(connection, "trials", TRIAL_COLUMNS, (pair[0] for pair in made))
        insert(connection, "node_runs", NODE_COLUMNS, (pair[1] for pair in made))
        connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()


def make(path: str, count: int) -> list[str]:
    """Two finished benches; the sids of their benchmarks, baseline first."""
    cases = tuple(Case(name=f"case-{number:03}") for number in range(CASES))
    target = Target(kind="workflow", reference="wv_none", name="triage")
    definition = Bench(name="scale", target=target, configs=(Configuration(name=CONFIG),), cases=cases, runs=count // 2 // CASES)
    sids = []
    for slower in (1.0, SLOWER):
        with open_store(path) as store:
            owner = store.register_owner()
            record, _ = store.start_bench(definition, "0" * 64, count // 2, owner.sid, new=True)
            fill(path, record.uid, count // 2, slower)
            store.finish_bench(record.uid, "finished")
            made = Benchmark(
                sid=new_sid(BENCHMARK), bench_uid=record.uid, bench_id=record.bench_id, config=CONFIG, created_at=record.created_at,
                num_runs=count // 2,
            )  # fmt: skip
            sids += [each.sid for each in store.put_benchmarks([made])]
            store.release_owner(owner.sid)
    return sids


def one(db: str, baseline: str, candidate: str, *, with_nodes: bool) -> None:
    """One comparison in this process; tells its seconds, its peak, and whether it found what is there."""
    from flowgauge.aggregate.measured import measured
    from flowgauge.compare.comparison import compare
    from flowgauge.model.gate import Policy

    begun = time.perf_counter()
    sides = []
    with open_store(db) as store:
        for sid in (candidate, baseline):
            found = store.get_benchmark(sid)
            trials = store.measured_columns(found.bench_uid, found.config)
            sides.append(measured(found, sid, trials, store.node_columns(found.bench_uid, found.config) if with_nodes else ()))
    loaded = time.perf_counter()
    compared = compare(*sides, policy=Policy())
    done = time.perf_counter()
    said = {
        "load_s": loaded - begun,
        "compare_s": done - loaded,
        "cpu_s": time.process_time(),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "runs": sum(side.runs for side in sides),
        "verdicts": {verdict.metric: verdict.verdict for verdict in compared.metrics},
        "blamed": [shift.node_id for shift in compared.nodes if shift.significant],
    }
    print(json.dumps(said))


def apart(db: str, sids: list[str], *, with_nodes: bool) -> dict[str, Any]:
    """The same in a process of its own, whose start and imports count, too."""
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, "--db", db, "--sides", *sids, *(["--nodes"] if with_nodes else [])],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": HERE}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    whole_s = time.perf_counter() - begun
    said: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1]) | {"whole_s": whole_s}
    if said["verdicts"]["duration_ms"] != "regressed" or (with_nodes and said["blamed"] != ["classify"]):
        raise SystemExit(f"the slower node was not found: {said}")
    return said


def row(label: str, said: dict[str, Any], limit_s: float) -> tuple[str, ...]:
    late = "" if said["whole_s"] < limit_s else f" (over {limit_s:.0f})"
    large = "" if said["peak_mb"] < LIMIT_MB else f" (over {LIMIT_MB})"
    times = (f"{said['load_s']:.2f}", f"{said['compare_s']:.2f}", f"{said['whole_s']:.2f}{late}", f"{said['cpu_s']:.2f}")
    return label, f"{said['runs']:,}", *times, f"{said['peak_mb']:.0f}{large}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} trials")
    parser.add_argument("--rounds", type=int, default=3, help="of each; the median is shown")
    parser.add_argument("--folder", help="where the store is made for the time of the run: on the disk that is to be measured")
    parser.add_argument("--db", help=argparse.SUPPRESS)
    parser.add_argument("--sides", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--nodes", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.sides:
        one(chosen.db, *chosen.sides, with_nodes=chosen.nodes)
        return
    compiled()
    found = []
    with tempfile.TemporaryDirectory(dir=chosen.folder, prefix="flowgauge-") as name:
        db = str(Path(name) / "flowgauge.db")
        begun = time.perf_counter()
        sids = make(db, QUICK if chosen.quick else TRIALS)
        size_mb, load = Path(db).stat().st_size / 2**20, os.getloadavg()[0]
        print(f"made in {time.perf_counter() - begun:.0f} s: {size_mb:.0f} MB; load {load:.1f} on {os.cpu_count()} cores", flush=True)
        for label, with_nodes in (("trials", False), ("trials and node runs", True)):
            rounds = [apart(db, sids, with_nodes=with_nodes) for _ in range(chosen.rounds)]
            median = sorted(rounds, key=itemgetter("whole_s"))[len(rounds) // 2]
            found.append(row(label, median, LIMITS_S[with_nodes]))
    table(("compare", "trials", "load, s", "compare, s", "whole process, s", "of that CPU, s", "peak memory, MB"), found)


if __name__ == "__main__":
    main()
