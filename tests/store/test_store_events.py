"""The log of events, on every store."""

from __future__ import annotations

import multiprocessing
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.store_nouns import JSON, play

from flowgauge.errors import StoreFailure
from flowgauge.model.redaction import MARK, redactor
from flowgauge.model.service import Event, EventRange
from flowgauge.store import journal as journal_module
from flowgauge.store import open_store
from flowgauge.store.group import EventBatch
from flowgauge.store.store import Store


def news(kind: str = "play_started", **fields: object) -> Event:
    return Event(**{"id": 0, "kind": kind, "at": 1_000, **fields})  # type: ignore[arg-type]


def ids(store: Store, after: int = 0) -> list[int]:
    return [event.id for event in store.events_after(after)]


def test_events_are_read_as_they_were_written_under_ids_that_grow(store: Store) -> None:
    assert (store.last_event_id(), ids(store)) == (0, [])
    assert list(store.append_events([news(play_sid="pl_1", data={"a": [1, None]}), news("bench_started", bench_id="b\x00", at=7)])) == [
        1,
        2,
    ]
    assert list(store.append_events([news()])) == [3]
    assert store.append_events([]) == range(0)
    assert store.last_event_id() == 3
    assert store.events_after(0) == (
        news(id=1, play_sid="pl_1", data={"a": [1, None]}),
        news("bench_started", id=2, bench_id="b\x00", at=7),
        news(id=3),
    )
    assert [event.id for event in store.events_after(1, 1)] == [2]
    assert ids(store, 3) == []


def test_events_of_one_play_or_bench_are_found_among_others(store: Store) -> None:
    store.append_events([news(play_sid=f"pl_{number % 3}", bench_id=f"b{number % 2}") for number in range(12)])
    assert [event.id for event in store.events_after(0, play_sid="pl_1")] == [2, 5, 8, 11]
    assert [event.id for event in store.events_after(5, 2, play_sid="pl_1")] == [8, 11]
    assert [event.id for event in store.events_after(0, bench_id="b1", play_sid="pl_1")] == [2, 8]
    assert store.events_after(0, play_sid="pl_9") == ()


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.text(), play_sid=st.text(), data=JSON)
def test_any_text_and_any_json_comes_back(store: Store, kind: str, play_sid: str, data: object) -> None:
    before = store.last_event_id()
    store.append_events([news(kind, play_sid=play_sid, data=data)])
    [found] = store.events_after(before)
    assert (found.kind, found.play_sid, found.data) == (kind, play_sid, data)


def test_secrets_are_not_told(store_url: str) -> None:
    with open_store(store_url, redact=redactor({"hunter2hunter2"})) as store:
        store.append_events([news(data={"error": "key hunter2hunter2 is wrong"})])
        assert store.events_after(0)[0].data == {"error": f"key {MARK} is wrong"}


def test_an_id_is_never_given_twice_also_when_all_events_are_gone(store: Store, store_url: str) -> None:
    store.append_events([news(at=number) for number in range(10)])
    assert store.prune_events(100, dry_run=True) == 10
    assert store.prune_events(100) == 10
    assert (ids(store), store.last_event_id()) == ([], 10)
    with open_store(store_url) as again:
        assert list(again.append_events([news()])) == [11]


def test_what_is_old_goes_up_to_the_first_that_is_not(store: Store) -> None:
    store.append_events([news(at=at) for at in (1, 2, 50, 3, 60)])
    assert store.prune_events(40) == 2
    assert ids(store) == [3, 4, 5]
    assert store.prune_events(40) == 0


def test_pruning_the_store_by_age_takes_old_events_too(store: Store) -> None:
    store.append_events([news(at=1), news(at=2**50)])
    assert store.prune(younger_than_days=1, dry_run=True).events == 1
    assert store.prune(keep_newest=1).events == 0
    assert store.prune(younger_than_days=1).events == 1
    assert ids(store) == [2]


def test_only_the_newest_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "EVENTS_KEPT", 20)
    monkeypatch.setattr(journal_module, "EVENTS_BETWEEN_LOOKS", 10)
    for _ in range(15):
        store.append_events([news() for _ in range(7)])
    kept = ids(store)
    assert kept == list(range(kept[0], 106))
    assert 20 <= len(kept) < 30


@pytest.mark.parametrize(
    ("after", "misses"),
    [
        pytest.param(0, True, id="who saw nothing missed what is gone"),
        pytest.param(3, True, id="who saw less than all that is gone missed some"),
        pytest.param(4, False, id="who saw all that is gone missed nothing"),
        pytest.param(7, False, id="who saw everything missed nothing"),
        pytest.param(8, True, id="an id that was never given here is of another store"),
    ],
)
def test_a_listener_can_tell_what_it_missed(store: Store, after: int, misses: bool) -> None:
    store.append_events([news(at=number) for number in range(7)])
    store.prune_events(4)
    assert store.event_range() == EventRange(first_id=5, last_id=7)
    assert store.event_range().misses(after) is misses


def test_an_empty_log_misses_nothing(store: Store) -> None:
    assert store.event_range() == EventRange(first_id=1, last_id=0)
    assert not store.event_range().misses(0)


def test_events_are_written_with_the_plays_that_come_meanwhile(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "GATHER_S", 60.0)
    store.journal.play_started(play()).wait()
    commits = store.journal.commits
    appending = threading.Thread(target=store.append_events, args=([news("a"), news("b")],))
    appending.start()
    while not store.journal.queued_rows:
        time.sleep(0.001)
    store.journal.play_started(play()).wait()
    appending.join()
    assert [event.kind for event in store.events_after(0)] == ["a", "b"]
    assert store.journal.commits == commits + 1


def test_an_event_that_no_column_holds_takes_no_other_with_it(store: Store) -> None:
    good, bad = EventBatch([("a", 1, "", "", None)]), EventBatch([("b", 2**80, "", "", None)])
    with store.journal._lock:
        group = store.journal._open_group()
        receipts = []
        for batch in (good, bad):
            group.events.append(batch)
            receipts.append(store.journal._added(group, 0, batch.subject))
    receipts[0].wait()
    with pytest.raises(StoreFailure):
        receipts[1].wait()
    assert [event.kind for event in store.events_after(0)] == ["a"]


def _write(url: str, who: int, times: int) -> None:
    with open_store(url) as store:
        for number in range(times):
            store.append_events([news(f"{who}", at=number) for _ in range(3)])


def test_writers_in_several_processes_give_no_id_twice_and_readers_see_no_gap(store: Store, store_url: str) -> None:
    """A reader that goes on from the last id it saw must not pass one by that is committed later."""
    store.append_events([news("first")])
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(store_url, who, 25)) for who in range(2)]
    for writer in writers:
        writer.start()
    seen: list[Event] = []
    while any(writer.is_alive() for writer in writers) or store.last_event_id() > len(seen):
        seen.extend(store.events_after(seen[-1].id if seen else 0, 50))
        time.sleep(0.002)
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert [event.id for event in seen] == list(range(1, 1 + 1 + 2 * 25 * 3))
    for who in range(2):
        mine = [event.at for event in seen if event.kind == f"{who}"]
        assert mine == sorted(mine)


def test_events_are_not_exported(store: Store, tmp_path: Path) -> None:
    store.append_events([news("remarkable")])
    store.export(tmp_path / "all.jsonl")
    assert "remarkable" not in (tmp_path / "all.jsonl").read_text()
