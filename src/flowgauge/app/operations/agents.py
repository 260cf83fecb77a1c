"""Baselines of agents: captured, validated, compared, told over time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from flowgauge.app.agent_facts import LAST, MOST
from flowgauge.app.agents import AgentBaselines, AgentVersion
from flowgauge.app.data_folder import data_folder
from flowgauge.app.operations.operation import LARGEST, Done, Operation, Params
from flowgauge.registry.agents.agent import LONGEST_ID, agent_of
from flowgauge.registry.agents.changes import AgentChanges, AgentTrend
from flowgauge.registry.agents.snapshot import LONGEST_TEXT, AgentSnapshot, Sections
from flowgauge.registry.agents.triggers import Trigger
from flowgauge.registry.agents.validation import Validation

if TYPE_CHECKING:
    from flowgauge.app.host import Host

PromptId = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID, description="Any name.")]
FlowId = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID, description="A stored workflow, by name or sid; or any name.")]
Version = Annotated[int, Meta(ge=1, le=LARGEST)]
Last = Annotated[int, Meta(ge=1, le=MOST, description="Plays that are counted, at the most.")]
Posted = Annotated[Sections, Meta(description="Sections that are handed in instead of being computed.")]
_NOTHING_POSTED = Sections()


class AgentNamed(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which agent."""

    prompt_id: PromptId
    flow_id: FlowId


class AgentCapture(AgentNamed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of which agent, and why."""

    trigger: Annotated[Trigger, Meta(description="What made it be captured.")]
    user_id: Annotated[str, Meta(max_length=LONGEST_TEXT, description="Who changed it.")] = ""
    user_prompt: Annotated[str, Meta(max_length=LONGEST_TEXT, description="What that user had asked for.")] = ""
    sections: Posted = _NOTHING_POSTED
    last: Last = LAST


class AgentValidate(AgentNamed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which agent, by what."""

    sections: Posted = _NOTHING_POSTED
    last: Last = LAST
    min_plays: Annotated[int, Meta(ge=1, le=MOST, description="With fewer since the baseline, actions are not judged.")] = 1


class AgentCompare(AgentNamed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which versions."""

    old_version: Version
    new_version: Version


class AgentGet(AgentNamed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which snapshot."""

    version: Annotated[int, Meta(ge=0, le=LARGEST, description="0: the newest.")] = 0


class AgentDelete(AgentNamed, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which of its snapshots."""

    version: Annotated[int, Meta(ge=0, le=LARGEST, description="0: all of them.")] = 0


class AgentList(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of one agent, or of all."""

    prompt_id: Annotated[str, Meta(max_length=LONGEST_ID, description="Empty, as flow_id then is: of all agents.")] = ""
    flow_id: Annotated[str, Meta(max_length=LONGEST_ID)] = ""


def _agents(host: Host) -> AgentBaselines:
    return AgentBaselines(host.store, data_folder(host.store.place))


async def agent_capture(host: Host, params: AgentCapture) -> AgentSnapshot | None:
    """None for a recipe_change within 60 seconds of the creation."""
    return await asyncio.to_thread(
        _agents(host).capture_snapshot,
        params.prompt_id,
        params.flow_id,
        params.trigger,
        params.user_id,
        params.user_prompt,
        sections=params.sections,
        last=params.last,
    )


async def agent_validate(host: Host, params: AgentValidate) -> Validation:
    """A regression is a result, not an error."""
    return await asyncio.to_thread(
        _agents(host).validate_against_baseline,
        params.prompt_id,
        params.flow_id,
        sections=params.sections,
        last=params.last,
        min_plays=params.min_plays,
    )


async def agent_compare(host: Host, params: AgentCompare) -> AgentChanges:
    """Raises NotFound."""
    versions = params.old_version, params.new_version
    return await asyncio.to_thread(_agents(host).compare_snapshots, params.prompt_id, params.flow_id, *versions)


async def agent_trend(host: Host, params: AgentNamed) -> AgentTrend:
    """Over all snapshots."""
    return await asyncio.to_thread(_agents(host).compute_trend, params.prompt_id, params.flow_id)


async def agent_get(host: Host, params: AgentGet) -> AgentSnapshot:
    """Raises NotFound."""
    return await asyncio.to_thread(_agents(host).get_snapshot, params.prompt_id, params.flow_id, params.version)


async def agent_list(host: Host, params: AgentList) -> tuple[AgentVersion, ...]:
    """By agent, then version."""
    return tuple(await asyncio.to_thread(_agents(host).list_versions, params.prompt_id, params.flow_id))


async def agent_delete(host: Host, params: AgentDelete) -> Done:
    """Raises NotFound."""
    gone = await asyncio.to_thread(_agents(host).remove_snapshots, params.prompt_id, params.flow_id, params.version)
    named, versions = str(agent_of(params.prompt_id, params.flow_id)), ", ".join(f"v{number}" for number in gone)
    return Done(sid=named, message=f"Of the agent {named} {versions} {'is' if len(gone) == 1 else 'are'} deleted.")


ROWS = (
    Operation(
        name="agent_capture",
        scope="run",
        params=AgentCapture,
        result=AgentSnapshot | None,
        run=agent_capture,
        summary="Keep how an agent does now as the next version of its baseline.",
    ),
    Operation(
        name="agent_validate",
        scope="read",
        params=AgentValidate,
        result=Validation,
        run=agent_validate,
        summary="Tell whether an agent still does as well as its baseline.",
    ),
    Operation(
        name="agent_compare",
        scope="read",
        params=AgentCompare,
        result=AgentChanges,
        run=agent_compare,
        summary="What changed from one snapshot of an agent to another.",
    ),
    Operation(
        name="agent_trend",
        scope="read",
        params=AgentNamed,
        result=AgentTrend,
        run=agent_trend,
        summary="Where an agent is going, over all its snapshots.",
    ),
    Operation(name="agent_get", scope="read", params=AgentGet, result=AgentSnapshot, run=agent_get, summary="One snapshot of an agent."),
    Operation(
        name="agent_list",
        scope="read",
        params=AgentList,
        result=tuple[AgentVersion, ...],
        run=agent_list,
        summary="The snapshots of an agent, or of all, by version.",
    ),
    Operation(
        name="agent_delete",
        scope="admin",
        params=AgentDelete,
        result=Done,
        run=agent_delete,
        summary="Delete one snapshot of an agent, or all of them.",
    ),
)
