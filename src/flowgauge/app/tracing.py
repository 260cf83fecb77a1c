"""Traces of a bench, where an exporter is configured; at no cost where none is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from flowgauge.integrations import otel
from flowgauge.model.bench import BenchRecord, Trial
from flowgauge.model.benchmark import BenchSummary

if TYPE_CHECKING:
    from flowgauge.store.store import Store


class Trace:
    """A trace that goes nowhere."""

    trace_id = ""

    def trial(self, trial: Trial, store: Store) -> None:
        """A trial is on disk."""

    def finish(self, summary: BenchSummary) -> None:
        """The bench is over."""


class _Sent(Trace):
    def __init__(self, tracing: Any, record: BenchRecord) -> None:
        self._bench = otel.BenchTrace(tracing.tracer, record)
        self.trace_id = self._bench.trace_id

    def trial(self, trial: Trial, store: Store) -> None:
        runs = store.get_node_runs(trial.answer.play_sid) if trial.answer.play_sid else ()
        self._bench.trial(trial, runs)

    def finish(self, summary: BenchSummary) -> None:
        self._bench.finish(summary)


@contextlib.contextmanager
def open_trace(record: BenchRecord) -> Iterator[Trace]:
    """The trace of one bench."""
    if not otel.wanted():
        yield Trace()
        return
    tracing = otel.Tracing()
    try:
        yield _Sent(tracing, record)
    finally:
        tracing.close()
