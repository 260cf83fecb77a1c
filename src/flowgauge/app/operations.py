"""Operations of the product by name, for `operation` nodes: one row each.

The table is small while the command line is the only way in; the server's
operations join it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from flowgauge._version import __version__
from flowgauge.errors import NotFound
from flowgauge.model.workflow import Json

Operation = Callable[..., Awaitable[Any]]


async def health() -> dict[str, Json]:
    """Is the product there, and which version of it."""
    return {"status": "ok", "version": __version__}


OPERATIONS: dict[str, Operation] = {"health": health}


class OperationTable:
    """Calls operations by name (`model.ports.Operations`)."""

    def __init__(self, table: Mapping[str, Operation]) -> None:
        self._table = table

    async def call(self, name: str, arguments: Mapping[str, Json]) -> Any:
        """Raises NotFound for an unknown name."""
        operation = self._table.get(name)
        if operation is None:
            raise NotFound(f"There is no operation '{name}'.", remedy=f"There are: {', '.join(sorted(self._table))}.")
        return await operation(**arguments)
