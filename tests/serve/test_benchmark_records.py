"""Benchmarks over HTTP, by the first list of what was asked for: records, lists, latest, cost, the way from a run to its play."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from tests.serve.serving import Served

from flowgauge.providers.mock.server import running_mock_server

BENCHMARK_FIELDS = {
    "sid", "workflow_sid", "workflow_version_sid", "created_at", "num_runs", "success_rate", "avg_duration_ms", "min_duration_ms",
    "max_duration_ms", "total_retries", "avg_tokens_prompt", "avg_tokens_completion", "estimated_cost_usd", "difficulty_rating", "runs",
    "notes",
}  # fmt: skip
RUN_FIELDS = {"play_sid", "input_values", "status", "duration_ms", "retries", "tokens_prompt", "tokens_completion", "error"}


def run(question: str, status: str, duration_ms: float, **more: Any) -> dict[str, Any]:
    return {"status": status, "duration_ms": duration_ms, "input_values": {"question": question}, **more}


RUNS = [
    run("a", "success", 100.0, tokens_prompt=10, tokens_completion=4, cost_usd=0.01),
    run("b", "success", 300.0, tokens_prompt=20, tokens_completion=8, cost_usd=0.03),
    run("c", "failed", 50.0, retries=2, error="It broke.", cost_usd=0.02),
    run("d", "timeout", 900.0, error="Too slow.", cost_usd=0.0),
]


def ask(name: str, model: str, base_url: str = "") -> str:
    place = f", base_url: '{base_url}'" if base_url else ""
    return f"""
name: {name}
inputs: [{{name: question, required: true}}]
config: {{model: '{model}'{place}}}
nodes:
  - {{id: answer, type: ai, prompt: "Answer {{{{ inputs.question }}}}"}}
"""


@pytest.fixture(scope="module")
def workflow(server: Served) -> dict[str, Any]:
    saved: dict[str, Any] = server.result("workflow_set", text=ask("ask", "mock/fast"))
    return saved


@pytest.fixture(scope="module")
def model_server(server: Served) -> Iterator[str]:
    """The mock as OpenAI and Anthropic, asked over HTTP by the real wire."""
    stack = contextlib.AsyncExitStack()
    yield server.within(stack.enter_async_context(running_mock_server()))
    server.within(stack.aclose())


def measured(server: Served, workflow_sid: str, **asked: Any) -> list[str]:
    """The sids of the benchmarks of a bench that has run to its end."""
    bench = server.result("benchmark_start", workflow_sid=workflow_sid, **asked)
    last_id = 0
    while (now := server.result("bench_get", bench_id=bench["bench_id"]))["status"] == "running":
        last_id = server.result("play_events", bench_id=bench["bench_id"], after=last_id, wait_s=5)["last_id"]
    assert now["status"] == "finished", now
    sids: list[str] = now["benchmark_sids"]
    return sids


def cases(*questions: str) -> dict[str, Any]:
    return {"cases": [{"name": question, "inputs": {"question": question}} for question in questions]}


def test_a_benchmark_is_made_read_changed_found_and_deleted(server: Served, workflow: dict[str, Any]) -> None:
    made = server.result("benchmark_set", workflow_sid=workflow["sid"], runs=RUNS, notes="by hand", tags={"from": "elsewhere"})
    assert set(made) >= BENCHMARK_FIELDS
    assert [set(run) >= RUN_FIELDS for run in made["runs"]] == [True] * 4
    assert (made["num_runs"], made["success_rate"], made["total_retries"], made["difficulty_rating"]) == (4, 50.0, 2, 0.5)
    assert (made["avg_duration_ms"], made["min_duration_ms"], made["max_duration_ms"]) == (200.0, 100.0, 300.0)
    assert (made["workflow_sid"], made["workflow_version_sid"]) == (workflow["sid"], workflow["version"]["sid"])
    read = server.result("benchmark_get", sid=made["sid"])
    assert {name: read[name] for name in BENCHMARK_FIELDS} == {name: made[name] for name in BENCHMARK_FIELDS}
    assert [run["error"] for run in read["runs"]] == ["", "", "It broke.", "Too slow."]
    changed = server.result("benchmark_set", sid=made["sid"], notes="looked at", difficulty_rating=0.9)
    assert (changed["sid"], changed["notes"], changed["difficulty_rating"], changed["num_runs"]) == (made["sid"], "looked at", 0.9, 4)
    found = server.result("benchmark_find", workflow_sid=workflow["sid"], tags={"from": "elsewhere"})["items"]
    assert [each["sid"] for each in found] == [made["sid"]]
    assert server.result("benchmark_delete", sid=made["sid"])["sid"] == made["sid"]
    assert server.rpc("benchmark_get", {"sid": made["sid"]})["error"]["code"] == -32004
    assert server.result("benchmark_find", tags={"from": "elsewhere"})["items"] == []


def test_what_was_measured_cannot_be_rewritten(server: Served, workflow: dict[str, Any]) -> None:
    made = server.result("benchmark_set", workflow_sid=workflow["sid"], runs=RUNS)
    error = server.rpc("benchmark_set", {"sid": made["sid"], "success_rate": 100.0})["error"]
    assert (error["code"], error["data"]["field"]) == (-32602, "success_rate")


def test_lists_are_newest_first_page_by_page(server: Served) -> None:
    listed = server.result("workflow_set", text=ask("listed", "mock/fast"))
    version = listed["version"]["sid"]
    moments = [5_000, 1_000, 4_000, 2_000, 3_000]
    made = {
        moment: server.result("benchmark_set", workflow_sid=listed["sid"], created_at=moment, num_runs=1, success_rate=100.0)["sid"]
        for moment in moments
    }
    newest_first = [made[moment] for moment in sorted(moments, reverse=True)]
    for method, params in (
        ("benchmark_list_for_version", {"workflow_version_sid": version}),
        ("benchmark_list_for_workflow", {"workflow_sid": listed["sid"]}),
        ("benchmark_find", {"workflow_sid": listed["sid"]}),
    ):
        pages = [server.result(method, **params, limit=2)]
        while pages[-1]["next_cursor"]:
            pages.append(server.result(method, **params, limit=2, cursor=pages[-1]["next_cursor"]))
        assert [each["sid"] for page in pages for each in page["items"]] == newest_first, method
    assert server.result("benchmark_latest_for_version", workflow_version_sid=version)["sid"] == newest_first[0]


def test_a_list_of_one_version_holds_nothing_of_another(server: Served) -> None:
    first = server.result("workflow_set", text=ask("two-versions", "mock/fast"))
    second = server.result("workflow_set", text=ask("two-versions", "mock/slow"))
    figures = {"workflow_sid": first["sid"], "num_runs": 1, "success_rate": 100.0}
    old = server.result("benchmark_set", **figures, workflow_version_sid=first["version"]["sid"])["sid"]
    new = server.result("benchmark_set", **figures)["sid"]
    of_version = [
        [each["sid"] for each in server.result("benchmark_list_for_version", workflow_version_sid=saved["version"]["sid"])["items"]]
        for saved in (first, second)
    ]
    assert of_version == [[old], [new]]
    assert len(server.result("benchmark_list_for_workflow", workflow_sid=first["sid"])["items"]) == 2


def test_the_latest_of_a_version_that_was_never_measured_is_null(server: Served) -> None:
    fresh = server.result("workflow_set", text=ask("never-measured", "mock/fast"))
    answer = server.rpc("benchmark_latest_for_version", {"workflow_version_sid": fresh["version"]["sid"]})
    assert answer == {"jsonrpc": "2.0", "id": 1, "result": None}
    assert server.result("benchmark_list_for_version", workflow_version_sid=fresh["version"]["sid"]) == {"items": [], "next_cursor": None}


def test_a_bench_of_a_workflow_is_stored_and_every_run_leads_to_its_play(server: Served, workflow: dict[str, Any]) -> None:
    (sid,) = measured(server, workflow["sid"], configs=cases("one", "two"), runs=3)
    benchmark = server.result("benchmark_get", sid=sid)
    assert (benchmark["workflow_sid"], benchmark["workflow_version_sid"]) == (workflow["sid"], workflow["version"]["sid"])
    assert (benchmark["num_runs"], benchmark["success_rate"]) == (6, 100.0)
    for run in benchmark["runs"]:
        play = server.result("play_get", sid=run["play_sid"])
        assert (play["status"], play["inputs"]) == ("success", run["input_values"])
        assert play["tokens_prompt"] == run["tokens_prompt"]


KNOWN = [
    pytest.param("openai/gpt-4o-mini", 0.15, 0.60, "/v1"),
    pytest.param("openai/gpt-4o", 2.50, 10.00, "/v1"),
    pytest.param("anthropic/claude-sonnet-4.6", 3.00, 15.00, ""),
]


@pytest.mark.parametrize(("model", "prompt_per_1m", "completion_per_1m", "path"), KNOWN)
def test_the_cost_of_a_known_model_is_its_tokens_at_its_price(
    server: Served, model_server: str, model: str, prompt_per_1m: float, completion_per_1m: float, path: str
) -> None:
    saved = server.result("workflow_set", text=ask(model.replace("/", "-").replace(".", "-"), model, f"{model_server}{path}"))
    (sid,) = measured(server, saved["sid"], configs=cases("how much?"), runs=2)
    benchmark = server.result("benchmark_get", sid=sid)
    assert benchmark["success_rate"] == 100.0, benchmark["runs"]
    expected = (benchmark["avg_tokens_prompt"] * prompt_per_1m + benchmark["avg_tokens_completion"] * completion_per_1m) / 1e6
    assert expected > 0
    assert benchmark["estimated_cost_usd"] == pytest.approx(expected)
    assert benchmark["cost_source"] != "unpriced"


def test_the_cost_of_an_unknown_model_is_nothing_with_a_mark(server: Served, model_server: str) -> None:
    saved = server.result("workflow_set", text=ask("unpriced", "openai/gpt-99-of-nobody", f"{model_server}/v1"))
    (sid,) = measured(server, saved["sid"], configs=cases("how much?"), runs=2)
    benchmark = server.result("benchmark_get", sid=sid)
    assert (benchmark["success_rate"], benchmark["estimated_cost_usd"], benchmark["cost_source"]) == (100.0, 0.0, "unpriced")
    assert [run["cost_usd"] for run in benchmark["runs"]] == [None, None]
    assert benchmark["avg_tokens_prompt"] > 0
