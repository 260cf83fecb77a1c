"""Work out all structs before threads need them.

msgspec reads a struct's annotations when it is first decoded, and lets other
threads see the result before it is whole: two first requests at the same moment
would end the process (msgspec 0.22: a segmentation fault). What was worked out
once is only read from then on, by as many threads as there are.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator

import msgspec

LATE = ("flowgauge.define.agentloom.importer", "flowgauge.define.bench", "flowgauge.score.table")
"""Modules with structs that are otherwise imported by the first request that needs them."""


@functools.cache
def ready_structs() -> frozenset[type[msgspec.Struct]]:
    """Once for a process, before its first thread. Out: those that nobody decodes, as they refer to types that exist for checkers only."""
    for name in LATE:
        importlib.import_module(name)
    ours = {struct for struct in _structs(msgspec.Struct) if struct.__module__.startswith("flowgauge.")}
    return frozenset(struct for struct in ours if not _is_ready(struct))


def _is_ready(struct: type[msgspec.Struct]) -> bool:
    try:
        msgspec.json.Decoder(struct)
    except NameError:
        return False
    return True


def _structs(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for struct in kind.__subclasses__():
        yield struct
        yield from _structs(struct)
