"""Worker processes that die, hang or never come up."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "contracts"))

from tests.contracts.executor_jobs import CasesJob, plan

from flowgauge.errors import UsageError
from flowgauge.model.bench import Trial
from flowgauge.run.executors.process import ProcessExecutor
from flowgauge.run.trial_job import Recipe


@pytest.fixture
def job(tmp_path: Path) -> CasesJob:
    return CasesJob(str(tmp_path / "starts.log"))


def run(job: CasesJob, *cases: str, most: int = 4, stall_s: float | None = None) -> dict[int, Trial]:
    async def once() -> dict[int, Trial]:
        executor = ProcessExecutor(most, workers=2, stall_s=stall_s)
        async with aclosing(executor.run(plan(*cases), job)) as trials:
            return {trial.position: trial async for trial in trials}

    return asyncio.run(once())


def test_trials_are_spread_over_the_workers(job: CasesJob) -> None:
    trials = run(job, *["sleep"] * 300)
    pids = {trial.answer.output["pid"] for trial in trials.values()}
    assert len(pids) == 2
    assert os.getpid() not in pids


def test_a_trial_that_kills_its_worker_twice_has_failed_and_nobody_else(job: CasesJob) -> None:
    trials = run(job, "sleep", "sleep", "die", "sleep", *["sleep"] * 12)
    killed = trials.pop(2)
    assert killed.failure_category == "killed"
    assert killed.answer.error is not None
    assert "signal 9" in killed.answer.error.message
    assert killed.answer.repeated == 1
    assert len(trials) == 15
    assert {trial.answer.status for trial in trials.values()} == {"success"}


def test_many_trials_that_kill_their_workers_take_no_innocent_with_them(job: CasesJob) -> None:
    trials = run(job, *["die", "sleep"] * 6, most=6)
    assert {trial.case: trial.answer.status for trial in trials.values()} == {"die": "failed", "sleep": "success"}
    assert len(trials) == 12


def test_a_trial_whose_worker_dies_once_is_run_again_and_counted(job: CasesJob) -> None:
    trials = run(job, "die_once", most=1)
    assert (trials[0].answer.status, trials[0].answer.repeated) == ("success", 1)


def test_a_worker_killed_from_outside_loses_no_trial(job: CasesJob) -> None:
    async def kill_some() -> list[Trial]:
        seen: list[Trial] = []
        async with aclosing(ProcessExecutor(6, workers=2).run(plan(*["sleep"] * 60), job)) as trials:
            async for trial in trials:
                seen.append(trial)
                if len(seen) in (10, 30):
                    os.kill(trial.answer.output["pid"], signal.SIGKILL)
        return seen

    trials = asyncio.run(kill_some())
    assert sorted(trial.position for trial in trials) == list(range(60))
    assert {trial.answer.status for trial in trials} == {"success"}
    assert 1 <= sum(trial.answer.repeated for trial in trials) <= 6
    starts = Path(job.log).read_text().split()
    assert len(starts) - 60 <= sum(trial.answer.repeated for trial in trials)


def test_a_trial_that_blocks_its_event_loop_is_killed_and_has_timed_out(job: CasesJob) -> None:
    trials = run(job, "sleep", "block", "sleep", most=2, stall_s=0.5)
    assert {position: trial.answer.status for position, trial in trials.items()} == {0: "success", 1: "timeout", 2: "success"}


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        pytest.param("tests.contracts.executor_jobs:make_nothing", "no job of", id="the factory raises"),
        pytest.param("tests.contracts.executor_jobs:absent", "no 'absent'", id="there is no factory"),
        pytest.param("tests.contracts.executor_jobs:die_at_once", "exit code 9", id="the process ends"),
    ],
)
def test_workers_that_cannot_come_up_end_the_run(job: CasesJob, factory: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "recipe", lambda: Recipe(factory, b"anything"))
    with pytest.raises(UsageError, match=message):
        run(job, "nothing")


def test_workers_end_when_their_parent_is_killed(job: CasesJob, tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[2] / 'contracts')!r})\n"
        "from executor_jobs import CasesJob, plan\n"
        "from flowgauge.run.executors.process import ProcessExecutor\n"
        "async def go():\n"
        f"    async for trial in ProcessExecutor(2, workers=2).run(plan(*['sleep'] * 4, *['hang'] * 9), CasesJob({job.log!r})):\n"
        "        print(trial.answer.output['pid'], flush=True)\n"
        "asyncio.run(go())\n"
    )

    async def watch() -> set[int]:
        parent = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
        assert parent.stdout is not None
        pids = {int(await parent.stdout.readline()) for _ in range(4)}
        parent.kill()
        await parent.wait()
        return pids

    pids = asyncio.run(watch())
    for pid in pids:
        asyncio.run(_gone(pid))


async def _gone(pid: int) -> None:
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]:
        await asyncio.sleep(0.02)
