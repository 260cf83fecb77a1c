"""What one caller may ask of a server at once. Generous for honest use; each has its own error."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes, counts and seconds."""

    body_bytes: int = 16 * 1024 * 1024
    body_s: float = 30.0
    """For the whole body to arrive."""
    batch: int = 100
    """Calls in one body."""
    depth: int = 100
    """Objects and arrays inside each other."""
    answer_bytes: int = 64 * 1024 * 1024
    """All answers to one body."""
    read_s: float = 60.0
    """One call that only reads. What writes is never cut off in the middle."""
    listeners: int = 1000
    """Streams of events at once."""
    queued_events: int = 1000
    """That one listener may be behind."""
    heartbeat_s: float = 15.0
    send_s: float = 20.0
    """For a listener to take what it is sent."""
