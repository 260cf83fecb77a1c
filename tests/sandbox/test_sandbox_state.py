from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flowgauge.model.ports import Job, Outcome

RunJobs = Callable[..., list[Outcome]]

LEAKS = {
    "os.environ": ("os.environ['LEAK'] = '1'", "os.environ.get('LEAK')"),
    "a variable that is removed": ("del os.environ['PATH']", "'PATH' not in os.environ"),
    "the working folder": ("os.chdir('/')", "os.getcwd() == '/'"),
    "globals": ("globals()['leak'] = 1", "globals().get('leak')"),
    "builtins": ("import builtins; builtins.leak = 1; builtins.len = None", "'leak' in dir(__builtins__) or len is None"),
    "sys.argv": ("sys.argv.append('leak')", "'leak' in sys.argv"),
    "sys.path": ("sys.path.insert(0, 'leak')", "'leak' in sys.path"),
    "sys.stdout": ("sys.stdout = None", "sys.stdout is None"),
    "a closed sys.stdout": ("sys.stdout.close()", "sys.stdout.closed"),
    "the recursion limit": ("sys.setrecursionlimit(5000)", "sys.getrecursionlimit() == 5000"),
    "a signal handler": ("signal.signal(signal.SIGUSR1, print)", "signal.getsignal(signal.SIGUSR1) is print"),
    "an alarm": ("signal.signal(signal.SIGALRM, print); signal.setitimer(signal.ITIMER_REAL, 100)", "signal.getitimer(0)[0] > 0"),
    "the umask": ("os.umask(0o777)", "os.umask(0o022) == 0o777"),
    "a trace function": ("sys.settrace(lambda *_: None)", "sys.gettrace()"),
    "files in the scratch folder": ("os.makedirs('a/b'); open('a/b/leak', 'w').close(); os.symlink('/', 'root')", "os.listdir()"),
    "the code's own module": ("sys.modules[__name__].leak = 1", "getattr(sys.modules[__name__], 'leak', None)"),
}


@pytest.mark.parametrize(("leave", "found"), LEAKS.values(), ids=LEAKS.keys())
def test_a_job_finds_nothing_of_the_one_before(run: RunJobs, leave: str, found: str) -> None:
    first = Job(code=f"import os, signal, sys\ndef run():\n    {leave}\n    return os.getpid()")
    second = Job(code=f"import os, signal, sys\ndef run(): return [os.getpid(), bool({found})]")
    left, looked = run(first, second)
    assert left.failure is looked.failure is None, (left, looked)
    assert looked.value == [left.value, False], "the same worker, and nothing in it"


def test_what_was_printed_belongs_to_its_own_job(run: RunJobs) -> None:
    outcomes = run(*(Job(code=f"def run(): print({number}, end='')") for number in range(3)))
    assert [outcome.stdout for outcome in outcomes] == ["0", "1", "2"]


def test_nothing_of_a_flood_is_left_for_the_next_job(run: RunJobs) -> None:
    flood = Job(code="import os\ndef run():\n    for _ in range(50): os.write(1, b'x' * 65536)")
    outcomes = run(flood, Job(code="def run(): print('mine')"))
    assert outcomes[1].stdout == "mine\n"


def test_the_environment_is_clean(run: RunJobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-you")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    code = "import os, sys, time\ndef run(): return [dict(os.environ), os.getcwd(), time.tzname[0], sys.path, sys.stdin.read()]"
    environment, folder, zone, path, stdin = run(Job(code=code))[0].value
    assert {name for name in environment if not name.startswith("LC_")} <= {"PATH", "LANG", "TZ", "HOME", "TMPDIR"}
    assert environment["HOME"] == environment["TMPDIR"] == folder
    assert "sk-not-for-you" not in str(environment)
    assert (zone, stdin) == ("JST", "")
    assert not [entry for entry in path if entry == "/nowhere" or entry.endswith("sandbox")]


def test_the_worker_knows_nothing_of_flowgauge(run: RunJobs) -> None:
    code = "import sys\ndef run(): return sorted(n for n in sys.modules if n.split('.')[0] in ('flowgauge', 'guest', 'msgspec'))"
    assert run(Job(code=code))[0].value == []


def test_the_scratch_folder_is_gone_after_the_pool(run: RunJobs) -> None:
    folder = run(Job(code="import os\ndef run():\n    open('left', 'w').close()\n    return os.getcwd()"))[0].value
    assert not Path(folder).exists()
    assert not Path(folder).parent.exists()


def test_a_job_that_lowers_its_own_limits_costs_the_worker(run: RunJobs) -> None:
    lowers = "import os, resource\ndef run():\n    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\n    return os.getpid()"
    first, second = run(Job(code=lowers), Job(code="import os\ndef run(): return os.getpid()"))
    assert first.failure is second.failure is None
    assert first.value != second.value


def test_a_module_once_imported_stays_imported(run: RunJobs) -> None:
    first = Job(code="import colorsys\ndef run(): pass")
    assert run(first, Job(code="import sys\ndef run(): return 'colorsys' in sys.modules"))[1].value is True
