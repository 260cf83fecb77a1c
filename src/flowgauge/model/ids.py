"""Names of stored things: a prefix that says what it is, then time, then chance.

Sids made later sort later, so newest-first needs no second column.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections import deque

WORKFLOW, VERSION, EXAMPLE, PLAY, OWNER = "wf", "wv", "ex", "pl", "ow"
BENCH, BENCHMARK = "bn", "bm"
TOKEN, SCHEDULE = "tk", "sc"


_CHANCE_BYTES, _CHANCES = 5, 512
_chances: deque[str] = deque()
os.register_at_fork(after_in_child=_chances.clear)


def new_sid(prefix: str, *, now_ms: int | None = None) -> str:
    """`pl_019a8b3c4d51f2e3d4c5b`: eleven digits of milliseconds, ten of chance."""
    moment = int(time.time() * 1000) if now_ms is None else now_ms
    return f"{prefix}_{moment:011x}{_chance()}"


def _chance() -> str:
    """Ten random hex digits. The system is asked for many at once: each call to it gives up the interpreter's lock."""
    while True:
        try:
            return _chances.popleft()
        except IndexError:
            pool = os.urandom(_CHANCE_BYTES * _CHANCES).hex()
            width = 2 * _CHANCE_BYTES
            _chances.extend(pool[start : start + width] for start in range(0, len(pool), width))


def content_hash(content: bytes) -> str:
    """What makes two contents the same: SHA-256, in hex."""
    return hashlib.sha256(content).hexdigest()


HASH_DIGITS = 8
"""Of the definition hash, in a bench id."""
_UNSPEAKABLE = re.compile(r"[^A-Za-z0-9._]+")


def bench_id(name: str, definition: str, counter: int) -> str:
    """`<name>-<hash>-<counter>`: short enough to be typed, and one word in every shell and file system."""
    spoken = _UNSPEAKABLE.sub("-", name).strip("-.") or "bench"
    return f"{spoken}-{definition[:HASH_DIGITS]}-{counter}"


def bench_name(bench_id: str) -> str:
    """What `bench_id` was made of: support of support-1f2e3d-2."""
    return bench_id.rsplit("-", 2)[0]
