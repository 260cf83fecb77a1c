from __future__ import annotations

import threading

import pytest
from tests.store.store_nouns import add, begin, bench, benchmark, dead, elsewhere, keep, node_run, play, trial

from flowgauge.errors import Conflict, NotFound, UsageError
from flowgauge.model.bench import BenchRecord, Case, Configuration, Target
from flowgauge.model.redaction import MARK, redactor
from flowgauge.store import open_store
from flowgauge.store.benches import How
from flowgauge.store.store import Store

HASH = "ab12cd34ef"


def test_a_bench_comes_back_as_it_was_begun(store: Store) -> None:
    owner = store.register_owner()
    options = {"commit": "c0ffee", "machine": "m\x00", "price_table": "p", "trace_id": "t"}
    record, how = store.start_bench(bench(tags={"a": "b"}), HASH, 30, owner.sid, **options)  # type: ignore[arg-type]
    assert (how, record.bench_id, record.counter, record.total) == ("new", "shootout-ab12cd34-1", 1, 30)
    assert (record.status, record.owner_sid, record.interruptions, record.run_key) == ("running", owner.sid, 0, record.bench_id)
    assert (record.commit, record.machine, record.price_table, record.trace_id) == ("c0ffee", "m\x00", "p", "t")
    assert record.definition == bench(tags={"a": "b"})
    assert store.get_bench(record.uid) == record


def test_a_finished_bench_is_followed_by_another(store: Store) -> None:
    first = begin(store)
    ended = store.finish_bench(first.uid, "finished", duration_ms=5.5)
    assert (ended.status, ended.owner_sid, ended.duration_ms) == ("finished", "", 5.5)
    assert ended.finished_at > 0
    assert begin(store).bench_id == "shootout-ab12cd34-2"
    assert begin(store, definition_hash="ffff0000").counter == 1
    assert begin(store, bench(name="other")).bench_id == "other-ab12cd34-1"


def test_a_bench_whose_owner_lives_is_held(store: Store) -> None:
    first = begin(store)
    second, how = store.start_bench(bench(), HASH, 4, store.register_owner().sid)
    assert (how, second) == ("held", first)
    leased = store.start_bench(bench(name="away"), HASH, 4, elsewhere(store, 60).sid)[0]
    assert store.start_bench(bench(name="away"), HASH, 4, "ow_me") == (leased, "held")


def test_a_bench_whose_owner_is_dead_is_continued(store: Store) -> None:
    left, _ = store.start_bench(bench(), HASH, 4, dead(store).sid, commit="old", machine="m")
    me = store.register_owner()
    taken, how = store.start_bench(bench(runs=2), HASH, 8, me.sid, commit="new", price_table="p")
    assert (how, taken.uid, taken.bench_id) == ("continued", left.uid, left.bench_id)
    assert (taken.owner_sid, taken.interruptions, taken.total, taken.definition.runs) == (me.sid, 1, 8, 2)
    assert (taken.commit, taken.machine, taken.price_table) == ("old", "m", "p")


@pytest.mark.parametrize("status", ["interrupted", "budget_exceeded"])
def test_a_bench_that_was_let_go_is_continued_at_once(store: Store, status: str) -> None:
    left = begin(store)
    store.finish_bench(left.uid, status, duration_ms=2)  # type: ignore[arg-type]
    taken, how = store.start_bench(bench(), HASH, 4, store.register_owner().sid)
    assert (how, taken.uid, taken.status, taken.finished_at) == ("continued", left.uid, "running", 0)
    assert store.finish_bench(left.uid, "finished", duration_ms=3).duration_ms == 5


def test_a_new_one_is_begun_when_asked_for(store: Store) -> None:
    begin(store)
    assert begin(store, new=True).counter == 2
    assert store.start_bench(bench(), HASH, 4, "ow_x")[0].counter == 2


def test_a_bench_by_name(store: Store) -> None:
    owner = store.register_owner()
    assert begin(store, bench_id="shootout-ab12cd34-1").bench_id == "shootout-ab12cd34-1"
    mine = begin(store, bench_id="nightly")
    assert begin(store, new=True).bench_id == "shootout-ab12cd34-3"
    assert store.start_bench(bench(), HASH, 4, owner.sid, bench_id="nightly") == (mine, "held")
    with pytest.raises(Conflict, match="already"):
        store.start_bench(bench(), HASH, 4, owner.sid, bench_id="nightly", new=True)
    with pytest.raises(Conflict, match="another definition"):
        store.start_bench(bench(), "1234567890", 4, owner.sid, bench_id="nightly")
    store.finish_bench(mine.uid, "finished")
    with pytest.raises(Conflict, match="is finished"):
        store.start_bench(bench(), HASH, 4, owner.sid, bench_id="nightly")
    with pytest.raises(UsageError, match="latest"):
        store.start_bench(bench(), HASH, 4, owner.sid, bench_id="latest")


def test_an_id_that_somebody_gave_by_hand_is_passed_over(store: Store) -> None:
    begin(store, bench(name="other"), bench_id="shootout-ab12cd34-1")
    assert begin(store).bench_id == "shootout-ab12cd34-2"


def test_a_bench_is_found_by_id_uid_beginning_and_latest(store: Store) -> None:
    first = begin(store)
    second = begin(store, bench(name="other"), definition_hash="ffff0000")
    for ref in (first.bench_id, first.uid, "shoot"):
        assert store.get_bench(ref) == first
    assert store.get_bench("latest").uid in (first.uid, second.uid)
    third = begin(store, new=True)
    assert store.get_bench(first.bench_id) == first
    with pytest.raises(UsageError, match="Several benches begin with shoot"):
        store.get_bench("shoot")
    for missing in ("none", "", "Shoot", "%"):
        with pytest.raises(NotFound):
            store.get_bench(missing)
    assert third.counter == 2


def test_benches_are_listed_newest_first_without_their_cases(store: Store) -> None:
    made = [begin(store, new=True) for _ in range(5)] + [begin(store, bench(name="other"))]
    found, cursor = list[BenchRecord](), None
    while True:
        page = store.list_benches(cursor, 2)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    assert sorted(each.uid for each in found) == sorted(each.uid for each in made)
    assert [each.created_at for each in found] == sorted((each.created_at for each in made), reverse=True)
    assert found[0].definition.cases == ()
    assert [each.name for each in store.list_benches(name="other").items] == ["other"]
    assert store.list_benches(with_cases=True).items[0].definition.cases == bench().cases


def test_only_who_holds_a_bench_may_end_it(store: Store) -> None:
    left, _ = store.start_bench(bench(), HASH, 4, dead(store).sid)
    taken, _ = store.start_bench(bench(), HASH, 4, store.register_owner().sid)
    with pytest.raises(Conflict, match=taken.owner_sid):
        store.finish_bench(left.uid, "finished", owner_sid=left.owner_sid)
    assert store.finish_bench(left.uid, "finished", owner_sid=taken.owner_sid).status == "finished"
    with pytest.raises(NotFound):
        store.finish_bench("bn_none", "finished")


def test_a_finished_bench_is_extended(store: Store) -> None:
    first = begin(store)
    assert store.extend_bench(first.uid, bench(), HASH, 9, "ow_x")[1] == "held"
    store.finish_bench(first.uid, "finished")
    more = bench(configs=(*bench().configs, Configuration(name="third")))
    taken, how = store.extend_bench(first.bench_id, more, "eeee0000", 6, store.register_owner().sid)
    assert (how, taken.bench_id, taken.interruptions, taken.total) == ("continued", first.bench_id, 0, 6)
    assert (taken.definition, taken.definition_hash, taken.status) == (more, "eeee0000", "running")


def test_a_bench_is_claimed_to_run_parts_of_it_again(store: Store) -> None:
    first = begin(store)
    me = store.register_owner()
    assert store.claim_bench("shootout", me.sid)[1] == "held"
    store.finish_bench(first.uid, "finished")
    taken, how = store.claim_bench("latest", me.sid)
    assert (how, taken.owner_sid, taken.definition, taken.interruptions) == ("continued", me.sid, first.definition, 0)


def test_of_twenty_who_would_continue_a_bench_one_does(store: Store) -> None:
    store.start_bench(bench(), HASH, 4, elsewhere(store, -1).sid)
    owners = [store.register_owner() for _ in range(20)]
    barrier, answers = threading.Barrier(20), list[tuple[str, How]]()

    def start(owner_sid: str) -> None:
        barrier.wait()
        record, how = store.start_bench(bench(), HASH, 4, owner_sid)
        answers.append((record.owner_sid, how))

    threads = [threading.Thread(target=start, args=(owner.sid,)) for owner in owners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(how for _, how in answers) == ["continued"] + ["held"] * 19
    assert {sid for sid, _ in answers} == {store.get_bench("latest").owner_sid}
    assert store.get_bench("latest").interruptions == 1


def test_threads_that_begin_new_benches_at_once_get_numbers_without_gaps(store: Store) -> None:
    threads = [threading.Thread(target=begin, args=(store,), kwargs={"new": True}) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each.counter for each in store.list_benches().items) == list(range(1, 9))


def test_secrets_in_a_definition_are_hidden_and_it_can_still_be_read(store_url: str) -> None:
    with open_store(store_url, redact=redactor({"hunter2hunter2", "12345678"})) as store:
        cases = (Case(name="a", inputs={"x": "hunter2hunter2", "n": 12345678}),)
        target = Target(kind="command", reference="run hunter2hunter2", name="run")
        record = begin(store, bench(cases=cases, target=target, seed=12345678), commit="hunter2hunter2")
    assert record.definition.cases[0].inputs == {"x": MARK, "n": MARK}
    assert (record.definition.target.reference, record.definition.seed, record.commit) == (f"run {MARK}", 12345678, MARK)


def full(store: Store) -> str:
    """A finished bench with something of everything; its uid."""
    record = begin(store, new=True)
    for number in range(3):
        done = play(status="success")
        keep(store, done)
        store.journal.node_finished(done.sid, node_run())
        add(store, record.uid, trial(number, answer={"play_sid": done.sid}))
    store.put_benchmarks([benchmark(bench_uid=record.uid, bench_id=record.bench_id)])
    store.finish_bench(record.uid, "finished")
    return record.uid


def counts(store: Store) -> list[int]:
    return [store.info().rows[name] for name in ("benches", "trials", "benchmarks", "plays", "node_runs")]


@pytest.mark.parametrize(("keep_plays", "left"), [(False, [1, 3, 1, 4, 3]), (True, [1, 3, 1, 7, 6])])
def test_a_bench_is_deleted_with_what_belongs_to_it(store: Store, keep_plays: bool, left: list[int]) -> None:
    goes, _stays = full(store), full(store)
    keep(store, play(status="success"))
    gone = store.delete_bench(goes, keep_plays=keep_plays)
    assert (gone.benches, gone.trials, gone.benchmarks, gone.plays) == (1, 3, 1, 0 if keep_plays else 3)
    assert counts(store) == left


def test_a_bench_that_is_being_run_is_not_deleted(store: Store) -> None:
    running = begin(store)
    with pytest.raises(Conflict, match=running.owner_sid):
        store.delete_bench(running.uid)
    assert counts(store)[0] == 1


def test_a_workflow_goes_with_its_benches_only_by_force(store: Store) -> None:
    workflow, version, _ = store.save_version("triage", "", b"{}", "0" * 64)
    target = Target(kind="workflow", reference=version.sid, name="triage")
    record = begin(store, bench(target=target))
    add(store, record.uid, trial(0))
    store.put_benchmarks([benchmark(bench_uid=record.uid, workflow_sid=workflow.sid, workflow_version_sid=version.sid)])
    with pytest.raises(Conflict, match="0 plays and 1 benches"):
        store.delete_workflow("triage")
    store.delete_workflow("triage", force=True)
    assert counts(store) == [0] * 5
