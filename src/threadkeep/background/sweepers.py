"""Deleting what has expired, a little at a time.

Items read as absent before that; threads, idempotency records and deliveries are still there.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from threadkeep.errors import ThreadkeepError

SWEEP_ROWS = 500  # of one transaction, so that no writer waits long for it
RECORDS_SECONDS = 60.0  # between looks for expired idempotency records and deliveries

log = logging.getLogger(__name__)

Remove = Callable[[int], Awaitable[int]]


async def sweep(what: str, remove: Remove, *, at_once: int, every_seconds: float) -> None:
    """Delete what has expired, and again after a time, until cancelled; a failure is logged.

    Args:
        what: What it is, for the log.
        remove: Deletes at most so many, and returns how many it deleted.
        at_once: How many; while so many were found, more are looked for at once.
        every_seconds: The time between two looks.
    """
    while True:
        try:
            while await remove(at_once) == at_once:
                pass
        except ThreadkeepError as error:
            log.warning("expired %s could not be deleted: %s", what, error)
        await asyncio.sleep(every_seconds)
