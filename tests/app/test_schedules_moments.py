"""When moments come: cron and intervals, late starts, clocks that go back."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowgauge.app.schedule_moments import check_timing, first_moment, is_out_of_reach, last_moment, moment_after
from flowgauge.errors import UsageError
from flowgauge.model.service import Schedule

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


def at(text: str) -> int:
    return int(datetime.datetime.fromisoformat(f"{text}+00:00").timestamp() * 1000)


def schedule(**fields: Any) -> Schedule:
    return Schedule(sid="sc_1", name="s", request={}, **fields)


NIGHTLY = schedule(cron="0 3 * * *", next_at=at("2026-01-31T03:00:00"))
HOURLY = schedule(every_s=3600, next_at=1_000_000)


@pytest.mark.parametrize(
    ("cron", "after", "moment"),
    [
        pytest.param("0 3 * * *", "2026-01-31T02:59:59.999", "2026-01-31T03:00:00", id="later the same day"),
        pytest.param("0 3 * * *", "2026-01-31T03:00:00", "2026-02-01T03:00:00", id="a moment itself is over"),
        pytest.param("0 3 * * *", "2026-03-29T02:30:00", "2026-03-29T03:00:00", id="UTC knows no summer time"),
        pytest.param("*/15 8-9 * * mon-fri", "2026-01-30T09:45:00", "2026-02-02T08:00:00", id="over a week-end"),
        pytest.param("0 0 29 2 *", "2026-01-01T00:00:00", "2028-02-29T00:00:00", id="in a leap year"),
        pytest.param("0 12 L * *", "2026-02-01T00:00:00", "2026-02-28T12:00:00", id="the last of a month"),
    ],
)
def test_cron_is_read_in_utc(cron: str, after: str, moment: str) -> None:
    assert moment_after(schedule(cron=cron), at(after)) == first_moment(schedule(cron=cron), at(after)) == at(moment)


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        pytest.param("61 * * * *", "bad minute", id="a minute that no hour has"),
        pytest.param("* * * *", "it has 4 fields", id="too few fields"),
        pytest.param("0 0 3 * * *", "it has 6 fields", id="seconds are not asked for"),
        pytest.param("@daily", "it has 1 fields", id="a nickname"),
        pytest.param("nightly please now ok thanks", "bad minute", id="words"),
        pytest.param("0 0 30 2 *", "bad day-of-month", id="a day that no year has"),
    ],
)
def test_bad_cron_says_what_is_wrong_and_what_would_be_right(cron: str, words: str) -> None:
    with pytest.raises(UsageError, match=rf"is no cron expression: {words}.*Give five fields in UTC.*'0 3 \* \* \*'"):
        check_timing(cron, 0)


def test_cron_that_never_comes_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'0 0 \*/40 \* 1#3' never comes\. Give five fields"):
        check_timing("0 0 */40 * 1#3", 0)  # the first of a month is never its third Monday


@pytest.mark.parametrize(("cron", "every_s"), [("", 0), ("0 3 * * *", 60)])
def test_a_schedule_has_one_timing(cron: str, every_s: int) -> None:
    with pytest.raises(UsageError, match="either an interval or a cron expression"):
        check_timing(cron, every_s)


@pytest.mark.parametrize("every_s", [-1, 10**9])
def test_an_interval_is_a_second_to_a_year(every_s: int) -> None:
    with pytest.raises(UsageError, match="one second to a year"):
        check_timing("", every_s)


def test_an_interval_begins_when_it_is_defined_and_goes_from_moment_to_moment() -> None:
    assert first_moment(HOURLY, 5) == 5 + HOUR
    assert moment_after(HOURLY, 1_000_000) == 1_000_000 + HOUR
    assert moment_after(HOURLY, 1_000_000 + HOUR - 1) == 1_000_000 + HOUR
    assert moment_after(HOURLY, 1_000_000 + 5 * HOUR) == 1_000_000 + 6 * HOUR


@pytest.mark.parametrize(
    ("which", "now", "moment", "missed"),
    [
        pytest.param(NIGHTLY, at("2026-01-31T03:00:00.250"), at("2026-01-31T03:00:00"), 0, id="in time"),
        pytest.param(NIGHTLY, at("2026-01-31T22:00:00"), at("2026-01-31T03:00:00"), 0, id="late the same day"),
        pytest.param(NIGHTLY, at("2026-02-03T02:59:59.999"), at("2026-02-02T03:00:00"), 2, id="days later, just before the next"),
        pytest.param(NIGHTLY, at("2026-02-03T03:00:00"), at("2026-02-03T03:00:00"), 3, id="days later, at one"),
        pytest.param(HOURLY, 1_000_000, 1_000_000, 0, id="an interval in time"),
        pytest.param(HOURLY, 1_000_000 + 3 * HOUR + 1, 1_000_000 + 3 * HOUR, 3, id="an interval, hours later"),
    ],
)
def test_of_moments_that_were_missed_the_last_is_run(which: Schedule, now: int, moment: int, missed: int) -> None:
    assert last_moment(which, now) == (moment, missed)


def test_many_missed_moments_are_not_all_counted() -> None:
    assert last_moment(schedule(cron="* * * * *", next_at=at("2020-01-01T00:00:00")), at("2026-01-01T00:00:00"))[1] == 1000


@pytest.mark.parametrize(
    ("which", "now", "far"),
    [
        pytest.param(NIGHTLY, NIGHTLY.next_at - 1, False, id="the next moment is the next"),
        pytest.param(NIGHTLY, NIGHTLY.next_at - DAY - 1, False, id="a step back over one moment: it is not run twice"),
        pytest.param(NIGHTLY, NIGHTLY.next_at - 3 * DAY, True, id="set back by days"),
        pytest.param(HOURLY, HOURLY.next_at - 2 * HOUR, False, id="an interval, two steps away"),
        pytest.param(HOURLY, HOURLY.next_at - 2 * HOUR - 1, True, id="an interval, further away"),
    ],
)
def test_a_moment_is_out_of_reach_once_the_clock_was_set_far_back(which: Schedule, now: int, far: bool) -> None:
    assert is_out_of_reach(which, now) is far


CRONS = st.tuples(
    st.one_of(st.just("*"), st.integers(0, 59).map(str), st.sampled_from(["*/7", "*/15", "10-20"])),
    st.one_of(st.just("*"), st.integers(0, 23).map(str), st.sampled_from(["*/5", "8-18"])),
    st.sampled_from(["*", "*", "1", "L", "10-12"]),
    st.sampled_from(["*", "*", "2", "6-8"]),
    st.sampled_from(["*", "*", "1-5", "SUN"]),
).map(" ".join)
TIMINGS = st.one_of(CRONS.map(lambda cron: {"cron": cron}), st.integers(1, 10**7).map(lambda every_s: {"every_s": every_s}))


@given(timing=TIMINGS, start=st.integers(10**12, 2 * 10**12), late=st.integers(0, 30 * DAY))
def test_whatever_the_timing_the_next_moment_is_later_and_nothing_lies_between(timing: dict[str, Any], start: int, late: int) -> None:
    planned = schedule(**timing, next_at=0)
    due = schedule(**timing, next_at=first_moment(planned, start))
    assert due.next_at > start
    now = due.next_at + late
    moment, missed = last_moment(due, now)
    following = moment_after(due, now)
    assert due.next_at <= moment <= now < following
    assert moment_after(due, moment) == following
    assert (missed == 0) == (moment == due.next_at)
    assert not is_out_of_reach(schedule(**timing, next_at=following), now)
