"""`http`: one request to a web server.

Refuses bodies past `max_bytes`. A token comes from the environment by name
(`bearer_env`) and is put into no recording, output or message.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from flowgauge.model.play import Step
from flowgauge.model.workflow import FailureKind, Json, Node
from flowgauge.nodes.context import Context, fail
from flowgauge.nodes.kind import PASSING, Complaint, Kind

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
    clock = context.services.clock
    started_at, begun = clock.now_ms(), clock.tick_ms()
    answer = await context.exchange("http", request, lambda: _send(node, request, context), Answer)
    step = Step(
        kind="http",
        name=f"{node.method} {request['url']}",
        started_at=started_at,
        duration_ms=clock.tick_ms() - begun,
        response={"status": answer.status},
    )
    context.steps.append(step)
    if not (answer.status in node.expect if node.expect else answer.status < 400):
        raise _unexpected(answer, str(request["url"]))
    return {"status": answer.status, "headers": answer.headers, "text": answer.text, "json": _json(answer.text)}


async def _send(node: HttpNode, request: Mapping[str, Any], context: Context) -> Answer:
    import aiohttp

    session = await context.services.http()
    body = request["body"]
    content: dict[str, Any] = {} if body is None else {"data": body.encode()} if isinstance(body, str) else {"json": body}
    headers = {name: str(value) for name, value in request["headers"].items()}
    if node.bearer_env:
        headers["Authorization"] = f"Bearer {_token(node.bearer_env)}"
    query = {name: str(value) for name, value in request["query"].items()}
    timeout = aiohttp.ClientTimeout(total=context.timeout_s or 60.0)
    try:
        async with session.request(node.method, str(request["url"]), params=query, headers=headers, timeout=timeout, **content) as response:
            raw = await response.content.read(node.max_bytes + 1)
            while len(raw) <= node.max_bytes and (more := await response.content.read(node.max_bytes + 1 - len(raw))):
                raw += more
            if len(raw) > node.max_bytes:
                raise fail("invalid_output", f"{request['url']} answered with more than {node.max_bytes} bytes. Raise max_bytes.")
            text = raw.decode(response.get_encoding(), errors="replace")
            return Answer(status=response.status, headers={k.lower(): v for k, v in response.headers.items()}, text=text)
    except TimeoutError as error:
        raise fail("timeout", f"{request['url']} did not answer in time.") from error
    except aiohttp.InvalidURL as error:
        raise fail("http_status", f"'{request['url']}' is no URL.") from error
    except aiohttp.ClientError as error:
        raise fail("connection", f"{request['url']}: {error}") from error


def _token(name: str) -> str:
    token = os.environ.get(name, "")
    if not token:
        raise fail("provider_rejected", f"The environment variable {name} (bearer_env) is not set.")
    return token


_STATUS_KINDS: dict[int, FailureKind] = {408: "timeout", 429: "rate_limited"}


def _unexpected(answer: Answer, url: str) -> Exception:
    kind = _STATUS_KINDS.get(answer.status, "provider_error" if answer.status >= 500 else "http_status")
    wait = answer.headers.get("retry-after", "")
    return fail(
        kind,
        f"{url} answered with status {answer.status}.",
        detail=answer.text[:2000],
        retry_after_s=float(wait) if wait.replace(".", "", 1).isdigit() else None,
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
