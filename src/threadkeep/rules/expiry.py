"""Lifetimes: minutes, also fractions of one, and the moment they end at."""

import math
from datetime import datetime, timedelta

from threadkeep.errors import InvalidRequestError


def plain_lifetime(ttl_minutes: float | None) -> float | None:
    """Return a lifetime as a float, or ``None`` for one without end.

    Raises:
        InvalidRequestError: It is not a positive number of minutes.
    """
    if ttl_minutes is None:
        return None
    try:
        minutes = float(ttl_minutes)
    except OverflowError:
        minutes = math.inf
    if not math.isfinite(minutes) or minutes <= 0:
        raise InvalidRequestError(
            f"a lifetime of {minutes} minutes; it must be a positive number, or none at all"
        )
    return minutes


def expires_at(now: datetime, ttl_minutes: float | None) -> datetime | None:
    """Return when a plain lifetime that starts now ends; ``None`` for one without end.

    Raises:
        InvalidRequestError: The calendar does not reach that far.
    """
    if ttl_minutes is None:
        return None
    try:
        return now + timedelta(minutes=ttl_minutes)
    except OverflowError:
        raise InvalidRequestError(
            f"a lifetime of {ttl_minutes} minutes ends after the year 9999; give none at all"
        ) from None


def is_live(expiry: datetime | None, now: datetime) -> bool:
    """Say whether what ends at ``expiry`` has not ended; at that very moment it has."""
    return expiry is None or now < expiry
