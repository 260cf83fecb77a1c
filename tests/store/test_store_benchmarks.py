from __future__ import annotations

import pytest
from tests.store.store_nouns import begin, benchmark, save

from flowgauge.errors import Conflict, NotFound, UsageError
from flowgauge.model.benchmark import Benchmark, Cell, ConfigurationStats, Fingerprint, Interval, NodeStats, Rate, Spread
from flowgauge.model.redaction import MARK, redactor
from flowgauge.store import open_store
from flowgauge.store.store import Store

RATE = Rate(2, 3, 2 / 3, Interval(0.1, 0.9))
SPREAD = Spread(n=2, min=1, mean=1.5, p50=1.5, p90=2, p95=2, p99=2, max=2, stdev=0.5, mean_interval=Interval(1, 2))
CELL = Cell(
    runs=3, success=RATE, measured=RATE, passed=RATE, failures={"timeout": 1}, duration_ms=SPREAD, scores={"q": SPREAD}, checks={"c": RATE}
)
NODE = NodeStats(
    node_id="a", runs=3, success=RATE, duration_ms=None, retries=1, tokens_prompt=2, tokens_completion=3, cost_usd_total=None,
    cost_source="unpriced", failures={}, share=0.5,
)  # fmt: skip
EVERY_FIELD = benchmark(
    bench_id="b-1",
    workflow_sid="wf_1",
    workflow_version_sid="wv_1",
    num_runs=3,
    success_rate=66.6,
    avg_duration_ms=1.5,
    min_duration_ms=1.0,
    max_duration_ms=2.0,
    total_retries=4,
    avg_tokens_prompt=10.5,
    avg_tokens_completion=2.5,
    estimated_cost_usd=0.25,
    cost_source="computed",
    difficulty_rating=0.25,
    notes="naïve\x00",
    stats=ConfigurationStats(name="mini", model="m", overall=CELL, cases={"short": CELL}, nodes={"a": NODE}),
    fingerprint=Fingerprint(dataset="d", cache="on"),
    tags={"branch": "main", "a": 'b","c":"d'},
    commit="c0ffee",
    kind="ingested",
)


def test_a_benchmark_comes_back_as_it_was_written(store: Store) -> None:
    bare = benchmark()
    assert store.put_benchmarks([EVERY_FIELD, bare]) == (EVERY_FIELD, bare)
    assert store.get_benchmark(EVERY_FIELD.sid) == EVERY_FIELD
    assert store.get_benchmark(bare.sid) == bare


def test_measuring_a_bench_again_keeps_its_sid(store: Store) -> None:
    first, other = benchmark(bench_uid="bn_1"), benchmark(bench_uid="bn_1", config="large")
    store.put_benchmarks([first, other])
    [stored] = store.put_benchmarks([benchmark(bench_uid="bn_1", num_runs=9)])
    assert (stored.sid, stored.num_runs) == (first.sid, 9)
    assert {each.sid for each in store.list_benchmarks().items} == {first.sid, other.sid}


def test_all_are_stored_or_none(store: Store) -> None:
    twice = benchmark()
    with pytest.raises(Exception, match=r"(?i)unique"):
        store.put_benchmarks([twice, twice])
    assert store.list_benchmarks().items == ()


def pages(store: Store, **asked: object) -> list[str]:
    found, cursor = list[Benchmark](), None
    while True:
        page = store.list_benchmarks(cursor, 2, **asked)  # type: ignore[arg-type]
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return [each.notes for each in found]


def test_benchmarks_are_listed_newest_first_and_filtered(store: Store) -> None:
    workflow = save(store)
    run = begin(store)
    store.put_benchmarks(
        [
            benchmark(notes="old", created_at=1, workflow_sid=workflow, workflow_version_sid="wv_1", tags={"branch": "main"}),
            benchmark(notes="newest", created_at=9, workflow_sid=workflow, workflow_version_sid="wv_2", tags={"branch": "main", "os": "x"}),
            benchmark(notes="twin", created_at=5, bench_uid=run.uid, config="mini"),
            benchmark(notes="twin", created_at=5, bench_uid=run.uid, config="large", tags={"branch": "Main"}),
        ]
    )
    assert pages(store) == ["newest", "twin", "twin", "old"]
    assert pages(store, workflow="triage") == ["newest", "old"]
    assert pages(store, version="wv_1") == ["old"]
    assert pages(store, bench=run.bench_id) == ["twin", "twin"]
    assert pages(store, bench="latest", config="large") == ["twin"]
    assert pages(store, tags={"branch": "main"}) == ["newest", "old"]
    assert pages(store, tags={"branch": "main", "os": "x"}) == ["newest"]
    latest = store.latest_for_version("wv_2")
    assert latest is not None
    assert latest.notes == "newest"
    assert store.latest_for_version("wv_2", "large") is None


@pytest.mark.parametrize(
    ("key", "value", "found"), [("a", 'b","c":"d', True), ("c", "d", False), ("A", 'b","c":"d', False), ("branch", "mai", False)]
)
def test_a_tag_is_not_mistaken_for_another(store: Store, key: str, value: str, found: bool) -> None:
    store.put_benchmarks([EVERY_FIELD])
    assert bool(store.list_benchmarks(tags={key: value}).items) is found


def test_a_benchmark_is_found_by_its_beginning_and_latest(store: Store) -> None:
    store.put_benchmarks([benchmark(sid="bm_1", created_at=5), benchmark(sid="bm_12", created_at=1)])
    assert store.get_benchmark("bm_1").sid == "bm_1"
    assert store.get_benchmark("bm_12").sid == "bm_12"
    assert store.get_benchmark("latest").sid == "bm_1"
    with pytest.raises(UsageError, match="Several benchmarks"):
        store.get_benchmark("bm_")
    for missing in ("x", ""):
        with pytest.raises(NotFound):
            store.get_benchmark(missing)


def test_a_benchmark_is_deleted_unless_a_baseline_stands_on_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlalchemy import select

    from flowgauge.store.schema import benches

    run = begin(store)
    store.put_benchmarks([benchmark(sid="bm_1", bench_uid=run.uid)])
    monkeypatch.setattr("flowgauge.store.benchmarks.KEPT_BENCHES", [lambda: select(benches.c.uid).where(benches.c.uid == run.uid)])
    with pytest.raises(Conflict, match="baseline"):
        store.delete_benchmark("bm_1")
    monkeypatch.undo()
    store.delete_benchmark("bm_1")
    with pytest.raises(NotFound):
        store.delete_benchmark("bm_1")


def test_secrets_in_a_benchmark_are_hidden(store_url: str) -> None:
    with open_store(store_url, redact=redactor({"hunter2hunter2"})) as store:
        [stored] = store.put_benchmarks([benchmark(notes="hunter2hunter2", tags={"a": "hunter2hunter2"})])
    assert (stored.notes, stored.tags) == (MARK, {"a": MARK})
