"""Which benchmarks: what is asked in, conditions of a query out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypedDict

import msgspec
from sqlalchemy import ColumnElement, Connection, func, or_, select

from flowgauge.model.benchmark import Benchmark
from flowgauge.store.benches import find_bench
from flowgauge.store.prefix import begins_with
from flowgauge.store.schema import benches, benchmarks
from flowgauge.store.workflows import find_workflow

_Condition = ColumnElement[bool]


class Asked(TypedDict, total=False):
    """All that is given must fit; None is not asked for."""

    workflow: str | None
    """By name or sid."""
    version: str | None
    """By sid."""
    bench: str | None
    """By whatever `get_bench` takes."""
    config: str | None
    tags: Mapping[str, str] | None
    """All of them."""
    name: str | None
    """The name of its bench, or the subject of what has none."""
    name_prefix: str | None
    """The beginning of either."""
    subject: str | None
    commit: str | None
    kind: str | None
    before: int | None
    """created_at, in ms: older than this."""


def conditions(connection: Connection, asked: Asked) -> list[_Condition]:
    """NotFound where a workflow or bench is named that is not stored."""
    return [made for name, value in asked.items() if value is not None for made in _CONDITIONS[name](connection, value)]


def alike(like: Benchmark) -> list[_Condition]:
    """Others of the same kind, name and configuration."""
    if like.bench_uid:
        name = select(benches.c.name).where(benches.c.uid == like.bench_uid).scalar_subquery()
        same: list[_Condition] = [benchmarks.c.bench_uid.in_(select(benches.c.uid).where(benches.c.name == name))]
    else:
        same = [benchmarks.c.bench_uid == "", benchmarks.c.subject == like.subject]
    return [*same, benchmarks.c.kind == like.kind, benchmarks.c.config == like.config, benchmarks.c.sid != like.sid]


def _tagged(tags: Mapping[str, str]) -> list[_Condition]:
    """Looks for pairs as JSON writes them. A quote within a text is escaped there, so nothing else can look like one."""
    pairs = [f"{msgspec.json.encode(key).decode()}:{msgspec.json.encode(value).decode()}" for key, value in tags.items()]
    # `replace` knows case on both databases; LIKE does not on SQLite.
    return [or_(*(func.replace(benchmarks.c.tags, before + pair, "") != benchmarks.c.tags for before in "{,")) for pair in pairs]


def _named(of_bench: _Condition, of_subject: _Condition) -> list[_Condition]:
    return [or_(benchmarks.c.bench_uid.in_(select(benches.c.uid).where(of_bench)), of_subject)]


_CONDITIONS: dict[str, Callable[[Connection, Any], list[_Condition]]] = {
    "workflow": lambda connection, value: [benchmarks.c.workflow_sid == find_workflow(connection, value).sid],
    "version": lambda _, value: [benchmarks.c.workflow_version_sid == value],
    "bench": lambda connection, value: [benchmarks.c.bench_uid == find_bench(connection, value).uid],
    "config": lambda _, value: [benchmarks.c.config == value],
    "tags": lambda _, value: _tagged(value),
    "name": lambda _, value: _named(benches.c.name == value, benchmarks.c.subject == value),
    "name_prefix": lambda _, value: _named(begins_with(benches.c.name, value), begins_with(benchmarks.c.subject, value)),
    "subject": lambda _, value: [benchmarks.c.subject == value],
    "commit": lambda _, value: [benchmarks.c.commit == value],
    "kind": lambda _, value: [benchmarks.c.kind == value],
    "before": lambda _, value: [benchmarks.c.created_at < value],
}
