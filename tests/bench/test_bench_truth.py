"""A bench that is taken up, cached or spread over processes measures what it says it measures."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.bench.program import ASK, Program, bench_file, config

from flowgauge.app.bench_job import Setting, workers_db
from flowgauge.app.bench_worker import worker_job
from flowgauge.providers.limits import settings
from flowgauge.providers.limits.limiter import Limit
from flowgauge.store import open_store

DB = ".flowgauge/flowgauge.db"
WAITS = {"extra": {"mock": {"latency_ms": 1}}}
CALLER = """
name: caller
nodes:
  - {id: other, type: workflow, workflow: sub}
output: "{{ nodes.other.output }}"
"""


def sub_workflow(flowgauge: Program, folder: Path, answer: str, name: str = "sub") -> None:
    """Stored, and the version in use."""
    settings = f"{{model: mock/fast, extra: {{mock: {{latency_ms: 1, answer: {answer}}}}}}}"
    nodes = '[{id: reply, type: ai, prompt: "hi"}]'
    (folder / "sub.yaml").write_text(f"name: {name}\nconfig: {settings}\nnodes: {nodes}\noutput: '{{{{ nodes.reply.text }}}}'\n")
    assert flowgauge("workflow", "save", "sub.yaml").code == 0


@pytest.mark.parametrize(
    "again",
    [
        pytest.param(["--resume", "latest"], id="resume"),
        pytest.param(["--retry-errors", "latest"], id="retry errors"),
        pytest.param(["--resume", "latest", "--dry-run"], id="dry run"),
        pytest.param(["--target", "python:secret_target:seen", "--configs", "more.yaml", "--extend", "latest"], id="extend"),
    ],
)
def test_a_definition_that_was_redacted_is_not_run_from_the_store(flowgauge: Program, tmp_path: Path, again: list[str]) -> None:
    (tmp_path / "secret_target.py").write_text("def seen(text):\n    return {'output': len(text)}\n")
    secret = {"name": "key", "state": {"text": "sk-0123456789abcdefghij"}}
    file = bench_file(tmp_path, configs=[{"name": "one"}], state_variants=[secret])
    bench_file(tmp_path, "more.yaml", configs=[{"name": "one"}], state_variants=[{"name": "plain", "state": {"text": "x"}}])
    first = flowgauge("bench", "--target", "python:secret_target:seen", "--configs", file, "--json").report
    refused = flowgauge("bench", *again)
    assert (refused.code, "was redacted" in refused.err) == (2, True)
    after = flowgauge("report", "--json").report
    assert (after.summary.bench, after.trials) == (first.summary.bench, first.trials)


@pytest.mark.parametrize("status", ["interrupted", "budget_exceeded"])
def test_retried_errors_do_not_finish_a_bench_that_was_stopped(
    flowgauge: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: Any
) -> None:
    profile = "profiles: {moody: {like: fast%s}}"
    (tmp_path / "profiles.yaml").write_text(profile % ", faults: [{kind: server_error}]")
    monkeypatch.setenv("FLOWGAUGE_MOCK_PROFILES", str(tmp_path / "profiles.yaml"))
    file = bench_file(tmp_path, models={"steady": "mock/fast", "moody": "mock/moody"}, config=WAITS, runs=10)
    first = flowgauge("bench", "ask.yaml", "--configs", file, "--budget", "0.00001", "-j", "1", "--json").report
    failed = {trial.run_id for trial in first.trials if trial.failure_category}
    assert failed
    assert len(first.trials) < 20
    with open_store(DB) as store:
        store.finish_bench(first.summary.bench.uid, status)
    (tmp_path / "profiles.yaml").write_text(profile % "")
    retried = flowgauge("bench", "--retry-errors", "latest", "--budget", "1", "--json")
    assert retried.report.summary.bench.status == status
    assert not any(trial.failure_category for trial in retried.report.trials)
    assert len(retried.report.trials) == len(first.trials)
    assert f"{len(first.trials) - len(failed)} of {len(first.trials)} trials are done" in retried.err
    assert "--resume asking-" in retried.err
    done = flowgauge("bench", "--resume", "--budget", "1", "--json")
    assert (done.report.summary.bench.status, len(done.report.trials)) == ("finished", 20)


def test_a_cached_bench_owns_no_play_of_the_bench_that_made_its_answers(flowgauge: Program, tmp_path: Path) -> None:
    checks = [{"type": "regex", "path": "nodes.reply.text", "value": "yes|no"}]
    command = ["bench", "ask.yaml", "--configs", str(bench_file(tmp_path, checks=checks)), "--cache", "--json"]
    first, second = flowgauge(*command).report, flowgauge(*command).report
    assert [trial.answer.cached for trial in second.trials] == [True, True]
    assert [trial.passed for trial in second.trials] == [True, True]
    assert [trial.answer.play_sid for trial in second.trials] == ["", ""]
    assert [len(stats.nodes) for stats in first.summary.configs] == [1, 1]
    assert [len(stats.nodes) for stats in second.summary.configs] == [0, 0]
    assert "2 trials, 0 plays" in flowgauge("benchmark", "rm", second.summary.bench.bench_id).out
    assert len(msgspec.json.decode(flowgauge("play", "list", "--json").out)["plays"]) == 2


@pytest.mark.parametrize(
    ("own", "overrides"),
    [
        pytest.param("sub", {}, id="named by the workflow"),
        pytest.param("idle", {"nodes": {"other": {"workflow": "sub"}}}, id="named by an override"),
    ],
)
def test_another_version_of_a_workflow_that_is_named_is_another_bench_and_no_cached_answer(
    flowgauge: Program, tmp_path: Path, own: str, overrides: dict[str, Any]
) -> None:
    sub_workflow(flowgauge, tmp_path, "idle", "idle")
    (tmp_path / "caller.yaml").write_text(CALLER.replace("workflow: sub", f"workflow: {own}"))
    file = bench_file(tmp_path, configs=[{"name": "one", "workflow_overrides": overrides}], state_variants=[{"name": "a", "state": {}}])
    command = ["bench", "caller.yaml", "--configs", str(file), "--cache", "--json"]
    reports = []
    for answer in ("first", "second", "first"):
        sub_workflow(flowgauge, tmp_path, answer)
        reports.append(flowgauge(*command).report)
    assert [report.trials[0].answer.output for report in reports] == ["first", "second", "first"]
    assert [report.trials[0].answer.cached for report in reports] == [False, False, True]
    hashes = [report.summary.bench.definition_hash for report in reports]
    assert hashes[0] == hashes[2] != hashes[1]
    refused = flowgauge("bench", "caller.yaml", "--configs", file, "--cache", "--extend", reports[1].summary.bench.bench_id, "--runs", "2")
    assert (refused.code, "target" in refused.err) == (2, True)


def test_a_bench_goes_on_with_the_version_it_began_with(flowgauge: Program, tmp_path: Path) -> None:
    (tmp_path / "caller.yaml").write_text(CALLER)
    sub_workflow(flowgauge, tmp_path, "first")
    file = bench_file(tmp_path, configs=[{"name": "one"}], state_variants=[{"name": "a", "state": {}}], runs=10)
    begun = flowgauge("bench", "caller.yaml", "--configs", file, "--budget", "0.000004", "-j", "1", "--json")
    assert (begun.code, 0 < len(begun.report.trials) < 10) == (4, True)
    sub_workflow(flowgauge, tmp_path, "second")
    done = flowgauge("bench", "--resume", "latest", "--budget", "1", "--json").report
    assert [trial.answer.output for trial in done.trials] == ["first"] * 10


def test_a_bench_may_be_extended_by_a_configuration_that_names_another_workflow(flowgauge: Program, tmp_path: Path) -> None:
    (tmp_path / "caller.yaml").write_text(CALLER)
    sub_workflow(flowgauge, tmp_path, "first")
    sub_workflow(flowgauge, tmp_path, "other", "second-sub")
    more = {"name": "two", "workflow_overrides": {"nodes": {"other": {"workflow": "second-sub"}}}}
    cases = [{"name": "a", "state": {}}]
    flowgauge("bench", "caller.yaml", "--configs", bench_file(tmp_path, configs=[{"name": "one"}], state_variants=cases))
    file = bench_file(tmp_path, "more.yaml", configs=[more], state_variants=cases, runs=2)
    done = flowgauge("bench", "caller.yaml", "--configs", file, "--extend", "latest", "--json").report
    assert sorted((trial.config, trial.answer.output) for trial in done.trials) == [*[("one", "first")] * 2, *[("two", "other")] * 2]


def fingerprints(flowgauge: Program, *command: str | Path) -> list[dict[str, str]]:
    assert flowgauge("bench", *command).code == 0
    listed = msgspec.json.decode(flowgauge("benchmark", "list", "--json").out)["benchmarks"]
    return [one["fingerprint"] for one in sorted(listed, key=lambda one: (-one["created_at"], one["config"]))]


def test_a_fingerprint_tells_the_providers_and_retries_of_the_workflow_itself(flowgauge: Program, tmp_path: Path) -> None:
    file = bench_file(tmp_path, configs=[{"name": "as it is"}])
    found = []
    for tries in (2, 2, 3):
        (tmp_path / "ask.yaml").write_text(ASK.replace("max: 2", f"max: {tries}"))
        found.append(fingerprints(flowgauge, "ask.yaml", "--configs", file, "--new")[0])
    assert [one["provider"] for one in found] == ["mock"] * 3
    assert "" != found[0]["retry_policy"] == found[1]["retry_policy"] != found[2]["retry_policy"]


def test_a_fingerprint_tells_the_providers_of_workflows_that_are_named(flowgauge: Program, tmp_path: Path) -> None:
    (tmp_path / "caller.yaml").write_text(CALLER)
    sub_workflow(flowgauge, tmp_path, "yes")
    file = bench_file(tmp_path, configs=[{"name": "one"}], state_variants=[{"name": "a", "state": {}}])
    assert fingerprints(flowgauge, "caller.yaml", "--configs", file)[0]["provider"] == "mock"


def test_workers_are_told_of_a_server_as_it_was_asked_for_and_of_a_file_by_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres_url: str
) -> None:
    url = postgres_url.replace("postgres:@", "postgres:swordfish@")
    assert "swordfish" in url
    monkeypatch.chdir(tmp_path)
    with open_store(url) as store:
        assert workers_db(store, url) == url
        assert workers_db(store, "") == "", "they read FLOWGAUGE_DB by themselves"
    with open_store("store.db") as store:
        assert workers_db(store, "store.db") == str(tmp_path / "store.db")


def test_processes_meet_in_a_store_that_only_the_environment_names(
    flowgauge: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres_url: str
) -> None:
    monkeypatch.setenv("FLOWGAUGE_DB", postgres_url)
    command = ["bench", "ask.yaml", "--configs", bench_file(tmp_path, runs=2), "--executor", "process", "--workers", "2", "--json"]
    report = flowgauge(*command).report
    assert [trial.ok for trial in report.trials] == [True] * 4
    assert len(msgspec.json.decode(flowgauge("play", "list", "--json").out)["plays"]) == 4


def test_a_worker_has_its_part_of_every_limit(flowgauge: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.VARIABLE, "openai=rpm:500,tpm:9,concurrency:9; mock=concurrency:1")
    monkeypatch.setattr(settings, "_shared", None)
    record = flowgauge("bench", "ask.yaml", "--configs", bench_file(tmp_path), "--json").report.summary.bench

    async def limits_in_a_worker() -> Mapping[str, Limit]:
        payload = msgspec.json.encode(Setting(record=record, db=str(tmp_path / DB), workers=4))
        async with worker_job(payload):
            return settings.shared().settings

    found = asyncio.run(limits_in_a_worker())
    assert found["openai"] == Limit(rpm=125, tpm=2.25, concurrency=2)
    assert found["mock"] == Limit(concurrency=1)
    assert found["*"] == Limit(concurrency=64)


def test_resume_alone_is_the_newest_bench_and_an_unknown_one_is_told_where_to_look(flowgauge: Program, tmp_path: Path) -> None:
    flowgauge("bench", "ask.yaml", "--configs", bench_file(tmp_path, config=WAITS, runs=10), "--budget", "0.00001", "-j", "1")
    done = flowgauge("bench", "--resume", "--budget", "1", "--json")
    assert (done.code, len(done.report.trials)) == (0, 20)
    unknown = flowgauge("bench", "--resume", "nothing")
    assert (unknown.code, "flowgauge benchmark list" in unknown.err) == (2, True)


def test_the_number_of_workers_is_what_limits_are_divided_by(flowgauge: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more workers than trials at once."""
    seen: list[int] = []

    def told(**fields: Any) -> Setting:
        seen.append(fields["workers"])
        return Setting(**fields)

    monkeypatch.setattr("flowgauge.app.bench.Setting", told)
    file = bench_file(tmp_path, configs=[config("one", model="mock/fast")])
    flowgauge("bench", "ask.yaml", "--configs", file, "--executor", "process", "--workers", "3", "-j", "2")
    flowgauge("bench", "ask.yaml", "--configs", file, "--workers", "3")
    assert seen == [2, 1]
