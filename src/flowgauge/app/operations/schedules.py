"""Schedules: benchmarks that are made again and again, with their gates."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from flowgauge.app.operations.operation import Done, Operation, Paged, Params
from flowgauge.app.schedules import Draft, put_schedule, shown
from flowgauge.model.service import Schedule
from flowgauge.model.workflow import Json
from flowgauge.store.page import Page

if TYPE_CHECKING:
    from flowgauge.app.host import Host

ScheduleRef = Annotated[str, Meta(min_length=1, description="A schedule's name, or its sid.")]
Name = Annotated[str, Meta(min_length=1, max_length=64, description="Letters, digits and . _ -")]
Cron = Annotated[str, Meta(description="Five fields in UTC: minute hour day month weekday. Instead of every_s.")]
Seconds = Annotated[int, Meta(ge=0)]
Webhook = Annotated[str, Meta(max_length=2000, description="A URL that is told of regressions, or env:NAME for a variable that holds it.")]


class ScheduleGet(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which schedule."""

    name: ScheduleRef


class ScheduleSet(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new schedule, or what changes of one that is there: what is left out stays."""

    name: Name
    cron: Cron | None = None
    every_s: Annotated[int, Meta(ge=0, description="Seconds from one moment to the next. Instead of cron.")] | None = None
    late_s: Annotated[int, Meta(ge=0, description="How late a missed moment may still be run; 0: however late.")] | None = None
    request: Annotated[dict[str, Json], Meta(description="What benchmark_start is called with, without a bench_id.")] | None = None
    baseline: Annotated[str, Meta(description="What its result is gated against; empty: not at all. It is never moved.")] | None = None
    policy: Annotated[dict[str, Json], Meta(description="What a gate file holds: rule, tolerance, limits, …")] | None = None
    webhook: Webhook | None = None
    enabled: bool | None = None


class ScheduleSaved(Schedule, frozen=True, kw_only=True):
    """A schedule after it was set."""

    warnings: tuple[str, ...] = ()


async def schedule_list(host: Host, params: Paged) -> Page[Schedule]:
    """By name."""
    page = await asyncio.to_thread(host.store.list_schedules, params.cursor or None, params.limit)
    return Page(tuple(map(shown, page.items)), page.next_cursor)


async def schedule_get(host: Host, params: ScheduleGet) -> Schedule:
    """Raises NotFound."""
    return shown(await asyncio.to_thread(host.store.get_schedule, params.name))


async def schedule_set(host: Host, params: ScheduleSet) -> ScheduleSaved:
    """Everything about it is checked now, as if it ran."""
    draft = Draft(**msgspec.structs.asdict(params))
    put = await asyncio.to_thread(put_schedule, host.store, draft, now_ms=host.workspace.services.clock.now_ms())
    return ScheduleSaved(**msgspec.structs.asdict(shown(put.schedule)), warnings=put.warnings)


async def schedule_delete(host: Host, params: ScheduleGet) -> Done:
    """A run that is under way goes on to its end, and nobody is told."""
    gone = await asyncio.to_thread(host.store.delete_schedule, params.name)
    return Done(sid=gone.sid, message=f"The schedule {gone.name} is deleted; what it has measured stays.")


async def schedule_run_now(host: Host, params: ScheduleGet) -> Schedule:
    """Conflict where it is running. Its next moment stays as it is."""
    return shown(await host.schedules.run_now(params.name))


ROWS = (
    Operation(
        name="schedule_list", scope="read", params=Paged, result=Page[Schedule], run=schedule_list, summary="All schedules, by name."
    ),
    Operation(
        name="schedule_get",
        scope="read",
        params=ScheduleGet,
        result=Schedule,
        run=schedule_get,
        summary="One schedule, with its next moment and what came of the last.",
    ),
    Operation(
        name="schedule_set",
        scope="admin",
        params=ScheduleSet,
        result=ScheduleSaved,
        run=schedule_set,
        summary="Define a schedule, or change the one of that name.",
    ),
    Operation(name="schedule_delete", scope="admin", params=ScheduleGet, result=Done, run=schedule_delete, summary="Delete a schedule."),
    Operation(
        name="schedule_run_now",
        scope="run",
        params=ScheduleGet,
        result=Schedule,
        run=schedule_run_now,
        summary="Run a schedule now, beside its moments; answers at once.",
    ),
)
