"""Agents for tests: a workflow on the mock provider that is really played, well or badly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.app.hosting import ended_play, hosted

from flowgauge.app.agents import AgentBaselines
from flowgauge.app.host import Host
from flowgauge.model.redaction import redactor
from flowgauge.registry.agents.snapshot import AgentSnapshot
from flowgauge.store import open_store

FLOW = """
name: triage_flow
config: {provider: mock, model: fast, max_retries: 0}
nodes:
  - {id: classify, type: ai, prompt: Classify}
  - {id: draft, type: ai, needs: [classify], prompt: Draft, config: {model: MODEL}}
"""
SECTIONS: dict[str, Any] = {
    "recipe_metrics": {"action_count": 2, "success_rates": {"a": 0.8, "b": 1.0}},
    "lightning_metrics": {"avg_reward": 0.5, "avg_duration": 2.0},
    "benchmark_metrics": {"test_pass_rate": 0.98, "model_registry_accuracy": 0.91},
}


def rates(pass_rate: float | None = None, /, **success: float | None) -> dict[str, Any]:
    """Sections with nothing but what is judged."""
    return {"recipe_metrics": {"success_rates": success}, "benchmark_metrics": {"test_pass_rate": pass_rate}}


def played(db: str, *, model: str = "fast", times: int = 1) -> None:
    """Save the workflow with that model, and play it to its end so many times."""

    async def work(host: Host) -> None:
        await host.call("workflow_set", {"text": FLOW.replace("MODEL", model)})
        for _ in range(times):
            started = await host.call("play_start", {"workflow_sid": "triage_flow"})
            ended = await ended_play(host, started["sid"])
            assert ended["status"] == ("failed" if model == "broken" else "success")

    hosted(db, work)


def tried(db: str, model: str, *, times: int) -> None:
    """The same, of a version that is saved and not put in use: as `flowgauge run` does with a file that was edited."""
    with open_store(db, redact=redactor(())) as store:
        in_use = store.get_workflow("triage_flow").current_version_sid
    played(db, model=model, times=times)
    with open_store(db, redact=redactor(())) as store:
        store.make_current(in_use)


def captured(made: AgentSnapshot | None) -> AgentSnapshot:
    assert made is not None
    return made


def capture(db: str, data: str, kind: type[AgentBaselines] = AgentBaselines) -> int:
    """In whatever process this is: one version more."""
    with open_store(db, redact=redactor(())) as store:
        agents = kind(store, Path(data))
        return captured(agents.capture_snapshot("p", "f", "prompt_change", sections=SECTIONS)).version
