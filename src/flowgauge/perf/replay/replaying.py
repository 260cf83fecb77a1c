"""Replay: run a bundle's episode again, cut off from the network, and hold it to what was recorded.

In: a verified bundle and the agent or workflow as it is now. Out: what differs.
Calls are answered from the bundle; one that is not in it fails (not_recorded).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec

from flowgauge.perf.model import RunArtifact
from flowgauge.perf.orders import Network, Tape
from flowgauge.perf.replay import archive
from flowgauge.perf.replay.bundle import Bundle
from flowgauge.perf.replay.differences import Change
from flowgauge.perf.replay.once import Stand, run_once
from flowgauge.perf.replay.source import source_of
from flowgauge.perf.replay.validator import disagreements


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    bundle: Bundle
    run: RunArtifact
    network: Network
    edited: bool
    """The agent's files or the workflow are not as they were when it was recorded."""
    changes: tuple[Change, ...]


async def replay(bundle: Bundle, stand: Stand, *, strict: bool = False) -> Replayed:
    """Run it and compare."""
    with tempfile.TemporaryDirectory(prefix="flowgauge-replay-") as folder:
        ran = await run_once(stand, _tape(bundle, Path(folder)), offline=True)
    return Replayed(
        bundle=bundle,
        run=ran.artifact,
        network=ran.network,
        edited=source_of(stand.loaded) != bundle.manifest.source,
        changes=disagreements(bundle.run, ran.artifact, strict=strict),
    )


def _tape(bundle: Bundle, folder: Path) -> Tape:
    calls = folder / archive.CALLS
    calls.write_bytes(bundle.calls)
    return Tape(mode="replay", path=str(calls))
