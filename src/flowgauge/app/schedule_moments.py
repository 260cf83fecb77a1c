"""When a schedule's moments come. Pure: reads no clock.

Cron expressions are five fields in UTC, so no moment is doubled or left out when
clocks change. Intervals go from moment to moment, whenever a run ends.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from flowgauge.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from flowgauge.model.service import Schedule

FIELDS = 5
MOST_COUNTED = 1000
LONGEST_S = 366 * 86_400
HOW_TO_TIME = "Give every_s, such as 3600, or cron, such as '0 3 * * *'; not both."
_HOW = "Give five fields in UTC: minute hour day month weekday, such as '0 3 * * *' for every night at three or '*/15 * * * 1-5'."


def check_timing(cron: str, every_s: int, how: str = HOW_TO_TIME) -> None:
    """Exactly one of the two, and one that comes. Raises UsageError; `how` is said to whoever gives none, or both."""
    if bool(cron) == bool(every_s):
        raise UsageError("A schedule needs either an interval or a cron expression.", remedy=how)
    if every_s and not 1 <= every_s <= LONGEST_S:
        raise UsageError(f"An interval of {every_s} s is none.", remedy="Take one second to a year.")
    if cron:
        next(_cron_moments(cron, 0))


def moment_after(schedule: Schedule, after_ms: int) -> int:
    """The first moment later than `after_ms`; an interval counts from the schedule's next moment."""
    if schedule.cron:
        return next(_cron_moments(schedule.cron, after_ms))
    every_ms = schedule.every_s * 1000
    return schedule.next_at + every_ms * max(0, (after_ms - schedule.next_at) // every_ms + 1)


def first_moment(schedule: Schedule, now_ms: int) -> int:
    """For a schedule that is new, was changed or was disabled: an interval begins now."""
    return next(_cron_moments(schedule.cron, now_ms)) if schedule.cron else now_ms + schedule.every_s * 1000


def last_moment(schedule: Schedule, now_ms: int) -> tuple[int, int]:
    """Of a schedule that is due: the last moment that has come, and how many came before it (at most MOST_COUNTED are counted)."""
    if not schedule.cron:
        passed = (now_ms - schedule.next_at) // (schedule.every_s * 1000)
        return schedule.next_at + passed * schedule.every_s * 1000, passed
    next_second_ms = (now_ms // 1000 + 1) * 1000
    last = next(_cron_moments(schedule.cron, next_second_ms, reverse=True))
    come = takewhile(lambda moment: moment <= now_ms, _cron_moments(schedule.cron, schedule.next_at))
    return max(last, schedule.next_at), sum(1 for _ in islice(come, MOST_COUNTED))


def is_out_of_reach(schedule: Schedule, now_ms: int) -> bool:
    """Whether its next moment is later than the next but one that the clock leads to: the clock was set back since.

    A small step back leaves it as it is, so that no moment is run twice.
    """
    if not schedule.cron:
        return schedule.next_at > now_ms + 2 * schedule.every_s * 1000
    *_, later = islice(_cron_moments(schedule.cron, now_ms), 2)
    return schedule.next_at > later


def _cron_moments(cron: str, after_ms: int, *, reverse: bool = False) -> Iterator[int]:
    """Later than a moment (or earlier), one after the other. Raises UsageError for what is no cron expression, or never comes."""
    try:
        from cronsim import CronSim, CronSimError
    except ImportError as error:
        raise MissingExtra("A cron expression", "server") from error
    if len(cron.split()) != FIELDS:
        raise UsageError(f"'{cron}' is no cron expression: it has {len(cron.split())} fields.", remedy=_HOW)
    try:
        moments = CronSim(cron, datetime.datetime.fromtimestamp(after_ms / 1000, datetime.UTC), reverse=reverse)
    except CronSimError as error:
        raise UsageError(f"'{cron}' is no cron expression: {str(error)[:1].lower()}{str(error)[1:]}.", remedy=_HOW) from error
    came = False
    for moment in moments:
        came = True
        yield int(moment.timestamp() * 1000)
    if not came:
        raise UsageError(f"'{cron}' never comes.", remedy=_HOW)
