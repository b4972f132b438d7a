"""Claims pending runs when slots are free and has the executor run them.

Woken when a run is made that could not start, when a slot becomes free while others wait, and when
the earliest delayed run is due; looked for now and then besides, for runs that other processes
made.
"""

import asyncio
import logging
from collections.abc import Sequence

from threadkeep.engine.execution import Slot
from threadkeep.engine.executor import Executor
from threadkeep.errors import ThreadkeepError
from threadkeep.model.queries import RunQuery
from threadkeep.ports.resources import ResourceStore

logger = logging.getLogger(__name__)

POLL_SECONDS = 2.0  # between looks for runs that other processes made
LEAST_WAIT_SECONDS = 0.01  # between looks while some run may start; others may take it first


class Worker:
    """The claiming side of one process.

    Args:
        executor: Runs what is claimed.
        resources: Where pending runs are.
        poll_seconds: The longest time between two looks.
    """

    def __init__(
        self,
        executor: Executor,
        resources: ResourceStore,
        *,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self._executor = executor
        self._resources = resources
        self._poll_seconds = poll_seconds

    async def run(self) -> None:
        """Claim and start until cancelled."""
        while True:
            wait = self._poll_seconds
            self._executor.work.clear()
            try:
                wait = await self.look()
            except ThreadkeepError:
                logger.exception("runs could not be claimed; trying again")
            try:
                async with asyncio.timeout(wait):
                    await self._executor.work.wait()
            except TimeoutError:
                pass

    async def look(self) -> float:
        """Claim as many runs as there are free slots, start them, and say when to look again.

        Returns:
            Seconds; the executor's ``work`` may call earlier.

        Raises:
            StorageError: The backend failed.
        """
        seconds = await self._resources.runs.next_start()
        if seconds is None or seconds > 0:
            is_none_left = seconds is None and await self._is_none_pending()
            if not self._executor.work.is_set():
                self._executor.note_looked(lacks_slots=False, nothing_is_pending=is_none_left)
            return self._poll_seconds if seconds is None else min(seconds, self._poll_seconds)
        slots = self._slots()
        if not slots:
            self._executor.note_looked(lacks_slots=True, nothing_is_pending=False)
            return self._poll_seconds
        await self._claim(slots)
        return LEAST_WAIT_SECONDS

    async def _is_none_pending(self) -> bool:
        """Say whether no run waits, not even for another of its thread."""
        page = await self._resources.runs.search(RunQuery(statuses=("pending",), limit=1))
        return not page.rows

    async def _claim(self, slots: Sequence[Slot]) -> None:
        try:
            claimed = await self._resources.runs.claim(self._executor.claim, limit=len(slots))
        except BaseException:
            _release(slots)
            raise
        for run, slot in zip(claimed, slots, strict=False):
            self._executor.start(run, slot)
        self._executor.note_looked(lacks_slots=len(claimed) == len(slots), nothing_is_pending=False)
        _release(slots[len(claimed) :])

    def _slots(self) -> list[Slot]:
        slots: list[Slot] = []
        while (slot := self._executor.take_slot()) is not None:
            slots.append(slot)
        return slots


def _release(slots: Sequence[Slot]) -> None:
    for slot in slots:
        slot.release()
