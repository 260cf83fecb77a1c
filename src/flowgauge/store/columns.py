"""What compare needs of the trials of one configuration: a few columns, in batches of the driver's own tuples.

Half a million trials are read in about a second. That is why no row is made
into an object here, why run id and category come as one (to sqlite3 a column
costs more than its content), and why names are unescaped only in a batch that
has an escaped one.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from flowgauge.store.database import Database
from flowgauge.store.plain import escape, is_escaped, unescape

Batch = list[tuple[Any, ...]]
_ROWS_AT_ONCE = 2000

_TRIALS = """
SELECT case_name,
  CASE WHEN status = 'success' AND failure_category = '' AND coalesce(passed, 1) <> 0 THEN NULL ELSE run_id || ' ' || failure_category END,
  duration_ms, first_token_ms, tokens_prompt, tokens_completion, cost_usd, scores
FROM trials WHERE bench_uid = ? AND config = ? ORDER BY position"""
_NODES = """
SELECT trials.play_sid, trials.case_name, node_runs.node_id, node_runs.duration_ms
FROM trials JOIN node_runs ON node_runs.play_sid = trials.play_sid
WHERE trials.bench_uid = ? AND trials.config = ? AND trials.play_sid <> '' AND trials.cached = 0 AND node_runs.status <> 'skipped'
  AND trials.status = 'success' AND trials.failure_category = '' AND coalesce(trials.passed, 1) <> 0
ORDER BY trials.position, trials.play_sid"""


class Columns:
    """The part of a Store that reads columns."""

    _database: Database

    def measured_columns(self, bench_uid: str, config: str) -> Iterator[Batch]:
        """Of every trial, in the order in which they were planned.

        Each: case, failure (run id, a blank, category; None where it succeeded), duration_ms, first_token_ms, tokens_prompt,
        tokens_completion, cost_usd, scores as JSON text or None.
        """
        return self._columns(_TRIALS, bench_uid, config, names=(0,))

    def node_columns(self, bench_uid: str, config: str) -> Iterator[Batch]:
        """Of every attempt of every node of the successful trials that have a play, trial by trial.

        Each: play_sid, case, node id, duration_ms. A cached answer was made elsewhere: its nodes are not counted here.
        """
        return self._columns(_NODES, bench_uid, config, names=(1, 2))

    def _columns(self, sql: str, bench_uid: str, config: str, names: tuple[int, ...]) -> Iterator[Batch]:
        backend = self._database.backend
        with self._database.reading() as connection:
            for rows in backend.batches(connection, sql.replace("?", backend.mark), (bench_uid, escape(config)), _ROWS_AT_ONCE):
                escaped = any(is_escaped("".join(map(itemgetter(place), rows))) for place in names)
                yield [_unescaped(row, names) for row in rows] if escaped else rows


def _unescaped(row: tuple[Any, ...], names: tuple[int, ...]) -> tuple[Any, ...]:
    return tuple(unescape(value) if place in names else value for place, value in enumerate(row))
