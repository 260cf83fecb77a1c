"""Is the product there, and what is it doing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from flowgauge._version import __version__
from flowgauge.app.operations.operation import Nothing, Operation
from flowgauge.model.service import Running

if TYPE_CHECKING:
    from flowgauge.app.host import Host


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """What runs here, now."""

    status: Literal["ok", "stopping"]
    version: str
    store: str
    """Where, without a password."""
    running: Running


async def health(host: Host, _: Nothing) -> Health:
    """Asks nothing of the store."""
    return Health(status="stopping" if host.stopping else "ok", version=__version__, store=host.store.place, running=host.running())


ROWS = (Operation(name="health", scope="read", params=Nothing, result=Health, run=health, summary="Is the server there, and what runs."),)
