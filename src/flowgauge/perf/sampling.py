"""The machine through a run: CPU, memory, open files, and how late this process's event loop wakes up.

Samples are taken ten times a second, more often in the first tenth so that a
short run has some, and thinned out in long runs so that their number stays
bounded. Without psutil there are none, and it is said.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TYPE_CHECKING, Any

from flowgauge.perf.files import Sample, SystemSummary
from flowgauge.sandbox import processes

if TYPE_CHECKING:
    import psutil

EVERY_S = 0.1
FIRST_S = 0.01
"""After so long the first one is taken; each further pause is twice as long, until it is EVERY_S."""
MOST_SAMPLES = 2000


class Sampler:
    """`pids` are the workers; what they started is found below them."""

    def __init__(self, pids: Callable[[], Iterable[int]], done: Callable[[], int]) -> None:
        self._pids = pids
        self._done = done
        self._every_s = EVERY_S
        self._pause_s = min(FIRST_S, EVERY_S)
        self._known: dict[int, psutil.Process] = {}
        self.samples: list[Sample] = []

    @contextlib.asynccontextmanager
    async def sampling(self) -> AsyncIterator[None]:
        """While episodes run; at least one sample, however short that is."""
        module = _psutil()
        if module is None:
            yield
            return
        begun = time.perf_counter()
        module.cpu_percent()
        task = asyncio.create_task(self._sample(module, begun))
        try:
            yield
        finally:
            task.cancel()
            if not self.samples or time.perf_counter() - begun - self.samples[-1].at_s > FIRST_S / 2:
                self._take(module, begun, 0.0)  # sooner, the CPU's share would be one of nothing

    async def _sample(self, module: Any, begun: float) -> None:
        while True:
            due = time.perf_counter() + self._pause_s
            await asyncio.sleep(self._pause_s)
            self._pause_s = min(2 * self._pause_s, self._every_s)
            self._take(module, begun, (time.perf_counter() - due) * 1000)
            if len(self.samples) >= MOST_SAMPLES:
                del self.samples[::2]
                self._every_s *= 2
                self._pause_s = self._every_s

    def _take(self, module: Any, begun: float, lag_ms: float) -> None:
        rss_bytes, open_files = self._processes(module)
        self.samples.append(
            Sample(
                at_s=round(time.perf_counter() - begun, 4),
                episodes_done=self._done(),
                cpu_percent=module.cpu_percent(),
                process_rss_bytes=rss_bytes,
                system_memory_available_bytes=module.virtual_memory().available,
                open_files=open_files,
                event_loop_lag_ms=round(max(0.0, lag_ms), 3),
            )
        )

    def _processes(self, module: Any) -> tuple[int, int]:
        """Memory and open files of this process, its workers, and what they started. A process that just ended counts as nothing."""
        pids = [pid for worker in self._pids() for pid in (worker, *processes.descendants(worker))]
        rss_bytes = files = 0
        known: dict[int, psutil.Process] = {}
        for pid in (None, *pids):
            with contextlib.suppress(module.Error):
                process = self._known.get(pid or 0) or module.Process(pid)
                known[pid or 0] = process
                rss_bytes += process.memory_info().rss
                files += process.num_fds() if hasattr(process, "num_fds") else 0
        self._known = known
        return rss_bytes, files


def system_summary(samples: list[Sample]) -> SystemSummary:
    """What the samples amount to."""
    if not samples:
        return SystemSummary(available=False, provider="none", samples=0, **dict.fromkeys(_MEASURED))
    module = _psutil()
    return SystemSummary(
        available=True,
        provider="psutil",
        samples=len(samples),
        cpu_percent=round(_mean_cpu(samples), 2),
        process_rss_bytes=max(sample.process_rss_bytes for sample in samples),
        system_memory_total_bytes=module.virtual_memory().total if module is not None else None,
        system_memory_available_bytes=min(sample.system_memory_available_bytes for sample in samples),
        open_files=max(sample.open_files for sample in samples),
        event_loop_lag_ms=max(sample.event_loop_lag_ms for sample in samples),
    )


def _mean_cpu(samples: list[Sample]) -> float:
    """Each sample tells of the time since the one before, so the longer that is the more it counts."""
    lengths_s = [later.at_s - earlier_s for earlier_s, later in zip((0.0, *(one.at_s for one in samples)), samples, strict=False)]
    total_s = sum(lengths_s)
    if total_s <= 0:
        return samples[0].cpu_percent
    return sum(sample.cpu_percent * length_s for sample, length_s in zip(samples, lengths_s, strict=True)) / total_s


_MEASURED = tuple(name for name in SystemSummary.__struct_fields__ if name not in ("available", "provider", "samples"))


def _psutil() -> Any:
    try:
        import psutil
    except ImportError:
        return None
    return psutil
