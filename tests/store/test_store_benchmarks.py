from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from tests.store.store_nouns import begin, bench, benchmark, save

from flowgauge.errors import NotFound, StoreFailure, UsageError
from flowgauge.model.benchmark import Benchmark, Cell, ConfigurationStats, Fingerprint, Interval, NodeStats, Rate, Spread
from flowgauge.model.figure import Metric
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
    subject="tool\x00",
    metrics={
        "mean_s": Metric(value=0.5, direction="lower", unit="s", samples={"": [0.25, 0.75], "é": []}),
        "unknown": Metric(value=None, direction="higher"),
    },
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
    wrong = benchmark(metrics={"mean_s": Metric(value=math.nan, direction="lower")})
    with pytest.raises(StoreFailure):
        store.put_benchmarks([benchmark(), wrong])
    assert store.list_benchmarks().items == ()


def test_what_no_bench_made_is_replaced_by_its_sid(store: Store) -> None:
    store.put_benchmarks([benchmark(sid="bm_1", kind="ingested", notes="old"), benchmark(sid="bm_2", kind="ingested")])
    store.put_benchmarks([benchmark(sid="bm_1", kind="ingested", notes="new")])
    assert {each.sid: each.notes for each in store.list_benchmarks().items} == {"bm_1": "new", "bm_2": ""}


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


def test_a_benchmark_is_found_by_its_beginning_and_latest_is_no_snapshot(store: Store) -> None:
    store.put_benchmarks([benchmark(sid="bm_1", created_at=5), benchmark(sid="bm_12", created_at=1)])
    store.put_benchmarks([benchmark(sid="bm_9", created_at=9, kind="snapshot", subject="registry")])
    assert store.get_benchmark("bm_1").sid == "bm_1"
    assert store.get_benchmark("bm_12").sid == "bm_12"
    assert store.get_benchmark("latest").sid == "bm_1"
    with pytest.raises(UsageError, match="Several benchmarks"):
        store.get_benchmark("bm_")
    for missing in ("x", ""):
        with pytest.raises(NotFound):
            store.get_benchmark(missing)


def test_a_benchmark_is_deleted(store: Store) -> None:
    store.put_benchmarks([benchmark(sid="bm_1", bench_uid=begin(store).uid), benchmark(sid="bm_2", kind="ingested")])
    store.delete_benchmark("bm_1")
    assert [each.sid for each in store.list_benchmarks().items] == ["bm_2"]
    store.delete_benchmark("bm_2")
    with pytest.raises(NotFound):
        store.delete_benchmark("bm_1")


def test_secrets_in_a_benchmark_are_hidden(store_url: str) -> None:
    with open_store(store_url, redact=redactor({"hunter2hunter2"})) as store:
        told = benchmark(notes="hunter2hunter2", tags={"a": "hunter2hunter2"}, subject="of hunter2hunter2")
        [stored] = store.put_benchmarks([told])
    assert (stored.notes, stored.tags, stored.subject) == (MARK, {"a": MARK}, f"of {MARK}")


@pytest.mark.parametrize("wrong", [{"value": math.nan}, {"value": 1.0, "samples": {"": [1.0, math.inf]}}], ids=["value", "sample"])
def test_what_is_no_number_is_not_stored(store: Store, wrong: dict[str, Any]) -> None:
    with pytest.raises(StoreFailure, match="mean_s of tool holds what is no finite number"):
        store.put_benchmarks([benchmark(subject="tool", metrics={"mean_s": Metric(direction="lower", **wrong)})])
    assert store.list_benchmarks().items == ()


def named(store: Store, name: str, created_at: int, **fields: Any) -> Benchmark:
    """A benchmark of a bench of this name."""
    record = begin(store, bench(name=name), new=True)
    [stored] = store.put_benchmarks([benchmark(bench_uid=record.uid, bench_id=record.bench_id, created_at=created_at, **fields)])
    return stored


def ingested(store: Store, subject: str, created_at: int, **fields: Any) -> Benchmark:
    [stored] = store.put_benchmarks([benchmark(kind="ingested", config="", subject=subject, created_at=created_at, **fields)])
    return stored


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        pytest.param({"name": "nightly"}, ["n2", "n1"], id="by the name of the bench"),
        pytest.param({"name": "night tool"}, ["t1"], id="by subject, where there is no bench"),
        pytest.param({"name_prefix": "night"}, ["t1", "n2", "n1"], id="by the beginning of either"),
        pytest.param({"name_prefix": "Night"}, ["other"], id="case matters"),
        pytest.param({"name_prefix": "night%"}, [], id="no pattern"),
        pytest.param({"name_prefix": "night", "config": "mini"}, ["n2", "n1"], id="of a configuration"),
        pytest.param({"subject": "night tool"}, ["t1"], id="by subject"),
        pytest.param({"kind": "bench"}, ["other", "n2", "n1"], id="by kind"),
        pytest.param({"commit": "c2"}, ["t1", "n2"], id="by commit"),
        pytest.param({"before": 3}, ["n2", "n1"], id="older than"),
        pytest.param({"name": None, "before": 2}, ["n1"], id="None is not asked for"),
    ],
)
def test_benchmarks_are_found(store: Store, asked: dict[str, Any], found: list[str]) -> None:
    named(store, "nightly", 1, notes="n1", commit="c1")
    named(store, "nightly", 2, notes="n2", commit="c2")
    ingested(store, "night tool", 3, notes="t1", commit="c2")
    named(store, "Nightly", 4, notes="other")
    assert pages(store, **asked) == found
    assert [each.notes for each in store.iter_benchmarks(**asked)] == found[::-1]


def test_stats_are_left_out_where_nobody_asks_for_them(store: Store) -> None:
    store.put_benchmarks([EVERY_FIELD])
    assert list(store.iter_benchmarks()) == [msgspec.structs.replace(EVERY_FIELD, stats=None)]
    assert list(store.iter_benchmarks(with_stats=True)) == [EVERY_FIELD]
    assert store.list_benchmarks(with_stats=False).items == (msgspec.structs.replace(EVERY_FIELD, stats=None),)


def test_the_benchmarks_before_one_are_of_its_name_and_configuration(store: Store) -> None:
    for moment in (1, 2, 3, 3):
        named(store, "nightly", moment, notes=f"n{moment}")
    named(store, "other", 2)
    named(store, "nightly", 2, config="large")
    newest = named(store, "nightly", 4)
    ingested(store, "nightly", 1)
    assert [each.notes for each in store.benchmarks_before(newest, 3)] == ["n2", "n3", "n3"]
    assert [each.notes for each in store.benchmarks_before(newest, 9)] == ["n1", "n2", "n3", "n3"]
    twins = store.benchmarks_before(newest, 2)
    assert [each.sid for each in store.benchmarks_before(twins[1], 1)] == [twins[0].sid]


def test_what_was_measured_before_elsewhere_is_of_the_same_subject(store: Store) -> None:
    first, _, last = ingested(store, "tool", 1), ingested(store, "another", 2), ingested(store, "tool", 3)
    store.put_benchmarks([benchmark(kind="perf", config="", subject="tool", created_at=2)])
    assert store.benchmarks_before(last, 9) == (first,)


def test_the_baseline_of_a_branch_is_the_newest_like_it_on_the_nearest_commit(store: Store) -> None:
    alike = Fingerprint(dataset="d", machine="m")
    far = named(store, "nightly", 9, commit="c3", fingerprint=alike)
    near = named(store, "nightly", 2, commit="c2", fingerprint=alike)
    named(store, "nightly", 1, commit="c2", fingerprint=alike)
    named(store, "nightly", 3, commit="c1", fingerprint=Fingerprint(dataset="another"))
    named(store, "nightly", 3, commit="c1", fingerprint=alike, config="large")
    named(store, "other", 3, commit="c1", fingerprint=alike)
    candidate = named(store, "nightly", 10, commit="c1", fingerprint=alike)
    assert store.newest_by_commits(["c1", "c2", "c3"], like=candidate) == near
    assert store.newest_by_commits(["c1", "c3", "c2"], like=candidate) == far
    assert store.newest_by_commits(["c1", *map(str, range(1200)), "c3"], like=candidate) == far
    assert store.newest_by_commits(["c1", "c4"], like=candidate) is None
    assert store.newest_by_commits([], like=candidate) is None


def test_where_no_commit_has_the_whole_fingerprint_the_same_data_set_is_enough(store: Store) -> None:
    old = Fingerprint(dataset="d", price_table="march")
    near = named(store, "nightly", 2, commit="c2", fingerprint=old)
    named(store, "nightly", 3, commit="c1", fingerprint=Fingerprint(dataset="another", price_table="april"))
    far = named(store, "nightly", 1, commit="c3", fingerprint=Fingerprint(dataset="d", price_table="may"))
    candidate = named(store, "nightly", 10, commit="c0", fingerprint=Fingerprint(dataset="d", price_table="april"))
    assert store.newest_by_commits(["c1", "c2", "c3"], like=candidate) == near
    assert store.newest_by_commits(["c1", *map(str, range(1200)), "c3"], like=candidate) == far
    assert store.newest_by_commits(["c1"], like=candidate) is None
    whole = named(store, "nightly", 1, commit="c4", fingerprint=candidate.fingerprint)
    assert store.newest_by_commits(["c1", "c2", *map(str, range(1200)), "c4"], like=candidate) == whole


def test_the_baseline_of_a_branch_may_be_ingested(store: Store) -> None:
    first = ingested(store, "tool", 1, commit="c1")
    candidate = ingested(store, "tool", 2, commit="c2")
    assert store.newest_by_commits(["c2", "c1"], like=candidate) == first
