"""Traces of benches and plays, where an exporter is configured; at no cost where none is.

A trace is made from what is stored, when all is measured: like a report. So it
is whole also for a bench that was killed and resumed, tracing takes no time
from what is measured, and no span waits in memory for a receiver.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from flowgauge.errors import FlowgaugeError

if TYPE_CHECKING:
    from flowgauge.integrations.otel import Spans
    from flowgauge.model.bench import Trial
    from flowgauge.model.benchmark import BenchSummary
    from flowgauge.model.play import NodeRun, Play
    from flowgauge.store.store import Store


def trace_id_here() -> str:
    """The id of a trace to come; empty where none is wanted."""
    if not any(name.startswith("OTEL_EXPORTER_OTLP_") for name in os.environ):
        return ""
    from flowgauge.integrations import otel

    return otel.new_trace_id() if otel.wanted() else ""


def send_bench(store: Store, summary: BenchSummary, *, before: str = "") -> str:
    """Send the tree of a bench under its record's trace id. Blocks: call it in a thread. What went wrong, or nothing.

    `before` is the trace id of the session before this one, where the bench was taken up again.
    """
    record = summary.bench
    if not record.trace_id:
        return ""
    return _sent(record.trace_id, lambda spans: _bench(spans, store, summary, before))


def send_play(trace_id: str, name: str, play: Play, runs: Sequence[NodeRun]) -> str:
    """The same for one play."""
    if not trace_id:
        return ""
    from flowgauge.integrations.otel_tree import add_play

    return _sent(trace_id, lambda spans: add_play(spans, name, play, runs))


def _sent(trace_id: str, make: Callable[[Spans], None]) -> str:
    """A trace that does not get through is a warning: what was measured stands."""
    from flowgauge.integrations import otel

    try:
        spans = otel.Spans(trace_id)
    except FlowgaugeError as error:
        return f"No trace was sent: {error}"
    try:
        make(spans)
    finally:
        spans.close()
    if not spans.failed:
        return ""
    return f"The trace is not whole: {otel.endpoint()} took {spans.sent} spans and then failed."


def _bench(spans: Spans, store: Store, summary: BenchSummary, before: str) -> None:
    from flowgauge.integrations import otel_tree

    record = summary.bench
    root = otel_tree.bench_root(spans, summary, after=before)
    last_ms = 0.0
    for trial, runs in _trials(store, record.uid):
        if spans.failed:
            return
        last_ms = max(last_ms, otel_tree.add_trial(spans, root, record.definition.target.name, trial, runs))
    otel_tree.end_bench(spans, root, summary, last_ms)


def _trials(store: Store, bench_uid: str) -> Iterator[tuple[Trial, Sequence[NodeRun]]]:
    """Every trial with its node runs."""
    for trial in store.iter_trials(bench_uid, with_output=False):
        sid = trial.answer.play_sid
        yield trial, store.get_node_runs(sid) if sid else ()
