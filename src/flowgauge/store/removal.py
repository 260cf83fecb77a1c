"""Whole benches out of a store: their trials, benchmarks, plays and node runs with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, delete, func, select

from flowgauge.store.schema import benches, benchmarks, node_runs, plays, trials

KEPT_BENCHES: list[Callable[[], Select[tuple[str]]]] = []
"""Each answers with the uids of benches, from the table of benches, that may never go: baselines stand on them."""


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows went, or would go."""

    benches: int = 0
    trials: int = 0
    benchmarks: int = 0
    plays: int = 0
    node_runs: int = 0


def of_no_bench() -> ColumnElement[bool]:
    """Plays that no trial names. A join, because both databases hash it once; an index on trials would cost every insert."""
    named = plays.alias()
    alone = select(named.c.sid).select_from(named.outerjoin(trials, trials.c.play_sid == named.c.sid)).where(trials.c.play_sid.is_(None))
    return plays.c.sid.in_(alone)


def count_benches(connection: Connection, uids: Select[tuple[str]], *, keep_plays: bool = False) -> Removed:
    """What `remove_benches` would remove."""
    return Removed(**{name: _count(connection, table, which) for name, (table, which) in _parts(uids, keep_plays).items()})


def remove_benches(connection: Connection, uids: Select[tuple[str]], *, keep_plays: bool = False) -> Removed:
    """All of it in the caller's transaction. The caller knows that nobody runs them."""
    parts = _parts(uids, keep_plays)
    return Removed(**{name: connection.execute(delete(table).where(which)).rowcount for name, (table, which) in parts.items()})


def _parts(uids: Select[tuple[str]], keep_plays: bool) -> dict[str, tuple[Any, ColumnElement[bool]]]:
    """In an order in which each can still be found when its turn comes."""
    named = select(trials.c.play_sid).where(trials.c.bench_uid.in_(uids), trials.c.play_sid != "", trials.c.cached == 0)
    of_plays = {} if keep_plays else {"node_runs": (node_runs, node_runs.c.play_sid.in_(named)), "plays": (plays, plays.c.sid.in_(named))}
    return {
        **of_plays,
        "trials": (trials, trials.c.bench_uid.in_(uids)),
        "benchmarks": (benchmarks, benchmarks.c.bench_uid.in_(uids)),
        "benches": (benches, benches.c.uid.in_(uids)),
    }


def _count(connection: Connection, table: Any, which: ColumnElement[bool]) -> int:
    return connection.scalar(select(func.count()).select_from(table).where(which)) or 0
