"""The next version of a thread's channels."""

from typing import Any


def next_version(current: Any) -> Any:
    """Answer a version greater than ``current`` and of its type; integers where there is none.

    Threads begun elsewhere may have versions like ``"00…03.5"``: a number of 32 digits, a dot and
    a suffix. They go on as such; the suffix carries nothing here, since values are stored by
    content and not by version.
    """
    if current is None:
        return 1
    if isinstance(current, str):
        number, _, _ = current.partition(".")
        return f"{int(number) + 1:032}.{0:016}"
    return current + 1
