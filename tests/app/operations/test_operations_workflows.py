"""Workflows, versions and examples by name of the operation: what goes in, what comes out, what is refused and where."""

from __future__ import annotations

from typing import Any

import pytest
from tests.app.hosting import ended_play, hosted, saved

from flowgauge.app.host import Host
from flowgauge.errors import BadFile, BadInputs, BadParameter, Conflict, NotFound, UsageError


def test_a_workflow_is_set_got_listed_found_and_deleted(store_url: str) -> None:
    async def work(host: Host) -> None:
        made = await saved(host)
        assert (made["name"], made["created"], made["version"]["number"]) == ("two-steps", True, 1)
        assert [item["name"] for item in made["inputs"]] == ["topic", "words"]
        again = await saved(host)
        assert (again["created"], again["version"]["sid"]) == (False, made["version"]["sid"])
        for ref in (made["sid"], "two-steps"):
            got = await host.call("workflow_get", {"sid": ref})
            assert (got["sid"], got["definition"]["nodes"][0]["id"]) == (made["sid"], "outline")
        assert [item["sid"] for item in (await host.call("workflow_list", {}))["items"]] == [made["sid"]]
        assert (await host.call("workflow_delete", {"sid": made["sid"]}))["sid"] == made["sid"]
        assert (await host.call("workflow_list", {}))["items"] == []

    hosted(store_url, work)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("STEPS", ["two-steps"], id="by name, case does not matter"),
        pytest.param("writes about", ["two-steps"], id="by description"),
        pytest.param("100%", [], id="a percent sign stands for itself"),
        pytest.param("nothing", [], id="nothing"),
    ],
)
def test_workflows_are_found(store_url: str, text: str, found: list[str]) -> None:
    async def work(host: Host) -> list[str]:
        await saved(host)
        return [item["name"] for item in (await host.call("workflow_find", {"text": text}))["items"]]

    assert hosted(store_url, work) == found


def test_versions_are_listed_newest_first_compared_and_put_in_use(tmp_path: Any) -> None:
    async def work(host: Host) -> None:
        first = await saved(host)
        second = await saved(host, Outline="Sketch")
        versions = (await host.call("workflow_version_list", {"workflow_sid": first["sid"]}))["items"]
        assert [(item["number"], item["current"]) for item in versions] == [(2, True), (1, False)]
        old, new = first["version"]["sid"], second["version"]["sid"]
        diff = await host.call("workflow_version_diff", {"old_version_sid": old, "new_version_sid": new})
        assert [change["id"] for change in diff["diff"]["nodes_changed"]] == ["outline"]
        assert "Sketch" in diff["text"]
        fetched = await host.call("workflow_version_fetch", {"version_sid": old})
        assert (fetched["number"], fetched["name"], fetched["definition"]["nodes"][0]["prompt"][:7]) == (1, "two-steps", "Outline")
        record = await host.call("workflow_version_make_current", {"version_sid": old})
        assert record["current_version_sid"] == old
        assert (await host.call("workflow_get", {"sid": first["sid"], "version_sid": new}))["version"]["number"] == 2

    hosted(str(tmp_path / "a.db"), work)


def test_pages_follow_each_other(tmp_path: Any) -> None:
    async def work(host: Host) -> list[int]:
        first = await saved(host)
        for number in range(4):
            await saved(host, Outline=f"Sketch {number}")
        seen, cursor = [], ""
        while True:
            page = await host.call("workflow_version_list", {"workflow_sid": first["sid"], "cursor": cursor, "limit": 2})
            seen += [item["number"] for item in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                return seen

    assert hosted(str(tmp_path / "a.db"), work) == [5, 4, 3, 2, 1]


def test_an_example_is_set_changed_in_place_listed_and_deleted(store_url: str) -> None:
    async def work(host: Host) -> None:
        flow = (await saved(host))["sid"]
        given = {"workflow_sid": flow, "name": "tides", "input_values": {"topic": "tides", "colour": "blue"}}
        made = await host.call("example_set", given)
        assert made["input_values"] == {"topic": "tides"}
        assert "colour" in made["warnings"][0]
        changed = await host.call("example_set", {**given, "input_values": {"topic": "moons"}, "description": "new"})
        assert (changed["sid"], changed["created_at"]) == (made["sid"], made["created_at"])
        got = await host.call("example_get", {"workflow_sid": flow, "sid": made["sid"]})
        assert (got["input_values"], got["description"]) == ({"topic": "moons"}, "new")
        assert len((await host.call("example_list", {"workflow_sid": flow}))["items"]) == 1
        await host.call("example_delete", {"workflow_sid": flow, "sid": "tides"})
        assert (await host.call("example_list", {"workflow_sid": flow}))["items"] == []

    hosted(store_url, work)


@pytest.mark.parametrize(
    ("operation", "params", "kind", "field"),
    [
        pytest.param("workflow_get", {}, BadParameter, "sid", id="a field that is missing"),
        pytest.param("workflow_get", {"sid": "two-steps", "colour": 1}, BadParameter, "colour", id="a field that there is not"),
        pytest.param("workflow_get", {"sid": 3}, BadParameter, "sid", id="a field of another type"),
        pytest.param("workflow_list", {"limit": 5000}, BadParameter, "limit", id="a page too large"),
        pytest.param("workflow_list", {"cursor": "%%"}, BadParameter, "cursor", id="a cursor that is none"),
        pytest.param("workflow_get", {"sid": "nobody"}, NotFound, "sid", id="a workflow that is not stored"),
        pytest.param("workflow_get", {"sid": "two-steps", "version_sid": "wv_1"}, NotFound, "version_sid", id="an unknown version"),
        pytest.param("workflow_set", {}, BadParameter, "definition", id="nothing to save"),
        pytest.param("workflow_set", {"definition": {"name": "x", "nodes": "no"}}, BadFile, "definition", id="a definition that is none"),
        pytest.param("workflow_set", {"text": "name: [x"}, BadFile, "text", id="a text that is no YAML"),
        pytest.param("workflow_version_diff", {"old_version_sid": "wv_1", "new_version_sid": "wv_2"}, NotFound, "old_version_sid",
                     id="two versions that are not stored"),
        pytest.param("example_set", {"workflow_sid": "two-steps", "name": "x", "input_values": {"words": "many"}}, BadInputs,
                     "input_values", id="an example of another type"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_its_field(
    tmp_path: Any, operation: str, params: Any, kind: type[UsageError], field: str
) -> None:
    async def work(host: Host) -> UsageError:
        await saved(host)
        with pytest.raises(kind) as caught:
            await host.call(operation, params)
        return caught.value

    assert hosted(str(tmp_path / "a.db"), work).field == field


def test_a_workflow_with_plays_is_deleted_only_by_force_and_never_while_one_runs(tmp_path: Any) -> None:
    async def work(host: Host) -> str:
        flow = (await saved(host, latency_ms=60_000))["sid"]
        play = await host.call("play_start", {"workflow_sid": flow, "input_data": {"topic": "x"}})
        with pytest.raises(Conflict, match="is running"):
            await host.call("workflow_delete", {"sid": flow, "force": True})
        await host.call("play_cancel", {"sid": play["sid"]})
        await ended_play(host, play["sid"])
        with pytest.raises(Conflict, match="1 plays"):
            await host.call("workflow_delete", {"sid": flow})
        return str((await host.call("workflow_delete", {"sid": flow, "force": True}))["message"])

    assert "1 plays" in hosted(str(tmp_path / "a.db"), work)


def test_an_unknown_operation_names_the_nearest(tmp_path: Any) -> None:
    async def work(host: Host) -> None:
        with pytest.raises(NotFound, match="workflow_list"):
            await host.call("workflow_lst", {})

    hosted(str(tmp_path / "a.db"), work)
