"""Sends what is in the outbox: webhooks, until they arrive or are given up.

What this process has just settled is sent at once; what another left, or what is to be tried
again, when it is due. An attempt whose process died is made again by whoever looks next, so a
webhook arrives at least once: its id is the same each time.
"""

import asyncio
import contextlib
import logging
from datetime import timedelta

from threadkeep.engine.outbox import Outbox
from threadkeep.errors import ThreadkeepError
from threadkeep.model.deliveries import Attempt, Delivery
from threadkeep.ports.clock import Clock
from threadkeep.ports.resources import DeliveryRepo
from threadkeep.rules.webhook_payloads import LEASE_SECONDS
from threadkeep.services.webhooks import Webhooks

log = logging.getLogger(__name__)

MOST_ATTEMPTS = 12
FIRST_PAUSE_SECONDS = 1.0  # doubled after each attempt: the last is 34 minutes after the first
AT_ONCE = 20  # calls; a receiver that hangs takes one place for its time-out
POLL_SECONDS = 1.0  # between looks for what is due


class Courier:
    """The sending side of one process.

    Args:
        deliveries: The outbox.
        outbox: What this process has just written to it.
        webhooks: Makes the calls.
        clock: When a failed one is tried again.
        kept_seconds: How long one that arrived, or was given up, is kept.
    """

    def __init__(
        self,
        deliveries: DeliveryRepo,
        outbox: Outbox,
        webhooks: Webhooks,
        clock: Clock,
        *,
        kept_seconds: float,
    ) -> None:
        self._deliveries = deliveries
        self._outbox = outbox
        self._webhooks = webhooks
        self._clock = clock
        self._kept_seconds = kept_seconds
        self._calls: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Send until cancelled; calls under way are cut off then, and made again by others."""
        try:
            while True:
                try:
                    await self.look()
                except ThreadkeepError as error:
                    log.warning("webhooks could not be looked for: %s", error)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        await self._outbox.news.wait()
        finally:
            for call in self._calls:
                call.cancel()
            await self._webhooks.aclose()

    async def look(self) -> None:
        """Begin as many calls as there are places for.

        Raises:
            StorageError: The backend failed.
        """
        self._outbox.news.clear()
        for delivery_id in self._outbox.take(self._free()):
            delivery = await self._deliveries.get(delivery_id)
            if delivery is not None and delivery.status == "delivering":
                self._begin(delivery)
        if (free := self._free()) > 0:
            claimed = await self._deliveries.claim(lease_seconds=LEASE_SECONDS, limit=free)
            for delivery in claimed:
                self._begin(delivery)

    async def attempt(self, delivery: Delivery) -> None:
        """Make one call and write how it went.

        Raises:
            StorageError: The backend failed; the call is made again when the lease is over.
        """
        error = await self._webhooks.send(delivery)
        if error is None:
            went = Attempt("delivered", keep_seconds=self._kept_seconds)
        elif delivery.attempt >= MOST_ATTEMPTS:
            log.error("webhook %s of run %s is given up: %s", *_named(delivery), error)
            went = Attempt("dead", error, keep_seconds=self._kept_seconds)
        else:
            log.warning("webhook %s of run %s failed: %s", *_named(delivery), error)
            pause = timedelta(seconds=FIRST_PAUSE_SECONDS * 2 ** (delivery.attempt - 1))
            went = Attempt("retry", error, retry_at=self._clock.now() + pause)
        await self._deliveries.record_attempt(delivery.delivery_id, went)

    def _free(self) -> int:
        return AT_ONCE - len(self._calls)

    def _begin(self, delivery: Delivery) -> None:
        call = asyncio.create_task(self.attempt(delivery))
        self._calls.add(call)
        call.add_done_callback(self._ended)

    def _ended(self, call: "asyncio.Task[None]") -> None:
        self._calls.discard(call)
        if len(self._outbox):
            self._outbox.news.set()
        if not call.cancelled() and (error := call.exception()) is not None:
            log.error("how a webhook went could not be written", exc_info=error)


def _named(delivery: Delivery) -> tuple[str, str]:
    return delivery.delivery_id, delivery.run_id
