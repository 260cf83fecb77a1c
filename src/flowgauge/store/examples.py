"""Examples: stored inputs of workflows."""

from __future__ import annotations

from sqlalchemy import Connection, or_, select
from sqlalchemy.engine import RowMapping

from flowgauge.errors import Conflict, NotFound
from flowgauge.model.ids import EXAMPLE, new_sid
from flowgauge.model.workflow import Example, Json
from flowgauge.store.database import Database, now_ms
from flowgauge.store.page import DEFAULT_LIMIT, Order, Page, fetch_page
from flowgauge.store.rows import RowEncoder, read_example
from flowgauge.store.schema import examples
from flowgauge.store.workflows import find_workflow


class Examples:
    """The part of a Store that keeps examples."""

    _database: Database
    _encoder: RowEncoder

    def add_example(
        self,
        workflow: str,
        name: str,
        input_values: dict[str, Json],
        *,
        description: str = "",
        workflow_version_sid: str = "",
        replace: bool = False,
    ) -> Example:
        """Conflict where the workflow has an example of that name, unless it is to be replaced: its sid stays.

        Without a version: the current one.
        """
        with self._database.writing() as connection:
            record = find_workflow(connection, workflow)
            sid = new_sid(EXAMPLE)
            row = {
                "sid": sid,
                "workflow_sid": record.sid,
                "workflow_version_sid": workflow_version_sid or record.current_version_sid,
                "name": name,
                "description": self._encoder.redacted(description),
                "input_values": self._encoder.json(input_values, sid) if input_values else None,
                "created_at": now_ms(),
            }
            insert = self._database.backend.insert(examples).values(**row)
            if replace:
                changed = {key: value for key, value in row.items() if key not in ("sid", "created_at")}
                insert = insert.on_conflict_do_update(index_elements=["workflow_sid", "name"], set_=changed)
            else:
                insert = insert.on_conflict_do_nothing()
            stored = connection.scalar(insert.returning(examples.c.sid))
            if stored is None:
                raise Conflict(f"{record.name} has an example named {name!r} already.", remedy="Delete it first, or choose another name.")
            return read_example(_row(connection, stored, record.sid))

    def get_example(self, workflow: str, name_or_sid: str) -> Example:
        """By name or sid."""
        with self._database.reading() as connection:
            return read_example(_row(connection, name_or_sid, find_workflow(connection, workflow).sid))

    def list_examples(self, workflow: str, cursor: str | None = None, limit: int = DEFAULT_LIMIT) -> Page[Example]:
        """By name."""
        with self._database.reading() as connection:
            sid = find_workflow(connection, workflow).sid
            query = select(examples).where(examples.c.workflow_sid == sid)
            return fetch_page(connection, query, Order(f"examples of {sid}", examples.c.name), read_example, cursor, limit)

    def delete_example(self, workflow: str, name_or_sid: str) -> None:
        """NotFound where there is none."""
        with self._database.writing() as connection:
            row = _row(connection, name_or_sid, find_workflow(connection, workflow).sid)
            connection.execute(examples.delete().where(examples.c.sid == row["sid"]))


def _row(connection: Connection, name_or_sid: str, workflow_sid: str) -> RowMapping:
    named = or_(examples.c.name == name_or_sid, examples.c.sid == name_or_sid)
    row = connection.execute(select(examples).where(examples.c.workflow_sid == workflow_sid, named)).mappings().first()
    if row is None:
        raise NotFound(f"No example {name_or_sid!r} is stored.", remedy="See what there is with: flowgauge example list WORKFLOW")
    return row
