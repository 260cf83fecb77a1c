"""Runs one episode of a workflow: a play that is kept as an artifact, its node runs as the action trace."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import msgspec

from flowgauge.model.ids import PLAY, new_sid
from flowgauge.model.play import NodeRun, Play, PlayEvent
from flowgauge.model.workflow import Config
from flowgauge.nodes.codec import read_workflow
from flowgauge.nodes.inputs import checked_inputs
from flowgauge.perf.guest.ending import Ended
from flowgauge.perf.guest.judging import Validate, judged
from flowgauge.perf.guest.services import EpisodeServices, NoJournal
from flowgauge.perf.loading import load_function
from flowgauge.perf.model import LlmEntry, Termination
from flowgauge.perf.node_trace import action_trace, ending, tool_calls
from flowgauge.perf.orders import PreparedRow
from flowgauge.run.engine import Engine
from flowgauge.run.graph import Graph


class WorkflowPlayer:
    """One row of a scenario, its workflow read."""

    def __init__(self, prepared: PreparedRow, folder: Path) -> None:
        row = prepared.row
        self._prepared = prepared
        self._workflow = read_workflow(prepared.workflow.encode())
        self._workflows = {name: read_workflow(content.encode()) for name, content in prepared.workflows.items()}
        self._validator = load_function(row.validator, folder) if row.validator else None
        self._takes_seed = any(item.name == "seed" for item in self._workflow.inputs)

    @property
    def has_python(self) -> bool:
        """Does it need the pool of python workers?"""
        return any(type(node).__struct_config__.tag == "python" for node in self._workflow.nodes)

    def play(self, seed: int, services: EpisodeServices, loop: asyncio.AbstractEventLoop) -> Ended:
        """From the first node to the verdict."""
        row, budgets = self._prepared.row, self._prepared.budgets
        over = msgspec.convert({**row.config, "seed": seed, "timeout_s": budgets.wall_clock_s}, Config)
        graph = Graph(self._workflow, over=over)
        given = {"seed": seed, **row.inputs} if self._takes_seed else row.inputs
        play = Play(sid=new_sid(PLAY), workflow_sid="", version_sid="", inputs=checked_inputs(self._workflow, given))
        engine = Engine(services, NoJournal())
        watch = _Watch(engine, play.sid, budgets.steps)
        begun = time.perf_counter()
        finished = loop.run_until_complete(engine.play(graph, play, workflows=self._workflows, listener=watch))
        termination, reason = self._judged(finished, watch, seed)
        return self._ended(finished, watch, services.listening.entries, termination, reason, time.perf_counter() - begun)

    def _judged(self, play: Play, watch: _Watch, seed: int) -> tuple[Termination, str]:
        if watch.exhausted:
            return "steps_exhausted", f"It asked for more than its {self._prepared.budgets.steps} steps."
        if play.error is not None:
            return ending(play.error)
        row = self._prepared.row
        validators: dict[str, Validate] = {}
        if self._validator is not None:
            validator = self._validator
            validators["validator"] = lambda output: validator(output, inputs=dict(row.inputs), seed=seed)
        try:
            return judged(row, play.output, validators)
        except Exception as error:  # noqa: BLE001 - the validator is the user's own
            return "error", f"The validator raised {type(error).__name__}: {error}"

    def _ended(
        self, play: Play, watch: _Watch, entries: list[LlmEntry], termination: Termination, reason: str, wall_clock_s: float
    ) -> Ended:
        return Ended(
            termination=termination,
            reason=reason,
            output=play.output if termination in ("completed", "wrong_answer") else None,
            trace=action_trace(self._workflow, watch.runs),
            llm_trace=tuple(sorted(entries, key=lambda entry: (entry.model, entry.prompt, entry.completion))),
            tool_calls=tool_calls(watch.runs),
            wall_clock_s=wall_clock_s,
        )


class _Watch:
    """Follows a play; stops it where it takes more steps than it has."""

    def __init__(self, engine: Engine, sid: str, steps: int | None) -> None:
        self._engine = engine
        self._sid = sid
        self._steps = steps
        self.runs: list[NodeRun] = []
        self.exhausted = False

    def __call__(self, event: PlayEvent) -> None:
        if event.run is None or event.run.status == "skipped":
            return
        if self._steps is not None and len(self.runs) >= self._steps:
            self.exhausted = True
            self._engine.cancel(self._sid)
        else:
            self.runs.append(event.run)
