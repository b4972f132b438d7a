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
from threadkeep.ports.resources import ResourceStore

logger = logging.getLogger(__name__)

POLL_SECONDS = 2.0  # between looks for runs that other processes made
LEAST_WAIT_SECONDS = 0.01  # so that a run due but not claimable is no busy loop


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
                claimed = await self.claim()
                wait = await self._until_next(has_claimed=claimed > 0)
            except ThreadkeepError:
                logger.exception("runs could not be claimed; trying again")
            try:
                async with asyncio.timeout(wait):
                    await self._executor.work.wait()
            except TimeoutError:
                pass

    async def claim(self) -> int:
        """Claim as many runs as there are free slots and start them; say how many.

        Raises:
            StorageError: The backend failed.
        """
        slots = self._slots()
        if not slots:
            return 0
        try:
            claimed = await self._resources.runs.claim(self._executor.claim, limit=len(slots))
        except BaseException:
            _release(slots)
            raise
        for run, slot in zip(claimed, slots, strict=False):
            self._executor.start(run, slot)
        # Asked before the slots go back: each that does would say that there is work.
        if len(claimed) < len(slots) and not self._executor.work.is_set():
            self._executor.expect_no_work()
        _release(slots[len(claimed) :])
        return len(claimed)

    def _slots(self) -> list[Slot]:
        slots: list[Slot] = []
        while (slot := self._executor.take_slot()) is not None:
            slots.append(slot)
        return slots

    async def _until_next(self, *, has_claimed: bool) -> float:
        """Return how long to wait for the next delayed run; a full house waits to be woken."""
        if self._executor.free <= 0:
            return self._poll_seconds
        seconds = await self._resources.runs.next_start()
        if seconds is None or (seconds <= 0 and not has_claimed):
            return self._poll_seconds
        return max(LEAST_WAIT_SECONDS, min(seconds, self._poll_seconds))


def _release(slots: Sequence[Slot]) -> None:
    for slot in slots:
        slot.release()
