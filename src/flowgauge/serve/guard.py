"""Who may call: stands around the whole application, on every method and path.

A call must name this server in its Host header, and must not come from another
site's page (Origin, Sec-Fetch-Site): that keeps out DNS rebinding and forged
calls from browsers. Beyond loopback every call needs a token; what its scope
allows is asked where the operation is known. Bodies are counted as they come.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

import msgspec
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response

from flowgauge.errors import NotAllowed, StoreFailure, UsageError
from flowgauge.model.ids import content_hash
from flowgauge.model.service import Token
from flowgauge.serve.caller import Caller
from flowgauge.serve.rpc_errors import INVALID_REQUEST, RpcError, refused, told

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Send
    from starlette.types import Scope as Connection

OPEN_PATHS = frozenset({"/", "/health"})
"""Hold nothing of the store: answered without a token, and whatever token is sent."""
CALLER = "caller"
DEFAULT_PORTS = {"http": ":80", "https": ":443"}
CREATE_A_TOKEN = "Run: flowgauge token create NAME --scope run"  # noqa: S105 - words, no secret
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


_RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]


class Tokens(Protocol):
    """What the guard asks of a store."""

    def get_token_by_hash(self, digest: str, /) -> Token | None:
        """None where no token has that SHA-256."""

    def touch_token(self, token: Token, /) -> None:
        """Note that it was used."""


class Door(msgspec.Struct, frozen=True, kw_only=True):
    """By which names the server may be called, and whether a token is needed."""

    hosts: frozenset[str]
    """Beside those of loopback."""
    token_required: bool

    def knows(self, name: str) -> bool:
        """Whether a host's name is this server's."""
        return name in self.hosts or is_loopback(name)


def door(host: str, allowed_hosts: Iterable[str] = ()) -> Door:
    """Only loopback, in address and in all names, goes without a token: behind a proxy the world comes from loopback too."""
    allowed = frozenset(name.lower().strip("[]") for name in allowed_hosts)
    bad = next((name for name in allowed if not name or (set(name) & set("/:@ *") and not _is_address(name))), None)
    if bad is not None:
        raise UsageError(f"'{bad}' is no host's name.", remedy="Give the name alone: --allowed-host gauge.example.com")
    hosts = allowed | ({host.lower()} - {"0.0.0.0", "::", ""})  # noqa: S104 - names that nobody calls by
    return Door(hosts=hosts, token_required=not (is_loopback(host) and all(map(is_loopback, allowed))))


def is_loopback(name: str) -> bool:
    """Of an address or a name, without asking any resolver."""
    return name == "localhost" or (_is_address(name) and ipaddress.ip_address(name).is_loopback)


def opens(token: Token) -> bool:
    """Neither revoked nor over."""
    return not token.revoked_at and (not token.expires_at or token.expires_at > time.time() * 1000)


def caller_of(connection: Connection) -> Caller:
    """Who the guard found to be calling."""
    caller = connection["state"][CALLER]
    assert isinstance(caller, Caller)
    return caller


def refusal(status: int, error: RpcError, headers: dict[str, str] | None = None) -> Response:
    """An answer of HTTP's own, in the form that JSON-RPC's clients read."""
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": error})
    return Response(body, status, {"Content-Type": "application/json", **(headers or {})})


class Guard:
    """An ASGI application around another."""

    def __init__(self, app: ASGIApp, door: Door, tokens: Tokens, *, body_bytes: int, refused: Callable[[str], None]) -> None:
        self._app = app
        self._door = door
        self._tokens = tokens
        self._body_bytes = body_bytes
        self._refused = refused

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        """Refuse, or hand on."""
        if connection["type"] != "http":
            return
        headers = Headers(scope=connection)
        send = _with_headers(send)
        answer = self._foreign(connection, headers) or self._too_large(headers) or await self._unknown(connection, headers)
        if answer is not None:
            await answer(connection, receive, send)
            return
        await self._app(connection, _counted(receive, self._body_bytes), send)

    async def caller(self, authorization: str | None) -> Caller:
        """Raises NotAllowed; StoreFailure where it cannot be known."""
        if authorization is None:
            if self._door.token_required:
                raise NotAllowed("This server needs a token.", remedy=f"{CREATE_A_TOKEN}, and send it as 'Authorization: Bearer TOKEN'.")
            return Caller()
        kind, _, secret = authorization.partition(" ")
        if kind.lower() != "bearer" or not secret.strip():
            raise NotAllowed("The Authorization header holds no bearer token.", remedy="Send 'Authorization: Bearer TOKEN'.")
        return await self.still(Caller(token_hash=content_hash(secret.strip().encode())))

    async def still(self, caller: Caller) -> Caller:
        """The same caller, with what the token may now. Raises as `caller` does."""
        if not caller.token_hash:
            return caller
        token = await asyncio.to_thread(self._tokens.get_token_by_hash, caller.token_hash)
        if token is None or not hmac.compare_digest(token.hash, caller.token_hash):
            raise NotAllowed("The token is not known here.", remedy=f"{CREATE_A_TOKEN}.")
        if not opens(token):
            was = "was revoked" if token.revoked_at else "has expired"
            raise NotAllowed(f"The token {token.name} {was}.", remedy=f"{CREATE_A_TOKEN}.")
        with contextlib.suppress(StoreFailure):  # a store that cannot be written now may still be read
            await asyncio.to_thread(self._tokens.touch_token, token)
        return Caller(scope=token.scope, token_hash=caller.token_hash)

    def _foreign(self, connection: Connection, headers: Headers) -> Response | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._door.knows(_name(hosts[0])):
            named = hosts[0][:100] if hosts else "none"
            words = f"This server is not called {named!r}."
            return self._refuse("host", NotAllowed(words, remedy="Start it with --allowed-host NAME to be called by another name."))
        if any(not _same_origin(origin, hosts[0]) for origin in headers.getlist("origin")):
            return self._refuse("origin", NotAllowed("Calls from another site's page are refused.", remedy="Call from the server's own."))
        site, visits = headers.get("sec-fetch-site", "none"), headers.get("sec-fetch-mode") == "navigate"
        if site not in ("none", "same-origin") and not (visits and connection["method"] == "GET"):
            return self._refuse("origin", NotAllowed("Calls from another site's page are refused.", remedy="Call from the server's own."))
        return None

    def _too_large(self, headers: Headers) -> Response | None:
        said = headers.get("content-length", "")
        if said.isdecimal() and int(said[:20]) > self._body_bytes:
            self._refused("size")
            return refusal(413, too_large(self._body_bytes), {"Connection": "close"})
        return None

    async def _unknown(self, connection: Connection, headers: Headers) -> Response | None:
        state = connection.setdefault("state", {})
        if connection["path"] in OPEN_PATHS:
            state[CALLER] = Caller(scope="read")
            return None
        try:
            state[CALLER] = await self.caller(headers.get("authorization"))
        except NotAllowed as error:
            self._refused("token")
            return refusal(401, told(error), {"WWW-Authenticate": "Bearer"})
        except StoreFailure as error:
            return refusal(503, told(error))
        return None

    def _refuse(self, reason: str, error: NotAllowed) -> Response:
        self._refused(reason)
        return refusal(403, told(error))


def too_large(most_bytes: int) -> RpcError:
    """For a body that is over the limit."""
    return refused(INVALID_REQUEST, f"The body is larger than {most_bytes} bytes.", "Send less at once.")


def _counted(receive: Receive, most_bytes: int) -> Receive:
    """The same, until too much has come: whatever length the sender told."""
    seen = 0

    async def counting() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most_bytes:
            raise HTTPException(413, f"The body is larger than {most_bytes} bytes.", {"Connection": "close"})
        return message

    return counting


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            said = {name.lower() for name, _ in message["headers"]}
            message = {**message, "headers": [*message["headers"], *(pair for pair in _RAW_HEADERS if pair[0] not in said)]}
        await send(message)

    return sending


def _name(host: str) -> str:
    """A Host header without its port; empty where it is none."""
    host = host.strip().lower()
    if host.startswith("["):
        name, bracket, rest = host[1:].partition("]")
        return name if bracket and _is_port(rest) else ""
    name, colon, port = host.partition(":")
    return name if _is_port(colon + port) else ""


def _is_port(rest: str) -> bool:
    return not rest or (rest[0] == ":" and rest[1:].isdecimal())


def _same_origin(origin: str, host: str) -> bool:
    """Scheme aside: a proxy may speak TLS for this server. A browser leaves out the scheme's own port, a proxy may write it."""
    scheme, _, place = origin.lower().partition("://")
    port = DEFAULT_PORTS.get(scheme)
    return port is not None and place.removesuffix(port) == host.strip().lower().removesuffix(port)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
