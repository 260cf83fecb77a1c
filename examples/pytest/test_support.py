"""Tests of something that is not right every time. They run offline.

pytest examples/pytest
pytest examples/pytest --flowgauge-runs 20     # the same, more sure
pytest examples/pytest --flowgauge-off         # once each, as plain tests
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import flowgauge as fg

WORKFLOW = Path(__file__).parents[1] / "bench" / "support.yaml"


@pytest.mark.flowgauge(runs=5, min_success=0.8, fail_under=["p95_ms<=5000"])
@pytest.mark.parametrize("message", ["I was charged twice.", "The app shows an error."], ids=["billing", "technical"])
def test_a_message_is_answered(message: str, flowgauge_trial: Any, tmp_path: Path) -> None:
    """The body is the target: each run is one trial, and each message a case."""
    play = fg.play(WORKFLOW, inputs={"message": message}, db=str(tmp_path / "plays.db"))
    flowgauge_trial.report(cost_usd=play.cost_usd, tokens_prompt=play.tokens_prompt, tokens_completion=play.tokens_completion)
    assert play.status == "success", play.error
    assert play.output["answer"]


@pytest.mark.flowgauge(runs=3, configs={"small": {"model": "default"}, "large": {"model": "expensive"}})
def test_every_model_answers(flowgauge_config: dict[str, str], tmp_path: Path) -> None:
    """One test, two configurations: the summary shows them side by side."""
    play = fg.play(WORKFLOW, inputs={"message": "Hello"}, config=flowgauge_config, db=str(tmp_path / "plays.db"))
    assert play.status == "success", play.error


def test_the_small_model_is_the_cheapest(flowgauge_bench: Any) -> None:
    """A whole bench inside a test: what `fg.bench` gives back can be asserted on."""
    result = flowgauge_bench(WORKFLOW, configs=WORKFLOW.with_name("configs.yaml"), runs=3)
    assert result.cheapest == "small"
    assert all(config.success.value == 1.0 for config in result.configs.values())
