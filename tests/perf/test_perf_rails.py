"""Rails and clean boards: what an agent reaches for is judged, and what it changes for others is put back."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.perf.stage_rows import run_all, write_scenario

from flowgauge.errors import NotMeasured, UsageError
from flowgauge.perf.guest.shared import SharedModules
from flowgauge.perf.model import IoEvent

WRITES = """
import os, time

def writes(inputs):
    with open(inputs["path"], "wb") as file:
        file.write(b"x")
    return "fine"

def removes(inputs):
    os.remove(inputs["path"])
    return "fine"

def reads():
    for path in ("/proc/self/status", "/dev/null", "/proc/self/stat"):
        open(path, "rb").read(10)
    return "fine"

def nameless():
    held = []
    for number in range(300):
        file = open(f"part-{number}", "wb")
        os.unlink(f"part-{number}")
        file.write(bytes(1 << 20))
        held.append(file)
    time.sleep(60)
"""


@pytest.mark.parametrize(
    ("agent", "path"),
    [
        pytest.param("writes", "/dev/shm/flowgauge-test-of-the-rail", id="shared memory"),
        pytest.param("writes", "/proc/self/comm", id="a process's name"),
        pytest.param("writes", "/sys/kernel/flowgauge-test", id="a setting of the kernel"),
        pytest.param("removes", "/dev/shm/flowgauge-test-of-the-rail", id="removing there"),
    ],
)
def test_what_is_no_folder_of_its_own_may_not_be_written_wherever_it_is(tmp_path: Path, agent: str, path: str) -> None:
    row = f'agent: "agents.py:{agent}", task: t@1, inputs: {{path: {path}}}'
    (found,) = run_all(write_scenario(tmp_path, WRITES, [row]), 1, workers=1)
    kind = "write" if agent == "writes" else "remove"
    assert (found.termination_reason, found.failure_type) == ("sandbox_violation", "sandbox_violation"), found.failure_reason
    assert [(event.kind, event.target, event.refused) for event in found.io_audit] == [(kind, path, True)]
    assert not Path("/dev/shm/flowgauge-test-of-the-rail").exists()


@pytest.mark.parametrize("path", ["/dev/null", "/dev/stdout", "/dev/full"])
def test_what_keeps_nothing_may_be_opened_for_writing(tmp_path: Path, path: str) -> None:
    row = f'agent: "agents.py:writes", task: t@1, inputs: {{path: {path}}}'
    (found,) = run_all(write_scenario(tmp_path, WRITES, [row]), 1, workers=1)
    assert found.io_audit == ()
    assert found.termination_reason == ("completed" if path != "/dev/full" else "error")


def test_what_a_row_allows_is_written_and_told(tmp_path: Path) -> None:
    path = "/dev/shm/flowgauge-test-of-what-is-allowed"
    row = f'agent: "agents.py:writes", task: t@1, inputs: {{path: {path}}}, allow: {{write: [{path}]}}'
    try:
        (found,) = run_all(write_scenario(tmp_path, WRITES, [row]), 1, workers=1)
        assert (found.output, found.io_audit) == ("fine", (IoEvent(kind="write", target=path),))
    finally:
        Path(path).unlink(missing_ok=True)


def test_to_read_what_the_kernel_tells_is_no_touch(tmp_path: Path) -> None:
    (found,) = run_all(write_scenario(tmp_path, WRITES, ['agent: "agents.py:reads", task: t@1']), 1, workers=1)
    assert (found.output, found.io_audit) == ("fine", ())


def test_files_without_a_name_count_while_they_are_held(tmp_path: Path) -> None:
    path = write_scenario(tmp_path, WRITES, ['agent: "agents.py:nameless", task: t@1'], file_mb=16)
    (found,) = run_all(path, 1, workers=1)
    assert (found.termination_reason, found.failure_reason) == ("file_limit", "It wrote more than 16 MB.")


REBINDS = """
import json, os, random, sys, time

def helper():
    return "fine"

def rebinds():
    global helper
    json.dumps = time.sleep = None
    time.perf_counter = lambda: 0.0
    del os.getcwd
    sys.modules["random"] = None
    helper = None
    return "fine"

def uses():
    import random
    time.sleep(0)
    os.getcwd()
    random.random()
    assert time.perf_counter() > 0
    return json.loads(json.dumps(helper()))
"""


def test_what_an_episode_rebinds_in_shared_modules_is_put_back_before_the_next(tmp_path: Path) -> None:
    rows = [f'agent: "agents.py:{name}", task: t@1, expect: fine' for name in ("rebinds", "uses", "uses")]
    found = run_all(write_scenario(tmp_path, REBINDS, rows), 6, workers=1)
    assert [(one.termination_reason, one.failure_reason) for one in found] == [("completed", "")] * 6


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    made = ModuleType("flowgauge_test_module")
    exec("count = 0\ndef one(): return 1\nclass Two: pass\n", vars(made))
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


class Odd:
    __hash__ = None  # type: ignore[assignment]  # as numpy's arrays

    def __eq__(self, other: object) -> bool:
        raise ValueError("It does not like to be compared.")


@pytest.mark.parametrize("value", [None, 3, Odd(), len], ids=["nothing", "a number", "what cannot be compared", "another function"])
def test_functions_and_classes_are_put_back_and_values_are_left(module: ModuleType, value: object) -> None:
    one, two = vars(module)["one"], vars(module)["Two"]
    shared = SharedModules()
    vars(module).update(one=value, count=7, new=value)
    del vars(module)["Two"]
    shared.restore()
    assert (vars(module)["one"], vars(module)["Two"], vars(module)["count"]) == (one, two, 7)
    assert vars(module)["new"] is value


def test_a_module_that_is_loaded_later_is_looked_at_from_then_on(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, module.__name__)
    shared = SharedModules()
    monkeypatch.setitem(sys.modules, module.__name__, module)
    shared.restore()
    one = vars(module)["one"]
    vars(module)["one"] = None
    shared.restore()
    assert vars(module)["one"] is one


FINE = 'agent: "fine.py:f", task: t@1'


@pytest.mark.parametrize(
    ("agents", "words"),
    [
        pytest.param(
            "import sys\nsys.exit(4)\ndef f(): pass\n", r"Row 2: agents.py:f cannot be imported: it calls sys.exit\(4\)", id="exit"
        ),
        pytest.param("raise ValueError('no')\ndef f(): pass\n", "Row 2: agents.py:f cannot be imported: ValueError: no", id="an error"),
    ],
)
def test_a_row_that_cannot_be_loaded_is_named(tmp_path: Path, agents: str, words: str) -> None:
    (tmp_path / "fine.py").write_text("def f():\n    return 1\n")
    with pytest.raises(UsageError, match=words):
        run_all(write_scenario(tmp_path, agents, [FINE, 'agent: "agents.py:f", task: t@1']), 1)


@pytest.mark.parametrize(
    ("agents", "words", "remedy"),
    [
        pytest.param("", "with exit code 4.", "Look at what that file does when it is imported.", id="in silence"),
        pytest.param("os.write(2, b'not today')\n", "with exit code 4. Its last words: not today", "Look at these.", id="with a word"),
    ],
)
def test_a_row_that_ends_its_worker_while_it_is_loaded_is_named(tmp_path: Path, agents: str, words: str, remedy: str) -> None:
    (tmp_path / "fine.py").write_text("def f():\n    return 1\n")
    source = f"import os\n{agents}os._exit(4)\ndef f(): pass\n"
    with pytest.raises(NotMeasured) as caught:
        run_all(write_scenario(tmp_path, source, [FINE, 'agent: "agents.py:f", task: t@1']), 1)
    assert caught.value.message.startswith("No worker could be made ready while row 2 (agents.py:f) was loaded: ")
    assert (caught.value.message.endswith(words), caught.value.remedy) == (True, remedy)
