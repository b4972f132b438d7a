"""Deleting what has expired, a little at a time. What has expired reads as absent before that."""

import asyncio
import logging

from threadkeep.errors import StorageError
from threadkeep.ports.resources import ItemRepo

SWEEP_ROWS = 500  # of one transaction, so that no writer waits long for it

log = logging.getLogger(__name__)


async def sweep_items(items: ItemRepo, *, every_seconds: float) -> None:
    """Delete expired items, and again after a time, until cancelled; a failure is logged."""
    while True:
        try:
            while await items.sweep(limit=SWEEP_ROWS) == SWEEP_ROWS:
                pass
        except StorageError as error:
            log.warning("expired items could not be deleted: %s", error)
        await asyncio.sleep(every_seconds)
