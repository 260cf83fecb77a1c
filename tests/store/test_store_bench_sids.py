"""Which benchmarks benches made, asked for at once, on every store."""

from __future__ import annotations

from flowgauge.model.benchmark import Benchmark
from flowgauge.store.store import Store


def test_the_benchmarks_of_several_benches_come_newest_first_and_none_is_none(store: Store) -> None:
    made = [
        Benchmark(sid=f"bm_{uid}_{config}", bench_uid=uid, bench_id=uid, config=config, created_at=moment)
        for uid, config, moment in (("bn_1", "a", 1), ("bn_1", "b", 2), ("bn_2", "a", 3))
    ]
    store.put_benchmarks(made)
    assert store.benchmark_sids(["bn_1", "bn_2", "bn_3"]) == {"bn_1": ("bm_bn_1_b", "bm_bn_1_a"), "bn_2": ("bm_bn_2_a",), "bn_3": ()}
    assert store.benchmark_sids([]) == {}
