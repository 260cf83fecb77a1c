"""Servers that the tests of one module share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.serve.serving import Served, put_tokens, served

from flowgauge.serve.running import Settings


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """On loopback, without tokens, on a store of its own."""
    with served(Settings(db=str(tmp_path_factory.mktemp("served") / "store.db"), port=0)) as up:
        yield up


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One that may be called from elsewhere, and so needs tokens; it has one of each kind."""
    db = str(tmp_path_factory.mktemp("guarded") / "store.db")
    put_tokens(db)
    with served(Settings(db=db, port=0, allowed_hosts=("gauge.example",))) as up:
        yield up
