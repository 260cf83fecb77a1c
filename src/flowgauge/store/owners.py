"""Who runs which play; and, for benches, who is alive.

An owner is a process with a lease. On its own machine its pid tells at once
that it is gone; elsewhere the lease does. A play changes hands by one
compare-and-set, so of many who want it one gets it.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, Update, delete, exists, select, update

from flowgauge.errors import NotFound
from flowgauge.model.ids import OWNER, new_sid
from flowgauge.model.play import FINISHED, Owner, Play
from flowgauge.store import process
from flowgauge.store.database import Database, now_ms
from flowgauge.store.rows import read_play
from flowgauge.store.schema import owners, plays

LEASE_S = 30.0
_UNFINISHED = ("pending", "running")
_FAILED = FINISHED - {"success"}


class Owners:
    """The part of a Store that knows owners."""

    _database: Database

    def register_owner(self, lease_s: float = LEASE_S) -> Owner:
        """This process, as one that will run plays."""
        host, pid, started, boot_id = process.here()
        owner = Owner(sid=new_sid(OWNER), host=host, pid=pid, pid_started=started, boot_id=boot_id, lease_until=_until(lease_s))
        with self._database.writing() as connection:
            connection.execute(owners.insert().values(**{name: getattr(owner, name) for name in owner.__struct_fields__}))
        return owner

    def get_owner(self, sid: str) -> Owner | None:
        """None where it has been released."""
        with self._database.reading() as connection:
            return find_owner(connection, sid)

    def renew_lease(self, owner_sid: str, lease_s: float = LEASE_S) -> None:
        """NotFound where the owner was released: it must not go on."""
        with self._database.writing() as connection:
            renewed = connection.execute(update(owners).where(owners.c.sid == owner_sid).values(lease_until=_until(lease_s)))
            if not renewed.rowcount:
                raise NotFound(f"No owner {owner_sid!r} is registered.", remedy="Register again, and claim the plays again.")

    def release_owner(self, owner_sid: str) -> None:
        """What it has not finished is free for others at once."""
        with self._database.writing() as connection:
            connection.execute(delete(owners).where(owners.c.sid == owner_sid))

    def owner_alive(self, owner: Owner | None) -> bool:
        """Whether it can still be running its plays and benches."""
        return is_alive(owner)

    def claim_play(self, play_sid: str, owner_sid: str, *, ended: bool = False) -> bool:
        """Take an unfinished play whose owner is gone or that has none. A play that had begun counts one `resumed` more.

        With `ended`, also a play that ended without success: it is running again, and nobody's wish to cancel it counts any more.
        False where somebody alive runs it, this owner included, or another was faster.
        """
        with self._database.writing() as connection:
            seen = connection.execute(select(plays.c.owner_sid, plays.c.status).where(plays.c.sid == play_sid)).one_or_none()
            if seen is None:
                return False
            claim = update(plays).where(plays.c.sid == play_sid, plays.c.owner_sid == seen.owner_sid, plays.c.status == seen.status)
            if seen.status in _UNFINISHED:
                holder = find_owner(connection, seen.owner_sid)
                if self.owner_alive(holder):
                    return False
                claim = unless_renewed(claim, holder)
            elif ended and seen.status in _FAILED:
                claim = claim.values(status="running", finished_at=None, cancel_requested=0)
            else:
                return False
            resumed = plays.c.resumed + int(seen.status != "pending")
            return connection.execute(claim.values(owner_sid=owner_sid, resumed=resumed)).rowcount == 1

    def abandoned_plays(self, limit: int = 1000) -> tuple[Play, ...]:
        """Unfinished plays whose owner is gone, or that have none; oldest first."""
        unfinished = select(plays.c.sid, plays.c.owner_sid).where(plays.c.finished_at.is_(None), plays.c.status.in_(_UNFINISHED))
        with self._database.reading() as connection:
            held = connection.execute(unfinished.order_by(plays.c.sid)).all()
            alive = {sid: self.owner_alive(find_owner(connection, sid)) for sid in {row.owner_sid for row in held}}
            left = [row.sid for row in held if not alive[row.owner_sid]][:limit]
            query = select(plays).where(plays.c.sid.in_(left)).order_by(plays.c.sid)
            return tuple(map(read_play, connection.execute(query).mappings())) if left else ()

    def plays_held(self, owner_sid: str) -> frozenset[str]:
        """The unfinished plays of an owner."""
        query = select(plays.c.sid).where(plays.c.owner_sid == owner_sid, plays.c.finished_at.is_(None))
        with self._database.reading() as connection:
            return frozenset(connection.scalars(query))

    def plays_lost(self, owner_sid: str, sids: Iterable[str]) -> frozenset[str]:
        """Those of these plays that are another owner's now. One that is not stored yet is nobody else's."""
        query = select(plays.c.sid).where(plays.c.sid.in_(tuple(sids)), plays.c.owner_sid != owner_sid)
        with self._database.reading() as connection:
            return frozenset(connection.scalars(query))


def is_alive(owner: Owner | None) -> bool:
    """Whether a process can still be running what it holds."""
    if owner is None:
        return False
    if _is_local(owner):
        return process.pid_started(owner.pid) == owner.pid_started
    return owner.lease_until > now_ms()


def find_owner(connection: Connection, sid: str) -> Owner | None:
    """None where it has been released."""
    row = connection.execute(select(owners).where(owners.c.sid == sid)).mappings().one_or_none()
    return None if row is None else Owner(**row)


def unless_renewed(claim: Update, holder: Owner | None) -> Update:
    """A lease may be renewed between the look and the claim; on this machine the pid has spoken already."""
    if holder is None or _is_local(holder):
        return claim
    return claim.where(~exists().where(owners.c.sid == holder.sid, owners.c.lease_until > now_ms()))


def _is_local(owner: Owner) -> bool:
    return owner.host == process.host() and owner.boot_id == process.boot()


def _until(lease_s: float) -> int:
    return now_ms() + int(lease_s * 1000)
