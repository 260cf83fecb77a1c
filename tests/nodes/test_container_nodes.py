"""map, branch, workflow, operation."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from tests.stage import Played, make, node, on_stage, run

from flowgauge.errors import NotFound
from flowgauge.model.workflow import Json
from flowgauge.providers.mock.profiles import Script


async def plus_one(x: int) -> int:
    return x + 1


async def picky(x: int) -> int:
    if x % 2:
        raise ValueError(f"{x} is odd")
    return x


class Crowd:
    now = most = 0
    started: list[int] = []

    @classmethod
    async def enter(cls, x: int) -> int:
        cls.started.append(x)
        cls.now += 1
        cls.most = max(cls.most, cls.now)
        for _ in range(5):
            await asyncio.sleep(0)
        cls.now -= 1
        return x


def each(function: str, **more: Any) -> dict[str, Any]:
    return node(function=f"{__name__}:{function}", **{"with": {"x": "{{ item }}"}}, **more)


def mapped(body: dict[str, Any], over: Any, **fields: Any) -> dict[str, Any]:
    return {"inputs": [{"name": "list", "type": "array"}], "nodes": [node("map", id="m", over=over, each=body, **fields)]}


def test_map_keeps_the_order_and_stores_every_item() -> None:
    played = run(mapped(each("plus_one"), "{{ inputs.list }}"), {"list": [3, 1, 2]})
    assert played.output["m"] == {"items": [{"value": 4}, {"value": 2}, {"value": 3}], "count": 3, "failed": 0}
    assert played.stage.status() == {"m[0]": "success", "m[1]": "success", "m[2]": "success", "m": "success"}


def test_map_over_nothing() -> None:
    assert run(mapped(each("plus_one"), [])).output["m"] == {"items": [], "count": 0, "failed": 0}


@pytest.mark.parametrize("bound", [1, 3, 50])
def test_map_runs_no_more_at_once_than_it_may(bound: int) -> None:
    Crowd.most = 0
    played = run(mapped(each("Crowd.enter"), list(range(20)), concurrency=bound))
    assert played.output["m"]["count"] == 20
    assert Crowd.most == min(bound, 20)


def test_map_over_what_is_no_list() -> None:
    error = run(mapped(each("plus_one"), "{{ inputs }}"), {"list": []}).error
    assert (error.kind, error.message) == ("template", "`over` must be a list and is an object.")


def test_failed_item_fails_the_map_and_no_further_one_starts() -> None:
    Crowd.started = []
    body = {**each("Crowd.enter"), "with": {"x": "{{ item.n }}"}}
    played = run(mapped(body, [{"n": 0}, {}, {"n": 2}, {"n": 3}], concurrency=1))
    assert (played.error.kind, played.error.node_id) == ("template", "m[1]")
    assert Crowd.started == [0]


def test_failed_items_may_be_kept() -> None:
    played = run(mapped(each("picky"), [0, 1, 2, 3], on_item_failure="keep"))
    assert played.output["m"] == {"items": [{"value": 0}, None, {"value": 2}, None], "count": 4, "failed": 2}


def test_budget_that_is_used_up_is_not_kept_as_a_failed_item() -> None:
    body = node("ai", prompt="{{ item }}", config={"model": "mock/expensive"})
    played = run({**mapped(body, ["x" * 4000] * 3, on_item_failure="keep"), "config": {"budget_usd": 0.02}})
    assert played.play.status == "budget_exceeded"


def test_item_may_be_skipped_by_a_condition() -> None:
    played = run(mapped(each("plus_one", when="index != 1"), [5, 6, 7]))
    assert played.output["m"]["items"] == [{"value": 6}, None, {"value": 8}]
    assert played.stage.status()["m[1]"] == "skipped"


def test_map_in_a_map() -> None:
    inner = node("map", over="{{ item }}", each=each("plus_one"))
    played = run(mapped(inner, [[1], [2, 3]]))
    assert [item["items"] for item in played.output["m"]["items"]] == [[{"value": 2}], [{"value": 3}, {"value": 4}]]
    assert "m[1][1]" in played.stage.status()


PLUS = {
    "name": "plus",
    "inputs": [{"name": "x", "type": "integer", "required": True}],
    "nodes": [node(id="n", function=f"{__name__}:plus_one", **{"with": {"x": "{{ inputs.x }}"}})],
    "output": "{{ nodes.n.value }}",
}


def sub(**fields: Any) -> dict[str, Any]:
    return node("workflow", **{"workflow": "./plus.yaml", "definition": PLUS, **fields})


def test_workflow_as_the_body_of_a_map() -> None:
    played = run(mapped(sub(**{"with": {"x": "{{ item }}"}}), [1, 2]))
    assert played.output["m"]["items"] == [{"output": 2}, {"output": 3}]
    assert set(played.stage.status()) == {"m[0]/n", "m[1]/n", "m[0]", "m[1]", "m"}


def test_embedded_workflow() -> None:
    played = run({"nodes": [sub(id="s", **{"with": {"x": 4}})], "output": "{{ nodes.s.output }}"})
    assert played.output == 5
    assert played.stage.status() == {"s/n": "success", "s": "success"}


def test_workflow_by_name_as_pinned() -> None:
    workflow = {"nodes": [node("workflow", id="s", workflow="plus", **{"with": {"x": 9}})]}
    assert run(workflow, workflows={"plus": make(PLUS)}).output["s"] == {"output": 10}
    missing = run(workflow).error
    assert missing.kind == "sub_workflow"
    assert "workflow save" in missing.message


def test_inputs_of_a_workflow_that_do_not_fit_are_all_named() -> None:
    error = run({"nodes": [sub(id="s", **{"with": {"x": "one", "y": 2}})]}).error
    assert error.kind == "sub_workflow"
    assert "x: Expected an integer" in error.message
    assert "y: There is no such input" in error.message


def test_failure_inside_a_workflow_names_the_inner_node() -> None:
    broken = {**PLUS, "nodes": [node(id="n", function=f"{__name__}:picky", **{"with": {"x": 1}})]}
    played = run({"nodes": [sub(id="s", definition=broken, **{"with": {"x": 1}})]})
    assert played.error.node_id == "s/n"
    assert played.stage.status() == {"s/n": "failed", "s": "failed"}


def test_workflow_inherits_how_models_are_called_but_keeps_its_own() -> None:
    inner = {"name": "i", "config": {"temperature": 0.3}, "nodes": [node("ai", id="a", prompt="hi")]}
    outer = {"config": {"model": "mock/fast", "temperature": 0.9, "seed": 5}, "nodes": [sub(id="s", definition=inner)]}
    request = run(outer).stage.model.requests[0]
    assert (request.model, request.temperature, request.seed) == ("fast", 0.3, 5)


def test_workflow_with_a_model_of_its_own_does_not_send_it_to_the_outer_one_s_address() -> None:
    inner = {"name": "i", "config": {"model": "mock/fast"}, "nodes": [node("ai", id="a", prompt="hi")]}
    outer = {"config": {"provider": "openai", "model": "gpt-4o", "base_url": "http://127.0.0.1:9", "api_key_env": "K", "seed": 5}}
    request = run({**outer, "nodes": [sub(id="s", definition=inner)]}).stage.model.requests[0]
    assert (request.name, request.base_url, request.api_key_env, request.seed) == ("mock/fast", "", "", 5)


def test_workflow_s_own_time_limit_holds_inside_another() -> None:
    slow = {"name": "slow", "config": {"timeout_s": 0.05}, "nodes": [node(id="n", function="asyncio:sleep", **{"with": {"delay": 60}})]}
    played = run({"nodes": [sub(id="s", definition=slow)]})
    assert played.play.status == "timeout"
    assert "'slow'" in played.error.message
    assert played.stage.status() == {"s/n": "cancelled", "s": "timeout"}


def test_workflow_s_own_budget_holds_inside_another() -> None:
    ai = node("ai", id="a", prompt="x" * 4000, config={"model": "mock/expensive"})
    dear = {"name": "dear", "config": {"budget_usd": 0.0001}, "nodes": [ai]}
    played = run({"config": {"budget_usd": 100}, "nodes": [sub(id="s", definition=dear)]})
    assert played.play.status == "budget_exceeded"
    assert not played.stage.model.requests


def nested(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = PLUS
    for _ in range(depth):
        node_ = sub(id="s", definition=inner, **{"with": {"x": "{{ inputs.x }}"}})
        inner = {**PLUS, "nodes": [node_], "output": "{{ nodes.s.output }}"}
    return inner


def test_workflows_may_be_nested_deeply() -> None:
    assert run(nested(40), {"x": 1}).output == 2


def test_workflow_that_calls_itself_is_stopped() -> None:
    loop = {"name": "loop", "nodes": [node("workflow", id="s", workflow="loop")]}
    error = run(loop, workflows={"loop": make(loop)}).error
    assert error.kind == "sub_workflow"
    assert "call itself" in error.message


CASES = [{"when": "inputs.x == 'l'", "then": ["left"]}, {"when": "inputs.x == 'r'", "then": ["right"]}]


def branch(then: str) -> Played:
    nodes = [
        node("branch", id="b", cases=CASES, otherwise=["other"]),
        *(node(id=name, function=f"{__name__}:plus_one", **{"with": {"x": 1}}) for name in ("left", "right", "other")),
        node(id="after_left", needs=["left"], function=f"{__name__}:plus_one", **{"with": {"x": 1}}),
        node(id="join", needs=["left", "right", "other"], function=f"{__name__}:plus_one", **{"with": {"x": 5}}),
    ]
    return run({"inputs": [{"name": "x"}], "nodes": nodes}, {"x": then})


@pytest.mark.parametrize(("then", "chosen", "case"), [("l", "left", 0), ("r", "right", 1), ("?", "other", -1)])
def test_branch_picks_the_first_that_holds_and_what_follows_joins(then: str, chosen: str, case: int) -> None:
    played = branch(then)
    assert played.output["b"] == {"chosen": [chosen], "case": case}
    ran = {name for name, status in played.stage.status().items() if status == "success"}
    assert ran == {"b", chosen, "join"} | ({"after_left"} if chosen == "left" else set())
    assert played.output["join"] == {"value": 6}


def test_branch_that_is_skipped_chooses_nothing() -> None:
    free = node(id="free", function=f"{__name__}:plus_one", **{"with": {"x": 1}})
    nodes = [
        free,
        node("branch", id="b", when="false", cases=[{"when": "true", "then": ["left"]}]),
        node(id="left", needs=["free"], function=f"{__name__}:plus_one", **{"with": {"x": 1}}),
    ]
    assert run({"nodes": nodes}).stage.status() == {"free": "success", "b": "skipped", "left": "skipped"}


class Doubling:
    """`model.ports.Operations` with one operation."""

    async def call(self, name: str, arguments: Mapping[str, Json]) -> Any:
        if name != "double":
            raise NotFound(f"There is no operation '{name}'.", remedy="There is: double.")
        return [2 * arguments["x"]] if arguments.get("bare") else {"twice": 2 * arguments["x"]}


def operated(**fields: Any) -> Played:
    async def scenario() -> Played:
        async with on_stage() as stage:
            stage.services.operations = Doubling()
            return Played(await stage.play({"nodes": [node("operation", id="o", **fields)]}), stage)

    return asyncio.run(scenario())


def test_operation_by_name() -> None:
    assert operated(operation="double", **{"with": {"x": 21}}).output["o"] == {"twice": 42}


def test_operation_that_answers_with_no_object_gives_its_value() -> None:
    assert operated(operation="double", **{"with": {"x": 21, "bare": True}}).output["o"] == {"value": [42]}


def test_operation_that_does_not_exist_says_which_do() -> None:
    error = operated(operation="nothing_like_it").error
    assert error.kind == "tool_error"
    assert "There is: double" in error.message


def test_operation_where_there_are_none_is_a_failure() -> None:
    error = run({"nodes": [node("operation", id="o", operation="health")]}).error
    assert (error.kind, "no operations are at hand" in error.message) == ("tool_error", True)


def test_container_nodes_count_no_usage_twice() -> None:
    inner = {"name": "i", "inputs": [{"name": "x"}], "nodes": [node("ai", id="a", prompt="{{ inputs.x }}")]}
    played = run(mapped(sub(definition=inner, **{"with": {"x": "{{ item }}"}}), ["a", "b"]), answers=[Script(match="", text="word " * 8)])
    calls = [run for run in played.stage.journal.runs if run.node_id.endswith("/a")]
    assert len(calls) == 2
    assert played.play.tokens_completion == sum(run.tokens_completion for run in calls)
    assert played.play.cost_usd == pytest.approx(sum(run.cost_usd or 0 for run in calls))
    assert played.run_of("m").tokens_completion == 0


def test_two_maps_in_two_plays_at_once_keep_their_own_bodies() -> None:
    async def scenario() -> list[Any]:
        async with on_stage() as stage:
            plays = [stage.play(mapped({**each("plus_one"), "with": {"x": n}}, [0] * 20)) for n in range(10)]
            return [play.output["m"]["items"][-1]["value"] for play in await asyncio.gather(*plays)]

    assert asyncio.run(scenario()) == [n + 1 for n in range(10)]
