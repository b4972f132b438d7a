"""A delivery from one status to the next, as values."""

from dataclasses import replace
from datetime import datetime, timedelta

from threadkeep.model.deliveries import Attempt, Delivery, NewDelivery
from threadkeep.model.runs import ACTIVE, Run


def begun(new: NewDelivery, run: Run | None, now: datetime) -> Delivery:
    """Return the row a new delivery starts with: its first attempt is under way.

    Args:
        new: What to send.
        run: The run's row, where there is one; its final status is the one that counts.
        now: The present moment.
    """
    is_final = run is not None and run.status not in ACTIVE
    return Delivery(
        delivery_id=new.delivery_id,
        run_id=new.run_id,
        thread_id=new.thread_id,
        url=new.url,
        payload=new.payload,
        is_truncated=new.is_truncated,
        run_status=run.status if run is not None and is_final else new.run_status,
        status="delivering",
        attempt=1,
        next_attempt_at=now + timedelta(seconds=new.lease_seconds),
        last_error=None,
        created_at=now,
        updated_at=now,
        expires_at=None,
    )


def claimed(delivery: Delivery, lease_seconds: float, now: datetime) -> Delivery:
    """Return the delivery as its new sender has it."""
    return replace(
        delivery,
        status="delivering",
        attempt=delivery.attempt + 1,
        next_attempt_at=now + timedelta(seconds=lease_seconds),
        updated_at=now,
    )


def attempted(delivery: Delivery, attempt: Attempt, now: datetime) -> Delivery:
    """Return the delivery after an attempt."""
    tried = replace(
        delivery,
        attempt=delivery.attempt if attempt.attempt is None else attempt.attempt,
        last_error=attempt.error,
        updated_at=now,
    )
    if attempt.retry_at is not None and attempt.outcome == "retry":
        return replace(tried, status="pending", next_attempt_at=attempt.retry_at, expires_at=None)
    end = now + timedelta(seconds=attempt.keep_seconds)
    if attempt.outcome == "delivered":
        return replace(tried, status="delivered", payload=None, last_error=None, expires_at=end)
    return replace(tried, status="dead", expires_at=end)


def replayed(delivery: Delivery, now: datetime) -> Delivery | None:
    """Return the delivery made due at once; ``None`` when there is nothing left to send."""
    if delivery.payload is None:
        return None
    return replace(delivery, status="pending", next_attempt_at=now, updated_at=now, expires_at=None)


def is_due(delivery: Delivery, now: datetime) -> bool:
    """Say whether it may be claimed: its time has come, or its sender is gone."""
    return delivery.status in {"pending", "delivering"} and delivery.next_attempt_at <= now
