"""A benchmark of one's own: kept with its runs, held to what it says of itself, and nothing measured is changed later."""

from __future__ import annotations

from typing import Any

import pytest
from tests.app.hosting import benched, hosted, saved

from flowgauge.app.host import Host
from flowgauge.errors import BadParameter, NotFound, UsageError

RUNS = [
    {"status": "success", "duration_ms": 100, "tokens_prompt": 10, "tokens_completion": 4, "cost_usd": 0.01, "play_sid": "pl_1"},
    {"status": "success", "duration_ms": 300, "tokens_prompt": 20, "retries": 2, "cost_usd": 0.03, "input_values": {"topic": "b"}},
    {"status": "timeout", "duration_ms": 900, "error": "too slow", "cost_usd": 0.02},
    {"status": "failed", "duration_ms": 50, "error": "it broke", "cost_usd": 0.02},
]


def test_a_benchmark_with_its_runs_comes_back_whole(store_url: str) -> None:
    async def work(host: Host) -> None:
        flow = await saved(host)
        asked = {"workflow_sid": flow["sid"], "runs": RUNS, "notes": "by hand", "difficulty_rating": 0.8, "tags": {"a": "b"}}
        made = await host.call("benchmark_set", {**asked, "commit": "c0ffee"})
        got = await host.call("benchmark_get", {"sid": made["sid"]})
        assert got == made
        assert (got["workflow_version_sid"], got["num_runs"], got["success_rate"]) == (flow["version"]["sid"], 4, 50.0)
        assert (got["min_duration_ms"], got["avg_duration_ms"], got["max_duration_ms"]) == (100, 200, 300)
        assert (got["total_retries"], got["notes"], got["difficulty_rating"]) == (2, "by hand", 0.8)
        assert (got["estimated_cost_usd"], got["cost_source"]) == (pytest.approx(0.02), "provider")
        assert [(run["status"], run["error"]) for run in got["runs"]] == [
            ("success", ""), ("success", ""), ("timeout", "too slow"), ("failed", "it broke"),
        ]  # fmt: skip
        assert (got["runs"][0]["play_sid"], got["runs"][1]["input_values"]) == ("pl_1", {"topic": "b"})
        latest = await host.call("benchmark_latest_for_version", {"workflow_version_sid": flow["version"]["sid"]})
        assert (latest["sid"], latest["commit"], latest["tags"]) == (made["sid"], "c0ffee", {"a": "b"})
        await host.call("benchmark_delete", {"sid": made["sid"]})
        assert (await host.call("benchmark_list", {}))["items"] == []

    hosted(store_url, work)


def test_a_benchmark_of_figures_alone_can_be_compared(tmp_path: Any) -> None:
    async def work(host: Host) -> Any:
        flow = (await saved(host))["sid"]
        figures = {"workflow_sid": flow, "num_runs": 10, "success_rate": 90, "avg_duration_ms": 100}
        old = await host.call("benchmark_set", {**figures, "created_at": 1_000})
        new = await host.call("benchmark_set", {**figures, "avg_duration_ms": 150, "created_at": 2_000})
        assert (old["runs"], old["created_at"], old["metrics"]["success_rate"]["value"]) == ([], 1_000, pytest.approx(0.9))
        listed = (await host.call("benchmark_list_for_workflow", {"workflow_sid": flow}))["items"]
        assert [item["sid"] for item in listed] == [new["sid"], old["sid"]]
        return await host.call("benchmark_compare", {"candidate": new["sid"], "baseline": old["sid"]})

    compared = hosted(str(tmp_path / "a.db"), work)
    assert compared["attempt"] == "ok"
    assert {metric["metric"] for metric in compared["metrics"]} >= {"duration_ms"}


def test_what_people_say_about_a_benchmark_can_change_and_what_was_measured_cannot(store_url: str) -> None:
    async def work(host: Host) -> None:
        flow = (await saved(host))["sid"]
        measured = (await benched(host, flow))["benchmark_sids"][0]
        figures = (await host.call("benchmark_set", {"subject": "elsewhere", "num_runs": 3, "success_rate": 100}))["sid"]
        for sid in (measured, figures):
            before = await host.call("benchmark_get", {"sid": sid})
            after = await host.call("benchmark_set", {"sid": sid, "notes": "hard", "difficulty_rating": 0.9, "tags": {"x": "y"}})
            assert after == {**before, "notes": "hard", "difficulty_rating": 0.9, "tags": {"x": "y"}}
            with pytest.raises(BadParameter) as caught:
                await host.call("benchmark_set", {"sid": sid, "success_rate": 100.0})
            assert caught.value.field == "success_rate"
        with pytest.raises(NotFound):
            await host.call("benchmark_set", {"sid": "bm_nothing", "notes": "x"})

    hosted(store_url, work)


@pytest.mark.parametrize(
    ("change", "kind", "field"),
    [
        pytest.param({"workflow_sid": ""}, BadParameter, "workflow_sid", id="of nothing"),
        pytest.param({"workflow_sid": "nobody"}, NotFound, "", id="of a workflow that is not stored"),
        pytest.param({"success_rate": 101}, BadParameter, "success_rate", id="a rate beyond 100"),
        pytest.param({"success_rate": 75}, BadParameter, "success_rate", id="a rate that the runs do not have"),
        pytest.param({"num_runs": 5}, BadParameter, "num_runs", id="more runs than there are"),
        pytest.param({"runs": []}, BadParameter, "num_runs", id="neither runs nor their number"),
        pytest.param({"runs": [], "num_runs": 3}, BadParameter, "success_rate", id="neither runs nor their rate"),
        pytest.param({"min_duration_ms": 5, "avg_duration_ms": 4}, BadParameter, "avg_duration_ms", id="a mean below the minimum"),
        pytest.param({"difficulty_rating": 2}, BadParameter, "difficulty_rating", id="a difficulty beyond 1"),
        pytest.param({"runs": [{**RUNS[0], "error": "?"}]}, BadParameter, "runs[0].error", id="a success with an error"),
        pytest.param({"runs": [{**RUNS[0], "status": "odd"}]}, BadParameter, "runs[0].status", id="an unknown status"),
        pytest.param({"runs": [{**RUNS[0], "duration_ms": -1}]}, BadParameter, "runs[0].duration_ms", id="a negative time"),
        pytest.param({"runs": [{**run, "variant": "same"} for run in RUNS[:2]]}, BadParameter, "runs[1].input_values",
                     id="two inputs of a variant"),
    ],
)  # fmt: skip
def test_a_benchmark_that_contradicts_itself_is_refused_with_its_field(
    tmp_path: Any, change: Any, kind: type[UsageError], field: str
) -> None:
    async def work(host: Host) -> str:
        flow = (await saved(host))["sid"]
        with pytest.raises(kind) as caught:
            await host.call("benchmark_set", {"workflow_sid": flow, "runs": RUNS, **change})
        assert (await host.call("benchmark_list", {}))["items"] == []
        assert (await host.call("bench_list", {}))["items"] == []
        return caught.value.field

    assert hosted(str(tmp_path / "a.db"), work) == field
