"""A stage of --until-decided that does not end is not looked at: the look before it stands, and the rest can be run later."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import msgspec
import pytest
import yaml
from tests.bench.program import Program, bench_file, questions

from flowgauge.app.bench import BenchRequest, run_bench
from flowgauge.app.hosted import open_hosted
from flowgauge.app.until_decided import FIRST_RUNS, CutShort, Decided, run_until_decided
from flowgauge.model.gate import Policy
from flowgauge.providers.prices.table import table

CASES = 4
RATES_ONLY = {"only": ["success_rate"], "rates": "aggregate"}
"""Harm to a rate is excluded from 52 runs on, so few runs never decide it."""


@pytest.fixture
def priced(flowgauge: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str | Path], float]:
    """A command whose runs all cost the same, with a baseline; and what a run costs."""
    (tmp_path / "prices.yaml").write_text(yaml.safe_dump({"mock/fast": {"prompt_per_1m": 1000, "completion_per_1m": 1000}}))
    monkeypatch.setenv("FLOWGAUGE_PRICES", str(tmp_path / "prices.yaml"))
    table.cache_clear()
    (tmp_path / "gate.yaml").write_text(yaml.safe_dump(RATES_ONLY))
    configs = bench_file(tmp_path, models={"only": "mock/fast"}, runs=5, state_variants=questions(CASES), max_concurrent_runs=1)
    first = flowgauge("bench", "ask.yaml", "--configs", configs, "--json")
    assert flowgauge("baseline", "set", "release", "latest").code == 0
    (cost_usd,) = {trial.answer.cost_usd for trial in first.report.trials}
    assert cost_usd
    command: list[str | Path] = [
        "bench",
        "ask.yaml",
        "--configs",
        configs,
        "--until-decided",
        "--baseline",
        "release",
        "--policy",
        "gate.yaml",
    ]
    return [*command, "--json"], cost_usd


def test_money_that_ends_in_the_second_stage_leaves_the_verdict_of_the_first(
    flowgauge: Program, priced: tuple[list[str | Path], float]
) -> None:
    command, cost_usd = priced
    done = flowgauge(*command, "--new", "--runs", "5", "--budget", f"{cost_usd * 17.5:.9f}")
    assert done.code == 4
    assert len(done.report.trials) == 17
    assert "budget ended in the middle of the stage of 5 runs of each case" in done.err
    assert "17 of 20 trials are measured, 3 are missing" in done.err
    assert "look 1, after 3 runs of each case" in done.err
    assert "12/12" in done.err
    assert "17/17" not in done.err


def test_money_that_ends_before_the_first_look_decides_nothing(flowgauge: Program, priced: tuple[list[str | Path], float]) -> None:
    command, cost_usd = priced
    done = flowgauge(*command, "--new", "--runs", "5", "--budget", f"{cost_usd * 5.5:.9f}")
    assert done.code == 4
    assert "no look yet: not decided" in done.err
    assert "5 of 12 trials" in done.err
    assert "5/5" not in done.err


def test_a_stage_that_was_cut_short_is_gone_on_with_and_no_look_is_taken_twice(
    flowgauge: Program, priced: tuple[list[str | Path], float]
) -> None:
    command, cost_usd = priced
    cut = flowgauge(*command, "--new", "--runs", "5", "--budget", f"{cost_usd * 17.5:.9f}")
    bench_id = cut.report.summary.bench.bench_id
    assert f"--extend {bench_id}" in cut.err
    done = flowgauge(*command, "--runs", "5", "--budget", "1", "--extend", bench_id)
    assert done.code == 0, done.err
    assert len(done.report.trials) == 20
    assert "not decided after 2 looks, 5 runs of each case" in done.err
    assert "20/20" in done.err


def test_money_that_ends_with_a_stage_is_looked_at(flowgauge: Program, priced: tuple[list[str | Path], float]) -> None:
    """All of the last stage was run: that look was on the schedule."""
    command, cost_usd = priced
    done = flowgauge(*command, "--new", "--runs", "5", "--budget", f"{cost_usd * 20.5:.9f}")
    assert done.code == 0, done.err
    assert "not decided after 2 looks" in done.err


async def interrupted(db: Path, stop_at: int) -> Decided:
    """A target that is stopped while it runs for the n-th time, held against itself."""
    stop, asked = asyncio.Event(), itertools.count(1)

    async def answer(question: str) -> str:
        if next(asked) == stop_at:
            stop.set()
        return question

    request = BenchRequest(function=answer, configs={"name": "asking", "state_variants": questions(CASES), "max_concurrent_runs": 1})
    async with open_hosted(str(db)) as workspace:
        first = await run_bench(workspace, msgspec.structs.replace(request, options={"runs": 5}))
        workspace.store.set_baseline("release", first.benchmarks[0].sid)
        again = msgspec.structs.replace(request, options={"runs": 5}, new=True)
        return await run_until_decided(workspace, again, baseline="release", policy=msgspec.convert(RATES_ONLY, Policy), stop=stop)


@pytest.mark.parametrize(
    ("stop_at", "found"),
    [
        pytest.param(6, CutShort(by="interrupted", runs=3, trials=6, planned=12), id="in the first stage"),
        pytest.param(15, CutShort(by="interrupted", runs=5, trials=15, planned=20), id="in the second stage"),
    ],
)
def test_an_interruption_is_not_looked_at_either(tmp_path: Path, stop_at: int, found: CutShort) -> None:
    decided = asyncio.run(interrupted(tmp_path / "store.db", 5 * CASES + stop_at))
    looked = found.runs > FIRST_RUNS
    assert decided.cut_short == found
    assert (decided.decided, decided.looks) == (False, int(looked))
    assert decided.gate.status == ("passed" if looked else "not_measured")
    assert [line.verdict for line in decided.gate.lines] == ["inconclusive"]


@pytest.mark.parametrize("option", ["--resume", "--retry-errors"])
def test_what_is_taken_up_as_it_was_defined_cannot_grow(flowgauge: Program, tmp_path: Path, option: str) -> None:
    assert flowgauge("bench", "ask.yaml", "--configs", bench_file(tmp_path, models={"only": "mock/fast"})).code == 0
    done = flowgauge("bench", option, "latest", "--until-decided", "--baseline", "release")
    assert done.code == 2
    assert "--extend BENCH" in done.err


@pytest.mark.parametrize(
    ("baseline", "told"),
    [pytest.param("nobody", "'nobody'", id="a name that nothing stands under"), pytest.param("latest", "this one", id="the bench itself")],
)
def test_a_baseline_that_is_none_is_refused_before_anything_is_paid_for(
    flowgauge: Program, tmp_path: Path, baseline: str, told: str
) -> None:
    configs = bench_file(tmp_path, models={"only": "mock/fast"})
    done = flowgauge("bench", "ask.yaml", "--configs", configs, "--until-decided", "--baseline", baseline)
    assert done.code == 2
    assert told in done.err
    assert flowgauge("report", "latest").code == 2


def test_where_no_run_gets_past_the_infrastructure_the_first_look_ends_it(
    flowgauge: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert flowgauge("bench", "ask.yaml", "--configs", bench_file(tmp_path, models={"only": "mock/fast"}, runs=5)).code == 0
    assert flowgauge("baseline", "set", "release", "latest").code == 0
    (tmp_path / "profiles.yaml").write_text("profiles: {limited: {like: fast, faults: [{kind: rate_limited, retry_after_s: 0.001}]}}")
    monkeypatch.setenv("FLOWGAUGE_MOCK_PROFILES", str(tmp_path / "profiles.yaml"))
    limited = bench_file(tmp_path, models={"only": "mock/limited"})
    done = flowgauge("bench", "ask.yaml", "--configs", limited, "--until-decided", "--baseline", "release", "--json")
    assert done.code == 3
    assert len(done.report.trials) == FIRST_RUNS
    assert "not decided after 1 look" in done.err


def test_fail_under_counts_beside_the_gate(flowgauge: Program, priced: tuple[list[str | Path], float]) -> None:
    command, _ = priced
    done = flowgauge(*command, "--new", "--runs", "3", "--fail-under", "p50_ms<=0.000001")
    assert done.code == 1
    assert "fail-under: " in done.err
