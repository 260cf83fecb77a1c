"""Record: run an episode twice, and seal it only if both runs agree.

The first run calls out, and its calls are kept. The second is answered from
them with the network cut off, as every replay will be; or, where that is asked
for, it calls out, too, and then a third one is answered from the calls. Out: a
sealed bundle, or what the runs do not agree in; then nothing is left behind.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import msgspec

from flowgauge.errors import NotMeasured
from flowgauge.model.redaction import cleaned, redactor, secrets_of
from flowgauge.perf.model import IoEvent, RunArtifact
from flowgauge.perf.orders import Network, Tape
from flowgauge.perf.replay import archive
from flowgauge.perf.replay.bundle import Manifest, check_key, seal
from flowgauge.perf.replay.differences import Change
from flowgauge.perf.replay.once import Ran, Stand, run_once
from flowgauge.perf.replay.source import source_of
from flowgauge.perf.replay.validator import disagreements
from flowgauge.providers.recordings.file import scan


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it. Where `changes` is not empty nothing was sealed."""

    path: Path
    run: RunArtifact
    again: RunArtifact
    """The one that agrees, or the one that does not."""
    calls: int
    network: Network
    changes: tuple[Change, ...] = ()


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """How and where to."""

    path: Path
    key_file: Path | None = None
    live_twice: bool = False


async def record(stand: Stand, wish: Wish) -> Recorded:
    """Run, compare, seal."""
    archive.check_free(wish.path)
    if wish.key_file is not None:
        check_key(wish.key_file)
    kept = without_secrets(stand)
    with tempfile.TemporaryDirectory(prefix="flowgauge-record-") as folder:
        calls = Path(folder, archive.CALLS)
        first = await run_once(stand, _recording(calls), offline=False)
        _check_told(first.artifact)
        if wish.live_twice:
            second = await run_once(stand, _recording(calls.with_name("again.jsonl")), offline=False)
            if changes := disagreements(first.artifact, second.artifact, strict=True):
                return _recorded(wish, first, second, calls, changes)
        second = await run_once(kept, Tape(mode="replay", path=str(calls)), offline=True)
        recorded = _recorded(wish, first, second, calls, disagreements(first.artifact, second.artifact, strict=True))
        if not recorded.changes:
            seal(wish.path, _manifest(kept, recorded), recorded.run, _read(calls), key_file=wish.key_file)
    return recorded


def why_different(recorded: Recorded) -> str:
    """Where that is known: the first run was refused a connection, and the second cannot come as far as to ask for one."""
    run = recorded.run
    asked = [event.target for event in (*run.io_audit, *(each for step in run.action_trace for each in step.io_audit)) if _refused(event)]
    if not recorded.changes or not asked:
        return ""
    return (
        f"Why: in the first run the agent was refused a connection to {asked[0]}, which its row does not allow. "
        "The second run has no network at all, as every replay, so it ends before it can ask. "
        "Take the call out, or allow it and make it through run.outside."
    )


def _refused(event: IoEvent) -> bool:
    return event.refused and event.kind == "connect"


def without_secrets(stand: Stand) -> Stand:
    """As the bundle will have it: what a replay is given is what the second run is given."""
    redact = redactor(secrets_of(os.environ))
    (row,) = stand.loaded.scenario.rows
    row = msgspec.structs.replace(row, **{name: cleaned(getattr(row, name), redact) for name in ("inputs", "config", "expect")})
    scenario = msgspec.structs.replace(stand.loaded.scenario, rows=(row,))
    return msgspec.structs.replace(stand, loaded=msgspec.structs.replace(stand.loaded, scenario=scenario))


def _check_told(run: RunArtifact) -> None:
    """A run that was killed took its trace with it: two of these agree in nothing that is known."""
    if run.steps is None:
        why = f"The run ended without a trace ({run.termination_reason}): {run.failure_reason}"
        raise NotMeasured(f"{why} There is nothing to hold a replay to.", remedy="Give it more time or room, or correct it.")


def _recorded(wish: Wish, first: Ran, second: Ran, calls: Path, changes: tuple[Change, ...]) -> Recorded:
    return Recorded(
        path=wish.path, run=first.artifact, again=second.artifact, calls=len(scan(calls).places), network=second.network, changes=changes
    )


def _read(path: Path) -> bytes:
    return path.read_bytes()


def _recording(path: Path) -> Tape:
    return Tape(mode="record", path=str(path))


def _manifest(stand: Stand, recorded: Recorded) -> Manifest:
    return Manifest(
        created_at=time.time_ns() // 1_000_000,
        scenario=stand.loaded.scenario,
        folder=stand.place,
        timeout_s=stand.timeout_s,
        source=source_of(stand.loaded),
        calls=recorded.calls,
        artifact_hash=recorded.run.artifact_hash,
    )
