"""Workflows and their versions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from flowgauge.app.operations.operation import Done, Operation, Paged, Params, about
from flowgauge.app.workflows import Saved, save_workflow
from flowgauge.define.diff import Diff, diff_workflows, render_diff
from flowgauge.define.workflow import parse_workflow, parse_workflow_text
from flowgauge.errors import BadParameter, Conflict
from flowgauge.model.play import PlayStatus
from flowgauge.model.workflow import InputDecl, Json, WorkflowRecord, WorkflowVersion
from flowgauge.nodes.codec import read_workflow
from flowgauge.store.page import Page

if TYPE_CHECKING:
    from flowgauge.app.host import Host
    from flowgauge.store.store import Store

WorkflowRef = Annotated[str, Meta(min_length=1, description="A workflow's sid, or its name.")]
VersionRef = Annotated[str, Meta(min_length=1, description="A version's sid, or at least four characters of its hash.")]


class VersionItem(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable state of a workflow, without its content."""

    sid: str
    workflow_sid: str
    number: int
    hash: str
    created_at: int
    current: bool
    """Is it the one in use?"""


class VersionView(VersionItem, frozen=True, kw_only=True):
    """With its content."""

    name: str
    inputs: tuple[InputDecl, ...]
    definition: dict[str, Json]
    """As a workflow file would hold it; defaults left out."""


class WorkflowView(WorkflowRecord, frozen=True, kw_only=True):
    """A workflow with its version in use, or the one that was asked for."""

    version: VersionItem
    inputs: tuple[InputDecl, ...]
    definition: dict[str, Json]


class WorkflowSaved(WorkflowView, frozen=True, kw_only=True):
    """A workflow after it was saved."""

    created: bool
    """False where this very content was there before: then it is the same version."""
    warnings: tuple[str, ...] = ()


class VersionDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What changed from one version to another."""

    old: VersionItem
    new: VersionItem
    diff: Diff
    text: str
    """The same for people, one change a line."""


class WorkflowFind(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which workflows."""

    text: Annotated[str, Meta(min_length=1, max_length=200, description="Stands in the name or the description; case does not matter.")]


class WorkflowGet(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which workflow, and which version of it."""

    sid: WorkflowRef
    version_sid: Annotated[str, Meta(description="By default the version in use.")] = ""


class WorkflowSet(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A definition, as an object or as the text of a workflow file. It names the workflow."""

    definition: Annotated[dict[str, Json], Meta(description="What a workflow file holds.")] | None = None
    text: Annotated[str, Meta(description="Or a workflow file's text, YAML or JSON. It may name no other files.")] = ""
    make_current: Annotated[bool, Meta(description="Put it in use. The first version of a workflow always is.")] = True


class WorkflowDelete(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which workflow."""

    sid: WorkflowRef
    force: Annotated[bool, Meta(description="Also where it has plays or benches: then they go too.")] = False


class VersionList(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of which workflow."""

    workflow_sid: WorkflowRef


class VersionFetch(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which version."""

    version_sid: VersionRef


class VersionCompare(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which two versions."""

    old_version_sid: VersionRef
    new_version_sid: VersionRef


async def workflow_list(host: Host, params: Paged) -> Page[WorkflowRecord]:
    """By name."""
    return await asyncio.to_thread(host.store.list_workflows, params.cursor or None, params.limit)


async def workflow_find(host: Host, params: WorkflowFind) -> Page[WorkflowRecord]:
    """By name."""
    return await asyncio.to_thread(host.store.list_workflows, params.cursor or None, params.limit, containing=params.text)


async def workflow_get(host: Host, params: WorkflowGet) -> WorkflowView:
    """Raises NotFound."""
    return await asyncio.to_thread(_workflow, host.store, params.sid, params.version_sid)


async def workflow_set(host: Host, params: WorkflowSet) -> WorkflowSaved:
    """Raises BadFile with every mistake."""
    return await asyncio.to_thread(_save, host.store, params)


async def workflow_delete(host: Host, params: WorkflowDelete) -> Done:
    """Conflict where something of it is in the way."""
    record = await asyncio.to_thread(host.store.get_workflow, params.sid)
    await asyncio.to_thread(_refuse_running, host.store, record)
    plays = await asyncio.to_thread(host.store.delete_workflow, record.sid, force=params.force)
    return Done(sid=record.sid, message=f"The workflow {record.name} is deleted, and {plays} plays with it.")


async def workflow_version_list(host: Host, params: VersionList) -> Page[VersionItem]:
    """Newest first."""
    return await asyncio.to_thread(_versions, host.store, params)


async def workflow_version_fetch(host: Host, params: VersionFetch) -> VersionView:
    """Raises NotFound."""
    return await asyncio.to_thread(_version_view, host.store, params.version_sid)


async def workflow_version_diff(host: Host, params: VersionCompare) -> VersionDiff:
    """Of one workflow or of two."""
    return await asyncio.to_thread(_diff, host.store, params)


async def workflow_version_make_current(host: Host, params: VersionFetch) -> WorkflowRecord:
    """Plays that are under way keep theirs."""
    return await asyncio.to_thread(host.store.make_current, params.version_sid)


def _refuse_running(store: Store, record: WorkflowRecord) -> None:
    """What is under way would be written again when it ends."""
    statuses: tuple[PlayStatus, ...] = ("running", "pending")
    for status in statuses:
        if found := store.list_plays(limit=1, workflow=record.sid, status=status).items:
            raise Conflict(f"The play {found[0].sid} of {record.name} is {status}.", remedy="Cancel it, or let it end.")


def find_version_of(
    store: Store, workflow_sid: str, version_sid: str, *, fields: tuple[str, str] = ("workflow_sid", "version_sid")
) -> tuple[WorkflowRecord, WorkflowVersion]:
    """The version asked for, or the one in use. Raises NotFound, or BadParameter where it is another workflow's; `fields`: their names."""
    with about(fields[0]):
        record = store.get_workflow(workflow_sid)
    if not version_sid:
        return record, store.get_version(record.current_version_sid)
    with about(fields[1]):
        version = store.get_version(version_sid, workflow=record.sid)
    if version.workflow_sid != record.sid:
        raise BadParameter(fields[1], f"{version_sid} is no version of {record.name}.", remedy="See: workflow_version_list")
    return record, version


def _workflow(store: Store, sid: str, version_sid: str) -> WorkflowView:
    record, version = find_version_of(store, sid, version_sid, fields=("sid", "version_sid"))
    return WorkflowView(**msgspec.structs.asdict(record), version=_item(version, record), **_content(version))


def _save(store: Store, params: WorkflowSet) -> WorkflowSaved:
    if (params.definition is None) == (not params.text):
        raise BadParameter("definition", "Give either a definition or a text.", remedy="definition is an object, text a file's content.")
    with about("text" if params.text else "definition"):
        loaded = parse_workflow_text(params.text) if params.text else parse_workflow(params.definition)
        warnings = tuple(str(problem) for problem in loaded.warnings)
        return saved_view(save_workflow(store, loaded.workflow, make_current=params.make_current, warnings=warnings))


def saved_view(saved: Saved) -> WorkflowSaved:
    """A workflow as callers see it after it was saved."""
    record, version = saved.record, saved.version
    return WorkflowSaved(
        **msgspec.structs.asdict(record),
        version=_item(version, record),
        **_content(version),
        created=saved.created,
        warnings=saved.warnings,
    )


def _versions(store: Store, params: VersionList) -> Page[VersionItem]:
    with about("workflow_sid"):
        record = store.get_workflow(params.workflow_sid)
    page = store.list_versions(record.sid, params.cursor or None, params.limit)
    return Page(tuple(_item(version, record) for version in page.items), page.next_cursor)


def _version_view(store: Store, version_sid: str) -> VersionView:
    version = store.get_version(version_sid)
    record = store.get_workflow(version.workflow_sid)
    return VersionView(**msgspec.structs.asdict(_item(version, record)), name=record.name, **_content(version))


def _diff(store: Store, params: VersionCompare) -> VersionDiff:
    with about("old_version_sid"):
        old = store.get_version(params.old_version_sid)
    with about("new_version_sid"):
        new = store.get_version(params.new_version_sid)
    diff = diff_workflows(read_workflow(old.content), read_workflow(new.content))
    items = [_item(version, store.get_workflow(version.workflow_sid)) for version in (old, new)]
    return VersionDiff(old=items[0], new=items[1], diff=diff, text=render_diff(diff))


def _item(version: WorkflowVersion, record: WorkflowRecord) -> VersionItem:
    plain = {name: getattr(version, name) for name in ("sid", "workflow_sid", "number", "hash", "created_at")}
    return VersionItem(**plain, current=version.sid == record.current_version_sid)


def _content(version: WorkflowVersion) -> dict[str, Json]:
    return {"inputs": read_workflow(version.content).inputs, "definition": msgspec.json.decode(version.content)}


ROWS = (
    Operation(
        name="workflow_list",
        scope="read",
        params=Paged,
        result=Page[WorkflowRecord],
        run=workflow_list,
        summary="All workflows, by name.",
    ),
    Operation(
        name="workflow_find",
        scope="read",
        params=WorkflowFind,
        result=Page[WorkflowRecord],
        run=workflow_find,
        summary="Workflows with a text in their name or description, by name.",
    ),
    Operation(
        name="workflow_get",
        scope="read",
        params=WorkflowGet,
        result=WorkflowView,
        run=workflow_get,
        summary="A workflow with its declared inputs and the definition of one version.",
    ),
    Operation(
        name="workflow_set",
        scope="run",
        params=WorkflowSet,
        result=WorkflowSaved,
        run=workflow_set,
        summary="Save a definition as a version of the workflow that it names.",
    ),
    Operation(
        name="workflow_delete",
        scope="admin",
        params=WorkflowDelete,
        result=Done,
        run=workflow_delete,
        summary="Delete a workflow with its versions and examples.",
    ),
    Operation(
        name="workflow_version_list",
        scope="read",
        params=VersionList,
        result=Page[VersionItem],
        run=workflow_version_list,
        summary="The versions of a workflow, newest first.",
    ),
    Operation(
        name="workflow_version_fetch",
        scope="read",
        params=VersionFetch,
        result=VersionView,
        run=workflow_version_fetch,
        summary="One version with its definition.",
    ),
    Operation(
        name="workflow_version_diff",
        scope="read",
        params=VersionCompare,
        result=VersionDiff,
        run=workflow_version_diff,
        summary="What changed from one version to another.",
    ),
    Operation(
        name="workflow_version_make_current",
        scope="run",
        params=VersionFetch,
        result=WorkflowRecord,
        run=workflow_version_make_current,
        summary="Put a version in use.",
    ),
)
