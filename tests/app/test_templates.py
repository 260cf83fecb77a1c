"""Templates are workflows like any other: stored, changed, run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.app.hosting import ended_play, hosted

from flowgauge.app.host import Host
from flowgauge.app.templates import TEMPLATES, template_text
from flowgauge.define.workflow import parse_workflow_text
from flowgauge.errors import NotFound
from flowgauge.nodes.ai import AiNode, model_of
from flowgauge.nodes.codec import write_workflow
from flowgauge.providers.mock.server import running_mock_server
from flowgauge.run.graph import with_config

BROKEN = "```python\ndef run(values: list) -> dict:\n    return {'result': mean(values)}\n```"
"""What a model might write: it forgets to import what it uses."""


@pytest.fixture
def db(tmp_path: Path) -> str:
    return str(tmp_path / "store.db")


def test_every_file_is_a_row_and_every_row_a_file() -> None:
    import flowgauge.app.templates as package

    files = {path.stem for path in Path(str(package.__file__)).parent.glob("*.yaml")}
    assert files == set(TEMPLATES)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_is_a_workflow_without_mistakes_of_its_own_name(name: str) -> None:
    loaded = parse_workflow_text(template_text(name))
    assert loaded.workflow.name == name
    assert loaded.workflow.description
    assert not loaded.warnings


def test_the_inputs_of_benchmark_flow_are_what_callers_rely_on(db: str) -> None:
    async def work(host: Host) -> Any:
        return await host.call("template_list", {})

    listed = {one["name"]: one for one in hosted(db, work)["items"]}
    inputs = {
        one["name"]: (one.get("type", "string"), one.get("required", False), one.get("default"))
        for one in listed["benchmark_flow"]["inputs"]
    }
    assert inputs == {
        "target_workflow_sid": ("string", True, None),
        "target_version_sid": ("string", False, ""),
        "num_runs": ("integer", False, 5),
        "input_hints": ("string", False, ""),
    }


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_model_that_is_laid_over_one_play_is_the_one_that_is_called(name: str) -> None:
    content = write_workflow(parse_workflow_text(template_text(name)).workflow)
    vertices = with_config(content, {"model": "openai/gpt-4o-mini"}).vertices.values()
    called = [inner for vertex in vertices if isinstance((inner := vertex.body or vertex).node, AiNode)]
    assert {model_of(vertex.config) for vertex in called} == {("openai", "gpt-4o-mini")}


def test_the_play_that_the_guide_lays_a_real_model_over_calls_it(db: str) -> None:
    async def work(host: Host) -> Any:
        await host.call("workflow_from_template", {"name": "ticket-triage"})
        async with running_mock_server() as address:
            config = {"model": "openai/gpt-4o-mini", "base_url": f"{address}/v1"}
            asked = {"workflow_sid": "ticket-triage", "input_data": {"ticket": "Where is my parcel?"}, "config": config}
            sid = (await host.call("play_start", asked))["sid"]
            await ended_play(host, sid)
            return await host.call("play_get", {"sid": sid, "with_runs": True})

    play = hosted(db, work)
    assert play["status"] == "success", play["error"]
    assert {run["model"] for run in play["runs"] if run["model"]} == {"openai/gpt-4o-mini"}


def test_a_template_that_is_there_already_is_not_stored_again(db: str) -> None:
    async def work(host: Host) -> tuple[Any, Any]:
        first = await host.call("workflow_from_template", {"name": "benchmark_flow"})
        return first, await host.call("workflow_from_template", {"name": "benchmark_flow"})

    first, second = hosted(db, work)
    assert (first["created"], second["created"]) == (True, False)
    assert (first["sid"], first["version"]["sid"]) == (second["sid"], second["version"]["sid"])
    assert first["version"]["current"]


def test_what_its_user_made_of_it_stays_in_use_unless_the_template_is_asked_for(db: str) -> None:
    async def work(host: Host) -> list[Any]:
        await host.call("workflow_from_template", {"name": "benchmark_flow"})
        own = await host.call("workflow_set", {"text": template_text("benchmark_flow").replace("mock/default", "openai/gpt-4o-mini")})
        kept = await host.call("workflow_from_template", {"name": "benchmark_flow"})
        asked = await host.call("workflow_from_template", {"name": "benchmark_flow", "make_current": True})
        return [own["version"]["sid"], kept["current_version_sid"], kept["version"]["current"], asked["version"]["current"]]

    own, in_use, template_in_use, when_asked = hosted(db, work)
    assert in_use == own
    assert (template_in_use, when_asked) == (False, True)


def test_an_unknown_template_is_told_with_those_that_are_there(db: str) -> None:
    async def work(host: Host) -> None:
        await host.call("workflow_from_template", {"name": "benchmark_flw"})

    with pytest.raises(NotFound, match="benchmark_flow") as caught:
        hosted(db, work)
    assert caught.value.field == "name"


# ── service_agent ────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("inputs", "service", "result"),
    [
        pytest.param({"request": "What is the largest of these numbers?"}, "numbers", {"result": 31}, id="about numbers"),
        pytest.param(
            {"request": "How many words are in these texts?", "values": ["a b", "c d e"]}, "texts", {"result": 5}, id="about texts"
        ),
    ],
)
def test_service_agent_runs_offline(db: str, inputs: dict[str, Any], service: str, result: dict[str, Any]) -> None:
    play = hosted(db, lambda host: _agent(host, inputs))
    assert play["status"] == "success", play["error"]
    assert (play["output"]["service"], play["output"]["result"]) == (service, result)
    assert [run["node_id"] for run in play["runs"]] == ["select", "generate", "execute", "summarise"]
    assert play["retries"] == 0


def test_service_agent_repairs_a_script_that_fails_and_counts_the_retry(db: str) -> None:
    text = template_text("service_agent").replace(
        "    needs: [select]\n", f"    needs: [select]\n    config: {{extra: {{mock: {{answer: {BROKEN!r}}}}}}}\n"
    )
    play = hosted(db, lambda host: _agent(host, {"request": "What is the mean?"}, text))
    assert play["status"] == "success", play["error"]
    assert play["output"]["result"] == {"result": 12.4}
    tried = [(run["node_id"], run["status"]) for run in play["runs"]]
    assert tried[2:5] == [("execute", "failed"), ("execute/repair[1]", "success"), ("execute", "success")]
    assert play["retries"] == 1


async def _agent(host: Host, inputs: dict[str, Any], text: str = "") -> Any:
    if text:
        agent = await host.call("workflow_set", {"text": text})
    else:
        agent = await host.call("workflow_from_template", {"name": "service_agent"})
    started = await host.call("play_start", {"workflow_sid": agent["sid"], "input_data": inputs})
    await ended_play(host, started["sid"])
    return await host.call("play_get", {"sid": started["sid"], "with_runs": True})
