"""Replay a bundle, and find the runs that two names mean."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import msgspec

from flowgauge.app.perf_workflows import stored_workflow
from flowgauge.app.plays import LATEST, find_play
from flowgauge.app.record import BUILT_IN, stand_of
from flowgauge.app.workspace import opened_store
from flowgauge.errors import BadFile, NotFound, NotMeasured, UsageError
from flowgauge.model.ids import PLAY
from flowgauge.model.problem import Problem
from flowgauge.nodes.codec import read_workflow
from flowgauge.perf.artifact import violations
from flowgauge.perf.builtin import SCENARIO
from flowgauge.perf.model import RunArtifact
from flowgauge.perf.replay.bundle import Bundle, open_bundle
from flowgauge.perf.replay.played import run_of_play
from flowgauge.perf.replay.replaying import Replayed, replay
from flowgauge.perf.replay.subject import again
from flowgauge.perf.scenario import LoadedScenario


async def replay_bundle(bundle: Bundle, *, db: str = "", folder: Path | None = None, strict: bool = False) -> Replayed:
    """Run it again as what it names is now. Raises NotMeasured where it cannot be run."""
    try:
        loaded = await asyncio.to_thread(_found, bundle, db, folder)
        return await replay(bundle, stand_of(loaded, bundle.manifest.timeout_s), strict=strict)
    except UsageError as error:
        raise NotMeasured(
            f"The bundle is sound, but it cannot be run here: {error.message}",
            remedy=error.remedy or "Call it where it was recorded, or name the scenario's folder with --folder.",
        ) from error


def read_run(name: str, db: str = "") -> tuple[RunArtifact, tuple[str, ...]]:
    """A run artifact from its file, out of a bundle, or of a stored play; and what is wrong with it. Raises BadFile or NotFound."""
    path = Path(name)
    if not path.exists():
        return _of_play(name, db), ()
    if path.is_dir() or path.suffix == ".zip":
        return open_bundle(path).run, ()
    try:
        run = msgspec.json.decode(path.read_bytes(), type=RunArtifact)
    except (OSError, msgspec.DecodeError) as error:
        raise BadFile(str(path), [Problem(0, "", f"It is no run artifact: {error}.", "Name one that perf or replay wrote.")]) from error
    return run, tuple(f"{path}: {line}" for line in violations(run))


def _of_play(sid: str, db: str) -> RunArtifact:
    if sid != LATEST and not sid.startswith(f"{PLAY}_"):
        raise NotFound(f"There is no {sid}.", remedy="Name a run artifact (.json), a bundle, or the sid of a play.")
    with opened_store(db or None) as store:
        play = find_play(store, sid)
        version = store.get_version(play.version_sid)
        return run_of_play(read_workflow(version.content), version.number, play, store.get_node_runs(play.sid))


def _found(bundle: Bundle, db: str, folder: Path | None) -> LoadedScenario:
    place = bundle.manifest.folder
    where = folder if folder is not None else SCENARIO.parent if place == BUILT_IN else Path(place)
    return again(bundle.manifest.scenario, where.resolve(), partial(stored_workflow, db))
