"""From two benches to a decision, as a team would type it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from tests.app.git_folder import GitFolder
from tests.bench.program import Program, bench_file, questions

from flowgauge.providers.prices.table import table
from flowgauge.report.compare_report import CompareReport

TWO_STEPS = {
    "name": "two-steps",
    "inputs": [{"name": "question", "type": "string", "required": True}],
    "config": {"model": "mock/fast"},
    "nodes": [
        {"id": "look_up", "type": "ai", "prompt": "{{ inputs.question }} facts?", "config": {"extra": {"mock": {"latency_ms": 4}}}},
        {
            "id": "reply",
            "type": "ai",
            "needs": ["look_up"],
            "prompt": "{{ nodes.look_up.text }} yes?",
            "config": {"extra": {"mock": {"latency_ms": 4}}},
        },
    ],
    "output": "{{ nodes.reply.text }}",
}


def two_steps(folder: Path, **latency_ms: float) -> Path:
    """A workflow of two calls, each as slow as said."""
    value = json.loads(json.dumps(TWO_STEPS))
    for node in value["nodes"]:
        node["config"]["extra"]["mock"]["latency_ms"] = latency_ms.get(node["id"], 4)
    path = folder / "two-steps.yaml"
    path.write_text(yaml.safe_dump(value, sort_keys=False))
    return path


def compare_report(text: str) -> CompareReport:
    return msgspec.json.decode(text, type=CompareReport)


def gated(flowgauge: Program, *arguments: str) -> tuple[int, CompareReport]:
    done = flowgauge("gate", *arguments, "--json")
    assert done.out, done.err
    return done.code, compare_report(done.out)


def line_of(report: CompareReport, subject: str) -> Any:
    assert report.gate is not None
    return next(line for line in report.gate.lines if line.subject == subject)


def test_a_node_that_was_made_slower_fails_the_gate_and_is_named(flowgauge: Program, tmp_path: Path) -> None:
    configs = bench_file(tmp_path, models={"only": "mock/fast"}, runs=20, max_concurrent_runs=1)
    assert flowgauge("bench", two_steps(tmp_path), "--configs", configs).code == 0
    assert flowgauge("baseline", "set", "release", "latest").code == 0
    assert flowgauge("bench", two_steps(tmp_path, reply=12), "--configs", configs).code == 0
    code, report = gated(flowgauge, "--baseline", "release", "--metric", "duration_ms")
    assert code == 1
    slow = line_of(report, "duration_ms")
    assert (slow.status, slow.verdict) == ("failed", "regressed")
    assert "reply" in slow.words
    assert report.verdicts.nodes[0].node_id == "reply"
    assert report.verdicts.nodes[0].significant
    assert report.verdicts.nodes[0].share is not None
    assert report.verdicts.nodes[0].share > 0.8


def test_a_price_that_rose_is_a_regression_of_cost_alone_and_the_price_table_is_named(
    flowgauge: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs = bench_file(tmp_path, models={"only": "mock/fast"}, runs=30, max_concurrent_runs=1)
    workflow = two_steps(tmp_path)
    for price in (1.0, 2.0):
        prices = tmp_path / f"prices-{price}.yaml"
        prices.write_text(yaml.safe_dump({"mock/fast": {"prompt_per_1m": price, "completion_per_1m": price}}))
        monkeypatch.setenv("FLOWGAUGE_PRICES", str(prices))
        table.cache_clear()
        assert flowgauge("bench", workflow, "--configs", configs, "--new").code == 0
        if price == 1.0:
            assert flowgauge("baseline", "set", "release", "latest").code == 0
    table.cache_clear()
    code, report = gated(flowgauge, "--baseline", "release", "--tolerance", "0.3")
    verdicts = {metric.metric: metric for metric in report.verdicts.metrics}
    assert code == 1
    assert verdicts["cost_usd"].verdict == "regressed"
    assert verdicts["cost_usd"].ratio == pytest.approx(2.0)
    assert verdicts["duration_ms"].verdict in ("unchanged", "improved")
    assert [difference.what for difference in report.verdicts.differences] == ["price_table"]
    assert flowgauge("gate", "--baseline", "release", "--strict").code == 3


def test_what_only_met_rate_limits_is_not_measured(flowgauge: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert flowgauge("bench", "ask.yaml", "--configs", bench_file(tmp_path, models={"only": "mock/fast"}, runs=5)).code == 0
    assert flowgauge("baseline", "set", "release", "latest").code == 0
    (tmp_path / "profiles.yaml").write_text("profiles: {limited: {like: fast, faults: [{kind: rate_limited, retry_after_s: 0.001}]}}")
    monkeypatch.setenv("FLOWGAUGE_MOCK_PROFILES", str(tmp_path / "profiles.yaml"))
    limited = bench_file(tmp_path, models={"only": "mock/limited"}, runs=5)
    assert flowgauge("bench", "ask.yaml", "--configs", limited).code == 3
    code, report = gated(flowgauge, "--baseline", "release")
    assert code == 3
    assert report.gate is not None
    assert report.gate.status == "not_measured"
    assert "rate_limited" in report.gate.lines[0].words


@pytest.mark.parametrize(
    ("baseline", "attempt"),
    [
        pytest.param("nobody", "no_baseline", id="a name that nothing stands under"),
        pytest.param("latest", "self_baseline", id="the candidate itself"),
        pytest.param("merge-base:main", "fetch_failed", id="a merge base outside a repository"),
    ],
)
def test_a_gate_without_a_baseline_is_not_measured(flowgauge: Program, tmp_path: Path, baseline: str, attempt: str) -> None:
    assert flowgauge("bench", "ask.yaml", "--configs", bench_file(tmp_path, models={"only": "mock/fast"}, runs=3)).code == 0
    code, report = gated(flowgauge, "--baseline", baseline)
    assert (code, report.comparison_status) == (3, attempt)
    assert report.comparison_error


def test_the_merge_base_of_a_branch_is_its_baseline(flowgauge: Program, tmp_path: Path) -> None:
    repository = GitFolder(tmp_path)
    configs = bench_file(tmp_path, models={"only": "mock/fast"}, runs=5)
    (tmp_path / ".gitignore").write_text(".flowgauge/\n")
    base = repository.commit("the base")
    assert flowgauge("bench", "ask.yaml", "--configs", configs).code == 0
    repository.git("switch", "--quiet", "-c", "feature")
    repository.commit("a change")
    assert flowgauge("bench", "ask.yaml", "--configs", configs, "--new").code == 0
    code, report = gated(flowgauge, "--baseline", "merge-base:main", "--metric", "tokens_prompt")
    assert code == 0
    assert report.verdicts.baseline_commit == base
    assert report.verdicts.baseline == f"merge-base:main ({base[:7]})"


def test_after_a_new_price_table_the_merge_base_is_found_and_the_difference_told(
    flowgauge: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = GitFolder(tmp_path)
    configs = bench_file(tmp_path, models={"only": "mock/fast"}, runs=5)
    prices = tmp_path / ".flowgauge" / "prices.yaml"
    prices.parent.mkdir()
    (tmp_path / ".gitignore").write_text(".flowgauge/\n")
    base = repository.commit("the base")
    monkeypatch.setenv("FLOWGAUGE_PRICES", str(prices))
    for price in (1.0, 2.0):
        prices.write_text(yaml.safe_dump({"mock/fast": {"prompt_per_1m": price, "completion_per_1m": price}}))
        table.cache_clear()
        assert flowgauge("bench", "ask.yaml", "--configs", configs, "--new").code == 0
        if price == 1.0:
            repository.git("switch", "--quiet", "-c", "feature")
            repository.commit("a change")
    table.cache_clear()
    code, report = gated(flowgauge, "--baseline", "merge-base:main", "--metric", "cost_usd")
    assert code == 1
    assert report.verdicts.baseline_commit == base
    assert [difference.what for difference in report.verdicts.differences] == ["price_table"]
    assert flowgauge("gate", "--baseline", "merge-base:main", "--metric", "cost_usd", "--strict").code == 3
    other = bench_file(tmp_path, models={"only": "mock/fast"}, runs=5, state_variants=questions(2))
    assert flowgauge("bench", "ask.yaml", "--configs", other, "--new").code == 0
    code, report = gated(flowgauge, "--baseline", "merge-base:main")
    assert (code, report.comparison_status) == (3, "no_baseline")


def test_a_baseline_tells_what_it_stood_on_before(flowgauge: Program, tmp_path: Path) -> None:
    for place, note in enumerate(("shipped", "faster", "")):
        assert flowgauge("ingest", ingested(tmp_path, f"{place}.json", [100 - place], 1_700_000_000_000 + place)).code == 0
        assert flowgauge("baseline", "set", "main", "search", *(["--note", note] if note else [])).code == 0
    listed = msgspec.json.decode(flowgauge("benchmark", "list", "--json").out)["benchmarks"]
    newest, middle, oldest = (each["sid"] for each in listed)
    assert flowgauge("benchmark", "rm", oldest).code == 0
    found = msgspec.json.decode(flowgauge("baseline", "show", "main", "--json").out)
    assert (found["baseline"]["benchmark_sid"], found["benchmark"]["sid"]) == (newest, newest)
    assert [(each["benchmark_sid"], each["note"]) for each in found["history"]] == [(middle, "faster"), (oldest, "shipped")]
    lines = flowgauge("baseline", "show", "main").out.splitlines()
    rows = [next(line for line in lines if sid in line) for sid in (newest, middle, oldest)]
    assert rows == sorted(rows, key=lines.index)
    assert "search" in rows[1]
    assert "faster" in rows[1]
    assert "gone" in rows[2]
    page = flowgauge("baseline", "show", "main", "--limit", "1")
    assert oldest not in page.out
    assert oldest in flowgauge("baseline", "show", "main", "--cursor", page.err.split()[-1]).out


def test_an_import_tells_which_of_two_baselines_stays(flowgauge: Program, tmp_path: Path) -> None:
    for db, value in (("theirs.db", 90), ("ours.db", 100)):
        assert flowgauge("ingest", ingested(tmp_path, f"{value}.json", [value], 1_700_000_000_000 + value), "--db", db).code == 0
        assert flowgauge("baseline", "set", "main", "search", "--db", db).code == 0
    assert flowgauge("store", "export", "theirs.jsonl", "--db", "theirs.db").code == 0
    sids = [
        msgspec.json.decode(flowgauge("baseline", "show", "main", "--json", "--db", db).out)["baseline"]["benchmark_sid"]
        for db in ("ours.db", "theirs.db")
    ]
    done = flowgauge("store", "import", "theirs.jsonl", "--db", "ours.db")
    assert done.code == 0
    assert f"The baseline main is still {sids[0]}: it was set later than {sids[1]}." in done.out.splitlines()


def ingested(folder: Path, name: str, values: list[float], at: int, commit: str = "") -> Path:
    metric = {"value": sum(values) / len(values), "direction": "lower", "unit": "ms", "samples": values}
    body = {"subject": "search", "measured_at": at, **({"commit": commit} if commit else {}), "metrics": {"duration_ms": metric}}
    path = folder / name
    path.write_text(json.dumps(body))
    return path


def test_a_trend_finds_a_step_and_a_drift(flowgauge: Program, tmp_path: Path) -> None:
    noise = [0.99, 1.01, 1.0, 0.985, 1.012, 0.995, 1.007, 0.99, 1.003, 1.01]
    commits = [f"{number:040x}" for number in range(1, 31)]
    for number, commit in enumerate(commits):
        level = 100.0 * (1.25 if number >= 10 else 1.0) * (1.02 ** max(0, number - 19))
        path = ingested(
            tmp_path,
            f"{number}.json",
            [level * noise[number % 10] * (1 + spread) for spread in (-0.01, 0, 0.01)],
            1_700_000_000_000 + number * 86_400_000,
            commit,
        )
        assert flowgauge("ingest", path).code == 0
    found = msgspec.json.decode(flowgauge("trend", "search", "--json").out)
    trend = found["trends"][0]
    kinds = {change["kind"]: change for change in trend["changes"]}
    assert trend["trend"] == "declining"
    assert kinds["step"]["index"] == 10
    assert kinds["step"]["commit"] == commits[10]
    assert abs(kinds["drift"]["index"] - 20) <= 2
    assert all(change["harmful"] for change in trend["changes"])
    shown = flowgauge("trend", "search").out
    assert "step" in shown
    assert commits[10][:7] in shown
    for name in ("trend.svg", "trend.html"):
        assert flowgauge("trend", "search", "-o", name).code == 0
        assert commits[10][:7] in (tmp_path / name).read_text()


def test_results_from_elsewhere_are_gated_like_any_other(flowgauge: Program, tmp_path: Path) -> None:
    assert flowgauge("ingest", ingested(tmp_path, "a.json", [100, 101, 99, 100, 102, 98], 1_700_000_000_000)).code == 0
    assert flowgauge("baseline", "set", "main", "search").code == 0
    assert flowgauge("ingest", ingested(tmp_path, "b.json", [140, 141, 139, 142, 138, 140], 1_700_000_100_000)).code == 0
    code, report = gated(flowgauge, "search", "--baseline", "main")
    assert code == 1
    assert line_of(report, "duration_ms").verdict == "regressed"


def test_the_same_file_read_twice_is_one_benchmark(flowgauge: Program, tmp_path: Path) -> None:
    path = ingested(tmp_path, "a.json", [1, 2, 3], 1_700_000_000_000)
    assert flowgauge("ingest", path).code == flowgauge("ingest", path).code == 0
    assert len(msgspec.json.decode(flowgauge("benchmark", "list", "--json").out)["benchmarks"]) == 1


def test_real_results_of_pytest_benchmark_are_gated(flowgauge: Program, tmp_path: Path) -> None:
    test = "def test_sum(benchmark):\n    benchmark.pedantic(lambda: sum(range(N)), rounds=30)\n"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    for name, size in (("old", 20_000), ("new", 80_000)):
        (tmp_path / "test_speed.py").write_text(f"N = {size}\n{test}")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--benchmark-save-data", f"--benchmark-json={name}.json"]
        subprocess.run([*command, "test_speed.py"], cwd=tmp_path, env=clean, check=True, capture_output=True)
        assert flowgauge("ingest", tmp_path / f"{name}.json").code == 0
        if name == "old":
            assert flowgauge("baseline", "set", "main", "latest").code == 0
    code, report = gated(flowgauge, "--baseline", "main", "--metric", "duration_ms")
    assert code == 1
    assert line_of(report, "duration_ms").verdict == "regressed"


def test_a_bench_runs_until_harm_is_sure_and_no_longer(flowgauge: Program, tmp_path: Path) -> None:
    configs = bench_file(tmp_path, models={"only": "mock/fast"}, runs=10, state_variants=questions(4), max_concurrent_runs=1)
    assert flowgauge("bench", two_steps(tmp_path), "--configs", configs).code == 0
    assert flowgauge("baseline", "set", "release", "latest").code == 0
    slower = two_steps(tmp_path, reply=16)
    gate = tmp_path / "gate.yaml"
    gate.write_text("only: [duration_ms]\nrates: ignore\n")
    done = flowgauge(
        "bench", slower, "--configs", configs, "--runs", "40", "--until-decided", "--baseline", "release", "--policy", gate, "--json"
    )
    assert done.code == 1, done.err
    assert len(done.report.trials) < 40 * 4
    assert "decided after" in done.err
    assert "reply" in done.err


def test_a_bench_that_changes_nothing_ends_when_harm_is_excluded(flowgauge: Program, tmp_path: Path) -> None:
    configs = bench_file(tmp_path, models={"only": "mock/fast"}, runs=10, state_variants=questions(4), max_concurrent_runs=1)
    assert flowgauge("bench", two_steps(tmp_path), "--configs", configs).code == 0
    assert flowgauge("baseline", "set", "release", "latest").code == 0
    gate = tmp_path / "gate.yaml"
    gate.write_text("only: [tokens_prompt]\nrates: ignore\n")
    done = flowgauge(
        "bench",
        two_steps(tmp_path),
        "--configs",
        configs,
        "--runs",
        "40",
        "--new",
        "--until-decided",
        "--baseline",
        "release",
        "--policy",
        gate,
        "--json",
    )
    assert done.code == 0, done.err
    assert len(done.report.trials) == 3 * 4


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(("--until-decided",), "--baseline", id="nothing to decide against"),
        pytest.param(("--baseline", "release"), "--until-decided", id="a baseline that nobody looks at"),
        pytest.param(("--until-decided", "--baseline", "release"), "--filter config", id="two configurations at once"),
        pytest.param(
            ("--until-decided", "--baseline", "release", "--filter", "config=mini", "--policy", "bare.yaml"),
            "--rule detect",
            id="a rule that knows no uncertainty",
        ),
    ],
)
def test_until_decided_refuses_what_it_cannot_decide(flowgauge: Program, tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    assert flowgauge("ingest", ingested(tmp_path, "a.json", [1.0], 1_700_000_000_000)).code == 0
    assert flowgauge("baseline", "set", "release", "search").code == 0
    (tmp_path / "bare.yaml").write_text("rule: threshold\n")
    done = flowgauge("bench", "ask.yaml", "--configs", bench_file(tmp_path), *arguments)
    assert done.code == 2
    assert told in done.err


def test_a_plan_and_a_calibration_come_from_measured_samples(flowgauge: Program, tmp_path: Path) -> None:
    values = [100 * (1 + 0.02 * ((number * 7) % 11 - 5)) for number in range(40)]
    assert flowgauge("ingest", ingested(tmp_path, "a.json", values, 1_700_000_000_000)).code == 0
    plans = msgspec.json.decode(flowgauge("plan", "search", "--metric", "duration_ms", "--effect", "0.2", "--effect", "0.02", "--json").out)
    found = {plan["effect"]: plan["runs"] for plan in plans["plans"]}
    assert found[0.02] is None
    assert 2 <= found[0.2] <= 20
    rows = msgspec.json.decode(flowgauge("calibrate", "search", "--runs", "10", "--effect", "0.2", "--pairs", "100", "--json").out)
    (row,) = rows["calibrations"]
    assert row["false_alarms"]["value"] <= 0.05
    assert row["power"]["0.2"]["value"] > 0.9
