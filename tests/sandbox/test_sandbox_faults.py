from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flowgauge.model.ports import Job, Outcome

RunJobs = Callable[..., list[Outcome]]

PID = Job(code="import os\ndef run(): return os.getpid()")


def is_gone(pid: int) -> bool:
    """Gone, or dead and waiting for init to notice."""
    for _ in range(200):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize(
    ("body", "failure", "message"),
    [
        pytest.param("os._exit(3)", "killed", "exit code 3", id="os._exit"),
        pytest.param("os.kill(os.getpid(), 9)", "killed", "SIGKILL (signal 9)", id="SIGKILL"),
        pytest.param("import ctypes; ctypes.string_at(0)", "killed", "SIGSEGV (signal 11)", id="a segmentation fault"),
        pytest.param("os.abort()", "killed", "SIGABRT (signal 6)", id="abort"),
        pytest.param("os.closerange(3, 100)", "killed", "exit code 1", id="it closes every descriptor"),
        pytest.param("bytearray(2 << 30)", "killed", "memory limit of 256 MB", id="one big allocation"),
        pytest.param("x = [bytes(1 << 20) for _ in range(4000)]", "killed", "memory limit of 256 MB", id="many small allocations"),
        pytest.param("import mmap; m = mmap.mmap(-1, 1 << 30); m.write(b'x' * (1 << 29)); time.sleep(20)", "killed", "memory limit",
                     id="shared memory, which rlimits do not count"),
    ],
)  # fmt: skip
def test_one_crash_costs_one_job(run: RunJobs, body: str, failure: str, message: str) -> None:
    crash = Job(code=f"import os, time\ndef run():\n    {body}", memory_mb=256, timeout_s=30)
    before, crashed, after = run(PID, crash, PID)
    assert (crashed.failure, message in crashed.message) == (failure, True), crashed
    assert before.failure is after.failure is None
    assert before.value != after.value


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("while True: pass", id="a busy loop"),
        pytest.param("time.sleep(60)", id="a sleep"),
        pytest.param("signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64)); time.sleep(60)", id="signals blocked"),
        pytest.param("9 ** 9 ** 9", id="a loop in C"),
        pytest.param("subprocess.run(['sleep', '60'])", id="a subprocess"),
        pytest.param("while True:\n        try: time.sleep(60)\n        except BaseException: pass", id="every exception caught"),
    ],
)
def test_a_hang_is_killed_in_time(run: RunJobs, body: str) -> None:
    hang = Job(code=f"import signal, subprocess, time\ndef run():\n    print('so far')\n    {body}", timeout_s=0.3)
    outcome = run(hang)[0]
    assert outcome.failure == "timeout"
    assert "longer than 0.3 s" in outcome.message
    assert outcome.stdout == "so far\n"
    assert outcome.duration_ms < 20_000


CHILDREN = {
    "a child": "subprocess.Popen(['sleep', '300']).pid",
    "a child in its own session": "subprocess.Popen(['sleep', '300'], start_new_session=True).pid",
    "a grandchild by double fork": "int(subprocess.run(['sh', '-c', 'sleep 300 >/dev/null 2>&1 & echo $!'], capture_output=True).stdout)",
}


@pytest.mark.parametrize("start", CHILDREN.values(), ids=CHILDREN.keys())
def test_children_do_not_outlive_a_job_that_ends(run: RunJobs, start: str) -> None:
    left, after = run(Job(code=f"import subprocess\ndef run(): return {start}"), PID)
    assert left.failure is None, left
    assert is_gone(left.value)
    assert after.failure is None


@pytest.mark.parametrize("start", CHILDREN.values(), ids=CHILDREN.keys())
def test_children_do_not_outlive_a_job_that_is_killed(run: RunJobs, start: str) -> None:
    code = f"import subprocess, time\ndef run():\n    print({start})\n    time.sleep(60)"
    outcome = run(Job(code=code, timeout_s=1))[0]
    assert outcome.failure == "timeout"
    assert is_gone(int(outcome.stdout))


def test_children_do_not_outlive_a_worker_that_crashes(run: RunJobs) -> None:
    code = "import os, subprocess\ndef run():\n    print(subprocess.Popen(['sleep', '300']).pid, flush=True)\n    os._exit(1)"
    outcome = run(Job(code=code))[0]
    assert is_gone(int(outcome.stdout))


def test_a_fork_that_runs_on_does_not_answer_twice(run: RunJobs) -> None:
    forks = Job(code="import os\ndef run(): return os.fork() and os.getpid()")
    outcomes = run(forks, PID, PID)
    assert len({outcome.value for outcome in outcomes}) == 1


def test_too_many_processes_end_the_job(run: RunJobs) -> None:
    """A fork bomb that is safe to test: it stops by itself at 100."""
    code = (
        "import os, time\ndef run():\n    for _ in range(100):\n        if os.fork() == 0: time.sleep(30); os._exit(0)\n    time.sleep(30)"
    )
    outcome = run(Job(code=code, timeout_s=20))[0]
    assert (outcome.failure, outcome.message) == ("killed", "The code started more than 64 processes and was killed.")


@pytest.mark.skipif(os.geteuid() == 0, reason="the kernel does not hold root to RLIMIT_NPROC")
def test_the_number_of_processes_is_limited_by_the_kernel_too(run: RunJobs) -> None:
    code = "import resource\ndef run(): return resource.getrlimit(resource.RLIMIT_NPROC)[1]"
    assert run(Job(code=code))[0].value > 0


def test_a_file_cannot_grow_without_end_and_no_core_is_written(run: RunJobs) -> None:
    code = (
        "import os, resource\n"
        "def run():\n"
        "    file = os.open('big', os.O_CREAT | os.O_WRONLY)\n"
        "    try: os.pwrite(file, b'x', 2 << 30)\n"
        "    except OSError as error: return [error.strerror, resource.getrlimit(resource.RLIMIT_CORE)[0]]\n"
        "    finally: os.close(file)\n"
    )
    assert run(Job(code=code))[0].value == ["File too large", 0]


def test_a_thread_that_is_left_running_costs_the_worker_and_not_the_job(run: RunJobs) -> None:
    code = "import os, threading, time\ndef run():\n    threading.Thread(target=time.sleep, args=(60,)).start()\n    return os.getpid()"
    first, second = run(Job(code=code), PID)
    assert first.failure is second.failure is None
    assert first.value != second.value
    assert is_gone(first.value)


def test_a_forged_answer_does_not_reach_the_next_job(run: RunJobs) -> None:
    forged = b'{"id":2,"value":"forged"}'
    code = (
        "import os, stat\n"
        "def run():\n"
        "    for fd in range(3, 1024):\n"
        "        try:\n"
        "            if stat.S_ISSOCK(os.fstat(fd).st_mode): os.write(fd, len(body).to_bytes(4, 'big') + body)\n"
        "        except OSError: pass\n"
    )
    first, second = run(Job(code=f"body = {forged!r}\n{code}"), PID)
    assert first.failure == "killed"
    assert isinstance(second.value, int)
