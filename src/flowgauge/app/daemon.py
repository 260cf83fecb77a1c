"""The daemon: every so many ticks it validates every known agent, and keeps evidence of what became worse.

Of all daemons on one store one does the work: it holds a role, by its lease. The
others wait for it to go. One agent that cannot be validated does not keep the
others from it, and the same data make evidence only once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import msgspec
from msgspec import Meta

from flowgauge.app.agent_facts import LAST, MOST
from flowgauge.app.agents import AgentBaselines, check_plays
from flowgauge.app.data_folder import data_folder
from flowgauge.errors import FlowgaugeError, StoreFailure
from flowgauge.model.workflow import Json

if TYPE_CHECKING:
    from flowgauge.app.host import Host
    from flowgauge.registry.agents.agent import Agent
    from flowgauge.registry.agents.validation import Validation
    from flowgauge.store.store import Store

log = logging.getLogger(__name__)
ROLE = "agent_daemon"


class DaemonSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How often, and by how much."""

    every: Annotated[int, Meta(ge=1)] = 10
    """Ticks from one look to the next."""
    tick_s: Annotated[float, Meta(gt=0)] = 30.0
    last: Annotated[int, Meta(ge=1, le=MOST)] = LAST
    """Plays that are counted, at the most."""
    min_plays: Annotated[int, Meta(ge=1)] = 5
    """With fewer since the baseline, actions are not judged."""

    def __post_init__(self) -> None:
        """Raises UsageError for what could never be met."""
        check_plays(self.last, self.min_plays)


class Publish(Protocol):
    """Tells listeners; never blocks."""

    def __call__(self, kind: str, *, data: Json = None) -> None:
        """An event."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one agent in one look."""

    validation: Validation
    evidence_version: int | None = None
    """The snapshot that was kept of a regression, just now."""


class AgentDaemon:
    """Of one process. `tell` is handed what is new, for people."""

    def __init__(
        self,
        store: Store,
        data: Path,
        owner_sid: str,
        publish: Publish,
        settings: DaemonSettings,
        tell: Callable[[Found], None] | None = None,
    ) -> None:
        self._store = store
        self._owner_sid = owner_sid
        self._publish = publish
        self._settings = settings
        self._tell = tell
        self._agents = AgentBaselines(store, data)
        self._errors: dict[Agent, str] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Until it is asked to stop. A look that could not be made is made at the next tick."""
        tick, due = 0, True
        try:
            while not stop.is_set():
                due = due or tick % self._settings.every == 0
                if due:
                    due = not await self._looked(stop)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), self._settings.tick_s)
                tick += 1
        finally:
            await self.let_go()

    async def look(self, stop: asyncio.Event | None = None) -> tuple[Found, ...] | None:
        """Once, at every agent. None where another daemon does the work."""
        if not await asyncio.to_thread(self._store.claim_role, ROLE, self._owner_sid):
            return None
        found = []
        for agent in await asyncio.to_thread(self._agents.list_agents):
            if stop is not None and stop.is_set():
                break
            found.append(await asyncio.to_thread(self._look_at, agent))
            self._told(agent, found[-1])
        return tuple(found)

    async def holder(self) -> str:
        """Who does the work, for people."""
        found = await asyncio.to_thread(self._store.role_holder, ROLE)
        return f"process {found.pid} on {found.host}" if found else "nobody"

    async def let_go(self) -> None:
        """Another may do the work from now on."""
        with contextlib.suppress(StoreFailure):  # it has the lease to tell then
            await asyncio.to_thread(self._store.release_role, ROLE, self._owner_sid)

    async def _looked(self, stop: asyncio.Event) -> bool:
        try:
            return await self.look(stop) is not None
        except StoreFailure as error:
            log.warning("the daemon waits, because the store does not answer: %s", error)
        except Exception:
            log.exception("looking at the agents has failed")  # and is tried again: without it nobody would watch them
        return False

    def _look_at(self, agent: Agent) -> Found:
        """Evidence that cannot be kept is a failure, too."""
        settings = self._settings
        examined = self._agents.examine(agent, last=settings.last, min_plays=settings.min_plays)
        try:
            kept = self._agents.keep_evidence(examined)
        except (FlowgaugeError, OSError) as error:
            told = f"Its evidence could not be kept: {error}"
            return Found(validation=msgspec.structs.replace(examined.validation, error=told))
        return Found(validation=examined.validation, evidence_version=kept.version if kept else None)

    def _told(self, agent: Agent, found: Found) -> None:
        """Regressions that are new, and failures that are."""
        validation = found.validation
        named: dict[str, Json] = {"prompt_id": agent.prompt_id, "flow_id": agent.flow_id, "baseline_version": validation.baseline_version}
        news = False
        if found.evidence_version is not None:
            words: Json = [each.words for each in validation.regressions]
            self._publish("agent_regressed", data={**named, "version": found.evidence_version, "regressions": words})
            news = True
        if validation.error and self._errors.get(agent) != validation.error:
            self._publish("agent_failed", data={**named, "error": validation.error})
            news = True
        self._errors[agent] = validation.error
        if news and self._tell:
            self._tell(found)


@contextlib.asynccontextmanager
async def daemon_beside(host: Host, settings: DaemonSettings | None) -> AsyncIterator[None]:
    """For the length of a block, within a host; nothing where no settings are given."""
    if settings is None:
        yield
        return
    stop = asyncio.Event()
    daemon = AgentDaemon(host.store, data_folder(host.store.place), host.workspace.owner.sid, host.publish, settings)
    running = asyncio.create_task(daemon.run(stop), name="daemon")
    try:
        yield
    finally:
        stop.set()
        await running
