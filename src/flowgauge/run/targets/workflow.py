"""A workflow version as a target: every trial is a play, stored with its node runs.

A play's sid is made from the bench and the run id, so that after a crash the
same trial finds its play: what is finished is taken as it is, what is not is
taken up again, and no finished node is run twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from flowgauge.errors import BadInputs
from flowgauge.model.bench import Answer, Bench, Case, Configuration, PlannedTrial, TrialStatus
from flowgauge.model.ids import PLAY
from flowgauge.model.play import FINISHED, NodeRun, Play, PlayStatus
from flowgauge.model.ports import Clock
from flowgauge.model.workflow import Json, Workflow
from flowgauge.nodes.branch import BranchNode
from flowgauge.nodes.inputs import checked_inputs
from flowgauge.run.engine import Engine
from flowgauge.run.graph import Graph, compiled, with_config
from flowgauge.run.targets.owed import Owed
from flowgauge.run.targets.own_time import Ended, own_time

StoredPlay = Callable[[str], "tuple[Play, Sequence[NodeRun]] | None"]
"""What the store has of a play; called in a thread."""
_STATUS: dict[PlayStatus, TrialStatus] = {"success": "success", "timeout": "timeout"}
_ANSWERED = FINISHED - {"cancelled"}
"""A play that was cancelled before its trial had a result is run on, like one that was cut off."""
_CHANCE_DIGITS = 16
_OF_TRIAL = re.compile(rf"{PLAY}_([0-9a-f]{{11}})[0-9a-f]{{{_CHANCE_DIGITS}}}")
LATE_S = 5.0
"""The engine holds to the time limit itself; this much later it is cut off all the same."""


class Configured(msgspec.Struct, frozen=True, kw_only=True):
    """The workflow as one configuration has it, everything laid over it."""

    content: bytes
    """Canonical, as a version stores it."""
    workflow_sid: str
    version_sid: str
    config: dict[str, Json] = {}
    """What the play says was laid over its version; it is laid over `content` once more."""
    pins: dict[str, str] = {}
    workflows: Mapping[str, Workflow] = {}
    """The stored workflows that it names, as pinned."""


class WorkflowServices(msgspec.Struct, frozen=True, kw_only=True):
    """What plays of a bench need."""

    engine: Engine
    clock: Clock
    owner_sid: str
    bench_uid: str
    created_at: int
    """Of the bench: sids made later sort later, also these."""
    graphs: Mapping[str, Configured]
    """By configuration."""
    stored_play: StoredPlay | None = None
    """Only where the bench was begun before."""
    trials_follow: bool = False
    """Trials are written to the engine's own journal, after their plays: then no play waits for the disk."""
    generation: str = ""
    """Another one gives every trial another play: to run failed ones again."""


class WorkflowTarget:
    """`TargetCaller` of a workflow."""

    patience_s = LATE_S

    def __init__(self, bench: Bench, services: WorkflowServices) -> None:
        self._name = bench.name
        self._services = services
        self._owed = Owed()
        self._later = self._owed.add if services.trials_follow else None
        self._ready = {name: _ready(item, bench.timeout_s) for name, item in services.graphs.items()}
        _check_inputs(bench.cases, [graph.workflow for graph, _ in self._ready.values()])

    async def call(self, configuration: Configuration, case: Case, planned: PlannedTrial) -> Answer:
        """Play once, or finish what was begun."""
        self._owed.check()
        services = self._services
        graph, configured = self._ready[configuration.name]
        sid = play_sid(services.bench_uid, services.created_at, planned.run_id, services.generation)
        stored = await asyncio.to_thread(services.stored_play, sid) if services.stored_play is not None else None
        if stored is not None and stored[0].status in _ANSWERED:
            return _answer(stored[0], [_as_stored(run) for run in stored[1]], repeated=0)
        before = stored[1] if stored is not None else ()
        play = self._play(sid, configured, checked_inputs(graph.workflow, case.inputs), stored[0] if stored is not None else None)
        watch = _Watch(services.clock)
        finished = await services.engine.play(graph, play, workflows=configured.workflows, before=before, on_run=watch, later=self._later)
        attempts = [*map(_as_stored, before), *watch.ended]
        return _answer(finished, attempts, repeated=_called_again(graph, before, watch.ended) if stored is not None else 0)

    async def close(self) -> None:
        """All that was played is stored. The engine is the process's."""
        await self._owed.close()

    def _play(self, sid: str, configured: Configured, inputs: dict[str, Json], stored: Play | None) -> Play:
        owner_sid = self._services.owner_sid
        if stored is not None:
            return msgspec.structs.replace(stored, owner_sid=owner_sid, resumed=stored.resumed + 1, error=None)
        return Play(
            sid=sid,
            workflow_sid=configured.workflow_sid,
            version_sid=configured.version_sid,
            name=self._name,
            inputs=inputs,
            config=configured.config,
            pins=configured.pins,
            owner_sid=owner_sid,
        )


def play_sid(bench_uid: str, created_at: int, run_id: str, generation: str = "") -> str:
    """The sid of a trial's play: the bench's moment, then a hash of which trial it is."""
    which = hashlib.blake2b(f"{bench_uid}/{run_id}/{generation}".encode(), digest_size=_CHANCE_DIGITS // 2).hexdigest()
    return f"{PLAY}_{created_at:011x}{which}"


def moment_of_bench(sid: str) -> int | None:
    """When the bench of a trial's play was created; None for a play that is no trial's, whose sid is shorter."""
    found = _OF_TRIAL.fullmatch(sid)
    return int(found[1], 16) if found else None


def _ready(item: Configured, timeout_s: float | None) -> tuple[Graph, Configured]:
    """The graph, held to the bench's time limit where that is the shorter one."""
    own = with_config(item.content, item.config).config.timeout_s if item.config else compiled(item.content).config.timeout_s
    if timeout_s is not None and (own is None or timeout_s < own):
        item = msgspec.structs.replace(item, config={**item.config, "timeout_s": timeout_s})
    return with_config(item.content, item.config), item


def _check_inputs(cases: Iterable[Case], workflows: Sequence[Workflow]) -> None:
    """Before anything runs. Workflows that declare the same inputs are asked once."""
    declaring: dict[Any, Workflow] = {msgspec.json.encode(workflow.inputs): workflow for workflow in workflows}
    for workflow in declaring.values():
        for case in cases:
            try:
                checked_inputs(workflow, case.inputs)
            except BadInputs as error:
                raise BadInputs(f"workflow '{workflow.name}' (case '{case.name}')", error.problems) from error


class _Watch:
    """Follows a play: its attempts, with the moments they ended by a clock that only runs forward."""

    __slots__ = ("_clock", "_offset_ms", "ended")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset_ms = clock.now_ms() - clock.tick_ms()
        self.ended: list[Ended] = []

    def __call__(self, run: NodeRun) -> None:
        self.ended.append(Ended(run, self._offset_ms + self._clock.tick_ms()))


def _as_stored(run: NodeRun) -> Ended:
    return Ended(run, run.started_at + run.queue_ms + run.duration_ms)


def _answer(play: Play, attempts: list[Ended], *, repeated: int) -> Answer:
    runs = [item.run for item in attempts]
    time = own_time(attempts)
    return Answer(
        status=_STATUS.get(play.status, "failed"),
        output=play.output,
        nodes={run.node_id: run.output for run in runs if run.status in ("success", "skipped") and _is_top(run.node_id)},
        started_at=play.started_at,
        duration_ms=time.work_ms,
        queue_ms=time.queue_ms,
        backoff_ms=time.backoff_ms,
        first_token_ms=_first_token_ms(attempts),
        retries=play.retries,
        tokens_prompt=play.tokens_prompt,
        tokens_completion=play.tokens_completion,
        cost_usd=play.cost_usd,
        cost_source=play.cost_source,
        model=", ".join(dict.fromkeys(run.model for run in runs if run.model)),
        error=play.error,
        play_sid=play.sid,
        repeated=repeated,
    )


def _is_top(path: str) -> bool:
    return "/" not in path and "[" not in path


def _first_token_ms(attempts: list[Ended]) -> float | None:
    """Of the attempt that streamed first."""
    streamed = [item.run for item in attempts if item.run.first_token_ms is not None]
    return min(streamed, key=lambda run: run.started_at).first_token_ms if streamed else None


def _called_again(graph: Graph, before: Sequence[NodeRun], ended: Sequence[Ended]) -> int:
    """Nodes that may have been under way when the process died, and were run again: all they need was stored, they were not."""
    done = {run.node_id for run in before if run.status in ("success", "skipped")}
    reaching = {
        vertex.id
        for vertex in graph.vertices.values()
        if vertex.id not in done and done.issuperset(vertex.needs) and not isinstance(vertex.node, BranchNode)
    }
    return len(reaching & {item.run.node_id for item in ended if item.run.status != "skipped"})
