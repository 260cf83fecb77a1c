"""The pool: an agent that misbehaves fails alone, with the right reason, within its time, and the others go on."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest
from tests.perf.stage_rows import nothing_stored, run_all, write_scenario

from flowgauge.app.perf_services import SERVICES
from flowgauge.errors import NotMeasured, UsageError
from flowgauge.perf.artifact import violations
from flowgauge.perf.model import RunArtifact
from flowgauge.perf.plan import episodes, prepare
from flowgauge.perf.pool import EpisodePool
from flowgauge.perf.scenario import load_scenario

AGENTS = """
import asyncio, os, signal, socket, subprocess, sys, tempfile, threading, time
from pathlib import Path


def fine(run):
    for number in range(3):
        run.step({"type": "count"}, result=number)
    return "fine"


def hangs():
    while True:
        time.sleep(1)


def hangs_and_catches():
    while True:
        try:
            time.sleep(1)
        except BaseException:
            pass


def spins():
    while True:
        pass


def leaks():
    kept = []
    while True:
        kept.append(bytearray(8 << 20))


def leaks_in_children():
    code = "import time; kept = b'x' * (60 << 20); time.sleep(60)"
    children = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
    children[0].wait()


def kills_its_worker():
    os.kill(os.getpid(), signal.SIGKILL)


def segfaults():
    import ctypes
    ctypes.string_at(0)


def leaves():
    os._exit(7)


def floods():
    while True:
        print("x" * 1000)


def floods_the_descriptor():
    for _ in range(400):
        os.write(2, b"x" * 10_000)


def prints_a_little():
    print("hello")
    return "fine"


def writes_a_gigabyte():
    with open("large", "wb") as file:
        for _ in range(1024):
            file.write(bytes(1 << 20))


def writes_many_files():
    for number in range(1024):
        Path(f"part-{number}").write_bytes(bytes(1 << 20))
    time.sleep(30)


def writes_many_files_quickly():
    for number in range(20):
        Path(f"part-{number}").write_bytes(bytes(1 << 20))
    return "fine"


def writes_elsewhere():
    Path(__file__).with_name("elsewhere.txt").write_text("mine")


def writes_elsewhere_and_hides_it():
    try:
        Path(__file__).with_name("elsewhere.txt").write_text("mine")
    except OSError:
        return "fine"


def connects():
    socket.create_connection(("127.0.0.1", 9), timeout=1)


def starts_a_program():
    subprocess.run(["true"])


def raises():
    raise ValueError("it did not work")


def exits():
    sys.exit("enough")


def stops_acting_never(run):
    while True:
        try:
            run.step({"type": "again"})
        except Exception:
            pass


def calls_tools_forever(run):
    while True:
        run.act("poke")


def acts_wrongly(run):
    run.act("fly", height=3)


def answers_with_an_object():
    return object()


def leaves_a_thread():
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    return "fine"


def leaves_a_mess():
    os.environ["LEFT"] = "behind"
    sys.path.append("/left")
    os.chdir("/")
    open(os.path.join(os.environ["TMPDIR"], "left"), "w").close()
    return "fine"


def finds_no_mess():
    left = [os.environ.get("LEFT"), "/left" in sys.path, os.getcwd() == os.environ["TMPDIR"], os.listdir(".")]
    return "fine" if left == [None, False, True, []] else str(left)


async def waits():
    await asyncio.sleep(0.01)
    return "fine"


def poke():
    return {"tools": {"poke": lambda: 1}}
"""
SETTINGS = {"memory_mb": 96, "file_mb": 16, "output_kb": 256}


def one_of(folder: Path, agent: str, more: str = "", timeout_s: float = 20.0) -> RunArtifact:
    """The agent among well-behaved ones, which must not notice."""
    others = ['agent: "agents.py:fine", task: fine@1, expect: fine'] * 3
    path = write_scenario(folder, AGENTS, [*others, f'agent: "agents.py:{agent}", task: fault@1{more}'], **SETTINGS)
    *fine, found = run_all(path, 4, timeout_s=timeout_s)
    assert [(one.success, one.steps, one.output) for one in fine] == [(True, 3, "fine")] * 3
    assert violations(found) == []
    return found


@pytest.mark.parametrize(
    ("agent", "termination", "failure_type", "reason"),
    [
        pytest.param("leaks", "memory_limit", "sandbox_violation", "memory", id="one that leaks memory"),
        pytest.param("kills_its_worker", "worker_died", "logic_failure", "SIGKILL", id="one that kills its worker"),
        pytest.param("segfaults", "worker_died", "logic_failure", "SIGSEGV", id="one that crashes the interpreter"),
        pytest.param("leaves", "worker_died", "logic_failure", "exit code 7", id="one that ends its process"),
        pytest.param("floods", "output_limit", "sandbox_violation", "more than 256 KB", id="one that floods stdout"),
        pytest.param(
            "floods_the_descriptor", "output_limit", "sandbox_violation", "more than 256 KB", id="one that floods stderr past Python"
        ),
        pytest.param("writes_a_gigabyte", "file_limit", "sandbox_violation", "file's size", id="one that writes a gigabyte"),
        pytest.param(
            "writes_many_files", "file_limit", "sandbox_violation", "more than 16 MB", id="one that writes a gigabyte in many files"
        ),
        pytest.param("writes_many_files_quickly", "file_limit", "sandbox_violation", "more than 16 MB", id="one that is quick at it"),
        pytest.param("writes_elsewhere", "sandbox_violation", "sandbox_violation", "elsewhere.txt", id="one that writes elsewhere"),
        pytest.param("writes_elsewhere_and_hides_it", "sandbox_violation", "sandbox_violation", "elsewhere.txt", id="one that hides it"),
        pytest.param("connects", "sandbox_violation", "sandbox_violation", "connect 127.0.0.1:9", id="one that connects"),
        pytest.param("starts_a_program", "sandbox_violation", "sandbox_violation", "process true", id="one that starts a program"),
        pytest.param("raises", "error", "logic_failure", "ValueError: it did not work (agents.py:", id="one that raises"),
        pytest.param("exits", "error", "logic_failure", "sys.exit('enough')", id="one that calls sys.exit"),
        pytest.param("answers_with_an_object", "error", "logic_failure", "JSON cannot hold", id="one whose answer is no JSON"),
    ],
)
def test_an_episode_fails_alone_with_its_reason(tmp_path: Path, agent: str, termination: str, failure_type: str, reason: str) -> None:
    found = one_of(tmp_path, agent)
    assert (found.success, found.termination_reason, found.failure_type) == (False, termination, failure_type), found.failure_reason
    assert reason in found.failure_reason
    assert not (tmp_path / "elsewhere.txt").exists()


@pytest.mark.parametrize("agent", ["hangs", "hangs_and_catches", "spins"])
def test_one_that_does_not_end_is_killed_at_its_time(tmp_path: Path, agent: str) -> None:
    begun = time.monotonic()
    found = one_of(tmp_path, agent, timeout_s=1.0)
    assert (found.termination_reason, found.failure_type, found.steps) == ("timeout", "timeout", None)
    assert 1.0 <= found.wall_clock_s < 15.0
    assert time.monotonic() - begun < 60


def test_memory_of_what_an_agent_starts_counts_as_its_own(tmp_path: Path) -> None:
    found = one_of(tmp_path, "leaks_in_children", ", allow: {processes: true}", timeout_s=60.0)
    assert (found.termination_reason, found.failure_type) == ("memory_limit", "sandbox_violation")


@pytest.mark.parametrize(
    ("agent", "more", "termination", "steps", "tool_calls"),
    [
        pytest.param("stops_acting_never", ", budgets: {steps: 7}", "steps_exhausted", 7, 0, id="its steps, whatever it catches"),
        pytest.param(
            "calls_tools_forever",
            ', environment: "agents.py:poke", budgets: {tool_calls: 5}',
            "tool_calls_exhausted",
            5,
            5,
            id="its tool calls",
        ),
    ],
)
def test_a_budget_ends_an_episode_when_it_is_used_up(
    tmp_path: Path, agent: str, more: str, termination: str, steps: int, tool_calls: int
) -> None:
    text = AGENTS.replace("def poke():", "def poke(seed, inputs):")
    path = write_scenario(tmp_path, text, [f'agent: "agents.py:{agent}", task: t@1{more}'])
    (found,) = run_all(path, 1, workers=1)
    assert (found.termination_reason, found.failure_type) == (termination, "budget_exhausted")
    assert (found.steps, found.tool_calls) == (steps, tool_calls)


def test_an_action_that_is_not_there_is_an_invalid_action(tmp_path: Path) -> None:
    found = one_of(tmp_path, "acts_wrongly")
    assert (found.termination_reason, found.failure_type, found.steps) == ("invalid_action", "invalid_action", 1)
    assert "There is no action 'fly'" in found.failure_reason


@pytest.mark.parametrize("agent", ["prints_a_little", "leaves_a_thread", "waits"])
def test_what_is_allowed_is_no_failure(tmp_path: Path, agent: str) -> None:
    assert one_of(tmp_path, agent).output == "fine"


def test_what_an_episode_leaves_behind_is_gone_before_the_next(tmp_path: Path) -> None:
    rows = [
        f'agent: "agents.py:{name}", task: t@1, expect: fine'
        for name in ("leaves_a_mess", "finds_no_mess", "leaves_a_thread", "finds_no_mess")
    ]
    assert [one.failure_reason for one in run_all(write_scenario(tmp_path, AGENTS, rows), 8, workers=1)] == [""] * 8


def test_workers_live_for_the_whole_run_and_only_those_that_were_lost_are_replaced(tmp_path: Path) -> None:
    agents = "import os\ndef who():\n    return os.getpid()\ndef leave():\n    os._exit(1)\n"
    path = write_scenario(tmp_path, agents, ['agent: "agents.py:who", task: t@1'] * 9 + ['agent: "agents.py:leave", task: u@1'])

    async def run() -> tuple[list[RunArtifact], int, list[float]]:
        loaded = load_scenario(path, nothing_stored)
        async with EpisodePool(prepare(loaded, timeout_s=20, services=SERVICES), 2) as pool:
            assert len(pool.started_s) == len(pool.pids) == 2
            found = await asyncio.gather(*(pool.run(episode) for episode in episodes(loaded.scenario, 40)))
            return found, pool.replaced, pool.started_s

    found, replaced, started_s = asyncio.run(run())
    assert len({one.output for one in found if one.success}) <= 2 + 4
    assert 2 <= replaced <= 4
    assert all(seconds > 0 for seconds in started_s)
    assert max(one.wall_clock_s for one in found if one.success) < min(started_s)


@pytest.mark.parametrize(
    ("agents", "words"),
    [
        pytest.param("import nothing_of_that_name\ndef f(): pass\n", "nothing_of_that_name", id="a module that is not installed"),
        pytest.param("raise RuntimeError('not today')\ndef f(): pass\n", "not today", id="a file that raises"),
        pytest.param("f = 3\n", "is not a function", id="a name that is no function"),
    ],
)
def test_a_scenario_that_no_worker_can_load_is_refused_before_any_episode(tmp_path: Path, agents: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        run_all(write_scenario(tmp_path, agents, ['agent: "agents.py:f", task: t@1']), 1)


def test_a_worker_that_dies_while_it_loads_is_not_started_for_ever(tmp_path: Path) -> None:
    with pytest.raises(NotMeasured, match="exit code 9"):
        run_all(write_scenario(tmp_path, "import os\nos._exit(9)\ndef f(): pass\n", ['agent: "agents.py:f", task: t@1']), 1)


def test_no_process_is_left_when_the_pool_is_closed(tmp_path: Path) -> None:
    path = write_scenario(tmp_path, "import os\ndef who():\n    return os.getpid()\n", ['agent: "agents.py:who", task: t@1'])
    pids = {one.output for one in run_all(path, 6)}
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(int(str(pid)), 0)
