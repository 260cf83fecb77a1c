from __future__ import annotations

import pytest
from tests.store.store_nouns import keep, node_run, play, save

from flowgauge.errors import Conflict, NotFound, UsageError
from flowgauge.model.ids import PLAY, new_sid
from flowgauge.store.store import Store


def sids(count: int, start: int = 1) -> list[str]:
    return [new_sid(PLAY, now_ms=start + number) for number in range(count)]


def test_plays_are_listed_newest_first(store: Store) -> None:
    made = sids(5)
    keep(store, *(play(sid=sid) for sid in (made[2], made[0], made[4], made[1], made[3])))
    assert [found.sid for found in store.list_plays().items] == made[::-1]


def test_paging_neither_repeats_nor_loses_while_plays_are_added(store: Store) -> None:
    made = sids(10)
    keep(store, *(play(sid=sid) for sid in made))
    found, cursor, later = [], None, 100
    while True:
        page = store.list_plays(cursor, limit=3)
        found += [each.sid for each in page.items]
        keep(store, *(play(sid=sid) for sid in sids(2, later)))
        cursor, later = page.next_cursor, later + 10
        if cursor is None:
            break
    assert found == made[::-1]


def test_a_full_last_page_has_no_next(store: Store) -> None:
    keep(store, *(play(sid=sid) for sid in sids(4)))
    first = store.list_plays(limit=2)
    assert store.list_plays(first.next_cursor, limit=2).next_cursor is None


def test_plays_are_filtered(store: Store) -> None:
    workflow = save(store)
    old, new, other = sids(3)
    keep(store, play(sid=old, workflow_sid=workflow, started_at=10, status="failed"), play(sid=new, workflow_sid=workflow, started_at=20))
    keep(store, play(sid=other, started_at=30, status="failed"))
    assert [each.sid for each in store.list_plays(workflow="triage").items] == [new, old]
    assert [each.sid for each in store.list_plays(status="failed").items] == [other, old]
    assert [each.sid for each in store.list_plays(since=20).items] == [other, new]
    assert [each.sid for each in store.list_plays(workflow="triage", status="failed", since=10).items] == [old]


def test_lists_leave_out_large_values_unless_asked(store: Store) -> None:
    kept = play(inputs={"a": 1}, output="long", status="success")
    keep(store, kept)
    assert store.list_plays().items[0].output is None
    assert store.list_plays(with_values=True).items == (kept,)


def test_the_cursor_of_another_list_is_refused(store: Store) -> None:
    for name in ("one", "two"):
        save(store, name)
    cursor = store.list_workflows(limit=1).next_cursor
    with pytest.raises(UsageError, match="list of workflows"):
        store.list_plays(cursor)


def test_a_play_that_is_not_there_is_not_found(store: Store) -> None:
    for missing in (store.get_play, store.delete_play, store.request_cancel):
        with pytest.raises(NotFound, match="pl_x"):
            missing("pl_x")
    assert store.get_node_runs("pl_x") == ()


def test_a_cancel_is_asked_of_the_owner(store: Store) -> None:
    mine, theirs = play(owner_sid="ow_1"), play(owner_sid="ow_2")
    keep(store, mine, theirs)
    assert store.cancel_requests("ow_1") == []
    store.request_cancel(mine.sid)
    store.request_cancel(theirs.sid)
    assert store.cancel_requests("ow_1") == [mine.sid]
    store.journal.play_finished(play(sid=mine.sid, owner_sid="ow_1", status="cancelled")).wait()
    assert store.cancel_requests("ow_1") == []
    with pytest.raises(Conflict, match="cancelled"):
        store.request_cancel(mine.sid)


def test_a_play_goes_with_its_runs_but_not_while_it_runs(store: Store) -> None:
    running, ended = play(), play(status="success")
    keep(store, running, ended)
    for each in (running, ended):
        store.journal.node_finished(each.sid, node_run()).wait()
    store.delete_play(ended.sid)
    assert store.get_node_runs(ended.sid) == ()
    with pytest.raises(Conflict, match="running"):
        store.delete_play(running.sid)
    assert len(store.get_node_runs(running.sid)) == 1
