"""A bench that stops is gone on with: budgets, Ctrl-C, errors retried, more added, ids."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.bench.conftest import CountingServer
from tests.bench.program import ASK, Program, bench_file, config, questions, started, variant

from flowgauge.report.bench_json import BenchReport
from flowgauge.store import open_store

WAITS = {"extra": {"mock": {"latency_ms": 1}}}
"""A model that takes a moment, as all do: between two trials there is time to add up what was spent."""


def places(report: BenchReport) -> set[tuple[str, str, int]]:
    return {(trial.config, trial.case, trial.repetition) for trial in report.trials}


def test_a_spent_budget_is_exit_code_4_and_resume_finishes_with_more(flowgauge: Program, tmp_path: Path) -> None:
    file = bench_file(tmp_path, config=WAITS, runs=10)
    first = flowgauge("bench", "ask.yaml", "--configs", file, "--budget", "0.00001", "-j", "1", "--json")
    assert first.code == 4
    assert "--resume asking-" in first.err
    assert 0 < len(first.report.trials) < 20
    assert sum(trial.answer.cost_usd or 0 for trial in first.report.trials) <= 0.00001
    assert first.report.summary.bench.status == "budget_exceeded"
    bench_id = first.report.summary.bench.bench_id
    still_spent = flowgauge("bench", "--resume", bench_id, "--json")
    assert (still_spent.code, len(still_spent.report.trials)) == (4, len(first.report.trials))
    done = flowgauge("bench", "--resume", bench_id, "--budget", "1", "--json")
    assert done.code == 0
    assert len(places(done.report)) == len(done.report.trials) == 20
    assert {trial.run_id: trial for trial in first.report.trials}.items() <= {trial.run_id: trial for trial in done.report.trials}.items()
    assert (done.report.summary.bench.status, done.report.summary.bench.bench_id) == ("finished", bench_id)


def test_a_budget_counts_what_earlier_sessions_spent_beside_unpriced_trials(
    flowgauge: Program, tmp_path: Path, counting_server: CountingServer
) -> None:
    """One configuration has no price: what the other spent is still known."""
    configs = [config("priced", model="mock/fast"), config("unpriced", model="openai/unheard-of", base_url=f"{counting_server.url}/v1")]
    file = bench_file(tmp_path, configs=configs, runs=10)
    first = flowgauge("bench", "ask.yaml", "--configs", file, "--budget", "0.00001", "-j", "1", "--json")
    assert first.code == 4
    again = flowgauge("bench", "ask.yaml", "--configs", file, "--budget", "0.00001", "-j", "1", "--json")
    assert (again.code, len(again.report.trials)) == (4, len(first.report.trials))


def interrupted(tmp_path: Path, number: signal.Signals) -> tuple[int, str, BenchReport]:
    """A bench of 40 trials, stopped by a signal when the first of them are stored."""
    (tmp_path / "ask.yaml").write_text(ASK)
    file = bench_file(
        tmp_path, models={"one": "mock/default", "two": "mock/default"}, config={"extra": {"mock": {"latency_ms": 60}}}, runs=20
    )
    process = started("bench", "ask.yaml", "--configs", str(file), "-j", "2", "--json", cwd=tmp_path)
    wait_for_trials(process, tmp_path / ".flowgauge" / "flowgauge.db", 3)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    return process.returncode, err, msgspec.json.decode(out, type=BenchReport)


def wait_for_trials(process: subprocess.Popen[str], db: Path, count: int) -> str:
    """The id of the bench, when so many of its trials are stored."""
    while process.poll() is None:
        if db.exists():
            with open_store(str(db)) as store:
                there = store.list_benches(limit=1).items
                if there and len(store.finished_run_ids(there[0].uid)) >= count:
                    return there[0].bench_id
        time.sleep(0.02)
    raise AssertionError(f"the bench ended before it came that far: {process.communicate()}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_exit_code_130_and_the_same_command_finishes(flowgauge: Program, tmp_path: Path, number: signal.Signals) -> None:
    code, err, report = interrupted(tmp_path, number)
    assert code == 130, err
    assert f"--resume {report.summary.bench.bench_id}" in err
    assert report.summary.bench.status == "interrupted"
    assert 3 <= len(report.trials) < 40
    assert all(trial.ok for trial in report.trials)
    done = flowgauge("bench", "ask.yaml", "--configs", "configs.yaml", "-j", "20", "--json")
    assert done.code == 0
    assert "going on" in done.err
    assert len(places(done.report)) == len(done.report.trials) == 40
    kept = {trial.run_id: trial for trial in done.report.trials}
    assert {trial.run_id: trial for trial in report.trials}.items() <= kept.items()
    assert done.report.summary.bench.interruptions == 1


def test_a_dry_run_makes_no_call_and_stores_no_bench(flowgauge: Program, tmp_path: Path, counting_server: CountingServer) -> None:
    file = bench_file(
        tmp_path, models={"one": "openai/fast", "two": "openai/gpt-4o-mini"}, config={"base_url": f"{counting_server.url}/v1"}, runs=4
    )
    command = ["bench", "ask.yaml", "--configs", str(file)]
    dry = flowgauge(*command, "--dry-run")
    assert dry.code == 0
    assert "8 trials to run" in dry.out
    assert counting_server.calls == 0
    assert flowgauge("report").code == 2
    planned = msgspec.json.decode(flowgauge(*command, "--dry-run", "--json").out)
    report = flowgauge(*command, "--json").report
    assert counting_server.calls == 8
    assert planned["bench_id"] == report.summary.bench.bench_id
    assert [trial["run_id"] for trial in planned["first"]] == [trial.run_id for trial in report.trials]
    later = msgspec.json.decode(flowgauge(*command, "--dry-run", "--json").out)
    assert later["bench_id"] == f"{report.summary.bench.bench_id[:-1]}2"
    assert later["estimate"]["duration_s"] > 0


def test_a_dry_run_shows_what_is_left(flowgauge: Program, tmp_path: Path) -> None:
    command = ["bench", "ask.yaml", "--configs", str(bench_file(tmp_path, config=WAITS, runs=10)), "--budget", "0.00001", "-j", "1"]
    first = flowgauge(*command, "--json").report
    left = 20 - len(first.trials)
    for way in (command, ["bench", "--resume", "latest"]):
        planned = msgspec.json.decode(flowgauge(*way, "--dry-run", "--json").out)
        assert (planned["bench_id"], planned["estimate"]["trials"]) == (first.summary.bench.bench_id, left)
        assert not {trial["run_id"] for trial in planned["first"]} & {trial.run_id for trial in first.trials}


def test_retry_errors_runs_again_what_failed_and_nothing_else(flowgauge: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider is broken, then mended; wrong answers are no errors and stay."""
    profile = "profiles: {moody: {like: fast, answers: [{match: sky, text: 'no'}]%s}}"
    (tmp_path / "profiles.yaml").write_text(profile % ", faults: [{kind: server_error}]")
    monkeypatch.setenv("FLOWGAUGE_MOCK_PROFILES", str(tmp_path / "profiles.yaml"))
    file = bench_file(tmp_path, models={"steady": "mock/fast", "moody": "mock/moody"}, runs=3, checks=[{"type": "equals", "value": "yes"}])
    first = flowgauge("bench", "ask.yaml", "--configs", file, "--json").report
    before = {trial.run_id: trial for trial in first.trials}
    assert {trial.failure_category for trial in first.trials if trial.config == "moody"} == {"provider_error"}
    (tmp_path / "profiles.yaml").write_text(profile % "")
    done = flowgauge("bench", "--retry-errors", "latest", "--json")
    after = {trial.run_id: trial for trial in done.report.trials}
    assert set(after) == set(before)
    assert {trial.failure_category for trial in after.values() if trial.config == "moody"} == {"wrong_answer"}
    steady = {run_id for run_id, trial in before.items() if trial.config == "steady"}
    assert all(after[run_id] == before[run_id] for run_id in steady)
    again = flowgauge("bench", "--retry-errors", "latest", "--json")
    assert again.report.trials == done.report.trials


def test_extend_adds_runs_and_a_configuration_and_keeps_what_was_measured(flowgauge: Program, tmp_path: Path) -> None:
    first = flowgauge("bench", "ask.yaml", "--configs", bench_file(tmp_path, runs=2), "--json").report
    bench_id = first.summary.bench.bench_id
    more = bench_file(tmp_path, "more.yaml", runs=3, models={"two": "mock/fast", "three": "mock/fast"})
    done = flowgauge("bench", "ask.yaml", "--configs", more, "--extend", bench_id, "--json")
    assert done.code == 0
    assert places(done.report) == {(name, "sky", number) for name in ("one", "two", "three") for number in range(3)}
    assert {trial.run_id: trial.answer for trial in first.trials}.items() <= {t.run_id: t.answer for t in done.report.trials}.items()
    assert done.report.summary.bench.bench_id == bench_id
    assert done.report.summary.bench.total == len(done.report.trials) == 9


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param({"models": {"one": "mock/default"}}, "configuration 'one'", id="a configuration by the same name"),
        pytest.param({"state_variants": [variant("sky", "Is it grey?")]}, "case 'sky'", id="a case by the same name"),
        pytest.param({"checks": [{"type": "contains", "value": "o"}]}, "checks", id="other checks"),
        pytest.param({"seed": 7}, "seed", id="another seed"),
    ],
)
def test_extend_refuses_to_change_the_meaning_of_what_was_measured(
    flowgauge: Program, tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    first = flowgauge("bench", "ask.yaml", "--configs", bench_file(tmp_path), "--json").report
    refused = flowgauge("bench", "ask.yaml", "--configs", bench_file(tmp_path, **change), "--extend", "latest")
    assert refused.code == 2
    assert told in refused.err
    assert flowgauge("report", "--json").report == msgspec.structs.replace(first, command=flowgauge("report", "--json").report.command)


def test_extend_refuses_another_target(flowgauge: Program, tmp_path: Path) -> None:
    file = bench_file(tmp_path)
    flowgauge("bench", "ask.yaml", "--configs", file)
    (tmp_path / "ask.yaml").write_text(ASK.replace("yes or no?", "no or yes?"))
    refused = flowgauge("bench", "ask.yaml", "--configs", file, "--extend", "latest", "--runs", "2")
    assert (refused.code, "target" in refused.err) == (2, True)


def test_ids(flowgauge: Program, tmp_path: Path) -> None:
    """The counter counts, --bench-id names, a finished bench is not begun again under its id, --new begins another."""
    file = bench_file(tmp_path, config=WAITS)
    command = ["bench", "ask.yaml", "--configs", str(file), "--json"]
    first, second = flowgauge(*command).report, flowgauge(*command).report
    assert [report.summary.bench.counter for report in (first, second)] == [1, 2]
    assert {trial.run_id for trial in first.trials}.isdisjoint(trial.run_id for trial in second.trials)
    assert flowgauge(*command, "--bench-id", "nightly").report.summary.bench.bench_id == "nightly"
    refused = flowgauge(*command, "--bench-id", "nightly")
    assert (refused.code, "is finished" in refused.err) == (2, True)
    flowgauge(*command, "--budget", "0.000000001", "--bench-id", "cut", "--runs", "50", "-j", "1")
    assert flowgauge("report", "cut", "--json").report.summary.bench.status == "budget_exceeded"
    fresh = flowgauge(*command, "--new").report
    assert fresh.summary.bench.bench_id not in ("cut", "nightly", first.summary.bench.bench_id, second.summary.bench.bench_id)
    assert len(fresh.trials) == 2
    other = flowgauge("bench", "ask.yaml", "--configs", bench_file(tmp_path, "b.yaml", seed=3), "--bench-id", "cut")
    assert (other.code, "another definition" in other.err) == (2, True)


def test_the_same_run_ids_in_another_store(flowgauge: Program, tmp_path: Path) -> None:
    command = ["bench", "ask.yaml", "--configs", str(bench_file(tmp_path, runs=3)), "--json"]
    here = flowgauge(*command, "--db", "here.db").report
    there = flowgauge(*command, "--db", "there.db").report
    assert here.summary.bench.bench_id == there.summary.bench.bench_id
    assert [trial.run_id for trial in here.trials] == [trial.run_id for trial in there.trials]


def test_fewer_runs_than_are_stored_leave_nothing_to_do(flowgauge: Program, tmp_path: Path) -> None:
    command = ["bench", "ask.yaml", "--configs", str(bench_file(tmp_path, config=WAITS, runs=10)), "-j", "1"]
    assert flowgauge(*command, "--budget", "0.00001").code == 4
    done = flowgauge(*command, "--runs", "1", "--budget", "1", "--json")
    assert done.code == 0
    assert "2 of 2 trials are done" in done.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["ask.yaml", "--resume", "latest"], "WORKFLOW", id="resume with a workflow"),
        pytest.param(["--resume", "latest", "--runs", "3", "--tag", "a=b"], "--runs, --tag", id="resume with other runs"),
        pytest.param(["--resume", "latest", "--retry-errors", "latest"], "cannot stand together", id="two ways at once"),
        pytest.param(["ask.yaml", "--extend", "latest", "--bench-id", "x"], "cannot stand together", id="extend under another id"),
    ],
)
def test_options_that_contradict_each_other_are_refused(flowgauge: Program, tmp_path: Path, arguments: list[str], told: str) -> None:
    flowgauge("bench", "ask.yaml", "--configs", bench_file(tmp_path))
    refused = flowgauge("bench", *arguments)
    assert (refused.code, refused.out) == (2, "")
    assert told in refused.err


def test_a_key_in_an_input_reaches_the_target_and_no_report(flowgauge: Program, tmp_path: Path) -> None:
    (tmp_path / "key_target.py").write_text("def length(text):\n    return {'output': len(text)}\n")
    key = "sk-0123456789abcdefghij"
    file = bench_file(tmp_path, configs=[{"name": "one"}], state_variants=[{"name": "key", "state": {"text": key}}])
    done = flowgauge("bench", "--target", "python:key_target:length", "--configs", file, "--json")
    assert done.report.trials[0].answer.output == len(key)
    assert key not in done.out


def test_cached_answers_cost_no_call(flowgauge: Program, tmp_path: Path, counting_server: CountingServer) -> None:
    file = bench_file(tmp_path, models={"one": "openai/fast"}, config={"base_url": f"{counting_server.url}/v1"}, runs=5)
    command = ["bench", "ask.yaml", "--configs", str(file), "--json"]
    first = flowgauge(*command, "--cache").report
    assert counting_server.calls == 5
    second = flowgauge(*command, "--cache").report
    assert counting_server.calls == 5
    assert [trial.answer.cached for trial in second.trials] == [True] * 5
    assert [trial.answer.output for trial in second.trials] == [trial.answer.output for trial in first.trials]
    assert second.summary.configs[0].overall.cached == 5
    assert first.summary.bench.definition_hash == second.summary.bench.definition_hash
    uncached = flowgauge(*command).report
    assert counting_server.calls == 10
    assert uncached.summary.bench.definition_hash != first.summary.bench.definition_hash
    flowgauge(*command, "--cache", "--runs", "7")
    assert counting_server.calls == 12


def test_filter_limit_and_tags(flowgauge: Program, tmp_path: Path) -> None:
    variants = [{**one, "tags": {"parity": ("even", "odd")[number % 2]}} for number, one in enumerate(questions(6))]
    file = bench_file(tmp_path, state_variants=variants, tags={"team": "a"})
    command = ["bench", "ask.yaml", "--configs", str(file), "--json"]
    some = flowgauge(*command, "--filter", "config=o*", "--filter", "tag.parity=even", "--limit", "2", "--tag", "night=yes").report
    assert places(some) == {("one", "q0", 0), ("one", "q2", 0)}
    assert some.summary.bench.definition.tags == {"team": "a", "night": "yes"}
    assert len(flowgauge(*command, "--filter", "case=q[12]").report.trials) == 4
    listed = msgspec.json.decode(flowgauge("benchmark", "list", "--tag", "night=yes", "--json").out)
    assert [one["config"] for one in listed["benchmarks"]] == ["one"]
    assert flowgauge(*command, "--filter", "config=none").code == 2


def test_a_bench_can_be_removed_and_its_plays_kept(flowgauge: Program, tmp_path: Path) -> None:
    file = bench_file(tmp_path)
    ids = [flowgauge("bench", "ask.yaml", "--configs", file, "--json").report.summary.bench.bench_id for _ in range(2)]
    assert "2 trials, 2 plays" in flowgauge("benchmark", "rm", ids[0]).out
    assert "2 trials, 0 plays" in flowgauge("benchmark", "rm", ids[1], "--keep-plays").out
    assert msgspec.json.decode(flowgauge("benchmark", "list", "--json").out)["benchmarks"] == []
    assert len(msgspec.json.decode(flowgauge("play", "list", "--json").out)["plays"]) == 2
