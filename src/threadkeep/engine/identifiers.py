"""New identifiers for runs and threads, ordered by time."""

import os
import time
import uuid

_TIME_BITS = 48  # milliseconds since 1970, as version 7 of RFC 9562 has them


def new_id() -> str:
    """Return a new version 7 UUID as text; later ones sort higher, by the millisecond."""
    milliseconds = time.time_ns() // 1_000_000
    number = (milliseconds << (128 - _TIME_BITS)) | int.from_bytes(os.urandom(10))
    number = number & ~(0xF << 76) | (7 << 76)
    number = number & ~(0x3 << 62) | (2 << 62)
    return str(uuid.UUID(int=number))
