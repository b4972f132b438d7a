"""A cron: a schedule that creates runs, on one thread or on a new one each time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from threadkeep.model.runs import Admission
from threadkeep.model.unset import UNSET, Unset

OnRunCompleted = Literal["delete", "keep"]


@dataclass(frozen=True, slots=True)
class Cron:
    """One schedule.

    Attributes:
        cron_id: A UUID as text.
        thread_id: The thread its runs go to; ``None`` for a new thread each time.
        schedule: Five fields (``rules.cron_times``).
        timezone: The IANA name the schedule is read in, or ``None`` for UTC.
        end_time: Its last possible moment, inclusive, or ``None``.
        next_run_date: When it fires next; ``None`` while nothing is planned.
        enabled: Whether it fires at all.
        on_run_completed: What becomes of a thread that was made for one run.
        payload: What its runs are made with, as JSON.
        user_id: Who made it, as the wire shows it, or ``None``.
        token: Grows by one with every write; a claim names the one it has seen. Not on the wire.
    """

    cron_id: str
    assistant_id: str
    thread_id: str | None
    schedule: str
    timezone: str | None
    end_time: datetime | None
    next_run_date: datetime | None
    enabled: bool
    on_run_completed: OnRunCompleted | None
    payload: Mapping[str, Any]
    metadata: Mapping[str, Any]
    user_id: str | None
    created_at: datetime
    updated_at: datetime
    token: int


@dataclass(frozen=True, slots=True)
class NewCron:
    """What a caller gives to create one; schedule and times are kept as they are.

    Attributes:
        principal: Who its runs act as, as JSON; kept beside the row and never shown.
    """

    cron_id: str
    assistant_id: str
    schedule: str
    thread_id: str | None = None
    timezone: str | None = None
    end_time: datetime | None = None
    next_run_date: datetime | None = None
    enabled: bool = True
    on_run_completed: OnRunCompleted | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    user_id: str | None = None
    principal: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class CronPatch:
    """What a caller changes; what is left out stays.

    Attributes:
        payload: Replaced whole. Metadata is merged by top-level key.
    """

    schedule: str | None = None
    timezone: str | Unset | None = UNSET
    end_time: datetime | Unset | None = UNSET
    next_run_date: datetime | Unset | None = UNSET
    enabled: bool | None = None
    on_run_completed: OnRunCompleted | Unset | None = UNSET
    payload: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CronFiring:
    """What a won claim did.

    Attributes:
        cron: The cron, moved on to its next date.
        admission: The run it made; ``None`` when none was asked for, or it was refused.
        refusal: Why the run was refused; the cron moved on all the same.
    """

    cron: Cron
    admission: Admission | None = None
    refusal: Exception | None = None
