from __future__ import annotations

import threading

from tests.store.store_nouns import benchmark, node_run, play

from flowgauge.model.play import Play
from flowgauge.store.store import Store


def ended(store: Store, *plays: Play) -> None:
    """In this order, one after the other."""
    for each in plays:
        store.journal.play_started(each)
        store.journal.play_finished(each)
        store.journal.wait()


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
