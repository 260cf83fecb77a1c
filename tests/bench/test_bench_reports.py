"""One bench, every report; and benches in which configurations go wrong, each in its own way."""

from __future__ import annotations

import csv
import io
import os
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import msgspec
import pytest
from tests.bench.program import EXAMPLES, PROFILES, Program, bench_file, config, variant

from flowgauge.report.bench_json import BenchReport, bench_report_json_schema


def test_thirty_trials_in_every_format(flowgauge: Program, tmp_path: Path) -> None:
    """3 configurations × 2 variants × 5 runs, from one command."""
    outs = [tmp_path / f"report.{ending}" for ending in ("md", "html", "json", "jsonl", "csv", "xml")]
    named = [word for out in outs for word in ("-o", str(out))]
    done = flowgauge("bench", EXAMPLES / "support.yaml", "--configs", EXAMPLES / "configs.yaml", *named)
    assert done.code == 0
    markdown, html, whole, lines, table, junit = (out.read_bytes() for out in outs)
    value = msgspec.json.decode(whole)
    jsonschema.validate(value, bench_report_json_schema(), cls=jsonschema.Draft202012Validator)
    run_ids = {trial["run_id"] for trial in value["trials"]}
    assert len(run_ids) == 30
    assert {msgspec.json.decode(line)["run_id"] for line in lines.splitlines()} == run_ids
    assert {row["run_id"] for row in csv.DictReader(io.StringIO(table.decode(), newline=""))} == run_ids
    suites = ET.fromstring(junit).findall(".//testsuite")
    assert {suite.get("name"): len(suite.findall("testcase")) for suite in suites} == {
        "small": 10, "large": 10, "large-sorts-small-writes": 10,
    }  # fmt: skip
    assert b"30 of 30 runs" in markdown
    assert html.lstrip()[:15].lower() == b"<!doctype html>"
    assert all(run_id.encode() in html for run_id in run_ids)


def test_a_stored_bench_is_reported_again_with_the_same_figures(flowgauge: Program, tmp_path: Path) -> None:
    first = flowgauge("bench", "ask.yaml", "--configs", bench_file(tmp_path, runs=3), "--json").report
    again = flowgauge("report", first.summary.bench.bench_id, "--json").report
    assert (again.summary, again.trials) == (first.summary, first.trials)
    flowgauge("benchmark", "export", "latest", tmp_path / "exported.json")
    assert msgspec.json.decode((tmp_path / "exported.json").read_bytes(), type=BenchReport).summary == first.summary
    assert "# Bench asking-" in flowgauge("report").out
    shown = flowgauge("benchmark", "show", "latest")
    assert shown.code == 0
    assert "one" in shown.out


@pytest.mark.parametrize("text", ["=HYPERLINK(1)", "+1", "-1+1", "@SUM(A1)", "\tx"])
def test_csv_runs_no_formula_that_a_model_wrote(flowgauge: Program, tmp_path: Path, text: str) -> None:
    file = bench_file(tmp_path, config={"extra": {"mock": {"answer": text}}})
    done = flowgauge("bench", "ask.yaml", "--configs", file, "--report", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out, newline="")))
    assert len(rows) == 2
    assert {row["output"] for row in rows} == {f"'{text}"}


def test_html_runs_nothing_that_a_model_wrote(flowgauge: Program, tmp_path: Path) -> None:
    attack = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    file = bench_file(tmp_path, config={"extra": {"mock": {"answer": attack}}})
    page = flowgauge("bench", "ask.yaml", "--configs", file, "--report", "html").out
    assert "alert(1)" in page
    assert "<script>alert(1)" not in page
    assert "<img src=x" not in page


def in_trouble(tmp_path: Path, server: str) -> Path:
    away = {"base_url": f"{server}/v1"}
    configs = [
        config("fine", model="mock/fast"),
        config("broken", model="mock/broken"),
        config("paced", model="openai/paced", **away),
        config("limited", model="openai/limited", **away),
        config("unheard-of", model="openai/unheard-of", **away),
        config("unreachable", model="openai/gpt-4o-mini", base_url="http://127.0.0.1:9/v1"),
    ]
    return bench_file(tmp_path, configs=configs, runs=2, state_variants=[variant("sky", "Is it blue?"), variant("sea", "Is it deep?")])


def test_every_kind_of_trouble_is_told_apart(flowgauge: Program, tmp_path: Path, mock_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-that-nobody-checks")
    done = flowgauge("bench", "ask.yaml", "--configs", in_trouble(tmp_path, mock_server), "-j", "12", "--json")
    assert done.code == 0
    summary = done.report.summary
    cells = {found.name: found.overall for found in summary.configs}
    assert {name: cell.success.count for name, cell in cells.items()} == {
        "fine": 4, "broken": 0, "paced": 4, "limited": 0, "unheard-of": 4, "unreachable": 0,
    }  # fmt: skip
    assert cells["broken"].failures == {"provider_error": 4}
    assert cells["limited"].failures == {"rate_limited": 4}
    assert cells["unreachable"].failures == {"connection": 4}
    assert (cells["paced"].retries, cells["limited"].retries) == (4, 8)
    assert cells["paced"].backoff_ms_total >= 4 * 20
    assert cells["unheard-of"].cost_usd_total is None
    assert cells["unheard-of"].cost_source == "unpriced"
    assert summary.cheapest is not None
    assert summary.cheapest.config == "fine"
    assert "unheard-of" not in summary.pareto
    assert any("unheard-of" in note and "no known price" in note for note in summary.notes)
    told = flowgauge("report", "latest").out
    for words in (
        "| broken        | provider_error | no ",
        "| limited       | rate_limited   | no ",
        "| unreachable   | connection     | no ",
    ):
        assert words in told
    assert "$0 (unpriced)" in told
    junit = ET.fromstring(flowgauge("report", "--report", "junit").out)
    assert len(junit.findall(".//error")) == 12
    assert junit.findall(".//failure") == []


def test_a_wrong_answer_is_a_failure_of_the_target(flowgauge: Program, tmp_path: Path) -> None:
    file = bench_file(tmp_path, checks=[{"type": "equals", "value": "maybe"}])
    done = flowgauge("bench", "ask.yaml", "--configs", file, "--report", "junit")
    assert done.code == 0
    junit = ET.fromstring(done.out)
    assert len(junit.findall(".//failure")) == 2
    assert junit.findall(".//error") == []
    trial = flowgauge("report", "--json").report.trials[0]
    assert (trial.answer.status, trial.passed, trial.failure_category, trial.ok) == ("success", False, "wrong_answer", False)
    shown = flowgauge("trial", "show", trial.run_id)
    assert shown.code == 0
    assert "maybe" in shown.out
    assert trial.run_id in flowgauge("trial", "list", "latest", "--config", trial.config).out


@pytest.mark.parametrize(
    ("rules", "code", "words"),
    [
        pytest.param(["success_rate=0.9"], 0, [], id="all succeed"),
        pytest.param(["pass_rate>=0.5"], 1, ["one: pass_rate is 0", "two: pass_rate is 0"], id="none passes a required check"),
        pytest.param(["p95_ms<=60000", "cost_usd<=0.000000001"], 1, ["one: cost_usd is", "two: cost_usd is"], id="cheap enough?"),
        pytest.param(["score.elegance>=0.5"], 1, ["one: score.elegance is not known"], id="an unknown value meets no bound"),
        pytest.param(["check.guess>=0.5"], 1, ["one: check.guess is 0"], id="one check"),
        pytest.param(["beauty=1"], 2, ["There is no metric 'beauty'"], id="no such metric"),
        pytest.param(["success_rate"], 2, ["is no rule"], id="no rule"),
    ],
)
def test_fail_under(flowgauge: Program, tmp_path: Path, rules: list[str], code: int, words: list[str]) -> None:
    checks = [{"type": "equals", "value": "maybe", "name": "guess"}] if any("pass" in rule or "check" in rule for rule in rules) else []
    file = bench_file(tmp_path, checks=checks, runs=2)
    done = flowgauge("bench", "ask.yaml", "--configs", file, *(word for rule in rules for word in ("--fail-under", rule)))
    assert done.code == code, done.err
    assert [word for word in words if word not in done.err] == []


@pytest.mark.parametrize("model", ["openai/limited", "openai/gpt-4o-mini"], ids=["every answer is 429", "nobody listens"])
def test_nothing_measurable_is_exit_code_3(
    flowgauge: Program, tmp_path: Path, mock_server: str, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-that-nobody-checks")
    url = f"{mock_server}/v1" if model == "openai/limited" else "http://127.0.0.1:9/v1"
    done = flowgauge("bench", "ask.yaml", "--configs", bench_file(tmp_path, models={"one": model}, config={"base_url": url}), "--json")
    assert done.code == 3
    assert "Nothing could be measured" in done.err
    assert len(done.report.trials) == 1


def test_settings_and_keys_from_an_env_file(flowgauge: Program, tmp_path: Path) -> None:
    """A setting is used, a key is hidden wherever it turns up."""
    key = "sk-from-the-file-0123456789"
    file = bench_file(tmp_path, models={"one": "mock/paced"}, state_variants=[variant("key", f"Is {key} a key?")])
    assert flowgauge("bench", "ask.yaml", "--configs", file).code == 3
    (tmp_path / "profiles.yaml").write_text(PROFILES)
    (tmp_path / ".env").write_text(f"# ours\nexport SOME_API_KEY='{key}'\nFLOWGAUGE_MOCK_PROFILES=profiles.yaml # not built in\n")
    try:
        done = flowgauge("bench", "ask.yaml", "--configs", file, "--env-file", ".env", "--json")
    finally:
        for name in ("SOME_API_KEY", "FLOWGAUGE_MOCK_PROFILES"):
            os.environ.pop(name, None)
    assert done.code == 0
    assert done.report.trials[0].ok
    assert key not in done.out
    assert "[redacted]" in done.out
    (tmp_path / "bad.env").write_text("no assignment\n")
    refused = flowgauge("bench", "ask.yaml", "--configs", file, "--env-file", "bad.env")
    assert (refused.code, "bad.env:1" in refused.err) == (2, True)


def test_all_mistakes_are_told_before_anything_runs(flowgauge: Program, tmp_path: Path) -> None:
    file = bench_file(
        tmp_path, configs=[config("one", model="mock/fast"), {"name": "one", "workflow_overrides": {"nodes": {"replay": {"prompt": "x"}}}}],
        checks=[{"type": "equal", "value": 1}], runs=0,
    )  # fmt: skip
    done = flowgauge("bench", "ask.yaml", "--configs", file)
    assert done.code == 2
    assert done.err.count("configs.yaml:") >= 4
    assert flowgauge("benchmark", "list", "--json").out.count('"sid"') == 0


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="no target"),
        pytest.param(["ask.yaml", "--target", "command:true"], id="two targets"),
        pytest.param(["--target", "ftp://x"], id="no kind of target"),
        pytest.param(["--target", "python:no_such_module:f"], id="no such module"),
        pytest.param(["no-such-workflow"], id="no such workflow"),
        pytest.param(["ask.yaml", "-o", "report.docx"], id="no such format"),
        pytest.param(["--resume", "no-such-bench"], id="no such bench"),
        pytest.param(["--retry-errors", "no-such-bench"], id="no such bench to retry"),
    ],
)
def test_wrong_use_is_exit_code_2_with_a_next_step(flowgauge: Program, arguments: list[str]) -> None:
    done = flowgauge("bench", *arguments)
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert done.out == ""
