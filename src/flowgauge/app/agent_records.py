"""A snapshot of an agent as a stored benchmark, and back.

Kind `snapshot`, subject `agent:<prompt>/<flow>`, the version as a tag: so compare,
gate and trend work on it unchanged. Its sid says which version of which agent it
is, so of two who store the same version at once one does.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from flowgauge.app.provenance import machine_class
from flowgauge.errors import NotMeasured
from flowgauge.model.benchmark import Benchmark, Fingerprint
from flowgauge.model.ids import BENCHMARK, content_hash
from flowgauge.registry.agents.agent import SUBJECT, Agent, agent_called
from flowgauge.registry.agents.changes import figures
from flowgauge.registry.agents.snapshot import AgentSnapshot

if TYPE_CHECKING:
    from flowgauge.store.store import Store

KIND: Literal["snapshot"] = "snapshot"
CONFIG = "agent"
_SID_DIGITS = 21


def record_of(agent: Agent, snapshot: AgentSnapshot, commit: str) -> Benchmark:
    """What is known of its figures, and the whole of it as a note."""
    return Benchmark(
        sid=sid_of(agent, snapshot.version),
        bench_uid="",
        bench_id="",
        config=CONFIG,
        subject=agent.subject,
        created_at=int(datetime.fromisoformat(snapshot.timestamp).timestamp() * 1000),
        num_runs=snapshot.source.plays,
        metrics={name: metric for name, metric in figures(snapshot.facts).items() if metric.value is not None},
        notes=msgspec.json.encode(snapshot).decode(),
        fingerprint=Fingerprint(machine=machine_class()),
        tags={"version": str(snapshot.version), "trigger": snapshot.trigger, **({"regressed": "true"} if snapshot.regressed else {})},
        commit=commit,
        kind=KIND,
    )


def sid_of(agent: Agent, version: int) -> str:
    """The same for everybody."""
    named = msgspec.json.encode([agent.prompt_id, agent.flow_id, version])
    return f"{BENCHMARK}_{content_hash(named)[:_SID_DIGITS]}"


class Mark(NamedTuple):
    """What is known of a stored snapshot without reading it."""

    sid: str
    created_ms: int
    is_creation: bool
    regressed: bool


def stored_marks(store: Store, agent: Agent) -> dict[int, Mark]:
    """By version."""
    found = store.snapshot_marks(agent.subject, CONFIG)
    return {
        int(tags["version"]): Mark(sid, created_ms, tags.get("trigger") == "creation", tags.get("regressed") == "true")
        for sid, created_ms, tags in found
        if tags.get("version", "").isdigit()
    }


def stored_agents(store: Store) -> set[Agent]:
    """All that the store has a snapshot of."""
    return {agent for subject in store.snapshot_subjects(SUBJECT, CONFIG) if (agent := agent_called(subject)) is not None}


def snapshot_in(stored: Benchmark) -> AgentSnapshot:
    """As it was written. Raises NotMeasured where that cannot be read any more."""
    try:
        return msgspec.json.decode(stored.notes, type=AgentSnapshot)
    except msgspec.DecodeError as error:
        raise NotMeasured(f"The snapshot {stored.sid} of {stored.subject} cannot be read: {error}.", remedy="Capture another.") from error
