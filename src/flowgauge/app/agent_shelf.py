"""Where snapshots of agents are kept: in the store, and in files beside it.

A snapshot never changes, so both hold the same one. The store's is read first; the
file where the store has lost it or cannot read it. One that can be read in neither
is in nobody's way: it has its number, and whoever asks for it is told why.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.agent_records import Mark, record_of, sid_of, snapshot_in, stored_agents, stored_marks
from flowgauge.app.provenance import commit_here
from flowgauge.errors import BadFile, Conflict, NotMeasured, StoreFailure
from flowgauge.registry.agents import files

if TYPE_CHECKING:
    from flowgauge.registry.agents.agent import Agent
    from flowgauge.registry.agents.snapshot import AgentSnapshot
    from flowgauge.store.store import Store

log = logging.getLogger(__name__)
_TRIES = 100
Damaged = BadFile | NotMeasured
"""Why one cannot be read."""


class Shelf:
    """Of one store and one data folder."""

    def __init__(self, store: Store, data: Path) -> None:
        self._store = store
        self._data = data

    def agents(self) -> list[Agent]:
        """All that have a snapshot, here or in the store."""
        return sorted({*files.agents(self._data), *stored_agents(self._store)})

    def numbers(self, agent: Agent) -> list[int]:
        """Of all versions, those that cannot be read too."""
        return sorted(self._marks(agent))

    def read(self, agent: Agent, version: int) -> AgentSnapshot:
        """One that there is. Raises BadFile or NotMeasured where it cannot be read."""
        return self._read(agent, version, self._marks(agent)[version])

    def each(self, agent: Agent) -> Iterator[tuple[int, AgentSnapshot | Damaged]]:
        """Every version, from the first, or why it cannot be read."""
        for version, mark in sorted(self._marks(agent).items()):
            yield version, self._tried(agent, version, mark)

    def readable(self, agent: Agent) -> list[AgentSnapshot]:
        """By version, from the first."""
        return [found for _, found in self.each(agent) if not isinstance(found, BadFile | NotMeasured)]

    def baseline(self, agent: Agent) -> AgentSnapshot | None:
        """The newest that is not marked regressed. Raises where a newer one may be it and cannot be read."""
        for version, mark in sorted(self._marks(agent).items(), reverse=True):
            if mark is not None and mark.regressed:
                continue
            found = self._read(agent, version, mark)
            if not found.regressed:
                return found
        return None

    def newest_evidence(self, agent: Agent) -> AgentSnapshot | None:
        """Of a regression; of those that can be read."""
        for version, mark in sorted(self._marks(agent).items(), reverse=True):
            if mark is None or mark.regressed:
                found = self._tried(agent, version, mark)
                if not isinstance(found, BadFile | NotMeasured) and found.regressed:
                    return found
        return None

    def created_ms(self, agent: Agent) -> int | None:
        """When the agent was last made; None where nobody has said so."""
        for version, mark in sorted(self._marks(agent).items(), reverse=True):
            if mark is not None:
                if mark.is_creation:
                    return mark.created_ms
                continue
            found = self._tried(agent, version, mark)
            if not isinstance(found, BadFile | NotMeasured) and found.trigger == "creation":
                return int(datetime.fromisoformat(found.timestamp).timestamp() * 1000)
        return None

    def keep(self, agent: Agent, draft: AgentSnapshot) -> AgentSnapshot:
        """Under the next number that neither a file nor anybody who shares the store has taken."""
        commit = commit_here()
        with files.writing(self._data):
            first = max(self.numbers(agent), default=0) + 1
            for number in range(first, first + _TRIES):
                made = msgspec.structs.replace(draft, version=number)
                if self._store.add_benchmark(record_of(agent, made, commit)):
                    self._write(agent, made)
                    return made
        raise Conflict(f"Others capture the agent {agent} all the time.", remedy="Try again.")

    def remove(self, agent: Agent, version: int | None) -> list[int]:
        """One version or all of them, whatever they hold; those that went. Conflict where a named baseline stands on one."""
        with files.writing(self._data):
            marks = self._marks(agent)
            gone = [number for number in sorted(marks) if version in (None, number)]
            for number in gone:
                mark = marks[number]
                if mark is not None:
                    self._store.delete_benchmark(mark.sid)
                files.remove(self._data, agent, number)
        return gone

    def _marks(self, agent: Agent) -> dict[int, Mark | None]:
        """By version; None for one that is only a file."""
        return {**dict.fromkeys(files.versions(self._data, agent)), **stored_marks(self._store, agent)}

    def _tried(self, agent: Agent, version: int, mark: Mark | None) -> AgentSnapshot | Damaged:
        try:
            return self._read(agent, version, mark)
        except StoreFailure:
            raise
        except (BadFile, NotMeasured) as error:
            log.warning("v%d of the agent %s cannot be read: %s", version, agent, error)
            return error

    def _read(self, agent: Agent, version: int, mark: Mark | None) -> AgentSnapshot:
        lost: NotMeasured | None = None
        if mark is not None:
            stored = self._store.get_benchmark(mark.sid)
            try:
                return snapshot_in(stored)
            except NotMeasured as error:
                lost = error
        found = files.read(self._data, agent, version)
        if found is None:
            raise lost or NotMeasured(f"v{version} of the agent {agent} has gone meanwhile.", remedy="Try again.")
        return found

    def _write(self, agent: Agent, made: AgentSnapshot) -> None:
        """What has no file is not in the store, either."""
        try:
            files.write(self._data, agent, made)
        except BaseException:
            self._store.delete_benchmark(sid_of(agent, made.version))
            raise
