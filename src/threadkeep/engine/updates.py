"""Which threads are changed by hand right now: no run executes on one meanwhile, in any process.

An update and a run that both follow the newest checkpoint would make a fork, and the one that
wrote first would be out of the conversation. So an update first writes a record of itself to the
store, then looks whether a run is active; a run first is admitted, then looks whether there is a
record. Whoever comes second sees the other: the update is refused, the run waits.

The records are idempotency records of a scope of their own: insert-first, and taken over when the
process that made one is gone.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from threadkeep.engine.identifiers import new_id
from threadkeep.errors import UnavailableError
from threadkeep.model.idempotency import IdempotencyClaim
from threadkeep.ports.clock import Clock
from threadkeep.ports.resources import IdempotencyRepo

SCOPE = "threadkeep:update_state"
HELD_SECONDS = 30.0  # a record counts no longer; its update is given less
UPDATE_SECONDS = 25.0
LOOK_SECONDS = 0.02  # between two looks while somebody else's update is under way


class Updates:
    """The updates under way in every process on one store.

    Args:
        records: Where they are announced.
        clock: When one that nobody ended is over.
    """

    def __init__(self, records: IdempotencyRepo, clock: Clock) -> None:
        self._records = records
        self._clock = clock

    @asynccontextmanager
    async def of(self, thread_id: str) -> AsyncIterator[None]:
        """Count as under way; waits for the thread's update before.

        Raises:
            UnavailableError: The updates before it, or what is done in the block, take too long.
        """
        claim = IdempotencyClaim(SCOPE, thread_id, SCOPE, new_id(), HELD_SECONDS)
        try:
            async with asyncio.timeout(HELD_SECONDS):
                await self._claim(claim)
            try:
                async with asyncio.timeout(UPDATE_SECONDS):
                    yield
            finally:
                release = self._records.release(SCOPE, thread_id, claim_id=claim.claim_id)
                await asyncio.shield(release)
        except TimeoutError as error:
            raise UnavailableError(
                f"an update of thread {thread_id!r} takes longer than {UPDATE_SECONDS} seconds; "
                "try again"
            ) from error

    async def _claim(self, claim: IdempotencyClaim) -> None:
        while True:
            if await self._records.claim(claim) is None:
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def ended(self, thread_id: str) -> None:
        """Wait until no update of the thread is under way anywhere; one read where none is."""
        while (found := await self._records.get(SCOPE, thread_id)) is not None:
            if found.expires_at <= self._clock.now():
                return
            await asyncio.sleep(LOOK_SECONDS)
