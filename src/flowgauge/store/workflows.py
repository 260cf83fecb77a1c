"""Workflows and their versions in the store."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, RowMapping, Select, delete, func, or_, select, update

from flowgauge.errors import Conflict, NotFound, UsageError
from flowgauge.model.ids import VERSION, WORKFLOW, new_sid
from flowgauge.model.workflow import WorkflowRecord, WorkflowVersion
from flowgauge.store.database import Database, now_ms
from flowgauge.store.page import DEFAULT_LIMIT, Order, Page, fetch_page
from flowgauge.store.removal import hold_baselines, refuse_baselines, remove_benches
from flowgauge.store.rows import RowEncoder
from flowgauge.store.schema import benches, benchmarks, examples, node_runs, plays, workflow_versions, workflows

SHORTEST_HASH = 4
VersionRef = str | tuple[str, int]
"""A sid, the beginning of a hash, or (workflow, number)."""


class Workflows:
    """The part of a Store that keeps workflows."""

    _database: Database
    _encoder: RowEncoder

    def save_version(
        self, workflow_name: str, description: str, content: bytes, content_hash: str, *, make_current: bool = True
    ) -> tuple[WorkflowRecord, WorkflowVersion, bool]:
        """Keep a state of a workflow; the third answer says whether it is a new version.

        Safe against others who save at the same moment. The first version of a
        workflow is always the current one.
        """
        if self._encoder.hides(content.decode(errors="replace")):
            raise UsageError(
                f"The workflow {workflow_name} holds a secret, and a version is stored as it is.",
                remedy="Name the environment variable that holds it (api_key_env) instead of its value.",
            )
        with self._database.writing() as connection:
            record = self._held(connection, workflow_name, description)
            version = _by_hash(connection, record.sid, content_hash)
            created = version is None
            if version is None:
                version = _append(connection, record.sid, content, content_hash)
            if make_current or not record.current_version_sid:
                description = self._encoder.redacted(description)
                if (record.current_version_sid, record.description) != (version.sid, description):
                    record = _change(connection, record.sid, current_version_sid=version.sid, description=description)
            return record, version, created

    def get_workflow(self, name_or_sid: str) -> WorkflowRecord:
        """By name or sid. NotFound says what there is instead."""
        with self._database.reading() as connection:
            return _find(connection, name_or_sid)

    def list_workflows(self, cursor: str | None = None, limit: int = DEFAULT_LIMIT, *, containing: str = "") -> Page[WorkflowRecord]:
        """By name. `containing`: only those with this text in their name or description, in small or capital letters."""
        query = select(workflows)
        if containing:
            query = query.where(
                or_(workflows.c.name.icontains(containing, autoescape=True), workflows.c.description.icontains(containing, autoescape=True))
            )
        with self._database.reading() as connection:
            return fetch_page(connection, query, Order("workflows", workflows.c.name), _record, cursor, limit)

    def get_version(self, ref: VersionRef, *, workflow: str | None = None) -> WorkflowVersion:
        """By sid, by the beginning of its hash (within `workflow`, where given), or by (workflow, number)."""
        with self._database.reading() as connection:
            if isinstance(ref, tuple):
                return _by_number(connection, *ref)
            if ref.startswith(f"{VERSION}_"):
                return _only(connection, select(workflow_versions).where(workflow_versions.c.sid == ref), ref)
            return _by_hash_prefix(connection, ref, workflow)

    def current_version(self, name_or_sid: str) -> WorkflowVersion:
        """The version in use."""
        return self.get_version(self.get_workflow(name_or_sid).current_version_sid)

    def list_versions(self, name_or_sid: str, cursor: str | None = None, limit: int = DEFAULT_LIMIT) -> Page[WorkflowVersion]:
        """Newest first."""
        with self._database.reading() as connection:
            sid = _find(connection, name_or_sid).sid
            query = select(workflow_versions).where(workflow_versions.c.workflow_sid == sid)
            order = Order(f"versions of {sid}", workflow_versions.c.number, descending=True)
            return fetch_page(connection, query, order, _version, cursor, limit)

    def make_current(self, ref: VersionRef, *, workflow: str | None = None) -> WorkflowRecord:
        """Put a version in use."""
        version = self.get_version(ref, workflow=workflow)
        with self._database.writing() as connection:
            return _change(connection, version.workflow_sid, current_version_sid=version.sid)

    def delete_workflow(self, name_or_sid: str, *, force: bool = False) -> int:
        """With its versions and examples. Refused while plays or benches name it, unless forced: then they go too. How many plays went.

        Conflict also where a baseline stands on one of its benches.
        """
        with self._database.writing() as connection:
            hold_baselines(self._database.backend, connection)
            record = _find(connection, name_or_sid, lock=True)
            versions = select(workflow_versions.c.sid).where(workflow_versions.c.workflow_sid == record.sid)
            of_it, uids = plays.c.workflow_sid == record.sid, select(benches.c.uid).where(benches.c.version_sid.in_(versions))
            count, measured = _count(connection, select(plays.c.sid).where(of_it)), _count(connection, uids)
            if (count or measured) and not force:
                names = f"{count} plays and {measured} benches" if measured else f"{count} plays"
                raise Conflict(f"The workflow {record.name} has {names}.", remedy="Delete it with all of them by --force.")
            measurements = or_(benchmarks.c.bench_uid.in_(uids), benchmarks.c.workflow_sid == record.sid)
            refuse_baselines(connection, f"The workflow {record.name}", measurements)
            remove_benches(connection, uids)
            connection.execute(delete(node_runs).where(node_runs.c.play_sid.in_(select(plays.c.sid).where(of_it))))
            connection.execute(delete(plays).where(of_it))
            for table in (benchmarks, examples, workflow_versions):
                connection.execute(delete(table).where(table.c.workflow_sid == record.sid))
            connection.execute(delete(workflows).where(workflows.c.sid == record.sid))
            return count

    def _held(self, connection: Connection, name: str, description: str) -> WorkflowRecord:
        """The workflow's row, made where it is not there, and held until the transaction ends.

        The update is what holds it: it also waits for, and sees past, another's insert or delete.
        """
        moment = now_ms()
        row = {"sid": new_sid(WORKFLOW), "name": name, "description": self._encoder.redacted(description), "current_version_sid": ""}
        insert = self._database.backend.insert(workflows).values(**row, created_at=moment, updated_at=moment)
        statement = insert.on_conflict_do_update(index_elements=["name"], set_={"updated_at": workflows.c.updated_at}).returning(
            *workflows.c
        )
        return _record(connection.execute(statement).mappings().one())


def _count(connection: Connection, keys: Select[tuple[str]]) -> int:
    return connection.scalar(select(func.count()).select_from(keys.subquery())) or 0


def _record(row: RowMapping) -> WorkflowRecord:
    return WorkflowRecord(**{name: row[name] for name in WorkflowRecord.__struct_fields__})


def _version(row: RowMapping) -> WorkflowVersion:
    return WorkflowVersion(**{name: row[name] for name in WorkflowVersion.__struct_fields__})


def find_workflow(connection: Connection, name_or_sid: str) -> WorkflowRecord:
    """For the other parts of the store."""
    return _find(connection, name_or_sid)


def _find(connection: Connection, name_or_sid: str, *, lock: bool = False) -> WorkflowRecord:
    """A name wins over a sid of the same spelling."""
    query = select(workflows).where(or_(workflows.c.name == name_or_sid, workflows.c.sid == name_or_sid))
    rows = connection.execute(query.with_for_update() if lock else query).mappings().all()
    if not rows:
        raise NotFound(f"No workflow {name_or_sid!r} is stored.", remedy="See what there is with: flowgauge workflow list")
    return _record(next((row for row in rows if row["name"] == name_or_sid), rows[0]))


def _change(connection: Connection, sid: str, **values: str) -> WorkflowRecord:
    statement = update(workflows).where(workflows.c.sid == sid).values(**values, updated_at=now_ms()).returning(*workflows.c)
    return _record(connection.execute(statement).mappings().one())


def _append(connection: Connection, workflow_sid: str, content: bytes, content_hash: str) -> WorkflowVersion:
    last = connection.scalar(select(func.max(workflow_versions.c.number)).where(workflow_versions.c.workflow_sid == workflow_sid))
    version = WorkflowVersion(
        sid=new_sid(VERSION), workflow_sid=workflow_sid, number=(last or 0) + 1, hash=content_hash, content=content, created_at=now_ms()
    )
    values = {name: getattr(version, name) for name in version.__struct_fields__}
    connection.execute(workflow_versions.insert().values(**values))
    return version


def _by_hash(connection: Connection, workflow_sid: str, content_hash: str) -> WorkflowVersion | None:
    table = workflow_versions
    query = select(table).where(table.c.workflow_sid == workflow_sid, table.c.hash == content_hash)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else _version(row)


def _by_number(connection: Connection, name_or_sid: str, number: int) -> WorkflowVersion:
    record = _find(connection, name_or_sid)
    query = select(workflow_versions).where(workflow_versions.c.workflow_sid == record.sid, workflow_versions.c.number == number)
    return _only(connection, query, f"{number} of {record.name}")


def _by_hash_prefix(connection: Connection, prefix: str, workflow: str | None) -> WorkflowVersion:
    if len(prefix) < SHORTEST_HASH:
        raise UsageError(
            f"{prefix!r} names no version.", remedy=f"Give a sid, a number, or at least {SHORTEST_HASH} characters of the hash."
        )
    query = select(workflow_versions).where(workflow_versions.c.hash.startswith(prefix.lower(), autoescape=True)).limit(2)
    if workflow is not None:
        query = query.where(workflow_versions.c.workflow_sid == _find(connection, workflow).sid)
    return _only(connection, query, prefix)


def _only(connection: Connection, query: Select[Any], subject: str) -> WorkflowVersion:
    rows = connection.execute(query).mappings().all()
    if not rows:
        raise NotFound(f"No version {subject} is stored.", remedy="See what there is with: flowgauge workflow versions NAME")
    if len(rows) > 1:
        raise UsageError(f"Several versions begin with {subject}.", remedy="Give more of the hash, or the sid.")
    return _version(rows[0])
