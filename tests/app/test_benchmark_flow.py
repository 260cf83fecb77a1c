"""benchmark_flow, from its template to a stored benchmark, in the ordinary engine on a real store."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.app.flows import ASK, INSTANT, flow_benchmark, flow_play, stored
from tests.app.hosting import ended_bench, ended_play, hosted

from flowgauge.app.host import Host
from flowgauge.errors import BadParameter
from flowgauge.providers.mock.profiles import BUILT_IN, Latency, Profile, Script, Turn
from flowgauge.providers.mock.server import running_mock_server

AT_ONCE = Latency(kind="fixed", median_ms=0.0)


@pytest.fixture
def db(tmp_path: Path) -> str:
    return str(tmp_path / "store.db")


def test_offline_from_the_template_to_the_stored_record(store_url: str) -> None:
    async def work(host: Host) -> tuple[Any, ...]:
        saved = await stored(host)
        play = await flow_play(host, target_workflow_sid=saved["sid"], num_runs=12, input_hints="about roses")
        version = saved["version"]["sid"]
        latest = await host.call("benchmark_latest_for_version", {"workflow_version_sid": version})
        listed = await host.call("benchmark_list_for_workflow", {"workflow_sid": saved["sid"]})
        return saved, play, latest, listed, await host.call("benchmark_get", {"sid": play["output"]["benchmark_sid"]})

    saved, play, latest, listed, benchmark = hosted(store_url, work)
    assert play["status"] == "success"
    nodes = [run["node_id"] for run in play["runs"]]
    assert [name for name in nodes if "[" not in name] == ["fetch_meta", "generate_inputs", "run_and_measure", "report"]
    assert sorted(name for name in nodes if "[" in name) == ["generate_inputs[0]", "generate_inputs[1]"], "ten sets to an answer"
    assert (benchmark["workflow_sid"], benchmark["workflow_version_sid"]) == (saved["sid"], saved["version"]["sid"])
    assert latest["sid"] == benchmark["sid"]
    assert [one["sid"] for one in listed["items"]] == [benchmark["sid"]]
    assert (benchmark["num_runs"], benchmark["success_rate"], len(benchmark["runs"])) == (12, 100.0, 12)
    assert {run["variant"] for run in benchmark["runs"]} == {f"set {number}" for number in range(1, 13)}
    assert all(
        isinstance(run["input_values"]["question"], str) and isinstance(run["input_values"]["words"], int) for run in benchmark["runs"]
    )
    assert len({run["play_sid"] for run in benchmark["runs"]}) == 12
    assert play["tokens_prompt"] > 0, "making up inputs costs tokens, and they are the play's"


def test_the_report_says_what_is_stored(db: str) -> None:
    async def work(host: Host) -> tuple[Any, ...]:
        await stored(host)
        play = await flow_play(host, target_workflow_sid="ask", num_runs=2)
        return play, await host.call("benchmark_get", {"sid": play["output"]["benchmark_sid"]})

    play, benchmark = hosted(db, work)
    report = play["output"]["report"]
    assert benchmark["sid"] in report
    assert f"Workflow:  ask v1 ({benchmark['workflow_sid']}, version {benchmark['workflow_version_sid']})" in report
    assert "Runs: 2\nSuccess rate: 100.0 %\n" in report
    assert f"Cost per run: ${benchmark['estimated_cost_usd']:.6f} (computed)" in report


def test_the_version_that_is_named_is_measured_and_else_the_one_in_use(db: str) -> None:
    async def work(host: Host) -> list[str]:
        first = await stored(host)
        second = await stored(host, gardens="parks")
        named = await flow_benchmark(host, target_workflow_sid="ask", target_version_sid=first["version"]["sid"], num_runs=1)
        in_use = await flow_benchmark(host, target_workflow_sid="ask", num_runs=1)
        assert named["workflow_version_sid"] == first["version"]["sid"]
        return [in_use["workflow_version_sid"], second["version"]["sid"]]

    found, expected = hosted(db, work)
    assert found == expected


def test_a_workflow_without_inputs_is_run_as_often_as_asked(db: str) -> None:
    text = ASK.replace(ASK[ASK.index("inputs:") : ASK.index("config:")], "").replace("{{ inputs.words }}", "20")

    async def work(host: Host) -> tuple[Any, Any]:
        await stored(host, text.replace("{{ inputs.question }}", "Why?"))
        play = await flow_play(host, target_workflow_sid="ask", num_runs=3)
        return play, await host.call("benchmark_get", {"sid": play["output"]["benchmark_sid"]})

    play, benchmark = hosted(db, work)
    assert [run["input_values"] for run in benchmark["runs"]] == [{}, {}, {}]
    assert play["tokens_prompt"] == 0, "nothing had to be made up"


def test_a_workflow_that_fails_is_measured_as_failing_and_the_play_goes_well(db: str) -> None:
    async def work(host: Host) -> Any:
        await stored(host, ASK.replace("latency_ms: 0}}", "latency_ms: 0, faults: [{kind: server_error}]}}, max_retries: 0"))
        return await flow_benchmark(host, target_workflow_sid="ask", num_runs=2)

    benchmark = hosted(db, work)
    assert (benchmark["success_rate"], benchmark["avg_duration_ms"]) == (0.0, None)
    assert {(run["status"], run["failure_category"]) for run in benchmark["runs"]} == {("failed", "provider_error")}
    assert all("500" in run["error"] for run in benchmark["runs"])


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        pytest.param({"target_workflow_sid": "nobody"}, "No workflow 'nobody' is stored", id="a workflow that is not there"),
        pytest.param({"target_workflow_sid": "ask", "target_version_sid": "wv_none"}, "wv_none", id="a version that is not there"),
        pytest.param({"target_workflow_sid": "ask", "num_runs": 0}, "num_runs", id="no runs at all"),
    ],
)
def test_what_cannot_be_measured_is_said_by_the_first_node(db: str, inputs: dict[str, Any], words: str) -> None:
    async def work(host: Host) -> Any:
        await stored(host)
        return await flow_play(host, **inputs)

    play = hosted(db, work)
    assert play["status"] == "failed"
    assert play["error"]["node_id"] == "fetch_meta"
    assert words in play["error"]["message"]
    assert [run["node_id"] for run in play["runs"] if run["status"] != "skipped"] == ["fetch_meta"]


# ── through the real client, against the mock server ─────────────────────────


def on_mock_server(db: str, work: Any, *, answers: tuple[Script, ...] = ()) -> Any:
    """`work` is given a host and the config of a model that the server plays."""
    profiles = {**BUILT_IN, "default": Profile(latency=AT_ONCE, answers=answers)}

    async def main(host: Host) -> Any:
        async with running_mock_server(profiles=profiles) as address:
            return await work(host, lambda model: {"provider": "openai", "model": model, "base_url": f"{address}/v1", "extra": {}})

    return hosted(db, main)


@pytest.mark.parametrize(
    ("model", "per_1k"),
    [
        pytest.param("gpt-4o-mini", (0.00015, 0.0006), id="a cheap model"),
        pytest.param("gpt-4o", (0.0025, 0.01), id="a dear one"),
        pytest.param("somebody-s-own-model", None, id="one without a known price"),
    ],
)
def test_through_the_real_client_the_cost_is_right_and_an_unknown_one_is_zero_with_its_mark(
    db: str, model: str, per_1k: tuple[float, float] | None
) -> None:
    async def work(host: Host, config: Any) -> tuple[Any, Any]:
        called = msgspec.json.encode(config(model)).decode()
        await stored(host, ASK.replace("config: {model: mock/default, extra: {mock: {latency_ms: 0}}}", f"config: {called}"))
        play = await flow_play(host, config=config("gpt-4o-mini"), target_workflow_sid="ask", num_runs=3)
        assert play["status"] == "success", play["error"]
        return play, await host.call("benchmark_get", {"sid": play["output"]["benchmark_sid"]})

    play, benchmark = on_mock_server(db, work)
    assert [run["model"] for run in play["runs"] if run["node_id"] == "generate_inputs[0]"] == ["openai/gpt-4o-mini"]
    assert (benchmark["num_runs"], benchmark["success_rate"]) == (3, 100.0)
    if per_1k is None:
        assert (benchmark["estimated_cost_usd"], benchmark["cost_source"]) == (0.0, "unpriced")
        assert {(run["cost_usd"], run["cost_source"]) for run in benchmark["runs"]} == {(None, "unpriced")}
        assert "Cost per run: $0 (unpriced)" in play["output"]["report"]
        return
    paid = [(run["tokens_prompt"] * per_1k[0] + run["tokens_completion"] * per_1k[1]) / 1000 for run in benchmark["runs"]]
    assert min(paid) > 0
    assert [run["cost_usd"] for run in benchmark["runs"]] == pytest.approx(paid)
    assert benchmark["estimated_cost_usd"] == pytest.approx(sum(paid) / 3)
    assert benchmark["cost_source"] == "computed"


TWO_SETS = {"sets": [{"question": "one", "words": 1}, {"question": "two", "words": 2}]}


@pytest.mark.parametrize(
    ("said", "attempts"),
    [
        pytest.param(["I cannot do that.", TWO_SETS], 2, id="no JSON at first"),
        pytest.param([{"sets": TWO_SETS["sets"][:1]}, TWO_SETS], 2, id="too few at first"),
        pytest.param([{"sets": [{"question": "one", "words": "many"}, TWO_SETS["sets"][1]]}, TWO_SETS], 2, id="a wrong type at first"),
        pytest.param([{"sets": [{"words": 1}, TWO_SETS["sets"][1]]}, TWO_SETS], 2, id="an input left out at first"),
        pytest.param([{"sets": [{"question": "one", "words": "1"}, {"question": "two", "words": 2.0}]}], 1, id="numbers written otherwise"),
        pytest.param([{"sets": [*TWO_SETS["sets"], {"question": "three", "words": 3}]}], 1, id="one too many"),
        pytest.param([{"sets": [{**one, "why": "because"} for one in TWO_SETS["sets"]]}], 1, id="something that nobody declared"),
        pytest.param([TWO_SETS["sets"]], 1, id="the list alone"),
    ],
)
def test_exactly_the_sets_that_were_asked_for_come_out(db: str, said: list[Any], attempts: int) -> None:
    turns = tuple(Turn(text=one if isinstance(one, str) else msgspec.json.encode(one).decode()) for one in said)

    async def work(host: Host, config: Any) -> tuple[Any, Any]:
        await stored(host)
        play = await flow_play(host, config={**config("gpt-4o-mini"), "max_retries": 3}, target_workflow_sid="ask", num_runs=2)
        assert play["status"] == "success", play["error"]
        return play, await host.call("benchmark_get", {"sid": play["output"]["benchmark_sid"]})

    play, benchmark = on_mock_server(db, work, answers=(Script(match="make up test inputs", on="system", turns=turns),))
    made = {run["variant"]: run["input_values"] for run in benchmark["runs"]}
    assert made == {"set 1": TWO_SETS["sets"][0], "set 2": TWO_SETS["sets"][1]}
    assert sum(run["node_id"] == "generate_inputs[0]" for run in play["runs"]) == attempts


def test_a_model_that_never_answers_rightly_fails_the_play_before_anything_is_run(db: str) -> None:
    async def work(host: Host, config: Any) -> tuple[Any, Any]:
        await stored(host)
        play = await flow_play(host, config=config("gpt-4o-mini"), target_workflow_sid="ask", num_runs=2)
        return play, await host.call("benchmark_list", {})

    play, benchmarks = on_mock_server(db, work, answers=(Script(match="make up test inputs", on="system", text="no"),))
    assert (play["status"], play["error"]["kind"], play["error"]["node_id"]) == ("failed", "invalid_output", "generate_inputs[0]")
    assert benchmarks["items"] == []


# ── the operations by themselves ─────────────────────────────────────────────


def test_examples_seed_what_a_model_is_asked_for(db: str) -> None:
    async def work(host: Host) -> Any:
        saved = await stored(host, ASK.replace("type: integer, default: 20", "type: object, default: {most: 20}"))
        values = {"question": "Why are roses red?", "words": {"most": 7, "least": 2}}
        await host.call("example_set", {"workflow_sid": saved["sid"], "name": "roses", "input_values": values})
        return await host.call("benchmark_prepare", {"workflow_sid": saved["sid"], "num_runs": 11})

    prepared = hosted(db, work)
    assert prepared["examples"] == [{"question": "Why are roses red?", "words": {"most": 7, "least": 2}}]
    assert [(batch["first"], batch["last"], batch["count"]) for batch in prepared["batches"]] == [(1, 10, 10), (11, 11, 1)]
    asked = prepared["batches"][0]["schema"]["properties"]["sets"]["items"]["properties"]
    assert asked["question"] == {"type": "string", "description": "What the user wants to know"}
    assert asked["words"]["properties"] == {"most": {"type": "integer"}, "least": {"type": "integer"}}
    assert asked["words"]["required"] == ["most"], "only what every one of them has"


def test_measuring_twice_under_one_id_measures_once(db: str) -> None:
    """Whether it is still under way or has ended: so a play that is taken up after a crash goes on with the bench that it began."""

    async def work(host: Host) -> tuple[Any, ...]:
        saved = await stored(host, **{"latency_ms: 0": "latency_ms: 300"})
        asked = {"workflow_sid": saved["sid"], "input_sets": [{"question": "Why?"}], "bench_id": "mine"}
        first = asyncio.create_task(host.call("benchmark_measure", asked))
        while not (await host.call("bench_list", {}))["items"]:
            await asyncio.sleep(0.01)
        joined = await host.call("benchmark_measure", asked)
        again = await host.call("benchmark_measure", asked)
        return await first, joined, again, await host.call("play_list", {"workflow_sid": saved["sid"]})

    first, joined, again, plays = hosted(db, work)
    assert first["benchmark_sid"] == joined["benchmark_sid"] == again["benchmark_sid"]
    assert len(plays["items"]) == 1


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        pytest.param({"input_sets": [{"question": "a"}, {"question": 1}]}, "input_sets[1]", id="a value of the wrong type"),
        pytest.param({"input_sets": [{}]}, "input_sets[0]", id="a required input is missing"),
        pytest.param({"input_sets": [{"question": "a", "other": 1}]}, "input_sets[0]", id="an input that is not declared"),
        pytest.param({"input_sets": [{"question": "a"}], "num_runs": 2}, "input_sets", id="fewer sets than asked for"),
    ],
)
def test_sets_that_do_not_fit_are_refused_with_their_place(db: str, asked: dict[str, Any], field: str) -> None:
    async def work(host: Host) -> None:
        await stored(host)
        await host.call("benchmark_measure", {"workflow_sid": "ask", **asked})

    with pytest.raises(BadParameter) as caught:
        hosted(db, work)
    assert caught.value.field == field


def test_a_play_that_its_host_let_go_in_the_middle_of_the_bench_is_finished_by_the_next_and_nothing_is_run_twice(store_url: str) -> None:
    async def begin(host: Host) -> tuple[str, str]:
        saved = await stored(host, **{"latency_ms: 0": "latency_ms: 150"})
        flow = await host.call("workflow_from_template", {"name": "benchmark_flow"})
        inputs = {"target_workflow_sid": saved["sid"], "num_runs": 12}
        play = await host.call("play_start", {"workflow_sid": flow["sid"], "input_data": inputs, "config": INSTANT})
        while not any(bench["done"] for bench in (await host.call("bench_list", {}))["items"]):
            await asyncio.sleep(0.01)
        return saved["sid"], play["sid"]

    async def finish(host: Host) -> tuple[Any, Any, Any]:
        play = await ended_play(host, play_sid)
        assert play["status"] == "success", play["error"]
        benchmark = await host.call("benchmark_get", {"sid": play["output"]["benchmark_sid"]})
        return play, benchmark, await host.call("play_list", {"workflow_sid": workflow_sid})

    workflow_sid, play_sid = hosted(store_url, begin, stop_s=0.0)
    play, benchmark, plays = hosted(store_url, finish)
    assert play["resumed"] == 1
    assert (benchmark["num_runs"], benchmark["success_rate"]) == (12, 100.0)
    assert {run["play_sid"] for run in benchmark["runs"]} == {one["sid"] for one in plays["items"]}, "each set was one play"
    assert {one["status"] for one in plays["items"]} == {"success"}


def test_a_bench_inside_a_bench_takes_no_slot_of_it(db: str) -> None:
    """One bench at once and one trial at once: a nested bench that waited for its turn would wait for itself."""

    async def work(host: Host) -> tuple[Any, Any]:
        saved = await stored(host)
        flow = await host.call("workflow_from_template", {"name": "benchmark_flow"})
        cases = [{"name": f"of {count}", "inputs": {"target_workflow_sid": saved["sid"], "num_runs": count}} for count in (1, 2)]
        configs = {"cases": cases, "configs": [{"name": "offline", "workflow_overrides": {"config": INSTANT}}]}
        started = await host.call("benchmark_start", {"workflow_sid": flow["sid"], "configs": configs, "max_concurrency": 1})
        ended = await asyncio.wait_for(ended_bench(host, started["bench_id"]), 60)
        inner = await host.call("benchmark_list_for_workflow", {"workflow_sid": saved["sid"]})
        return await host.call("benchmark_get", {"sid": ended["benchmark_sids"][0]}), inner

    outer, inner = hosted(db, work, max_benches=1, max_plays=1)
    assert (outer["num_runs"], outer["success_rate"]) == (2, 100.0)
    assert sorted(one["num_runs"] for one in inner["items"]) == [1, 2]
