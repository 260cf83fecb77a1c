"""How the plays of a workflow ended, and the attempts of their nodes: figures only, nothing that was said.

Of plays that ran the workflow as it is: none of a bench, whose configurations are
others on purpose, none with a configuration of its own, none that somebody cancelled.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, select, tuple_

from flowgauge.model.ids import PLAY, new_sid
from flowgauge.model.play import FINISHED
from flowgauge.store.database import Database
from flowgauge.store.schema import node_runs, plays

PlayOutcome = tuple[str, str, float, int]
"""sid, status, duration_ms, finished_at."""
NodeOutcome = tuple[str, str, int, str, float]
"""play_sid, node_id, attempt, status, duration_ms."""
_COUNTED = tuple(sorted(FINISHED - {"cancelled"}))
_SID_CHARS = len(new_sid(PLAY))
"""The sid of a trial's play is longer."""
_AT_ONCE = 500


class Outcomes:
    """The part of a Store that tells how plays fared."""

    _database: Database

    def play_outcomes(self, workflow_sid: str, limit: int, after: tuple[int, str] = (0, "")) -> list[PlayOutcome]:
        """The last that ended after another (its finished_at and sid), in the order in which they ended."""
        ended = (plays.c.finished_at, plays.c.sid)
        query = (
            select(plays.c.sid, plays.c.status, plays.c.duration_ms, plays.c.finished_at)
            .where(plays.c.workflow_sid == workflow_sid, plays.c.status.in_(_COUNTED), plays.c.config.is_(None))
            .where(func.length(plays.c.sid) <= _SID_CHARS, tuple_(*ended) > after)
            .order_by(*(column.desc() for column in ended))
            .limit(limit)
        )
        with self._database.reading() as connection:
            return [tuple(row) for row in reversed(connection.execute(query).all())]

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
