"""Plays: started in the background, looked at, cancelled."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from flowgauge.app.host_events import known_subject
from flowgauge.app.operations.operation import LARGEST, Done, Operation, Paged, Params, about
from flowgauge.app.operations.workflows import WorkflowRef, find_version_of
from flowgauge.define.overrides import override_workflow
from flowgauge.errors import BadParameter
from flowgauge.model.play import NodeRun, Play, PlayStatus
from flowgauge.model.service import Event
from flowgauge.model.workflow import Json, WorkflowVersion
from flowgauge.nodes.codec import read_workflow
from flowgauge.store.page import Page

if TYPE_CHECKING:
    from flowgauge.app.host import Host
    from flowgauge.store.store import Store

PlayRef = Annotated[str, Meta(min_length=1, description="A play's sid.")]


class RunView(NodeRun, frozen=True, kw_only=True, omit_defaults=False):
    """One attempt of one node."""


class PlayView(Play, frozen=True, kw_only=True, omit_defaults=False):
    """A play; what was not asked for is null."""

    runs: tuple[RunView, ...] | None = None
    """Every attempt of every node, in the order in which they ended."""


class PlayStart(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to run, and with which inputs."""

    workflow_sid: WorkflowRef
    input_data: Annotated[dict[str, Json] | str, Meta(description="Values by input; or the same as JSON text.")] = {}
    name: Annotated[str, Meta(max_length=200, description="What people call this play.")] = ""
    version_sid: Annotated[str, Meta(description="By default the version in use.")] = ""
    example_sid: Annotated[str, Meta(description="An example whose values are taken; input_data is laid over them.")] = ""
    config: Annotated[dict[str, Json], Meta(description="Laid over the workflow's own config.")] = {}


class PlayGet(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which play."""

    sid: PlayRef
    with_runs: Annotated[bool, Meta(description="Also every attempt of every node, with its steps.")] = False


class PlaySid(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which play."""

    sid: PlayRef


class PlayList(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which plays."""

    workflow_sid: Annotated[str, Meta(description="Only of this workflow.")] = ""
    status: PlayStatus | None = None
    since: Annotated[int, Meta(ge=0, le=LARGEST, description="Started at this moment or later, in ms since 1970.")] = 0
    with_values: Annotated[bool, Meta(description="Also inputs and outputs: they may be large.")] = False


class PlayEvents(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which events, and how long to wait for the next."""

    sid: Annotated[str, Meta(description="Only of this play.")] = ""
    bench_id: Annotated[str, Meta(description="Only of this bench.")] = ""
    after: Annotated[int, Meta(ge=0, le=LARGEST, description="The id of the last event that was seen.")] = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    wait_s: Annotated[float, Meta(ge=0, le=30, description="Where there is none yet: wait so long for one.")] = 0.0


class Events(msgspec.Struct, frozen=True, kw_only=True):
    """What happened, oldest first."""

    items: tuple[Event, ...]
    last_id: int
    """What to ask after next time."""


async def play_start(host: Host, params: PlayStart) -> PlayView:
    """On disk when this answers; running, or pending where too many run already."""
    version, inputs = await asyncio.to_thread(_asked, host.store, params)
    with about("config"):
        override_workflow(read_workflow(version.content), {"config": params.config}, "config")
    with about("input_data"):
        return _view(await host.start_play(version, inputs, config=params.config, name=params.name))


async def play_get(host: Host, params: PlayGet) -> PlayView:
    """Raises NotFound."""
    play = await asyncio.to_thread(host.store.get_play, params.sid)
    return _view(play, await asyncio.to_thread(host.store.get_node_runs, params.sid) if params.with_runs else None)


async def play_list(host: Host, params: PlayList) -> Page[PlayView]:
    """Newest first."""
    page = await asyncio.to_thread(
        host.store.list_plays,
        params.cursor or None,
        params.limit,
        workflow=params.workflow_sid or None,
        status=params.status,
        since=params.since or None,
        with_values=params.with_values,
    )
    return Page(tuple(map(_view, page.items)), page.next_cursor)


async def play_cancel(host: Host, params: PlaySid) -> PlayView:
    """It ends within a second where it runs here, within a few elsewhere. A play that has ended stays as it is."""
    return _view(await host.cancel_play(params.sid))


async def play_delete(host: Host, params: PlaySid) -> Done:
    """Conflict while it runs."""
    await asyncio.to_thread(host.store.delete_play, params.sid)
    return Done(sid=params.sid, message=f"The play {params.sid} is deleted.")


async def play_events(host: Host, params: PlayEvents) -> Events:
    """Poll form of the stream at /events. Raises NotFound for a play or bench that is not there."""
    with about("bench_id"):
        bench_id = await asyncio.to_thread(known_subject, host.store, params.sid, params.bench_id)
    found = await host.hub.after(params.after, limit=params.limit, wait_s=params.wait_s, play_sid=params.sid, bench_id=bench_id)
    return Events(items=tuple(found), last_id=found[-1].id if found else params.after)


def _asked(store: Store, params: PlayStart) -> tuple[WorkflowVersion, dict[str, Json]]:
    record, version = find_version_of(store, params.workflow_sid, params.version_sid)
    given = _values(params.input_data)
    if not params.example_sid:
        return version, given
    with about("example_sid"):
        return version, {**store.get_example(record.sid, params.example_sid).input_values, **given}


def _values(given: dict[str, Json] | str) -> dict[str, Json]:
    if isinstance(given, dict):
        return given
    try:
        return msgspec.json.decode(given or "{}", type=dict[str, Json])
    except msgspec.MsgspecError as error:
        raise BadParameter("input_data", f"input_data is no JSON object: {error}.", remedy="Give an object, or its JSON text.") from error


def _view(play: Play, runs: tuple[NodeRun, ...] | None = None) -> PlayView:
    seen = None if runs is None else tuple(RunView(**{name: getattr(run, name) for name in NodeRun.__struct_fields__}) for run in runs)
    return PlayView(**{name: getattr(play, name) for name in Play.__struct_fields__}, runs=seen)


ROWS = (
    Operation(
        name="play_start",
        scope="run",
        params=PlayStart,
        result=PlayView,
        run=play_start,
        summary="Start a play of a workflow; answers at once while it goes on in the background.",
    ),
    Operation(name="play_get", scope="read", params=PlayGet, result=PlayView, run=play_get, summary="A play as it stands now."),
    Operation(name="play_list", scope="read", params=PlayList, result=Page[PlayView], run=play_list, summary="Plays, newest first."),
    Operation(name="play_cancel", scope="run", params=PlaySid, result=PlayView, run=play_cancel, summary="Ask for a play's end."),
    Operation(name="play_delete", scope="admin", params=PlaySid, result=Done, run=play_delete, summary="Delete a play that has ended."),
    Operation(
        name="play_events",
        scope="read",
        params=PlayEvents,
        result=Events,
        run=play_events,
        summary="What happened after an event that was seen last, of one play, one bench or all; waits where asked to.",
    ),
)
