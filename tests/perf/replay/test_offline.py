"""The network cut off: by the kernel in all threads and programs, by the interpreter where there is no such kernel."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.perf.replay.episodes import serving

from flowgauge.sandbox.guest import seccomp

AFTER = """
import asyncio, socket, subprocess, sys, threading
PORT = int(sys.argv[1])

def tried(what):
    try:
        what()
        return "reached"
    except OSError as error:
        return type(error).__name__

def connect():
    socket.create_connection(("127.0.0.1", PORT), timeout=5)

def send():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", PORT))

def local():
    socket.socket(socket.AF_UNIX).connect("/nowhere")

ready, go, seen = threading.Event(), threading.Event(), []

def early():
    ready.set()
    go.wait()
    seen.append(tried(connect))

thread = threading.Thread(target=early)
thread.start()
ready.wait()
CUT
go.set()
thread.join()
print(seen[0], tried(connect), tried(send), tried(local))

async def still():
    program = await asyncio.create_subprocess_exec("echo", "programs and loops work", stdout=subprocess.PIPE)
    print((await program.communicate())[0].decode().strip())

asyncio.run(still())
CHILD = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), timeout=5)"
print(subprocess.run([sys.executable, "-c", CHILD, str(PORT)], capture_output=True).returncode)
"""


def after(cut: str, port: int) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", AFTER.replace("CUT", cut), str(port)], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.splitlines()


@pytest.mark.skipif(not seccomp.supported(), reason="only Linux on x86_64 and aarch64 can refuse sockets")
def test_the_kernel_cuts_off_threads_that_ran_before_and_programs_that_start_later() -> None:
    with serving() as server:
        said = after("from flowgauge.perf.guest.offline import cut_off; print(cut_off())", server.port)
        assert said == ["kernel", " ".join(["PermissionError"] * 4), "programs and loops work", "1"]
        assert server.connections == 0


def test_the_interpreter_refuses_python_s_own_calls() -> None:
    with serving() as server:
        said = after("from flowgauge.perf.guest.offline import refuse_in_python; refuse_in_python()", server.port)
        assert said[:2] == [" ".join(["PermissionError"] * 4), "programs and loops work"]


def test_without_a_cut_the_server_is_reached() -> None:
    """So that the tests above can fail."""
    with serving() as server:
        said = after("pass", server.port)
        assert said[0].split()[:3] == ["reached"] * 3
        assert (said[2], server.connections) == ("0", 3)
