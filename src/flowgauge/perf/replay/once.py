"""One episode, in a worker of its own, with its calls recorded or answered from a recording.

In: a loaded scenario of one row, and a tape. Out: the run artifact, and who cut
the network off. A worker lives for one run only, so that what a process keeps
from run to run cannot make two of them agree.
"""

from __future__ import annotations

import msgspec

from flowgauge.perf.model import Episode, RunArtifact
from flowgauge.perf.orders import Network, Tape
from flowgauge.perf.plan import prepare
from flowgauge.perf.pool import EpisodePool
from flowgauge.perf.scenario import LoadedScenario


class Stand(msgspec.Struct, frozen=True, kw_only=True):
    """What every run of an episode has in common."""

    loaded: LoadedScenario
    """With the one row, whose seed is the episode's."""
    place: str
    """The scenario's folder, as a manifest has it."""
    timeout_s: float
    services: str
    """As `orders.Setup` has it."""


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    artifact: RunArtifact
    network: Network


async def run_once(stand: Stand, tape: Tape, *, offline: bool) -> Ran:
    """Run it. Raises NotMeasured or UsageError where no run came about."""
    setup = prepare(stand.loaded, timeout_s=stand.timeout_s, services=stand.services, strict=True)
    (row,) = stand.loaded.scenario.rows
    episode = Episode(index=0, row=0, agent=row.name, task_ref=row.task, seed=row.seed)
    async with EpisodePool(msgspec.structs.replace(setup, offline=offline), 1) as pool:
        return Ran(artifact=await pool.run(episode, tape=tape), network=pool.network)
