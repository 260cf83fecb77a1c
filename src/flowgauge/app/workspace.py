"""An opened workspace: the store, the services, the engine, and the lease that says who runs what.

async with open_workspace() as workspace:
play = await start_play(workspace, version, inputs={...})
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.services import Isolation, ProcessServices
from flowgauge.errors import NotFound, StoreFailure, UsageError
from flowgauge.model.redaction import Redactor, secrets_of
from flowgauge.run.engine import Engine

if TYPE_CHECKING:
    from flowgauge.model.play import Owner
    from flowgauge.model.ports import Tape
    from flowgauge.store.store import Store

LEASE_VARIABLE = "FLOWGAUGE_LEASE_S"
LEASE_S, SHORTEST_LEASE_S = 10.0, 1.0
LOOK_S = 0.5
"""How often a process looks for requests to cancel what it runs."""


class Workspace(msgspec.Struct, frozen=True):
    """What the use cases are handed."""

    store: Store
    services: ProcessServices
    engine: Engine
    owner: Owner
    lease_s: float
    """How long this process is taken for alive after it was last heard of."""
    redact: Redactor
    warnings: tuple[str, ...] = ()


@contextlib.asynccontextmanager
async def open_workspace(
    db: str | None = None,
    *,
    isolation: Isolation = "auto",
    record: Path | None = None,
    replay: Path | None = None,
    lease_s: float | None = None,
) -> AsyncIterator[Workspace]:
    """Open, own and close. The lease is renewed while it is open; by default it is as long as FLOWGAUGE_LEASE_S says."""
    from flowgauge.providers.gateway import LiveGateway

    redact = Redactor(secrets_of(os.environ))
    lease_s = lease_here() if lease_s is None else lease_s
    with open_tape(record, replay, redact) as tape, opened_store(db, redact) as store:
        check_settings()
        gateway = LiveGateway()
        services = ProcessServices(gateway, tape, isolation=isolation)
        engine = Engine(services, store.journal)
        owner = await asyncio.to_thread(store.register_owner, lease_s)
        keeper = asyncio.create_task(_keep(store, engine, owner, lease_s))
        try:
            yield Workspace(
                store=store,
                services=services,
                engine=engine,
                owner=owner,
                lease_s=lease_s,
                redact=redact,
                warnings=tuple(getattr(tape, "warnings", ())),
            )
        finally:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)
            await services.close()
            await gateway.close()
            await asyncio.to_thread(store.release_owner, owner.sid)


def lease_here() -> float:
    """How long this process is taken for alive without a word from it: FLOWGAUGE_LEASE_S, in seconds. Raises UsageError."""
    said = os.environ.get(LEASE_VARIABLE, "")
    try:
        lease_s = float(said) if said else LEASE_S
    except ValueError:
        lease_s = 0.0
    if not SHORTEST_LEASE_S <= lease_s < math.inf:
        raise UsageError(
            f"{LEASE_VARIABLE} is {said!r}, and no number of seconds.", remedy=f"Set it to {SHORTEST_LEASE_S:g} or more, or not at all."
        )
    return lease_s


def check_settings() -> None:
    """Read the settings that the environment names, so that a mistake in one is told before anything runs."""
    from flowgauge.providers.limits import settings
    from flowgauge.providers.prices import table

    settings.shared()
    table.table()


@contextlib.contextmanager
def opened_store(db: str | None = None, redact: Redactor | None = None) -> Iterator[Store]:
    """The store alone, for what runs nothing."""
    from flowgauge.store import open_store

    store = open_store(db, redact=redact or Redactor(secrets_of(os.environ)))
    try:
        yield store
    finally:
        store.close()


@contextlib.contextmanager
def open_tape(record: Path | None, replay: Path | None, redact: Redactor) -> Iterator[Tape]:
    """Live, recording, or answering from a recording."""
    from flowgauge.providers.recordings import tapes

    if replay is not None:
        with tapes.Replayer(replay, redact=redact) as replayer:
            yield replayer
    elif record is not None:
        with tapes.Recorder(record, redact=redact) as recorder:
            yield recorder
    else:
        yield tapes.Live()


async def _keep(store: Store, engine: Engine, owner: Owner, lease_s: float) -> None:
    """Renew the lease, and cancel what somebody else asked to be cancelled."""
    renewed = asyncio.get_running_loop().time()
    while True:
        await asyncio.sleep(LOOK_S)
        try:
            if engine.running:
                for play_sid in await asyncio.to_thread(store.cancel_requests, owner.sid):
                    engine.cancel(play_sid)
            now = asyncio.get_running_loop().time()
            if now - renewed >= lease_s / 3:
                await asyncio.to_thread(store.renew_lease, owner.sid, lease_s)
                renewed = now
        except StoreFailure:
            continue  # the store may be back at the next look; what cannot be written fails where it is written
        except NotFound:
            for play_sid in engine.running:  # somebody took this owner off the books: what it ran may be another's now
                engine.cancel(play_sid)
            return
