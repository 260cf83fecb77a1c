"""Charts: what is drawn, what is left out, and that every picture can be drawn."""

from __future__ import annotations

import io
import sys
import xml.etree.ElementTree as ET
from typing import Any

import msgspec
import pytest
from tests.report import bench_examples

from flowgauge.errors import MissingExtra
from flowgauge.report.bench_source import Source, durations_ms
from flowgauge.report.charts import FEW_SAMPLES, _has_a_dot_above, bench_charts, cost_chart, latency_chart, success_chart
from flowgauge.report.formats import FORMATS
from flowgauge.report.painting import svg_of


def source(example: bench_examples.Example) -> Source:
    return Source(example.summary, example.trials)


def values(chart: dict[str, Any] | None) -> list[dict[str, Any]]:
    assert chart is not None
    found: list[dict[str, Any]] = chart["data"]["values"]
    return found


def test_success_is_drawn_best_first_with_its_interval() -> None:
    summary = bench_examples.small().summary
    drawn = values(success_chart(summary, 600))
    assert [value["config"] for value in drawn] == ["house", "mini", "crowded", "broken"]
    assert all(value["low"] <= value["share"] <= value["high"] for value in drawn)


def test_few_runs_are_dots_and_many_a_curve_of_fixed_size() -> None:
    small, large = bench_examples.small(), bench_examples.large()
    dots = values(latency_chart(small.summary, durations_ms(source(small)), 600))
    curve = values(latency_chart(large.summary, durations_ms(source(large)), 600))
    assert sum("dot" in value for value in dots) == sum(trial.ok for trial in small.all)
    assert len(large.all) > 2 * FEW_SAMPLES
    assert not any("dot" in value for value in curve)
    assert len(curve) < 250
    assert max(value["weight"] for value in curve if "weight" in value) == 1.0


def test_a_configuration_without_a_success_has_no_latency() -> None:
    example = bench_examples.small()
    drawn = values(latency_chart(example.summary, durations_ms(source(example)), 600))
    assert not [value for value in drawn if value["config"].startswith("broken")]


def test_an_unknown_cost_is_not_placed_but_named() -> None:
    chart = cost_chart(bench_examples.small().summary, 600)
    assert chart is not None
    assert {value["config"] for value in values(chart)} == {"mini", "crowded"}
    assert "house" in chart["title"]["subtitle"][1]


@pytest.mark.parametrize(
    ("places", "below"),
    [
        pytest.param([(1.0, 1.0), (1.1, 0.9)], [False, True], id="the worse of two that cost nearly the same"),
        pytest.param([(1.0, 1.0), (1.0, 1.0)], [False, True], id="the second of two in one place"),
        pytest.param([(1.0, 1.0), (1.1, 0.5)], [False, False], id="none where they stand well apart"),
        pytest.param([(1.0, 1.0), (9.0, 0.95)], [False, False], id="none where they cost differently"),
    ],
)
def test_names_of_dots_that_nearly_coincide_stand_apart(places: list[tuple[float, float]], below: list[bool]) -> None:
    dots = [{"usd": usd, "quality": quality} for usd, quality in places]
    assert [_has_a_dot_above(index, dots) for index in range(len(dots))] == below


def test_the_chart_has_the_quality_that_the_leads_and_the_front_go_by() -> None:
    trials = [
        msgspec.structs.replace(one, scores={"tone": 0.5, "like": 1.0}) for one in bench_examples.made({"mini": bench_examples.answered}, 5)
    ]
    summary = bench_examples.summary_of(trials)
    (drawn,) = values(cost_chart(summary, 600))
    assert summary.best_score is not None
    assert drawn["quality"] == summary.best_score.value == 0.75


def test_nothing_to_draw_is_no_chart() -> None:
    example = bench_examples.small()
    empty = msgspec.structs.replace(example.summary, configs=())
    assert bench_charts(empty, {}) == {}


def test_names_that_are_cut_alike_stay_apart() -> None:
    example = bench_examples.small()
    configs = tuple(msgspec.structs.replace(config, name="x" * 100 + config.name) for config in example.summary.configs)
    drawn = values(success_chart(msgspec.structs.replace(example.summary, configs=configs), 600))
    assert len({value["config"] for value in drawn}) == 4


@pytest.mark.parametrize("make", [bench_examples.small, bench_examples.nasty, bench_examples.large], ids=["small", "adversarial", "large"])
@pytest.mark.parametrize("width", [250, 620])
def test_every_chart_can_be_drawn_as_svg_without_scripts(make: Any, width: int) -> None:
    example = make()
    for chart in bench_charts(example.summary, durations_ms(source(example)), width=width).values():
        tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(svg_of(chart)).iter()}
        assert {"svg", "text"} <= tags
        assert not tags & {"script", "image", "foreignObject", "a", "img"}


@pytest.mark.parametrize(("name", "start"), [("svg", b"<svg"), ("png", b"\x89PNG\r\n\x1a\n")])
def test_pictures_are_whole_files(name: str, start: bytes) -> None:
    out = io.BytesIO()
    FORMATS[name].write(source(bench_examples.nasty()), out)
    assert out.getvalue().startswith(start)


@pytest.mark.parametrize("name", ["svg", "png"])
def test_a_missing_extra_is_named_before_any_trial_is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    example = bench_examples.small()
    with pytest.raises(MissingExtra, match=r"flowgauge\[report\]"):
        FORMATS[name].write(source(example), io.BytesIO())
    assert example.reads == 0
