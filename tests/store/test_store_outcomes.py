from __future__ import annotations

import threading
import time

from tests.store.store_nouns import benchmark, node_run, play

from flowgauge.model.play import Play
from flowgauge.store.store import Store


def ended(store: Store, *plays: Play) -> None:
    """In this order, no two in the same millisecond."""
    for each in plays:
        store.journal.play_started(each)
        store.journal.play_finished(each)
        store.journal.wait()
        time.sleep(0.002)


def test_the_plays_of_a_workflow_as_it_is_are_told_in_the_order_in_which_they_ended(store: Store) -> None:
    good, bad = play(status="success", duration_ms=5.0), play(status="timeout", duration_ms=7.0)
    others = [
        play(status="running"),
        play(status="cancelled"),
        play(status="success", workflow_sid="wf_2"),
        play(status="success", config={"model": "mock/other"}),
        play(status="success", sid="pl_019a8b3c4d51f2e3d4c5b6a798c"),
    ]
    ended(store, bad, *others, good)
    found = store.play_outcomes("wf_1", 10)
    assert [row[:3] for row in found] == [(bad.sid, "timeout", 7.0), (good.sid, "success", 5.0)]
    assert store.play_outcomes("wf_1", 1) == found[1:]
    assert store.play_outcomes("wf_1", 10, (found[0][3], found[0][0])) == found[1:]
    assert store.play_outcomes("wf_1", 10, (found[1][3], found[1][0])) == []


def test_plays_of_one_version_are_told_apart_from_those_of_others(store: Store) -> None:
    first, second, third = (play(status="success", version_sid=version) for version in ("wv_1", "wv_2", "wv_1"))
    ended(store, first, second, third)
    assert [row[0] for row in store.play_outcomes("wf_1", 10, version_sid="wv_1")] == [first.sid, third.sid]
    assert [row[0] for row in store.play_outcomes("wf_1", 1, version_sid="wv_2")] == [second.sid]
    (last,) = store.play_outcomes("wf_1", 1)
    assert last[0] == third.sid
    counts = [store.count_other_outcomes("wf_1", version, (0, "")) for version in ("wv_1", "wv_2", "wv_3")]
    assert (counts, store.count_other_outcomes("wf_1", "wv_3", (last[3], last[0]))) == ([1, 2, 3], 0)


def test_snapshots_of_a_subject_are_marked_without_what_they_hold(store: Store) -> None:
    kinds = {"kind": "snapshot", "config": "agent", "bench_uid": ""}
    made = [benchmark(subject="agent:p/f", tags={"version": str(number)}, created_at=number, **kinds) for number in (1, 2)]
    others = [benchmark(subject=subject, **kinds) for subject in ("agent:p/g", "AGENT:p/f", "registry")]
    for each in [*made, *others, benchmark(subject="agent:p/f", config="agent", bench_uid="")]:
        assert store.add_benchmark(each)
    assert store.snapshot_marks("agent:p/f", "agent") == [(each.sid, each.created_at, each.tags) for each in made]
    assert store.snapshot_subjects("agent:", "agent") == ["agent:p/f", "agent:p/g"]


def test_attempts_of_plays_are_told_without_what_was_said(store: Store) -> None:
    one, other = play(status="success"), play(status="success")
    ended(store, one, other)
    for number, status in ((1, "failed"), (2, "success")):
        store.journal.node_finished(one.sid, node_run(attempt=number, status=status, output="secret"))
    store.journal.node_finished(other.sid, node_run())
    store.journal.wait()
    assert store.node_outcomes([one.sid]) == [(one.sid, "classify", 1, "failed", 2.5), (one.sid, "classify", 2, "success", 2.5)]
    assert store.node_outcomes([]) == []


def test_a_benchmark_that_is_added_takes_nobodys_place(store: Store) -> None:
    first = benchmark(subject="mine")
    assert store.add_benchmark(first)
    assert not store.add_benchmark(benchmark(sid=first.sid, subject="another"))
    assert store.get_benchmark(first.sid).subject == "mine"


def test_of_many_who_add_the_same_benchmark_one_does(store: Store) -> None:
    made, answers = benchmark(), list[bool]()
    threads = [threading.Thread(target=lambda: answers.append(store.add_benchmark(made))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [False] * 7 + [True]


def test_of_many_who_claim_a_role_one_has_it(store: Store) -> None:
    sids = [store.register_owner(60).sid for _ in range(8)]
    answers = dict[str, bool]()
    threads = [threading.Thread(target=lambda sid=sid: answers.update({sid: store.claim_role("work", sid)})) for sid in sids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [sid for sid, had in answers.items() if had]
    holder = store.role_holder("work")
    assert holder is not None
    assert holder.sid == winner
    assert store.claim_role("work", winner)
    store.release_role("work", winner)
    assert store.role_holder("work") is None
