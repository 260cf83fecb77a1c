"""`command:./agent --ask {{ question }}`: a program, started once a trial, without a shell.

It reads the inputs as JSON on stdin and finds the configuration's config as
JSON in FLOWGAUGE_CONFIG and the run id in FLOWGAUGE_RUN_ID. JSON on stdout is
its answer (see `reported`), any other text is its output. An exit code other
than 0 is a failed trial. At the time-out its whole process group is killed.
"""

from __future__ import annotations

import os
import signal
import time

import msgspec

from flowgauge.errors import Failed
from flowgauge.model.bench import Answer, Bench, Case, Configuration, PlannedTrial
from flowgauge.model.workflow import Json
from flowgauge.nodes.context import fail
from flowgauge.nodes.program import Ended, Limits, run_program
from flowgauge.run.targets.caller import Price
from flowgauge.run.targets.holes import argument_list, input_names, scope_of
from flowgauge.run.targets.reported import Timing, answer_of, config_of
from flowgauge.run.trial_results import failed_answer

KEPT_CHARS = 2000


MAX_BYTES = 10_000_000
"""Of what the program writes; more is a failure."""


class CommandTarget:
    """`TargetCaller` of a program."""

    patience_s = 0.0

    def __init__(self, bench: Bench, *, price: Price | None = None) -> None:
        self._argv = argument_list(bench.target.reference, input_names(bench.cases))
        self._price = price

    async def call(self, configuration: Configuration, case: Case, planned: PlannedTrial) -> Answer:
        """Run it once."""
        scope = scope_of(configuration, case)
        started_at, begun = time.time_ns() // 1_000_000, time.perf_counter()
        try:
            argv = [part.fill(scope) for part in self._argv]
            ended = await run_program(
                argv, msgspec.json.encode(case.inputs), _environment(configuration, planned), Limits(max_bytes=MAX_BYTES)
            )
            timing = Timing(started_at, (time.perf_counter() - begun) * 1000.0)
            if ended.exit_code != 0:
                raise _unsuccessful(argv[0], ended)
            return answer_of(_value(ended.stdout), argv[0], timing, self._price)
        except Failed as error:
            return failed_answer(error.failure, started_at=started_at, duration_ms=(time.perf_counter() - begun) * 1000.0)

    async def close(self) -> None:
        """Nothing lives on."""


def _environment(configuration: Configuration, planned: PlannedTrial) -> dict[str, str]:
    config = msgspec.json.encode(config_of(configuration.workflow_overrides)).decode()
    return {**os.environ, "FLOWGAUGE_CONFIG": config, "FLOWGAUGE_RUN_ID": planned.run_id}


def _value(stdout: bytes) -> Json:
    try:
        return msgspec.json.decode(stdout.strip())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return stdout.decode(errors="replace").removesuffix("\n")


def _unsuccessful(program: str, ended: Ended) -> Failed:
    said = (ended.stderr or ended.stdout).decode(errors="replace")[-KEPT_CHARS:]
    if ended.exit_code >= 0:
        return fail("command_failed", f"{program} ended with exit code {ended.exit_code}.", detail=said)
    return fail("killed", f"{program} was killed by {_signal_name(-ended.exit_code)}.", detail=said)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
