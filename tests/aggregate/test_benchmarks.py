"""One benchmark a configuration, whole, and comparable only with its like."""

from __future__ import annotations

from typing import Any

import pytest
from tests.aggregate.bench_rows import failed, record, row

from flowgauge.aggregate.benchmarks import fingerprint_of, to_benchmarks
from flowgauge.aggregate.summary import summarise
from flowgauge.model.bench import Case, CheckSpec, Configuration


def test_every_field_is_filled() -> None:
    rows = [row("a", duration_ms=100.0, retries=1), row("a", duration_ms=300.0), failed("timeout", config="a"), row("b")]
    summary = summarise(record("a", "b", "silent", tags={"team": "x"}), rows)
    first, second = to_benchmarks(summary, workflow_sid="wf_1", version_sids={"a": "wv_1"}, difficulty=0.3)
    assert (first.bench_uid, first.bench_id, first.config) == ("bn_1", "shootout-abc-1", "a")
    assert (first.workflow_sid, first.workflow_version_sid, second.workflow_version_sid) == ("wf_1", "wv_1", "")
    assert first.num_runs == 3
    assert first.success_rate == pytest.approx(200 / 3)
    assert (first.avg_duration_ms, first.min_duration_ms, first.max_duration_ms) == (200.0, 100.0, 300.0)
    assert (first.total_retries, first.avg_tokens_prompt, first.avg_tokens_completion) == (1, 10.0, 5.0)
    assert first.estimated_cost_usd == pytest.approx(0.001)
    assert first.cost_source == "computed"
    assert (first.difficulty_rating, first.tags, first.commit, first.created_at) == (0.3, {"team": "x"}, "c0ffee", 2000)
    assert first.stats == summary.configs[0]
    assert (first.fingerprint.machine, first.fingerprint.price_table) == ("2 cores", "prices 1")


def test_aggregating_again_gives_the_same_benchmark() -> None:
    made = [to_benchmarks(summarise(record("a", "b"), [row("a"), row("b")])) for _ in range(2)]
    assert made[0] == made[1]
    assert made[0][0].sid != made[0][1].sid


def test_a_benchmark_carries_the_notes_that_concern_it() -> None:
    first, second = to_benchmarks(summarise(record("a", "b", total=9), [row("a", cost_usd=None), row("b")]))
    assert "no known price" in first.notes
    assert "no known price" not in second.notes
    assert "Only 2 of 9" in second.notes


CASES = (Case(name="one", inputs={"q": 1}, expected={"label": "x"}), Case(name="two", inputs={"q": 2}))
JUDGE = CheckSpec(type="judge", name="tone", options={"rubric": "kind"})
EQUALS = CheckSpec(type="equals", name="label", value="x")
CONFIGS = (
    Configuration(name="a", workflow_overrides={"config": {"provider": "openai", "model": "m"}}),
    Configuration(name="b", workflow_overrides={"config": {"model": "anthropic/m", "max_retries": 3}}),
    Configuration(name="c", workflow_overrides={"nodes": {"ask": {"config": {"provider": "mock"}, "prompt": "p"}}}),
)
USUAL: dict[str, Any] = {"cases": CASES, "checks": (EQUALS, JUDGE), "configs": CONFIGS}


def changed(**definition: Any) -> set[str]:
    """Which fields of the fingerprint a change of the definition moves."""
    before = fingerprint_of(record(**USUAL).definition, "p", "m")
    after = fingerprint_of(record(**{**USUAL, **definition}).definition, "p", "m")
    return {name for name in before.__struct_fields__ if getattr(before, name) != getattr(after, name)}


@pytest.mark.parametrize(
    ("definition", "moved"),
    [
        pytest.param({}, set(), id="nothing"),
        pytest.param({"runs": 9, "max_concurrent_runs": 1, "seed": 4, "tags": {"a": "b"}}, set(), id="more runs"),
        pytest.param({"cases": CASES[::-1]}, set(), id="rows in another order"),
        pytest.param({"cases": CASES[:1]}, {"dataset"}, id="fewer rows"),
        pytest.param({"checks": (JUDGE, EQUALS)}, set(), id="checks in another order"),
        pytest.param({"checks": (JUDGE,)}, {"checks"}, id="a check less"),
        pytest.param({"checks": (EQUALS, CheckSpec(type="judge", name="tone", options={"rubric": "strict"}))}, {"judge"}, id="a rubric"),
        pytest.param({"cache": True}, {"cache"}, id="the cache"),
        pytest.param({"timeout_s": 3.0}, {"retry_policy"}, id="a time limit"),
        pytest.param({"configs": CONFIGS[:2]}, {"provider"}, id="a provider less"),
        pytest.param({"configs": (CONFIGS[0], CONFIGS[2])}, {"provider", "retry_policy"}, id="without the one that retries"),
    ],
)
def test_what_moves_the_fingerprint(definition: dict[str, Any], moved: set[str]) -> None:
    assert changed(**definition) == moved


def test_the_fingerprint_of_one_configuration_names_its_providers() -> None:
    bench = record(**USUAL).definition
    found = {name: fingerprint_of(bench, "p", "m", config=name, providers=("own",)).provider for name in "abc"}
    assert found == {"a": "openai, own", "b": "anthropic, own", "c": "mock, own"}


def test_nothing_to_say_is_empty() -> None:
    bare = fingerprint_of(record("a").definition, "", "")
    assert (bare.checks, bare.judge, bare.provider, bare.retry_policy, bare.cache) == ("", "", "", "", "off")
