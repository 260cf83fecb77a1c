"""Plays and their node runs, read; and what people ask of a play that is running."""

from __future__ import annotations

from sqlalchemy import Select, delete, select, update

from flowgauge.errors import Conflict, NotFound
from flowgauge.model.play import FINISHED, NodeRun, Play, PlayStatus
from flowgauge.store.database import Database
from flowgauge.store.page import DEFAULT_LIMIT, Order, Page, fetch_page
from flowgauge.store.removal import hold_baselines, kept_benches, refuse_baselines
from flowgauge.store.rows import read_node_run, read_play
from flowgauge.store.schema import benchmarks, node_runs, plays, trials
from flowgauge.store.workflows import find_workflow

_LARGE = frozenset({"inputs", "output"})
_SUMMARY = tuple(column for column in plays.c if column.name not in _LARGE)
_NEWEST_FIRST = Order("plays", plays.c.started_at, descending=True, tie=plays.c.sid)


class Plays:
    """The part of a Store that reads plays. The journal writes them."""

    _database: Database

    def get_play(self, sid: str) -> Play:
        """Whole."""
        with self._database.reading() as connection:
            row = connection.execute(select(plays).where(plays.c.sid == sid)).mappings().one_or_none()
        if row is None:
            raise _missing(sid)
        return read_play(row)

    def list_plays(
        self,
        cursor: str | None = None,
        limit: int = DEFAULT_LIMIT,
        *,
        workflow: str | None = None,
        status: PlayStatus | None = None,
        since: int | None = None,
        with_values: bool = False,
    ) -> Page[Play]:
        """Newest first. Inputs and outputs are left out unless asked for: they may be large. `since`: started_at, in ms."""
        query: Select[tuple[object, ...]] = select(plays) if with_values else select(*_SUMMARY)
        with self._database.reading() as connection:
            if workflow is not None:
                query = query.where(plays.c.workflow_sid == find_workflow(connection, workflow).sid)
            if status is not None:
                query = query.where(plays.c.status == status)
            if since is not None:
                query = query.where(plays.c.started_at >= since)
            return fetch_page(connection, query, _NEWEST_FIRST, read_play, cursor, limit)

    def get_node_runs(self, play_sid: str) -> tuple[NodeRun, ...]:
        """In the order in which they became durable."""
        query = select(node_runs).where(node_runs.c.play_sid == play_sid).order_by(node_runs.c.seq)
        with self._database.reading() as connection:
            return tuple(map(read_node_run, connection.execute(query).mappings()))

    def request_cancel(self, play_sid: str) -> None:
        """Ask the play's owner to stop it. Conflict where it has ended."""
        asked = update(plays).where(plays.c.sid == play_sid, plays.c.finished_at.is_(None)).values(cancel_requested=1)
        with self._database.writing() as connection:
            if connection.execute(asked).rowcount:
                return
        play = self.get_play(play_sid)
        raise Conflict(f"The play {play_sid} has ended already ({play.status}).")

    def cancel_requests(self, owner_sid: str) -> list[str]:
        """Which of an owner's running plays somebody wants stopped."""
        wanted = select(plays.c.sid).where(plays.c.owner_sid == owner_sid, plays.c.finished_at.is_(None), plays.c.cancel_requested == 1)
        with self._database.reading() as connection:
            return list(connection.scalars(wanted.order_by(plays.c.sid)))

    def delete_play(self, sid: str) -> None:
        """With its node runs. Conflict while it runs, or where a baseline stands on its bench."""
        with self._database.writing() as connection:
            hold_baselines(self._database.backend, connection)
            status = connection.scalar(select(plays.c.status).where(plays.c.sid == sid).with_for_update())
            if status is None:
                raise _missing(sid)
            if status not in FINISHED:
                raise Conflict(f"The play {sid} is {status}.", remedy=f"Stop it first with: flowgauge play cancel {sid}")
            named = select(trials.c.bench_uid).where(trials.c.bench_uid.in_(kept_benches()), trials.c.play_sid == sid)
            refuse_baselines(connection, f"The play {sid}", benchmarks.c.bench_uid.in_(named))
            connection.execute(delete(node_runs).where(node_runs.c.play_sid == sid))
            connection.execute(delete(plays).where(plays.c.sid == sid))


def _missing(sid: str) -> NotFound:
    return NotFound(f"No play {sid!r} is stored.", remedy="See what there is with: flowgauge play list")
