from __future__ import annotations

import threading

import pytest
from tests.store.store_nouns import keep, node_run, play, save

from flowgauge.errors import Conflict, NotFound, UsageError
from flowgauge.model.ids import content_hash
from flowgauge.store import open_store
from flowgauge.store.store import Store


def test_the_first_save_makes_the_workflow_and_version_one(store: Store) -> None:
    record, version, created = store.save_version("triage", "Sorts tickets.", b"{}", content_hash(b"{}"))
    assert created
    assert (version.number, version.content, version.workflow_sid) == (1, b"{}", record.sid)
    assert store.get_workflow("triage") == store.get_workflow(record.sid) == record
    assert record.current_version_sid == version.sid
    assert record.description == "Sorts tickets."


def test_the_same_content_makes_no_version(store: Store) -> None:
    first = store.save_version("triage", "", b"{}", "aa11")
    again = store.save_version("triage", "", b"{}", "aa11")
    assert again[1] == first[1]
    assert not again[2]
    assert len(store.list_versions("triage").items) == 1


def test_versions_are_numbered_per_workflow_and_listed_newest_first(store: Store) -> None:
    for name in ("one", "two"):
        for content in (b"a", b"b", b"c"):
            save(store, name, content)
    assert [version.number for version in store.list_versions("one").items] == [3, 2, 1]
    assert [record.name for record in store.list_workflows().items] == ["one", "two"]


def test_a_version_can_be_saved_without_being_put_in_use(store: Store) -> None:
    _, first, _ = store.save_version("triage", "", b"a", "aa11", make_current=False)
    _, second, _ = store.save_version("triage", "", b"b", "bb22", make_current=False)
    assert store.current_version("triage") == first
    assert store.make_current(second.sid).current_version_sid == second.sid
    assert store.make_current(("triage", 1)).current_version_sid == first.sid


def test_saving_old_content_again_puts_that_version_in_use(store: Store) -> None:
    _, first, _ = store.save_version("triage", "", b"a", "aa11")
    store.save_version("triage", "", b"b", "bb22")
    record, version, created = store.save_version("triage", "", b"a", "aa11")
    assert (record.current_version_sid, version, created) == (first.sid, first, False)


def test_a_version_is_found_by_sid_number_and_hash(store: Store) -> None:
    record, version, _ = store.save_version("triage", "", b"a", "abcdef12")
    for ref in (version.sid, ("triage", 1), (record.sid, 1), "abcd", "ABCDEF12"):
        assert store.get_version(ref) == version


def test_a_version_that_cannot_be_told_apart_is_refused(store: Store) -> None:
    store.save_version("one", "", b"a", "abcd1")
    _, second, _ = store.save_version("two", "", b"a", "abcd2")
    with pytest.raises(UsageError, match="Several versions begin with abcd"):
        store.get_version("abcd")
    assert store.get_version("abcd", workflow="two") == second
    with pytest.raises(UsageError, match="at least 4"):
        store.get_version("abc")


@pytest.mark.parametrize("ref", ["wv_none", ("triage", 9), "dddd", "%%%%"])
def test_a_version_that_is_not_there_is_not_found(store: Store, ref: str | tuple[str, int]) -> None:
    save(store)
    with pytest.raises(NotFound):
        store.get_version(ref)


def test_a_workflow_that_is_not_there_is_not_found(store: Store) -> None:
    for missing in (lambda: store.get_workflow("x"), lambda: store.list_versions("x"), lambda: store.delete_workflow("x")):
        with pytest.raises(NotFound, match="'x'"):
            missing()


def test_a_secret_in_a_workflow_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="holds a secret"):
        save(store, content=b'{"key": "sk-abcdefghijklmnopqrstuvwxyz"}')
    assert store.list_workflows().items == ()


def test_a_workflow_with_plays_is_deleted_only_by_force(store: Store) -> None:
    sid = save(store)
    store.add_example("triage", "one", {})
    kept = play(status="success", workflow_sid=sid)
    keep(store, kept)
    store.journal.node_finished(kept.sid, node_run()).wait()
    with pytest.raises(Conflict, match="1 plays"):
        store.delete_workflow("triage")
    assert store.get_workflow("triage").sid == sid
    assert store.delete_workflow("triage", force=True) == 1
    assert set(store.info().rows.values()) == {0}


def test_a_workflow_without_plays_is_deleted(store: Store) -> None:
    save(store)
    assert store.delete_workflow("triage") == 0
    assert store.list_workflows().items == ()


def test_lists_are_paged_by_cursor(store: Store) -> None:
    names = [f"w{number:02}" for number in range(7)]
    for name in names:
        save(store, name)
    found, cursor = [], None
    while True:
        page = store.list_workflows(cursor, limit=3)
        found += [record.name for record in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == names


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "é", "WyJwbGF5cyIsMV0"])
def test_a_damaged_cursor_is_refused(store: Store, cursor: str) -> None:
    with pytest.raises(UsageError, match="cursor"):
        store.list_workflows(cursor)


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_page_has_bounds(store: Store, limit: int) -> None:
    with pytest.raises(UsageError, match="A page holds"):
        store.list_plays(limit=limit)


def test_threads_that_save_at_once_get_numbers_without_gaps(store: Store) -> None:
    results: list[tuple[int, bool]] = []

    def saving(index: int) -> None:
        for content in (b"same", f"own {index}".encode()):
            _, version, created = store.save_version("triage", "", content, content_hash(content))
            results.append((version.number, created))

    threads = [threading.Thread(target=saving, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(number for number, created in results if created) == list(range(1, 10))
    assert len(results) == 16


def test_examples_are_kept_by_name(store: Store) -> None:
    save(store)
    added = store.add_example("triage", "angry", {"ticket": "Hé!\x00"}, description="An angry one.")
    assert added.workflow_version_sid == store.get_workflow("triage").current_version_sid
    assert store.get_example("triage", "angry") == store.get_example("triage", added.sid) == added
    assert store.list_examples("triage").items == (added,)
    with pytest.raises(Conflict, match="angry"):
        store.add_example("triage", "angry", {})
    store.delete_example("triage", "angry")
    with pytest.raises(NotFound):
        store.get_example("triage", "angry")
    with pytest.raises(NotFound):
        store.delete_example("triage", "angry")


def test_two_workflows_may_have_examples_of_one_name(store: Store, store_url: str) -> None:
    for name in ("one", "two"):
        save(store, name)
        store.add_example(name, "same", {"from": name})
    with open_store(store_url) as other:
        assert other.get_example("two", "same").input_values == {"from": "two"}


def test_nul_in_a_description_comes_back(store: Store) -> None:
    assert store.save_version("triage", "a\x00b", b"{}", "0" * 64)[0].description == "a\x00b"
    assert store.get_workflow("triage").description == "a\x00b"
