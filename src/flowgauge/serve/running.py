"""A server that runs: bind, open the host, serve, stop.

The address is taken before anything else, so that a port in use is known before
any play is taken up. A stop lets go of listeners, lets calls under way end
within the grace, and then lets the host stop: what is unfinished is left for
the next one.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import msgspec
import uvicorn

from flowgauge.app.daemon import DaemonSettings, daemon_beside
from flowgauge.app.host import MAX_PLAYS, open_host
from flowgauge.app.stopping import signals
from flowgauge.errors import UsageError
from flowgauge.model.service import Token
from flowgauge.serve.guard import CREATE_A_TOKEN, Door, door, opens
from flowgauge.serve.http import Application
from flowgauge.serve.limits import Limits

if TYPE_CHECKING:
    from flowgauge.app.host import Host

LOOPBACK, PORT = "127.0.0.1", 8321
GRACE_S = 5
"""For calls under way, once the server is told to stop."""
IDLE_S = 30
"""How long a connection is kept that nobody uses."""
DEAD_PEER_MS = 60_000
BACKLOG = 2048
READERS = 8
"""Threads that ask the store. More would mostly wait for each other."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How to serve."""

    db: str | None = None
    host: str = LOOPBACK
    port: int = PORT
    """0 picks a free one."""
    allowed_hosts: tuple[str, ...] = ()
    max_running: int = MAX_PLAYS
    """Plays at once."""
    lease_s: float | None = None
    limits: Limits = Limits()
    daemon: DaemonSettings | None = None
    """None: agents are not watched."""


class Server(msgspec.Struct, frozen=True):
    """One that is up."""

    url: str
    host: Host
    application: Application
    names: tuple[str, ...]
    """By which it can be called beside those of loopback."""
    guarded: bool
    """Whether every call needs a token."""


@contextlib.asynccontextmanager
async def running_server(settings: Settings) -> AsyncIterator[Server]:
    """Up when the block begins, gone when it ends. Raises UsageError for an address that cannot be had, or a token that is missing."""
    entry = door(settings.host, settings.allowed_hosts)
    with _bound(settings.host, settings.port) as bound:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(READERS, thread_name_prefix="store"))
        async with open_host(settings.db, max_plays=settings.max_running, lease_s=settings.lease_s) as host:
            await asyncio.to_thread(_check_tokens, host, entry)
            application = Application(host, entry, host.store, settings.limits)
            async with daemon_beside(host, settings.daemon), _listening(application, bound):
                yield Server(_url(bound), host, application, tuple(sorted(entry.hosts)), entry.token_required)


async def serve(settings: Settings, tell: Callable[[Server], None]) -> None:
    """Until SIGINT or SIGTERM; a second one ends it at once. `tell` is called when it is really up."""
    asked = asyncio.Event()
    with signals(asked):
        async with running_server(settings) as server:
            tell(server)
            await asked.wait()


def _check_tokens(host: Host, entry: Door) -> None:
    if entry.token_required and not any(map(opens, _tokens(host))):
        raise UsageError("A server that others can reach needs a token, and the store has none.", remedy=f"{CREATE_A_TOKEN}.")


def _tokens(host: Host) -> Iterator[Token]:
    page = host.store.list_tokens(limit=1000)
    while page.items:
        yield from page.items
        if page.next_cursor is None:
            return
        page = host.store.list_tokens(page.next_cursor, limit=1000)


@contextlib.asynccontextmanager
async def _listening(application: Application, bound: socket.socket) -> AsyncIterator[None]:
    config = uvicorn.Config(
        application,
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=IDLE_S,
        timeout_graceful_shutdown=GRACE_S,
    )
    server = _Uvicorn(config)
    running, up = asyncio.create_task(server.serve(sockets=[bound]), name="http"), asyncio.create_task(server.up.wait())
    try:
        await asyncio.wait({running, up}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        yield
    finally:
        up.cancel()
        application.broadcast.close()
        server.should_exit = True
        await running
        await application.mcp.close()


class _Uvicorn(uvicorn.Server):
    """Signals are ours: the host must stop, too."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """And say so."""
        await super().startup(sockets)
        self.up.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield


@contextlib.contextmanager
def _bound(host: str, port: int) -> Iterator[socket.socket]:
    """Listening already, so that no other can take the port meanwhile."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise UsageError(f"'{host}' is no address of this machine: {error.strerror}.", remedy="Give another --host.") from error
    with contextlib.closing(bound):
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD_PEER_MS)
        try:
            bound.bind(address)
            bound.listen(BACKLOG)
        except OSError as error:
            raise _cannot_listen(host, port, error) from error
        yield bound


def _cannot_listen(host: str, port: int, error: OSError) -> UsageError:
    if error.errno == errno.EADDRINUSE:
        return UsageError(
            f"Port {port} of {host} is in use.", remedy="Stop what listens there, or choose another --port; 0 picks a free one."
        )
    return UsageError(f"The server cannot listen on {host}, port {port}: {error.strerror}.", remedy="Choose another --host or --port.")


def _url(bound: socket.socket) -> str:
    address, port = bound.getsockname()[:2]
    return f"http://{f'[{address}]' if ':' in address else address}:{port}"
