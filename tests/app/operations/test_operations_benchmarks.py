"""Benchmarks and benches by name of the operation: measured in the background, read, kept, compared, gated."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.app.hosting import CASES, benched, ended_bench, hosted, saved

from flowgauge.app.host import Host
from flowgauge.errors import BadFile, BadParameter, Conflict, NotFound, UsageError

FIELDS = {
    "sid", "workflow_sid", "workflow_version_sid", "created_at", "num_runs", "success_rate", "avg_duration_ms", "min_duration_ms",
    "max_duration_ms", "total_retries", "avg_tokens_prompt", "avg_tokens_completion", "estimated_cost_usd", "difficulty_rating", "runs",
    "notes",
}  # fmt: skip
BEYOND = {"stats", "fingerprint", "tags", "commit", "cost_source", "config", "bench_id", "kind", "subject", "metrics", "runs_next_cursor"}
RUN_FIELDS = {
    "play_sid", "input_values", "status", "duration_ms", "retries", "tokens_prompt", "tokens_completion", "error", "config", "variant",
    "repetition", "run_id", "cost_usd", "cost_source", "failure_category", "scores",
}  # fmt: skip


def test_a_bench_runs_in_the_background_and_leaves_a_benchmark_with_every_field(store_url: str) -> None:
    async def work(host: Host) -> None:
        flow = await saved(host, latency_ms=20)
        asked = {"workflow_version_sid": flow["version"]["sid"], "configs": {"cases": CASES}, "runs": 2, "tags": {"branch": "main"}}
        bench = await host.call("benchmark_start", asked)
        assert (bench["status"], bench["total"], bench["benchmark_sids"]) == ("running", 8, [])
        bench = await ended_bench(host, bench["bench_id"])
        assert (bench["status"], bench["done"], bench["error"]) == ("finished", 8, "")
        found = await host.call("benchmark_get", {"sid": bench["benchmark_sids"][0]})
        assert set(found) == FIELDS | BEYOND
        assert (found["num_runs"], found["success_rate"], found["tags"]) == (8, 100.0, {"branch": "main"})
        assert (found["workflow_sid"], found["workflow_version_sid"]) == (flow["sid"], flow["version"]["sid"])
        assert 0 < found["min_duration_ms"] <= found["avg_duration_ms"] <= found["max_duration_ms"]
        assert found["stats"]["overall"]["duration_ms"]["p95"] >= found["stats"]["overall"]["duration_ms"]["p50"]
        assert set(found["stats"]["nodes"]) == {"outline", "draft"}
        assert {frozenset(run) for run in found["runs"]} == {frozenset(RUN_FIELDS)}
        assert sorted(run["input_values"]["topic"] for run in found["runs"]) == sorted(f"topic {number}" for number in [0, 1, 2, 3] * 2)
        for run in found["runs"]:
            assert (await host.call("play_get", {"sid": run["play_sid"]}))["status"] == run["status"] == "success"

    hosted(store_url, work)


def test_runs_are_read_page_by_page(tmp_path: Any) -> None:
    async def work(host: Host) -> list[str]:
        flow = (await saved(host))["sid"]
        sid = (await benched(host, flow, runs=3))["benchmark_sids"][0]
        found = await host.call("benchmark_get", {"sid": sid, "runs_limit": 5})
        seen, cursor = found["runs"], found["runs_next_cursor"]
        while cursor:
            page = await host.call("benchmark_runs", {"sid": sid, "cursor": cursor, "limit": 5})
            seen, cursor = [*seen, *page["items"]], page["next_cursor"]
        return [run["run_id"] for run in seen]

    ids = hosted(str(tmp_path / "a.db"), work)
    assert (len(ids), len(set(ids))) == (12, 12)


def test_lists_are_newest_first_and_leave_out_what_is_large(store_url: str) -> None:
    async def work(host: Host) -> None:
        flow = await saved(host)
        version = flow["version"]["sid"]
        none = await host.call("benchmark_latest_for_version", {"workflow_version_sid": version})
        made = [(await benched(host, flow["sid"]))["benchmark_sids"][0] for _ in range(3)]
        other = await saved(host, Outline="Sketch")
        newer = (await benched(host, flow["sid"]))["benchmark_sids"][0]
        of_flow = (await host.call("benchmark_list_for_workflow", {"workflow_sid": flow["sid"]}))["items"]
        of_version = (await host.call("benchmark_list_for_version", {"workflow_version_sid": version}))["items"]
        assert none is None
        assert [item["sid"] for item in of_flow] == [newer, *reversed(made)]
        assert [item["sid"] for item in of_version] == list(reversed(made))
        assert {(item["runs"], item["stats"]) for item in of_version} == {(None, None)}
        asked = {"workflow_version_sid": version, "with_runs": True, "with_stats": True}
        full = (await host.call("benchmark_list_for_version", asked))["items"]
        assert {(len(item["runs"]), item["stats"] is None) for item in full} == {(4, False)}
        latest = await host.call("benchmark_latest_for_version", {"workflow_version_sid": version})
        assert latest["sid"] == made[-1]
        assert (await host.call("benchmark_latest_for_version", {"workflow_version_sid": other["version"]["sid"]}))["sid"] == newer
        every = [item["sid"] for item in (await host.call("benchmark_list", {"limit": 2}))["items"]]
        assert every == [newer, made[-1]]

    hosted(store_url, work)


@pytest.mark.parametrize("name", ["benchmark_list_for_version", "benchmark_latest_for_version", "benchmark_find"])
def test_a_version_that_is_not_known_is_not_one_that_was_never_measured(tmp_path: Any, name: str) -> None:
    async def work(host: Host) -> None:
        version = (await saved(host))["version"]["sid"]
        never = await host.call(name, {"workflow_version_sid": version})
        assert never is None or never["items"] == []
        with pytest.raises(NotFound, match="wv_x"):
            await host.call(name, {"workflow_version_sid": "wv_x"})

    hosted(str(tmp_path / "a.db"), work)


def test_who_gives_no_cases_is_told_what_the_server_takes(tmp_path: Any) -> None:
    async def work(host: Host) -> None:
        flow = (await saved(host))["sid"]
        with pytest.raises(BadFile, match="Give `configs` with `cases` or `state_variants`") as caught:
            await host.call("benchmark_start", {"workflow_sid": flow})
        assert "dataset" not in str(caught.value)

    hosted(str(tmp_path / "a.db"), work)


def test_benchmarks_are_found_by_all_that_is_asked(tmp_path: Any) -> None:
    async def work(host: Host) -> None:
        flow = (await saved(host))["sid"]
        asked = {"configs": {"cases": CASES, "configs": [{"name": "cold"}, {"name": "warm"}]}, "tags": {"branch": "main"}}
        bench = await benched(host, flow, **asked)
        await benched(host, flow, name="other", tags={"branch": "dev"})

        async def found(**params: Any) -> list[str]:
            return [item["config"] for item in (await host.call("benchmark_find", params))["items"]]

        assert sorted(await found(bench_id=bench["bench_id"])) == ["cold", "warm"]
        assert await found(config="warm", tags={"branch": "main"}) == ["warm"]
        assert await found(name="other") == ["default"]
        assert await found(tags={"branch": "none"}) == []
        assert await found(before=1) == []

    hosted(str(tmp_path / "a.db"), work)


@pytest.mark.parametrize(
    ("model", "cost_source", "positive"),
    [
        pytest.param("openai/gpt-4o-mini", "computed", True, id="a known model has its price"),
        pytest.param("nobody/knows-this-one", "unpriced", False, id="an unknown one costs nothing, with its mark"),
    ],
)
def test_the_cost_of_a_run(tmp_path: Any, model: str, cost_source: str, positive: bool) -> None:
    from flowgauge.providers.mock.server import running_mock_server

    async def work(host: Host) -> None:
        async with running_mock_server() as address:
            change: Any = {"provider: mock, model: fast": f"model: {model}, base_url: '{address}/v1', api_key_env: NO_KEY"}
            flow = (await saved(host, **change))["sid"]
            sid = (await benched(host, flow))["benchmark_sids"][0]
        found = await host.call("benchmark_get", {"sid": sid})
        assert (found["success_rate"], found["cost_source"], found["estimated_cost_usd"] > 0) == (100.0, cost_source, positive)
        assert {run["cost_usd"] is None for run in found["runs"]} == {not positive}
        assert isinstance(found["estimated_cost_usd"], float)

    hosted(str(tmp_path / "a.db"), work)


def test_a_run_that_a_check_finds_wrong_has_failed_and_says_why(tmp_path: Any) -> None:
    async def work(host: Host) -> Any:
        flow = (await saved(host))["sid"]
        checks = [{"type": "contains", "path": "output.text", "value": "no such text"}]
        sid = (await benched(host, flow, configs={"cases": CASES, "checks": checks}))["benchmark_sids"][0]
        return await host.call("benchmark_get", {"sid": sid})

    found = hosted(str(tmp_path / "a.db"), work)
    assert found["success_rate"] == 0.0
    assert {(run["status"], run["failure_category"]) for run in found["runs"]} == {("failed", "wrong_answer")}
    assert all("no such text" in run["error"] for run in found["runs"])


def test_a_bench_that_is_stopped_keeps_what_was_measured_and_leaves_no_play_running(store_url: str) -> None:
    async def work(host: Host) -> None:
        flow = (await saved(host, latency_ms=300))["sid"]
        cases = [{"name": f"{number}", "inputs": {"topic": f"{number}"}} for number in range(200)]
        asked = {"workflow_sid": flow, "configs": {"cases": cases}, "max_concurrency": 4}
        bench = await host.call("benchmark_start", asked)
        while (await host.call("bench_get", {"bench_id": bench["bench_id"]}))["done"] < 4:
            await asyncio.sleep(0.02)
        await host.call("bench_cancel", {"bench_id": bench["bench_id"]})
        ended = await ended_bench(host, bench["bench_id"])
        assert (ended["status"], 4 <= ended["done"] < 200) == ("interrupted", True)
        plays = (await host.call("play_list", {"limit": 1000}))["items"]
        while any(play["status"] == "running" for play in plays):
            plays = (await host.call("play_list", {"limit": 1000}))["items"]
        assert {play["status"] for play in plays} <= {"success", "cancelled"}

    hosted(store_url, work)


def test_benches_wait_for_their_turn(tmp_path: Any) -> None:
    async def work(host: Host) -> None:
        flow = (await saved(host, latency_ms=100))["sid"]
        asked = {"workflow_sid": flow, "configs": {"cases": CASES}}
        first, second, third = [(await host.call("benchmark_start", asked))["bench_id"] for _ in range(3)]
        assert len({first, second, third}) == 3
        while not host.running().benches:
            await asyncio.sleep(0.005)
        queued = [(await host.call("bench_get", {"bench_id": bench}))["queued"] for bench in (first, second, third)]
        assert queued == [False, True, True]
        assert (await host.call("health", {}))["running"] == {"plays": 0, "plays_queued": 0, "benches": 1, "benches_queued": 2}
        await host.call("bench_cancel", {"bench_id": third})
        ends = [(await ended_bench(host, bench))["status"] for bench in (first, second, third)]
        assert ends == ["finished", "finished", "interrupted"]
        listed = [item["bench_id"] for item in (await host.call("bench_list", {}))["items"]]
        assert listed == [third, second, first]

    hosted(str(tmp_path / "a.db"), work, max_benches=1)


def test_a_bench_asked_for_again_under_its_own_id_is_not_begun_twice(tmp_path: Any) -> None:
    async def work(host: Host) -> None:
        flow = (await saved(host, latency_ms=50))["sid"]
        asked = {"workflow_sid": flow, "configs": {"cases": CASES}, "bench_id": "mine"}
        first = await host.call("benchmark_start", asked)
        again = await host.call("benchmark_start", asked)
        assert (first["bench_id"], again["uid"]) == ("mine", first["uid"])
        await ended_bench(host, "mine")
        assert (await host.call("benchmark_start", asked))["status"] == "finished"
        with pytest.raises(Conflict):
            await host.call("benchmark_start", {**asked, "configs": {"cases": CASES[:2]}})

    hosted(str(tmp_path / "a.db"), work)


@pytest.mark.parametrize(
    ("params", "kind", "field"),
    [
        pytest.param({}, BadParameter, "workflow_sid", id="nothing to measure"),
        pytest.param({"workflow_version_sid": "wv_1"}, NotFound, "workflow_version_sid", id="a version that is not stored"),
        pytest.param({"workflow_sid": "nobody"}, NotFound, "workflow_sid", id="a workflow that is not stored"),
        pytest.param({"workflow_sid": "two-steps", "workflow_version_sid": "wv_1"}, NotFound, "workflow_version_sid", id="version"),
        pytest.param({"workflow_sid": "two-steps", "configs": {"dataset": "/etc/hosts"}}, BadParameter, "configs.dataset", id="a file"),
        pytest.param({"workflow_sid": "two-steps", "configs": {"colours": 1}}, BadFile, "configs", id="an unknown key"),
        pytest.param({"workflow_sid": "two-steps", "configs": {"cases": [{"name": "x", "inputs": {"words": 1}}]}}, UsageError, "configs",
                     id="a case without a required input"),
        pytest.param({"workflow_sid": "two-steps", "runs": 0}, BadParameter, "runs", id="no run"),
    ],
)  # fmt: skip
def test_a_bench_that_cannot_be_begun_is_refused_with_its_field(tmp_path: Any, params: Any, kind: type[UsageError], field: str) -> None:
    async def work(host: Host) -> str:
        await saved(host)
        with pytest.raises(kind) as caught:
            await host.call("benchmark_start", params)
        assert (await host.call("bench_list", {}))["items"] == []
        return caught.value.field

    assert hosted(str(tmp_path / "a.db"), work) == field


def test_a_workflow_file_of_the_server_is_not_measured(tmp_path: Any) -> None:
    file = tmp_path / "flow.yaml"
    file.write_text("name: x\nnodes: [{id: a, type: ai, prompt: hello, config: {provider: mock, model: fast}}]\n")

    async def work(host: Host) -> None:
        with pytest.raises(NotFound):
            await host.call("benchmark_start", {"workflow_sid": str(file)})
        with pytest.raises(NotFound):
            await host.call("play_start", {"workflow_sid": str(file)})

    hosted(str(tmp_path / "a.db"), work)


def test_baselines_comparisons_gates_and_trends(store_url: str) -> None:
    async def work(host: Host) -> None:
        flow = (await saved(host, latency_ms=5))["sid"]
        old, new = [(await benched(host, flow, runs=3))["benchmark_sids"][0] for _ in range(2)]
        baseline = await host.call("baseline_set", {"name": "release", "benchmark_sid": old, "note": "first"})
        assert (baseline["benchmark_sid"], (await host.call("baseline_get", {"name": "release"}))["note"]) == (old, "first")
        assert [item["name"] for item in (await host.call("baseline_list", {}))["items"]] == ["release"]
        with pytest.raises(Conflict):
            await host.call("benchmark_delete", {"sid": old})
        compared = await host.call("benchmark_compare", {"candidate": new, "baseline": "release"})
        assert (compared["attempt"], compared["baseline_sid"], compared["candidate_sid"]) == ("ok", old, new)
        gate = await host.call("gate_run", {"candidate": new, "baseline": "release", "policy": {"tolerance": 0.9, "only": ["cost_usd"]}})
        assert (gate["status"] in ("passed", "not_measured"), gate["comparison"]["attempt"]) == (True, "ok")
        lost = await host.call("gate_run", {"candidate": new, "baseline": "nothing"})
        assert (lost["status"], lost["comparison"]["attempt"]) == ("not_measured", "no_baseline")
        trend = await host.call("benchmark_trend", {"subject": flow, "metrics": ["duration_ms"]})
        assert [point["benchmark_sid"] for point in trend[0]["points"]] == [old, new]
        await host.call("baseline_set", {"name": "release", "benchmark_sid": new})
        before = (await host.call("baseline_history", {"name": "release"}))["items"]
        assert [item["benchmark_sid"] for item in before] == [old]
        await host.call("baseline_delete", {"name": "release"})
        await host.call("benchmark_delete", {"sid": old})
        with pytest.raises(NotFound):
            await host.call("benchmark_get", {"sid": old})
        with pytest.raises(UsageError) as caught:
            await host.call("gate_run", {"candidate": new, "baseline": new, "policy": {"colour": 1}})
        assert caught.value.field == "policy"

    hosted(store_url, work)
