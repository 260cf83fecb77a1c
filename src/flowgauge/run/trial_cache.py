"""Answers kept from one bench to the next (`--cache`): what an answer is kept under.

Only successful answers are kept. One that comes from the cache is marked, keeps
the times and the cost that were measured when it was made, and spends nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable

import msgspec

from flowgauge.model.bench import Answer, Bench, Case, Configuration, PlannedTrial

_encoder = msgspec.json.Encoder(order="sorted")


class AnswerCache(msgspec.Struct, frozen=True):
    """Where answers are kept: two callables of whoever keeps them."""

    get: Callable[[str], Awaitable[Answer | None]]
    put: Callable[[str, Answer], None]
    """Returns at once."""


def cache_key(bench: Bench, configuration: Configuration, case: Case, planned: PlannedTrial) -> str:
    """The same for the same target, overrides, inputs, repetition and seed; SHA-256 in hex."""
    target = bench.target
    asked = (target.kind, target.content or target.reference, configuration.workflow_overrides, case.inputs, planned.repetition, bench.seed)
    return hashlib.sha256(_encoder.encode(asked)).hexdigest()
