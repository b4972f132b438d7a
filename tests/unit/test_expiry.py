from datetime import UTC, datetime, timedelta

import pytest

from threadkeep.errors import InvalidRequestError
from threadkeep.rules.expiry import expires_at, is_live, plain_lifetime

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def test_minutes_may_be_fractions() -> None:
    assert expires_at(NOW, 0.4) == NOW + timedelta(seconds=24)
    assert expires_at(NOW, None) is None


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), float("inf"), 10**400])
def test_a_lifetime_is_a_positive_number(minutes: float) -> None:
    with pytest.raises(InvalidRequestError, match="must be a positive number"):
        plain_lifetime(minutes)


def test_a_lifetime_is_a_float_or_none() -> None:
    assert plain_lifetime(None) is None
    assert isinstance(plain_lifetime(2), float)


def test_a_lifetime_ends_within_the_calendar() -> None:
    with pytest.raises(InvalidRequestError, match="after the year 9999"):
        expires_at(NOW, 1e12)


def test_at_its_end_it_is_over() -> None:
    assert is_live(None, NOW)
    assert is_live(NOW + timedelta(microseconds=1), NOW)
    assert not is_live(NOW, NOW)
