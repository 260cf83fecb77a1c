"""Every kind of target, both executors, many rows, and the same from Python."""

from __future__ import annotations

import asyncio
import csv
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.bench.program import ASK, EXAMPLES, Program, bench_file, config

import flowgauge as fg
from flowgauge.model.bench import Trial
from flowgauge.report.bench_json import BenchReport

TARGETS = """
import asyncio

def shout(word, config):
    loud = word.upper() + config.get("mark", "")
    return {"output": loud, "tokens_prompt": 3, "tokens_completion": 1, "cost_usd": 0.5, "scores": {"fun": 1}}

async def shout_later(word, config):
    await asyncio.sleep(0)
    return word.upper() + config.get("mark", "")
"""
GRAPH = """
from typing import TypedDict
from langgraph.graph import END, START, StateGraph

class State(TypedDict, total=False):
    word: str
    loud: str

builder = StateGraph(State)
builder.add_node("shout", lambda state: {"loud": state["word"].upper()})
builder.add_edge(START, "shout")
builder.add_edge("shout", END)
graph = builder.compile()
"""
SHOUT = "import sys; print(sys.argv[1].upper() + sys.argv[2])"
WORDS = [{"name": name, "inputs": {"word": name}, "expected": {"loud": name.upper()}} for name in ("tide", "moon")]


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module of targets in the folder of the test, under a name of its own."""
    name = f"targets_of_{abs(hash(tmp_path.name)) % 10**8}"
    (tmp_path / f"{name}.py").write_text(TARGETS)
    (tmp_path / f"{name}_graph.py").write_text(GRAPH)
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    for loaded in (name, f"{name}_graph"):
        sys.modules.pop(loaded, None)


class Shouting(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = msgspec.json.decode(self.rfile.read(int(self.headers["Content-Length"])))
        mark = msgspec.json.decode(self.headers["Flowgauge-Config"])["mark"]
        body = msgspec.json.encode({"output": asked["word"].upper() + mark})
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        """Quiet."""


@pytest.fixture
def shouting_url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Shouting) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/shout"
        server.shutdown()
        thread.join()


def shout_file(tmp_path: Path, path: str = "output", **more: Any) -> Path:
    """Two configurations, of which one adds a mark that is never right; a check that the word is loud."""
    checks = [{"type": "equals", "path": path, "value": "{{ expected.loud }}", "strip": True}]
    return bench_file(
        tmp_path,
        configs=[config("plain", mark=""), config("marked", mark="!")],
        state_variants=[],
        cases=WORDS,
        checks=checks,
        runs=2,
        **more,
    )


def passed(report: BenchReport) -> dict[str, tuple[int, int]]:
    return {found.name: (found.overall.passed.count, found.overall.passed.total) for found in report.summary.configs}


HALF = {"plain": (4, 4), "marked": (0, 4)}


@pytest.mark.parametrize("function", ["shout", "shout_later"], ids=["sync", "async"])
def test_a_python_function(flowgauge: Program, tmp_path: Path, modules: str, function: str) -> None:
    done = flowgauge("bench", "--target", f"python:{modules}:{function}", "--configs", shout_file(tmp_path), "--json")
    assert done.code == 0
    assert passed(done.report) == HALF
    overall = done.report.summary.configs[0].overall
    told = {"shout": (0.5, 12, "provider"), "shout_later": (None, 0, "unpriced")}
    assert (overall.cost_usd_mean, overall.tokens_prompt, overall.cost_source) == told[function]
    assert done.report.summary.bench.definition.target.kind == "python"


def test_an_edit_of_a_function_is_another_definition(flowgauge: Program, tmp_path: Path, modules: str) -> None:
    command = ["bench", "--target", f"python:{modules}:shout", "--configs", str(shout_file(tmp_path)), "--json"]
    before = flowgauge(*command).report.summary.bench
    (tmp_path / f"{modules}.py").write_text(TARGETS + "# edited\n")
    after = flowgauge(*command).report.summary.bench
    assert (before.definition_hash != after.definition_hash, after.counter) == (True, 1)


def test_a_command(flowgauge: Program, tmp_path: Path) -> None:
    (tmp_path / "shout.py").write_text(SHOUT)
    line = f"command:{sys.executable} shout.py {{{{ word }}}} {{{{ config.mark }}}}"
    done = flowgauge("bench", "--target", line, "--configs", shout_file(tmp_path), "--json")
    assert done.code == 0, done.err
    assert passed(done.report) == HALF, done.report.trials[0]


def test_http(flowgauge: Program, tmp_path: Path, shouting_url: str) -> None:
    done = flowgauge("bench", "--target", shouting_url, "--configs", shout_file(tmp_path), "--json")
    assert done.code == 0, done.err
    assert passed(done.report) == HALF, done.report.trials[0]


def test_langgraph(flowgauge: Program, tmp_path: Path, modules: str) -> None:
    pytest.importorskip("langgraph")
    done = flowgauge("bench", "--target", f"langgraph:{modules}_graph:graph", "--configs", shout_file(tmp_path, "output.loud"), "--json")
    assert done.code == 0, done.err
    assert passed(done.report) == {"plain": (4, 4), "marked": (4, 4)}


def test_a_stored_workflow_by_name_and_by_version(flowgauge: Program, tmp_path: Path) -> None:
    file = bench_file(tmp_path)
    flowgauge("workflow", "save", "ask.yaml")
    (tmp_path / "newer.yaml").write_text(ASK.replace("yes or no?", "left or right?"))
    flowgauge("workflow", "save", "newer.yaml")
    newest = flowgauge("bench", "ask", "--configs", file, "--json").report
    older = flowgauge("bench", "ask", "--version", "1", "--configs", file, "--json").report
    from_file = flowgauge("bench", "ask.yaml", "--configs", file, "--json").report
    assert {trial.answer.output for trial in newest.trials} <= {"left", "right"}
    assert {trial.answer.output for trial in older.trials} <= {"yes", "no"}
    assert older.summary.bench.definition_hash == from_file.summary.bench.definition_hash
    assert older.summary.bench.definition_hash != newest.summary.bench.definition_hash


def result(trial: Trial) -> tuple[Any, ...]:
    """What does not depend on time or on which process ran it."""
    answer = trial.answer
    told = (
        answer.status,
        answer.output,
        answer.tokens_prompt,
        answer.tokens_completion,
        answer.cost_usd,
        answer.error and answer.error.kind,
    )
    return (trial.run_id, trial.position, trial.config, trial.case, trial.repetition, *told, trial.passed, trial.failure_category)


@pytest.mark.parametrize("kind", ["workflow", "python"])
def test_the_process_executor_gives_the_same_results(flowgauge: Program, tmp_path: Path, modules: str, kind: str) -> None:
    fixed = {"extra": {"mock": {"answer": "yes"}}}
    file = bench_file(tmp_path, config=fixed, models={"one": "mock/fast", "two": "mock/broken"}, runs=5) if kind == "workflow" else None
    target = ["ask.yaml"] if kind == "workflow" else ["--target", f"python:{modules}:shout"]
    command = ["bench", *target, "--configs", str(file or shout_file(tmp_path)), "--json"]
    local = flowgauge(*command, "--db", "local.db")
    spread = flowgauge(*command, "--db", "process.db", "--executor", "process", "--workers", "2")
    assert (local.code, spread.code) == (0, 0), spread.err
    assert [result(trial) for trial in spread.report.trials] == [result(trial) for trial in local.report.trials]
    assert len({trial.run_id for trial in spread.report.trials}) == len(local.report.trials)


def test_a_data_set_of_a_thousand_rows(flowgauge: Program, tmp_path: Path) -> None:
    with (tmp_path / "numbers.csv").open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["id", "word", "expected.loud", "tag.third"])
        writer.writerows([f"w{number}", f"word {number}", f"WORD {number}", number % 3 == 0] for number in range(1000))
    (tmp_path / "thousand.py").write_text("async def shout(word):\n    return word.upper()\n")
    checks = [{"type": "equals", "value": "{{ expected.loud }}"}]
    file = bench_file(tmp_path, configs=[{"name": "one"}], state_variants=[], dataset="numbers.csv", checks=checks, max_concurrent_runs=50)
    done = flowgauge("bench", "--target", "python:thousand:shout", "--configs", file, "--json")
    assert done.code == 0, done.err
    assert passed(done.report) == {"one": (1000, 1000)}
    assert {trial.case for trial in done.report.trials} == {f"w{number}" for number in range(1000)}
    thirds = flowgauge("bench", "--target", "python:thousand:shout", "--configs", file, "--filter", "tag.third=True", "--dry-run", "--json")
    assert msgspec.json.decode(thirds.out)["estimate"]["trials"] == 334


def test_labelled_rows_are_checked_against_gold(flowgauge: Program) -> None:
    report = flowgauge("bench", EXAMPLES / "support.yaml", "--configs", EXAMPLES / "labelled.yaml", "--json").report
    assert {trial.case for trial in report.trials} >= {"charged-twice", "rechnung"}
    gold = {case.name: case.expected["label"] for case in report.summary.bench.definition.cases}
    for trial in report.trials:
        (check,) = [check for check in trial.checks if check.name == "label"]
        assert check.passed == (trial.answer.output["label"] == gold[trial.case]) == trial.ok
    assert {trial.ok for trial in report.trials} == {True, False}


def shout_here(word: str, config: dict[str, str]) -> str:
    return word.upper() + config["mark"]


def test_from_python(flowgauge: Program, tmp_path: Path) -> None:
    """What the command measures, the function gives as values; and the command sees it."""
    seen: list[Trial] = []
    found = fg.bench(
        "ask.yaml", configs=str(bench_file(tmp_path, models={"mini": "mock/fast", "dear": "mock/expensive"})), runs=5, on_trial=seen.append
    )
    assert set(found.configs) == {"mini", "dear"}
    mini = found.configs["mini"]
    assert mini.latency is not None
    assert 0 < mini.latency.p95 < found.configs["dear"].latency.p50  # type: ignore[union-attr]
    assert (found.cheapest, found.fastest, mini.success.count) == ("mini", "mini", 5)
    assert {trial.run_id for trial in seen} == {trial.run_id for trial in found.trials()}
    assert found.to_markdown().startswith(f"# Bench {found.bench_id}")
    found.write(tmp_path / "report.csv")
    assert len((tmp_path / "report.csv").read_text().splitlines()) == 11
    assert flowgauge("report", found.bench_id, "--json").report.summary == found.outcome.summary


def test_a_callable_and_plain_values_from_python_inside_a_loop(tmp_path: Path) -> None:
    configs = {"configs": [config("plain", mark=""), config("marked", mark="!")], "cases": WORDS}
    found = asyncio.run(fg.abench(shout_here, configs, runs=3, name="shouting", db=str(tmp_path / "store.db")))
    assert found.bench_id.startswith("shouting-")
    assert {trial.answer.output for trial in found.trials()} == {"TIDE", "MOON", "TIDE!", "MOON!"}
    assert len(list(found.trials())) == 12
