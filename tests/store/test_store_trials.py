from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec
import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.store_nouns import FAILURE, JSON, NUMBER, add, begin, bench, keep, node_run, play, trial

from flowgauge.errors import NotFound, StoreFailure, UsageError
from flowgauge.model.bench import Answer, CheckResult, Trial
from flowgauge.model.ids import BENCH, new_sid
from flowgauge.model.play import Failure, Usage
from flowgauge.model.redaction import MARK, redactor
from flowgauge.store import journal as journal_module
from flowgauge.store import open_store
from flowgauge.store.store import Store

EVERY_FIELD = Trial(
    run_id="0123456789abcdef",
    position=7,
    config="mini\x00",
    case="short – 日本",
    repetition=3,
    answer=Answer(
        status="failed",
        output={"text": "ö\x00"},
        nodes={"classify": {"text": "x"}},
        started_at=1_763_000_000_000,
        duration_ms=1.25,
        queue_ms=2.5,
        backoff_ms=3.5,
        first_token_ms=4.5,
        retries=2,
        tokens_prompt=10,
        tokens_completion=2**40,
        cost_usd=None,
        cost_source="unpriced",
        model="m\x00",
        error=Failure(kind="timeout", message="too long", retry_after_s=1.5),
        scores={"own": 0.5},
        repeated=1,
        cached=True,
    ),
    passed=False,
    failure_category="wrong_answer",
    scores={"quality": 0.75},
    checks=(
        CheckResult(name="a", type="equals", passed=False, reason="no"),
        CheckResult(name="b", type="judge", score=0.5, votes=(0.25, 0.75)),
    ),
    score_ms=5.5,
)


def all_of(store: Store, uid: str) -> list[Trial]:
    return list(store.iter_trials(uid))


def test_a_trial_comes_back_as_it_was_written(store: Store) -> None:
    uid = begin(store).uid
    add(store, uid, EVERY_FIELD, trial(1))
    assert all_of(store, uid) == [trial(1), EVERY_FIELD]
    assert store.get_trial(EVERY_FIELD.run_id) == (store.get_bench(uid), EVERY_FIELD)


def test_what_a_play_holds_is_not_stored_twice(store: Store) -> None:
    add(store, "bn_1", trial(1, answer={"play_sid": "pl_1", "nodes": {"a": 1}}))
    assert all_of(store, "bn_1") == [trial(1, answer={"play_sid": "pl_1"})]


@pytest.mark.parametrize("together", [True, False], ids=["in one group", "in two groups"])
def test_the_first_result_of_a_run_id_stays(store: Store, together: bool) -> None:
    write = store.journal.trial_finished("bn_1", trial(1))
    if not together:
        write.wait()
    store.journal.trial_finished("bn_1", trial(1, answer={"output": "again"})).wait()
    store.journal.trial_finished("bn_2", trial(1, answer={"output": "of another bench"})).wait()
    assert all_of(store, "bn_1") == [trial(1)]
    assert store.info().rows["trials"] == 2


@pytest.mark.parametrize("together", [True, False], ids=["in one group", "in two groups"])
def test_a_retried_result_takes_the_place_of_the_first(store: Store, together: bool) -> None:
    failed = trial(1, answer={"status": "failed", "error": Failure(kind="connection", message="x")}, failure_category="connection")
    write = store.journal.trial_finished("bn_1", failed)
    if not together:
        write.wait()
    write = store.journal.trial_finished("bn_1", trial(1), replace=True)
    if not together:
        write.wait()
    store.journal.trial_finished("bn_1", failed).wait()
    assert all_of(store, "bn_1") == [trial(1)]


def test_a_retry_without_a_first_result_is_stored(store: Store) -> None:
    store.journal.trial_finished("bn_1", trial(1), replace=True).wait()
    assert all_of(store, "bn_1") == [trial(1)]


def test_a_trial_its_play_and_its_node_run_share_a_commit(store: Store) -> None:
    async def work() -> None:
        begun = play(sid="pl_1")
        writes = [
            store.journal.play_started(begun),
            store.journal.node_finished("pl_1", node_run()),
            store.journal.play_finished(play(sid="pl_1", status="success")),
            store.journal.trial_finished("bn_1", trial(1, answer={"play_sid": "pl_1"})),
        ]
        await asyncio.gather(*writes)

    asyncio.run(work())
    assert store.journal.commits <= 2
    assert [row[1] for row in store.node_rows("bn_1")] == ["classify"]
    assert store.get_play("pl_1").status == "success"


def test_a_trial_that_cannot_be_stored_leaves_its_neighbours_alone(store: Store) -> None:
    writes = [store.journal.trial_finished("bn_1", trial(number)) for number in range(5)]
    bad = store.journal.trial_finished("bn_1", trial(9, answer={"tokens_prompt": 2**70}))
    writes += [store.journal.trial_finished("bn_1", trial(number)) for number in range(5, 8)]
    cached = store.cache_put("k", Answer(status="success"))
    with pytest.raises(StoreFailure):
        bad.wait()
    for write in (*writes, cached):
        write.wait()
    assert len(all_of(store, "bn_1")) == 8
    with pytest.raises(StoreFailure, match="cannot be stored as JSON"):
        store.journal.trial_finished("bn_1", trial(10, answer={"output": object()}))


def test_room_holds_a_flood_of_trials_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "BYTES_LIMIT", 10_000)
    seen: list[int] = []

    async def work() -> None:
        for number in range(100):
            await store.journal.room()
            seen.append(store.journal.queued_bytes)
            store.journal.trial_finished("bn_1", trial(number, answer={"output": "x" * 998}))
        await store.journal.flush()

    asyncio.run(work())
    assert max(seen) < 10_000
    assert len(store.finished_run_ids("bn_1")) == 100


def test_secrets_are_hidden_and_numbers_stay_numbers(store_url: str) -> None:
    with open_store(store_url, redact=redactor({"hunter2hunter2", "33333333"})) as store:
        check = CheckResult(name="c", type="python", score=0.3333333333333333, reason="hunter2hunter2")
        error = Failure(kind="code_error", message="hunter2hunter2")
        answer: dict[str, Any] = {"output": {"a": "hunter2hunter2", "n": 33333333}, "error": error, "nodes": {"n": "hunter2hunter2"}}
        add(store, "bn_1", trial(1, answer=answer, checks=(check,), scores={"s hunter2hunter2": 0.3333333333333333}))
        [stored] = all_of(store, "bn_1")
    assert stored.answer.output == {"a": MARK, "n": MARK}
    assert stored.answer.error == msgspec.structs.replace(error, message=MARK)
    assert stored.answer.nodes == {"n": MARK}
    assert stored.checks == (msgspec.structs.replace(check, reason=MARK),)
    assert stored.scores == {f"s {MARK}": 0.3333333333333333}


SCORES = st.dictionaries(st.text(max_size=5), NUMBER, max_size=2)
CHECKS = st.lists(
    st.builds(CheckResult, name=st.text(), type=st.just("equals"), passed=st.none() | st.booleans(), reason=st.text()), max_size=2
)
ANSWERS = st.builds(
    Answer, status=st.sampled_from(["success", "failed", "timeout"]), output=JSON, duration_ms=NUMBER, first_token_ms=st.none() | NUMBER,
    cost_usd=st.none() | NUMBER, model=st.text(), error=FAILURE, scores=SCORES, cached=st.booleans(),
    nodes=st.dictionaries(st.text(max_size=5), JSON, max_size=2),
)  # fmt: skip
TRIALS = st.builds(
    Trial, run_id=st.text("0123456789abcdef", min_size=1), position=st.integers(0, 2**40), config=st.text(), case=st.text(),
    repetition=st.integers(0, 1000), answer=ANSWERS, passed=st.none() | st.booleans(), scores=SCORES, checks=CHECKS.map(tuple),
    score_ms=NUMBER,
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stored=TRIALS)
def test_every_trial_comes_back(store: Store, stored: Trial) -> None:
    uid = new_sid(BENCH)
    store.journal.trial_finished(uid, stored).wait()
    assert all_of(store, uid) == [stored]
    [row] = store.trial_rows(uid)
    assert (row[0], row[1], row[3], row[15]) == (stored.config, stored.case, stored.passed, stored.answer.model)


def mixed(store: Store) -> str:
    uid = begin(store).uid
    add(
        store,
        uid,
        trial(0),
        trial(1, config="large", passed=False, failure_category="wrong_answer"),
        trial(2, case="long", answer={"status": "failed", "cost_usd": None}, failure_category="rate_limited"),
        trial(3, answer={"status": "timeout", "cost_usd": 0.5}, failure_category="timeout"),
        trial(4, answer={"cost_usd": 0.25, "duration_ms": 3.5}),
    )
    add(store, "bn_other", trial(5), trial(6))
    return uid


def numbers(found: set[str]) -> set[int]:
    known = {trial(number).run_id: number for number in range(10)}
    return {known[run_id] for run_id in found}


def test_run_ids_say_what_is_done_and_what_failed(store: Store) -> None:
    uid = mixed(store)
    assert numbers(store.finished_run_ids(uid)) == {0, 1, 2, 3, 4}
    assert numbers(store.failed_run_ids(uid)) == {2}
    assert numbers(store.failed_run_ids(uid, infrastructure_only=False)) == {1, 2, 3}
    assert store.finished_run_ids("bn_none") == set()


def test_a_trial_is_found_by_its_run_id(store: Store) -> None:
    uid = mixed(store)
    wanted = trial(0)
    assert store.get_trial(wanted.run_id) == store.get_trial(wanted.run_id[:8]) == (store.get_bench(uid), wanted)
    twin = begin(store, new=True)
    add(store, twin.uid, wanted)
    with pytest.raises(UsageError, match="Name the bench"):
        store.get_trial(wanted.run_id)
    assert store.get_trial(wanted.run_id, twin.bench_id)[0] == twin
    for missing in ("zzzz", ""):
        with pytest.raises(NotFound):
            store.get_trial(missing)
    with pytest.raises(NotFound):
        store.get_trial(wanted.run_id, "none")


def test_trials_are_listed_in_their_order_and_filtered(store: Store) -> None:
    uid = begin(store).uid
    made = [trial(number, position=number // 3) for number in range(10)]
    add(store, uid, *reversed(made))
    found, cursor = list[Trial](), None
    while True:
        page = store.list_trials(uid, cursor, 3)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    assert [each.run_id for each in found] == [each.run_id for each in sorted(made, key=lambda each: (each.position, each.run_id))]
    assert found[0].answer.output is None
    assert store.list_trials(uid, limit=1, with_output=True).items[0].answer.output is not None


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"config": "large"}, [1]),
        ({"case": "long"}, [2]),
        ({"status": "success"}, [0, 1, 4]),
        ({"config": "mini", "status": "failed"}, [2]),
    ],
)
def test_trials_are_filtered(store: Store, asked: dict[str, Any], found: list[int]) -> None:
    assert [each.position for each in store.list_trials(mixed(store), **asked).items] == found


def test_the_cursor_of_another_bench_is_refused(store: Store) -> None:
    uid, other = mixed(store), begin(store, new=True).uid
    cursor = store.list_trials(uid, limit=2).next_cursor
    with pytest.raises(UsageError, match="cursor"):
        store.list_trials(other, cursor)
    with pytest.raises(UsageError, match="cursor"):
        store.list_plays(cursor)


def test_rows_for_aggregation_stand_in_their_order(store: Store) -> None:
    add(store, "bn_1", EVERY_FIELD, trial(0))
    check = msgspec.json.encode(EVERY_FIELD.checks).decode()
    assert list(store.trial_rows("bn_1")) == [
        ("mini", "short", "success", None, "", 1.5, 0.0, 0.0, 0.0, None, 0, 0, 0, 0.0, "none", "", "{}", "[]", 0, False),
        ("mini\x00", "short – 日本", "failed", False, "wrong_answer", 1.25, 2.5, 3.5, 5.5, 4.5, 2, 10, 2**40, None, "unpriced", "m\x00",
         '{"quality":0.75}', check, 1, True),
    ]  # fmt: skip
    assert all(type(row) is tuple for row in store.trial_rows("bn_1"))


def test_node_rows_belong_to_the_plays_of_trials(store: Store) -> None:
    failure = Failure(kind="rate_limited", message="wait")
    store.journal.node_finished("pl_1", node_run(node_id="a\x00", status="failed", error=failure, cost_usd=None, cost_source="unpriced"))
    store.journal.node_finished("pl_1", node_run(node_id="a\x00", attempt=2, tokens_prompt=3, tokens_completion=4, cost_usd=0.5))
    store.journal.node_finished("pl_2", node_run(node_id="of no trial"))
    add(store, "bn_1", trial(1, answer={"play_sid": "pl_1"}), trial(2))
    assert sorted(store.node_rows("bn_1")) == [
        ("mini", "a\x00", 1, "failed", 2.5, 0, 0, None, "unpriced", "rate_limited"),
        ("mini", "a\x00", 2, "success", 2.5, 3, 4, 0.5, "none", ""),
    ]


def test_what_was_spent_is_unknown_where_a_price_is(store: Store) -> None:
    uid = mixed(store)
    assert store.spent(uid) == (None, 5)
    add(store, "bn_2", trial(0, answer={"cost_usd": 0.25}), trial(1, answer={"cost_usd": 0.5}))
    assert store.spent("bn_2") == (0.75, 2)
    assert store.spent("bn_none") == (0.0, 0)


def test_what_judges_cost_was_spent_too(store: Store) -> None:
    judged = [
        CheckResult(name="tone", type="judge", score=1.0, usage=Usage(tokens_prompt=1, cost_usd=usd, cost_source="computed"))
        for usd in (0.5, None)
    ]
    add(store, "bn_1", trial(0, answer={"cost_usd": 0.25}, checks=(judged[0],)), trial(1, answer={"cost_usd": 0.25}))
    assert store.spent("bn_1") == (1.0, 2)
    add(store, "bn_1", trial(2, answer={"cost_usd": 0.25}, checks=(judged[1],)))
    assert store.spent("bn_1") == (None, 3)


def test_history_says_what_a_configuration_takes(store: Store) -> None:
    uid = mixed(store)
    add(store, uid, trial(7, config="large", answer={"cost_usd": None}), trial(8, answer={"cached": True, "duration_ms": 99.0}))
    store.finish_bench(uid, "finished")
    again = begin(store)
    add(store, again.uid, trial(0, answer={"cost_usd": 0.5, "duration_ms": 4.0}))
    assert store.mean_cost_and_duration("ab12cd34ef") == {"mini": (0.25, 3.0), "large": (None, 1.5)}
    assert store.mean_cost_and_duration("none") == {}


def test_an_answer_is_kept_and_replaced(store: Store) -> None:
    assert store.cache_get("k") is None
    store.cache_put("k", EVERY_FIELD.answer).wait()
    assert store.cache_get("k") == EVERY_FIELD.answer
    store.cache_put("k", Answer(status="success", output=1)).wait()
    assert store.cache_get("k") == Answer(status="success", output=1)
    assert store.cache_clear() == 1
    assert store.cache_get("k") is None


def test_an_answer_in_a_form_that_is_not_known_is_none(store: Store) -> None:
    store.cache_put("k", Answer(status="success")).wait()
    with store._database.writing() as connection:
        connection.exec_driver_sql("""UPDATE answers SET answer = '{"status":"strange"}'""")
    assert store.cache_get("k") is None


def many(store: Store, count: int, output_bytes: int) -> None:
    """A bench of many trials, copied within the database: writing them one by one is measured elsewhere."""
    add(store, "bn_1", trial(0, answer={"output": "x" * output_bytes, "play_sid": "pl_1"}))
    keep(store, play(sid="pl_1"))
    store.journal.node_finished("pl_1", node_run()).wait()
    from flowgauge.store.rows import TRIAL_COLUMNS

    made = {"run_id": "CAST(n AS TEXT)", "position": "n"}
    columns = ", ".join(TRIAL_COLUMNS)
    values = ", ".join(made.get(name, name) for name in TRIAL_COLUMNS)
    series = f"WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < {count - 1})"
    with store._database.writing() as connection:
        connection.exec_driver_sql(f"{series} INSERT INTO trials ({columns}) SELECT {values} FROM series, trials")


def resident() -> int:
    """Memory of this process, with what drivers hold outside Python's own."""
    return int(psutil.Process().memory_info().rss)


@pytest.mark.parametrize("read", ["trial_rows", "node_rows", "iter_trials"])
def test_a_hundred_thousand_trials_stream_in_bounded_memory(store: Store, read: str) -> None:
    many(store, 100_000, output_bytes=1_000)
    stream: Iterator[Any] = getattr(store, read)("bn_1")
    before, largest = resident(), 0
    tracemalloc.start()
    try:
        count = sum(1 for _ in islice(stream, 3_000))
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    for _ in stream:
        count += 1
        if count % 20_000 == 0:
            largest = max(largest, resident())
    assert count == 100_000
    assert largest - before < 60 << 20


def test_a_stream_that_is_left_early_lets_go(store: Store) -> None:
    uid = mixed(store)
    for _ in range(50):
        stream = store.iter_trials(uid)
        next(stream)
        stream.close()  # type: ignore[attr-defined]
    assert store.start_bench(bench(), "ab12cd34ef", 4, "ow_1")[1] == "held"
