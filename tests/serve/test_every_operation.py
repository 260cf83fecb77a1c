"""Every operation called as it should be, over HTTP: its answer is what the document promises and what the client makes of it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.app.review_project import serve_reviews
from tests.serve import openrpc
from tests.serve.serving import Served

from flowgauge.app.data_folder import data_folder
from flowgauge.app.operations.table import OPERATIONS

Calls = Generator[tuple[str, dict[str, Any]], Any, None]

ASK = """
name: NAME
description: Answers a question.
inputs: [{name: question, required: true, description: What to answer.}]
config: {provider: mock, model: MODEL}
nodes:
  - {id: answer, type: ai, prompt: "Answer {{ inputs.question }}"}
"""
CASES = {"cases": [{"name": name, "inputs": {"question": name}} for name in ("one", "two")]}


def ask(name: str, model: str = "fast") -> dict[str, Any]:
    return {"text": ASK.replace("NAME", name).replace("MODEL", model)}


def workflows() -> Calls:
    first = yield "workflow_set", ask("told")
    second = yield "workflow_set", ask("told", "default")
    versions = {"old_version_sid": first["version"]["sid"], "new_version_sid": second["version"]["sid"]}
    yield "workflow_list", {}
    yield "workflow_find", {"text": "question"}
    yield "workflow_get", {"sid": "told"}
    yield "workflow_version_list", {"workflow_sid": first["sid"]}
    yield "workflow_version_fetch", {"version_sid": second["version"]["sid"]}
    yield "workflow_version_diff", versions
    yield "workflow_version_make_current", {"version_sid": first["version"]["sid"]}
    example = {"workflow_sid": first["sid"], "name": "sky"}
    yield "example_set", {**example, "input_values": {"question": "Is it blue?"}}
    yield "example_list", {"workflow_sid": first["sid"]}
    yield "example_get", {"workflow_sid": first["sid"], "sid": "sky"}
    yield "example_delete", {"workflow_sid": first["sid"], "sid": "sky"}
    yield "workflow_delete", {"sid": first["sid"]}


def plays() -> Calls:
    yield "workflow_set", ask("played")
    play = yield "play_start", {"workflow_sid": "played", "input_data": {"question": "Is it?"}, "name": "by a test"}
    while (yield "play_get", {"sid": play["sid"], "with_runs": True})["status"] != "success":
        yield "play_events", {"sid": play["sid"], "wait_s": 0.2}
    yield "play_list", {"with_values": True}
    yield "play_cancel", {"sid": play["sid"]}
    yield "play_delete", {"sid": play["sid"]}


def benches() -> Calls:
    saved = yield "workflow_set", ask("measured")
    bench = yield "benchmark_start", {"workflow_sid": "measured", "configs": CASES, "runs": 3, "tags": {"by": "test"}}
    while (now := (yield "bench_get", {"bench_id": bench["bench_id"]}))["status"] == "running":
        yield "play_events", {"bench_id": bench["bench_id"], "wait_s": 0.2}
    yield "bench_list", {}
    yield "bench_cancel", {"bench_id": bench["bench_id"]}
    prepared = yield "benchmark_prepare", {"workflow_sid": "measured", "num_runs": 2}
    sets = [{"question": "a"}, {"question": "b"}]
    other = yield "benchmark_measure", {"workflow_sid": "measured", "input_sets": sets, "bench_id": prepared["bench_id"]}
    yield from benchmarks(saved, now["benchmark_sids"][0], other["benchmark_sid"])


def benchmarks(saved: dict[str, Any], sid: str, other: str) -> Calls:
    yield "benchmark_get", {"sid": sid}
    yield "benchmark_report", {"sid": sid}
    yield "benchmark_runs", {"sid": sid, "limit": 2}
    yield "benchmark_list", {"with_runs": True, "with_stats": True}
    yield "benchmark_find", {"workflow_sid": saved["sid"], "kind": "bench"}
    yield "benchmark_list_for_workflow", {"workflow_sid": saved["sid"]}
    yield "benchmark_list_for_version", {"workflow_version_sid": saved["version"]["sid"]}
    yield "benchmark_latest_for_version", {"workflow_version_sid": saved["version"]["sid"]}
    never = yield "workflow_set", ask("never measured")
    yield "benchmark_latest_for_version", {"workflow_version_sid": never["version"]["sid"]}
    yield "benchmark_trend", {"subject": "measured"}
    yield "baseline_set", {"name": "release", "benchmark_sid": sid, "note": "the first"}
    yield "baseline_set", {"name": "release", "benchmark_sid": other}
    yield "baseline_get", {"name": "release"}
    yield "baseline_list", {}
    yield "baseline_history", {"name": "release"}
    yield "benchmark_compare", {"candidate": sid, "baseline": "release"}
    yield "gate_run", {"candidate": sid, "baseline": "release", "policy": {"tolerance": 0.5}}
    yield "baseline_delete", {"name": "release"}
    made = yield "benchmark_set", {"workflow_sid": saved["sid"], "num_runs": 3, "success_rate": 50.0, "avg_duration_ms": 12.5}
    yield "benchmark_delete", {"sid": made["sid"]}


def schedules() -> Calls:
    yield "workflow_set", ask("scheduled")
    asked = {"every_s": 3600, "request": {"workflow_sid": "scheduled", "configs": CASES}, "baseline": "none", "policy": {"tolerance": 0.5}}
    made = yield "schedule_set", {"name": "hourly", "webhook": "env:NO_HOOK", "late_s": 60, **asked}
    yield "schedule_list", {}
    yield "schedule_run_now", {"name": "hourly"}
    while (yield "schedule_get", {"name": made["sid"]})["running_at"]:
        yield "play_events", {"wait_s": 0.2}
    yield "schedule_delete", {"name": "hourly"}


def snapshots() -> Calls:
    yield "adapter_list", {}
    for version in ("v1.0.0", "v1.1.0"):
        yield "snapshot_capture", {"version": version}
    yield "snapshot_get", {"version": "v1.0.0"}
    yield "snapshot_list", {}
    yield "snapshot_compare", {"old": "v1.0.0", "new": "v1.1.0", "tier": "fast", "tolerance": 0.1}
    yield "upgrade_check", {"old": "v1.0.0", "new": "v1.1.0"}


def reviews() -> Calls:
    yield (
        "review_run",
        {"base": "main", "head": "feature", "baseline": "nobody", "agents": ["p/f"], "old_version": "v0", "new_version": "v1"},
    )
    yield "review_run", {"base": "main", "without": ["lint", "baseline"]}


def agents() -> Calls:
    named = {"prompt_id": "told", "flow_id": "by_hand"}
    for rate in (0.9, 0.5):
        sections = {"recipe_metrics": {"success_rates": {"search": rate}}, "lightning_metrics": {"avg_reward": rate}}
        yield "agent_capture", {**named, "trigger": "creation", "user_id": "ada", "sections": sections}
    yield "agent_capture", {**named, "trigger": "recipe_change"}
    yield "agent_validate", {**named, "sections": {"recipe_metrics": {"success_rates": {"search": 0.1}}}}
    yield "agent_compare", {**named, "old_version": 1, "new_version": 2}
    yield "agent_trend", named
    yield "agent_get", named
    yield "agent_list", {}
    yield "agent_delete", {**named, "version": 1}
    yield "agent_delete", named


def others() -> Calls:
    yield "health", {}
    known = yield "template_list", {}
    for template in known["items"]:
        yield "workflow_from_template", {"name": template["name"]}


STORIES: dict[str, Callable[[], Calls]] = {
    "workflows": workflows, "plays": plays, "benches": benches, "schedules": schedules, "snapshots": snapshots, "agents": agents,
    "reviews": reviews, "others": others,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _repository(tmp_path: Path, server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    serve_reviews(tmp_path / "project", data_folder(server.host.store.place), monkeypatch)


@pytest.mark.parametrize("story", STORIES)
def test_an_answer_is_what_the_document_promises_and_the_client_reads(server: Served, story: str) -> None:
    document = server.result("rpc.discover")
    calls = STORIES[story]()
    method, params = next(calls)
    while True:
        answer = server.rpc(method, params)
        assert "result" in answer, (method, answer)
        result = answer["result"]
        openrpc.result_validator(document, method).validate(result)
        read = msgspec.json.decode(msgspec.json.encode(result), type=OPERATIONS[method].result)
        assert msgspec.json.decode(msgspec.json.encode(read)) == result, method
        try:
            method, params = calls.send(result)
        except StopIteration:
            return


def test_the_stories_leave_no_operation_out() -> None:
    """Read from the stories' own text, so that this test does not depend on the others."""
    told = set(re.findall(r'yield "(\w+)"', inspect.getsource(inspect.getmodule(workflows) or workflows)))
    assert set(OPERATIONS) - told == set()
