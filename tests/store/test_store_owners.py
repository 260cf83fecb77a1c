from __future__ import annotations

import subprocess
import sys
import threading

import msgspec
import pytest
from tests.store.store_nouns import dead, elsewhere, keep, play

from flowgauge.errors import NotFound
from flowgauge.model.play import Owner
from flowgauge.store.process import pid_started
from flowgauge.store.store import Store


def test_this_process_is_alive(store: Store) -> None:
    owner = store.register_owner(0)
    assert store.get_owner(owner.sid) == owner
    assert store.owner_alive(owner)


def test_a_killed_process_is_known_to_be_gone_at_once(store: Store) -> None:
    assert not store.owner_alive(dead(store))


def test_a_killed_process_that_nobody_has_waited_for_is_gone(store: Store) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        owner = msgspec.structs.replace(store.register_owner(), pid=process.pid, pid_started=pid_started(process.pid) or 0)
        assert store.owner_alive(owner)
        process.kill()
        while pid_started(process.pid) is not None:
            pass
        assert not store.owner_alive(owner)


def test_a_pid_that_is_used_again_is_another_process(store: Store) -> None:
    owner = store.register_owner()
    assert not store.owner_alive(msgspec.structs.replace(owner, pid_started=owner.pid_started - 1))


def test_elsewhere_the_lease_speaks(store: Store) -> None:
    assert store.owner_alive(elsewhere(store, 60))
    assert not store.owner_alive(elsewhere(store, -1))


def test_another_boot_is_another_machine(store: Store) -> None:
    owner = msgspec.structs.replace(store.register_owner(60), boot_id="before", pid=1)
    assert store.owner_alive(owner)
    assert not store.owner_alive(msgspec.structs.replace(owner, lease_until=0))


def test_a_lease_is_renewed_until_the_owner_is_released(store: Store) -> None:
    owner = store.register_owner(1)
    store.renew_lease(owner.sid, 1000)
    renewed = store.get_owner(owner.sid)
    assert renewed is not None
    assert renewed.lease_until > owner.lease_until + 900_000
    store.release_owner(owner.sid)
    assert store.get_owner(owner.sid) is None
    assert not store.owner_alive(None)
    with pytest.raises(NotFound):
        store.renew_lease(owner.sid)


@pytest.mark.parametrize(("status", "resumed"), [("running", 1), ("pending", 0)])
def test_a_play_of_a_dead_owner_is_claimed(store: Store, status: str, resumed: int) -> None:
    left = play(owner_sid=dead(store).sid, status=status)
    keep(store, left)
    me = store.register_owner()
    assert store.claim_play(left.sid, me.sid)
    taken = store.get_play(left.sid)
    assert (taken.owner_sid, taken.resumed, taken.status) == (me.sid, resumed, status)
    assert not store.claim_play(left.sid, me.sid)


def test_what_may_not_be_claimed(store: Store) -> None:
    alive = play(owner_sid=store.register_owner().sid)
    leased = play(owner_sid=elsewhere(store, 60).sid)
    ended = play(owner_sid="ow_gone", status="success")
    keep(store, alive, leased, ended)
    me = store.register_owner()
    assert [store.claim_play(each.sid, me.sid) for each in (alive, leased, ended)] == [False] * 3
    assert not store.claim_play("pl_none", me.sid)


def test_a_play_that_failed_is_claimed_only_when_asked_for(store: Store) -> None:
    mine = store.register_owner()
    failed, done = play(owner_sid=mine.sid), play(owner_sid=mine.sid, status="success")
    keep(store, failed, done)
    store.request_cancel(failed.sid)
    store.journal.play_finished(play(sid=failed.sid, owner_sid=mine.sid, status="cancelled")).wait()
    me = store.register_owner()
    assert not store.claim_play(failed.sid, me.sid)
    assert store.claim_play(failed.sid, me.sid, ended=True)
    assert not store.claim_play(failed.sid, mine.sid, ended=True)
    assert not store.claim_play(done.sid, me.sid, ended=True)
    again = store.get_play(failed.sid)
    assert (again.status, again.owner_sid, again.resumed) == ("running", me.sid, 1)
    assert store.cancel_requests(me.sid) == []


def test_of_twenty_claimants_one_wins(store: Store) -> None:
    left = play(owner_sid=elsewhere(store, -1).sid)
    keep(store, left)
    claimants = [store.register_owner() for _ in range(20)]
    start, won = threading.Barrier(20), []

    def claim(owner: Owner) -> None:
        start.wait()
        if store.claim_play(left.sid, owner.sid):
            won.append(owner.sid)

    threads = [threading.Thread(target=claim, args=(owner,)) for owner in claimants]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [store.get_play(left.sid).owner_sid]
    assert store.get_play(left.sid).resumed == 1


def test_abandoned_plays_are_those_that_nobody_runs(store: Store) -> None:
    left = play(owner_sid=dead(store).sid)
    never_owned = play(status="pending")
    released = play(owner_sid="ow_released")
    keep(store, left, never_owned, released)
    keep(store, play(owner_sid=store.register_owner().sid), play(owner_sid="ow_released", status="failed"))
    assert {each.sid for each in store.abandoned_plays()} == {left.sid, never_owned.sid, released.sid}
