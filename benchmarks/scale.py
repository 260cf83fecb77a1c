"""1,000, 10,000, 100,000 trials: does time grow with the number, and does memory stay where it is?

Each bench runs in a process of its own, on a callable that answers with 2 kB of
text, 50 at once, with one check, everything durable in SQLite. Then each thing
that reads a bench back (aggregate, list, reports) does so in a process of its
own, whose peak memory is its own. Aim: linear time, under 400 MB.

    python benchmarks/scale.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.peers.field import HERE, ROOT, compiled, table

import flowgauge as fg
from flowgauge.app.workspace import opened_store
from flowgauge.store.store import Store

SIZES = (1_000, 10_000, 100_000)
OUTPUT = "An answer of about two kilobytes. " * 60
LIMIT_MB = 400
CHECK = {"type": "contains", "path": "output", "value": "two kilobytes"}


async def answer(**_values: object) -> str:
    """The target."""
    return OUTPUT


def peak_mb() -> float:
    """Of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def bench(db: str, count: int) -> None:
    from benchmarks import scale  # by its name, not as __main__, so that a target can be named

    cases = [{"name": f"case-{number}", "inputs": {"number": number}} for number in range(10)]
    definition = {"name": "scale", "configs": [{"name": "one"}, {"name": "two"}], "cases": cases, "checks": [CHECK]}
    result = fg.bench(scale.answer, definition, runs=count // 20, max_concurrency=50, db=db)
    if any(config.success.count != count // 2 for config in result.configs.values()):
        raise SystemExit("some trials failed")


def aggregate(store: Store, _folder: Path) -> None:
    from flowgauge.app.bench import summary_of

    summary_of(store, store.get_bench("latest"))


def list_all(store: Store, _folder: Path) -> None:
    record = store.get_bench("latest")
    if sum(1 for _ in store.iter_trials(record.uid, with_output=False)) != record.total:
        raise SystemExit("some trials are missing")


def report(extension: str) -> Callable[[Store, Path], None]:
    def write(store: Store, folder: Path) -> None:
        from flowgauge.app.bench import summary_of
        from flowgauge.report.formats import write_report

        record = store.get_bench("latest")
        write_report(folder / f"report{extension}", summary_of(store, record), lambda: store.iter_trials(record.uid))

    return write


READS: dict[str, Callable[[Store, Path], None]] = {
    "aggregate": aggregate,
    "list every trial": list_all,
    "report, Markdown": report(".md"),
    "report, JSON": report(".json"),
    "report, HTML": report(".html"),
    "report, CSV": report(".csv"),
}


def one(step: str, db: str, count: int) -> None:
    """One step in this process; tells its seconds and its peak."""
    begun = time.perf_counter()
    if step == "bench":
        bench(db, count)
    else:
        with opened_store(db) as store:
            READS[step](store, Path(db).parent)
    print(json.dumps({"seconds": time.perf_counter() - begun, "peak_mb": peak_mb()}))


def apart(step: str, db: str, count: int) -> dict[str, Any]:
    """The same in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--step", step, "--db", db, "--count", str(count)],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": HERE}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{step} of {count}: {done.stderr[-2000:]}")
    said: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return said


def row(label: str, said: dict[str, Any], count: int) -> tuple[str, str, str, str, str]:
    over = "" if said["peak_mb"] < LIMIT_MB else f" (over {LIMIT_MB})"
    return label, f"{count:,}", f"{said['seconds']:.2f}", f"{said['seconds'] / count * 1e6:.0f}", f"{said['peak_mb']:.0f}{over}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="up to 10,000 only")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--db", help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, default=0, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.step:
        one(chosen.step, chosen.db, chosen.count)
        return
    compiled()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for count in SIZES[:2] if chosen.quick else SIZES:
            db = str(Path(name) / str(count) / "flowgauge.db")
            Path(db).parent.mkdir()
            rows.append(row("bench", apart("bench", db, count), count))
            size_mb = Path(db).stat().st_size / 2**20
            print(f"{count:,} trials: {size_mb:.0f} MB in SQLite, load {os.getloadavg()[0]:.1f}", flush=True)
        rows += [row(step, apart(step, db, count), count) for step in READS]
        html_mb = (Path(db).parent / "report.html").stat().st_size / 2**20
    table(("", "trials", "seconds", "µs/trial", "peak memory, MB"), rows)
    print(f"the HTML report has {html_mb:.1f} MB")


if __name__ == "__main__":
    main()
