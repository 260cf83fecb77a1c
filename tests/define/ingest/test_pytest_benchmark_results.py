"""pytest-benchmark's files, as the real plugin writes them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.app.git_folder import GitFolder, git_environment
from tests.define.ingest.results_text import benchmark_file, written

from flowgauge.define.ingest import Ingested, read_results
from flowgauge.errors import BadFile
from flowgauge.model.metric import Metric

SUITE = """
import pytest

@pytest.mark.parametrize("size", [10, 20])
@pytest.mark.benchmark(group="sums")
def test_sum(benchmark, size):
    benchmark.extra_info["why"] = "because"
    benchmark.pedantic(sum, args=(range(size),), rounds=5, iterations=3)

@pytest.mark.parametrize("thing", [object()], ids=["thing"])
def test_object(benchmark, thing):
    benchmark.pedantic(id, args=(thing,), rounds=2)

class TestInside:
    def test_calibrated(self, benchmark):
        benchmark(len, "abc")

def test_failing(benchmark):
    benchmark(int, "x")
"""


class Made(msgspec.Struct, frozen=True):
    """What one run of the plugin left."""

    full: Path
    bare: Path
    commit: str


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A run in a repository of its own, whose files differ from its commit. The plugin does nothing inside a worker of xdist."""
    repository = GitFolder(tmp_path_factory.mktemp("suite"))
    (repository.path / "pytest.ini").write_text("[pytest]\n")
    suite = repository.path / "test_suite.py"
    suite.write_text("")
    commit = repository.commit()
    suite.write_text(SUITE)
    environment = {name: value for name, value in git_environment().items() if not name.startswith(("PYTEST_", "COV_"))}
    options = ["--benchmark-json=full.json", "--benchmark-save=bare", "--benchmark-storage=file://saved", "--benchmark-max-time=0.01"]
    program = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    done = subprocess.run(program, cwd=repository.path, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert "1 failed, 4 passed" in done.stdout, done.stdout + done.stderr
    (bare,) = repository.path.glob("saved/*/*_bare.json")
    return Made(repository.path / "full.json", bare, commit)


def one(folder: Path, **changes: Any) -> Ingested:
    (found,) = read_results(written(folder, benchmark_file(**changes)))
    return found


def test_the_file_of_the_real_plugin(made: Made) -> None:
    found = {each.subject: each for each in read_results(made.full)}
    assert list(found) == [
        "test_suite.py::test_sum[10]",
        "test_suite.py::test_sum[20]",
        "test_suite.py::test_object[thing]",
        "test_suite.py::TestInside::test_calibrated",
    ]
    written_there = json.loads(made.full.read_text())
    first = found["test_suite.py::test_sum[10]"]
    stats = written_there["benchmarks"][0]["stats"]
    assert first.metrics["duration_ms"].samples == {"": [seconds * 1000 for seconds in stats["data"]]}
    assert len(stats["data"]) == 5
    assert first.metrics["duration_ms"].value == pytest.approx(stats["mean"] * 1000)
    assert first.notes == ("rounds: 5, iterations in each: 3",)
    assert first.tags["group"] == "sums"
    assert first.tags["param.size"] == "10"
    assert first.source == f"pytest-benchmark {written_there['version']}"


def test_where_and_when_the_real_plugin_measured(made: Made) -> None:
    first = read_results(made.full)[0]
    version = ".".join(map(str, sys.version_info[:2]))
    assert first.commit == f"{made.commit}+"
    assert first.machine.endswith(f"cpu-py{version}")
    assert first.measured_at == pytest.approx(made.full.stat().st_mtime * 1000, abs=60_000)


def test_a_parameter_that_json_cannot_hold_is_no_tag(made: Made) -> None:
    found = {each.subject: each for each in read_results(made.full)}["test_suite.py::test_object[thing]"]
    assert not [name for name in found.tags if name.startswith("param.")]


def test_a_saved_run_without_its_samples_has_the_same_value_and_says_what_is_missing(made: Made) -> None:
    full, bare = read_results(made.full)[0], read_results(made.bare)[0]
    assert bare.metrics["duration_ms"].samples == {}
    assert bare.metrics["duration_ms"].value == pytest.approx(full.metrics["duration_ms"].value)
    assert (bare.commit, bare.machine, bare.subject) == (full.commit, full.machine, full.subject)
    assert "--benchmark-save-data" in bare.notes[-1]


def test_seconds_become_milliseconds(tmp_path: Path) -> None:
    assert one(tmp_path).metrics == {"duration_ms": Metric(value=2.0, direction="lower", unit="ms", samples={"": [1.0, 3.0]})}


SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("info", "commit"),
    [
        pytest.param({"id": SHA, "dirty": False}, SHA, id="clean"),
        pytest.param({"id": SHA, "dirty": True}, f"{SHA}+", id="with changes"),
        pytest.param({"id": "unversioned", "dirty": False}, "", id="outside a repository"),
        pytest.param({"id": "unknown", "error": "…"}, "", id="where git failed"),
        pytest.param({"mine": 1}, "", id="written by a hook"),
        pytest.param(None, "", id="none at all"),
    ],
)
def test_the_commit(tmp_path: Path, info: Any, commit: str) -> None:
    assert one(tmp_path, commit_info=info).commit == commit


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        pytest.param("2026-01-31T12:00:00.250000+00:00", 1_769_860_800_250, id="with its zone"),
        pytest.param("2026-01-31T12:00:00.250000", 1_769_860_800_250, id="older versions: UTC"),
        pytest.param("yesterday", None, id="no moment"),
        pytest.param(7, None, id="a number"),
    ],
)
def test_the_moment(tmp_path: Path, text: Any, moment: int | None) -> None:
    assert one(tmp_path, datetime=text).measured_at == moment


@pytest.mark.parametrize(
    ("info", "machine"),
    [
        pytest.param(
            {"system": "Linux", "machine": "x86_64", "cpu": {"count": 2}, "python_version": "3.11.7"},
            "linux-x86_64-2cpu-py3.11",
            id="all of it",
        ),
        pytest.param({"system": "Darwin", "machine": "arm64", "cpu": "M1"}, "darwin-arm64", id="a processor in words"),
        pytest.param(
            {"python_implementation": "PyPy", "python_version": "3.10.14", "machine": "aarch64"},
            "aarch64-pypy3.10",
            id="another interpreter",
        ),
        pytest.param({}, "", id="nothing"),
    ],
)
def test_the_machine(tmp_path: Path, info: Any, machine: str) -> None:
    assert one(tmp_path, machine_info=info).machine == machine


@pytest.mark.parametrize(
    ("benchmark", "problem"),
    [
        pytest.param({"stats": {"mean": 1}}, "benchmarks[0].fullname: 'fullname' is missing.", id="no name"),
        pytest.param({"fullname": "a"}, "benchmarks[0].stats: 'stats' is missing.", id="no figures"),
        pytest.param({"fullname": "a", "stats": 3}, "benchmarks[0].stats: Expected an object.", id="figures that are one"),
        pytest.param({"fullname": "a", "stats": {}}, "benchmarks[0].stats.mean: 'mean' is missing.", id="no mean"),
        pytest.param(
            {"fullname": "a", "stats": {"mean": 1, "data": [1, "2"]}},
            "benchmarks[0].stats.data[1]: Expected a number, not '2'.",
            id="a word",
        ),
        pytest.param(
            {"fullname": "a\n", "stats": {"mean": 1}}, "benchmarks[0].fullname: It has characters that cannot be shown.", id="a line"
        ),
        pytest.param(3, "benchmarks[0]: Expected an object.", id="a number"),
    ],
)
def test_a_mistake_is_told_with_its_way(tmp_path: Path, benchmark: Any, problem: str) -> None:
    with pytest.raises(BadFile) as raised:
        one(tmp_path, benchmarks=[benchmark])
    assert problem in str(raised.value)


def test_a_parameter_that_cannot_be_shown_is_shown_as_far_as_it_can(tmp_path: Path) -> None:
    benchmark = {"fullname": "a", "stats": {"mean": 1}, "params": {"x": "a\x00\ud800b", "y": True, "z": [1]}, "group": "g" * 300}
    assert one(tmp_path, benchmarks=[benchmark]).tags == {"param.x": "a??b", "param.y": "true", "group": "g" * 200}
