from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from flowgauge.errors import UsageError
from flowgauge.model.ports import Job, Outcome, Permits, Sandbox
from flowgauge.sandbox import WorkerPool
from flowgauge.sandbox.scratch import ScratchFolder

PID = Job(code="import os\ndef run(): return os.getpid()")
ECHO = "def run(x): return x"
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def until_gone(pid: int) -> bool:
    for _ in range(500):
        if not is_running(pid):
            return True
        await asyncio.sleep(0.01)
    return False


def test_a_pool_is_a_sandbox() -> None:
    sandbox: Sandbox = WorkerPool(1, "process")
    assert sandbox.tier == "process"


def test_two_hundred_jobs_at_once_over_two_workers_each_get_their_own_answer() -> None:
    async def play() -> tuple[list[int], set[int]]:
        code = "import os\ndef run(x): return [x, os.getpid()]"
        async with WorkerPool(2) as pool:
            outcomes = await asyncio.gather(*(pool.call(Job(code=code, arguments={"x": number})) for number in range(200)))
        return [outcome.value[0] for outcome in outcomes], {outcome.value[1] for outcome in outcomes}

    numbers, pids = asyncio.run(play())
    assert numbers == list(range(200))
    assert len(pids) <= 2


def test_crashes_among_many_jobs_cost_only_themselves() -> None:
    async def play() -> list[object]:
        code = "import os\ndef run(x):\n    if x % 10 == 0: os._exit(1)\n    return x"
        async with WorkerPool(2) as pool:
            outcomes = await asyncio.gather(*(pool.call(Job(code=code, arguments={"x": number})) for number in range(60)))
        return [outcome.failure or outcome.value for outcome in outcomes]

    assert asyncio.run(play()) == ["killed" if number % 10 == 0 else number for number in range(60)]


def test_who_came_first_is_served_first() -> None:
    async def play() -> list[int]:
        done: list[int] = []

        async def one(number: int) -> None:
            await pool.call(Job(code=ECHO, arguments={"x": number}))
            done.append(number)

        async with WorkerPool(1) as pool:
            await asyncio.gather(*map(one, range(20)))
        return done

    assert asyncio.run(play()) == list(range(20))


def test_a_cancelled_call_kills_its_worker_and_frees_its_place() -> None:
    async def play() -> tuple[bool, object]:
        async with WorkerPool(1) as pool:
            first = (await pool.call(PID)).value
            task = asyncio.create_task(pool.call(Job(code="import time\ndef run(): time.sleep(60)")))
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await until_gone(first), (await pool.call(Job(code=ECHO, arguments={"x": 1}))).value

    assert asyncio.run(play()) == (True, 1)


def test_a_call_cancelled_while_it_waits_for_its_turn_takes_no_place() -> None:
    async def play() -> object:
        async with WorkerPool(1) as pool:
            running = asyncio.create_task(pool.call(Job(code="import time\ndef run(): time.sleep(0.3)")))
            waiting = [asyncio.create_task(pool.call(PID)) for _ in range(3)]
            await asyncio.sleep(0.05)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            await running
            return (await pool.call(Job(code=ECHO, arguments={"x": 1}))).value

    assert asyncio.run(play()) == 1


def test_one_pool_serves_several_loops_one_after_the_other() -> None:
    pool = WorkerPool(1)

    async def play() -> object:
        async with pool:
            return (await pool.call(Job(code=ECHO, arguments={"x": 1}))).value

    assert [asyncio.run(play()), asyncio.run(play())] == [1, 1]


def test_a_pool_that_is_not_open_says_so() -> None:
    async def play() -> None:
        pool = WorkerPool(1)
        with pytest.raises(UsageError, match="not open"):
            await pool.call(PID)
        async with pool:
            with pytest.raises(UsageError, match="in use already"):
                await pool.__aenter__()
        with pytest.raises(UsageError, match="not open"):
            await pool.call(PID)

    asyncio.run(play())


def test_closing_ends_what_runs_and_refuses_what_waits() -> None:
    async def play() -> tuple[object, object]:
        pool = WorkerPool(1)
        await pool.__aenter__()
        running = asyncio.create_task(pool.call(Job(code="import time\ndef run(): time.sleep(60)")))
        waiting = asyncio.create_task(pool.call(PID))
        await asyncio.sleep(0.3)
        await pool.close()
        return (await running).failure, (await asyncio.gather(waiting, return_exceptions=True))[0]

    failure, refused = asyncio.run(play())
    assert failure == "killed"
    assert isinstance(refused, UsageError)


def test_a_worker_killed_while_idle_is_replaced() -> None:
    async def play() -> tuple[int, int]:
        async with WorkerPool(1) as pool:
            first = (await pool.call(PID)).value
            os.kill(first, signal.SIGKILL)
            await until_gone(first)
            await asyncio.sleep(0.05)
            return first, (await pool.call(PID)).value

    first, second = asyncio.run(play())
    assert second not in (None, first)


def test_warm_workers_are_the_ones_that_serve() -> None:
    async def play() -> tuple[int, int]:
        async with WorkerPool(2) as pool:
            await pool.warm()
            started = len(pool._workers)
            sleep = Job(code="import time\ndef run(): time.sleep(0.05)")
            await asyncio.gather(pool.call(sleep), pool.call(sleep))
            return started, len(pool._workers)

    assert asyncio.run(play()) == (2, 2)


@pytest.mark.skipif(WorkerPool().tier != "landlock", reason="without walls all permits share workers")
def test_each_set_of_permits_has_its_own_workers_and_the_oldest_idle_ones_are_retired(tmp_path: Path) -> None:
    async def play() -> tuple[int, int, int]:
        folders = [tmp_path / str(number) for number in range(5)]
        async with WorkerPool(1) as pool:
            pids = []
            for folder in folders:
                folder.mkdir()
                job = Job(code=PID.code, permits=Permits(read=(str(folder),)))
                pids += [(await pool.call(job)).value, (await pool.call(job)).value]
            gone = [await until_gone(pid) for pid in pids[:4]]
            return len(set(pids)), sum(gone), len([pid for pid in set(pids) if is_running(pid)])

    assert asyncio.run(play()) == (5, 4, 2)


@needs_proc
@pytest.mark.parametrize("body", ["while True: pass", "pass"], ids=["busy", "idle"])
def test_workers_die_with_a_parent_that_is_killed(body: str) -> None:
    script = (
        "import asyncio\n"
        "from flowgauge.model.ports import Job\n"
        "from flowgauge.sandbox import WorkerPool\n"
        "async def main():\n"
        "    async with WorkerPool(1) as pool:\n"
        "        print((await pool.call(Job(code='import os\\ndef run(): return os.getpid()'))).value, flush=True)\n"
        f"        await pool.call(Job(code='def run():\\n  {body}'))\n"
        "        await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    assert parent_of(worker) == parent.pid
    time.sleep(0.1)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert asyncio.run(until_gone(worker))


def test_the_folders_of_a_killed_owner_are_removed_and_those_of_a_living_one_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    script = "from flowgauge.sandbox.scratch import ScratchFolder; import os; folder = ScratchFolder(); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", script], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    orphaned = list(tmp_path.iterdir())
    living = ScratchFolder()
    another = ScratchFolder()
    left = sorted(tmp_path.iterdir())
    living.remove()
    another.remove()
    assert len(orphaned) == 1
    assert left == sorted([living.path, another.path])
    assert list(tmp_path.iterdir()) == []


def test_no_descriptor_is_left_behind() -> None:
    async def play() -> None:
        async with WorkerPool(1) as pool:
            await pool.call(Job(code="import os\ndef run(): os._exit(0)"))
            await pool.call(PID)

    asyncio.run(play())
    before = len(list(Path("/dev/fd").iterdir()))
    asyncio.run(play())
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_an_interpreter_that_cannot_be_started_is_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    async def play() -> Outcome:
        async with WorkerPool(1) as pool:
            with pytest.raises(UsageError, match="No worker could be started"):
                await pool.warm()
            return await pool.call(PID)

    outcome = asyncio.run(play())
    assert outcome.failure == "killed"
    assert "/nowhere/python" in outcome.message


def test_a_pool_of_no_workers_is_refused() -> None:
    with pytest.raises(UsageError, match="can run nothing"):
        WorkerPool(0)
