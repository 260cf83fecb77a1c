"""Schedules in a host: what is due is measured, judged and told; once, whoever is there."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from tests.app.hook_server import listening
from tests.app.scheduling import CASES, CHECKS, Server, serving

from flowgauge.app.schedule_requests import bench_id_of
from flowgauge.errors import Conflict, NotFound, StoreFailure

HOUR = 3600


def on(db: str, work: Callable[[Server], Awaitable[None]]) -> None:
    async def main() -> None:
        async with serving(db) as server:
            await work(server)

    asyncio.run(main())


async def baseline(server: Server, name: str = "release", **options: Any) -> str:
    """Measure the workflow as it is, and put it under a name; its benchmark's sid."""
    asked = {"workflow_sid": "triage", "configs": {"cases": CASES, "checks": CHECKS}, "runs": 4, **options}
    started = await server.host.call("benchmark_start", asked)
    await server.host.benches.over(started["uid"])
    sid = server.store.list_benchmarks(bench=started["uid"]).items[0].sid
    server.store.set_baseline(name, sid)
    return sid


@pytest.mark.parametrize("timing", [{"every_s": HOUR}, {"cron": "0 * * * *"}], ids=["interval", "cron"])
def test_what_is_due_is_measured_by_the_ordinary_runner_and_what_is_not_is_left_alone(store_url: str, timing: dict[str, Any]) -> None:
    async def work(server: Server) -> None:
        await server.save()
        made = server.add(**timing)
        await server.look()
        assert server.get() == made
        server.pass_by(HOUR)
        await server.look()
        ended = server.get()
        assert (ended.last_status, ended.last_at, ended.running_at) == ("measured", made.next_at, 0)
        assert ended.next_at == made.next_at + HOUR * 1000
        record = server.store.get_bench(ended.last_bench_id)
        assert (record.status, server.store.count_trials(record.uid)) == ("finished", 8)
        assert record.bench_id == bench_id_of(msgspec.structs.replace(made, running_at=made.next_at))
        await server.look()
        assert server.get() == ended
        assert await server.kinds() == ["schedule_started", "schedule_finished"]

    on(store_url, work)


def test_no_regression_passes_and_nobody_is_called(store_url: str) -> None:
    async def work(server: Server) -> None:
        await server.save()
        await baseline(server)
        with listening() as hook:
            server.add(baseline="release", policy={"rates": "aggregate", "only": ["tokens_prompt"]}, webhook=hook.url)
            server.pass_by(HOUR)
            await server.look()
        assert (server.get().last_status, hook.bodies) == ("passed", [])
        assert "No regression against release" in server.get().last_words

    on(store_url, work)


def test_a_regression_is_told_and_the_baseline_stays_where_it_was(store_url: str) -> None:
    async def work(server: Server) -> None:
        await server.save()
        held = await baseline(server)
        await server.save(answer="wrong")
        with listening(503, 200) as hook:
            made = server.add(baseline="release", webhook=hook.url)
            server.pass_by(HOUR)
            await server.look()
        ended = server.get()
        assert ended.last_status == "failed"
        assert server.store.get_baseline("release").benchmark_sid == held
        assert server.store.baseline_history("release").items == ()
        first, news = hook.bodies
        assert first == news
        assert (news["event"], news["schedule"], news["status"]) == ("schedule_finished", "nightly", "failed")
        assert (news["bench_id"], news["baseline"], news["workflow"]) == (ended.last_bench_id, "release", "triage")
        assert any(line["subject"] == "pass rate" and line["status"] == "failed" for line in news["gates"][0]["lines"])
        assert all(line["status"] != "passed" for line in news["gates"][0]["lines"])
        assert hook.headers[0]["Idempotency-Key"] == f"{made.sid}-{ended.last_at}"
        [_, finished] = await server.events()
        assert (finished.bench_id, finished.data["status"]) == (ended.last_bench_id, "failed")

    on(store_url, work)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param({"baseline": "nowhere"}, "Nothing is stored under 'nowhere'", id="no baseline of that name"),
        pytest.param({"policy": {"limits": ["score.x >= 1"]}}, "score.x is not known", id="a limit on what was not measured"),
    ],
)
def test_what_could_not_be_measured_is_no_pass_and_is_told(tmp_path: Any, fields: dict[str, Any], words: str) -> None:
    async def work(server: Server) -> None:
        await server.save()
        with listening() as hook:
            server.add(webhook=hook.url, **fields)
            server.pass_by(HOUR)
            await server.look()
        assert server.get().last_status == "not_measured"
        assert words in server.get().last_words
        assert hook.bodies[0]["status"] == "not_measured"

    on(str(tmp_path / "a.db"), work)


def test_where_no_trial_got_past_the_infrastructure_nothing_was_measured(tmp_path: Any) -> None:
    async def work(server: Server) -> None:
        await server.save()
        configs = {"cases": CASES, "configs": [{"name": "x", "workflow_overrides": {"config": {"model": "broken", "max_retries": 0}}}]}
        server.add(request={"workflow_sid": "triage", "configs": configs})
        server.pass_by(HOUR)
        await server.look()
        assert (server.get().last_status, server.get().last_words[:20]) == ("not_measured", "Nothing was measured")

    on(str(tmp_path / "a.db"), work)


def test_of_several_configurations_each_is_held_against_its_own(tmp_path: Any) -> None:
    async def work(server: Server) -> None:
        await server.save()
        configs = [{"name": name, "workflow_overrides": {"config": {"temperature": degree}}} for name, degree in (("cold", 0), ("warm", 1))]
        both = {"cases": CASES, "checks": CHECKS, "configs": configs}
        policy = {"rates": "aggregate", "only": ["tokens_prompt"]}
        before = await server.host.call("benchmark_start", {"workflow_sid": "triage", "configs": both, "runs": 2, "bench_id": "before"})
        await server.host.benches.over(before["uid"])
        warm = next(each for each in server.store.list_benchmarks(bench=before["uid"]).items if each.config == "warm")
        server.store.set_baseline("warm-one", warm.sid)
        request = {"workflow_sid": "triage", "configs": both, "runs": 2}
        server.add("by-bench", request=request, baseline="before", policy=policy)
        server.add("by-name", request=request, baseline="warm-one", policy=policy)
        only = {**both, "configs": [configs[0], {**configs[0], "name": "colder"}]}
        server.add("by-other", request={**request, "configs": only}, baseline="warm-one", policy=policy)
        server.pass_by(HOUR)
        await server.look()
        assert [server.get(name).last_status for name in ("by-bench", "by-name", "by-other")] == ["passed", "passed", "not_measured"]
        lines = [server.get(name).last_words.split(": ")[1] for name in ("by-bench", "by-name")]
        assert lines == ["4 lines of the gate passed.", "2 lines of the gate passed."]
        assert "warm-one has no configuration of this bench (cold, colder)" in server.get("by-other").last_words

    on(str(tmp_path / "a.db"), work)


def test_a_workflow_that_was_deleted_is_an_error_in_words_each_time(tmp_path: Any) -> None:
    async def work(server: Server) -> None:
        await server.save()
        with listening() as hook:
            server.add(webhook=hook.url)
            server.store.delete_workflow("triage")
            for count in (1, 2):
                server.pass_by(HOUR)
                await server.look()
                ended = server.get()
                assert (ended.last_status, ended.enabled, ended.running_at) == ("error", True, 0)
                assert "No workflow 'triage' is stored" in ended.last_words
                assert len(hook.bodies) == count
        await server.host.call("schedule_set", {"name": "nightly", "enabled": False})
        assert not server.get().enabled

    on(str(tmp_path / "a.db"), work)


def test_a_webhook_that_fails_is_in_the_words_and_changes_no_verdict(tmp_path: Any) -> None:
    async def work(server: Server) -> None:
        await server.save()
        with listening(500) as hook:
            server.add(baseline="nowhere", webhook=hook.url)
            server.pass_by(HOUR)
            await server.look()
        assert (server.get().last_status, len(hook.bodies)) == ("not_measured", 4)
        assert "was not told: it answered 500, 4 times." in server.get().last_words
        assert "secret-path" not in server.get().last_words

    on(str(tmp_path / "a.db"), work)


def test_a_moment_that_comes_while_it_runs_is_skipped_and_said(tmp_path: Any) -> None:
    async def work(server: Server) -> None:
        await server.save(latency_ms=200)
        made = server.add()
        server.pass_by(HOUR)
        await server.host.schedules.look()
        for _ in range(2):
            server.pass_by(HOUR)
            await server.host.schedules.look()
        assert server.get().running_at == made.next_at
        await server.rest()
        ended = server.get()
        assert ended.last_at == made.next_at
        assert "2 moments came while it was running, and passed." in ended.last_words
        assert ended.next_at == made.next_at + 3 * HOUR * 1000
        assert len(server.store.list_benches().items) == 1
        assert await server.kinds() == ["schedule_started", "schedule_skipped", "schedule_skipped", "schedule_finished"]

    on(str(tmp_path / "a.db"), work)


def test_of_moments_that_came_while_no_server_ran_one_is_made_up_for(store_url: str) -> None:
    async def work(server: Server) -> None:
        await server.save()
        made = server.add()
        server.pass_by(5 * HOUR + 600)
        await server.look()
        ended = server.get()
        assert (ended.last_status, ended.last_at) == ("measured", made.next_at + 4 * HOUR * 1000)
        assert "4 moments before it passed unseen" in ended.last_words
        assert ended.next_at == made.next_at + 5 * HOUR * 1000
        assert len(server.store.list_benches().items) == 1

    on(store_url, work)


@pytest.mark.parametrize(("late_by", "status"), [(500, "measured"), (700, "missed")], ids=["not too late", "too late"])
def test_a_moment_that_is_too_late_is_marked_missed(tmp_path: Any, late_by: int, status: str) -> None:
    async def work(server: Server) -> None:
        await server.save()
        made = server.add(late_s=600)
        server.pass_by(HOUR + late_by)
        await server.look()
        ended = server.get()
        assert (ended.last_status, ended.last_at, ended.next_at) == (status, made.next_at, made.next_at + HOUR * 1000)
        assert "no server was there before" in ended.last_words
        assert len(server.store.list_benches().items) == (status == "measured")
        assert (await server.kinds())[-1] == ("schedule_finished" if status == "measured" else "schedule_missed")

    on(str(tmp_path / "a.db"), work)


def test_a_moment_that_is_too_late_while_it_runs_is_skipped(tmp_path: Any) -> None:
    async def work(server: Server) -> None:
        await server.save()
        made = server.add(late_s=60)
        owner = server.store.register_owner()
        server.store.begin_schedule(made.sid, 12_345_000, owner.sid)
        server.pass_by(HOUR + 600)
        await server.look()
        found = server.get()
        assert (found.skipped, found.next_at, found.last_status) == (1, made.next_at + HOUR * 1000, "")
        assert await server.kinds() == ["schedule_skipped"]

    on(str(tmp_path / "a.db"), work)


def test_a_clock_that_goes_back_a_little_runs_no_moment_twice(tmp_path: Any) -> None:
    async def work(server: Server) -> None:
        await server.save()
        made = server.add()
        server.pass_by(HOUR)
        await server.look()
        server.pass_by(-HOUR / 2)
        await server.look()
        server.pass_by(HOUR / 2)
        await server.look()
        assert (server.get().last_at, len(server.store.list_benches().items)) == (made.next_at, 1)
        server.pass_by(HOUR)
        await server.look()
        assert len(server.store.list_benches().items) == 2

    on(str(tmp_path / "a.db"), work)


@pytest.mark.parametrize("timing", [{"every_s": HOUR}, {"cron": "0 * * * *"}], ids=["interval", "cron"])
def test_a_clock_that_was_years_ahead_stops_no_schedule(tmp_path: Any, timing: dict[str, Any]) -> None:
    async def work(server: Server) -> None:
        await server.save()
        server.pass_by(5 * 366 * 24 * HOUR)
        server.add(**timing)
        await server.look()
        server.pass_by(-5 * 366 * 24 * HOUR)
        await server.look()
        assert server.get().next_at <= server.clock.now_ms() + HOUR * 1000
        server.pass_by(HOUR)
        await server.look()
        assert server.get().last_status == "measured"

    on(str(tmp_path / "a.db"), work)


def test_a_disabled_schedule_rests_and_makes_up_for_nothing(tmp_path: Any) -> None:
    async def work(server: Server) -> None:
        await server.save()
        server.add()
        await server.host.call("schedule_set", {"name": "nightly", "enabled": False})
        server.pass_by(10 * HOUR)
        await server.look()
        assert server.get().last_status == ""
        woken = await server.host.call("schedule_set", {"name": "nightly", "enabled": True})
        assert abs(woken["next_at"] - server.clock.now_ms() - HOUR * 1000) < 60_000
        await server.look()
        assert server.get().last_status == ""

    on(str(tmp_path / "a.db"), work)


def test_two_servers_on_one_store_run_a_moment_once(store_url: str) -> None:
    async def main() -> None:
        async with serving(store_url) as one, serving(store_url) as two:
            await one.save()
            for name in ("a", "b", "c"):
                one.add(name)
            for _ in range(3):
                one.pass_by(HOUR)
                two.pass_by(HOUR)
                await asyncio.gather(one.look(), two.look())
            assert len(one.store.list_benches().items) == 9
            await two.events()
            assert sorted(await one.kinds()) == ["schedule_finished"] * 9 + ["schedule_started"] * 9
            assert {one.get(name).last_status for name in ("a", "b", "c")} == {"measured"}

    asyncio.run(main())


def test_what_a_server_that_stops_was_running_is_finished_by_the_next(store_url: str) -> None:
    async def main() -> None:
        async with serving(store_url) as first:
            await first.save(latency_ms=100)
            made = first.add(baseline="nowhere")
            first.pass_by(HOUR)
            await first.host.schedules.look()
            while not first.host.benches.running:
                await asyncio.sleep(0.01)
        async with serving(store_url) as second:
            assert second.get().running_at == made.next_at
            await second.host.recover()
            await second.look()
            ended = second.get()
            assert (ended.last_status, ended.last_at, ended.running_at) == ("not_measured", made.next_at, 0)
            [record] = second.store.list_benches().items
            assert (record.bench_id, record.status, second.store.count_trials(record.uid)) == (ended.last_bench_id, "finished", 8)

    asyncio.run(main())


def test_a_run_whose_bench_was_never_begun_is_begun_by_who_takes_it_over(store_url: str) -> None:
    async def work(server: Server) -> None:
        await server.save()
        made = server.add()
        gone = server.store.register_owner()
        assert server.store.claim_schedule(made, made.next_at, made.next_at + 1, gone.sid)
        server.store.release_owner(gone.sid)
        await server.look()
        assert (server.get().last_status, server.get().last_at) == ("measured", made.next_at)

    on(store_url, work)


def test_a_bench_that_another_server_took_up_is_waited_for(tmp_path: Any) -> None:
    async def main() -> None:
        db = str(tmp_path / "a.db")
        async with serving(db) as one, serving(db) as two:
            await one.save(latency_ms=150)
            made = one.add()
            running = msgspec.structs.replace(made, running_at=made.next_at)
            await two.host.call("benchmark_start", {**made.request, "bench_id": bench_id_of(running)})
            one.pass_by(HOUR)
            await one.look()
            assert one.get().last_status == "measured"
            assert len(one.store.list_benches().items) == 1

    asyncio.run(main())


def test_running_it_now_leaves_its_next_moment_and_is_refused_while_it_runs(tmp_path: Any) -> None:
    async def work(server: Server) -> None:
        await server.save(latency_ms=50)
        made = server.add(webhook="https://hooks.example.com/T0/secret")
        begun = await server.host.call("schedule_run_now", {"name": "nightly"})
        assert begun["running_at"] > 0
        assert begun["webhook"] == "https://hooks.example.com/…"
        with pytest.raises(Conflict, match="The schedule nightly is running since 20"):
            await server.host.call("schedule_run_now", {"name": made.sid})
        await server.rest()
        assert (server.get().last_status, server.get().next_at) == ("measured", made.next_at)
        await server.host.call("schedule_run_now", {"name": "nightly"})
        await server.rest()
        assert len(server.store.list_benches().items) == 2

    on(str(tmp_path / "a.db"), work)


def test_what_a_dead_server_left_is_gone_on_with_by_hand(tmp_path: Any) -> None:
    async def work(server: Server) -> None:
        await server.save()
        made = server.add()
        gone = server.store.register_owner()
        server.store.begin_schedule(made.sid, 12_345_000, gone.sid)
        server.store.release_owner(gone.sid)
        judged = await server.host.schedules.run_to_end("nightly")
        assert (judged.status, judged.bench_id) == ("measured", "nightly-19700101-032545")
        assert server.get().last_at == 12_345_000

    on(str(tmp_path / "a.db"), work)


def test_who_stops_a_run_by_hand_ends_it_and_its_bench(tmp_path: Any) -> None:
    async def work(server: Server) -> None:
        await server.save(latency_ms=2000)
        server.add()
        running = asyncio.create_task(server.host.schedules.run_to_end("nightly"))
        while not server.host.benches.running:
            await asyncio.sleep(0.01)
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        ended = server.get()
        assert (ended.last_status, ended.last_words, ended.running_at) == ("error", "It was stopped by hand.", 0)
        for uid in server.host.benches.under_way():
            await server.host.benches.over(uid)
        assert [record.status for record in server.store.list_benches().items] == ["interrupted"]

    on(str(tmp_path / "a.db"), work)


def test_a_schedule_that_is_deleted_while_it_runs_is_told_to_nobody(tmp_path: Any) -> None:
    async def work(server: Server) -> None:
        await server.save(latency_ms=50)
        server.add()
        server.pass_by(HOUR)
        await server.host.schedules.look()
        await server.host.call("schedule_delete", {"name": "nightly"})
        await server.rest()
        assert await server.kinds() == ["schedule_started"]
        with pytest.raises(NotFound):
            server.get()

    on(str(tmp_path / "a.db"), work)


def test_a_store_that_fails_for_a_while_loses_no_result(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flowgauge.app.schedule_runs.LOOK_S", 0.01)

    async def work(server: Server) -> None:
        await server.save()
        server.add()
        finish, refused = server.store.finish_schedule, iter(range(3))

        def failing(*arguments: Any, **named: Any) -> bool:
            if next(refused, None) is not None:
                raise StoreFailure("The disk is full.")
            return finish(*arguments, **named)

        monkeypatch.setattr(server.store, "finish_schedule", failing)
        server.pass_by(HOUR)
        await server.look()
        assert server.get().last_status == "measured"
        assert next(refused, None) is None

    on(str(tmp_path / "a.db"), work)


def test_one_schedule_that_cannot_be_planned_does_not_keep_the_others(tmp_path: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def work(server: Server) -> None:
        await server.save()
        server.add("good")
        server.add("odd")
        with server.store._database.writing() as connection:
            connection.exec_driver_sql("UPDATE schedules SET cron = 'never', next_at = 1 WHERE name = 'odd'")
        server.pass_by(HOUR)
        await server.look()
        assert server.get("good").last_status == "measured"
        assert "the schedule odd cannot be run: 'never' is no cron expression" in caplog.text

    on(str(tmp_path / "a.db"), work)
