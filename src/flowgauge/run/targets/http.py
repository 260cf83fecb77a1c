"""`http://host/path`: a server that is sent each case's inputs as JSON.

POST, with the inputs as the body; the URL may have holes (`?model={{ config.model
}}`), filled percent-encoded. The configuration's config goes along as JSON in
the header Flowgauge-Config, the run id as Idempotency-Key, because after a crash
a trial may be sent again. The body that comes back is the answer (see `reported`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from flowgauge.errors import Failed
from flowgauge.model.bench import Answer, Bench, Case, Configuration, PlannedTrial
from flowgauge.model.workflow import FailureKind, Json
from flowgauge.nodes.context import fail
from flowgauge.run.targets.caller import Price
from flowgauge.run.targets.holes import input_names, percent, scope_of, url_parts
from flowgauge.run.targets.reported import Timing, answer_of, config_of
from flowgauge.run.trial_results import failed_answer

MAX_BYTES = 10_000_000
_STATUS_KINDS: dict[int, FailureKind] = {408: "timeout", 429: "rate_limited"}


class HttpTarget:
    """`TargetCaller` of a server. `session` gives the process's aiohttp session."""

    patience_s = 0.0

    def __init__(self, bench: Bench, session: Callable[[], Awaitable[Any]], *, price: Price | None = None) -> None:
        self._url = url_parts(bench.target.reference, input_names(bench.cases))
        self._session = session
        self._price = price

    async def call(self, configuration: Configuration, case: Case, planned: PlannedTrial) -> Answer:
        """Ask once."""
        session = await self._session()
        started_at, begun = time.time_ns() // 1_000_000, time.perf_counter()
        try:
            url = self._url.fill(scope_of(configuration, case), percent)
            body = await _post(session, url, msgspec.json.encode(case.inputs), _headers(configuration, planned))
            return answer_of(_value(body), url, Timing(started_at, (time.perf_counter() - begun) * 1000.0), self._price)
        except Failed as error:
            return failed_answer(error.failure, started_at=started_at, duration_ms=(time.perf_counter() - begun) * 1000.0)

    async def close(self) -> None:
        """The session is the process's."""


def _headers(configuration: Configuration, planned: PlannedTrial) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Idempotency-Key": planned.run_id}
    config = config_of(configuration.workflow_overrides)
    if config:
        headers["Flowgauge-Config"] = json.dumps(config, ensure_ascii=True)
    return headers


async def _post(session: Any, url: str, body: bytes, headers: dict[str, str]) -> bytes:
    import aiohttp

    try:
        async with session.post(url, data=body, headers=headers, timeout=aiohttp.ClientTimeout(total=None)) as response:
            content = await _read(response, url)
            if response.status >= 400:
                raise _refused(url, response.status, content, response.headers)
            return content
    except TimeoutError as error:
        raise fail("timeout", f"{url} did not answer in time.") from error
    except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
        raise fail("template", f"'{url}' is no http URL. Begin it with http:// or https://.") from error
    except aiohttp.ClientError as error:
        raise fail("connection", f"{url}: {error or type(error).__name__}") from error


async def _read(response: Any, url: str) -> bytes:
    content = bytearray()
    async for piece in response.content.iter_any():
        content += piece
        if len(content) > MAX_BYTES:
            raise fail("invalid_output", f"{url} answered with more than {MAX_BYTES} bytes.")
    return bytes(content)


def _refused(url: str, status: int, content: bytes, headers: Any) -> Failed:
    from flowgauge.providers.wire.http_failures import retry_after_s

    kind = _STATUS_KINDS.get(status, "provider_error" if status >= 500 else "http_status")
    lower = {name.lower(): value for name, value in headers.items()}
    detail = content[:2000].decode(errors="replace")
    return fail(kind, f"{url} answered with status {status}.", detail=detail, retry_after_s=retry_after_s(lower, time.time()))


def _value(content: bytes) -> Json:
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return content.decode(errors="replace")
