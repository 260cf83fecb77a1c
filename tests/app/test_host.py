"""A host: plays and benches in the background, so many at once; operations as nodes; events for whoever listens."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from tests.app.hosting import CASES, ended_play, hosted, saved

from flowgauge.app.bench import BenchRequest
from flowgauge.app.host import Host
from flowgauge.app.hosted import open_hosted
from flowgauge.app.plays import start_play
from flowgauge.app.workflows import save_workflow
from flowgauge.app.workspace import lease_here
from flowgauge.define.workflow import parse_workflow_text
from flowgauge.errors import Conflict, StoreFailure, UsageError
from flowgauge.model.service import Event
from flowgauge.store.group import Group
from flowgauge.store.journal import GroupWriter

CALLS = """
name: calls
nodes:
  - {id: there, type: operation, operation: health}
  - {id: flows, type: operation, operation: workflow_list, needs: [there]}
output: {status: "{{ nodes.there.status }}", first: "{{ nodes.flows.items[0].name }}"}
"""


def test_plays_beyond_the_limit_wait_and_are_run_in_their_order(tmp_path: Any) -> None:
    async def work(host: Host) -> None:
        flow = (await saved(host, latency_ms=60_000))["sid"]
        plays = [await host.call("play_start", {"workflow_sid": flow, "input_data": {"topic": "x"}}) for _ in range(6)]
        assert [play["status"] for play in plays] == ["running"] * 2 + ["pending"] * 4
        assert (host.running().plays, host.running().plays_queued) == (2, 4)
        for number, play in enumerate(plays):
            while (await host.call("play_get", {"sid": play["sid"]}))["status"] == "pending":
                await asyncio.sleep(0.01)
            assert host.running().plays_queued == max(0, 4 - number)
            await host.call("play_cancel", {"sid": play["sid"]})
            assert (await ended_play(host, play["sid"]))["status"] == "cancelled"
            while host.running().plays_queued > max(0, 3 - number):
                await asyncio.sleep(0.01)

    hosted(str(tmp_path / "a.db"), work, max_plays=2)


def test_a_play_goes_on_where_the_one_who_asked_for_it_has_gone(tmp_path: Any) -> None:
    async def work(host: Host) -> None:
        flow = (await saved(host))["sid"]
        asking = asyncio.create_task(host.call("play_start", {"workflow_sid": flow, "input_data": {"topic": "x"}}))
        while not host.plays.under_way():
            await asyncio.sleep(0)
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking
        while not (found := (await host.call("play_list", {}))["items"]):
            await asyncio.sleep(0.01)
        assert (await ended_play(host, found[0]["sid"]))["status"] == "success"

    hosted(str(tmp_path / "a.db"), work)


def test_a_bench_goes_on_where_the_one_who_asked_for_it_has_gone(tmp_path: Any) -> None:
    async def work(host: Host) -> None:
        flow = (await saved(host))["sid"]
        asking = asyncio.create_task(host.call("benchmark_start", {"workflow_sid": flow, "configs": {"cases": CASES}}))
        await asyncio.sleep(0.02)
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking
        while not (found := (await host.call("bench_list", {}))["items"]) or found[0]["status"] == "running":
            await asyncio.sleep(0.01)
        assert found[0]["status"] == "finished"

    hosted(str(tmp_path / "a.db"), work)


def test_a_start_that_cannot_be_stored_is_an_error_and_no_play(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(host: Host) -> None:
        flow = (await saved(host))["sid"]
        with monkeypatch.context() as broken:
            broken.setattr(GroupWriter, "write", lambda _self, _group: StoreFailure("The disk is full."))
            with pytest.raises(StoreFailure, match="disk is full"):
                await host.call("play_start", {"workflow_sid": flow, "input_data": {"topic": "x"}})
        while host.plays.under_way():
            await asyncio.sleep(0.01)
        assert (await host.call("play_list", {}))["items"] == []

    hosted(str(tmp_path / "a.db"), work)


def test_an_end_that_cannot_be_stored_is_stored_when_the_store_is_back(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(host: Host) -> None:
        flow = (await saved(host, latency_ms=50))["sid"]
        play = await host.call("play_start", {"workflow_sid": flow, "input_data": {"topic": "x"}})
        with monkeypatch.context() as broken:
            broken.setattr(GroupWriter, "write", lambda _self, _group: StoreFailure("The disk is full."))
            while host.plays.under_way():
                await asyncio.sleep(0.01)
            assert (await host.call("play_get", {"sid": play["sid"]}))["status"] == "running"
        done = await ended_play(host, play["sid"])
        assert (done["status"], "disk is full" in done["error"]["message"]) == ("failed", True)

    hosted(str(tmp_path / "a.db"), work)


def test_a_bench_that_fails_on_its_way_is_interrupted_and_says_why(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(host: Host) -> None:
        flow = (await saved(host, latency_ms=50))["sid"]
        bench = await host.call("benchmark_start", {"workflow_sid": flow, "configs": {"cases": CASES}})
        write, broken = GroupWriter.write, asyncio.Event()

        def failing(self: GroupWriter, group: Group) -> StoreFailure | None:
            broken.set()
            return StoreFailure("The disk is full.") if group.trials else write(self, group)

        with monkeypatch.context() as patch:
            patch.setattr(GroupWriter, "write", failing)
            while host.benches.under_way():
                await asyncio.sleep(0.01)
        found = await host.call("bench_get", {"bench_id": bench["bench_id"]})
        assert (found["status"], "disk is full" in found["error"]) == ("interrupted", True)

    hosted(str(tmp_path / "a.db"), work)


def test_nothing_is_begun_by_a_host_that_stops(tmp_path: Any) -> None:
    async def work(host: Host) -> None:
        flow = (await saved(host))["sid"]
        host.stopping = True
        with pytest.raises(Conflict, match="stopping"):
            await host.call("play_start", {"workflow_sid": flow, "input_data": {"topic": "x"}})
        assert (await host.call("health", {}))["status"] == "stopping"

    hosted(str(tmp_path / "a.db"), work)


def test_a_bench_that_is_waited_for_takes_no_slot_is_joined_and_given_again(tmp_path: Any) -> None:
    async def work(host: Host) -> None:
        flow = await saved(host, latency_ms=100)
        busy = await host.call("benchmark_start", {"workflow_sid": flow["sid"], "configs": {"cases": CASES * 1}, "runs": 50})
        request = BenchRequest(workflow=flow["sid"], version=flow["version"]["sid"], configs={"cases": CASES}, bench_id="waited-for")
        one, other = await asyncio.gather(host.run_bench(request), _soon(host, request))
        assert one.record.uid == other.record.uid
        assert host.running().benches == 1, "the one that fills the only slot"
        again = await host.run_bench(request)
        assert [each.sid for each in again.benchmarks] == [each.sid for each in one.benchmarks]
        await host.call("bench_cancel", {"bench_id": busy["bench_id"]})

    hosted(str(tmp_path / "a.db"), work, max_benches=1)


async def _soon(host: Host, request: BenchRequest) -> Any:
    while len(host.benches.under_way()) < 2:
        await asyncio.sleep(0.005)
    return await host.run_bench(request)


def test_a_bench_ends_with_the_play_that_waits_for_it(tmp_path: Any) -> None:
    async def work(host: Host) -> None:
        flow = await saved(host, latency_ms=60_000)
        request = BenchRequest(workflow=flow["sid"], version=flow["version"]["sid"], configs={"cases": CASES}, bench_id="mine", grace_s=0.1)
        waiting = asyncio.create_task(host.run_bench(request))
        while not host.running().benches:
            await asyncio.sleep(0.01)
        waiting.cancel()
        while host.benches.under_way():
            await asyncio.sleep(0.01)
        assert host.store.get_bench("mine").status == "interrupted"

    hosted(str(tmp_path / "a.db"), work)


def test_an_operation_node_calls_the_operations_of_the_host(tmp_path: Any) -> None:
    async def work(host: Host) -> Any:
        flow = await host.call("workflow_set", {"text": CALLS})
        play = await host.call("play_start", {"workflow_sid": flow["sid"]})
        return await ended_play(host, play["sid"])

    assert hosted(str(tmp_path / "a.db"), work)["output"] == {"status": "ok", "first": "calls"}


def test_an_operation_node_may_do_nothing_that_only_an_admin_may(tmp_path: Any) -> None:
    async def work(host: Host) -> Any:
        await saved(host)
        node = {"id": "away", "type": "operation", "operation": "workflow_delete", "with": {"sid": "two-steps"}}
        flow = await host.call("workflow_set", {"definition": {"name": "greedy", "nodes": [node]}})
        done = await ended_play(host, (await host.call("play_start", {"workflow_sid": flow["sid"]}))["sid"])
        assert (await host.call("workflow_get", {"sid": "two-steps"}))["name"] == "two-steps"
        return done

    done = hosted(str(tmp_path / "a.db"), work)
    assert (done["status"], "needs the scope admin" in done["error"]["message"]) == ("failed", True)


def test_an_operation_node_of_a_command_has_the_same_operations(tmp_path: Any) -> None:
    async def main() -> Any:
        async with open_hosted(str(tmp_path / "a.db"), isolation="process") as workspace:
            flow = save_workflow(workspace.store, parse_workflow_text(CALLS).workflow, make_current=True)
            return (await start_play(workspace, flow.version, {})).output

    assert asyncio.run(main()) == {"status": "ok", "first": "calls"}


def test_listeners_hear_everything_after_their_last_id_without_a_gap(tmp_path: Any) -> None:
    async def listen(host: Host, after_id: int | None, count: int) -> list[int]:
        heard: list[int] = []
        async with contextlib.aclosing(host.listen(after_id)) as events:
            async for event in events:
                heard.append(event.id)
                if len(heard) == count:
                    break
        return heard

    async def work(host: Host) -> None:
        for number in range(50):
            host.publish("tick", data=number)
        early = asyncio.create_task(listen(host, 0, 100))
        await asyncio.sleep(0.05)
        for number in range(50):
            host.publish("tick", data=number)
            await asyncio.sleep(0)
        heard = await early
        assert heard == list(range(heard[0], heard[0] + 100))
        assert await listen(host, heard[69], 30) == heard[70:]

    hosted(str(tmp_path / "a.db"), work)


def test_listeners_are_let_go_when_the_host_stops(tmp_path: Any) -> None:
    heard: list[Event] = []

    async def listen(host: Host) -> None:
        heard.extend([event async for event in host.listen()])

    async def work(host: Host) -> asyncio.Task[None]:
        task = asyncio.create_task(listen(host))
        await asyncio.sleep(0.1)
        host.publish("last")
        await host.stop()
        await asyncio.wait_for(task, 10)
        return task

    hosted(str(tmp_path / "a.db"), work)
    assert [event.kind for event in heard] == ["last"]


@pytest.mark.parametrize(("said", "lease_s"), [pytest.param("", 10.0, id="by default"), pytest.param("2.5", 2.5, id="as it is said")])
def test_the_lease_is_a_setting(monkeypatch: pytest.MonkeyPatch, said: str, lease_s: float) -> None:
    monkeypatch.setenv("FLOWGAUGE_LEASE_S", said)
    assert lease_here() == lease_s


@pytest.mark.parametrize("said", ["soon", "0", "-3", "nan", "inf", "0.5"])
def test_a_lease_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("FLOWGAUGE_LEASE_S", said)
    with pytest.raises(UsageError, match="FLOWGAUGE_LEASE_S"):
        lease_here()


def test_a_bench_that_a_play_waits_for_is_left_to_the_next_host_and_joined_there(tmp_path: Any) -> None:
    """As benchmark_flow does: the play is taken up, asks for its bench again by its id, and gets the one that goes on."""
    db = str(tmp_path / "a.db")

    async def first(host: Host) -> str:
        target = await saved(host, latency_ms=300)
        measure = {"workflow_sid": target["sid"], "input_sets": [{"topic": f"{number}"} for number in range(8)], "bench_id": "inside"}
        node = {"id": "measure", "type": "operation", "operation": "benchmark_measure", "with": measure}
        flow = await host.call("workflow_set", {"definition": {"name": "outer", "nodes": [node], "output": "{{ nodes.measure }}"}})
        play = await host.call("play_start", {"workflow_sid": flow["sid"]})
        while not host.benches.under_way() or (await host.call("bench_get", {"bench_id": "inside"}))["done"] < 1:
            await asyncio.sleep(0.02)
        return str(play["sid"])

    async def second(host: Host) -> None:
        done = await ended_play(host, sid)
        assert (done["status"], done["error"], done["output"]["num_runs"]) == ("success", None, 8)
        bench = await host.call("bench_get", {"bench_id": "inside"})
        assert (bench["status"], bench["done"], bench["interruptions"]) == ("finished", 8, 1)
        assert len((await host.call("bench_list", {}))["items"]) == 1

    sid = hosted(db, first, stop_s=0.0)
    hosted(db, second)
