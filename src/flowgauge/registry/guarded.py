"""Becomes a program that ends with whoever asked for it, also where that one is killed at once.

The process id of who asked and a command line in; the command takes this
process' place. Beside it a watcher stays in its group: where nobody is left who
asked, it kills the group. Is run by its path, so it uses the standard library
alone. Whoever started the group kills it at its end, and the watcher with it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

_LOOK_S = 0.2


def watch(starter: int) -> None:
    """Until the starter is gone; then nothing of this group is left."""
    while _alive(starter):
        time.sleep(_LOOK_S)
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _alive(process: int) -> bool:
    """Not one that is dead and waits to be buried."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        state = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[:1]
    except OSError:  # no Linux, or gone this moment, which the next look will see
        return True
    return state not in ([b"Z"], [b"X"])


def main(starter: str, *argv: str) -> None:
    """Twice forked: so the watcher is no child of the program, which may wait for all that it has."""
    if middle := os.fork():
        os.waitpid(middle, 0)
        try:
            os.execvp(argv[0], argv)  # noqa: S606 - that is what it is for
        except OSError as error:
            sys.stderr.write(f"Cannot start {argv[0]}: {error.strerror}\n")
            os._exit(127)
    if not os.fork():
        os.closerange(0, 256)  # or whoever reads what the program writes would wait for this one
        watch(int(starter))
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
