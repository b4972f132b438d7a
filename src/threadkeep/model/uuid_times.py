"""The time a UUIDv6 was made: LangGraph's checkpoint ids are such.

Times are *ticks*, as UUIDs count them: 100 ns since 1582-10-15.
"""

from datetime import UTC, datetime, timedelta

TICKS_PER_SECOND = 10_000_000

_UNIX_EPOCH = 0x01B21DD213814000  # 1970-01-01 in ticks
_UNIX = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def ticks(nanoseconds: int) -> int:
    """State a Unix time as a UUIDv6 does."""
    return nanoseconds // 100 + _UNIX_EPOCH


def ticks_of(moment: datetime) -> int:
    """State an aware moment as a UUIDv6 does."""
    return (moment - _UNIX) // _MICROSECOND * 10 + _UNIX_EPOCH


def made_at(ident: str) -> int:
    """Return when an id was made; 0 where it is no UUIDv6."""
    digits = ident.replace("-", "")
    if len(digits) != 32 or digits[12] != "6":
        return 0
    try:
        value = int(digits, 16)
    except ValueError:
        return 0
    return (value >> 80) << 12 | (value >> 64 & 0xFFF)
