"""Schedules as they are defined, changed and shown: by operations, as all callers do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.app.scheduling import CASES, Server, serving

from flowgauge.app.schedules import Draft, put_schedule
from flowgauge.errors import Conflict, NotFound, UsageError

REQUEST: dict[str, Any] = {"workflow_sid": "triage", "configs": {"cases": CASES}, "runs": 2}


def on(folder: Path, work: Callable[[Server], Awaitable[None]]) -> None:
    async def main() -> None:
        async with serving(str(folder / "a.db")) as server:
            await server.save()
            await work(server)

    asyncio.run(main())


def test_a_schedule_is_set_listed_got_and_deleted(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        call = server.host.call
        made = await call("schedule_set", {"name": "nightly", "cron": "0 3 * * *", "request": REQUEST, "late_s": 60})
        assert (made["cron"], made["every_s"], made["enabled"], made["request"], made["warnings"]) == ("0 3 * * *", 0, True, REQUEST, [])
        assert made["next_at"] > server.clock.now_ms()
        del made["warnings"]
        assert await call("schedule_get", {"name": "nightly"}) == made == await call("schedule_get", {"name": made["sid"]})
        assert (await call("schedule_list", {}))["items"] == [made]
        assert (await call("schedule_delete", {"name": "nightly"}))["sid"] == made["sid"]
        assert (await call("schedule_list", {}))["items"] == []
        with pytest.raises(NotFound):
            await call("schedule_get", {"name": "nightly"})

    on(tmp_path, work)


def test_what_is_left_out_stays_and_a_new_timing_starts_anew(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        call = server.host.call
        webhook = "https://hooks.example.com/T0/secret"
        first = await call("schedule_set", {"name": "s", "every_s": 60, "request": REQUEST, "webhook": webhook, "baseline": "x"})
        server.pass_by(30)
        same = await call("schedule_set", {"name": "s", "policy": {"tolerance": 0.2}})
        assert same["next_at"] == first["next_at"]
        assert (same["policy"], same["baseline"], same["request"]) == ({"tolerance": 0.2}, "x", REQUEST)
        other = await call("schedule_set", {"name": "s", "cron": "0 0 1 1 *"})
        assert (other["cron"], other["every_s"]) == ("0 0 1 1 *", 0)
        assert other["next_at"] > same["next_at"]
        back = await call("schedule_set", {"name": "s", "every_s": 60, "webhook": "", "baseline": ""})
        assert (back["cron"], back["webhook"], back["baseline"], back["warnings"]) == ("", "", "", [])
        assert (back["sid"], back["created_at"]) == (first["sid"], first["created_at"])

    on(tmp_path, work)


def test_readers_do_not_see_the_path_of_a_webhook(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        call = server.host.call
        asked = {"name": "s", "every_s": 60, "request": REQUEST, "webhook": "https://hooks.example.com/T0/secret"}
        seen = [await call("schedule_set", asked), await call("schedule_get", {"name": "s"}), *(await call("schedule_list", {}))["items"]]
        assert {each["webhook"] for each in seen} == {"https://hooks.example.com/…"}
        await call("schedule_set", {"name": "s", "enabled": True})
        assert server.get("s").webhook == asked["webhook"]

    on(tmp_path, work)


@pytest.mark.parametrize(
    ("asked", "field", "words"),
    [
        pytest.param({"every_s": None}, "every_s", "either an interval or a cron expression.*Give every_s", id="no timing"),
        pytest.param({"cron": "0 3 * * *"}, "cron", "either an interval or a cron expression", id="two timings"),
        pytest.param({"every_s": None, "cron": "61 * * * *"}, "cron", "bad minute.*five fields", id="bad cron"),
        pytest.param({"every_s": -5}, "every_s", "", id="a negative interval"),
        pytest.param({"late_s": -5}, "late_s", "", id="late by less than nothing"),
        pytest.param({"name": "a b"}, "name", "cannot be called 'a b'", id="a name that no bench can begin with"),
        pytest.param({"webhook": "x"}, "webhook", "no address", id="a webhook that is none"),
        pytest.param({"policy": {"tolerence": 1}}, "policy", "no policy of a gate", id="a policy with a slip"),
        pytest.param({"policy": {"limits": ["p95_ms is small"]}}, "policy", "p95_ms is small", id="a limit that is none"),
        pytest.param({"request": None}, "request", "needs a request", id="nothing to measure"),
        pytest.param({"request": {}}, "request.workflow_sid", "Nothing to measure is named", id="no workflow"),
        pytest.param({"request": {**REQUEST, "workflow_sid": "triag"}}, "request.workflow_sid", "'triag'", id="an unknown workflow"),
        pytest.param({"request": REQUEST | {"workflow_version_sid": "wv_9"}}, "request.workflow_version_sid", "wv_9", id="no such version"),
        pytest.param({"request": {**REQUEST, "run": 3}}, "request.run", "no such parameter", id="a field that is not benchmark_start's"),
        pytest.param(
            {"request": {**REQUEST, "bench_id": "x"}}, "request.bench_id", "names its benches itself", id="a name for its benches"
        ),
        pytest.param({"request": {**REQUEST, "configs": {"cases": [{"name": "a"}]}}}, "request", "topic", id="a case that does not fit"),
        pytest.param({"request": {**REQUEST, "configs": {"dataset": "x.csv"}}}, "request.configs.dataset", "is a file", id="a data set"),
        pytest.param({"webhok": "x"}, "webhok", "no such parameter", id="an unknown parameter"),
    ],
)
def test_what_is_wrong_is_found_when_it_is_defined(tmp_path: Path, asked: dict[str, Any], field: str, words: str) -> None:
    async def work(server: Server) -> None:
        given = {"name": "s", "every_s": 60, "request": REQUEST, **asked}
        with pytest.raises(UsageError, match=f"(?s){words}") as caught:
            await server.host.call("schedule_set", {name: value for name, value in given.items() if value is not None})
        assert caught.value.field == field
        assert server.store.list_schedules().items == ()

    on(tmp_path, work)


def test_a_baseline_that_is_not_there_yet_is_a_warning(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        made = await server.host.call("schedule_set", {"name": "s", "every_s": 60, "request": REQUEST, "baseline": "release"})
        assert "Nothing is stored under 'release' yet" in made["warnings"][0]

    on(tmp_path, work)


def test_only_a_new_one_is_made_where_that_is_asked(tmp_path: Path) -> None:
    async def work(server: Server) -> None:
        draft = Draft(name="s", every_s=60, request=REQUEST)
        put_schedule(server.store, draft, now_ms=1, only_new=True)
        with pytest.raises(Conflict, match="There is a schedule s already"):
            put_schedule(server.store, draft, now_ms=1, only_new=True)

    on(tmp_path, work)
