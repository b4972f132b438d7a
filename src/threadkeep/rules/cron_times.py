"""When a cron fires: five fields read in a time zone.

``minute hour day-of-month month day-of-week``: numbers, ranges, lists and steps; months and days
also by their English names of three letters; 0 and 7 are Sunday. As in every cron, a date must
match both day fields when one of them starts with ``*``, else either. ``@hourly``, ``@daily``,
``@midnight``, ``@weekly``, ``@monthly``, ``@yearly`` and ``@annually`` stand for five fields.

Where clocks change: a local time that does not exist fires at the next instant that does, once
however many such times there are; one that repeats fires the first time only.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from threadkeep.errors import InvalidScheduleError
from threadkeep.model.crons import Cron

MAX_DAYS = 366 * 41  # a leap day on one weekday comes within 40 years, around 2100
LONGEST_SCHEDULE = 256  # characters

_ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_PART = re.compile(r"(?:(\*)|(\w+)(?:-(\w+))?)(?:/(\d+))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Field:
    """One of the five: its name, its bounds, its names for numbers."""

    name: str
    least: int
    most: int
    names: Mapping[str, int]


_FIELDS = (
    Field("minute", 0, 59, {}),
    Field("hour", 0, 23, {}),
    Field("day of month", 1, 31, {}),
    Field("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    Field("day of week", 0, 7, {name: number for number, name in enumerate(_DAYS)}),
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule read: the numbers that each field takes, in order.

    Attributes:
        either_day: A date matches by one of the two day fields; else it must match both.
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool

    def has_date(self, day: date) -> bool:
        """Say whether it fires on a date."""
        if day.month not in self.months:
            return False
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return in_month or in_week if self.either_day else in_month and in_week

    def times(self) -> Iterator[time]:
        """Iterate over the times of a day on which it fires, in order."""
        for hour in self.hours:
            for minute in self.minutes:
                yield time(hour, minute)


@lru_cache(256)
def parse_schedule(text: str) -> Schedule:
    """Read a schedule.

    Raises:
        InvalidScheduleError: It is not five fields, a field holds what it cannot, or no date ever
            matches (30 February).
    """
    if len(text) > LONGEST_SCHEDULE:
        raise InvalidScheduleError(f"a schedule of {len(text)} characters; {LONGEST_SCHEDULE} do")
    fields = _ALIASES.get(text.strip().lower(), text).split()
    if len(fields) != len(_FIELDS):
        raise InvalidScheduleError(
            f"the schedule {text!r} has {len(fields)} fields; it needs five: minute, hour, day of "
            "month, month, day of week"
        )
    numbers = [_numbers(each, field) for each, field in zip(fields, _FIELDS, strict=True)]
    minutes, hours, days, months, weekdays = numbers
    found = Schedule(
        tuple(sorted(minutes)),
        tuple(sorted(hours)),
        frozenset(days),
        frozenset(months),
        frozenset(day % 7 for day in weekdays),
        either_day=not (fields[2].startswith("*") or fields[4].startswith("*")),
    )
    if not found.either_day and not any(_has_day(month, found.days) for month in found.months):
        raise InvalidScheduleError(f"the schedule {text!r} names a date that no year has")
    return found


@lru_cache(256)
def zone_of(name: str | None) -> tzinfo:
    """Return a time zone by its IANA name; ``None`` is UTC.

    Raises:
        InvalidScheduleError: There is none of that name.
    """
    if name is None:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidScheduleError(
            f"no time zone {name!r}; it must be an IANA name like Europe/Berlin"
        ) from None


def next_fire(schedule: str, timezone: str | None, after: datetime) -> datetime | None:
    """Return the first instant after a moment at which a schedule fires, in UTC.

    ``None`` when the calendar ends before it does.

    Raises:
        InvalidScheduleError: The schedule or the time zone is none.
    """
    found, zone = parse_schedule(schedule), zone_of(timezone)
    day = _local_date(after, zone)
    for _ in range(MAX_DAYS):
        if day is None:
            return None
        if found.has_date(day):
            for at in found.times():
                instant = _instant(day, at, zone)
                if instant is not None and instant > after:
                    return instant
        day = _next_day(day)
    return None


def next_date(cron: Cron, now: datetime) -> datetime | None:
    """Return the date a cron waits for once the present one is dealt with.

    Dates that were missed meanwhile are not made up for. ``None`` when ``end_time`` comes first;
    a date at that very moment still counts.

    Raises:
        InvalidScheduleError: See ``next_fire``.
    """
    after = now if cron.next_run_date is None else max(cron.next_run_date, now)
    found = next_fire(cron.schedule, cron.timezone, after)
    if found is None or (cron.end_time is not None and found > cron.end_time):
        return None
    return found


def _numbers(text: str, field: Field) -> set[int]:
    found: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise _refusal(part, field)
        star, first, last, step = match.groups()
        low = field.least if star else _number(first, field)
        high = field.most if star or (step and not last) else low
        high = _number(last, field) if last else high
        if high < low or step == "0" * len(step or "-"):
            raise _refusal(part, field)
        found.update(range(low, high + 1, int(step or 1)))
    return found


def _number(text: str, field: Field) -> int:
    number = field.names.get(text.lower())
    if number is None and text.isdigit() and len(text) <= 2:
        number = int(text)
    if number is None or not field.least <= number <= field.most:
        raise _refusal(text, field)
    return number


def _refusal(part: str, field: Field) -> InvalidScheduleError:
    return InvalidScheduleError(
        f"{part!r} is no {field.name}; it must be from {field.least} to {field.most}, as numbers, "
        "ranges (1-5), lists (1,3) or steps (*/2)"
    )


def _has_day(month: int, days: frozenset[int]) -> bool:
    longest = 29 if month == 2 else 30 if month in {4, 6, 9, 11} else 31
    return min(days) <= longest


def _local_date(moment: datetime, zone: tzinfo) -> date | None:
    try:
        local = moment.astimezone(zone)
        # Where clocks go back over midnight, times of the day before may still be to come.
        return local.date() - timedelta(days=1)
    except OverflowError:
        return None


def _next_day(day: date) -> date | None:
    return None if day == date.max else day + timedelta(days=1)


def _instant(day: date, at: time, zone: tzinfo) -> datetime | None:
    """Return when a local time is: the first one where it repeats, the end of a gap in a gap."""
    local = datetime.combine(day, at, zone)
    try:
        instant = local.astimezone(UTC)
        if instant.astimezone(zone).replace(tzinfo=None) == local.replace(tzinfo=None):
            return instant
        return _end_of_gap(local, zone)
    except OverflowError:
        return None


def _end_of_gap(local: datetime, zone: tzinfo) -> datetime:
    """Return the instant at which the clocks jump over a local time.

    Source: PEP 495; with fold 0 a time in a gap is read by the offset before it, so as an instant
    it lies after the jump, and with fold 1 before.
    """
    low = local.replace(fold=1).astimezone(UTC)
    high = local.astimezone(UTC)
    before = low.astimezone(zone).utcoffset()
    while high - low > timedelta(microseconds=1):
        middle = low + (high - low) // 2
        if middle.astimezone(zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high
