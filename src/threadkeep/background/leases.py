"""Keeps this process's runs its own, and settles those of processes that are gone.

One statement renews every lease, three times within each. What it answers says which runs
somebody wants stopped and which are this process's no longer. Runs of another host are free once
their lease ran out, those of a process of this host as soon as it is gone.
"""

import asyncio
import logging
import time

from threadkeep.background.owners import delivery_without_values, release_gone
from threadkeep.engine.executor import Executor
from threadkeep.engine.kwargs import is_temporary
from threadkeep.engine.watch import LoopWatch
from threadkeep.errors import ThreadkeepError
from threadkeep.model.runs import Run
from threadkeep.ports.resources import ResourceStore

logger = logging.getLogger(__name__)

BEATS_PER_LEASE = 3  # two may fail before a lease runs out


class _ClockWatch:
    """Notices that the clock leapt ahead, as when it is set or the machine has slept.

    Every lease seems to have run out then, also those of processes that are well: each gets a whole
    lease to renew them before any is taken for over.
    """

    def __init__(self, lease_seconds: float) -> None:
        self._lease_seconds = lease_seconds
        self._ahead = _seconds_ahead()
        self._trusted_from = 0.0

    def can_be_trusted(self) -> bool:
        """Say whether what the clock says of leases is to be believed now."""
        before, self._ahead = self._ahead, _seconds_ahead()
        if self._ahead - before > self._lease_seconds / BEATS_PER_LEASE:
            self._trusted_from = _passed() + self._lease_seconds
            logger.warning("the clock leapt ahead by %.0f seconds", self._ahead - before)
        return _passed() >= self._trusted_from


def _seconds_ahead() -> float:
    """Return by how much the clock is ahead of the time that really passes."""
    return time.time() - _passed()


def _passed() -> float:
    """Return the seconds that really passed, since some time or other."""
    return time.monotonic()


class Leases:
    """The heartbeat of one process.

    Args:
        executor: Whose runs are kept.
        resources: Where the leases are.
    """

    def __init__(self, executor: Executor, resources: ResourceStore) -> None:
        self._executor = executor
        self._resources = resources
        self._clock = _ClockWatch(executor.claim.lease_seconds)

    async def run(self) -> None:
        """Beat until cancelled; the first beat is at once.

        A node that holds the loop for a whole lease, so that nothing can be renewed, is failed.
        """
        lease_seconds = self._executor.claim.lease_seconds
        with LoopWatch(lease_seconds):
            while True:
                try:
                    await self.beat()
                except ThreadkeepError:
                    logger.exception("the leases could not be renewed; trying again")
                await asyncio.sleep(lease_seconds / BEATS_PER_LEASE)

    async def beat(self) -> None:
        """Renew every lease, stop what is to be stopped, settle what nobody owns any more.

        Raises:
            StorageError: The backend failed.
        """
        held = self._executor.run_ids
        if held:
            wished = await self._resources.runs.extend(self._executor.claim, held)
            for run_id in held:
                if run_id not in wished:
                    self._executor.lose(run_id)
                elif (action := wished[run_id]) is not None:
                    self._executor.stop(run_id, action)
        runs = self._resources.runs
        for run in await release_gone(runs):
            await self._released(run)
        if self._clock.can_be_trusted():
            for run in await runs.release_expired(deliver=delivery_without_values):
                await self._released(run)

    async def _released(self, run: Run) -> None:
        logger.warning(
            "run %s on thread %s was cut off and is settled; its thread is free again",
            run.run_id,
            run.thread_id,
        )
        self._executor.announce_delivery(run)
        self._executor.announce(await self._executor.result_of(run))
        if is_temporary(run):
            await self._executor.erase(run.thread_id)
        self._executor.wake()
