"""Results that were made elsewhere → stored benchmarks, compared and gated like any other."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.provenance import commit_here
from flowgauge.model.benchmark import Benchmark, Fingerprint
from flowgauge.model.ids import BENCHMARK, content_hash

if TYPE_CHECKING:
    from flowgauge.define.ingest import Ingested
    from flowgauge.store.store import Store


def ingest(
    store: Store, path: Path, *, form: str | None = None, prefix: str = "", commit: str = "", tags: Mapping[str, str] | None = None
) -> tuple[Benchmark, ...]:
    """One benchmark a subject of the file, all or none. A commit that neither is given nor stands in the file is the one checked out."""
    from flowgauge.define.ingest import read_results

    found = read_results(path, form)
    return store.put_benchmarks([_benchmark(each, prefix, commit, dict(tags or {})) for each in found])


def _benchmark(each: Ingested, prefix: str, commit: str, tags: dict[str, str]) -> Benchmark:
    """What the file says of itself stands, but for a commit that was given. The same result read twice is the same benchmark."""
    moment = each.measured_at or time.time_ns() // 1_000_000
    subject, commit = f"{prefix}{each.subject}", commit or each.commit or commit_here()
    times = [took for samples in _samples(each, "duration_ms") for took in samples]
    duration, success = each.metrics.get("duration_ms"), each.metrics.get("success_rate")
    identity = content_hash(msgspec.json.encode([subject, commit, each.measured_at or moment]))
    return Benchmark(
        sid=f"{BENCHMARK}_{moment:011x}{identity[:10]}",
        bench_uid="",
        bench_id="",
        config="",
        subject=subject,
        created_at=moment,
        num_runs=max((sum(map(len, metric.samples.values())) for metric in each.metrics.values()), default=0),
        success_rate=100 * success.value if success and success.value is not None else 0.0,
        avg_duration_ms=duration.value if duration else None,
        min_duration_ms=min(times, default=None),
        max_duration_ms=max(times, default=None),
        metrics=each.metrics,
        notes="\n".join(each.notes),
        fingerprint=Fingerprint(machine=each.machine),
        tags={"source": each.source, **each.tags, **tags},
        commit=commit,
        kind="ingested",
    )


def _samples(each: Ingested, metric: str) -> Iterable[list[float]]:
    return each.metrics[metric].samples.values() if metric in each.metrics else ()
