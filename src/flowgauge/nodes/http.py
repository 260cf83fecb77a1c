"""`http`: one request to a web server.

Refuses bodies past `max_bytes`. A token comes from the environment by name
(`bearer_env`) and is put into no recording, output or message.
"""

from __future__ import annotations

import codecs
import os
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from flowgauge.errors import Failed
from flowgauge.model.workflow import FailureKind, Json, Node
from flowgauge.nodes.context import Context, fail
from flowgauge.nodes.kind import PASSING, Complaint, Kind

if TYPE_CHECKING:
    import aiohttp

DEFAULT_TIMEOUT_S = 60.0
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]


class HttpNode(Node, frozen=True, kw_only=True, tag="http", tag_field="type"):
    """Make one HTTP request."""

    url: Annotated[str, Meta(description="http:// or https://; a template.")]
    method: Method = "GET"
    headers: dict[str, str] = {}
    query: dict[str, Json] = {}
    body: Annotated[Json, Meta(description="A string is sent as it is, anything else as JSON; templates.")] = None
    bearer_env: Annotated[str, Meta(description="Environment variable with a token for the Authorization header.")] = ""
    expect: Annotated[tuple[int, ...], Meta(description="Status codes that count as success; empty: below 400.")] = ()
    max_bytes: Annotated[int, Meta(ge=1)] = 10_000_000


class Answer(msgspec.Struct, frozen=True):
    """What the server said."""

    status: int
    headers: dict[str, str]
    text: str


def check(node: HttpNode) -> Iterable[Complaint]:
    """A literal URL must have a scheme that is spoken here."""
    if not node.url.startswith(("http://", "https://", "{{")):
        yield Complaint("url", f"'{node.url}' is no http URL.", "Begin it with http:// or https://.")
    if node.method in ("GET", "HEAD") and node.body is not None:
        yield Complaint("body", f"A {node.method} request has no body.", "Use method: POST.")


async def run(node: HttpNode, fields: Mapping[str, Json], context: Context) -> Json:
    """{status, headers, text, json}; a status that is not expected is a failure."""
    request = {"method": node.method, **{name: fields[name] for name in ("url", "headers", "query", "body")}}
    url = str(request["url"])
    with context.step("http", f"{node.method} {url}") as step:
        answer = await context.exchange("http", request, lambda: _send(node, request, context), Answer)
        step.response = {"status": answer.status}
    if not (answer.status in node.expect if node.expect else answer.status < 400):
        raise _unexpected(answer, url)
    return {"status": answer.status, "headers": answer.headers, "text": answer.text, "json": _json(answer.text)}


async def _send(node: HttpNode, request: Mapping[str, Any], context: Context) -> Answer:
    import aiohttp

    url = str(request["url"])
    session = await context.services.http()
    limit_s = context.timeout_s or DEFAULT_TIMEOUT_S
    options = _options(node, request)
    try:
        async with session.request(node.method, url, timeout=aiohttp.ClientTimeout(total=limit_s), **options) as response:
            return await _read(response, node.max_bytes, url)
    except TimeoutError as error:
        raise fail("timeout", f"{url} did not answer within {limit_s:g} s.") from error
    except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
        raise fail("template", f"'{url}' is no http URL. Begin it with http:// or https://.") from error
    except aiohttp.ClientError as error:
        raise fail("connection", f"{url}: {error or type(error).__name__}") from error
    except ValueError as error:  # such as a line break in a header
        raise fail("template", f"The request to {url} cannot be sent: {error}.") from error


def _options(node: HttpNode, request: Mapping[str, Any]) -> dict[str, Any]:
    headers = {name: str(value) for name, value in request["headers"].items()}
    if node.bearer_env:
        headers["Authorization"] = f"Bearer {_token(node.bearer_env)}"
    options: dict[str, Any] = {"headers": headers, "params": {name: _spelled(value) for name, value in request["query"].items()}}
    body = request["body"]
    if body is not None:
        options["data" if isinstance(body, str) else "json"] = body.encode() if isinstance(body, str) else body
    return options


def _spelled(value: Json) -> str:
    """As a query string has it: true rather than True, an object as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


async def _read(response: aiohttp.ClientResponse, max_bytes: int, url: str) -> Answer:
    raw = bytearray()
    async for piece in response.content.iter_any():
        raw += piece
        if len(raw) > max_bytes:
            raise fail("invalid_output", f"{url} answered with more than {max_bytes} bytes. Raise max_bytes.")
    text = raw.decode(response.charset or "utf-8", errors="replace") if _known(response.charset) else raw.decode(errors="replace")
    return Answer(status=response.status, headers={name.lower(): value for name, value in response.headers.items()}, text=text)


def _known(charset: str | None) -> bool:
    try:
        codecs.lookup(charset or "utf-8")
    except LookupError:
        return False
    return True


def _token(name: str) -> str:
    token = os.environ.get(name, "")
    if not token:
        raise fail("provider_rejected", f"The environment variable {name} (bearer_env) is not set.")
    return token


_STATUS_KINDS: dict[int, FailureKind] = {408: "timeout", 429: "rate_limited"}


def _unexpected(answer: Answer, url: str) -> Failed:
    from flowgauge.providers.wire.http_failures import retry_after_s

    kind = _STATUS_KINDS.get(answer.status, "provider_error" if answer.status >= 500 else "http_status")
    return fail(
        kind,
        f"{url} answered with status {answer.status}.",
        detail=answer.text[:2000],
        retry_after_s=retry_after_s(answer.headers, time.time()),
    )


def _json(text: str) -> Json:
    try:
        return msgspec.json.decode(text.encode())
    except msgspec.DecodeError:
        return None


KIND = Kind(
    struct=HttpNode,
    run=run,
    summary="Make one HTTP request.",
    templates=("url", "headers", "query", "body"),
    outputs=("status", "headers", "text", "json"),
    check=check,
    retry_on=PASSING,
    calls_out=True,
)
