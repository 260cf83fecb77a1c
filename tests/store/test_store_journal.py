from __future__ import annotations

import asyncio
import gc
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.store_nouns import COUNT, FAILURE, JSON, NUMBER, node_run, play, run, trial

from flowgauge.errors import Conflict, StoreFailure
from flowgauge.model import ports
from flowgauge.model.play import Failure, NodeRun, Play, Step, Usage
from flowgauge.model.redaction import MARK, redactor
from flowgauge.store import journal as journal_module
from flowgauge.store import open_store
from flowgauge.store.group import Group
from flowgauge.store.store import Store

EVERY_FIELD = play(
    name="naïve – 日本 🎲",
    status="failed",
    inputs={"a": [1, 2.5, None, True, {"b": "\x00"}]},
    config={"model": "m"},
    pins={"sub": "wv_9"},
    output={"text": "ö"},
    duration_ms=12.25,
    retries=2,
    tokens_prompt=10,
    tokens_completion=2**40,
    cost_usd=None,
    cost_source="unpriced",
    price_table="table 1",
    isolation="landlock",
    error=Failure(kind="timeout", message="too long", node_id="a", retry_after_s=1.5, detail="tail"),
    warnings=("one", "two"),
    owner_sid="ow_1",
    resumed=3,
)
EVERY_FIELD_RUN = node_run(
    node_id="sub/each[3]",
    attempt=2,
    status="timeout",
    queue_ms=1.5,
    backoff_ms=2.5,
    first_token_ms=3.5,
    model="mock/default",
    tokens_prompt=1,
    tokens_completion=2,
    cost_usd=0.25,
    cost_source="computed",
    output=[1, "two"],
    error=Failure(kind="killed", message="gone"),
    steps=(Step(kind="model", name="m", started_at=5, duration_ms=1.5, usage=Usage(tokens_prompt=3), request={"a": 1}, response="ok"),),
)


def test_a_play_and_its_runs_come_back_as_they_were_written(store: Store) -> None:
    store.journal.play_started(EVERY_FIELD)
    store.journal.node_finished(EVERY_FIELD.sid, EVERY_FIELD_RUN).wait()
    assert store.get_play(EVERY_FIELD.sid) == EVERY_FIELD
    assert store.get_node_runs(EVERY_FIELD.sid) == (EVERY_FIELD_RUN,)


def test_what_is_awaited_can_be_read_by_another_store(store: Store, store_url: str) -> None:
    begun = play()
    run(store.journal.play_started(begun))
    with open_store(store_url) as other:
        assert other.get_play(begun.sid) == begun


def test_the_end_of_a_play_leaves_its_inputs_and_beginning(store: Store) -> None:
    begun = play(inputs={"a": 1})
    store.journal.play_started(begun).wait()
    store.journal.play_finished(play(sid=begun.sid, status="success", output="done", started_at=9_999)).wait()
    ended = store.get_play(begun.sid)
    assert (ended.status, ended.output, ended.inputs, ended.started_at) == ("success", "done", {"a": 1}, 1_000)


@pytest.mark.parametrize("together", [True, False], ids=["in one group", "in two groups"])
def test_a_play_that_begins_and_ends(store: Store, together: bool) -> None:
    begun = play(inputs={"a": 1})
    ended = play(sid=begun.sid, status="success", inputs={"a": 1}, output=5)
    first = store.journal.play_started(begun)
    if not together:
        first.wait()
    store.journal.play_finished(ended).wait()
    assert store.get_play(begun.sid) == ended


def test_an_end_without_a_beginning_is_stored_whole(store: Store) -> None:
    ended = play(status="success", inputs={"a": 1}, output="x")
    store.journal.play_finished(ended).wait()
    assert store.get_play(ended.sid) == ended


def test_a_play_that_is_there_is_taken_over_and_nothing_else_changes(store: Store) -> None:
    store.journal.play_started(EVERY_FIELD).wait()
    store.journal.play_started(play(sid=EVERY_FIELD.sid, owner_sid="ow_2")).wait()
    taken = store.get_play(EVERY_FIELD.sid)
    assert (taken.owner_sid, taken.status) == ("ow_2", "running")
    assert (taken.inputs, taken.retries, taken.resumed, taken.name) == (EVERY_FIELD.inputs, 2, 3, EVERY_FIELD.name)


def test_an_owner_that_lost_its_play_cannot_end_it(store: Store) -> None:
    begun = play(owner_sid="ow_old")
    store.journal.play_started(begun).wait()
    store.journal.play_started(play(sid=begun.sid, owner_sid="ow_new")).wait()
    neighbour = play(owner_sid="ow_old")
    store.journal.play_started(neighbour).wait()
    late = store.journal.play_finished(play(sid=begun.sid, owner_sid="ow_old", status="failed"))
    fine = store.journal.play_finished(play(sid=neighbour.sid, owner_sid="ow_old", status="success"))
    with pytest.raises(Conflict, match="taken over by ow_new"):
        late.wait()
    fine.wait()
    assert store.get_play(begun.sid).status == "running"
    assert store.get_play(neighbour.sid).status == "success"


def test_a_play_that_is_started_again_right_after_its_end_is_running(store: Store) -> None:
    begun = play()
    store.journal.play_started(begun)
    store.journal.play_finished(play(sid=begun.sid, status="failed"))
    store.journal.play_started(begun).wait()
    assert store.get_play(begun.sid).status == "running"


def test_the_same_attempt_twice_is_one_row_and_keeps_its_place(store: Store) -> None:
    for node_id, output in (("a", 1), ("b", 2), ("a", 3)):
        store.journal.node_finished("pl_1", node_run(node_id=node_id, output=output)).wait()
    store.journal.node_finished("pl_1", node_run(node_id="a", attempt=2)).wait()
    assert [(each.node_id, each.attempt, each.output) for each in store.get_node_runs("pl_1")] == [("a", 1, 3), ("b", 1, 2), ("a", 2, None)]


def test_many_runs_in_one_group_keep_their_order(store: Store) -> None:
    names = [f"n{number}" for number in range(151)]
    for name in names:
        store.journal.node_finished("pl_1", node_run(node_id=name))
    store.journal.wait()
    assert [each.node_id for each in store.get_node_runs("pl_1")] == names


def test_writes_that_arrive_together_share_a_commit(store: Store) -> None:
    async def many() -> None:
        await asyncio.gather(*(store.journal.node_finished("pl_1", node_run(node_id=str(number))) for number in range(500)))

    asyncio.run(many())
    assert len(store.get_node_runs("pl_1")) == 500
    assert store.journal.commits < 50


def test_several_event_loops_and_threads_write_at_once(store: Store) -> None:
    def in_a_loop(name: str) -> None:
        async def writes() -> None:
            for number in range(20):
                await store.journal.node_finished(name, node_run(node_id=str(number)))

        asyncio.run(writes())

    def in_a_thread(name: str) -> None:
        for number in range(20):
            store.journal.node_finished(name, node_run(node_id=str(number))).wait(60)

    threads = [
        threading.Thread(target=work, args=(f"pl_{index}{work.__name__}",)) for index in range(3) for work in (in_a_loop, in_a_thread)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.info().rows["node_runs"] == 120


def test_flush_waits_for_all_and_close_drains(store_url: str) -> None:
    async def flushed(opened: Store) -> int:
        for number in range(100):
            opened.journal.node_finished("pl_1", node_run(node_id=str(number)))
        await opened.journal.flush()
        return len(await asyncio.to_thread(opened.get_node_runs, "pl_1"))

    with open_store(store_url) as opened:
        assert asyncio.run(flushed(opened)) == 100
        opened.journal.node_finished("pl_2", node_run())
    with open_store(store_url) as again:
        assert len(again.get_node_runs("pl_2")) == 1
    with pytest.raises(StoreFailure, match="closed"):
        opened.journal.node_finished("pl_2", node_run())


def test_a_waiter_that_gives_up_disturbs_nobody(store: Store) -> None:
    started = play()

    async def work() -> bool:
        write = store.journal.play_started(started)
        impatient = asyncio.ensure_future(write)
        patient = asyncio.ensure_future(write)
        await asyncio.sleep(0)
        impatient.cancel()
        await patient
        return impatient.cancelled()

    assert asyncio.run(work())
    assert store.get_play(started.sid) == started


def test_room_waits_while_too_much_is_queued(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "ROWS_LIMIT", 10)
    seen: list[int] = []

    async def work() -> None:
        for number in range(200):
            await store.journal.room()
            seen.append(store.journal.queued_rows)
            store.journal.node_finished("pl_1", node_run(node_id=str(number)))
        await store.journal.flush()

    asyncio.run(work())
    assert max(seen) < 10
    assert len(store.get_node_runs("pl_1")) == 200


def test_a_thread_waits_for_room_too(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "BYTES_LIMIT", 5_000)
    seen: list[int] = []
    for number in range(100):
        store.journal.wait_for_room()
        seen.append(store.journal.queued_bytes)
        store.journal.node_finished("pl_1", node_run(node_id=str(number), output="x" * 998))
    store.journal.wait()
    assert max(seen) < 5_000
    assert store.journal.queued_bytes == store.journal.queued_rows == 0


def test_a_write_error_reaches_every_waiter_and_the_next_write_goes_on(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = _writer_class(store)
    commit = writer.commit

    def full(self: Any) -> None:
        raise store._database.backend.driver_error("disk is full")

    async def work() -> list[Any]:
        writes = (store.journal.node_finished("pl_1", node_run(node_id=str(number))) for number in range(3))
        return await asyncio.gather(*writes, return_exceptions=True)

    monkeypatch.setattr(writer, "commit", full)
    answers = asyncio.run(work())
    assert [type(answer) for answer in answers] == [StoreFailure] * 3
    assert "full" in str(answers[0])
    monkeypatch.setattr(writer, "commit", commit)
    store.journal.node_finished("pl_1", node_run()).wait()
    assert len(store.get_node_runs("pl_1")) == 1


def test_a_number_that_no_column_holds_is_told_and_the_next_write_goes_on(store: Store) -> None:
    with pytest.raises(StoreFailure):
        store.journal.node_finished("pl_1", node_run(tokens_prompt=2**70)).wait()
    store.journal.node_finished("pl_1", node_run()).wait()
    assert store.get_node_runs("pl_1") == (node_run(),)


def test_a_row_that_cannot_be_stored_leaves_its_neighbours_alone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    gathered, writer = threading.Event(), _writer_class(store)
    begin = writer.begin

    def held(self: Any) -> None:
        gathered.wait(60)
        begin(self)

    monkeypatch.setattr(writer, "begin", held)
    store.journal.play_started(play(sid="pl_0"))
    bad = store.journal.node_finished("pl_bad", node_run(tokens_prompt=2**70))
    good = [store.journal.node_finished(f"pl_{number}", node_run()) for number in range(5)]
    gathered.set()
    with pytest.raises(StoreFailure):
        bad.wait()
    for write in good:
        write.wait()
    assert [len(store.get_node_runs(f"pl_{number}")) for number in range(5)] == [1] * 5
    assert store.get_node_runs("pl_bad") == ()


def test_the_journal_is_what_the_engine_is_handed(store: Store) -> None:
    handed: ports.Journal = store.journal
    started = play()
    run(handed.play_started(started))
    assert store.get_play(started.sid) == started


def test_a_failed_write_that_nobody_awaits_says_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(self: Any) -> None:
        raise store._database.backend.driver_error("disk is full")

    monkeypatch.setattr(_writer_class(store), "commit", full)

    async def work() -> None:
        store.journal.play_started(play())

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(work())
        with pytest.raises(StoreFailure):
            store.journal.wait()
        gc.collect()
    assert not caplog.records


def test_a_passing_error_is_tried_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = _writer_class(store)
    commit = writer.commit
    failed: list[int] = []

    def once(self: Any) -> None:
        if not failed:
            failed.append(1)
            raise _passing_error(store)
        commit(self)

    monkeypatch.setattr(writer, "commit", once)
    store.journal.node_finished("pl_1", node_run()).wait()
    assert failed
    assert len(store.get_node_runs("pl_1")) == 1


def test_a_lost_connection_is_made_again(postgres_url: str) -> None:
    import psycopg

    name = postgres_url[-12:]
    with open_store(f"{postgres_url}&application_name={name}") as store:
        store.journal.node_finished("pl_1", node_run(node_id="before")).wait()
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            cut = admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s", (name,)).fetchall()
        assert cut
        store.journal.node_finished("pl_1", node_run(node_id="after")).wait()
        assert len(store.get_node_runs("pl_1")) == 2


def test_a_value_that_is_changed_later_is_stored_as_it_was(store: Store) -> None:
    output = {"a": 1}
    write = store.journal.node_finished("pl_1", node_run(output=output))
    output["a"] = 2
    write.wait()
    assert store.get_node_runs("pl_1")[0].output == {"a": 1}


@pytest.mark.parametrize(
    "output",
    [
        pytest.param("x" * 5_000_000, id="five megabytes"),
        pytest.param("a\x00b", id="NUL"),
        pytest.param({"\x00": ["\x1a0", "\x1a"]}, id="NUL in a key, and the escape itself"),
        pytest.param(2**70, id="a very large integer"),
        pytest.param({}, id="an empty object"),
        pytest.param("🏳️‍🌈 \u202e שלום", id="unusual unicode"),
    ],
)
def test_unusual_values_come_back(store: Store, output: Any) -> None:
    store.journal.node_finished("pl_1", node_run(output=output)).wait()
    assert store.get_node_runs("pl_1")[0].output == output


def test_nul_in_plain_text_comes_back(store: Store) -> None:
    strange = play(name="a\x00b\x1a0", price_table="\x00")
    store.journal.play_started(strange)
    store.journal.node_finished(strange.sid, node_run(node_id="n\x00", model="m\x00")).wait()
    assert store.get_play(strange.sid) == strange
    assert store.get_node_runs(strange.sid) == (node_run(node_id="n\x00", model="m\x00"),)


def test_half_a_surrogate_pair_is_replaced_not_refused(store: Store) -> None:
    store.journal.play_started(play(sid="pl_1", name="a\ud800"))
    store.journal.node_finished("pl_1", node_run(output={"k": "b\udc00"})).wait()
    assert store.get_play("pl_1").name == "a\ufffd"
    assert store.get_node_runs("pl_1")[0].output == {"k": "b\ufffd"}


def test_what_json_cannot_hold_is_refused_at_once_with_the_place(store: Store) -> None:
    with pytest.raises(StoreFailure, match=r"A value of pl_1 cannot be stored"):
        store.journal.node_finished("pl_1", node_run(output=object()))


def test_secrets_are_hidden_before_they_are_stored(store_url: str) -> None:
    with open_store(store_url, redact=redactor({"hunter2hunter2", "12345678", 'qu"ote\\d'})) as store:
        hidden = play(
            name="hunter2hunter2", inputs={"a": "x hunter2hunter2"}, output={"n": 12345678, "q": 'qu"ote\\d'}, warnings=("12345678",)
        )
        store.journal.play_started(hidden)
        failure = Failure(kind="internal", message="hunter2hunter2")
        step = Step(kind="http", name="GET", started_at=1, duration_ms=1, request={"Authorization": "Bearer abcdefghijklmnopqrstuv"})
        store.journal.node_finished(hidden.sid, node_run(output="hunter2hunter2", error=failure, steps=(step,))).wait()
        found = store.get_play(hidden.sid)
        assert (found.name, found.inputs, found.warnings) == (MARK, {"a": f"x {MARK}"}, (MARK,))
        assert found.output == {"n": MARK, "q": MARK}
        [stored] = store.get_node_runs(hidden.sid)
        assert stored.output == MARK
        assert stored.error == Failure(kind="internal", message=MARK)
        assert stored.steps[0].request == {"Authorization": f"Bearer {MARK}"}


STEPS = st.lists(st.builds(Step, kind=st.just("tool"), name=st.text(), started_at=COUNT, duration_ms=NUMBER, request=JSON), max_size=2)
PLAYS = st.builds(
    play, name=st.text(), inputs=st.dictionaries(st.text(), JSON, max_size=3), output=JSON, duration_ms=NUMBER, retries=COUNT,
    cost_usd=st.none() | NUMBER, error=FAILURE, warnings=st.lists(st.text(), max_size=2).map(tuple), price_table=st.text(),
    status=st.sampled_from(["pending", "running", "success", "cancelled"]), pins=st.dictionaries(st.text(), st.text(), max_size=2),
)  # fmt: skip
RUNS = st.builds(
    node_run, node_id=st.text(), attempt=st.integers(1, 1000), output=JSON, error=FAILURE, steps=STEPS.map(tuple), model=st.text(),
    first_token_ms=st.none() | NUMBER, cost_usd=st.none() | NUMBER, tokens_prompt=COUNT,
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stored=PLAYS, runs=st.lists(RUNS, max_size=3, unique_by=lambda each: (each.node_id, each.attempt)))
def test_every_play_and_node_run_comes_back(store: Store, stored: Play, runs: list[NodeRun]) -> None:
    store.journal.play_started(stored)
    for each in runs:
        store.journal.node_finished(stored.sid, each)
    store.journal.wait()
    assert store.get_play(stored.sid) == stored
    assert store.get_node_runs(stored.sid) == tuple(runs)


def test_a_group_whose_loop_has_closed_is_resolved_without_an_error() -> None:
    group = Group()

    async def leave() -> None:
        asyncio.get_running_loop().create_task(_wait(group))
        await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(leave())
    waiting = asyncio.all_tasks(loop)
    loop.call_soon(lambda: [task.cancel() for task in waiting])
    loop.run_until_complete(asyncio.gather(*waiting, return_exceptions=True))
    loop.close()
    group.resolve(None)
    group.join(1)


def test_the_writer_checkpoints_and_no_other_connection_does(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from flowgauge.store import sqlite as sqlite_module

    path = tmp_path / "store.db"
    with open_store(str(path)) as store:
        store.register_owner()
        with store._database.reading() as connection:
            assert connection.exec_driver_sql("PRAGMA wal_autocheckpoint").scalar() == 0
        monkeypatch.setattr(sqlite_module, "CHECKPOINT_BYTES", 100_000)
        for number in range(30):
            store.journal.node_finished("pl_1", node_run(node_id=str(number), output="x" * 100_000)).wait()
        assert (tmp_path / "store.db-wal").stat().st_size < 2_000_000
        assert path.stat().st_size > 2_500_000
        monkeypatch.setattr(sqlite_module, "TRUNCATE_BYTES", 1)
        store.journal.node_finished("pl_1", node_run()).wait()
        store.journal.close()
        assert (tmp_path / "store.db-wal").stat().st_size == 0
        with closing(sqlite3.connect(path)) as other:
            assert other.execute("SELECT count(*) FROM node_runs").fetchone() == (31,)


def test_a_wal_that_is_written_over_is_checkpointed_when_it_is_full_again_and_not_at_every_commit(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flowgauge.store import sqlite as sqlite_module
    from flowgauge.store.filelock import locked

    checkpoints: list[Any] = []

    def noted(path: Any) -> Any:
        checkpoints.append(path)
        return locked(path)

    with open_store(str(tmp_path / "store.db")) as store:
        store.journal.node_finished("pl_1", node_run(node_id="big", output="x" * 300_000)).wait()
        monkeypatch.setattr(sqlite_module, "CHECKPOINT_BYTES", 200_000)
        monkeypatch.setattr(sqlite_module, "locked", noted)
        for number in range(20):
            store.journal.node_finished("pl_1", node_run(node_id=str(number))).wait()
        store.journal.wait()
    assert 1 <= len(checkpoints) <= 3


async def _wait(group: Group) -> None:
    await group


def _writer_class(store: Store) -> Any:
    from flowgauge.store.postgres import PostgresWriter
    from flowgauge.store.sqlite import SqliteWriter

    return SqliteWriter if store.place.endswith("store.db") else PostgresWriter


def _passing_error(store: Store) -> Exception:
    import psycopg

    return (
        sqlite3.OperationalError("database is locked") if store.place.endswith("store.db") else psycopg.errors.SerializationFailure("again")
    )


def test_a_patient_write_gathers_until_somebody_is_in_a_hurry(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "GATHER_S", 3600.0)

    async def work() -> tuple[bool, bool]:
        await store.journal.node_finished("pl_1", node_run())
        first = store.journal.trial_finished("bn_1", trial(1))
        waiting = asyncio.ensure_future(first)
        await asyncio.sleep(0.05)
        gathering = not first.done()
        store.journal.hurry()
        await waiting
        second = store.journal.trial_finished("bn_1", trial(2))
        await store.journal.node_finished("pl_1", node_run(node_id="next"))
        return gathering, second.done()

    assert asyncio.run(work()) == (True, True)


@pytest.mark.parametrize(
    "press",
    [
        pytest.param(lambda journal: journal.trial_finished("bn_1", trial(2)).wait(60), id="a thread that waits"),
        pytest.param(lambda journal: journal.wait(), id="a flush"),
        pytest.param(lambda journal: journal.close(), id="the end"),
        pytest.param(lambda journal: journal.node_finished("pl_1", node_run(output="x" * 2_000_000)), id="much that has gathered"),
        pytest.param(lambda journal: asyncio.run(journal.flush()), id="a flush in an event loop"),
    ],
)
def test_what_has_gathered_is_written_at_once_for(press: Callable[[Any], Any], store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "GATHER_S", 3600.0)
    store.journal.node_finished("pl_1", node_run()).wait()
    receipt = store.journal.trial_finished("bn_1", trial(1))
    press(store.journal)
    for _ in range(6000):
        if receipt.done():
            break
        time.sleep(0.01)
    assert receipt.done()
    receipt.result()
