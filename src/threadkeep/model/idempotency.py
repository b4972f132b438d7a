"""What is remembered of a request with an ``Idempotency-Key``, so that a repeat is answered."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

IdempotencyStatus = Literal["in_flight", "done"]

IN_FLIGHT_SECONDS = 900.0  # after which a request that never answered may be made again
KEPT_SECONDS = 86_400.0  # how long an answer is repeated


@dataclass(frozen=True, slots=True)
class RecordedResponse:
    """An answer, to be given again as it was.

    Attributes:
        status: The HTTP status.
        headers: Those that a repeat shows.
        body: Its JSON.
    """

    status: int
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """One key within one scope.

    Attributes:
        scope: Whose key it is: method, path and caller.
        key: As the client sent it.
        fingerprint: Of the request (``rules.fingerprint``); another one is another request.
        claim_id: The attempt that owns the record.
        response: ``None`` while it is in flight.
        run_id: The run it made, or ``None``.
        thread_id: The thread it made or used, or ``None``.
        expires_at: From when another request may take the key over.
    """

    scope: str
    key: str
    fingerprint: str
    claim_id: str
    status: IdempotencyStatus
    response: RecordedResponse | None
    run_id: str | None
    thread_id: str | None
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class IdempotencyClaim:
    """What a request gives to claim its key.

    Attributes:
        seconds: How long it may be in flight.
    """

    scope: str
    key: str
    fingerprint: str
    claim_id: str
    seconds: float = IN_FLIGHT_SECONDS
