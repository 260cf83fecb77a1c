"""Benches through migration, export, import and prune."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.store.store_nouns import add, begin, bench, benchmark, keep, node_run, play, trial

from flowgauge.model.bench import Answer, Target
from flowgauge.store import migrations, open_store
from flowgauge.store.store import Store

LATER = ("benches", "trials", "benchmarks", "answers")
OF_THE_SECOND_SCHEMA = """INSERT INTO benchmarks (sid, bench_uid, bench_id, config, workflow_sid, workflow_version_sid, created_at,
  num_runs, success_rate, total_retries, cost_source, difficulty_rating, notes, "commit", kind)
  VALUES ('bm_1', '', '', 'mini', '', '', 5, 1, 100.0, 0, 'none', 0.5, '', '', 'bench')"""


def measured(store: Store, *, name: str = "shootout", finished: bool = True) -> str:
    """A bench of a workflow with two trials that have plays, a benchmark and a cached answer; its uid."""
    workflow, version, _ = store.save_version("triage", "", b"{}", "0" * 64)
    record = begin(store, bench(name=name, target=Target(kind="workflow", reference=version.sid, name="triage")), new=True)
    for number in range(2):
        done = play(status="success", workflow_sid=workflow.sid, version_sid=version.sid)
        keep(store, done)
        store.journal.node_finished(done.sid, node_run()).wait()
        add(store, record.uid, trial(number, config="c\x00", answer={"play_sid": done.sid}))
    store.put_benchmarks(
        [benchmark(bench_uid=record.uid, bench_id=record.bench_id, workflow_sid=workflow.sid, workflow_version_sid=version.sid)]
    )
    store.cache_put(record.uid, Answer(status="success")).wait()
    if finished:
        store.finish_bench(record.uid, "finished")
    return record.uid


def test_a_cached_trial_owns_no_play_and_no_node_run(store: Store) -> None:
    """Also one of an earlier release, which named the play of the bench that made the answer."""
    first = measured(store)
    made = [trial.answer.play_sid for trial in store.iter_trials(first)]
    cached = begin(store, bench(name="cached"), new=True)
    add(store, cached.uid, *(trial(number, answer={"play_sid": sid, "cached": True}) for number, sid in enumerate(made)))
    store.finish_bench(cached.uid, "finished")
    assert list(store.node_rows(cached.uid)) == []
    store.release_owner(cached.owner_sid)
    removed = store.delete_bench(cached.uid)
    assert (removed.trials, removed.plays, removed.node_runs) == (2, 0, 0)
    assert [store.get_play(sid).status for sid in made] == ["success", "success"]
    assert len(list(store.node_rows(first))) == 2


def everything(store: Store, uid: str) -> tuple[object, ...]:
    return (
        store.get_bench(uid),
        list(store.iter_trials(uid)),
        list(store.node_rows(uid)),
        store.list_benchmarks(bench=uid),
        store.cache_get(uid),
    )


def test_a_store_of_the_first_schema_is_migrated_in_place(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as old:
        old.setattr(migrations, "STEPS", migrations.STEPS[:1])
        with open_store(store_url) as store:
            assert store._database.schema_version() <= 1
            store.save_version("triage", "", b"{}", "0" * 64)
            keep(store, play(sid="pl_1"))
            assert store._database.schema_version() == 1
            with store._database.reading() as connection:
                assert not set(LATER) & store._database.backend.tables(connection)
    with open_store(store_url) as store:
        assert store.info().schema_version == migrations.newest()
        assert store.get_play("pl_1").workflow_sid == "wf_1"
        uid = measured(store)
    with open_store(store_url) as store:
        assert len(list(store.iter_trials(uid))) == 2


def test_a_store_of_the_second_schema_is_migrated_in_place(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as old:
        old.setattr(migrations, "STEPS", migrations.STEPS[:2])
        with open_store(store_url) as store, store._database.writing() as connection:
            connection.exec_driver_sql(OF_THE_SECOND_SCHEMA)
    with open_store(store_url) as store:
        assert store.get_benchmark("bm_1") == benchmark(sid="bm_1", created_at=5, num_runs=1, success_rate=100.0)
        assert store.set_baseline("main", "bm_1") == store.get_baseline("main")


@pytest.mark.parametrize("target", ["sqlite", "postgres"])
def test_benches_are_carried_to_every_store_and_twice_is_harmless(
    store: Store, tmp_path: Path, target: str, request: pytest.FixtureRequest
) -> None:
    uid = measured(store)
    exported = store.export(tmp_path / "out.jsonl")
    assert [exported.rows[name] for name in LATER] == [1, 2, 1, 1]
    second = f"{request.getfixturevalue('other_postgres_url')}" if target == "postgres" else str(tmp_path / "b.db")
    with open_store(second) as other:
        assert other.import_(tmp_path / "out.jsonl").added == exported.rows
        assert everything(other, uid) == everything(store, uid)
        assert other.import_(tmp_path / "out.jsonl").kept == exported.rows
        assert everything(other, uid) == everything(store, uid)


def test_two_stores_with_a_bench_of_one_id_are_merged(store: Store, tmp_path: Path) -> None:
    with open_store(str(tmp_path / "a.db")) as source:
        theirs = measured(source)
        source.export(tmp_path / "out.jsonl")
        planned = source.get_bench(theirs).bench_id
    mine = measured(store)
    before = everything(store, mine)
    for _ in range(2):
        store.import_(tmp_path / "out.jsonl")
        assert everything(store, mine) == before
        joined = store.get_bench(theirs)
        assert (joined.bench_id, joined.counter, joined.run_key) == ("shootout-ab12cd34-2", 2, planned)
        [stored] = store.list_benchmarks(bench=theirs).items
        version = store.current_version("triage")
        assert (stored.bench_id, stored.workflow_version_sid) == (joined.bench_id, version.sid)
        assert joined.definition.target.reference == version.sid
        assert len(list(store.iter_trials(theirs))) == len(list(store.iter_trials(mine))) == 2
    assert begin(store, new=True).counter == 3


def test_an_import_adds_trials_and_changes_none(store: Store, tmp_path: Path) -> None:
    uid = begin(store).uid
    add(store, uid, trial(0), trial(1))
    store.export(tmp_path / "out.jsonl")
    with open_store(str(tmp_path / "b.db")) as other:
        other.import_(tmp_path / "out.jsonl")
        add(other, uid, trial(2))
        other.export(tmp_path / "more.jsonl")
    store.journal.trial_finished(uid, trial(1, answer={"output": "retried"}), replace=True).wait()
    imported = store.import_(tmp_path / "more.jsonl")
    assert (imported.added["trials"], imported.kept["trials"]) == (1, 2)
    assert [each.answer.output for each in store.iter_trials(uid)] == ["answer 0", "retried", "answer 2"]


def left(store: Store) -> list[int]:
    return [store.info().rows[name] for name in ("benches", "trials", "benchmarks", "plays", "node_runs")]


def test_prune_takes_whole_finished_benches(store: Store) -> None:
    measured(store)
    unfinished, newest = measured(store, finished=False), measured(store)
    keep(store, play(status="success"), play(status="running"))
    counted = store.prune(keep_newest=1, dry_run=True)
    assert left(store) == [3, 6, 3, 8, 6]
    gone = store.prune(keep_newest=1)
    assert (gone.benches, gone.trials, gone.benchmarks, gone.plays, gone.node_runs) == (1, 2, 1, counted.plays, 2)
    assert {each.uid for each in store.list_benches().items} == {unfinished, newest}
    assert len(list(store.node_rows(newest))) == 2


def test_the_plays_of_a_bench_never_go_without_it(store: Store) -> None:
    measured(store, finished=False)
    keep(store, play(status="success"))
    assert store.prune(keep_newest=0).plays == 1
    assert left(store) == [1, 2, 1, 2, 2]


def test_prune_by_age_takes_answers_too(store: Store) -> None:
    measured(store)
    assert store.prune(younger_than_days=1).benches == 0
    store.prune(younger_than_days=0, workflow="triage", dry_run=True)
    with store._database.writing() as connection:
        for table, column in (("benches", "finished_at"), ("answers", "created_at")):
            connection.exec_driver_sql(f"UPDATE {table} SET {column} = 1")
    gone = store.prune(younger_than_days=1, dry_run=True)
    assert (gone.benches, gone.plays, gone.answers) == (1, 2, 1)
    assert store.prune(younger_than_days=1, workflow="triage").answers == 0
    assert store.prune(younger_than_days=1).answers == 1
    assert left(store) == [0] * 5


def test_prune_of_a_workflow_leaves_other_benches(store: Store) -> None:
    measured(store)
    store.finish_bench(begin(store, bench(name="of a function")).uid, "finished")
    assert store.prune(keep_newest=0, workflow="triage").benches == 1
    assert [each.name for each in store.list_benches().items] == ["of a function"]
