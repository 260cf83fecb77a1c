from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.store.store_nouns import keep, node_run, play, save

from flowgauge.errors import Conflict, StoreFailure, UsageError
from flowgauge.model.ids import PLAY, new_sid
from flowgauge.store import open_store
from flowgauge.store.store import Store


def fill(store: Store) -> str:
    """Something of every kind; the sid of a play."""
    workflow, version, _ = store.save_version("triage", "Sorts.", b'{"a":1}', "aaaa1111")
    store.add_example("triage", "one", {"ticket": "é\x00"}, description="First\x00")
    owner = store.register_owner()
    kept = play(
        workflow_sid=workflow.sid, version_sid=version.sid, name="n\x00", owner_sid=owner.sid, pins={"triage": version.sid}, output=0.1
    )
    keep(store, kept)
    for node_id in ("b", "a", "c"):
        store.journal.node_finished(kept.sid, node_run(node_id=node_id, output={"x": "\x00"})).wait()
    return kept.sid


def everything(store: Store, sid: str) -> tuple[object, ...]:
    return (
        store.get_workflow("triage"),
        store.list_versions("triage"),
        store.list_examples("triage"),
        store.get_play(sid),
        store.get_node_runs(sid),
    )


def test_info_tells_what_is_there(store: Store) -> None:
    fill(store)
    info = store.info()
    bench = {"benches": 0, "trials": 0, "benchmarks": 0, "baselines": 0, "baseline_history": 0, "answers": 0}
    spine = {"workflows": 1, "workflow_versions": 1, "examples": 1, "owners": 1, "plays": 1, "node_runs": 3}
    assert info.rows == spine | bench | {"schedules": 0}
    assert info.engine.check == "ok"
    assert info.engine.size_bytes > 0
    assert info.engine.journal_mode in ("wal", "synchronous_commit=on")
    assert info.engine.wal_reset_bug == (info.engine.backend == "sqlite" and sqlite3.sqlite_version_info < (3, 51, 3))


def test_info_shows_no_password(postgres_url: str) -> None:
    with open_store(postgres_url.replace("postgres:@", "postgres:hunter2@")) as store:
        assert "hunter2" not in repr(store.info())


def test_a_backup_is_a_store(store: Store, tmp_path: Path) -> None:
    sid = fill(store)
    sqlite = store.info().engine.backend == "sqlite"
    path = store.backup(tmp_path / ("copy.db" if sqlite else "copy.jsonl.gz"))
    with open_store(str(path) if sqlite else str(tmp_path / "new.db")) as copy:
        if not sqlite:
            copy.import_(path)
        assert everything(copy, sid) == everything(store, sid)


def test_a_backup_replaces_nothing_and_leaves_nothing_behind(store: Store, tmp_path: Path) -> None:
    fill(store)
    taken = tmp_path / "taken"
    taken.write_text("mine")
    for write in (store.backup, store.export):
        with pytest.raises(Conflict, match="already"):
            write(taken)
        with pytest.raises(StoreFailure, match="cannot be written"):
            write(tmp_path / "none" / "x.jsonl")
    assert taken.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_backup_is_taken_while_others_write(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "a.db")) as store:
        for number in range(300):
            store.journal.node_finished("pl_1", node_run(node_id=str(number), output="x" * 1000))
        store.backup(tmp_path / "copy.db")
        store.journal.wait()
    with closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
@pytest.mark.parametrize("target", ["sqlite", "postgres"])
def test_an_export_is_read_by_every_store_and_twice_is_harmless(
    store: Store, tmp_path: Path, name: str, target: str, request: pytest.FixtureRequest
) -> None:
    sid = fill(store)
    exported = store.export(tmp_path / name)
    assert exported.rows == store.info().rows
    second = f"{request.getfixturevalue('other_postgres_url')}" if target == "postgres" else str(tmp_path / "b.db")
    with open_store(second) as other:
        first = other.import_(tmp_path / name)
        assert (first.added, set(first.kept.values())) == (exported.rows, {0})
        assert everything(other, sid) == everything(store, sid)
        again = other.import_(tmp_path / name)
        assert (set(again.added.values()), again.kept) == ({0}, exported.rows)
        assert everything(other, sid) == everything(store, sid)
    assert store.import_(tmp_path / name).kept == exported.rows


def test_an_import_joins_workflows_of_one_name(store: Store, tmp_path: Path) -> None:
    with open_store(str(tmp_path / "a.db")) as source:
        save(source, "triage", b"only there")
        both = source.save_version("triage", "", b"both", "b" * 64)[1]
        keep(source, play(sid="pl_1", workflow_sid=both.workflow_sid, version_sid=both.sid, pins={"triage": both.sid}))
        source.export(tmp_path / "out.jsonl")
    ours = store.save_version("triage", "", b"both", "b" * 64)[1]
    imported = store.import_(tmp_path / "out.jsonl")
    assert (imported.added["workflow_versions"], imported.kept["workflow_versions"]) == (1, 1)
    assert [(version.number, version.content) for version in store.list_versions("triage").items] == [(2, b"only there"), (1, b"both")]
    joined = store.get_play("pl_1")
    assert (joined.workflow_sid, joined.version_sid, joined.pins) == (ours.workflow_sid, ours.sid, {"triage": ours.sid})
    assert store.get_workflow("triage").current_version_sid == ours.sid


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        pytest.param(lambda lines: [b"hello", *lines], "not an export", id="no header"),
        pytest.param(lambda lines: [], "not an export", id="an empty file"),
        pytest.param(lambda lines: [lines[0].replace(b'export":1', b'export":2'), *lines[1:]], "newer", id="a newer format"),
        pytest.param(lambda lines: [*lines[:3], lines[3][:20], *lines[4:]], r"jsonl:4: the line is damaged", id="a cut line"),
        pytest.param(lambda lines: [*lines[:2], b'["songs",{}]', *lines[2:]], r"jsonl:3: .*no table 'songs'", id="a strange table"),
        pytest.param(
            lambda lines: [*lines[:2], b'["plays",{"sid":"x"}]', *lines[2:]], r"jsonl:3: .*columns of plays differ", id="missing columns"
        ),
        pytest.param(lambda lines: [*lines[:2], b"\xff\xfe", *lines[2:]], r"jsonl:3: ", id="no UTF-8"),
        pytest.param(lambda lines: lines[:-1], "cut short", id="no end"),
        pytest.param(lambda lines: [*lines[:-2], lines[-1]], "cut short", id="a row lost"),
        pytest.param(lambda lines: [*lines, lines[-2]], "more after the end", id="more after the end"),
    ],
)
def test_a_damaged_export_changes_nothing(store: Store, tmp_path: Path, damage: object, says: str) -> None:
    with open_store(str(tmp_path / "a.db")) as source:
        fill(source)
        source.export(tmp_path / "out.jsonl")
    lines = (tmp_path / "out.jsonl").read_bytes().splitlines()
    assert callable(damage)
    (tmp_path / "bad.jsonl").write_bytes(b"\n".join(damage(lines)))
    with pytest.raises(UsageError, match=says):
        store.import_(tmp_path / "bad.jsonl")
    assert set(store.info().rows.values()) == {0}


def test_a_wrong_value_in_an_export_changes_nothing(store: Store, tmp_path: Path) -> None:
    with open_store(str(tmp_path / "a.db")) as source:
        fill(source)
        source.export(tmp_path / "out.jsonl")
    text = (tmp_path / "out.jsonl").read_bytes()
    (tmp_path / "bad.jsonl").write_bytes(text.replace(b'"started_at":1000', b'"started_at":null'))
    with pytest.raises((UsageError, StoreFailure)):
        store.import_(tmp_path / "bad.jsonl")
    assert set(store.info().rows.values()) == {0}


def test_a_damaged_archive_is_refused(store: Store, tmp_path: Path) -> None:
    packed = gzip.compress(b'{"flowgauge_export":1,"schema_version":1,"created_at":1}\n' * 100)
    (tmp_path / "bad.jsonl.gz").write_bytes(packed[:40])
    with pytest.raises(UsageError, match="damaged"):
        store.import_(tmp_path / "bad.jsonl.gz")
    with pytest.raises(StoreFailure, match="cannot be read"):
        store.import_(tmp_path / "none.jsonl")


def prunable(store: Store) -> list[str]:
    sids = [new_sid(PLAY, now_ms=number) for number in range(1, 7)]
    keep(store, *(play(sid=sid, status="running" if sid == sids[0] else "success", started_at=number) for number, sid in enumerate(sids)))
    for sid in sids:
        store.journal.node_finished(sid, node_run())
    store.journal.wait()
    return sids


def left(store: Store) -> list[str]:
    return [each.sid for each in store.list_plays().items][::-1]


@pytest.mark.parametrize(("keep_newest", "stay"), [(2, [0, 4, 5]), (0, [0]), (6, [0, 1, 2, 3, 4, 5]), (100, [0, 1, 2, 3, 4, 5])])
def test_prune_keeps_the_newest_and_what_runs(store: Store, keep_newest: int, stay: list[int]) -> None:
    sids = prunable(store)
    counted = store.prune(keep_newest=keep_newest, dry_run=True)
    assert left(store) == sids
    done = store.prune(keep_newest=keep_newest)
    assert left(store) == [sids[index] for index in stay]
    assert done.plays == counted.plays == done.node_runs == 6 - len(stay)
    assert store.info().rows["node_runs"] == len(stay)


def test_prune_by_age_and_workflow(store: Store) -> None:
    sids = prunable(store)
    young = play(status="success", started_at=10**15)
    keep(store, young)
    save(store)
    assert store.prune(younger_than_days=1, workflow="triage").plays == 0
    assert store.prune(younger_than_days=1).plays == 5
    assert left(store) == [sids[0], young.sid]


@pytest.mark.parametrize("wrong", [{}, {"keep_newest": 1, "younger_than_days": 1}, {"keep_newest": -1}])
def test_prune_must_be_told_what_to_keep(store: Store, wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        store.prune(**wrong)  # type: ignore[arg-type]


def test_vacuum_gives_room_back(store: Store) -> None:
    for number in range(20):
        done = play(status="success")
        store.journal.play_started(done)
        store.journal.node_finished(done.sid, node_run(node_id=str(number), output="x" * 200_000))
    store.journal.wait()
    store.prune(keep_newest=0)
    store.vacuum()
    assert store.info().engine.size_bytes < 1_000_000
    assert store.list_plays().items == ()
