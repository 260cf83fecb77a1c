"""OpenTelemetry: a bench as one tree of spans, made from its records.

Spans are made when a trial is stored, with the times that were measured: the
runner itself carries no tracing, and where no exporter is configured nothing
here is imported. Names and attributes follow the GenAI conventions. Switched on
by the standard variables (OTEL_EXPORTER_OTLP_ENDPOINT, …).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from flowgauge._version import __version__
from flowgauge.errors import MissingExtra
from flowgauge.model.bench import BenchRecord, Trial
from flowgauge.model.benchmark import BenchSummary
from flowgauge.model.play import NodeRun, Step

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, Tracer

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
NS_PER_MS = 1_000_000


def wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Is an exporter configured, and tracing not switched off?"""
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true" or environment.get("OTEL_TRACES_EXPORTER", "otlp") == "none":
        return False
    return any(environment.get(name) for name in _ENDPOINTS)


class Tracing:
    """An open way to the receiver. `close` sends what is waiting."""

    def __init__(self, exporter: SpanExporter | None = None) -> None:
        try:
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise MissingExtra("Tracing by OpenTelemetry", "otel") from error
        name = os.environ.get("OTEL_SERVICE_NAME", "flowgauge")
        self._provider = TracerProvider(resource=Resource.create({"service.name": name, "service.version": __version__}))
        self._provider.add_span_processor(BatchSpanProcessor(exporter or _otlp(), max_queue_size=65536))
        self.tracer = self._provider.get_tracer("flowgauge", __version__)

    def close(self) -> None:
        """Send and stop."""
        self._provider.shutdown()


def _otlp() -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


class BenchTrace:
    """The tree under `bench:<name>`."""

    def __init__(self, tracer: Tracer, record: BenchRecord) -> None:
        self._tracer = tracer
        self._name = record.definition.target.name
        self._root = tracer.start_span(
            f"bench:{record.name}",
            start_time=record.created_at * NS_PER_MS,
            attributes={"bench.name": record.name, "bench.id": record.bench_id, "bench.total_runs": record.total},
        )

    @property
    def trace_id(self) -> str:
        """As reports show it: 32 hex digits."""
        return f"{self._root.get_span_context().trace_id:032x}"

    def trial(self, trial: Trial, runs: Iterable[NodeRun] = ()) -> None:
        """One run and, of a workflow, its nodes."""
        answer = trial.answer
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "invoke_workflow",
            "bench.run_id": trial.run_id,
            "bench.config": trial.config,
            "bench.case": trial.case,
            "bench.repetition": trial.repetition,
            "gen_ai.usage.input_tokens": answer.tokens_prompt,
            "gen_ai.usage.output_tokens": answer.tokens_completion,
        }
        if answer.play_sid:
            attributes["flowgauge.play_sid"] = answer.play_sid
        if trial.failure_category:
            attributes["error.type"] = trial.failure_category
        elapsed_ms = answer.duration_ms + answer.queue_ms + answer.backoff_ms
        span = self._child(self._root, f"invoke_workflow {self._name}", answer.started_at, attributes)
        for run in runs:
            self._node(span, run)
        _end(span, answer.started_at + elapsed_ms, trial.failure_category)

    def finish(self, summary: BenchSummary) -> None:
        """Close the root with what the bench found."""
        record = summary.bench
        successes = sum(config.overall.success.count for config in summary.configs)
        found = {
            "bench.duration_ms": record.duration_ms,
            "bench.success_rate": successes / summary.trials if summary.trials else None,
            "bench.cheapest_config": summary.cheapest.config if summary.cheapest else None,
            "bench.fastest_config": summary.fastest.config if summary.fastest else None,
        }
        self._root.set_attributes({name: value for name, value in found.items() if value is not None})
        self._root.end(end_time=int((record.created_at + record.duration_ms) * NS_PER_MS))

    def _node(self, parent: Span, run: NodeRun) -> None:
        if run.status == "skipped":
            return
        attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": run.node_id, "flowgauge.attempt": run.attempt}
        span = self._child(parent, f"execute_tool {run.node_id}", run.started_at, attributes)
        for step in run.steps:
            self._step(span, step)
        _end(span, run.started_at + run.duration_ms + run.queue_ms, run.error.kind if run.error else "")

    def _step(self, parent: Span, step: Step) -> None:
        if step.kind == "model":
            provider, _, model = step.name.partition("/")
            attributes: dict[str, Any] = {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": provider,
                "gen_ai.request.model": model,
                "gen_ai.usage.input_tokens": step.usage.tokens_prompt,
                "gen_ai.usage.output_tokens": step.usage.tokens_completion,
            }
            span = self._child(parent, f"chat {model}", step.started_at, attributes)
        else:
            span = self._child(parent, f"execute_tool {step.name}", step.started_at, {"gen_ai.operation.name": "execute_tool"})
        _end(span, step.started_at + step.duration_ms + step.queue_ms, "error" if step.error else "")

    def _child(self, parent: Span, name: str, started_at: int, attributes: Mapping[str, Any]) -> Span:
        from opentelemetry.trace import set_span_in_context

        return self._tracer.start_span(
            name, context=set_span_in_context(parent), start_time=started_at * NS_PER_MS, attributes=dict(attributes)
        )


def _end(span: Span, ended_at_ms: float, error: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    if error:
        span.set_attribute("error.type", error)
        span.set_status(Status(StatusCode.ERROR, error))
    span.end(end_time=int(ended_at_ms * NS_PER_MS))
