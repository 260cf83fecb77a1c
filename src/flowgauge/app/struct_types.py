"""Work out all structs before threads need them.

msgspec reads a struct's annotations when it is first decoded, and lets other
threads see the result before it is whole: two first requests at the same moment
would end the process (msgspec 0.22: a segmentation fault). What was worked out
once is only read from then on, by as many threads as there are.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Iterator

import msgspec

LATE = ("flowgauge.define.agentloom.importer", "flowgauge.define.bench", "flowgauge.score.table")
"""Modules with structs that are otherwise imported by the first request that needs them."""


@functools.cache
def ready_structs() -> None:
    """Once for a process, before its first thread. What refers to types that exist for checkers only is never decoded, and left out."""
    for name in LATE:
        importlib.import_module(name)
    for struct in set(_structs(msgspec.Struct)):
        if struct.__module__.startswith("flowgauge."):
            with contextlib.suppress(NameError):
                msgspec.json.Decoder(struct)


def _structs(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for struct in kind.__subclasses__():
        yield struct
        yield from _structs(struct)
