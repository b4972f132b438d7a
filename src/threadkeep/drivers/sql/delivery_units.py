"""Deliveries as rows, and the unit of work that adds one: settling a run does, too."""

from datetime import datetime

from threadkeep.drivers.sql.database import Run as Step
from threadkeep.drivers.sql.database import Work
from threadkeep.drivers.sql.rows import (
    Bag,
    Row,
    micros,
    moment,
    optional_micros,
    optional_moment,
)
from threadkeep.errors import AlreadyExistsError
from threadkeep.model.deliveries import Delivery, NewDelivery
from threadkeep.model.runs import Run
from threadkeep.rules.delivery_changes import begun
from threadkeep.rules.json_text import decode_json, json_text


def add(new: NewDelivery, run: Run | None, now: datetime) -> Work[Delivery | AlreadyExistsError]:
    """Insert a delivery; see ``DeliveryRepo.add``."""
    delivery = begun(new, run, now)
    added = yield Step("add_delivery", delivery_bag(delivery))
    return delivery if added else AlreadyExistsError("delivery", new.delivery_id)


def delivery_bag(row: Delivery) -> Bag:
    """Return the columns of a delivery."""
    return {
        "delivery_id": row.delivery_id,
        "run_id": row.run_id,
        "thread_id": row.thread_id,
        "url": row.url,
        "payload": None if row.payload is None else json_text(row.payload),
        "is_truncated": row.is_truncated,
        "run_status": row.run_status,
        "status": row.status,
        "attempt": row.attempt,
        "next_attempt_at": micros(row.next_attempt_at),
        "last_error": json_text(row.last_error),
        "created_at": micros(row.created_at),
        "updated_at": micros(row.updated_at),
        "expires_at": optional_micros(row.expires_at),
    }


def delivery_of(row: Row) -> Delivery:
    """Return the delivery that a row holds."""
    return Delivery(
        delivery_id=row["delivery_id"],
        run_id=row["run_id"],
        thread_id=row["thread_id"],
        url=row["url"],
        payload=None if row["payload"] is None else decode_json(row["payload"]),
        is_truncated=bool(row["is_truncated"]),
        run_status=row["run_status"],
        status=row["status"],
        attempt=row["attempt"],
        next_attempt_at=moment(row["next_attempt_at"]),
        last_error=decode_json(row["last_error"]),
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
        expires_at=optional_moment(row["expires_at"]),
    )
