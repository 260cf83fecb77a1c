"""Agents that do what agents should not. None of them takes another episode with it."""

import os
import signal
import time
from pathlib import Path


def well_behaved(run):
    """Counts to ten, and says so."""
    for number in range(10):
        run.step({"type": "count", "args": {"number": number}}, result=number + 1)
    return 10


def hangs():
    """Waits for nothing."""
    while True:
        time.sleep(1)


def leaks():
    """Keeps all that it makes."""
    kept = []
    while True:
        kept.append(bytearray(4 << 20))


def kills_its_worker():
    """Ends the process it runs in."""
    os.kill(os.getpid(), signal.SIGKILL)


def floods():
    """Prints without end."""
    while True:
        print("x" * 1000)


def fills_the_disk():
    """Writes a gigabyte."""
    with Path("large").open("wb") as file:
        file.writelines(bytes(1 << 20) for _ in range(1024))


def writes_elsewhere():
    """Reaches out of its own folder."""
    Path(__file__).with_name("not-mine.txt").write_text("hello")


def never_stops_acting(run):
    """Takes one step after the other."""
    while True:
        run.step({"type": "wait"})
