from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flowgauge.errors import UsageError
from flowgauge.model.ports import Job, Outcome, Permits
from flowgauge.sandbox import WorkerPool, gaps, landlock_abi
from flowgauge.sandbox.guest import landlock, seccomp

RunJobs = Callable[..., list[Outcome]]
READ = "def run(path): return open(path).read()"
WRITE = "def run(path):\n    with open(path, 'w') as file: file.write('mine')"
needs_filter = pytest.mark.skipif(not seccomp.supported(), reason="the system-call filter is not written for this machine")
needs_tcp_rule = pytest.mark.skipif(landlock_abi() < 4 and not seccomp.supported(), reason="nothing here refuses sockets")
needs_scopes = pytest.mark.skipif(landlock_abi() < 6, reason="needs Landlock version 6")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    folder = tmp_path / ".ssh"
    folder.mkdir()
    (folder / "id_ed25519").write_text("a key")
    return folder / "id_ed25519"


@pytest.fixture
def port() -> Iterator[int]:
    """A real server on loopback that says hello."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.sendall(b"hello")

    threading.Thread(target=serve, daemon=True).start()
    yield server.getsockname()[1]
    server.close()


def test_a_file_outside_cannot_be_read(run_walled: RunJobs, secret: Path) -> None:
    outcome = run_walled(Job(code=READ, arguments={"path": str(secret)}))[0]
    assert outcome.failure == "code_error"
    assert "PermissionError" in outcome.message


def test_nor_through_a_subprocess_or_a_link(run_walled: RunJobs, secret: Path) -> None:
    code = (
        "import os, subprocess\ndef run(path):\n    os.symlink(path, 'link')\n    return subprocess.run(['cat', path, 'link']).returncode"
    )
    assert run_walled(Job(code=code, arguments={"path": str(secret)}))[0].value == 1


def test_a_permit_to_read_opens_it_and_only_it(run_walled: RunJobs, secret: Path) -> None:
    (secret.parent.parent / "other").write_text("not this one")
    permits = Permits(read=(str(secret.parent),))
    allowed, other, written = run_walled(
        Job(code=READ, arguments={"path": str(secret)}, permits=permits),
        Job(code=READ, arguments={"path": str(secret.parent.parent / "other")}, permits=permits),
        Job(code=WRITE, arguments={"path": str(secret)}, permits=permits),
    )
    assert allowed.value == "a key"
    assert "PermissionError" in other.message
    assert "PermissionError" in written.message
    assert secret.read_text() == "a key"


def test_the_walls_stand_again_after_a_job_with_permits(run_walled: RunJobs, secret: Path) -> None:
    open_job = Job(code=READ, arguments={"path": str(secret)}, permits=Permits(read=(str(secret),)))
    opened, closed = run_walled(open_job, Job(code=READ, arguments={"path": str(secret)}))
    assert opened.value == "a key"
    assert "PermissionError" in closed.message


@pytest.mark.parametrize("body", ["open(path, 'w')", "os.mkdir(path)", "os.symlink('/', path)", "os.rename('.', path)", "os.mkfifo(path)"])
def test_nothing_can_be_made_outside(run_walled: RunJobs, tmp_path: Path, body: str) -> None:
    code = f"import os\ndef run(path): {body}"
    outcome = run_walled(Job(code=code, arguments={"path": str(tmp_path / "new")}))[0]
    assert outcome.failure == "code_error"
    assert list(tmp_path.iterdir()) == []


def test_nothing_can_be_removed_or_emptied_outside(run_walled: RunJobs, secret: Path) -> None:
    for body in ("os.unlink(path)", "os.truncate(path, 0)", "os.rename(path, 'taken')", "os.link(path, 'linked')"):
        outcome = run_walled(Job(code=f"import os\ndef run(path): {body}", arguments={"path": str(secret)}))[0]
        assert outcome.failure == "code_error", body
    assert secret.read_text() == "a key"


def test_a_permit_to_write_opens_a_folder(run_walled: RunJobs, tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    outcome = run_walled(Job(code=WRITE, arguments={"path": str(target)}, permits=Permits(write=(str(tmp_path),))))[0]
    assert outcome.failure is None, outcome
    assert target.read_text() == "mine"


def test_the_scratch_folder_can_be_used_as_one_likes(run_walled: RunJobs) -> None:
    code = (
        "import os, shutil, tempfile\n"
        "def run():\n"
        "    with tempfile.TemporaryDirectory() as folder:\n"
        "        open(os.path.join(folder, 'a'), 'w').write('x' * 10)\n"
        "        os.rename(os.path.join(folder, 'a'), os.path.expanduser('~/b'))\n"
        "    shutil.copy('b', 'c')\n"
        "    return sorted(os.listdir('.'))"
    )
    assert run_walled(Job(code=code))[0].value == ["b", "c"]


def test_a_permit_for_what_is_not_there_runs_no_code(run_walled: RunJobs, tmp_path: Path) -> None:
    outcome = run_walled(Job(code="def run(): return 1", permits=Permits(read=(str(tmp_path / "none"),))))[0]
    assert (outcome.failure, outcome.value) == ("isolation", None)
    assert str(tmp_path / "none") in outcome.message


CONNECT = "import socket\ndef run(port):\n    with socket.create_connection(('127.0.0.1', port), 5) as s: return s.recv(9).decode()"


@needs_tcp_rule
def test_a_connection_is_refused_without_and_made_with_a_permit(run_walled: RunJobs, port: int) -> None:
    job = Job(code=CONNECT, arguments={"port": port})
    refused, made = run_walled(job, Job(code=CONNECT, arguments={"port": port}, permits=Permits(network=True)))
    assert "PermissionError" in refused.message
    assert made.value == "hello"


@needs_filter
@pytest.mark.parametrize(
    "call",
    [
        pytest.param("socket.socket(socket.AF_INET, socket.SOCK_DGRAM)", id="UDP"),
        pytest.param("socket.socket(socket.AF_INET6)", id="IPv6"),
        pytest.param("socket.socket(socket.AF_UNIX)", id="UNIX sockets, behind which daemons listen"),
        pytest.param("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)", id="netlink"),
        pytest.param("socket.socketpair(type=socket.SOCK_DGRAM)", id="a datagram pair"),
    ],
)
def test_no_socket_can_be_made(run_walled: RunJobs, call: str) -> None:
    outcome = run_walled(Job(code=f"import socket\ndef run(): {call}"))[0]
    assert "PermissionError" in outcome.message


@needs_filter
def test_the_network_permit_opens_internet_sockets_and_no_others(run_walled: RunJobs) -> None:
    code = (
        "import socket\n"
        "def attempt(*args):\n"
        "    try: socket.socket(*args).close()\n"
        "    except PermissionError: return 'refused'\n"
        "    return 'made'\n"
        "def run(): return [attempt(f, t) for f, t in ((2, 1), (2, 2), (10, 1), (10, 2), (16, 3), (1, 1), (1, 2), (17, 3))]"
    )
    outcome = run_walled(Job(code=code, permits=Permits(network=True)))[0]
    assert outcome.value == ["made"] * 5 + ["refused"] * 3


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no shared memory folder")
def test_process_pools_work_once_shared_memory_is_permitted(run_walled: RunJobs) -> None:
    code = (
        "import multiprocessing\n"
        "from concurrent.futures import ProcessPoolExecutor\n"
        "def run():\n"
        "    with ProcessPoolExecutor(1, multiprocessing.get_context('fork')) as pool: return list(pool.map(abs, [-1, -2]))"
    )
    refused, made = run_walled(Job(code=code, timeout_s=20), Job(code=code, timeout_s=20, permits=Permits(write=("/dev/shm",))))
    assert "PermissionError" in refused.message
    assert made.value == [1, 2], made


@needs_filter
def test_a_child_cannot_leave_the_session_so_it_dies_with_a_worker_that_crashes(run_walled: RunJobs) -> None:
    code = (
        "import os, subprocess\n"
        "def run():\n"
        "    print(subprocess.Popen(['sleep', '300'], start_new_session=True).pid, flush=True)\n"
        "    os._exit(1)"
    )
    pid = int(run_walled(Job(code=code))[0].stdout)
    gone_by = time.monotonic() + 20
    while not _is_gone(pid) and time.monotonic() < gone_by:  # a kill is sent at once and takes effect a moment later
        time.sleep(0.01)
    assert _is_gone(pid)


def _is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


@needs_filter
def test_asyncio_still_works_without_sockets(run_walled: RunJobs) -> None:
    code = "import asyncio\nasync def run(): return await asyncio.to_thread(lambda: 5)"
    assert run_walled(Job(code=code))[0].value == 5


@needs_scopes
def test_the_parent_cannot_be_signalled_traced_or_limited(run_walled: RunJobs) -> None:
    code = (
        "import os, resource\n"
        "def attempt(f, *args):\n"
        "    try: f(*args)\n"
        "    except OSError as error: return type(error).__name__\n"
        "    return 'done'\n"
        "def run(pid):\n"
        "    return [attempt(os.kill, pid, 0), attempt(open, f'/proc/{pid}/environ'),\n"
        "            attempt(resource.prlimit, pid, resource.RLIMIT_CORE)]"
    )
    assert run_walled(Job(code=code, arguments={"pid": os.getpid()}))[0].value == ["PermissionError"] * 3


@needs_filter
@pytest.mark.parametrize("number", {"x86_64": [272, 308, 161, 435, 425], "aarch64": [97, 268, 51, 435, 425]}.get(os.uname().machine, []))
def test_namespaces_other_roots_and_io_uring_are_out_of_reach(run_walled: RunJobs, number: int) -> None:
    code = "import ctypes\ndef run(number): return ctypes.CDLL(None).syscall(number, 0x10000000, 0)"
    assert run_walled(Job(code=code, arguments={"number": number}))[0].value == -1


@needs_filter
def test_a_child_cannot_be_cloned_into_a_new_user_namespace_and_threads_still_start(run_walled: RunJobs) -> None:
    code = (
        "import ctypes, os, subprocess, threading\n"
        "def run(number):\n"
        "    threading.Thread(target=print, args=('thread',)).start()\n"
        "    subprocess.run(['echo', 'child'], check=True)\n"
        "    libc = ctypes.CDLL(None, use_errno=True)\n"
        "    if (pid := libc.syscall(number, 0x10000000 | 17, 0, 0, 0, 0)) == 0: os._exit(0)\n"
        "    return [pid, ctypes.get_errno()]"
    )
    outcome = run_walled(Job(code=code, arguments={"number": {"x86_64": 56}.get(os.uname().machine, 220)}))[0]
    assert (outcome.value, outcome.stdout) == ([-1, errno.EPERM], "thread\nchild\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to lose")
def test_root_keeps_no_capability_but_to_open_files(run_walled: RunJobs) -> None:
    code = "def run(): return [l.split()[1] for l in open('/proc/self/status') if l.startswith('CapEff')][0]"
    assert int(run_walled(Job(code=code))[0].value, 16) & ~(1 << 1) == 0


def test_the_tier_that_was_demanded_and_is_missing_fails_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    with pytest.raises(UsageError, match=r"needs Linux 5\.13 .* --isolation process"):
        WorkerPool(isolation="landlock")
    assert WorkerPool(isolation="auto").tier == "process"


def test_auto_takes_landlock_where_the_kernel_has_it() -> None:
    assert WorkerPool().tier == ("landlock" if landlock_abi() else "process")


@needs_filter
def test_a_worker_whose_kernel_refuses_the_walls_runs_nothing(tmp_path: Path) -> None:
    """The parent sees Landlock; the worker's own call to close the walls is refused by a filter around both."""
    script = (
        "import asyncio, sys\n"
        "from flowgauge.model.ports import Job\n"
        "from flowgauge.sandbox import WorkerPool\n"
        "from flowgauge.sandbox.guest import seccomp\n"
        "seccomp.build = lambda *_, **__: [seccomp._load(0), *seccomp._on(446, [seccomp._deny(1)]), seccomp._allow()]\n"
        "assert seccomp.install(network=True)\n"
        "async def main():\n"
        "    async with WorkerPool(1, 'landlock') as pool:\n"
        "        print(await pool.call(Job(code='def run(path): open(path, chr(119))', arguments={'path': sys.argv[1]})))\n"
        "asyncio.run(main())\n"
    )
    shown = subprocess.run([sys.executable, "-c", script, tmp_path / "ran"], capture_output=True, text=True, check=True).stdout
    assert "failure='isolation'" in shown
    assert "no code was run" in shown
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("abi", "filtered", "words"),
    [
        pytest.param(7, True, [], id="a recent kernel leaves none of the known gaps"),
        pytest.param(3, True, ["signals"], id="signals before version 6"),
        pytest.param(7, False, ["UDP"], id="no filter"),
        pytest.param(1, False, ["truncated", "signals", "UDP", "TCP"], id="the first Landlock and no filter"),
    ],
)
def test_the_gaps_of_a_kernel_are_named(abi: int, filtered: bool, words: list[str]) -> None:
    named = gaps("landlock", abi=abi, filtered=filtered)
    assert len(named) == len(words)
    assert all(word in gap for word, gap in zip(words, named, strict=True))


def test_tier_process_says_that_it_is_no_boundary() -> None:
    assert "no security boundary" in gaps("process")[0]


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("network", [True, False])
def test_every_jump_of_the_filter_lands_inside_it_and_the_end_allows(machine: str, network: bool) -> None:
    program = seccomp.build(machine, network=network)
    for at, (operation, if_true, if_false, _) in enumerate(program):
        if operation in (0x15, 0x35, 0x45):
            assert at + 1 + max(if_true, if_false) < len(program)
    assert program[-1] == (0x06, 0, 0, 0x7FFF0000)
