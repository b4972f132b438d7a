"""Crons: schedules that make runs, made, found and changed. ``background`` fires them.

A cron's payload is what its runs are asked for, as the wire says it, with the cron's own id in
``config.configurable.cron_id``.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from threadkeep.engine.identifiers import new_id
from threadkeep.errors import NotFoundError
from threadkeep.model.crons import Cron, CronPatch, NewCron, OnRunCompleted
from threadkeep.model.identity import current_user
from threadkeep.model.queries import CronQuery, Listing
from threadkeep.ports.clock import Clock
from threadkeep.ports.resources import ResourceStore
from threadkeep.rules.cron_times import next_fire
from threadkeep.rules.redaction import redact_keys
from threadkeep.rules.run_secrets import check_no_secrets

PLANNING = ("schedule", "timezone", "end_time")  # what the next date is made from


class CronService:
    """Crons of threads, and crons whose runs get a thread of their own each."""

    def __init__(self, resources: ResourceStore, clock: Clock) -> None:
        self._crons = resources.crons
        self._assistants = resources.assistants
        self._clock = clock

    async def create(
        self,
        *,
        assistant_id: str,
        schedule: str,
        thread_id: str | None = None,
        timezone: str | None = None,
        end_time: datetime | None = None,
        enabled: bool = True,
        on_run_completed: OnRunCompleted | None = None,
        payload: Mapping[str, Any],
        metadata: Mapping[str, Any],
    ) -> Cron:
        """Make a cron; its first date is the next that its schedule has.

        Args:
            assistant_id: The id of an assistant.
            payload: What its runs are asked for, beside the assistant.

        Raises:
            NotFoundError: No such assistant, or no such thread.
            InvalidScheduleError: The schedule or the time zone is none.
            InvalidRequestError: The payload has credentials.
        """
        if await self._assistants.get(assistant_id) is None:
            raise NotFoundError("assistant", assistant_id)
        next_run_date = _next(schedule, timezone, end_time, self._clock.now())
        cron_id = new_id()
        user = current_user.get()
        new = NewCron(
            cron_id=cron_id,
            assistant_id=assistant_id,
            thread_id=thread_id,
            schedule=schedule,
            timezone=timezone,
            end_time=end_time,
            next_run_date=next_run_date,
            enabled=enabled,
            on_run_completed=on_run_completed,
            payload=_kept(cron_id, payload),
            metadata=metadata,
            user_id=None if user is None else user["identity"],
            principal=None if user is None else redact_keys(user),
        )
        return await self._crons.create(new)

    async def get(self, cron_id: str) -> Cron:
        """Read a cron.

        Raises:
            NotFoundError: No such cron.
        """
        found = await self._crons.get(cron_id)
        if found is None:
            raise NotFoundError("cron", cron_id)
        return found

    async def search(self, query: CronQuery) -> Listing[Cron]:
        """Read a page of crons."""
        return await self._crons.search(query)

    async def count(self, query: CronQuery) -> int:
        """Count the crons that match, whatever the query's page."""
        return await self._crons.count(query)

    async def update(
        self, cron_id: str, given: Mapping[str, Any], payload: Mapping[str, Any]
    ) -> Cron:
        """Change a cron; a changed schedule begins anew from now.

        Args:
            given: Fields of ``CronPatch`` by name, beside payload and next date.
            payload: What is replaced in the payload, by field.

        Raises:
            NotFoundError: No such cron.
            InvalidScheduleError: The schedule or the time zone is none.
            InvalidRequestError: The payload has credentials.
        """
        cron = await self.get(cron_id)
        patch: dict[str, Any] = dict(given)
        if any(name in given for name in (*PLANNING, "enabled")):
            planned = {name: given.get(name, getattr(cron, name)) for name in PLANNING}
            patch["next_run_date"] = _next(**planned, now=self._clock.now())
        if payload:
            patch["payload"] = _kept(cron_id, {**cron.payload, **payload})
        return await self._crons.update(cron_id, CronPatch(**patch))

    async def delete(self, cron_id: str) -> None:
        """Delete a cron; the runs it made stay.

        Raises:
            NotFoundError: No such cron.
        """
        if not await self._crons.delete(cron_id):
            raise NotFoundError("cron", cron_id)


def _next(
    schedule: str, timezone: str | None, end_time: datetime | None, now: datetime
) -> datetime | None:
    found = next_fire(schedule, timezone, now)
    if found is None or (end_time is not None and found > end_time):
        return None
    return found


def _kept(cron_id: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return a payload as its cron keeps it."""
    check_no_secrets(payload, "a cron")
    config = payload.get("config") or {}
    configurable = {**(config.get("configurable") or {}), "cron_id": cron_id}
    return {**payload, "config": {**config, "configurable": configurable}}
