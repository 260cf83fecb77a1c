"""What a server counts, and the same in the text form that Prometheus reads.

Labels come from our own tables only: what a caller sends never makes a new
series.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from flowgauge._version import __version__
from flowgauge.model.service import Running

BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
UNKNOWN = "unknown"


class Now(msgspec.Struct, frozen=True, kw_only=True):
    """What is so at the moment of asking. None: the store did not say."""

    running: Running
    listeners: int
    listeners_dropped: int
    store_bytes: int | None


class _Histogram:
    """Of one method."""

    __slots__ = ("counts", "total_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS_S) + 1)
        self.total_s = 0.0


class Metrics:
    """Of one server, since it started."""

    def __init__(self) -> None:
        self._calls: Counter[tuple[str, int]] = Counter()
        self._times: dict[str, _Histogram] = {}
        self._refused: Counter[str] = Counter()

    def called(self, method: str, code: int, seconds: float) -> None:
        """A call: `method` is empty where there is none of that name, `code` 0 where it went well."""
        name = method or UNKNOWN
        self._calls[name, code] += 1
        times = self._times.get(name)
        if times is None:
            times = self._times[name] = _Histogram()
        times.counts[bisect_left(BUCKETS_S, seconds)] += 1
        times.total_s += seconds

    def refused(self, reason: str) -> None:
        """A request that the guard did not let through: host, origin, token, size."""
        self._refused[reason] += 1

    def text(self, now: Now) -> str:
        """Everything, in Prometheus' text form."""
        return "".join(f"{line}\n" for line in self._lines(now))

    def _lines(self, now: Now) -> Iterator[str]:
        yield from _head("flowgauge_info", "gauge", "The version that runs.")
        yield f'flowgauge_info{{version="{__version__}"}} 1'
        yield from _head("flowgauge_rpc_requests_total", "counter", "Calls by method and code; code 0 went well.")
        for (method, code), count in sorted(self._calls.items()):
            yield f'flowgauge_rpc_requests_total{{method="{method}",code="{code}"}} {count}'
        yield from _head("flowgauge_rpc_duration_seconds", "histogram", "How long calls took.")
        for method, times in sorted(self._times.items()):
            yield from _histogram("flowgauge_rpc_duration_seconds", method, times)
        yield from _head("flowgauge_http_refused_total", "counter", "Requests that the guard refused, by reason.")
        for reason, count in sorted(self._refused.items()):
            yield f'flowgauge_http_refused_total{{reason="{reason}"}} {count}'
        yield from _gauges(now)


def _gauges(now: Now) -> Iterator[str]:
    rows: Iterable[tuple[str, str, str, int | None]] = (
        ("flowgauge_plays_running", "gauge", "Plays that run here now.", now.running.plays),
        ("flowgauge_plays_queued", "gauge", "Plays that wait here for their turn.", now.running.plays_queued),
        ("flowgauge_benches_running", "gauge", "Benches that run here now.", now.running.benches),
        ("flowgauge_benches_queued", "gauge", "Benches that wait here for their turn.", now.running.benches_queued),
        ("flowgauge_event_listeners", "gauge", "Open streams of events.", now.listeners),
        ("flowgauge_event_listeners_dropped_total", "counter", "Streams ended because their listener was too slow.", now.listeners_dropped),
        ("flowgauge_store_bytes", "gauge", "The size of the store.", now.store_bytes),
    )
    for name, kind, words, value in rows:
        if value is not None:
            yield from _head(name, kind, words)
            yield f"{name} {value}"


def _histogram(name: str, method: str, times: _Histogram) -> Iterator[str]:
    below = 0
    for edge, count in zip((*map(str, BUCKETS_S), "+Inf"), times.counts, strict=True):
        below += count
        yield f'{name}_bucket{{method="{method}",le="{edge}"}} {below}'
    yield f'{name}_sum{{method="{method}"}} {times.total_s:.6f}'
    yield f'{name}_count{{method="{method}"}} {below}'


def _head(name: str, kind: str, words: str) -> Iterator[str]:
    yield f"# HELP {name} {words}"
    yield f"# TYPE {name} {kind}"
