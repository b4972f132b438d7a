"""A delivery: the call that tells a caller's server how a run ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from threadkeep.model.runs import RunStatus

DeliveryStatus = Literal["pending", "delivering", "delivered", "dead"]
DELIVERY_STATUSES: tuple[DeliveryStatus, ...] = get_args(DeliveryStatus)
AttemptOutcome = Literal["delivered", "retry", "dead"]

DELIVERY_KEPT_SECONDS = 86_400.0  # of one that is settled


@dataclass(frozen=True, slots=True)
class Delivery:
    """One call to be made until it arrives, or is given up.

    Attributes:
        run_id: The run it tells of; it may be gone.
        url: Where to.
        payload: What is sent, as JSON; ``None`` once it arrived.
        is_truncated: Whether parts of the payload were left out because it was too large.
        run_status: How the run ended, as it was committed.
        attempt: How many times it was tried, the present one included.
        next_attempt_at: When it is due; while ``delivering``, when its sender counts as gone.
        last_error: Why the last attempt failed, or ``None``.
        expires_at: When it may be swept; ``None`` until it is ``delivered`` or ``dead``.
    """

    delivery_id: str
    run_id: str
    thread_id: str
    url: str
    payload: Mapping[str, Any] | None
    is_truncated: bool
    run_status: RunStatus
    status: DeliveryStatus
    attempt: int
    next_attempt_at: datetime
    last_error: str | None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """What is to be sent.

    Attributes:
        lease_seconds: How long the caller has for the first attempt, which is its own.
    """

    delivery_id: str
    run_id: str
    thread_id: str
    url: str
    payload: Mapping[str, Any]
    run_status: RunStatus
    lease_seconds: float
    is_truncated: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """How an attempt went.

    Attributes:
        outcome: ``delivered`` and ``dead`` are final.
        error: Why it failed, or ``None``.
        retry_at: When the next one is due; needed for ``retry``.
        attempt: Its number, where it is not the row's.
        keep_seconds: How long a final one is kept.
    """

    outcome: AttemptOutcome
    error: str | None = None
    retry_at: datetime | None = None
    attempt: int | None = None
    keep_seconds: float = DELIVERY_KEPT_SECONDS
