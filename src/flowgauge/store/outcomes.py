"""How the plays of a workflow ended, and the attempts of their nodes: figures only, nothing that was said.

Of plays that ran a version as it is: none of a bench, whose configurations are
others on purpose, none with a configuration of its own, none that somebody
cancelled. And which snapshots of a subject there are, without what they hold.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from sqlalchemy import ColumnElement, func, select, tuple_

from flowgauge.model.ids import PLAY, new_sid
from flowgauge.model.play import FINISHED
from flowgauge.store.database import Database
from flowgauge.store.prefix import begins_with
from flowgauge.store.schema import benchmarks, node_runs, plays

PlayOutcome = tuple[str, str, float, int]
"""sid, status, duration_ms, finished_at."""
NodeOutcome = tuple[str, str, int, str, float]
"""play_sid, node_id, attempt, status, duration_ms."""
SnapshotMark = tuple[str, int, dict[str, str]]
"""sid, created_at, tags."""
_COUNTED = tuple(sorted(FINISHED - {"cancelled"}))
_SID_CHARS = len(new_sid(PLAY))
"""The sid of a trial's play is longer."""
_AT_ONCE = 500
_ENDED = (plays.c.finished_at, plays.c.sid)


class Outcomes:
    """The part of a Store that tells how plays fared."""

    _database: Database

    def play_outcomes(
        self, workflow_sid: str, limit: int, after: tuple[int, str] = (0, ""), *, version_sid: str | None = None
    ) -> list[PlayOutcome]:
        """The last that ended after another (its finished_at and sid), in the order in which they ended; of one version, or of all."""
        query = (
            select(plays.c.sid, plays.c.status, plays.c.duration_ms, plays.c.finished_at)
            .where(*_ended_after(workflow_sid, after), *([] if version_sid is None else [plays.c.version_sid == version_sid]))
            .order_by(*(column.desc() for column in _ENDED))
            .limit(limit)
        )
        with self._database.reading() as connection:
            return [tuple(row) for row in reversed(connection.execute(query).all())]

    def count_other_outcomes(self, workflow_sid: str, version_sid: str, after: tuple[int, str]) -> int:
        """How many such plays ran other versions than this one."""
        query = select(func.count()).select_from(plays).where(*_ended_after(workflow_sid, after), plays.c.version_sid != version_sid)
        with self._database.reading() as connection:
            return connection.scalar(query) or 0

    def node_outcomes(self, play_sids: Sequence[str]) -> list[NodeOutcome]:
        """Every attempt of every node of these plays."""
        found: list[NodeOutcome] = []
        columns = (node_runs.c.play_sid, node_runs.c.node_id, node_runs.c.attempt, node_runs.c.status, node_runs.c.duration_ms)
        with self._database.reading() as connection:
            for start in range(0, len(play_sids), _AT_ONCE):
                some = play_sids[start : start + _AT_ONCE]
                query = select(*columns).where(node_runs.c.play_sid.in_(some)).order_by(node_runs.c.seq)
                found += [tuple(row) for row in connection.execute(query)]
        return found

    def snapshot_marks(self, subject: str, config: str) -> list[SnapshotMark]:
        """Every snapshot of a subject, oldest first."""
        query = select(benchmarks.c.sid, benchmarks.c.created_at, benchmarks.c.tags).where(
            benchmarks.c.kind == "snapshot", benchmarks.c.subject == subject, benchmarks.c.config == config
        )
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(benchmarks.c.created_at, benchmarks.c.sid)).all()
        return [(sid, moment, msgspec.json.decode(tags, type=dict[str, str]) if tags else {}) for sid, moment, tags in rows]

    def snapshot_subjects(self, prefix: str, config: str) -> list[str]:
        """Of everything that begins so and has a snapshot."""
        which = (benchmarks.c.kind == "snapshot", benchmarks.c.config == config, begins_with(benchmarks.c.subject, prefix))
        with self._database.reading() as connection:
            return sorted(connection.scalars(select(benchmarks.c.subject).where(*which).distinct()))


def _ended_after(workflow_sid: str, after: tuple[int, str]) -> list[ColumnElement[bool]]:
    of_it = [plays.c.workflow_sid == workflow_sid, plays.c.status.in_(_COUNTED), plays.c.config.is_(None)]
    return [*of_it, func.length(plays.c.sid) <= _SID_CHARS, tuple_(*_ENDED) > after]
