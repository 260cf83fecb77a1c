"""What a gate, a plan and a calibration answer where they are asked for something that cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.bench.program import Program, bench_file


@pytest.fixture
def measured(flowgauge: Program, tmp_path: Path) -> Program:
    """One bench of five runs."""
    assert flowgauge("bench", "ask.yaml", "--configs", bench_file(tmp_path, models={"only": "mock/fast"}, runs=5)).code == 0
    return flowgauge


@pytest.mark.parametrize("command", [("plan",), ("calibrate", "--pairs", "10")], ids=lambda command: str(command[0]))
@pytest.mark.parametrize(
    ("effect", "metric", "told"),
    [
        pytest.param("-2", "duration_ms", "Give an effect above 0", id="less than nothing"),
        pytest.param("0", "duration_ms", "Give an effect above 0", id="none"),
        pytest.param("nan", "duration_ms", "nan is no finite number", id="not a number"),
        pytest.param("inf", "duration_ms", "inf is no finite number", id="without end"),
        pytest.param("1.5", "success_rate", "Give an effect above 0", id="a rate that falls by more than all of it"),
    ],
)
def test_an_effect_that_is_no_harm_is_refused(measured: Program, command: tuple[str, ...], effect: str, metric: str, told: str) -> None:
    done = measured(*command, "latest", "--metric", metric, "--effect", effect)
    assert done.code == 2, done.err
    assert told in done.err


@pytest.mark.parametrize(
    ("limit", "code"), [pytest.param("success_rate >= 0.9", 0, id="held"), pytest.param("p50_ms <= 0.000001", 1, id="broken")]
)
def test_limits_alone_are_gated_without_a_baseline(measured: Program, tmp_path: Path, limit: str, code: int) -> None:
    (tmp_path / "limits.yaml").write_text(f"limits: ['{limit}']\n")
    assert measured("gate", "--policy", "limits.yaml").code == code


def test_a_gate_with_neither_baseline_nor_limits_is_wrong_use(measured: Program) -> None:
    done = measured("gate")
    assert done.code == 2
    assert "--baseline NAME" in done.err


@pytest.mark.parametrize(
    ("baseline", "sentence"),
    [
        pytest.param("nobody", "See: flowgauge baseline list, flowgauge benchmark list.**", id="not stored"),
        pytest.param("latest", "is the candidate itself. Name another.**", id="itself"),
    ],
)
def test_the_way_out_is_told_once(measured: Program, baseline: str, sentence: str) -> None:
    assert sentence in measured("gate", "--baseline", baseline).out


def figure(folder: Path, name: str, **metric: object) -> Path:
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"subject": name, "metrics": {"m": {"value": 150, "direction": "lower", "unit": "ms", **metric}}}))
    return path


@pytest.mark.parametrize(
    ("other", "told"),
    [
        pytest.param({"unit": "s"}, "150 against 150: the units differ: s and ms", id="another unit"),
        pytest.param({"direction": "higher"}, "the sides differ in what is better", id="another direction"),
    ],
)
def test_sides_that_do_not_mean_the_same_are_told_apart_before_samples_are_counted(
    flowgauge: Program, tmp_path: Path, other: dict[str, str], told: str
) -> None:
    assert flowgauge("ingest", figure(tmp_path, "new", **other), figure(tmp_path, "old")).code == 0
    done = flowgauge("gate", "new", "--baseline", "old")
    assert told in done.out
    assert "samples" not in done.out.split("## Metrics")[0]
    assert flowgauge("gate", "new", "--baseline", "old", "--rule", "prove").code == 3


def test_an_alpha_too_small_for_a_float_is_refused(measured: Program, tmp_path: Path) -> None:
    (tmp_path / "gate.yaml").write_text("alpha: 1.0e-300\n")
    done = measured("gate", "--baseline", "latest", "--policy", "gate.yaml")
    assert done.code == 2
    assert "alpha" in done.err
