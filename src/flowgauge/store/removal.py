"""Whole benches out of a store: their trials, benchmarks, plays and node runs with them.

What a baseline stands on stays, and who asks for it to go is told which baseline that is.
"""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, delete, func, select

from flowgauge.errors import Conflict
from flowgauge.store.backend import Backend
from flowgauge.store.schema import baselines, benches, benchmarks, node_runs, plays, trials

_BASELINES = "flowgauge baselines"
_NAMES_SHOWN = 3


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows went, or would go."""

    benches: int = 0
    trials: int = 0
    benchmarks: int = 0
    plays: int = 0
    node_runs: int = 0


def kept_benches() -> Select[tuple[str]]:
    """Uids of benches that a baseline stands on."""
    return select(benchmarks.c.bench_uid).where(benchmarks.c.sid.in_(select(baselines.c.benchmark_sid)))


def hold_baselines(backend: Backend, connection: Connection) -> None:
    """Until the transaction ends no baseline is set and nothing goes that one could be set on. Taken before any row is locked."""
    backend.hold(connection, _BASELINES)


def refuse_baselines(connection: Connection, what: str, *which: ColumnElement[bool]) -> None:
    """Conflict where a baseline stands on one of these benchmarks. The caller holds the baselines."""
    standing = select(baselines.c.name).join(benchmarks, benchmarks.c.sid == baselines.c.benchmark_sid).where(*which)
    names = list(connection.scalars(standing.order_by(baselines.c.name).limit(_NAMES_SHOWN + 1)))
    if names:
        told = ", ".join(names[:_NAMES_SHOWN]) + (", …" if len(names) > _NAMES_SHOWN else "")
        raise Conflict(
            f"{what} cannot go: the baseline {told} stands on it.",
            remedy=f"Move it first with: flowgauge baseline set {names[0]} BENCHMARK, or remove it with: flowgauge baseline rm {names[0]}",
        )


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
