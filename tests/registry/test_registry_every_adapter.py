"""A snapshot with every built-in adapter, on this machine: the fast ones with real figures, the heavy ones skipped with the reason."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import flowgauge as fg
from flowgauge.app.registry import Registry
from flowgauge.model.figure import Metric
from flowgauge.registry.adapters.table import BUILT_IN
from flowgauge.registry.requirements import gpu_memories_gb
from flowgauge.registry.snapshot import Snapshot
from flowgauge.store import open_store

EXAMPLES = Path(__file__).parents[2] / "examples" / "bench"
HEAVY = {name for name, row in BUILT_IN.items() if row.tier == "heavy"}
HEALTH = {"flush_rate": 0.87, "correction_density": 0.02, "queries": 41}
PROJECT = "def test_one(): pass\ndef test_two(): pass\ndef test_three(): pass\ndef test_bad(): assert not 'bad'\n"


class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({"world": HEALTH}).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Health) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/health"
        server.shutdown()


@pytest.fixture
def source(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the health of the world model is told: in a file, or by a server on loopback."""
    if request.param == "http":
        return str(request.getfixturevalue("address"))
    file = tmp_path / "health.json"
    file.write_text(json.dumps({"world": HEALTH}), encoding="utf-8")
    return str(file)


@pytest.fixture
def settings(tmp_path: Path, source: str) -> dict[str, Any]:
    rules = tmp_path / "rules.txt"
    rules.write_text("never promise a refund\n", encoding="utf-8")
    project = tmp_path / "project"
    project.mkdir()
    (project / "test_project.py").write_text(PROJECT, encoding="utf-8")
    return {
        "workflows": ["support"],
        "adapters": {
            "world_model": {"source": source, "fields": {name: f"world.{name}" for name in HEALTH}},
            "regression": {"folder": str(project), "tests": ["test_project.py"]},
            "guardrail": {"files": {str(rules): hashlib.sha256(rules.read_bytes()).hexdigest()}},
        },
    }


def captured(tmp_path: Path, settings: dict[str, Any]) -> tuple[Snapshot, Snapshot | None]:
    """After a bench that was really run, on the mock provider; and what the store has of it without its file."""
    file = tmp_path / "registry.yaml"
    file.write_text(json.dumps(settings), encoding="utf-8")
    db = str(tmp_path / "store.db")
    fg.bench(EXAMPLES / "support.yaml", EXAMPLES / "configs.yaml", runs=2, db=db)
    with open_store(db) as store:
        made = Registry(store, tmp_path / "data", settings_file=file, time_limit_s=100).capture_snapshot("v1.0.0", "abc", "all")
        stored = Registry(store, tmp_path / "elsewhere").snapshots.find("v1.0.0")
    return made, stored


def value(made: Snapshot, name: str) -> float:
    found = made.metrics[name].value
    assert found is not None, name
    return found


@pytest.mark.parametrize("source", ["file", "http"], indirect=True)
def test_every_built_in_adapter_measures_or_says_why_not(tmp_path: Path, settings: dict[str, Any]) -> None:
    made, stored = captured(tmp_path, settings)
    assert made.errors == {}
    assert {name: value(made, name) for name in HEALTH} == HEALTH
    assert made.metrics["correction_density"] == Metric(value=0.02, direction="lower", unit="ratio")
    assert (value(made, "test_pass_rate"), value(made, "test_count")) == (0.75, 4)
    assert value(made, "guardrail_integrity") == 1.0
    for model in ("mock/default", "mock/expensive"):
        assert value(made, f"{model}_latency_ms") > 0
        assert value(made, f"{model}_accuracy") == 1.0
    for config in ("small", "large"):
        assert value(made, f"support.{config}.duration_ms") > 0
        assert value(made, f"support.{config}.success_rate") == 1.0
        assert value(made, f"support.{config}.cost_usd") > 0
    assert set(made.skipped) == HEAVY
    for name, why in made.skipped.items():
        assert f"no installed package offers the benchmark {name}" in why
        assert ("nvidia-smi shows none" in why) == (not gpu_memories_gb())
    assert set(made.tiers) == {"fast", "heavy"}
    assert stored is not None
    assert (stored.metrics, stored.skipped, stored.tiers["fast"].git_sha) == (made.metrics, made.skipped, "abc")
