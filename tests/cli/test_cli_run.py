"""`flowgauge run`: examples on every path to a model, inputs, exit codes, recordings."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import EXAMPLES, Program

OFFLINE = sorted(path.stem for path in EXAMPLES.glob("*.yaml") if path.stem != "http")
PATHS = {
    "OpenAI dialect": ("openai", "gpt-4o-mini", "/v1"),
    "Anthropic dialect": ("anthropic", "claude-sonnet-4-6", ""),
    "library": ("library:openai", "gpt-4o-mini", "/v1"),
}


@pytest.fixture(autouse=True)
def with_examples(tmp_path: Path) -> None:
    """`examples/` beside the working folder, as in a clone."""
    (tmp_path / "examples").symlink_to(EXAMPLES)


@pytest.mark.parametrize("name", OFFLINE)
def test_an_example_runs_offline_with_tokens_and_a_priced_cost(flowgauge: Program, name: str) -> None:
    done = flowgauge("run", f"examples/{name}.yaml", "--json")
    assert done.code == 0, done.err
    play = done.json["play"]
    assert play["status"] == "success"
    assert play["tokens_prompt"] > 0
    assert play["tokens_completion"] > 0
    assert play["cost_usd"] > 0
    assert play["cost_source"] == "computed"
    assert "genai-prices" in play["price_table"]
    assert play["output"]


def test_the_http_example_asks_a_real_server(flowgauge: Program, mock_server: str) -> None:
    done = flowgauge("run", "examples/http.yaml", "-i", f"url={mock_server}/v1/models", "--json")
    assert done.code == 0, done.out + done.err
    assert done.json["node_runs"][0]["output"]["status"] == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", [*OFFLINE, "http"])
def test_an_example_runs_against_the_mock_server(flowgauge: Program, mock_server: str, name: str, path: str) -> None:
    provider, model, suffix = PATHS[path]
    inputs = ["-i", f"url={mock_server}/v1/models"] if name == "http" else []
    config = ["-c", f"provider={provider}", "-c", f"model={model}", "-c", f"base_url={mock_server}{suffix}", "-c", "max_tokens=400"]
    done = flowgauge("run", f"examples/{name}.yaml", *inputs, *config, "--json")
    assert done.code == 0, done.out + done.err
    play = done.json["play"]
    assert play["tokens_prompt"] > 0
    assert play["tokens_completion"] > 0
    assert play["cost_usd"] > 0
    assert play["cost_source"] == "computed"


@pytest.mark.parametrize("path", PATHS)
def test_a_stream_tells_the_time_to_the_first_token(flowgauge: Program, mock_server: str, path: str) -> None:
    provider, model, suffix = PATHS[path]
    config = ["-c", f"provider={provider}", "-c", f"model={model}", "-c", f"base_url={mock_server}{suffix}", "-c", "stream=true"]
    done = flowgauge("run", "examples/classify.yaml", *config, "--json")
    run = done.json["node_runs"][0]
    assert 0 < run["first_token_ms"] <= run["duration_ms"]
    assert run["tokens_completion"] > 0


def test_an_unknown_model_costs_an_unknown_sum(flowgauge: Program, mock_server: str) -> None:
    config = ["-c", "provider=openai", "-c", "model=made-up-9000", "-c", f"base_url={mock_server}/v1"]
    done = flowgauge("run", "examples/classify.yaml", *config, "--json")
    assert done.json["play"]["cost_usd"] is None
    assert done.json["play"]["cost_source"] == "unpriced"
    shown = flowgauge("play", "show", "latest")
    assert "$0 (unpriced)" in shown.out


def test_inputs_that_do_not_fit_are_listed_together_and_nothing_is_stored(flowgauge: Program) -> None:
    done = flowgauge("run", "examples/rag.yaml", "-i", "passages=many", "-i", "qestion=why")
    assert done.code == 2
    assert "passages" in done.err
    assert "qestion" in done.err
    assert "question" in done.err
    assert flowgauge("play", "list", "--json").json["plays"] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["run", "missing.yaml"], "missing.yaml", id="a file that is not there"),
        pytest.param(["run", "nobody"], "nobody", id="a workflow that is not stored"),
        pytest.param(["run", "examples/classify.yaml", "-c", "modle=x"], "model", id="a config key with a slip"),
        pytest.param(["run", "examples/classify.yaml", "-c", "temperature=hot"], "temperature", id="a config value of the wrong type"),
        pytest.param(
            ["run", "examples/classify.yaml", "--record", "a", "--replay", "examples/classify.yaml"], "exclude", id="record and replay"
        ),
        pytest.param(
            ["run", "examples/classify.yaml", "--replay", "examples/classify.yaml"], "classify.yaml", id="a replay of no recording"
        ),
        pytest.param(["rnu"], "run", id="a command with a slip"),
    ],
)
def test_a_bad_call_is_one_clear_error(flowgauge: Program, arguments: list[str], words: str) -> None:
    done = flowgauge(*arguments)
    assert done.code == 2
    assert words in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


def test_a_play_over_its_budget_ends_with_4(flowgauge: Program) -> None:
    done = flowgauge("run", "examples/map-summaries.yaml", "-c", "model=expensive", "-c", "budget_usd=0.000001")
    assert done.code == 4
    assert "budget" in done.out


def test_a_failed_play_ends_with_1_and_names_the_node(flowgauge: Program) -> None:
    done = flowgauge("run", "examples/classify.yaml", "-c", "model=broken", "-c", "max_retries=0")
    assert done.code == 1
    assert "label" in done.out
    assert "provider_error" in done.out


def test_quiet_prints_the_output_alone(flowgauge: Program) -> None:
    done = flowgauge("run", "examples/classify.yaml", "-q")
    assert done.out.strip() in {"billing", "technical", "general"}


def test_a_recording_answers_when_the_server_is_gone(flowgauge: Program, mock_server: str, tmp_path: Path) -> None:
    config = ["-c", "provider=openai", "-c", "model=gpt-4o-mini", "-c", f"base_url={mock_server}/v1"]
    first = flowgauge("run", "examples/agent.yaml", *config, "--record", "agent.rec", "--json")
    assert first.code == 0
    gone = ["-c", "provider=openai", "-c", "model=gpt-4o-mini", "-c", "base_url=http://127.0.0.1:9/v1"]
    again = flowgauge("run", "examples/agent.yaml", *gone, "--replay", "agent.rec", "--json")
    assert again.code == 0, again.out + again.err
    for field in ("output", "tokens_prompt", "tokens_completion", "cost_usd"):
        assert again.json["play"][field] == first.json["play"][field]
    other = flowgauge("run", "examples/agent.yaml", *gone, "--replay", "agent.rec", "-i", "question=What else?", "--json")
    assert other.code == 1
    assert other.json["play"]["error"]["kind"] == "not_recorded"


def test_a_key_is_nowhere_but_in_the_environment(
    flowgauge: Program, mock_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "correct-horse-battery-staple"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    config = ["-c", "provider=openai", "-c", "model=gpt-4o-mini", "-c", f"base_url={mock_server}/v1"]
    done = flowgauge(
        "run", "examples/classify.yaml", *config, "-i", f"text=my key is {secret}, a billing matter", "--record", "r.rec", "--json"
    )
    assert done.code == 0
    written = [path for path in tmp_path.rglob("*") if path.is_file() and "examples" not in path.parts]
    assert written
    assert not [path for path in written if secret.encode() in path.read_bytes()]
