"""OpenTelemetry: a bench or a play as one tree of spans, made from its records.

Records in, spans out, after the fact and with the times that were measured: the
runner carries no tracing, and where no exporter is configured nothing here is
imported. Names and attributes follow the GenAI conventions. Sent in batches to
an OTLP receiver over HTTP; the first batch that does not arrive ends the
sending, so a receiver that is gone costs one timeout.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from flowgauge._version import __version__
from flowgauge.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.trace import Span, SpanContext, Tracer

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_TIMEOUTS = ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")
TIMEOUT_S = 3.0
"""Of one batch with all its retries, where the environment does not say."""
BATCH_SPANS = 512
NS_PER_MS = 1_000_000


class Exporter(Protocol):
    """What spans are handed to: the OTLP exporter, or any of the SDK's."""

    def export(self, spans: Sequence[ReadableSpan]) -> Any:
        """An answer called SUCCESS, or another."""

    def shutdown(self) -> None:
        """No more will come."""


def wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Is an exporter configured, and tracing not switched off?"""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    if "otlp" not in environment.get("OTEL_TRACES_EXPORTER", "otlp").split(","):
        return False
    return bool(endpoint(environment))


def endpoint(environment: Mapping[str, str] = os.environ) -> str:
    """Where spans go, as the environment says it."""
    return _first(environment, _ENDPOINTS)


def new_trace_id() -> str:
    """As reports show it: 32 hex digits."""
    return f"{secrets.randbits(128) or 1:032x}"


class Spans:
    """One trace on its way to a receiver. `close` sends the rest; `failed` says that something did not arrive."""

    def __init__(self, trace_id: str, exporter: Exporter | None = None) -> None:
        try:
            self._load()
        except ImportError as error:
            raise MissingExtra("Tracing by OpenTelemetry", "otel") from error
        self._exporter = exporter or _otlp()
        self._trace_id = int(trace_id, 16)
        self._ready: list[ReadableSpan] = []
        self._provider = _provider(self._make_provider, self._ready, self._trace_id)
        self._tracer: Tracer = self._provider.get_tracer("flowgauge", __version__)
        self.sent = 0
        self.failed = False

    def root(self, name: str, started_at_ms: float, attributes: Mapping[str, Any], *, after: str = "") -> Span:
        """The one span without a parent. `after` is the id of an earlier trace of the same thing: it is linked."""
        links = [self._api.Link(self._root_of(int(after, 16)))] if after else []
        return self._tracer.start_span(
            name, context=self._context(), start_time=_ns(started_at_ms), attributes=_known(attributes), links=links
        )

    def child(self, parent: Span, name: str, started_at_ms: float, attributes: Mapping[str, Any], *, outside: bool = False) -> Span:
        """A span below another. `outside`: it is a call to somebody else."""
        kind = self._api.SpanKind.CLIENT if outside else self._api.SpanKind.INTERNAL
        above = self._api.set_span_in_context(parent)
        return self._tracer.start_span(name, context=above, kind=kind, start_time=_ns(started_at_ms), attributes=_known(attributes))

    def end(self, span: Span, ended_at_ms: float, error_type: str = "", message: str = "") -> None:
        """Close a span, and send a batch where there is one."""
        if error_type:
            span.set_attribute("error.type", error_type)
            span.set_status(self._api.Status(self._api.StatusCode.ERROR, message or error_type))
        span.end(end_time=_ns(ended_at_ms))
        if len(self._ready) >= BATCH_SPANS:
            self._send()

    def close(self) -> None:
        """Send what is left and let go of the receiver."""
        self._send()
        self._exporter.shutdown()
        self._provider.shutdown()

    def _send(self) -> None:
        batch = self._ready[:]
        self._ready.clear()
        if not batch or self.failed:
            return
        if self._exporter.export(batch).name == "SUCCESS":
            self.sent += len(batch)
        else:
            self.failed = True

    def _load(self) -> None:
        """The packages, so that one that is missing is told apart from one that fails."""
        from opentelemetry import context, trace
        from opentelemetry.sdk.trace import TracerProvider

        self._api = trace
        self._context = context.Context
        self._make_provider = TracerProvider

    def _root_of(self, trace_id: int) -> SpanContext:
        api = self._api
        context: SpanContext = api.SpanContext(trace_id, _root_id(trace_id), is_remote=True, trace_flags=api.TraceFlags(1))
        return context


def _provider(make: type[TracerProvider], ready: list[ReadableSpan], trace_id: int) -> TracerProvider:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

    class Gather(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            ready.append(span)

    class Ids(RandomIdGenerator):
        """The root's id follows from the trace's, so that a later trace can name it."""

        def __init__(self) -> None:
            self._is_root = True

        def generate_trace_id(self) -> int:
            return trace_id

        def generate_span_id(self) -> int:
            if self._is_root:
                self._is_root = False
                return _root_id(trace_id)
            return super().generate_span_id()

    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    ours = {"service.version": __version__} | ({} if named else {"service.name": "flowgauge"})
    provider = make(resource=Resource.create(ours), id_generator=Ids(), shutdown_on_exit=False)
    provider.add_span_processor(Gather())
    return provider


def _root_id(trace_id: int) -> int:
    return trace_id & (2**64 - 1) or 1


def _otlp() -> Exporter:
    protocol = _first(os.environ, _PROTOCOLS) or "http/protobuf"
    if protocol != "http/protobuf":
        raise UsageError(f"Spans are not sent by {protocol}.", remedy="Set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf and its port (4318).")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(timeout=None if _first(os.environ, _TIMEOUTS) else TIMEOUT_S)


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((value for name in names if (value := environment.get(name, "").strip())), "")


def _known(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """What is not known is not an attribute."""
    return {name: value for name, value in attributes.items() if value is not None and value != ""}


def _ns(milliseconds: float) -> int:
    return int(milliseconds * NS_PER_MS)
