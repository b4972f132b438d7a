"""Fires crons whose date has come. Any process may: each date is claimed by one of them."""

import asyncio
import logging

from threadkeep.errors import ThreadkeepError
from threadkeep.services.firing import Firing

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0  # dates are whole minutes; with nothing due a look is one indexed read


async def schedule(firing: Firing, *, every_seconds: float = LOOK_SECONDS) -> None:
    """Fire what is due, and again after a time, until cancelled; a failure is logged."""
    while True:
        try:
            while await firing.fire_due():
                pass
        except ThreadkeepError as error:
            log.warning("crons could not be fired: %s", error)
        await asyncio.sleep(every_seconds)
