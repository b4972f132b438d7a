"""Deliveries: the outbox of webhooks.

A delivery is written with the run's final status, in one transaction: see ``RunRepo.settle``.
"""

from collections.abc import Sequence
from typing import Protocol

from threadkeep.model.deliveries import Attempt, Delivery, NewDelivery
from threadkeep.model.queries import DeliveryQuery, Listing


class DeliveryRepo(Protocol):
    """Deliveries. They name their run and thread, and need neither."""

    async def add(self, new: NewDelivery) -> Delivery:
        """Insert a delivery of a run that was settled otherwise, or is gone.

        It is ``delivering``, attempt 1, leased to the caller. ``run_status`` is what the run's row
        says where it is there and final.

        Raises:
            AlreadyExistsError: The id is taken.
        """
        ...

    async def get(self, delivery_id: str) -> Delivery | None:
        """Read one, or ``None``."""
        ...

    async def search(self, query: DeliveryQuery) -> Listing[Delivery]:
        """Read a page, newest first by (created_at, delivery_id)."""
        ...

    async def list_due(self, *, limit: int | None = None) -> Sequence[Delivery]:
        """Read what is due and change nothing, soonest first, then by id; at most a page.

        Due are pending ones whose time has come, and those whose sender's lease ran out.
        """
        ...

    async def claim(self, *, lease_seconds: float, limit: int) -> Sequence[Delivery]:
        """Take up to ``limit`` due ones, at most a page, in the order of ``list_due``.

        Each becomes ``delivering``, its attempt one higher, leased. Two claimers never take one.
        """
        ...

    async def record_attempt(self, delivery_id: str, attempt: Attempt) -> Delivery | None:
        """Write how an attempt went.

        ``delivered`` clears the payload and the error; ``retry`` makes it pending until
        ``retry_at``; ``dead`` keeps the payload for a replay.

        Returns:
            The delivery, or ``None`` for an unknown one.

        Raises:
            InvalidRequestError: ``retry`` without ``retry_at``.
        """
        ...

    async def replay(self, delivery_id: str) -> Delivery | None:
        """Make a dead or waiting delivery due at once, its attempts going on from where they were.

        Returns:
            The delivery, or ``None`` when it is unknown or its payload is gone.
        """
        ...

    async def sweep(self, *, limit: int) -> int:
        """Remove up to ``limit`` whose time is over, longest first; return how many.

        Only ``delivered`` and ``dead`` ones ever expire.
        """
        ...
