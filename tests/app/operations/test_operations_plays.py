"""Plays by name of the operation: started at once, followed, cancelled, deleted."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.app.hosting import ended_play, hosted, saved

from flowgauge.app.host import Host
from flowgauge.errors import BadFile, BadInputs, BadParameter, Conflict, NotFound, UsageError


def test_a_play_is_answered_while_it_runs_and_read_when_it_has_ended(store_url: str) -> None:
    async def work(host: Host) -> None:
        flow = await saved(host, latency_ms=50)
        asked = {"workflow_sid": flow["sid"], "input_data": {"topic": "tides"}, "name": "first"}
        play = await host.call("play_start", asked)
        assert (play["status"], play["name"], play["version_sid"], play["runs"]) == ("running", "first", flow["version"]["sid"], None)
        assert play["inputs"] == {"topic": "tides", "words": 20}
        done = await ended_play(host, play["sid"])
        assert (done["status"], done["tokens_prompt"] > 0, list(done["output"])) == ("success", True, ["text"])
        whole = await host.call("play_get", {"sid": play["sid"], "with_runs": True})
        assert [run["node_id"] for run in whole["runs"]] == ["outline", "draft"]
        listed = (await host.call("play_list", {"workflow_sid": flow["sid"], "status": "success"}))["items"]
        assert [(item["sid"], item["output"]) for item in listed] == [(play["sid"], None)]
        await host.call("play_delete", {"sid": play["sid"]})
        assert (await host.call("play_list", {}))["items"] == []

    hosted(store_url, work)


@pytest.mark.parametrize(
    ("asked", "inputs"),
    [
        pytest.param({"input_data": json.dumps({"topic": "as text"})}, {"topic": "as text", "words": 20}, id="inputs as JSON text"),
        pytest.param({"example_sid": "tides"}, {"topic": "tides", "words": 5}, id="inputs of an example"),
        pytest.param({"example_sid": "tides", "input_data": {"words": 7}}, {"topic": "tides", "words": 7}, id="laid over an example"),
    ],
)
def test_inputs_come_from_where_they_are_said_to(tmp_path: Any, asked: Any, inputs: Any) -> None:
    async def work(host: Host) -> Any:
        flow = (await saved(host))["sid"]
        await host.call("example_set", {"workflow_sid": flow, "name": "tides", "input_values": {"topic": "tides", "words": 5}})
        return (await host.call("play_start", {"workflow_sid": flow, **asked}))["inputs"]

    assert hosted(str(tmp_path / "a.db"), work) == inputs


def test_a_version_that_is_not_in_use_is_played_where_it_is_asked_for(tmp_path: Any) -> None:
    async def work(host: Host) -> bool:
        old = (await saved(host))["version"]["sid"]
        flow = await saved(host, Outline="Sketch")
        play = await host.call("play_start", {"workflow_sid": flow["sid"], "version_sid": old, "input_data": {"topic": "x"}})
        return bool(play["version_sid"] == old)

    assert hosted(str(tmp_path / "a.db"), work)


@pytest.mark.parametrize(
    ("params", "kind", "field"),
    [
        pytest.param({"workflow_sid": "nobody"}, NotFound, "workflow_sid", id="a workflow that is not stored"),
        pytest.param({"workflow_sid": "two-steps"}, BadInputs, "input_data", id="a required input is missing"),
        pytest.param({"workflow_sid": "two-steps", "input_data": "[1]"}, BadParameter, "input_data", id="a text that is no object"),
        pytest.param({"workflow_sid": "two-steps", "input_data": "{"}, BadParameter, "input_data", id="a text that is no JSON"),
        pytest.param({"workflow_sid": "two-steps", "example_sid": "x"}, NotFound, "example_sid", id="an example that is not stored"),
        pytest.param({"workflow_sid": "two-steps", "version_sid": "wv_other"}, NotFound, "version_sid", id="an unknown version"),
        pytest.param({"workflow_sid": "two-steps", "config": {"temperature": 9}}, BadFile, "config", id="a config that does not fit"),
    ],
)
def test_a_play_that_cannot_be_started_is_not_stored(tmp_path: Any, params: Any, kind: type[UsageError], field: str) -> None:
    async def work(host: Host) -> str:
        await saved(host)
        with pytest.raises(kind) as caught:
            await host.call("play_start", params)
        assert (await host.call("play_list", {}))["items"] == []
        return caught.value.field

    assert hosted(str(tmp_path / "a.db"), work) == field


def test_a_version_of_another_workflow_is_refused(tmp_path: Any) -> None:
    async def work(host: Host) -> str:
        await saved(host)
        change: Any = {"name: two-steps": "name: other"}
        other = await saved(host, **change)
        with pytest.raises(BadParameter) as caught:
            await host.call("play_start", {"workflow_sid": "two-steps", "version_sid": other["version"]["sid"]})
        return caught.value.field

    assert hosted(str(tmp_path / "a.db"), work) == "version_sid"


@pytest.mark.parametrize("running", [pytest.param(True, id="while it runs"), pytest.param(False, id="while it waits")])
def test_a_play_is_cancelled(store_url: str, running: bool) -> None:
    async def work(host: Host) -> None:
        flow = (await saved(host, latency_ms=60_000))["sid"]
        sids = [(await host.call("play_start", {"workflow_sid": flow, "input_data": {"topic": "x"}}))["sid"] for _ in range(2)]
        first, second = [(await host.call("play_get", {"sid": sid}))["status"] for sid in sids]
        assert (first, second) == ("running", "pending")
        sid = sids[0] if running else sids[1]
        with pytest.raises(Conflict):
            await host.call("play_delete", {"sid": sid})
        await host.call("play_cancel", {"sid": sid})
        done = await ended_play(host, sid)
        assert (done["status"], done["error"]["kind"]) == ("cancelled", "cancelled")
        assert (await host.call("play_cancel", {"sid": sid}))["status"] == "cancelled"
        await host.call("play_cancel", {"sid": sids[not running]})

    hosted(store_url, work, max_plays=1)


def test_events_are_read_after_the_last_that_was_seen(tmp_path: Any) -> None:
    async def work(host: Host) -> None:
        flow = (await saved(host))["sid"]
        sids = [(await host.call("play_start", {"workflow_sid": flow, "input_data": {"topic": "x"}}))["sid"] for _ in range(2)]
        for sid in sids:
            await ended_play(host, sid)
        seen: list[Any] = []
        last = 0
        while not seen or seen[-1]["kind"] != "play_finished":
            page = await host.call("play_events", {"sid": sids[0], "after": last, "limit": 2, "wait_s": 5})
            seen, last = [*seen, *page["items"]], page["last_id"]
        kinds = [event["kind"] for event in seen]
        assert kinds == ["play_started", "node_started", "node_finished", "node_started", "node_finished", "play_finished"]
        assert {event["play_sid"] for event in seen} == {sids[0]}
        assert [event["id"] for event in seen] == sorted({event["id"] for event in seen})
        assert seen[-1]["data"]["status"] == "success"
        assert (await host.call("play_events", {"sid": sids[0], "after": last}))["items"] == []

    hosted(str(tmp_path / "a.db"), work)


def test_whoever_waits_for_an_event_is_told_when_it_comes(tmp_path: Any) -> None:
    async def work(host: Host) -> str:
        waiting = asyncio.create_task(host.call("play_events", {"after": 0, "wait_s": 30}))
        await asyncio.sleep(0.05)
        host.publish("schedule_finished", data={"name": "nightly"})
        return str((await waiting)["items"][0]["kind"])

    assert hosted(str(tmp_path / "a.db"), work) == "schedule_finished"
