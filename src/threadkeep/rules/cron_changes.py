"""What happens to a cron's row, as values."""

from dataclasses import replace
from datetime import datetime

from threadkeep.model.crons import Cron, CronPatch, NewCron
from threadkeep.model.unset import Unset
from threadkeep.rules.metadata import merged


def planned(new: NewCron, now: datetime) -> Cron:
    """Return the row a new cron starts with."""
    return Cron(
        cron_id=new.cron_id,
        assistant_id=new.assistant_id,
        thread_id=new.thread_id,
        schedule=new.schedule,
        timezone=new.timezone,
        end_time=new.end_time,
        next_run_date=new.next_run_date,
        enabled=new.enabled,
        on_run_completed=new.on_run_completed,
        payload=new.payload,
        metadata=new.metadata,
        user_id=new.user_id,
        created_at=now,
        updated_at=now,
        token=0,
    )


def changed(cron: Cron, patch: CronPatch, now: datetime) -> Cron:
    """Return the cron with what a patch gives."""
    given = {
        name: value
        for name in ("timezone", "end_time", "next_run_date", "on_run_completed")
        if not isinstance(value := getattr(patch, name), Unset)
    }
    return replace(
        cron,
        **given,
        schedule=cron.schedule if patch.schedule is None else patch.schedule,
        enabled=cron.enabled if patch.enabled is None else patch.enabled,
        payload=cron.payload if patch.payload is None else patch.payload,
        metadata=merged(cron.metadata, patch.metadata),
        updated_at=now,
        token=cron.token + 1,
    )


def moved_on(cron: Cron, next_run_date: datetime | None, now: datetime) -> Cron:
    """Return the cron after a won claim."""
    return replace(cron, next_run_date=next_run_date, updated_at=now, token=cron.token + 1)


def may_fire(cron: Cron | None, token: int) -> bool:
    """Say whether a claim with a token wins."""
    return cron is not None and cron.enabled and cron.token == token
