"""Baselines: benchmarks under a name, that others are held against."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from flowgauge.app.operations.benchmarks import BenchmarkRef
from flowgauge.app.operations.operation import Done, Operation, Paged, Params, about
from flowgauge.model.verdict import Baseline
from flowgauge.store.page import Page

if TYPE_CHECKING:
    from flowgauge.app.host import Host

BaselineName = Annotated[str, Meta(min_length=1, max_length=100, description="Letters, digits and . / + @ - _")]


class BaselineSet(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which benchmark, under which name."""

    name: BaselineName
    benchmark_sid: BenchmarkRef
    note: str = ""


class BaselineGet(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which baseline."""

    name: BaselineName


class BaselineHistory(Paged, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of which baseline."""

    name: BaselineName


async def baseline_set(host: Host, params: BaselineSet) -> Baseline:
    """What stood there before is kept in the history."""
    with about("benchmark_sid"):
        sid = (await asyncio.to_thread(host.store.get_benchmark, params.benchmark_sid)).sid
    with about("name"):
        return await asyncio.to_thread(host.store.set_baseline, params.name, sid, params.note)


async def baseline_get(host: Host, params: BaselineGet) -> Baseline:
    """Raises NotFound."""
    return await asyncio.to_thread(host.store.get_baseline, params.name)


async def baseline_list(host: Host, params: Paged) -> Page[Baseline]:
    """By name."""
    return await asyncio.to_thread(host.store.list_baselines, params.cursor or None, params.limit)


async def baseline_history(host: Host, params: BaselineHistory) -> Page[Baseline]:
    """Newest first."""
    return await asyncio.to_thread(host.store.baseline_history, params.name, params.cursor or None, params.limit)


async def baseline_delete(host: Host, params: BaselineGet) -> Done:
    """The benchmark stays."""
    await asyncio.to_thread(host.store.delete_baseline, params.name)
    return Done(sid=params.name, message=f"The baseline {params.name} is deleted; its benchmark stays.")


ROWS = (
    Operation(
        name="baseline_set",
        scope="admin",
        params=BaselineSet,
        result=Baseline,
        run=baseline_set,
        summary="Put a benchmark under a name that others are held against.",
    ),
    Operation(name="baseline_get", scope="read", params=BaselineGet, result=Baseline, run=baseline_get, summary="One baseline."),
    Operation(name="baseline_list", scope="read", params=Paged, result=Page[Baseline], run=baseline_list, summary="Baselines, by name."),
    Operation(
        name="baseline_history",
        scope="read",
        params=BaselineHistory,
        result=Page[Baseline],
        run=baseline_history,
        summary="What stood under a baseline's name before, newest first.",
    ),
    Operation(name="baseline_delete", scope="admin", params=BaselineGet, result=Done, run=baseline_delete, summary="Forget a baseline."),
)
