"""Baselines of agents, joined: capture, validate, compare, trend.

with opened_store(db) as store:
    agents = AgentBaselines(store, data_folder(db))
    agents.capture_snapshot("support", "ticket-triage", "creation")
    agents.validate_against_baseline("support", "ticket-triage").passed

Snapshots stand in files and in the store; one whose file is not here is read
from the store. Plain calls; from an event loop through `asyncio.to_thread`.
"""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from flowgauge.app.agent_facts import LAST, MOST, facts_of, without_plays
from flowgauge.app.agent_records import record_of, sid_of, snapshot_in, stored_agents, stored_versions
from flowgauge.app.provenance import commit_here
from flowgauge.errors import Conflict, FlowgaugeError, NotFound, UsageError
from flowgauge.model.redaction import Redactor, cleaned, secrets_of
from flowgauge.registry.agents import files
from flowgauge.registry.agents.agent import Agent, agent_of
from flowgauge.registry.agents.changes import AgentChanges, AgentTrend, compared, trend_of
from flowgauge.registry.agents.snapshot import LONGEST_TEXT, AgentSnapshot, Facts, Sections, read_sections
from flowgauge.registry.agents.triggers import Trigger, check_trigger, is_quiet
from flowgauge.registry.agents.validation import Validation, answer, failure, judge
from flowgauge.registry.snapshot import spelled

if TYPE_CHECKING:
    from flowgauge.store.store import Store

log = logging.getLogger(__name__)
_TRIES = 100


class AgentVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot as lists show it."""

    prompt_id: str
    flow_id: str
    version: int
    trigger: Trigger
    timestamp: str
    user_id: str
    plays: int
    regressed: bool
    baseline: bool
    """It is what the agent is held against now."""


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """A validation, with what it was made of."""

    agent: Agent
    validation: Validation
    facts: Facts = Facts()


class AgentBaselines:
    """Everything that can be asked of them."""

    def __init__(self, store: Store, data: Path) -> None:
        self._store = store
        self._data = data
        self._redact = Redactor(secrets_of(os.environ))

    def capture_snapshot(
        self,
        prompt_id: str,
        flow_id: str,
        trigger: str,
        user_id: str = "",
        user_prompt: str = "",
        *,
        sections: Sections | dict[str, Any] | None = None,
        last: int = LAST,
    ) -> AgentSnapshot | None:
        """The next version, in its file and in the store. None where the trigger is left out, so soon after the agent's creation.

        `sections`: what is handed in instead of being computed from the last plays.
        """
        agent, known = self._agent(prompt_id, flow_id), check_trigger(trigger)
        texts = _short(user_id, "user_id"), _short(user_prompt, "user_prompt")
        posted = self._posted(sections)
        moment = datetime.now(UTC)
        if is_quiet(known, self._created_ms(agent), int(moment.timestamp() * 1000)):
            return None
        facts = facts_of(self._store, agent, posted, last=_count(last))
        return self._keep(agent, _draft(agent, known, moment, facts, user_id=self._redact(texts[0]), user_prompt=self._redact(texts[1])))

    def validate_against_baseline(
        self, prompt_id: str, flow_id: str, *, sections: Sections | dict[str, Any] | None = None, last: int = LAST, min_plays: int = 1
    ) -> Validation:
        """By what came after the baseline. Whatever goes wrong on the way is a failure, never a pass. Raises UsageError for bad ids."""
        return self.examine(self._agent(prompt_id, flow_id), self._posted(sections), last=_count(last), min_plays=min_plays).validation

    def compare_snapshots(self, prompt_id: str, flow_id: str, old_version: int, new_version: int) -> AgentChanges:
        """Raises NotFound."""
        old, new = (self.get_snapshot(prompt_id, flow_id, version) for version in (old_version, new_version))
        return compared(old, new)

    def compute_trend(self, prompt_id: str, flow_id: str) -> AgentTrend:
        """Over all snapshots."""
        return trend_of(self.list_snapshots(prompt_id, flow_id))

    def get_latest_snapshot(self, prompt_id: str, flow_id: str) -> AgentSnapshot | None:
        """The newest, evidence too; None where there is none."""
        agent = self._agent(prompt_id, flow_id)
        numbers = self._numbers(agent)
        return self._read(agent, numbers[-1]) if numbers else None

    def get_snapshot(self, prompt_id: str, flow_id: str, version: int = 0) -> AgentSnapshot:
        """One version, or the newest. Raises NotFound."""
        agent = self._agent(prompt_id, flow_id)
        numbers = self._numbers(agent)
        if not numbers:
            raise NotFound(f"There is no snapshot of the agent {agent}.", remedy="See what there is with: flowgauge agent list")
        if version and version not in numbers:
            raise NotFound(f"The agent {agent} has no v{version}.", remedy=f"It has v{numbers[0]} to v{numbers[-1]}.")
        return self._read(agent, version or numbers[-1])

    def list_snapshots(self, prompt_id: str, flow_id: str) -> list[AgentSnapshot]:
        """By version, from the first."""
        return self._all(self._agent(prompt_id, flow_id))

    def list_agents(self) -> list[Agent]:
        """All that have a snapshot, here or in the store."""
        return sorted({*files.agents(self._data), *stored_agents(self._store)})

    def list_versions(self, prompt_id: str = "", flow_id: str = "") -> list[AgentVersion]:
        """Of one agent, or of all of them."""
        asked = [self._agent(prompt_id, flow_id)] if prompt_id or flow_id else self.list_agents()
        return [row for agent in asked for row in _rows(self._all(agent))]

    # ── for the daemon ──────────────────────────────────────────────────────

    def examine(self, agent: Agent, posted: Sections | None = None, *, last: int = LAST, min_plays: int = 1) -> Examined:
        """Validate, and tell what by. Never raises."""
        try:
            return self._examined(agent, posted or Sections(), last, min_plays)
        except FlowgaugeError as error:
            return Examined(agent=agent, validation=failure(agent.prompt_id, agent.flow_id, error))
        except Exception as error:
            log.exception("validating the agent %s has failed", agent)
            return Examined(agent=agent, validation=failure(agent.prompt_id, agent.flow_id, error))

    def keep_evidence(self, examined: Examined) -> AgentSnapshot | None:
        """A regression as a snapshot marked so. None where there is none, or the same data was kept before."""
        agent, found = examined.agent, examined.validation
        if not found.regressions:
            return None
        newest = next((each for each in reversed(self._all(agent)) if each.regressed), None)
        if newest and (newest.source, newest.baseline_version) == (examined.facts.source, found.baseline_version):
            return None
        draft = _draft(agent, "intelligence_change", datetime.now(UTC), examined.facts)
        marked = msgspec.structs.replace(
            draft,
            regressed=True,
            baseline_version=found.baseline_version,
            regressions=tuple(each.words for each in found.regressions),
        )
        return self._keep(agent, marked)

    def _examined(self, agent: Agent, posted: Sections, last: int, min_plays: int) -> Examined:
        baseline = _baseline(self._all(agent))
        facts = facts_of(self._store, agent, posted, last=last, after=baseline.source if baseline else None)
        names = agent.prompt_id, agent.flow_id
        if baseline is not None and not posted.given and _nothing_new(facts, baseline):
            told = (
                f"Nothing was measured since baseline v{baseline.version}: no play of the workflow {agent.flow_id} and no benchmark of it."
            )
            if not facts.source.workflow_sid:
                told = f"{agent.flow_id} is no stored workflow, and nothing was handed in to validate."
            return Examined(agent=agent, validation=answer(*names, baseline.version, "not_measured", told, facts), facts=facts)
        few = facts.source.plays < min_plays
        found = judge(*names, baseline, without_plays(facts) if few else facts)
        if few and facts.source.plays and found.status == "not_measured":
            told = f"{found.reason} There are {facts.source.plays} plays of the {min_plays} asked for."
            found = msgspec.structs.replace(found, reason=told)
        return Examined(agent=agent, validation=found, facts=facts)

    # ── keeping and finding ─────────────────────────────────────────────────

    def _agent(self, prompt_id: str, flow_id: str) -> Agent:
        agent = agent_of(prompt_id, flow_id)
        if self._redact(agent.subject) != agent.subject:
            raise UsageError("The id of an agent holds a secret.", remedy="Choose another.")
        return agent

    def _posted(self, sections: Sections | dict[str, Any] | None) -> Sections:
        checked = read_sections(sections if sections is not None else {})
        return read_sections(cleaned(msgspec.to_builtins(checked), self._redact))

    def _keep(self, agent: Agent, draft: AgentSnapshot) -> AgentSnapshot:
        """Under the next number that neither a file nor anybody who shares the store has taken."""
        commit = commit_here()
        with files.writing(self._data):
            first = max(self._numbers(agent), default=0) + 1
            for number in range(first, first + _TRIES):
                made = msgspec.structs.replace(draft, version=number)
                if self._store.add_benchmark(record_of(agent, made, commit)):
                    self._write(agent, made)
                    return made
        raise Conflict(f"Others capture the agent {agent} all the time.", remedy="Try again.")

    def _write(self, agent: Agent, made: AgentSnapshot) -> None:
        """What has no file is not in the store, either."""
        try:
            files.write(self._data, agent, made)
        except BaseException:
            self._store.delete_benchmark(sid_of(agent, made.version))
            raise

    def _numbers(self, agent: Agent) -> list[int]:
        return sorted({*files.versions(self._data, agent), *stored_versions(self._store, agent)})

    def _read(self, agent: Agent, version: int) -> AgentSnapshot:
        return files.read(self._data, agent, version) or snapshot_in(stored_versions(self._store, agent)[version])

    def _all(self, agent: Agent) -> list[AgentSnapshot]:
        stored = stored_versions(self._store, agent)
        numbers = sorted({*files.versions(self._data, agent), *stored})
        return [files.read(self._data, agent, number) or snapshot_in(stored[number]) for number in numbers]

    def _created_ms(self, agent: Agent) -> int | None:
        created = [each for each in self._all(agent) if each.trigger == "creation"]
        return int(datetime.fromisoformat(created[-1].timestamp).timestamp() * 1000) if created else None


def _draft(agent: Agent, trigger: Trigger, moment: datetime, facts: Facts, *, user_id: str = "", user_prompt: str = "") -> AgentSnapshot:
    """Its number is found when it is kept."""
    sections = {name: getattr(facts, name) for name in Facts.__struct_fields__}
    return AgentSnapshot(
        version=1,
        trigger=trigger,
        timestamp=spelled(moment),
        user_id=user_id,
        prompt_id=agent.prompt_id,
        flow_id=agent.flow_id,
        user_prompt=user_prompt,
        **sections,
    )


def _baseline(snapshots: list[AgentSnapshot]) -> AgentSnapshot | None:
    """The newest that is not marked regressed."""
    return next((each for each in reversed(snapshots) if not each.regressed), None)


def _rows(snapshots: list[AgentSnapshot]) -> list[AgentVersion]:
    baseline = _baseline(snapshots)
    return [
        AgentVersion(
            prompt_id=each.prompt_id,
            flow_id=each.flow_id,
            version=each.version,
            trigger=each.trigger,
            timestamp=each.timestamp,
            user_id=each.user_id,
            plays=each.source.plays,
            regressed=each.regressed,
            baseline=each is baseline,
        )
        for each in snapshots
    ]


def _nothing_new(facts: Facts, baseline: AgentSnapshot) -> bool:
    return not facts.source.plays and facts.source.benchmarks == baseline.source.benchmarks


def _short(text: str, what: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise UsageError(f"The {what} is longer than {LONGEST_TEXT} characters.", remedy="Give less of it.")
    return text


def _count(last: int) -> int:
    if not 1 <= last <= MOST:
        raise UsageError(f"The last {last} plays cannot be counted.", remedy=f"Give 1 to {MOST}.")
    return last
