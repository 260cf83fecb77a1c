"""What dead owners left is finished by the next host, once, from where it stood; what cannot be is ended, with the reason."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import msgspec
import pytest
from tests.app.hosting import CASES, TWO_STEPS, ended_bench, ended_play, hosted, saved

from flowgauge.app.bench import BenchRequest, begin, load
from flowgauge.app.host import Host, open_host
from flowgauge.app.recovery import MOST_TIMES
from flowgauge.app.workflows import Saved, save_workflow
from flowgauge.app.workspace import open_workspace
from flowgauge.define.workflow import parse_workflow_text
from flowgauge.errors import StoreFailure
from flowgauge.model.ids import PLAY, new_sid
from flowgauge.model.play import NodeRun, Play
from flowgauge.plan.order import expand
from flowgauge.run.targets.workflow import play_sid
from flowgauge.store import open_store
from flowgauge.store.group import Group
from flowgauge.store.journal import GroupWriter
from flowgauge.store.store import Store

GONE = "ow_gone"
OUTLINE = NodeRun(node_id="outline", status="success", started_at=1, duration_ms=5.0, output={"text": "as it was stored"})


def save(store: Store, latency_ms: int = 1) -> Saved:
    return save_workflow(store, parse_workflow_text(TWO_STEPS.replace("LATENCY", str(latency_ms))).workflow, make_current=True)


def left_play(store: Store, flow: Saved, *runs: NodeRun, **fields: Any) -> Play:
    """A play whose owner is gone."""
    play = Play(
        **{
            "sid": new_sid(PLAY),
            "workflow_sid": flow.record.sid,
            "version_sid": flow.version.sid,
            "status": "running",
            "inputs": {"topic": "tides", "words": 3},
            "started_at": 1,
            "owner_sid": GONE,
            **fields,
        }
    )
    store.journal.play_started(play).wait()
    for run in runs:
        store.journal.node_finished(play.sid, run).wait()
    return play


def test_a_play_goes_on_after_its_last_stored_node(store_url: str) -> None:
    with open_store(store_url) as store:
        play = left_play(store, save(store), OUTLINE)

    async def work(host: Host) -> None:
        done = await ended_play(host, play.sid)
        runs = (await host.call("play_get", {"sid": play.sid, "with_runs": True}))["runs"]
        assert (done["status"], done["resumed"]) == ("success", 1)
        assert [(run["node_id"], run["status"]) for run in runs] == [("outline", "success"), ("draft", "success")]
        assert runs[0]["output"] == {"text": "as it was stored"}
        kinds = [event["kind"] for event in (await host.call("play_events", {"sid": play.sid, "wait_s": 5}))["items"]]
        assert "play_recovered" in kinds

    hosted(store_url, work)


def test_a_play_that_never_began_is_begun(tmp_path: Any) -> None:
    db = str(tmp_path / "a.db")
    with open_store(db) as store:
        play = left_play(store, save(store), status="pending")

    async def work(host: Host) -> None:
        done = await ended_play(host, play.sid)
        assert (done["status"], done["resumed"], done["inputs"]["topic"]) == ("success", 1, "tides")

    hosted(db, work)


def test_a_play_that_somebody_wanted_to_cancel_is_cancelled(tmp_path: Any) -> None:
    db = str(tmp_path / "a.db")
    with open_store(db) as store:
        play = left_play(store, save(store, latency_ms=60_000))
        store.request_cancel(play.sid)

    async def work(host: Host) -> str:
        return str((await ended_play(host, play.sid))["status"])

    assert hosted(db, work) == "cancelled"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param({"resumed": MOST_TIMES}, "taken up 20 times", id="one that may be what ends its owners"),
        pytest.param({"inputs": {"topic": "[redacted]"}}, "held a secret", id="one whose inputs are not stored"),
        pytest.param({"version_sid": "wv_deleted"}, "cannot be taken up", id="one whose version is gone"),
        pytest.param({"pins": {"other": "wv_deleted"}}, "cannot be taken up", id="one that names a workflow which is gone"),
    ],
)
def test_a_play_that_cannot_be_taken_up_has_failed(tmp_path: Any, fields: Any, words: str) -> None:
    db = str(tmp_path / "a.db")
    with open_store(db) as store:
        play = left_play(store, save(store), OUTLINE, **fields)

    async def work(host: Host) -> Any:
        return await ended_play(host, play.sid)

    done = hosted(db, work)
    assert (done["status"], done["error"]["kind"]) == ("failed", "internal")
    assert words in done["error"]["message"]


async def left_bench(db: str, latency_ms: int = 1, **request: Any) -> str:
    """A bench that is begun, and whose owner is gone."""
    async with open_workspace(db, isolation="process") as workspace:
        flow = save(workspace.store, latency_ms)
        asked = BenchRequest(
            **{"workflow": flow.record.sid, "version": flow.version.sid, "configs": {"cases": CASES}, "new": True, **request}
        )
        dead = msgspec.structs.replace(workspace, owner=msgspec.structs.replace(workspace.owner, sid=GONE))
        return begin(dead, asked, load(workspace.store, asked)[0])[0].bench_id


def test_a_bench_goes_on(store_url: str) -> None:
    bench_id = asyncio.run(left_bench(store_url))

    async def work(host: Host) -> None:
        done = await ended_bench(host, bench_id)
        assert (done["status"], done["done"], done["interruptions"], len(done["benchmark_sids"])) == ("finished", 4, 1, 1)
        runs = (await host.call("benchmark_get", {"sid": done["benchmark_sids"][0]}))["runs"]
        assert {run["status"] for run in runs} == {"success"}

    hosted(store_url, work)


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param({"workflow": "", "version": "", "target": "command:echo hello"}, id="of a program: its folder is its command's"),
        pytest.param({"configs": {"cases": [{"name": "a", "inputs": {"topic": "Bearer abcdefghijklmnopqrstuvwx"}}]}}, id="with a secret"),
    ],
)
def test_a_bench_that_cannot_be_taken_up_is_interrupted(tmp_path: Any, request_: Any) -> None:
    db = str(tmp_path / "a.db")
    bench_id = asyncio.run(left_bench(db, **request_))

    async def work(host: Host) -> Any:
        return await ended_bench(host, bench_id)

    done = hosted(db, work)
    assert (done["status"], done["done"]) == ("interrupted", 0)


def test_the_play_of_a_trial_whose_bench_is_over_is_ended_and_run_on_when_the_bench_is_resumed(tmp_path: Any) -> None:
    db = str(tmp_path / "a.db")
    bench_id = asyncio.run(left_bench(db))
    with open_store(db) as store:
        record = store.get_bench(bench_id)
        store.finish_bench(record.uid, "interrupted")
        planned = next(expand(record.definition, record.run_key))
        version = store.get_version(record.definition.target.reference)
        sid = play_sid(record.uid, record.created_at, planned.run_id)
        inputs = {"topic": planned.case.replace("case", "topic"), "words": 20}
        flow = Saved(store.get_workflow(version.workflow_sid), version, created=False)
        left_play(store, flow, OUTLINE, sid=sid, inputs=inputs)

    async def work(host: Host) -> None:
        done = await ended_play(host, sid)
        assert (done["status"], "owner was gone" in done["error"]["message"]) == ("cancelled", True)
        await host.start_bench(BenchRequest(resume=bench_id))
        bench = await ended_bench(host, bench_id)
        assert (bench["status"], bench["done"]) == ("finished", 4)
        again = await host.call("play_get", {"sid": sid, "with_runs": True})
        assert (again["status"], again["error"]) == ("success", None)
        assert [run["node_id"] for run in again["runs"]] == ["outline", "draft"]

    hosted(db, work)


def test_two_hosts_never_run_the_same_play_or_bench(store_url: str) -> None:
    with open_store(store_url) as store:
        flow = save(store, latency_ms=20)
        plays = [left_play(store, flow, OUTLINE) for _ in range(20)]
    benches = [asyncio.run(left_bench(store_url, latency_ms=20)) for _ in range(3)]

    async def main() -> None:
        async with (
            open_host(store_url, lease_s=2.0, isolation="process") as one,
            open_host(store_url, lease_s=2.0, isolation="process") as other,
        ):
            for bench_id in benches:
                done = await ended_bench(one, bench_id)
                assert (done["status"], done["done"], done["interruptions"]) == ("finished", 4, 1)
            for play in plays:
                done = await ended_play(other, play.sid)
                assert (done["status"], done["resumed"]) == ("success", 1)
                runs = (await other.call("play_get", {"sid": play.sid, "with_runs": True}))["runs"]
                assert [(run["node_id"], run["attempt"]) for run in runs] == [("outline", 1), ("draft", 1)]

    asyncio.run(main())


def test_a_host_that_stops_leaves_its_plays_and_benches_to_the_next(store_url: str) -> None:
    async def first(host: Host) -> tuple[list[str], str]:
        flow = (await saved(host, latency_ms=400))["sid"]
        sids = [(await host.call("play_start", {"workflow_sid": flow, "input_data": {"topic": "x"}}))["sid"] for _ in range(3)]
        bench = await host.call("benchmark_start", {"workflow_sid": flow, "configs": {"cases": CASES}})
        while len((await host.call("play_get", {"sid": sids[0], "with_runs": True}))["runs"]) < 1:
            await asyncio.sleep(0.01)
        return sids, bench["bench_id"]

    sids, bench_id = hosted(store_url, first, max_plays=2, stop_s=0.0)
    with open_store(store_url) as store:
        assert [store.get_play(sid).status for sid in sids] == ["running", "running", "pending"]
        assert store.get_bench(bench_id).status == "running"

    async def second(host: Host) -> None:
        for sid in sids:
            done = await ended_play(host, sid)
            runs = (await host.call("play_get", {"sid": sid, "with_runs": True}))["runs"]
            assert done["status"] == "success"
            assert [run["node_id"] for run in runs if run["status"] == "success"] == ["outline", "draft"]
        assert (await ended_bench(host, bench_id))["done"] == 4

    hosted(store_url, second)


def test_a_host_that_stops_lets_plays_end_within_the_grace(tmp_path: Any) -> None:
    async def work(host: Host) -> str:
        flow = (await saved(host, latency_ms=100))["sid"]
        return str((await host.call("play_start", {"workflow_sid": flow, "input_data": {"topic": "x"}}))["sid"])

    db = str(tmp_path / "a.db")
    sid = hosted(db, work, stop_s=30.0)
    with open_store(db) as store:
        assert store.get_play(sid).status == "success"


def test_a_host_lets_go_of_what_another_has_taken_and_of_nothing_else(store_url: str) -> None:
    """As after a long sleep of its machine, in which its lease was over."""

    async def work(host: Host) -> None:
        flow = (await saved(host, latency_ms=60_000))["sid"]
        sids = [(await host.call("play_start", {"workflow_sid": flow, "input_data": {"topic": "x"}}))["sid"] for _ in range(2)]
        taken, kept = [
            (await host.call("benchmark_start", {"workflow_sid": flow, "configs": {"cases": CASES}}))["bench_id"] for _ in range(2)
        ]
        uid = host.store.get_bench(taken).uid
        stolen = msgspec.structs.replace(host.store.get_play(sids[0]), owner_sid="ow_other")
        host.store.journal.play_started(stolen).wait()
        host.store.finish_bench(uid, "interrupted")
        host.store.claim_bench(uid, "ow_other")
        await host.recovery.let_lost_go()
        while host.running().plays > 1 or host.running().benches > 1:
            await asyncio.sleep(0.01)
        assert [*host.plays.under_way(), *host.benches.under_way()] == [sids[1], host.store.get_bench(kept).uid]
        stored, bench = host.store.get_play(sids[0]), host.store.get_bench(taken)
        assert (stored.owner_sid, stored.status, bench.owner_sid, bench.status) == ("ow_other", "running", "ow_other", "running")

    hosted(store_url, work, stop_s=0.0)


def test_a_play_whose_start_was_stored_and_not_confirmed_is_ended(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the connection to the database is lost after its commit: who asked was told that it failed."""

    async def work(host: Host) -> Any:
        flow = (await saved(host))["sid"]
        write = GroupWriter.write
        with monkeypatch.context() as broken:
            broken.setattr(GroupWriter, "write", lambda self, group: write(self, group) or StoreFailure("The connection is lost."))
            with pytest.raises(StoreFailure, match="connection is lost"):
                await host.call("play_start", {"workflow_sid": flow, "input_data": {"topic": "x"}})
        (play,) = (await host.call("play_list", {}))["items"]
        return await ended_play(host, play["sid"])

    done = hosted(str(tmp_path / "a.db"), work)
    assert (done["status"], "could not be begun" in done["error"]["message"]) == ("failed", True)


def test_a_play_that_is_not_on_disk_yet_is_not_taken_for_lost(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(host: Host) -> None:
        flow = (await saved(host))["sid"]
        free, write = threading.Event(), GroupWriter.write

        def slow(self: GroupWriter, group: Group) -> StoreFailure | None:
            free.wait(30)
            return write(self, group)

        monkeypatch.setattr(GroupWriter, "write", slow)
        starting = asyncio.create_task(host.call("play_start", {"workflow_sid": flow, "input_data": {"topic": "x"}}))
        while not host.plays.under_way():
            await asyncio.sleep(0.01)
        await host.recovery.let_lost_go()
        free.set()
        assert (await ended_play(host, (await starting)["sid"]))["status"] == "success"

    hosted(str(tmp_path / "a.db"), work)


def test_a_bench_that_somebody_wanted_to_stop_is_not_taken_up(tmp_path: Any) -> None:
    db = str(tmp_path / "a.db")
    bench_id = asyncio.run(left_bench(db))
    with open_store(db) as store:
        assert store.request_bench_cancel(store.get_bench(bench_id).uid)

    async def work(host: Host) -> Any:
        return await ended_bench(host, bench_id)

    done = hosted(db, work)
    assert (done["status"], done["done"]) == ("interrupted", 0)


def test_a_bench_and_a_play_are_cancelled_by_a_host_that_does_not_run_them_and_both_hosts_tell_it(store_url: str) -> None:
    async def main() -> None:
        async with (
            open_host(store_url, lease_s=2.0, isolation="process") as one,
            open_host(store_url, lease_s=2.0, isolation="process") as other,
        ):
            flow = (await saved(one, latency_ms=60_000))["sid"]
            play = (await one.call("play_start", {"workflow_sid": flow, "input_data": {"topic": "x"}}))["sid"]
            bench = (await one.call("benchmark_start", {"workflow_sid": flow, "configs": {"cases": CASES}}))["bench_id"]
            await other.call("play_cancel", {"sid": play})
            await other.call("bench_cancel", {"bench_id": bench})
            assert (await ended_play(other, play))["status"] == "cancelled"
            assert (await ended_bench(other, bench))["status"] == "interrupted"
            for host in (one, other):
                events = (await host.call("play_events", {"sid": play, "limit": 1000, "wait_s": 5}))["items"]
                while events[-1]["kind"] != "play_finished":
                    events = (await host.call("play_events", {"sid": play, "limit": 1000}))["items"]

    asyncio.run(main())
