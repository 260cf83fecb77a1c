"""Names of stored things: a prefix that says what it is, then time, then chance.

Sids made later sort later, so newest-first needs no second column.
"""

from __future__ import annotations

import hashlib
import os
import time

WORKFLOW, VERSION, EXAMPLE, PLAY, OWNER = "wf", "wv", "ex", "pl", "ow"


def new_sid(prefix: str, *, now_ms: int | None = None) -> str:
    """`pl_019a8b3c4d51f2e3d4c5b`: eleven digits of milliseconds, ten of chance."""
    moment = int(time.time() * 1000) if now_ms is None else now_ms
    return f"{prefix}_{moment:011x}{os.urandom(5).hex()}"


def content_hash(content: bytes) -> str:
    """What makes two contents the same: SHA-256, in hex."""
    return hashlib.sha256(content).hexdigest()
