"""The services of a process: made once, shared by all plays, started when first asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from flowgauge.errors import NotFound
from flowgauge.run.clock import SystemClock

if TYPE_CHECKING:
    from flowgauge.model.ports import Clock, Gateway, Operations, Sandbox, Tape
    from flowgauge.model.workflow import Json
    from flowgauge.sandbox import WorkerPool

Isolation = Literal["auto", "landlock", "process"]


class NoOperations:
    """Of a workspace without a host (`app.host`), which has them all."""

    async def call(self, name: str, arguments: Mapping[str, Json]) -> Any:
        """Raises NotFound."""
        del arguments
        raise NotFound(f"Operation '{name}' was called where no operations are at hand.", remedy="Open the workspace as a host.")


class ProcessServices:
    """What nodes are handed (`nodes.context.Services`)."""

    def __init__(self, gateway: Gateway, tape: Tape, *, isolation: Isolation = "auto") -> None:
        self.gateway = gateway
        self.tape = tape
        self.clock: Clock = SystemClock()
        self.operations: Operations = NoOperations()
        self._isolation: Isolation = isolation
        self._pool: WorkerPool | None = None
        self._http: Any = None
        self._starting = asyncio.Lock()

    async def sandbox(self) -> Sandbox:
        """The pool of python workers."""
        if self._pool is None:
            async with self._starting:
                if self._pool is None:
                    from flowgauge.sandbox import WorkerPool

                    pool = WorkerPool(isolation=self._isolation)
                    await pool.__aenter__()
                    self._pool = pool
        return self._pool

    async def http(self) -> Any:
        """The shared aiohttp session."""
        if self._http is None:
            import aiohttp

            self._http = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        return self._http

    async def close(self) -> None:
        """Stop what was started."""
        if self._http is not None:
            await self._http.close()
        if self._pool is not None:
            await self._pool.close()
