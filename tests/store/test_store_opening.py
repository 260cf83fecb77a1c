from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect
from tests.store.store_nouns import node_run, play, save

from flowgauge.errors import MissingExtra, StoreFailure, UsageError
from flowgauge.store import open_store
from flowgauge.store.migrations import newest
from flowgauge.store.schema import metadata
from flowgauge.store.store import Store


def test_the_default_is_a_folder_of_its_own_made_by_the_first_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLOWGAUGE_DB", raising=False)
    with open_store() as store:
        assert store.list_plays().items == ()
        assert not store.info().exists
        assert list(tmp_path.iterdir()) == []
        store.journal.play_started(play()).wait()
        assert len(store.list_plays().items) == 1
    assert (tmp_path / ".flowgauge/flowgauge.db").exists()
    assert (tmp_path / ".flowgauge/.gitignore").read_text() == "*\n"


def test_the_environment_names_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWGAUGE_DB", f"sqlite:///{tmp_path}/mine.db")
    with open_store() as store:
        save(store)
    assert (tmp_path / "mine.db").exists()


def test_a_file_that_another_process_makes_is_seen(tmp_path: Path) -> None:
    path = str(tmp_path / "a.db")
    with open_store(path) as early, open_store(path) as late:
        assert early.list_workflows().items == ()
        save(late)
        assert len(early.list_workflows().items) == 1


def test_the_tables_are_what_the_queries_expect(store: Store) -> None:
    store.register_owner()
    inspector = inspect(store._database._engine)
    for name, table in metadata.tables.items():
        assert [column["name"] for column in inspector.get_columns(name)] == [column.name for column in table.c]
        nullable = {column["name"] for column in inspector.get_columns(name) if column["nullable"]} - {"seq", "sid", "key", "uid"}
        assert nullable == {column.name for column in table.c if column.nullable} - {"seq"}
    assert store.info().schema_version == newest()


def test_opening_again_changes_nothing(store: Store, store_url: str) -> None:
    save(store)
    with open_store(store_url) as again, again._database.reading() as connection:
        assert connection.in_transaction() is False
        assert again.get_workflow("triage") == store.get_workflow("triage")


def test_a_store_of_a_newer_program_is_refused(store: Store, store_url: str) -> None:
    with store._database.writing() as connection:
        connection.exec_driver_sql("UPDATE meta SET value = '999'")
    with pytest.raises(StoreFailure, match=r"newer Flowgauge \(schema 999.*upgrade"):
        open_store(store_url)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"This is a letter, and no database at all." * 100, "is not a database", id="not a database"),
        pytest.param(b"SQLite format 3\x00" + b"\x01" * 5000, "not a database|damaged", id="a damaged header"),
    ],
)
def test_a_strange_file_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "strange.db"
    path.write_bytes(content)
    with pytest.raises(StoreFailure, match=f"strange.db.*({says})"):
        open_store(str(path))
    assert path.read_bytes() == content


def test_a_database_of_somebody_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE songs (title)")
    with pytest.raises(StoreFailure, match=r"holds other tables and no store \(songs\)"):
        open_store(str(path))


def test_a_damaged_store_says_so(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with open_store(str(path)) as store:
        for number in range(50):
            store.journal.node_finished("pl_1", node_run(node_id=str(number), output="x" * 1000))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreFailure, match=r"is damaged.*backup"), open_store(str(path)) as store:
        store.get_node_runs("pl_1")


def test_a_locked_store_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flowgauge.store.sqlite.BUSY_S", 0.05)
    monkeypatch.setattr("flowgauge.store.journal.RETRIES_S", (0.01,))
    path = tmp_path / "store.db"
    with open_store(str(path)) as store, closing(sqlite3.connect(path, isolation_level=None)) as holder:
        save(store, "before")
        store._database._engine.dispose()
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreFailure, match="is locked by another process"):
            save(store, "after")
        with pytest.raises(StoreFailure, match="is locked by another process"):
            store.journal.play_started(play()).wait()
        holder.execute("ROLLBACK")
        save(store, "after")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "none" / "a.db")) as store, pytest.raises(StoreFailure, match="mkdir -p"):
        save(store)


@pytest.mark.parametrize(
    "url", ["mysql://root:hunter2@localhost/x", "postgresql://u:hunter2@h:port/x", ":memory:", "sqlite://", "sqlite:///:memory:"]
)
def test_what_cannot_hold_a_store_is_refused(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_store(url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hunter2@127.0.0.1:1/x",
        "postgresql://me@127.0.0.1:1/x?password=hunter2",
        "postgres://me:hunter2@/x?host=/nonexistent",
    ],
)
def test_an_unreachable_server_is_named_without_its_password(url: str) -> None:
    with pytest.raises(StoreFailure, match=r"does not answer.*Start the server") as caught:
        open_store(url)
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(caught.value)


def test_a_database_that_does_not_exist_is_named(postgres_server: str) -> None:
    with pytest.raises(StoreFailure, match="createdb"):
        open_store(postgres_server.replace("/postgres?", "/nowhere?"))


def test_a_missing_driver_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "flowgauge.store.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"pip install 'flowgauge\[postgres\]'"):
        open_store("postgresql://me@127.0.0.1:1/x")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_store_that_came_through_a_fork_is_refused(store_url: str) -> None:
    code = """
        import os, sys
        from flowgauge.errors import StoreFailure
        from flowgauge.store import open_store
        store = open_store(sys.argv[1])
        store.register_owner()
        if os.fork():
            sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
        try:
            store.list_plays()
        except StoreFailure as error:
            os._exit(0 if "fork" in str(error) else 2)
        os._exit(1)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), store_url], check=True, timeout=60)


def test_a_closed_store_says_so(store_url: str) -> None:
    store = open_store(store_url)
    store.close()
    store.close()
    with pytest.raises(StoreFailure, match="closed"):
        store.list_plays()


def test_nothing_heavy_is_imported_before_a_store_is_opened() -> None:
    code = "import sys, flowgauge.store; print([name for name in ('sqlalchemy', 'psycopg') if name in sys.modules])"
    answer: Any = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert answer.stdout.strip() == "[]"
