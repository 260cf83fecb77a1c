"""Schedules, on every store: kept, claimed once, taken over from the dead."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.store.store_nouns import dead, elsewhere, save

from flowgauge.errors import Conflict, NotFound, UsageError
from flowgauge.model.ids import SCHEDULE, new_sid
from flowgauge.model.redaction import redactor
from flowgauge.model.service import Schedule
from flowgauge.store import open_store
from flowgauge.store.store import Store


def schedule(name: str = "nightly", **fields: Any) -> Schedule:
    ordinary: dict[str, Any] = {"every_s": 3600, "request": {"workflow_sid": "triage", "runs": 3}, "next_at": 1_000, "created_at": 10}
    return Schedule(sid=new_sid(SCHEDULE), name=name, **ordinary | fields)


def begun(store: Store, owner_sid: str, name: str = "nightly", **fields: Any) -> Schedule:
    """One whose moment at 1,000 is running."""
    made = store.put_schedule(schedule(name, **fields))
    assert store.claim_schedule(made, 1_000, 5_000, owner_sid)
    return store.get_schedule(name)


def test_a_schedule_comes_back_as_it_was_put(store: Store) -> None:
    made = schedule(
        cron="0 3 * * *", every_s=0, late_s=60, baseline="release", policy={"tolerance": 0.1}, webhook="env:HOOK", enabled=False
    )
    assert store.put_schedule(made) == made
    assert store.get_schedule("nightly") == store.get_schedule(made.sid) == made


def test_schedules_are_listed_by_name_in_pages(store: Store) -> None:
    for name in ("c", "a", "b"):
        store.put_schedule(schedule(name))
    page = store.list_schedules(limit=2)
    assert [each.name for each in page.items] == ["a", "b"]
    assert [each.name for each in store.list_schedules(page.next_cursor).items] == ["c"]


def test_a_name_is_taken_unless_it_is_to_be_replaced(store: Store) -> None:
    first = store.put_schedule(schedule())
    with pytest.raises(Conflict, match=r"There is a schedule nightly already.*--replace"):
        store.put_schedule(schedule(every_s=60))
    assert store.get_schedule("nightly") == first


def test_another_definition_leaves_what_became_of_it_alone(store: Store) -> None:
    owner = store.register_owner()
    first = begun(store, owner.sid)
    store.finish_schedule(first.sid, 1_000, owner.sid, status="failed", bench_id="b-1", words="slower")
    assert store.begin_schedule(first.sid, 7_000, owner.sid)
    store.put_schedule(schedule(every_s=60, next_at=9_000, baseline="x"), replace=True)
    found = store.get_schedule("nightly")
    assert (found.sid, found.every_s, found.next_at, found.baseline) == (first.sid, 60, 9_000, "x")
    assert (found.last_status, found.last_bench_id, found.running_at, found.created_at) == ("failed", "b-1", 7_000, 10)


@pytest.mark.parametrize("name", ["", "a/b", "two words", "-x", "a:b", "a" * 65, "a\n"])
def test_a_schedule_needs_a_name_that_a_bench_id_can_begin_with(store: Store, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be called"):
        store.put_schedule(schedule(name))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param({"webhook": "https://hooks.example.com/hunter2hunter2"}, "env:NAME", id="in its webhook"),
        pytest.param({"webhook": "https://me:pass@hooks.example.com/"}, "env:NAME", id="as a password in its webhook"),
        pytest.param({"request": {"workflow_sid": "w", "tags": {"a": "hunter2hunter2"}}}, "api_key_env", id="in what it asks for"),
    ],
)
def test_a_schedule_holds_no_secret(store_url: str, fields: dict[str, Any], words: str) -> None:
    with open_store(store_url, redact=redactor({"hunter2hunter2"})) as store:
        with pytest.raises(UsageError, match=f"holds a secret.*{words}"):
            store.put_schedule(schedule(**fields))
        assert store.list_schedules().items == ()


def test_an_unknown_schedule_names_the_nearest(store: Store) -> None:
    store.put_schedule(schedule())
    for ask in (store.get_schedule, store.delete_schedule):
        with pytest.raises(NotFound, match=r"No schedule 'nightli' is stored\. Did you mean 'nightly'\?"):
            ask("nightli")


def test_a_deleted_schedule_is_gone_also_while_it_runs(store: Store) -> None:
    owner = store.register_owner()
    made = begun(store, owner.sid)
    assert store.delete_schedule("nightly").sid == made.sid
    assert store.list_schedules().items == ()
    assert not store.finish_schedule(made.sid, 1_000, owner.sid, status="passed", bench_id="", words="")


def test_due_is_what_is_enabled_and_whose_moment_has_come(store: Store) -> None:
    cases: dict[str, dict[str, Any]] = {"now": {}, "before": {"next_at": 500}, "later": {"next_at": 1_001}, "off": {"enabled": False}}
    for name, fields in cases.items():
        store.put_schedule(schedule(name, **fields))
    assert [each.name for each in store.due_schedules(1_000)] == ["before", "now"]
    assert {each.name for each in store.enabled_schedules()} == {"now", "before", "later"}


def test_a_claimed_moment_is_running_and_the_next_is_set(store: Store) -> None:
    owner = store.register_owner()
    found = begun(store, owner.sid)
    assert (found.running_at, found.next_at) == (1_000, 5_000)
    assert store.due_schedules(4_999) == ()


@pytest.mark.parametrize(
    "meanwhile",
    [
        pytest.param(lambda store, made, owner: store.claim_schedule(made, 1_000, 9_000, owner), id="another took the moment"),
        pytest.param(lambda store, made, _: store.move_moment(made, 2_000), id="its next moment was moved"),
        pytest.param(lambda store, made, _: store.put_schedule(msgspec.structs.replace(made, enabled=False), replace=True), id="disabled"),
        pytest.param(lambda store, made, owner: store.begin_schedule(made.sid, 3, owner), id="somebody runs it by hand"),
        pytest.param(lambda store, made, _: store.delete_schedule(made.sid), id="deleted"),
    ],
)
def test_a_moment_that_changed_meanwhile_is_not_claimed(store: Store, meanwhile: Any) -> None:
    owner, other = store.register_owner(), store.register_owner()
    made = store.put_schedule(schedule())
    assert meanwhile(store, made, other.sid)
    before = store.list_schedules().items
    assert not store.claim_schedule(made, 1_000, 5_000, owner.sid)
    assert not store.miss_moment(made, 1_000, 5_000, "late")
    assert store.list_schedules().items == before


def test_of_many_who_claim_a_moment_one_gets_it(store: Store, store_url: str) -> None:
    stores = [open_store(store_url) for _ in range(4)]
    owners = [each.register_owner() for each in stores]
    for number in range(10):
        made = store.put_schedule(schedule(f"s{number}"))
        barrier, got = threading.Barrier(len(stores)), list[str]()

        def attempt(each: Store, owner_sid: str, made: Schedule = made, barrier: threading.Barrier = barrier, got: list[str] = got) -> None:
            barrier.wait()
            if each.claim_schedule(made, 1_000, 5_000, owner_sid):
                got.append(owner_sid)

        threads = [threading.Thread(target=attempt, args=(each, owner.sid)) for each, owner in zip(stores, owners, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(got) == 1
        assert store.finish_schedule(made.sid, 1_000, got[0], status="passed", bench_id="", words="")
    for each in stores:
        each.close()


def test_a_moment_that_comes_while_it_runs_is_passed_over_and_counted(store: Store) -> None:
    owner = store.register_owner()
    running = begun(store, owner.sid)
    assert not store.claim_schedule(running, 5_000, 9_000, owner.sid)
    assert store.skip_moment(running, 9_000)
    assert not store.skip_moment(running, 9_000), "by another who saw the same"
    found = store.get_schedule("nightly")
    assert (found.skipped, found.next_at, found.running_at) == (1, 9_000, 1_000)
    store.finish_schedule(found.sid, 1_000, owner.sid, status="passed", bench_id="", words="")
    assert not store.skip_moment(found, 10_000), "it runs no more"
    assert store.claim_schedule(store.get_schedule("nightly"), 9_000, 12_000, owner.sid)
    assert store.get_schedule("nightly").skipped == 0


def test_a_missed_moment_is_marked_and_the_next_is_set(store: Store) -> None:
    made = store.put_schedule(schedule(late_s=60))
    assert store.miss_moment(made, 1_000, 5_000, "nobody was there")
    found = store.get_schedule("nightly")
    assert (found.last_status, found.last_at, found.last_words, found.next_at) == ("missed", 1_000, "nobody was there", 5_000)
    assert found.running_at == 0


def test_what_came_of_it_is_kept_once_and_by_its_owner_only(store: Store) -> None:
    owner, other = store.register_owner(), store.register_owner()
    made = begun(store, owner.sid)
    ended = {"status": "failed", "bench_id": "nightly-1", "words": "slower\x00"}
    assert not store.finish_schedule(made.sid, 1_000, other.sid, **ended)
    assert not store.finish_schedule(made.sid, 999, owner.sid, **ended)
    assert store.finish_schedule(made.sid, 1_000, owner.sid, **ended)
    assert not store.finish_schedule(made.sid, 1_000, owner.sid, **ended)
    found = store.get_schedule("nightly")
    assert (found.last_at, found.last_status, found.last_bench_id, found.last_words) == (1_000, "failed", "nightly-1", "slower\x00")
    assert found.running_at == 0


def test_what_a_dead_owner_ran_is_taken_over_by_one(store: Store) -> None:
    gone, alive, other = dead(store), store.register_owner(), elsewhere(store, lease_s=-1)
    begun(store, gone.sid, "of-the-dead")
    begun(store, alive.sid, "of-the-living")
    begun(store, other.sid, "of-one-not-heard-of")
    left = store.left_schedules()
    assert {each.name for each, _ in left} == {"of-the-dead", "of-one-not-heard-of"}
    for each, before_sid in left:
        assert store.take_over_schedule(each, before_sid, alive.sid)
        assert not store.take_over_schedule(each, before_sid, alive.sid)
    assert store.left_schedules() == ()


def test_an_owner_that_is_heard_of_again_keeps_what_it_runs(store: Store) -> None:
    away = elsewhere(store, lease_s=-1)
    begun(store, away.sid)
    [(left, before_sid)] = store.left_schedules()
    store.renew_lease(away.sid, 60)
    assert not store.take_over_schedule(left, before_sid, store.register_owner().sid)


def test_schedules_travel_at_rest_and_on_our_workflows(store: Store, tmp_path: Path) -> None:
    theirs = str(tmp_path / "theirs.db")
    with open_store(theirs) as source:
        save(source)
        begun(source, source.register_owner().sid, request={"workflow_sid": source.get_workflow("triage").sid, "runs": 2})
        source.put_schedule(schedule("taken", every_s=7))
        source.export(tmp_path / "theirs.jsonl")
    save(store)
    store.put_schedule(schedule("taken", every_s=60))
    done = store.import_(tmp_path / "theirs.jsonl")
    assert done.added["schedules"] == 1
    assert done.notes == ("The schedule nightly rests here; wake it with: flowgauge schedule enable nightly",)
    found = store.get_schedule("nightly")
    assert (found.enabled, found.running_at) == (False, 0)
    assert found.request == {"workflow_sid": store.get_workflow("triage").sid, "runs": 2}
    assert store.get_schedule("taken").every_s == 60
    assert store.import_(tmp_path / "theirs.jsonl").added["schedules"] == 0
