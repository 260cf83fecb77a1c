"""Limits are read as written, and a value that is not known meets none."""

from __future__ import annotations

import msgspec
import pytest
from tests.compare.sides import counts, samples, side

from flowgauge.compare.figures import METRICS, direction_of, figure_of, figure_of_side, known_metrics, measure, unit_of
from flowgauge.compare.limits import Bound, broken, read_bounds, read_limit
from flowgauge.compare.rates import rate_of
from flowgauge.errors import UsageError
from flowgauge.model.bench import Bench, BenchRecord, Configuration, Target
from flowgauge.model.benchmark import BenchSummary, Cell, ConfigurationStats, Spread
from flowgauge.model.figure import Metric


def _spread(mean: float) -> Spread:
    return Spread(n=3, min=mean, mean=mean, p50=mean + 1, p90=mean + 2, p95=mean + 3, p99=mean + 4, max=mean + 5)


CELL = Cell(
    runs=10,
    success=rate_of(7, 10),
    measured=rate_of(7, 8),
    passed=rate_of(7, 9),
    failures={},
    duration_ms=_spread(100),
    first_token_ms=_spread(10),
    retries=4,
    tokens_prompt_mean=120.0,
    tokens_completion_mean=34.0,
    cost_usd_mean=0.002,
    cost_usd_total=0.02,
    cost_usd_per_success=0.003,
    scores={"tone": _spread(0.5)},
    checks={"polite": rate_of(3, 4)},
)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        pytest.param("success_rate=0.9", Bound("success_rate", "=", 0.9), id="= is at least"),
        pytest.param("  p95_ms <= 2000 ", Bound("p95_ms", "<=", 2000), id="blanks"),
        pytest.param("cost_usd <= 1e-4", Bound("cost_usd", "<=", 0.0001), id="an exponent"),
        pytest.param("score.tone of voice >= -1", Bound("score.tone of voice", ">=", -1), id="a name with blanks"),
        pytest.param("check.a=b >= 0.5", Bound("check.a=b", ">=", 0.5), id="a name with a sign in it"),
    ],
)
def test_a_rule_is_read(text: str, bound: Bound) -> None:
    assert read_bounds([text]) == [bound]
    assert read_limit(text) == bound


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("success_rate", "is no rule", id="no sign"),
        pytest.param("p95_ms < 3", "is no rule", id="a sign that is none"),
        pytest.param("p95_ms <= fast", "is no rule", id="no number"),
        pytest.param("p95ms <= 3", "Did you mean 'p95_ms'", id="a slip"),
        pytest.param("<= 3", "is no rule", id="no name"),
    ],
)
def test_what_is_no_rule_is_refused(text: str, words: str) -> None:
    for read in (read_limit, lambda rule: read_bounds([rule])):
        with pytest.raises(UsageError) as error:
            read(text)
        assert words in str(error.value)


def test_any_metric_of_a_side_is_named_in_a_policy_only() -> None:
    assert read_limit("metric.tests/sort[1] <= 3").metric == "metric.tests/sort[1]"
    with pytest.raises(UsageError, match="There is no metric"):
        read_bounds(["metric.tests/sort[1] <= 3"])


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("success_rate", 0.7), ("measured_success_rate", 0.875), ("pass_rate", 7 / 9), ("mean_ms", 100), ("duration_ms", 100),
        ("p50_ms", 101),
        ("p90_ms", 102), ("p95_ms", 103), ("p99_ms", 104), ("first_token_p50_ms", 11), ("first_token_ms", 10), ("cost_usd", 0.002),
        ("cost_usd_per_success", 0.003), ("cost_usd_total", 0.02), ("tokens_prompt", 120), ("tokens_completion", 34), ("retries", 4),
        ("score.tone", 0.5), ("check.polite", 0.75), ("score.beauty", None), ("check.beauty", None), ("beauty", None),
    ],
)  # fmt: skip
def test_a_figure_of_a_bench(metric: str, value: float | None) -> None:
    stats = ConfigurationStats(name="one", model="", overall=CELL, cases={})
    benchmark = msgspec.structs.replace(side("a").benchmark, stats=stats)
    assert measure(CELL, metric) == value
    assert figure_of(benchmark, metric) == value


def test_what_a_benchmark_has_a_figure_of() -> None:
    cell = msgspec.structs.replace(CELL, first_token_ms=None, cost_usd_mean=None)
    bench = msgspec.structs.replace(side("a").benchmark, stats=ConfigurationStats(name="one", model="", overall=cell, cases={}))
    unknown = {"first_token_p50_ms", "cost_usd"}
    assert set(known_metrics(bench)) == {*METRICS, "duration_ms", "score.tone", "check.polite"} - unknown
    ingested = msgspec.structs.replace(side("a").benchmark, kind="ingested", metrics={"sort": Metric(value=1.0, direction="lower")})
    assert known_metrics(ingested) == ["sort"]


def test_units_go_by_name() -> None:
    assert [unit_of(name) for name in ("p95_ms", "cost_usd_total", "tokens_prompt", "success_rate")] == ["ms", "USD", "tokens", ""]


def test_lower_is_better_of_times_costs_tokens_and_retries() -> None:
    lower = {metric for metric in (*METRICS, "duration_ms", "score.tone") if direction_of(metric) == "lower"}
    assert lower == {*METRICS, "duration_ms"} - {"success_rate", "measured_success_rate", "pass_rate"}


def test_a_figure_that_came_from_elsewhere_is_its_own() -> None:
    metrics = {
        "sort": Metric(value=5.0, direction="lower", samples={"": [1.0, 3.0]}),
        "search": Metric(value=None, direction="lower", samples={"x": [1.0], "y": [3.0, 5.0]}),
        "lost": Metric(value=None, direction="lower"),
    }
    benchmark = msgspec.structs.replace(side("a").benchmark, kind="ingested", metrics=metrics)
    assert [figure_of(benchmark, name) for name in ("sort", "search", "lost", "never")] == [5.0, 3.0, None, None]


def test_a_side_without_stored_figures_is_measured_by_its_samples() -> None:
    one = side("a", {"x": counts(1, 4, infrastructure=2)}, {"duration_ms": samples([1.0, 2.0]), "size": samples({}, value=7.0)})
    found = [figure_of_side(one, name) for name in ("duration_ms", "size", "success_rate", "measured_success_rate", "cost_usd")]
    assert found == [1.5, 7.0, 0.25, 0.5, None]
    assert read_limit("metric.size <= 7").found_in(one) == 7.0


def test_every_broken_bound_is_told_by_configuration() -> None:
    bench = Bench(name="b", target=Target(kind="python", reference="m:f", name="f"), configs=(Configuration(name="one"),), cases=())
    record = BenchRecord(uid="u", bench_id="b-1", name="b", definition_hash="", counter=1, status="finished", definition=bench, total=10)
    summary = BenchSummary(bench=record, configs=(ConfigurationStats(name="one", model="", overall=CELL, cases={}),), trials=10)
    bounds = read_bounds(["success_rate=0.7", "p95_ms<=100", "score.beauty>=0.1", "retries>=5"])
    assert broken(summary, bounds) == [
        "one: p95_ms is 103, not at most 100",
        "one: score.beauty is not known",
        "one: retries is 4, not at least 5",
    ]
