"""What every bench report is made of: a summary, and trials that can be read again and again.

Trials come as a stream, because there may be 100,000 of them; nothing here
keeps more of them than what it answers with.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping

import msgspec

from flowgauge.model.bench import INFRASTRUCTURE, Trial
from flowgauge.model.benchmark import BenchSummary
from flowgauge.model.workflow import Json

Trials = Callable[[], Iterator[Trial]]
"""Each call reads all trials of the bench from the beginning."""

NOT_THE_TARGET = INFRASTRUCTURE | {"check_error", "judge_error"}
"""Categories that say nothing about the target: reports call them errors, all others failures."""


class Source(msgspec.Struct, frozen=True):
    """A bench to be reported."""

    summary: BenchSummary
    trials: Trials
    command: str = ""
    """The command line that made the bench, where it is known."""

    @property
    def how_to_repeat(self) -> str:
        """The command that made the bench, or else the one that shows it again."""
        return self.command or f"flowgauge report {self.summary.bench.bench_id}"


def text_of(value: Json) -> str:
    """A string as it is, nothing as nothing, anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def why(trial: Trial) -> str:
    """What a reader is told about a trial that did not succeed: the error, or the checks that did not pass."""
    error = trial.answer.error
    if error is not None:
        return f"{error.node_id}: {error.message}" if error.node_id else error.message
    broken = [f"{check.name or check.type}: {check.error}" for check in trial.checks if check.error]
    wrong = [f"{check.name or check.type}: {check.reason or 'not passed'}" for check in trial.checks if check.passed is False]
    return "; ".join(broken + wrong)


def first_errors(source: Source) -> Mapping[tuple[str, str], Trial]:
    """The first trial of each configuration and category of failure. Reads no further than it must."""
    wanted = {(config.name, category) for config in source.summary.configs for category, count in config.overall.failures.items() if count}
    found: dict[tuple[str, str], Trial] = {}
    if not wanted:
        return found
    for trial in source.trials():
        place = (trial.config, trial.failure_category)
        if place in wanted:
            wanted.remove(place)
            found[place] = trial
            if not wanted:
                break
    return found


def durations_ms(source: Source) -> dict[str, array[float]]:
    """Durations of the successful trials by configuration: eight bytes a trial."""
    durations: dict[str, array[float]] = {config.name: array("d") for config in source.summary.configs}
    for trial in source.trials():
        if trial.ok and trial.config in durations:
            durations[trial.config].append(trial.answer.duration_ms)
    return durations
