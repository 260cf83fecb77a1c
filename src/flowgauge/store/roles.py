"""Work that one process does for all who share a store, such as the daemon's.

Whoever does it is an owner with a lease. A role changes hands by one
compare-and-set, and only where its holder is gone or has let go.
"""

from __future__ import annotations

from sqlalchemy import delete, select, update

from flowgauge.model.play import Owner
from flowgauge.store.database import Database
from flowgauge.store.owners import find_owner, is_alive, unless_renewed
from flowgauge.store.schema import meta


class Roles:
    """The part of a Store that knows who does what."""

    _database: Database

    def claim_role(self, role: str, owner_sid: str) -> bool:
        """True where this owner has it, now or already. False where another that is alive does."""
        key = f"role:{role}"
        with self._database.writing() as connection:
            free = self._database.backend.insert(meta).values(key=key, value="").on_conflict_do_nothing(index_elements=["key"])
            connection.execute(free)
            held_by = connection.scalar(select(meta.c.value).where(meta.c.key == key))
            if held_by == owner_sid:
                return True
            holder = find_owner(connection, held_by or "")
            if is_alive(holder):
                return False
            taken = unless_renewed(update(meta).where(meta.c.key == key, meta.c.value == held_by), holder)
            return connection.execute(taken.values(value=owner_sid)).rowcount == 1

    def role_holder(self, role: str) -> Owner | None:
        """None where nobody alive has it."""
        with self._database.reading() as connection:
            held_by = connection.scalar(select(meta.c.value).where(meta.c.key == f"role:{role}"))
            holder = find_owner(connection, held_by or "")
        return holder if is_alive(holder) else None

    def release_role(self, role: str, owner_sid: str) -> None:
        """Others may have it at once."""
        with self._database.writing() as connection:
            connection.execute(delete(meta).where(meta.c.key == f"role:{role}", meta.c.value == owner_sid))
