from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.store.store_nouns import add, begin, keep, node_run, play, trial

from flowgauge.store import columns, open_store
from flowgauge.store.store import Store

RUN = trial(0).run_id


def rows(batches: Any) -> list[tuple[Any, ...]]:
    return [row for batch in batches for row in batch]


def test_the_columns_of_a_trial_are_what_compare_needs(store: Store) -> None:
    uid = begin(store).uid
    answer = {"duration_ms": 2.5, "first_token_ms": 0.5, "tokens_prompt": 7, "tokens_completion": 3, "cost_usd": 0.25}
    add(store, uid, trial(0, answer=answer, scores={"quality": 0.5}), trial(1, answer={"cost_usd": None, "cost_source": "unpriced"}))
    assert rows(store.measured_columns(uid, "mini")) == [
        ("short", None, 2.5, 0.5, 7, 3, 0.25, '{"quality":0.5}'),
        ("short", None, 1.5, None, 0, 0, None, None),
    ]


@pytest.mark.parametrize(
    ("fields", "failure"),
    [
        pytest.param({}, None, id="unchecked"),
        pytest.param({"passed": True}, None, id="passed"),
        pytest.param({"passed": False, "failure_category": "wrong_answer"}, f"{RUN} wrong_answer", id="wrong"),
        pytest.param({"passed": False}, f"{RUN} ", id="wrong and nobody says so"),
        pytest.param({"failure_category": "judge_error"}, f"{RUN} judge_error", id="not judged"),
        pytest.param({"answer": {"status": "timeout"}, "failure_category": "timeout"}, f"{RUN} timeout", id="too slow"),
        pytest.param({"answer": {"status": "failed"}}, f"{RUN} ", id="failed and nobody says why"),
    ],
)
def test_only_what_ran_and_was_not_found_wrong_has_no_failure(store: Store, fields: dict[str, Any], failure: str | None) -> None:
    uid = begin(store).uid
    one = trial(0, **fields)
    add(store, uid, one)
    assert [row[1] for row in rows(store.measured_columns(uid, "mini"))] == [failure]
    assert one.ok is (failure is None)


def test_trials_come_in_the_order_of_the_plan_and_only_those_asked_for(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_ROWS_AT_ONCE", 2)
    uid, other = begin(store).uid, begin(store, new=True).uid
    for number in (3, 0, 4, 1, 2):
        add(store, uid, trial(number, config="mi\x00ni", case=f"{number}\x00\x1a", answer={"duration_ms": float(number)}))
    add(store, uid, trial(9, config="large"))
    add(store, other, trial(0, config="mi\x00ni"))
    batches = list(store.measured_columns(uid, "mi\x00ni"))
    assert [len(batch) for batch in batches] == [2, 2, 1]
    assert [(row[0], row[2]) for row in rows(batches)] == [(f"{number}\x00\x1a", float(number)) for number in range(5)]


def test_the_columns_of_nodes_are_those_of_successful_trials(store: Store) -> None:
    uid = begin(store).uid
    kinds: list[dict[str, Any]] = [{}, {"passed": False, "failure_category": "wrong_answer"}, {"passed": True}, {"cached": True}, {}]
    for number, fields in enumerate(kinds):
        done = play(sid=f"pl_{9 - number}", status="success")
        keep(store, done)
        runs = [
            node_run(node_id="a\x00", attempt=1, status="failed", duration_ms=1.0),
            node_run(node_id="a\x00", attempt=2, duration_ms=2.0),
            node_run(node_id="each[1]", duration_ms=4.0),
            node_run(node_id="never", status="skipped", duration_ms=0.0),
        ]
        for run in runs:
            store.journal.node_finished(done.sid, run)
        cached = fields.pop("cached", False)
        config = "large" if number == 4 else "mini"
        add(store, uid, trial(number, config=config, case=f"{number}", answer={"play_sid": done.sid, "cached": cached}, **fields))
    found = rows(store.node_columns(uid, "mini"))
    assert [row[:2] for row in found] == [("pl_9", "0")] * 3 + [("pl_7", "2")] * 3
    assert sorted(row[2:] for row in found) == sorted([("a\x00", 1.0), ("a\x00", 2.0), ("each[1]", 4.0)] * 2)


def test_a_store_that_is_not_there_has_no_columns(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "none.db")) as store:
        assert list(store.measured_columns("bn_1", "mini")) == list(store.node_columns("bn_1", "mini")) == []


def test_who_stops_in_the_middle_blocks_nobody(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_ROWS_AT_ONCE", 1)
    uid = begin(store).uid
    add(store, uid, trial(0), trial(1))
    for _ in range(40):  # more than there are connections
        batches: Any = store.measured_columns(uid, "mini")
        assert len(next(batches)) == 1
        batches.close()
    add(store, uid, trial(2))
    assert len(rows(store.measured_columns(uid, "mini"))) == 3
