"""Runs a plan of episodes on a pool: as many at once as there are workers, each kept as it ends.

In: planned episodes. Out: their rows in episode order. To stop takes no
further episode and gives up those under way; what has ended is kept. The same
where the folder takes no file any more.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator

from flowgauge.perf.files import SeriesRow
from flowgauge.perf.keeping import Folder
from flowgauge.perf.model import Episode
from flowgauge.perf.pool import EpisodePool

Told = Callable[[SeriesRow], None]


async def run_episodes(
    pool: EpisodePool, plan: Iterable[Episode], folder: Folder, *, workers: int, stop: asyncio.Event, told: Told
) -> list[SeriesRow]:
    """All that ended, in episode order. Raises NotMeasured where no worker can be had any more."""
    rows: list[SeriesRow] = []
    waiting = iter(plan)
    slots = [asyncio.create_task(_slot(pool, waiting, folder, rows, told)) for _ in range(workers)]
    stopped = asyncio.create_task(stop.wait())
    try:
        left: set[asyncio.Task[None]] = set(slots)
        while left and not stop.is_set() and not folder.trouble:
            done, _ = await asyncio.wait({*left, stopped}, return_when=asyncio.FIRST_COMPLETED)
            for slot in done - {stopped}:
                slot.result()
            left -= done
    finally:
        for task in (*slots, stopped):
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*slots, stopped, return_exceptions=True)
    return sorted(rows, key=lambda row: row.episode_index)


async def _slot(pool: EpisodePool, waiting: Iterator[Episode], folder: Folder, rows: list[SeriesRow], told: Told) -> None:
    for episode in waiting:
        row = folder.keep(episode, await pool.run(episode))
        rows.append(row)
        told(row)
        if folder.trouble:
            return
