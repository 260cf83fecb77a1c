"""What somebody else has measured, run by run: kept as a bench that is finished from the beginning.

So its runs are read, compared and deleted like those of any other. All of it or
nothing is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import update

from flowgauge.errors import Conflict
from flowgauge.model.bench import Bench, BenchRecord, Trial
from flowgauge.model.benchmark import Benchmark
from flowgauge.store.bench_rows import read_bench
from flowgauge.store.benches import Benches
from flowgauge.store.benchmarks import Benchmarks
from flowgauge.store.bulk import hot_sql
from flowgauge.store.database import now_ms
from flowgauge.store.schema import benches

Measure = Callable[[BenchRecord], tuple[Sequence[Trial], Benchmark]]
"""The trials of a bench, whose ids are made from its own, and what they amount to."""


class Recorded(Benches, Benchmarks):
    """The part of a Store that keeps benches which were run elsewhere."""

    def put_recorded(self, definition: Bench, definition_hash: str, total: int, measure: Measure, *, commit: str = "") -> Benchmark:
        """A new bench of one configuration with its trials and its benchmark."""
        values = self._defined(definition, definition_hash, total)
        under = {"commit": commit, "machine": "", "price_table": "", "trace_id": "", "owner_sid": ""}
        with self._database.writing() as connection:
            self._database.backend.hold(connection, definition.name)
            begun = self._begin(connection, definition.name, None, values | under)
            if begun is None:
                raise Conflict(f"Others begin a bench named {definition.name} at this moment.", remedy="Ask again.")
            ended = update(benches).where(benches.c.uid == begun[0].uid).values(status="finished", finished_at=now_ms())
            record = read_bench(connection.execute(ended.returning(*benches.c)).mappings().one())
            found, benchmark = measure(record)
            rows = [self._encoder.trial(record.uid, trial) for trial in found]
            connection.exec_driver_sql(hot_sql(self._database.backend.mark).trial.single, rows)
            return self._put(connection, benchmark)
