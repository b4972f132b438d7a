"""Crons fired: for each date that has come, its run made by exactly one of many processes.

A cron's run acts as who made the cron. One whose assistant or thread is gone moves on, and the log
says why it made nothing.
"""

import logging
from typing import Any

from threadkeep.engine.identifiers import new_id
from threadkeep.errors import ThreadkeepError
from threadkeep.model.crons import Cron
from threadkeep.model.identity import current_user
from threadkeep.model.requests import RunRequest
from threadkeep.model.runs import NewRun
from threadkeep.ports.clock import Clock
from threadkeep.ports.resources import CronRepo
from threadkeep.rules.cron_times import next_date
from threadkeep.services.admitting import Admitting

log = logging.getLogger(__name__)

AT_ONCE = 50  # crons of one look
# What a run takes from its cron's payload as it stands there.
PAYLOAD = (
    *("input", "command", "config", "context", "checkpoint", "interrupt_before"),
    *("interrupt_after", "webhook", "multitask_strategy", "stream_mode", "stream_subgraphs"),
    *("stream_resumable", "durability"),
)


class Firing:
    """Fires crons.

    Args:
        crons: Where they are.
        admitting: Makes their runs.
        clock: What now is.
    """

    def __init__(self, crons: CronRepo, admitting: Admitting, clock: Clock) -> None:
        self._crons = crons
        self._admitting = admitting
        self._clock = clock

    async def fire_due(self) -> bool:
        """Fire what is due, at most ``AT_ONCE``; say whether there may be more.

        Raises:
            StorageError: The backend failed.
        """
        due = await self._crons.list_due(limit=AT_ONCE)
        for cron in due:
            await self._fire(cron)
        return len(due) == AT_ONCE

    async def _fire(self, cron: Cron) -> None:
        new = await self._planned(cron)
        thread = None
        if new is not None and cron.thread_id is None:
            thread = self._admitting.thread_for(new, new.metadata)
        try:
            fired = await self._crons.fire(
                cron.cron_id,
                token=cron.token,
                next_run_date=self._next(cron),
                new=new,
                thread=thread,
            )
        except BaseException:
            self._forget(new)
            raise
        if fired is None or fired.admission is None:
            self._forget(new)
        if fired is None:
            return  # another process has it
        if fired.refusal is not None:
            log.warning("cron %s made no run: %s", cron.cron_id, fired.refusal)
        if fired.admission is not None:
            await self._admitting.admitted(fired.admission)

    def _forget(self, new: NewRun | None) -> None:
        if new is not None:
            self._admitting.forget(new.run_id)

    def _next(self, cron: Cron) -> Any:
        try:
            return next_date(cron, self._clock.now())
        except ThreadkeepError as error:
            log.error("cron %s fires no more: %s", cron.cron_id, error)
            return None

    async def _planned(self, cron: Cron) -> NewRun | None:
        """Return the run to make; ``None`` for a cron that can make none."""
        if cron.end_time is not None and cron.next_run_date and cron.next_run_date > cron.end_time:
            return None
        principal = await self._crons.principal_of(cron.cron_id)
        if cron.user_id is not None and principal is None:
            log.error("cron %s does not know any more who made it", cron.cron_id)
            return None
        token = current_user.set(principal)
        try:
            return await self._admitting.plan(new_id(), _request(cron))
        except ThreadkeepError as error:
            log.warning("cron %s made no run: %s", cron.cron_id, error)
            return None
        finally:
            current_user.reset(token)


def _request(cron: Cron) -> RunRequest:
    """Return what a cron asks for each time."""
    payload = cron.payload
    given = {name: payload[name] for name in PAYLOAD if payload.get(name) is not None}
    if payload.get("checkpoint_during") is False:  # the older word
        given.setdefault("durability", "exit")
    return RunRequest(
        assistant_id=cron.assistant_id,
        thread_id=cron.thread_id,
        metadata={**cron.metadata, **(payload.get("metadata") or {}), "cron_id": cron.cron_id},
        on_completion=cron.on_run_completed or "delete",
        **given,
    )
