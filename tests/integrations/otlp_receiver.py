"""A real OTLP/HTTP receiver on loopback: an aiohttp server that reads the official protobuf messages."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import msgspec
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse


class Received(msgspec.Struct, frozen=True):
    """A span as it came over the wire."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    status: int
    links: list[tuple[str, str]]
    kind: int


class Receiver:
    """What came in. `answer` is the status it gives."""

    def __init__(self) -> None:
        self.url = ""
        self.spans: list[Received] = []
        self.resources: list[dict[str, Any]] = []
        self.requests = 0
        self.answer = 200

    def named(self, beginning: str) -> list[Received]:
        return [span for span in self.spans if span.name.startswith(beginning)]

    def roots(self) -> list[Received]:
        return [span for span in self.spans if not span.parent_id]

    def below(self, above: Received) -> list[Received]:
        return [span for span in self.spans if span.parent_id == above.span_id]

    async def handle(self, request: web.Request) -> web.Response:
        self.requests += 1
        body = await request.read()
        if self.answer != 200:
            return web.Response(status=self.answer)
        message = ExportTraceServiceRequest.FromString(body)
        for group in message.resource_spans:
            self.resources.append(_values(group.resource.attributes))
            self.spans.extend(_received(span) for scope in group.scope_spans for span in scope.spans)
        return web.Response(body=ExportTraceServiceResponse().SerializeToString(), content_type="application/x-protobuf")


def _received(span: Any) -> Received:
    return Received(
        name=span.name,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        attributes=_values(span.attributes),
        status=span.status.code,
        links=[(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
        kind=span.kind,
    )


def _values(attributes: Any) -> dict[str, Any]:
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in attributes}


@contextlib.contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver on a thread of its own; its `url` is what OTEL_EXPORTER_OTLP_ENDPOINT names."""
    receiver = Receiver()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> web.AppRunner:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/traces", receiver.handle)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        return runner

    runner = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    try:
        yield receiver
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
