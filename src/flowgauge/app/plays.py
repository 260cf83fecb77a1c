"""Start, resume and cancel plays."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from flowgauge.app.pins import key_variables, pin, pinned, references
from flowgauge.errors import Conflict, NotFound
from flowgauge.model.ids import PLAY, new_sid
from flowgauge.model.play import FINISHED, Failure, NodeRun, Play
from flowgauge.model.workflow import Json, Workflow, WorkflowVersion
from flowgauge.nodes.inputs import checked_inputs
from flowgauge.run.graph import Graph, with_config
from flowgauge.run.history import History

if TYPE_CHECKING:
    from flowgauge.app.workspace import Workspace
    from flowgauge.run.playing import Listener
    from flowgauge.store.store import Store


LATEST = "latest"
GONE = Failure(kind="cancelled", message="The play was cancelled after its owner was gone.")


def learn_keys(workspace: Workspace, workflow: Workflow) -> None:
    """Hide the values of environment variables that a workflow names for its keys, whatever they are called."""
    names = key_variables(workflow)
    if names:
        workspace.redact.learn(os.environ.get(name, "") for name in names)


class ReadyPlay(msgspec.Struct, frozen=True, kw_only=True):
    """All that the engine is handed."""

    play: Play
    graph: Graph
    workflows: Mapping[str, Workflow] = {}
    before: Sequence[NodeRun] = ()
    """What an earlier owner has stored of it."""


async def start_play(
    workspace: Workspace,
    version: WorkflowVersion,
    inputs: Mapping[str, Json],
    *,
    config: dict[str, Any] | None = None,
    name: str = "",
    listener: Listener | None = None,
) -> Play:
    """Run a version to its end. Raises BadInputs before anything is stored."""
    return await run_ready(workspace, await make_ready(workspace, version, inputs, config=config, name=name), listener)


async def make_ready(
    workspace: Workspace, version: WorkflowVersion, inputs: Mapping[str, Json], *, config: dict[str, Any] | None = None, name: str = ""
) -> ReadyPlay:
    """A new play of this process. Stores nothing. Raises BadInputs, or NotFound for a workflow that it names."""
    graph = with_config(version.content, config or {})
    values = checked_inputs(graph.workflow, inputs)
    learn_keys(workspace, graph.workflow)
    named = tuple(references(graph.workflow))
    pins = await asyncio.to_thread(pin, workspace.store, named) if named else {}
    play = Play(
        sid=new_sid(PLAY),
        workflow_sid=version.workflow_sid,
        version_sid=version.sid,
        name=name,
        inputs=values,
        config=config or {},
        pins=pins,
        owner_sid=workspace.owner.sid,
    )
    workflows = await asyncio.to_thread(pinned, workspace.store, pins) if pins else {}
    return ReadyPlay(play=play, graph=graph, workflows=workflows)


async def run_ready(workspace: Workspace, ready: ReadyPlay, listener: Listener | None = None) -> Play:
    """To its end."""
    return await workspace.engine.play(ready.graph, ready.play, workflows=ready.workflows, before=ready.before, listener=listener)


async def resume_play(workspace: Workspace, sid: str, *, listener: Listener | None = None) -> Play:
    """Finish a play from what is stored of it; a play that succeeded is given back as it is."""
    store = workspace.store
    play = await asyncio.to_thread(find_play, store, sid)
    if play.status == "success":
        return play
    if not await asyncio.to_thread(store.claim_play, play.sid, workspace.owner.sid, ended=True):
        who = await asyncio.to_thread(owner_words, store, play)
        raise Conflict(f"Play {play.sid} is being run by {who}.", remedy="Let it end, or cancel it.")
    return await run_ready(workspace, await asyncio.to_thread(taken_up, workspace, play), listener)


def taken_up(workspace: Workspace, play: Play) -> ReadyPlay:
    """A play that this process has claimed, with all that is stored of it."""
    store = workspace.store
    graph = with_config(store.get_version(play.version_sid).content, play.config)
    learn_keys(workspace, graph.workflow)
    again = msgspec.structs.replace(play, owner_sid=workspace.owner.sid, resumed=play.resumed + 1, error=None)
    return ReadyPlay(play=again, graph=graph, workflows=pinned(store, play.pins), before=store.get_node_runs(play.sid))


def cancel_play(store: Store, sid: str) -> str:
    """Ask the owner to stop; a play without a living owner ends here and now. Says what was done."""
    play = find_play(store, sid)
    if play.status in FINISHED:
        return f"Play {play.sid} has ended already: {play.status}."
    if store.claim_play(play.sid, ""):
        store.journal.play_finished(ended_play(play, store.get_node_runs(play.sid), GONE)).wait()
        return f"Play {play.sid} is cancelled; nobody was running it."
    store.request_cancel(play.sid)
    return f"Play {play.sid} will be stopped by {owner_words(store, play)}."


def ended_play(play: Play, runs: Sequence[NodeRun], failure: Failure) -> Play:
    """A play that nobody finishes, with what its stored nodes have spent."""
    spent = History(runs).usage
    return msgspec.structs.replace(
        play,
        status="cancelled" if failure.kind == "cancelled" else "failed",
        owner_sid="",
        error=failure,
        tokens_prompt=spent.tokens_prompt,
        tokens_completion=spent.tokens_completion,
        cost_usd=spent.cost_usd,
        cost_source=spent.cost_source,
    )


def find_play(store: Store, sid: str) -> Play:
    """A play by its sid, or the one that started last as `latest`."""
    if sid != LATEST:
        return store.get_play(sid)
    newest = store.list_plays(limit=1).items
    if not newest:
        raise NotFound("There is no play yet.", remedy="Start one: flowgauge run FILE")
    return store.get_play(newest[0].sid)


def workflow_names(store: Store, plays: Iterable[Play]) -> dict[str, str]:
    """The names of the workflows of some plays, by sid."""
    return {sid: store.get_workflow(sid).name for sid in {play.workflow_sid for play in plays}}


def owner_words(store: Store, play: Play) -> str:
    """Who runs a play, for people."""
    owner = store.get_owner(play.owner_sid)
    return f"process {owner.pid} on {owner.host}" if owner else "nobody known"
