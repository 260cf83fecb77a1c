"""Baselines of agents, joined: capture, validate, compare, trend.

with opened_store(db) as store:
    agents = AgentBaselines(store, data_folder(db))
    agents.capture_snapshot("support", "ticket-triage", "creation")
    agents.validate_against_baseline("support", "ticket-triage").passed

Snapshots stand in the store and in files: see `agent_shelf`. Plain calls; from an
event loop through `asyncio.to_thread`.
"""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from flowgauge.app.agent_facts import LAST, MOST, facts_of, others_played, without_plays
from flowgauge.app.agent_shelf import Damaged, Shelf
from flowgauge.errors import BadFile, FlowgaugeError, NotFound, NotMeasured, UsageError
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.redaction import Redactor, cleaned, secrets_of
from flowgauge.registry.agents.agent import Agent, agent_of
from flowgauge.registry.agents.changes import AgentChanges, AgentTrend, compared, trend_of
from flowgauge.registry.agents.snapshot import LONGEST_TEXT, AgentSnapshot, Facts, Sections, read_sections
from flowgauge.registry.agents.triggers import TRIGGERS, Trigger, check_trigger, is_quiet
from flowgauge.registry.agents.validation import Validation, answer, failure, judge
from flowgauge.registry.snapshot import spelled
from flowgauge.report.words import plural

if TYPE_CHECKING:
    from flowgauge.store.store import Store

log = logging.getLogger(__name__)
_NAMES_LOOKED_AT = 1000


class AgentVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot as lists show it."""

    prompt_id: str
    flow_id: str
    version: int
    trigger: Trigger | None = None
    """None, as all that follows, where it cannot be read."""
    timestamp: str = ""
    user_id: str = ""
    plays: int = 0
    regressed: bool = False
    baseline: bool = False
    """It is what the agent is held against now."""
    error: str = ""
    """Why it cannot be read."""


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """A validation, with what it was made of."""

    agent: Agent
    validation: Validation
    facts: Facts = Facts()


class AgentBaselines:
    """Everything that can be asked of them."""

    def __init__(self, store: Store, data: Path) -> None:
        self._store = store
        self._shelf = Shelf(store, data)
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

        `sections`: what is handed in instead of being computed from the last plays. Raises NotFound where the flow is no stored workflow
        and nothing is handed in: nothing would be known of it.
        """
        agent, known = self._agent(prompt_id, flow_id), check_trigger(trigger)
        texts = _short(user_id, "user_id"), _short(user_prompt, "user_prompt")
        posted = self._posted(sections)
        moment = datetime.now(UTC)
        if TRIGGERS[known].quiet_s and is_quiet(known, self._shelf.created_ms(agent), int(moment.timestamp() * 1000)):
            return None
        facts = facts_of(self._store, agent, posted, last=check_plays(last))
        if not facts.source.workflow_sid and not posted.given:
            raise self._nothing_known(agent)
        return self._shelf.keep(
            agent, _draft(agent, known, moment, facts, user_id=self._redact(texts[0]), user_prompt=self._redact(texts[1]))
        )

    def validate_against_baseline(
        self, prompt_id: str, flow_id: str, *, sections: Sections | dict[str, Any] | None = None, last: int = LAST, min_plays: int = 1
    ) -> Validation:
        """By what came after the baseline. Whatever goes wrong on the way is a failure, never a pass. Raises UsageError for bad ids."""
        agent, posted = self._agent(prompt_id, flow_id), self._posted(sections)
        return self.examine(agent, posted, last=check_plays(last, min_plays), min_plays=min_plays).validation

    def compare_snapshots(self, prompt_id: str, flow_id: str, old_version: int, new_version: int) -> AgentChanges:
        """Raises NotFound."""
        old, new = (self.get_snapshot(prompt_id, flow_id, version) for version in (old_version, new_version))
        return compared(old, new)

    def compute_trend(self, prompt_id: str, flow_id: str) -> AgentTrend:
        """Over all snapshots that can be read."""
        return trend_of(self.list_snapshots(prompt_id, flow_id))

    def get_latest_snapshot(self, prompt_id: str, flow_id: str) -> AgentSnapshot | None:
        """The newest, evidence too; None where there is none."""
        agent = self._agent(prompt_id, flow_id)
        numbers = self._shelf.numbers(agent)
        return self._shelf.read(agent, numbers[-1]) if numbers else None

    def get_snapshot(self, prompt_id: str, flow_id: str, version: int = 0) -> AgentSnapshot:
        """One version, or the newest. Raises NotFound; BadFile or NotMeasured where it cannot be read."""
        agent = self._agent(prompt_id, flow_id)
        newest = self._known(agent, version)[-1]
        return self._shelf.read(agent, version or newest)

    def remove_snapshots(self, prompt_id: str, flow_id: str, version: int = 0) -> list[int]:
        """One version, or the agent with all of them, from the store and from the files here; the numbers that went. Raises NotFound.

        Conflict where a baseline with a name stands on one.
        """
        agent = self._agent(prompt_id, flow_id)
        self._known(agent, version)
        return self._shelf.remove(agent, version or None)

    def list_snapshots(self, prompt_id: str, flow_id: str) -> list[AgentSnapshot]:
        """By version, from the first. What cannot be read is left out; `list_versions` names it."""
        return self._shelf.readable(self._agent(prompt_id, flow_id))

    def list_agents(self) -> list[Agent]:
        """All that have a snapshot, here or in the store."""
        return self._shelf.agents()

    def list_versions(self, prompt_id: str = "", flow_id: str = "") -> list[AgentVersion]:
        """Of one agent, or of all of them; with those that cannot be read."""
        asked = [self._agent(prompt_id, flow_id)] if prompt_id or flow_id else self.list_agents()
        return [row for agent in asked for row in self._rows(agent)]

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
        newest = self._shelf.newest_evidence(agent)
        if newest and (newest.source, newest.baseline_version) == (examined.facts.source, found.baseline_version):
            return None
        draft = _draft(agent, "intelligence_change", datetime.now(UTC), examined.facts)
        marked = msgspec.structs.replace(
            draft,
            regressed=True,
            baseline_version=found.baseline_version,
            regressions=tuple(each.words for each in found.regressions),
        )
        return self._shelf.keep(agent, marked)

    def _examined(self, agent: Agent, posted: Sections, last: int, min_plays: int) -> Examined:
        baseline = self._shelf.baseline(agent)
        found = self._held(agent, baseline, posted, last, min_plays)
        others = others_played(self._store, found.facts.source, baseline.source) if baseline and found.facts.source.workflow_sid else 0
        if not others:
            return found
        told = f"{found.validation.reason} Not counted: {plural(others, 'play')} of versions that are not in use."
        return msgspec.structs.replace(found, validation=msgspec.structs.replace(found.validation, reason=told))

    def _held(self, agent: Agent, baseline: AgentSnapshot | None, posted: Sections, last: int, min_plays: int) -> Examined:
        facts = facts_of(self._store, agent, posted, last=last, after=baseline.source if baseline else None)
        names = agent.prompt_id, agent.flow_id
        if baseline is not None and not posted.given and _nothing_new(facts, baseline):
            told = (
                f"Nothing was measured since baseline v{baseline.version}: no play of the workflow {agent.flow_id} and no benchmark of it, "
                f"in version {facts.trust_evolution.generation}, which is in use."
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

    # ── what is asked for ───────────────────────────────────────────────────

    def _agent(self, prompt_id: str, flow_id: str) -> Agent:
        agent = agent_of(prompt_id, flow_id)
        if self._redact(agent.subject) != agent.subject:
            raise UsageError("The id of an agent holds a secret.", remedy="Choose another.")
        return agent

    def _posted(self, sections: Sections | dict[str, Any] | None) -> Sections:
        checked = read_sections(sections if sections is not None else {})
        return read_sections(cleaned(msgspec.to_builtins(checked), self._redact))

    def _known(self, agent: Agent, version: int) -> list[int]:
        """The numbers of all versions. Raises NotFound where there is none, or not that one."""
        numbers = self._shelf.numbers(agent)
        if not numbers:
            raise NotFound(f"There is no snapshot of the agent {agent}.", remedy="See what there is with: flowgauge agent list")
        if version and version not in numbers:
            raise NotFound(f"The agent {agent} has no v{version}.", remedy=f"It has v{numbers[0]} to v{numbers[-1]}.")
        return numbers

    def _nothing_known(self, agent: Agent) -> NotFound:
        names = [each.name for each in self._store.list_workflows(limit=_NAMES_LOOKED_AT).items]
        return NotFound(
            f"{agent.flow_id} is no stored workflow, so nothing is known of the agent {agent}.",
            remedy=f"{did_you_mean(agent.flow_id, names)} Of any other agent, hand in what is known as sections.",
        )

    def _rows(self, agent: Agent) -> list[AgentVersion]:
        try:
            baseline = self._shelf.baseline(agent)
        except (BadFile, NotMeasured):  # it is among those that cannot be read
            baseline = None
        held = baseline.version if baseline else None
        return [_row(agent, version, found, held) for version, found in self._shelf.each(agent)]


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


def _row(agent: Agent, version: int, found: AgentSnapshot | Damaged, baseline: int | None) -> AgentVersion:
    if not isinstance(found, AgentSnapshot):
        return AgentVersion(prompt_id=agent.prompt_id, flow_id=agent.flow_id, version=version, error=str(found))
    return AgentVersion(
        prompt_id=agent.prompt_id,
        flow_id=agent.flow_id,
        version=version,
        trigger=found.trigger,
        timestamp=found.timestamp,
        user_id=found.user_id,
        plays=found.source.plays,
        regressed=found.regressed,
        baseline=version == baseline,
    )


def _nothing_new(facts: Facts, baseline: AgentSnapshot) -> bool:
    return not facts.source.plays and facts.source.benchmarks == baseline.source.benchmarks


def _short(text: str, what: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise UsageError(f"The {what} is longer than {LONGEST_TEXT} characters.", remedy="Give less of it.")
    return text


def check_plays(last: int, min_plays: int = 1) -> int:
    """The first of them. Raises UsageError for what cannot be counted, or never be met."""
    if not 1 <= last <= MOST:
        raise UsageError(f"The last {last} plays cannot be counted.", remedy=f"Give 1 to {MOST}.")
    if not 1 <= min_plays <= last:
        raise UsageError(
            f"At least {min_plays} of the last {last} plays can never be had.",
            remedy=f"Ask for 1 to {last}, or count more than the last {last}.",
        )
    return last
