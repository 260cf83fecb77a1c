"""Nouns of the server: who may call, what is done on a schedule, and what listeners are told."""

from __future__ import annotations

from typing import Literal

import msgspec

from flowgauge.model.workflow import Json

Scope = Literal["read", "run", "admin"]
"""Each holds those before it."""
SCOPES: tuple[Scope, ...] = ("read", "run", "admin")


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """Who may call. The secret itself is shown once and kept only as a hash."""

    sid: str
    name: str
    scope: Scope
    hash: str
    """SHA-256 of the secret, in hex."""
    created_at: int
    last_used_at: int = 0
    expires_at: int = 0
    """0: never."""
    revoked_at: int = 0


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark that is made again and again, with its gate."""

    sid: str
    name: str
    cron: str = ""
    """Five fields, UTC; or else `every_s`."""
    every_s: int = 0
    late_s: int = 0
    """How late a moment that was missed may still be run; 0: however late."""
    request: dict[str, Json]
    """What `benchmark_start` is called with."""
    baseline: str = ""
    """What its result is gated against; empty: not at all. A regression never moves it."""
    policy: dict[str, Json] = {}
    webhook: str = ""
    """Told of a regression, and of what could not be measured."""
    enabled: bool = True
    created_at: int = 0
    next_at: int = 0
    last_at: int = 0
    """The moment that was run last: when it was due, not when it ended."""
    last_status: str = ""
    """passed, failed, not_measured, measured (nothing to gate against), error or missed; empty before the first."""
    last_bench_id: str = ""
    last_words: str = ""
    running_at: int = 0
    """The moment that is being run now; 0: none."""
    skipped: int = 0
    """Moments that came while it was running."""


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that happened, as listeners see it. Ids grow within a store and are never given twice."""

    id: int
    kind: str
    """play_started, node_finished, play_finished, bench_started, trial_finished, bench_finished, schedule_finished, …"""
    at: int
    play_sid: str = ""
    bench_id: str = ""
    data: Json = None


class EventRange(msgspec.Struct, frozen=True, kw_only=True):
    """Which events are kept: from `first_id` to `last_id`; none where the first is after the last."""

    first_id: int
    last_id: int

    def misses(self, after_id: int) -> bool:
        """Whether somebody who saw all up to this id cannot be told all that came after: some is gone, or the id is of another store."""
        return after_id < self.first_id - 1 or after_id > self.last_id


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """How much is under way in one process."""

    plays: int
    plays_queued: int
    benches: int
    benches_queued: int
