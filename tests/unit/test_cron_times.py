"""Cron times, with every odd hour that clocks have."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from threadkeep.errors import InvalidScheduleError
from threadkeep.model.crons import NewCron
from threadkeep.rules.cron_changes import planned
from threadkeep.rules.cron_times import next_date, next_fire, parse_schedule, zone_of

NEW_YORK = "America/New_York"  # 2030: forward on 10 March at 02:00, back on 3 November at 02:00


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def fires(schedule: str, zone: str | None, after: str, count: int = 1) -> list[str]:
    found: list[str] = []
    moment: datetime | None = at(after)
    for _ in range(count):
        assert moment is not None
        moment = next_fire(schedule, zone, moment)
        found.append("never" if moment is None else moment.strftime("%m-%d %H:%M"))
    return found


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("* * * * *", ["01-01 00:01", "01-01 00:02"]),
        ("*/20 * * * *", ["01-01 00:20", "01-01 00:40", "01-01 01:00"]),
        ("5/25 0 * * *", ["01-01 00:05", "01-01 00:30", "01-01 00:55", "01-02 00:05"]),
        ("30 9 * * mon-fri", ["01-01 09:30", "01-02 09:30", "01-03 09:30", "01-04 09:30"]),
        ("0 12 * * 0", ["01-06 12:00", "01-13 12:00"]),
        ("0 12 * * 7", ["01-06 12:00", "01-13 12:00"]),
        ("0 0 31 * *", ["01-31 00:00", "03-31 00:00"]),
        ("0 0 1,15 * fri", ["01-04 00:00", "01-11 00:00", "01-15 00:00"]),
        ("0 0 */10 * fri", ["01-11 00:00", "02-01 00:00"]),
        ("15,45 6 1-3 FEB *", ["02-01 06:15", "02-01 06:45", "02-02 06:15"]),
        ("@monthly", ["02-01 00:00", "03-01 00:00"]),
        ("@Hourly", ["01-01 01:00", "01-01 02:00"]),
    ],
)
def test_fields_mean_what_cron_means(schedule: str, expected: list[str]) -> None:
    assert fires(schedule, None, "2030-01-01T00:00", len(expected)) == expected


def test_the_moment_itself_is_not_after_it() -> None:
    assert fires("0 0 * * *", None, "2030-01-01T00:00") == ["01-02 00:00"]
    assert next_fire("0 0 * * *", None, at("2029-12-31T23:59:59.999999")) == at("2030-01-01T00:00")


def test_a_leap_day_is_waited_for() -> None:
    assert next_fire("0 0 29 2 *", None, at("2096-03-01T00:00")) == at("2104-02-29T00:00")
    assert next_fire("0 0 29 2 */7", None, at("2088-03-01T00:00")) == at("2128-02-29T00:00")


def test_the_calendar_has_an_end() -> None:
    assert next_fire("0 0 1 1 *", None, at("9999-06-01T00:00")) is None
    assert next_fire("* * * * *", "Asia/Tokyo", datetime.max.replace(tzinfo=UTC)) is None
    assert next_fire("59 23 31 12 *", NEW_YORK, at("9999-12-31T23:00")) is None


def test_a_zone_decides_the_instant() -> None:
    assert fires("0 9 * * *", "Europe/Berlin", "2030-01-01T00:00") == ["01-01 08:00"]
    assert fires("0 9 * * *", "Europe/Berlin", "2030-07-01T00:00") == ["07-01 07:00"]
    assert fires("30 5 * * *", "Asia/Kolkata", "2030-01-01T00:00") == ["01-02 00:00"]


def test_a_time_that_does_not_exist_fires_at_the_next_instant() -> None:
    assert fires("30 2 * * *", NEW_YORK, "2030-03-09T12:00", 2) == ["03-10 07:00", "03-11 06:30"]


def test_many_times_that_do_not_exist_fire_once() -> None:
    expected = ["03-10 06:45", "03-10 07:00", "03-10 07:15"]
    assert fires("*/15 * * * *", NEW_YORK, "2030-03-10T06:30", 3) == expected


def test_a_time_that_repeats_fires_the_first_time_only() -> None:
    assert fires("30 1 * * *", NEW_YORK, "2030-11-02T12:00", 2) == ["11-03 05:30", "11-04 06:30"]
    expected = ["11-03 05:30", "11-03 07:00"]
    assert fires("0,30 * * * *", NEW_YORK, "2030-11-03T05:00", 2) == expected


def test_a_time_that_repeats_does_not_fire_again_when_asked_between() -> None:
    assert fires("30 1 * * *", NEW_YORK, "2030-11-03T06:00") == ["11-04 06:30"]


def test_a_jump_of_half_an_hour_and_one_of_a_day() -> None:
    lord_howe = "Australia/Lord_Howe"  # forward on 6 October 2030 at 02:00, to 02:30
    assert fires("15 2 * * *", lord_howe, "2030-10-05T00:00") == ["10-05 15:30"]
    apia = "Pacific/Apia"  # had no 30 December 2011
    assert fires("0 12 30 12 *", apia, "2011-12-29T00:00") == ["12-30 10:00"]


def test_clocks_that_go_back_over_midnight_lose_nothing() -> None:
    # In Havana on 3 November 2030, 01:00 becomes 00:00.
    assert fires("30 0 * * *", "America/Havana", "2030-11-02T12:00", 2) == [
        "11-03 04:30",
        "11-04 05:30",
    ]


@pytest.mark.parametrize(
    "schedule",
    [
        "",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 8",
        "*/0 * * * *",
        "5-1 * * * *",
        "1,,2 * * * *",
        "a * * * *",
        "-1 * * * *",
        "1.5 * * * *",
        "٣ * * * *",
        "* * * mon *",
        "0 0 30 2 *",
        "0 0 31 4,6 *",
        "@reboot",
        "* " * 200,
    ],
)
def test_what_is_no_schedule_is_refused(schedule: str) -> None:
    with pytest.raises(InvalidScheduleError):
        parse_schedule(schedule)


@pytest.mark.parametrize("zone", ["", "Nowhere/Land", "../etc/passwd", "a\0b", "/etc/localtime"])
def test_what_is_no_zone_is_refused(zone: str) -> None:
    with pytest.raises(InvalidScheduleError):
        zone_of(zone)


def test_missed_dates_are_not_made_up_for() -> None:
    cron = planned(
        NewCron("c", "a", "0 * * * *", next_run_date=at("2030-01-01T01:00")),
        at("2030-01-01T00:00"),
    )
    assert next_date(cron, at("2030-01-01T05:10")) == at("2030-01-01T06:00")
    assert next_date(cron, at("2030-01-01T00:10")) == at("2030-01-01T02:00")


def test_the_end_still_counts() -> None:
    cron = planned(
        NewCron("c", "a", "0 * * * *", end_time=at("2030-01-01T06:00")), at("2030-01-01T00:00")
    )
    assert next_date(cron, at("2030-01-01T05:10")) == at("2030-01-01T06:00")
    assert next_date(cron, at("2030-01-01T06:00")) is None


FIELD = st.sampled_from(["*", "0", "1", "2", "*/3", "1-3", "2,5"])


@settings(max_examples=150, deadline=None)
@given(
    fields=st.tuples(st.sampled_from(["0", "30", "*/15", "*"]), FIELD, FIELD, FIELD, FIELD),
    zone=st.sampled_from([None, NEW_YORK, "Australia/Lord_Howe", "Asia/Kolkata"]),
    after=st.datetimes(datetime(2029, 1, 1), datetime(2031, 1, 1)),  # noqa: DTZ001
)
def test_a_fire_is_later_and_a_local_time_of_the_schedule_or_the_end_of_a_gap(
    fields: tuple[str, ...], zone: str | None, after: datetime
) -> None:
    text = " ".join(
        "1" if each == "0" and place in (2, 3) else each for place, each in enumerate(fields)
    )
    moment = after.replace(tzinfo=UTC)
    found = next_fire(text, zone, moment)
    assert found is not None
    assert found > moment
    local = found.astimezone(zone_of(zone))
    schedule = parse_schedule(text)
    is_named = (
        schedule.has_date(local.date())
        and local.hour in schedule.hours
        and local.minute in schedule.minutes
    )
    before = (found - timedelta(microseconds=1)).astimezone(zone_of(zone))
    assert is_named or before.utcoffset() != local.utcoffset()
