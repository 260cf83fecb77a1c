"""What a change is held against: a gate of a stored benchmark, baselines of agents, an upgrade of versions.

Each is a check with a status and a sentence. What cannot be found or read is not
measured; an agent's validation that raises has failed. A name that is none is
wrong use: it raises UsageError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from flowgauge.app.comparing import compare_stored, gate_stored
from flowgauge.app.snapshots import Snapshots
from flowgauge.errors import FlowgaugeError, UsageError
from flowgauge.model.gate import Policy
from flowgauge.registry.agents.agent import agent_of, agent_spelled
from flowgauge.registry.review.decision import Check, StepStatus
from flowgauge.registry.snapshot import check_version
from flowgauge.report.compare_sentences import is_open
from flowgauge.report.words import plural

if TYPE_CHECKING:
    from flowgauge.model.verdict import GateLine
    from flowgauge.registry.agents.validation import Validation
    from flowgauge.store.store import Store

_UPGRADE: dict[int, StepStatus] = {0: "passed", 1: "failed", 3: "not_measured"}


class Gated(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark and its baseline, as `flowgauge gate` takes them."""

    candidate: str
    baseline: str
    policy: Policy = Policy()


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a change is to be held against."""

    gate: Gated | None = None
    agents: tuple[tuple[str, str], ...] = ()
    """Prompt and flow."""
    upgrade: tuple[str, str] | None = None
    """The version in use, and the one that would take its place."""

    @property
    def nothing(self) -> bool:
        """No baseline was named."""
        return self.gate is None and not self.agents and self.upgrade is None


def agent_named(text: str) -> tuple[str, str]:
    """PROMPT/FLOW, as lists show it → the two. Raises UsageError."""
    found = agent_spelled(text)
    return found.prompt_id, found.flow_id


def upgrade_named(old: str, new: str) -> tuple[str, str]:
    """Two versions. Raises UsageError."""
    return check_version(old), check_version(new)


class Validates(Protocol):
    """What a review asks of the service of agent baselines."""

    def validate_against_baseline(self, prompt_id: str, flow_id: str) -> Validation:
        """A regression is an answer, not an error."""


def check_baselines(store: Store, data: Path, asked: Asked, agents: Validates, folder: Path) -> tuple[Check, ...]:
    """In the order: gate, agents, upgrade."""
    return tuple(_checks(store, data, asked, agents, folder))


def _checks(store: Store, data: Path, asked: Asked, agents: Validates, folder: Path) -> Iterator[Check]:
    if (gate := asked.gate) is not None:
        yield _told(f"gate of {gate.candidate} against {gate.baseline}", lambda: _gate(store, gate, folder))
    for prompt_id, flow_id in asked.agents:
        yield _agent(agents, prompt_id, flow_id)
    if asked.upgrade is not None:
        old, new = asked.upgrade
        yield _told(f"upgrade from {old} to {new}", lambda: _upgrade(Snapshots(store, data), old, new))


def _told(subject: str, look: Callable[[], tuple[StepStatus, str]]) -> Check:
    try:
        status, words = look()
    except FlowgaugeError as error:
        status, words = "not_measured", str(error)
    return Check(subject=subject, status=status, words=words)


def _gate(store: Store, gate: Gated, folder: Path) -> tuple[StepStatus, str]:
    compared = compare_stored(store, gate.candidate, gate.baseline, gate.policy, folder=folder)
    result = gate_stored(store, compared, gate.policy)
    if result.status != "passed":
        return result.status, " ".join(line.words for line in result.lines if line.status == result.status)
    return "passed", _let_through(result.lines)


def _let_through(lines: Sequence[GateLine]) -> str:
    """What a gate lets pass without being sure is named."""
    unsure = [line.subject for line in lines if is_open(line)]
    told = f"No harm was found in {plural(len(lines), 'line')} of the gate"
    return f"{told}; inconclusive: {', '.join(unsure)}." if unsure else f"{told}."


def _upgrade(snapshots: Snapshots, old: str, new: str) -> tuple[StepStatus, str]:
    """Strict: where there is no old version nobody can say that nothing regressed."""
    found = snapshots.upgrade_check(old, new, strict=True)
    return _UPGRADE[found.exit_code], found.reason


def _agent(agents: Validates, prompt_id: str, flow_id: str) -> Check:
    subject = f"agent {agent_of(prompt_id, flow_id)}"
    try:
        found = agents.validate_against_baseline(prompt_id, flow_id)
    except UsageError:
        raise  # nobody could be validated by that name; validation itself answers, whatever it finds
    except Exception as error:  # noqa: BLE001 - an exception in validation is a failure, never a pass
        return Check(subject=subject, status="failed", words=f"Its validation failed: {type(error).__name__}: {error}")
    return Check(subject=subject, status=found.status, words=found.reason)
