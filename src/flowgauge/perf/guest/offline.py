"""Cuts a worker off from the network, before any code of an agent is in it.

Nothing in; out: what stands in the way. `kernel`: the system refuses every
socket, in all threads and all programs that are started from here (Linux).
`interpreter`: elsewhere, Python's own calls are refused; a program that an
agent starts is not held by that.
"""

from __future__ import annotations

import sys
from typing import Any

from flowgauge.perf.orders import Network
from flowgauge.sandbox.guest import seccomp

_REFUSED = frozenset(
    {
        "socket.connect",
        "socket.bind",
        "socket.sendto",
        "socket.sendmsg",
        "socket.getaddrinfo",
        "socket.gethostbyname",
        "socket.gethostbyaddr",
        "socket.getnameinfo",
    }
)


def cut_off() -> Network:
    """For the rest of this process's life."""
    if seccomp.cut_network():
        return "kernel"
    refuse_in_python()
    return "interpreter"


def refuse_in_python() -> None:
    """A hook, which cannot be taken away again."""
    sys.addaudithook(_refuse)


def _refuse(event: str, _arguments: tuple[Any, ...]) -> None:
    if event in _REFUSED:
        raise PermissionError(f"{event}: a replay has no network. What was recorded is answered from the bundle.")
