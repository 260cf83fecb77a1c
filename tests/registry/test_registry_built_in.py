from __future__ import annotations

import asyncio
import hashlib
import http.server
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flowgauge.app.registry import Registry
from flowgauge.errors import BadFile
from flowgauge.model.benchmark import Benchmark, Cell, ConfigurationStats, Interval, Rate
from flowgauge.model.figure import Metric
from flowgauge.model.ids import BENCHMARK, new_sid
from flowgauge.registry.adapter import Outcome
from flowgauge.registry.stopping import in_thread
from flowgauge.store import open_store

TESTS = """
import pytest

def test_good(): pass
def test_bad(): assert 0
def test_other_bad(): assert 0
@pytest.mark.skip
def test_left_out(): pass
@pytest.mark.nested_task
def test_nested(): assert 0
"""


def rate(share: float) -> Rate:
    return Rate(int(10 * share), 10, share, Interval(0, 1))


def benchmark(bench_id: str, model: str, latency_ms: float, success: float, moment: int) -> Benchmark:
    cell = Cell(runs=10, success=rate(success), measured=rate(success), passed=rate(success), failures={}, duration_ms=None)
    return Benchmark(
        sid=new_sid(BENCHMARK, now_ms=moment),
        bench_uid=f"uid-{bench_id}",
        bench_id=bench_id,
        config=model.rpartition("/")[2],
        created_at=moment,
        num_runs=10,
        success_rate=100 * success,
        avg_duration_ms=latency_ms,
        stats=ConfigurationStats(name="c", model=model, overall=cell, cases={}),
    )


def run(tmp_path: Path, settings: dict[str, Any], name: str, stored: list[Benchmark] | None = None, *, seconds: float = 100) -> Outcome:
    file = tmp_path / "registry.yaml"
    file.write_text(json.dumps(settings), encoding="utf-8")
    with open_store(str(tmp_path / "store.db")) as store:
        store.put_benchmarks(stored or [])
        (outcome,) = Registry(store, tmp_path / "data", settings_file=file, time_limit_s=seconds).run([name])
    return outcome


def values(outcome: Outcome) -> dict[str, float | None]:
    assert outcome.status == "measured", outcome.reason
    return {name: metric.value for name, metric in outcome.metrics.items()}


def test_models_are_measured_by_the_newest_benchmark_of_each_bench(tmp_path: Path) -> None:
    stored = [
        benchmark("triage-0a1b2c3d-1", "mock/fast", 900, 0.1, 1000),
        benchmark("triage-0a1b2c3d-2", "mock/fast", 100, 1.0, 2000),
        benchmark("other-0a1b2c3d-1", "mock/fast", 300, 0.5, 1500),
    ]
    both = run(tmp_path, {"workflows": []}, "model_registry", stored)
    assert values(both) == {"mock/fast_latency_ms": 200, "mock/fast_accuracy": 0.75}
    one = run(tmp_path, {"adapters": {"model_registry": {"benches": ["triage"]}}}, "model_registry")
    assert values(one) == {"mock/fast_latency_ms": 100, "mock/fast_accuracy": 1.0}


def test_a_stored_subject_is_an_adapter(tmp_path: Path) -> None:
    metrics = {"duration_ms": Metric(value=12.5, direction="lower", unit="ms")}
    ingested = Benchmark(sid="bm_1", bench_uid="", bench_id="", config="", subject="suite/sort", kind="ingested", metrics=metrics)
    outcome = run(tmp_path, {"workflows": ["suite/sort"]}, "workflow:suite/sort", [ingested])
    assert outcome.metrics == {"suite/sort.duration_ms": metrics["duration_ms"]}
    assert run(tmp_path, {"workflows": []}, "workflow:nobody").status == "skipped"


@pytest.mark.parametrize(
    ("settings", "counted"),
    [
        pytest.param({}, (0.25, 4), id="skipped tests do not count"),
        pytest.param({"exclude_markers": ["nested_task"]}, (1 / 3, 3), id="without a marker"),
        pytest.param({"exclude_tests": ["test_some.py::test_bad"]}, (1 / 3, 3), id="without a test"),
    ],
)
def test_the_share_of_tests_that_pass(tmp_path: Path, settings: dict[str, Any], counted: tuple[float, int]) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "test_some.py").write_text(TESTS, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = nested_task\n", encoding="utf-8")
    outcome = run(tmp_path, {"adapters": {"regression": {"folder": str(folder), "tests": ["test_some.py"], **settings}}}, "regression")
    assert values(outcome) == {"test_pass_rate": counted[0], "test_count": counted[1]}


def test_no_test_at_all_is_no_measurement(tmp_path: Path) -> None:
    (tmp_path / "test_none.py").write_text("", encoding="utf-8")
    outcome = run(tmp_path, {"adapters": {"regression": {"folder": str(tmp_path), "tests": ["test_none.py"]}}}, "regression")
    assert (outcome.status, "found no test" in outcome.reason) == ("error", True)


def test_files_are_held_to_their_hash(tmp_path: Path) -> None:
    file = tmp_path / "rules.txt"
    file.write_text("be kind", encoding="utf-8")
    settings = {"adapters": {"guardrail": {"files": {str(file): hashlib.sha256(b"be kind").hexdigest()}}}}
    assert values(run(tmp_path, settings, "guardrail")) == {"guardrail_integrity": 1.0}
    file.write_text("be quick", encoding="utf-8")
    assert values(run(tmp_path, settings, "guardrail")) == {"guardrail_integrity": 0.0}
    file.unlink()
    assert values(run(tmp_path, settings, "guardrail")) == {"guardrail_integrity": 0.0}


class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(500 if self.path == "/gone" else 200)
        self.end_headers()
        while self.path == "/drips":
            try:
                self.wfile.write(b" ")
                time.sleep(0.05)
            except OSError:
                return
        self.wfile.write(b'{"stats": {"flush_rate": 0.87}, "queries": 12}')

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Health) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_health_is_read_over_http(tmp_path: Path, address: str) -> None:
    section = {"source": f"{address}/health", "fields": {"flush_rate": "stats.flush_rate"}}
    assert values(run(tmp_path, {"adapters": {"world_model": section}}, "world_model")) == {"flush_rate": 0.87, "queries": 12}


def test_a_health_source_that_fails_is_an_error(tmp_path: Path, address: str) -> None:
    outcome = run(tmp_path, {"adapters": {"world_model": {"source": f"{address}/gone"}}}, "world_model")
    assert (outcome.status, "does not answer" in outcome.reason) == ("error", True)


def test_a_health_source_that_drips_is_stopped_at_the_time_limit(tmp_path: Path, address: str) -> None:
    outcome = run(tmp_path, {"adapters": {"world_model": {"source": f"{address}/drips"}}}, "world_model", seconds=2)
    assert (outcome.status, "was not read to its end within 2 s" in outcome.reason) == ("error", True)


def test_a_health_source_that_is_a_pipe_is_an_error_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    outcome = run(tmp_path, {"adapters": {"world_model": {"source": str(tmp_path / "pipe")}}}, "world_model")
    assert (outcome.status, "no regular file" in outcome.reason) == ("error", True)


def test_a_health_source_that_drips_ends_with_whoever_waits_for_it(tmp_path: Path, address: str) -> None:
    file = tmp_path / "registry.yaml"
    file.write_text(json.dumps({"adapters": {"world_model": {"source": f"{address}/drips"}}}), encoding="utf-8")

    async def main() -> None:
        with open_store(str(tmp_path / "store.db")) as store:
            registry = Registry(store, tmp_path, settings_file=file)
            work = asyncio.create_task(in_thread(lambda: registry.run(["world_model"])))
            await asyncio.sleep(1)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(work, 20)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("text", "status", "told"),
    [
        pytest.param('{"correction_density": 0.1}', "measured", "", id="one figure is enough"),
        pytest.param('{"flush_rate": NaN}', "error", "no finite number", id="NaN"),
        pytest.param('{"flush_rate": "much"}', "error", "no finite number", id="a text"),
        pytest.param("{}", "error", "has none of", id="no figure"),
        pytest.param("<html>", "error", "is no JSON", id="no JSON"),
        pytest.param(None, "skipped", "there is no file", id="no file"),
    ],
)
def test_health_is_read_from_a_file(tmp_path: Path, text: str | None, status: str, told: str) -> None:
    file = tmp_path / "health.json"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    outcome = run(tmp_path, {"adapters": {"world_model": {"source": str(file)}}}, "world_model")
    assert outcome.status == status
    assert told in outcome.reason


@pytest.mark.parametrize("name", ["quantiphy", "embodied_validation", "qwen_encoder"])
def test_a_heavy_adapter_is_skipped_with_all_that_is_missing(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    outcome = run(tmp_path, {"workflows": []}, name)
    assert outcome.status == "skipped"
    assert f"offers the benchmark {name}" in outcome.reason
    assert "nvidia-smi shows none" in outcome.reason


def test_a_heavy_adapter_calls_the_package_that_offers_its_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "site" / "physics-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: physics\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[flowgauge.benchmarks]\nquantiphy = physics_bench:measure\n", encoding="utf-8")
    code = "def measure(level=1):\n    return {'physics': {'value': 0.5 * level, 'direction': 'higher', 'unit': 'score'}}\n"
    (tmp_path / "site" / "physics_bench.py").write_text(code, encoding="utf-8")
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 8192\n", encoding="utf-8")
    smi.chmod(0o755)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert values(run(tmp_path, {"adapters": {"quantiphy": {"options": {"level": 2}}}}, "quantiphy")) == {"physics": 1.0}


def test_every_mistake_in_the_settings_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "registry.yaml"
    sections = "  guardrail:\n    files: {a: zz}\n  regresion:\n    tests: [t]\n  regression:\n    test: [t]\n"
    file.write_text(f"time_limit_s: -1\nadaptors: {{}}\nadapters:\n{sections}", encoding="utf-8")
    with open_store(str(tmp_path / "store.db")) as store, pytest.raises(BadFile) as raised:
        Registry(store, tmp_path / "data", settings_file=file).list_benchmarks()
    assert [problem.line for problem in raised.value.problems] == [1, 2, 5, 6, 9]
    assert "Did you mean 'regression'" in str(raised.value)
