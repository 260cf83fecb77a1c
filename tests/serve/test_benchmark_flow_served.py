"""benchmark_flow through the real HTTP server: from the template to the stored record, offline and with the real client library's path."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from tests.app.declarations import EXAMPLES, check_flow, declarations
from tests.app.flows import ASK, INSTANT, flow_play, stored
from tests.serve.serving import Served

from flowgauge.providers.mock.profiles import BUILT_IN, Latency, Profile
from flowgauge.providers.mock.server import running_mock_server


class OverHttp:
    """`Operations` by JSON-RPC."""

    def __init__(self, server: Served) -> None:
        self._server = server

    async def call(self, name: str, arguments: Mapping[str, Any], /) -> Any:
        return await asyncio.to_thread(lambda: self._server.result(name, **arguments))


@pytest.fixture(scope="module")
def models(server: Served) -> Iterator[str]:
    """The mock provider as an OpenAI server on loopback; its base URL."""
    profiles = {**BUILT_IN, "default": Profile(latency=Latency(kind="fixed", median_ms=0.0))}
    stack = contextlib.AsyncExitStack()
    yield f"{server.within(stack.enter_async_context(running_mock_server(profiles=profiles)))}/v1"
    server.within(stack.aclose())


def openai(models: str, model: str = "gpt-4o-mini") -> dict[str, Any]:
    return {"provider": "openai", "model": model, "base_url": models}


def measured(server: Served, config: dict[str, Any], text: str = ASK) -> tuple[Any, Any, Any]:
    """The target, the play, and the benchmark that it stored."""

    async def main() -> tuple[Any, Any, Any]:
        host = OverHttp(server)
        target = await stored(host, text)
        play = await flow_play(host, config=config, target_workflow_sid=target["sid"], num_runs=3)
        assert play["status"] == "success", play["error"]
        return target, play, await host.call("benchmark_get", {"sid": play["output"]["benchmark_sid"]})

    return asyncio.run(main())


def test_offline_from_the_template_to_the_stored_record(server: Served) -> None:
    target, play, benchmark = measured(server, INSTANT)
    assert (benchmark["workflow_sid"], benchmark["workflow_version_sid"]) == (target["sid"], target["version"]["sid"])
    assert (benchmark["num_runs"], benchmark["success_rate"], len(benchmark["runs"])) == (3, 100.0, 3)
    assert benchmark["sid"] in play["output"]["report"]
    assert server.result("play_get", sid=benchmark["runs"][0]["play_sid"])["version_sid"] == target["version"]["sid"]


@pytest.mark.parametrize(
    ("model", "per_1k"),
    [
        pytest.param("gpt-4o-mini", (0.00015, 0.0006), id="a model with a known price"),
        pytest.param("somebody-s-own-model", None, id="one without"),
    ],
)
def test_through_the_client_library_s_path_costs_are_right_and_an_unknown_one_is_zero_with_its_mark(
    server: Served, models: str, model: str, per_1k: tuple[float, float] | None
) -> None:
    config = msgspec.json.encode(openai(models, model)).decode()
    text = ASK.replace("config: {model: mock/default, extra: {mock: {latency_ms: 0}}}", f"config: {config}")
    assert text != ASK
    _, play, benchmark = measured(server, openai(models), text)
    if per_1k is None:
        assert (benchmark["estimated_cost_usd"], benchmark["cost_source"]) == (0.0, "unpriced")
        assert "Cost per run: $0 (unpriced)" in play["output"]["report"]
        return
    paid = [(run["tokens_prompt"] * per_1k[0] + run["tokens_completion"] * per_1k[1]) / 1000 for run in benchmark["runs"]]
    assert benchmark["estimated_cost_usd"] == pytest.approx(sum(paid) / 3)
    assert benchmark["estimated_cost_usd"] > 0
    assert benchmark["cost_source"] == "computed"


def test_inputs_fit_two_hundred_random_declarations(server: Served, models: str) -> None:
    with asyncio.Runner() as runner:
        host = OverHttp(server)
        fit = given(declarations())(lambda case: runner.run(check_flow(host, openai(models), case)))
        settings(max_examples=EXAMPLES, deadline=None)(fit)()
