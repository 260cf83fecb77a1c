from __future__ import annotations

import gzip
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect
from tests.store.store_nouns import add, begin, bench, benchmark, keep, node_run, play, trial

from flowgauge.errors import Conflict, FlowgaugeError, NotFound, UsageError
from flowgauge.model.bench import Target
from flowgauge.model.figure import Metric
from flowgauge.model.redaction import MARK, redactor
from flowgauge.model.verdict import Baseline
from flowgauge.store import migrations, open_store
from flowgauge.store.migrations import newest
from flowgauge.store.schema import PORTABLE
from flowgauge.store.store import Store
from flowgauge.store.transfer import LATER


def measured(store: Store, *sids: str) -> None:
    store.put_benchmarks([benchmark(sid=sid, kind="ingested", subject=sid) for sid in sids])


def names(store: Store) -> dict[str, str]:
    return {each.name: each.benchmark_sid for each in store.list_baselines(limit=1000).items}


def before(store: Store, name: str) -> list[str]:
    return [each.benchmark_sid for each in store.baseline_history(name).items]


def test_a_baseline_is_a_benchmark_under_a_name(store: Store) -> None:
    measured(store, "bm_1", "bm_22")
    made = store.set_baseline("release/1.2", "bm_2", "shipped\x00")
    assert made == Baseline(name="release/1.2", benchmark_sid="bm_22", set_at=made.set_at, note="shipped\x00")
    assert store.get_baseline("release/1.2") == made
    assert names(store) == {"release/1.2": "bm_22"}


def test_a_baseline_moves_only_when_it_is_set_and_says_what_stood_there_before(store: Store) -> None:
    measured(store, "bm_1", "bm_2")
    moments = [store.set_baseline("main", sid, note).set_at for sid, note in (("bm_1", "a"), ("bm_2", "b"), ("bm_2", "c"), ("bm_1", "d"))]
    assert moments == sorted(set(moments))
    assert names(store) == {"main": "bm_1"}
    assert [(each.benchmark_sid, each.note) for each in store.baseline_history("main").items] == [("bm_2", "c"), ("bm_1", "a")]
    page = store.baseline_history("main", limit=1)
    assert store.baseline_history("main", page.next_cursor).items[0].note == "a"


def test_baselines_are_listed_by_name_in_pages(store: Store) -> None:
    measured(store, "bm_1")
    for name in ("c", "a", "b"):
        store.set_baseline(name, "bm_1")
    page = store.list_baselines(limit=2)
    assert [each.name for each in page.items] == ["a", "b"]
    assert [each.name for each in store.list_baselines(page.next_cursor).items] == ["c"]


def test_a_baseline_is_taken_away_with_its_history_and_without_its_benchmark(store: Store) -> None:
    measured(store, "bm_1", "bm_2")
    store.set_baseline("main", "bm_1")
    store.set_baseline("main", "bm_2")
    store.delete_baseline("main")
    assert names(store) == {}
    assert store.get_benchmark("bm_2").sid == "bm_2"
    store.set_baseline("main", "bm_1")
    assert before(store, "main") == []


@pytest.mark.parametrize("ask", [Store.get_baseline, Store.delete_baseline, Store.baseline_history], ids=["get", "delete", "history"])
def test_an_unknown_baseline_names_the_nearest(store: Store, ask: Any) -> None:
    with pytest.raises(NotFound, match=r"There are none\. Set it with: flowgauge baseline set NAME BENCHMARK"):
        ask(store, "main")
    measured(store, "bm_1")
    store.set_baseline("release", "bm_1")
    with pytest.raises(NotFound, match=r"No baseline 'relase' is stored\. Did you mean 'release'\?"):
        ask(store, "relase")


def test_a_baseline_stands_on_something(store: Store) -> None:
    with pytest.raises(NotFound, match="No benchmark 'bm_1'"):
        store.set_baseline("main", "bm_1")
    assert names(store) == {}


@pytest.mark.parametrize("name", ["", "latest", "bm_1", "merge-base:main", "a b", "-x", "a\nb", "a" * 101, "a\x00"])
def test_a_baseline_needs_a_name_that_means_nothing_else(store: Store, name: str) -> None:
    measured(store, "bm_1")
    with pytest.raises(UsageError, match="cannot be called"):
        store.set_baseline(name, "bm_1")


def test_a_secret_is_neither_note_nor_name(store_url: str) -> None:
    with open_store(store_url, redact=redactor({"hunter2hunter2"})) as store:
        measured(store, "bm_1")
        assert store.set_baseline("main", "bm_1", "hunter2hunter2").note == MARK
        assert store.get_baseline("main").note == MARK
        with pytest.raises(UsageError, match="holds a secret"):
            store.set_baseline("hunter2hunter2", "bm_1")


def full(store: Store) -> tuple[str, str]:
    """A finished bench of a workflow with a play, and benchmarks of two configurations; its uid and its play."""
    workflow, version, _ = store.save_version("triage", "", b"{}", "0" * 64)
    record = begin(store, bench(target=Target(kind="workflow", reference=version.sid, name="triage")), new=True)
    done = play(status="success", workflow_sid=workflow.sid, version_sid=version.sid)
    keep(store, done)
    store.journal.node_finished(done.sid, node_run()).wait()
    add(store, record.uid, trial(answer={"play_sid": done.sid}))
    made = [benchmark(bench_uid=record.uid, config=config, workflow_sid=workflow.sid) for config in ("mini", "large")]
    store.put_benchmarks(made)
    store.finish_bench(record.uid, "finished")
    return record.uid, done.sid


def left(store: Store) -> list[int]:
    return [store.info().rows[name] for name in ("benches", "trials", "benchmarks", "plays", "node_runs")]


@pytest.mark.parametrize(
    "remove",
    [
        pytest.param(lambda store, uid, _: store.delete_bench(uid), id="its bench"),
        pytest.param(lambda store, uid, _: store.delete_bench(uid, keep_plays=True), id="its bench without plays"),
        pytest.param(lambda store, _, sid: store.delete_play(sid), id="a play of its bench"),
        pytest.param(lambda store, *_: store.delete_benchmark(store.list_benchmarks(config="mini").items[0].sid), id="its benchmark"),
        pytest.param(lambda store, *_: store.delete_workflow("triage", force=True), id="its workflow"),
    ],
)
def test_what_a_baseline_stands_on_is_not_deleted(store: Store, remove: Any) -> None:
    uid, sid = full(store)
    store.set_baseline("main", store.list_benchmarks(bench=uid, config="mini").items[0].sid)
    store.release_owner(store.get_bench(uid).owner_sid)
    whole = left(store)
    with pytest.raises(Conflict, match=r"cannot go: the baseline main stands on it\. Move it first with: flowgauge baseline set main"):
        remove(store, uid, sid)
    assert left(store) == whole
    store.delete_baseline("main")
    remove(store, uid, sid)
    assert left(store) != whole


def test_every_baseline_that_is_in_the_way_is_named(store: Store) -> None:
    measured(store, "bm_1")
    for name in "dbac":
        store.set_baseline(name, "bm_1")
    with pytest.raises(Conflict, match=r"the baseline a, b, c, … stands on it"):
        store.delete_benchmark("bm_1")


def test_the_other_configuration_of_a_baselines_bench_may_go(store: Store) -> None:
    uid, _ = full(store)
    mine, other = (store.list_benchmarks(bench=uid, config=config).items[0].sid for config in ("mini", "large"))
    store.set_baseline("main", mine)
    store.delete_benchmark(other)
    assert [each.sid for each in store.list_benchmarks().items] == [mine]


def test_prune_leaves_what_a_baseline_stands_on(store: Store) -> None:
    (kept, _), (goes, _) = full(store), full(store)
    store.put_benchmarks([benchmark(sid=f"bm_{number}", kind="ingested", subject="tool", created_at=number) for number in range(3)])
    store.set_baseline("main", store.list_benchmarks(bench=kept).items[0].sid)
    store.set_baseline("tool", "bm_1")
    for asked in ({"keep_newest": 0}, {"younger_than_days": 0}):
        store.prune(**asked)  # type: ignore[arg-type]
        assert [each.uid for each in store.list_benches().items] == [kept]
        assert [each.sid for each in store.list_benchmarks(kind="ingested").items] == ["bm_1"]
    assert left(store) == [1, 1, 3, 1, 1]
    assert goes != kept


def test_prune_keeps_the_newest_of_each_subject_that_no_bench_made(store: Store) -> None:
    made = [("tool", 1), ("tool", 2), ("tool", 3), ("another", 1)]
    store.put_benchmarks([benchmark(sid=f"bm_{subject}{at}", kind="ingested", subject=subject, created_at=at) for subject, at in made])
    counted = store.prune(keep_newest=2, dry_run=True)
    assert (counted.benchmarks, len(store.list_benchmarks().items)) == (1, 4)
    assert store.prune(keep_newest=2).benchmarks == 1
    assert {each.sid for each in store.list_benchmarks().items} == {"bm_tool2", "bm_tool3", "bm_another1"}
    assert store.prune(younger_than_days=1).benchmarks == 3


def test_prune_of_a_workflow_leaves_other_subjects(store: Store) -> None:
    workflow = store.save_version("triage", "", b"{}", "0" * 64)[0]
    store.put_benchmarks([benchmark(sid="bm_1", kind="perf", workflow_sid=workflow.sid), benchmark(sid="bm_2", kind="perf")])
    assert store.prune(keep_newest=0, workflow="triage").benchmarks == 1
    assert [each.sid for each in store.list_benchmarks().items] == ["bm_2"]


def test_a_baseline_and_a_deletion_at_the_same_moment_do_not_both_happen(store: Store) -> None:
    refused: list[FlowgaugeError] = []

    def attempt(barrier: threading.Barrier, work: Any, *arguments: str) -> None:
        barrier.wait()
        try:
            work(*arguments)
        except (Conflict, NotFound) as error:
            refused.append(error)

    for number in range(12):
        measured(store, f"bm_{number}x")
        barrier = threading.Barrier(2)
        threads = [
            threading.Thread(target=attempt, args=(barrier, store.set_baseline, f"b{number}", f"bm_{number}x")),
            threading.Thread(target=attempt, args=(barrier, store.delete_benchmark, f"bm_{number}x")),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(refused) == 12
    assert set(names(store).values()) == {each.sid for each in store.list_benchmarks().items}


def moved(path: Path, name: str, sid: str, set_at: int) -> str:
    """An export of a store in which this baseline stood on another benchmark first."""
    with open_store(str(path / f"{sid}.db")) as source:
        measured(source, "bm_before", sid)
        source.set_baseline(name, "bm_before")
        source.set_baseline(name, sid, "theirs")
        with source._database.writing() as connection:
            connection.exec_driver_sql(f"UPDATE baselines SET set_at = {set_at}")
        source.export(path / "theirs.jsonl")
    return str(path / "theirs.jsonl")


@pytest.mark.parametrize(
    ("set_at", "stays", "gone", "words"),
    [
        pytest.param(2**50, "bm_theirs", "bm_ours", "is now bm_theirs: it was set later than bm_ours", id="set later there"),
        pytest.param(1, "bm_ours", "bm_theirs", "is still bm_ours: it was set later than bm_theirs", id="set later here"),
    ],
)
def test_of_two_baselines_of_a_name_the_later_stays(store: Store, tmp_path: Path, set_at: int, stays: str, gone: str, words: str) -> None:
    theirs = moved(tmp_path, "main", "bm_theirs", set_at)
    measured(store, "bm_ours")
    store.set_baseline("main", "bm_ours", "ours")
    assert store.import_(theirs).notes == (f"The baseline main {words}.",)
    assert names(store) == {"main": stays}
    assert sorted(before(store, "main")) == sorted(["bm_before", gone])
    again = store.import_(theirs)
    assert sum(again.added.values()) == 0
    assert names(store) == {"main": stays}


def test_the_same_baseline_on_both_sides_is_nothing_to_decide(store: Store, tmp_path: Path) -> None:
    theirs = moved(tmp_path, "main", "bm_1", 2**50)
    measured(store, "bm_1")
    ours = store.set_baseline("main", "bm_1", "ours")
    assert store.import_(theirs).notes == ()
    assert store.get_baseline("main") == ours


@pytest.mark.parametrize("target", ["sqlite", "postgres"])
def test_baselines_and_ingested_benchmarks_are_carried_to_every_store(
    store: Store, tmp_path: Path, target: str, request: pytest.FixtureRequest
) -> None:
    metric = Metric(value=1.5, direction="lower", unit="s", samples={"": [1.0, 2.0]})
    measured(store, "bm_1")
    store.put_benchmarks([benchmark(sid="bm_2", kind="ingested", subject="tool\x00", metrics={"mean": metric})])
    for sid in ("bm_1", "bm_2"):
        store.set_baseline("main", sid, "é\x00")
    exported = store.export(tmp_path / "out.jsonl.gz")
    assert (exported.rows["baselines"], exported.rows["baseline_history"]) == (1, 1)
    second = f"{request.getfixturevalue('other_postgres_url')}" if target == "postgres" else str(tmp_path / "b.db")
    with open_store(second) as other:
        assert other.import_(tmp_path / "out.jsonl.gz").added == exported.rows
        assert other.list_benchmarks() == store.list_benchmarks()
        assert other.get_baseline("main") == store.get_baseline("main")
        assert other.baseline_history("main") == store.baseline_history("main")
        assert other.import_(tmp_path / "out.jsonl.gz").kept == exported.rows


def older(path: Path, schema: int, *, drop: frozenset[str]) -> Path:
    """The same export as a Flowgauge of an older schema wrote it."""
    header, *rows, footer = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    rows = [[name, {key: value for key, value in row.items() if key not in drop}] for name, row in rows if not name.startswith("baseline")]
    old = path.with_name("old.jsonl")
    old.write_text("\n".join(map(json.dumps, [header | {"schema_version": schema}, *rows, footer | {"rows": len(rows)}])) + "\n")
    return old


def test_an_export_of_the_second_schema_is_read(store: Store, tmp_path: Path) -> None:
    store.put_benchmarks([benchmark(sid="bm_1")])
    store.export(tmp_path / "new.jsonl.gz")
    old = older(tmp_path / "new.jsonl.gz", 2, drop=frozenset({"subject", "metrics"}))
    with open_store(str(tmp_path / "b.db")) as other:
        other.import_(old)
        assert other.get_benchmark("bm_1") == store.get_benchmark("bm_1")


@pytest.mark.parametrize("schema", range(1, newest()))
def test_every_column_that_came_later_has_a_default_for_older_exports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: int) -> None:
    monkeypatch.setattr(migrations, "STEPS", migrations.STEPS[:schema])
    with open_store(str(tmp_path / "old.db")) as store:
        store.register_owner()
        inspector = inspect(store._database._engine)
        for table in PORTABLE:
            since, later = LATER.get(table.name, (0, {}))
            if inspector.has_table(table.name):
                there = {column["name"] for column in inspector.get_columns(table.name)}
                assert {column.name for column in table.c} - there == (set(later) if schema < since else set()), table.name


def test_an_export_of_this_schema_must_have_all_columns(store: Store, tmp_path: Path) -> None:
    store.put_benchmarks([benchmark(sid="bm_1")])
    store.export(tmp_path / "new.jsonl.gz")
    with pytest.raises(UsageError, match="the columns of benchmarks differ: metrics, subject"):
        store.import_(older(tmp_path / "new.jsonl.gz", newest(), drop=frozenset({"subject", "metrics"})))
