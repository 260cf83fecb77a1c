"""Record an episode: find what is meant, run it twice, seal it where both runs agree."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path

import msgspec

from flowgauge.app.perf_services import SERVICES
from flowgauge.app.perf_workflows import stored_workflow
from flowgauge.define.inputs import parse_assignments, read_json
from flowgauge.documents.document import read_document
from flowgauge.errors import NotFound, UsageError
from flowgauge.model.workflow import Json
from flowgauge.perf.builtin import SCENARIO
from flowgauge.perf.replay.once import Stand
from flowgauge.perf.replay.recording import Recorded, Wish, record
from flowgauge.perf.replay.subject import of_agent, of_workflow, one_episode, played_workflow
from flowgauge.perf.scenario import FILE_ENDINGS, LoadedScenario, load_scenario

BUILT_IN = "built-in:"
"""What a manifest has for the folder of the scenario that comes with the program."""


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What to record, as the command line says it."""

    target: str = ""
    """A scenario file, a workflow file, a function (agents.py:explorer), or a stored workflow; empty: the built-in scenario."""
    episode: int | None = None
    """Of a scenario, from 1; None: the first."""
    seed: int | None = None
    inputs: dict[str, Json] = {}
    spoken: tuple[str, ...] = ()
    """name=value, read as the workflow declares them."""
    config: dict[str, Json] = {}
    timeout_s: float = 180.0
    db: str = ""


async def record_episode(subject: Subject, wish: Wish) -> Recorded:
    """Run it twice; seal, or say what differs."""
    loaded = await asyncio.to_thread(find_subject, subject)
    return await record(stand_of(loaded, subject.timeout_s), wish)


def stand_of(loaded: LoadedScenario, timeout_s: float) -> Stand:
    """With what every run has in common."""
    place = BUILT_IN if loaded.folder == SCENARIO.resolve().parent else os.path.relpath(loaded.folder)
    return Stand(loaded=loaded, place=place, timeout_s=timeout_s, services=SERVICES)


def find_subject(subject: Subject) -> LoadedScenario:
    """The one episode that is meant. Raises BadFile, NotFound, BadInputs or UsageError."""
    target = subject.target or str(SCENARIO)
    path = Path(target)
    if target.endswith(FILE_ENDINGS) and not path.is_file():
        raise NotFound(f"There is no file {target}.", remedy="Check the path.")
    if target.endswith(FILE_ENDINGS) and _is_scenario(path):
        _none_given(subject, "a scenario: its rows have them", "inputs", "spoken", "config")
        return one_episode(load_scenario(path, partial(stored_workflow, subject.db)), subject.episode or 1, subject.seed)
    if subject.episode is not None:
        raise UsageError("--episode is for scenarios; this is one workflow or agent.", remedy="Give --seed instead.")
    if ":" in target:
        _none_given(subject, "a function", "config")
        folder, reference = _beside(target)
        return of_agent(reference, folder, inputs={**subject.inputs, **_read(subject.spoken)}, seed=subject.seed)
    return _workflow(target, subject)


def _workflow(target: str, subject: Subject) -> LoadedScenario:
    path = Path(target)
    folder, reference = (path.resolve().parent, path.name) if target.endswith(FILE_ENDINGS) else (Path.cwd(), target)
    lookup = partial(stored_workflow, subject.db)
    declared = played_workflow(reference, folder, lookup).workflow
    inputs = {**subject.inputs, **parse_assignments(declared, subject.spoken)}
    return of_workflow(reference, folder, lookup, inputs=inputs, config=subject.config, seed=subject.seed)


def _is_scenario(path: Path) -> bool:
    value = read_document(path).value
    return isinstance(value, dict) and "rows" in value and "nodes" not in value


def _beside(target: str) -> tuple[Path, str]:
    """The folder of a function's file, and the function as seen from there; of a module, where one stands."""
    place, _, name = target.rpartition(":")
    if not place.endswith(".py"):
        return Path.cwd(), target
    path = Path(place)
    if not path.is_file():
        raise NotFound(f"There is no file {place}.", remedy="Check the path.")
    return path.resolve().parent, f"{path.name}:{name}"


def _read(spoken: tuple[str, ...]) -> dict[str, Json]:
    for pair in spoken:
        if "=" not in pair:
            raise UsageError(f"There is no '=' in {pair}.", remedy="Write name=value.")
    return {name.strip(): read_json(text) for name, _, text in (pair.partition("=") for pair in spoken)}


def _none_given(subject: Subject, what: str, *fields: str) -> None:
    words = {"inputs": "--input-file", "spoken": "--input", "config": "--config"}
    for field in fields:
        if getattr(subject, field):
            raise UsageError(f"{words[field]} does not go with {what}.", remedy="Leave it out.")
