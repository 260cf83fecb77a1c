"""A workspace for one command, with all operations for the `operation` nodes of what it runs.

Takes up nothing that others left. The host behind it is made when the first
operation is called: most workflows call none.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowgauge.app.services import Isolation
from flowgauge.app.workspace import Workspace, open_workspace

if TYPE_CHECKING:
    from flowgauge.app.host import Host
    from flowgauge.model.workflow import Json


class OperationsOnCall:
    """`model.ports.Operations` of a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._host: Host | None = None

    async def call(self, name: str, arguments: Mapping[str, Json]) -> Any:
        """See `ForNodes.call`."""
        if self._host is None:
            from flowgauge.app.host import Host

            self._host = Host(self._workspace)
        return await self._host.for_nodes.call(name, arguments)

    async def stop(self) -> None:
        """Let go of what an operation has started and nobody waited for."""
        if self._host is not None:
            await self._host.stop()


@contextlib.asynccontextmanager
async def open_hosted(
    db: str | None = None, *, isolation: Isolation = "auto", record: Path | None = None, replay: Path | None = None
) -> AsyncIterator[Workspace]:
    """See `open_workspace`."""
    async with open_workspace(db, isolation=isolation, record=record, replay=replay) as workspace:
        operations = workspace.services.operations = OperationsOnCall(workspace)
        try:
            yield workspace
        finally:
            await operations.stop()
