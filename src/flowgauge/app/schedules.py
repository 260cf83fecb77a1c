"""Define, change and show schedules.

All that can be wrong with a schedule is found when it is defined: its timing,
its bench, its policy, its webhook. What can only be missing later (a baseline)
is a warning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.operations.operation import about
from flowgauge.app.policies import policy_of
from flowgauge.app.schedule_hook import check_hook, shown_hook
from flowgauge.app.schedule_moments import HOW_TO_TIME, check_timing, first_moment
from flowgauge.app.sides import find_side
from flowgauge.errors import BadParameter, NotFound, UsageError
from flowgauge.model.ids import SCHEDULE, new_sid
from flowgauge.model.service import Schedule
from flowgauge.model.workflow import Json

if TYPE_CHECKING:
    from flowgauge.store.store import Store

_TIMING = ("cron", "every_s")


class Draft(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked of a schedule; None leaves it as it is, or takes the default where it is new."""

    name: str
    cron: str | None = None
    every_s: int | None = None
    late_s: int | None = None
    request: dict[str, Json] | None = None
    baseline: str | None = None
    policy: dict[str, Json] | None = None
    webhook: str | None = None
    enabled: bool | None = None


class Put(msgspec.Struct, frozen=True):
    """A schedule as it is stored now, and what is doubtful about it."""

    schedule: Schedule
    warnings: tuple[str, ...] = ()


def put_schedule(store: Store, draft: Draft, *, now_ms: int, only_new: bool = False, how_to_time: str = HOW_TO_TIME) -> Put:
    """Define a schedule, or change the one of that name. Raises UsageError with the field; Conflict where it is there and `only_new`."""
    before = None if only_new else _there(store, draft.name)
    wanted = _laid_over(before, draft, now_ms)
    _check(store, wanted, draft, how_to_time)
    if before is None or not before.enabled or any(getattr(before, name) != getattr(wanted, name) for name in _TIMING):
        wanted = msgspec.structs.replace(wanted, next_at=first_moment(wanted, now_ms))
    with about("name"):
        stored = store.put_schedule(wanted, replace=not only_new)
    return Put(stored, _doubts(store, stored))


def shown(schedule: Schedule) -> Schedule:
    """For readers: the webhook's address may be a secret."""
    return msgspec.structs.replace(schedule, webhook=shown_hook(schedule.webhook))


def _there(store: Store, name: str) -> Schedule | None:
    try:
        return store.get_schedule(name)
    except NotFound:
        return None


def _laid_over(before: Schedule | None, draft: Draft, now_ms: int) -> Schedule:
    given = {name: value for name, value in msgspec.structs.asdict(draft).items() if value is not None}
    if before is not None:
        if given.get("cron"):
            given.setdefault("every_s", 0)
        if given.get("every_s"):
            given.setdefault("cron", "")
        return msgspec.structs.replace(before, **given | {"name": before.name})
    if draft.request is None:
        raise BadParameter("request", "A new schedule needs a request: what benchmark_start is called with.", remedy="Name a workflow.")
    return Schedule(sid=new_sid(SCHEDULE, now_ms=now_ms), created_at=now_ms, **given)


def _check(store: Store, wanted: Schedule, draft: Draft, how_to_time: str) -> None:
    """What is given. What was stored before may be out of date (its workflow deleted) and can be changed all the same."""
    from flowgauge.app.schedule_requests import check_request

    with about("cron" if wanted.cron else "every_s"):
        check_timing(wanted.cron, wanted.every_s, how_to_time)
    if wanted.late_s < 0:
        raise BadParameter("late_s", "A moment cannot be late by less than nothing.", remedy="Give seconds, or 0 for however late.")
    with about("webhook"):
        check_hook(wanted.webhook)
    with about("policy"):
        _check_policy(wanted.policy)
    if draft.request is None:
        return
    try:
        check_request(store, wanted.request)
    except UsageError as error:
        error.field = f"request.{error.field}" if error.field else "request"
        raise


def _check_policy(policy: dict[str, Json]) -> None:
    from flowgauge.compare.limits import read_limit

    for rule in policy_of(policy).limits:
        read_limit(rule)


def _doubts(store: Store, schedule: Schedule) -> tuple[str, ...]:
    if not schedule.baseline or ":" in schedule.baseline:
        return ()
    try:
        find_side(store, schedule.baseline)
    except NotFound:
        told = f"Nothing is stored under {schedule.baseline!r} yet: until then the gate says not measured."
        return (f"{told} Set it with: flowgauge baseline set {schedule.baseline} BENCHMARK",)
    except UsageError:
        return ()  # a bench of several configurations: each is held against its own
    return ()
