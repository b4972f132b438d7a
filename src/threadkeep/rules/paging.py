"""Pages: every list is bounded, also without a limit, and a cut page says where to go on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from threadkeep.errors import ConfigError, InvalidRequestError
from threadkeep.model.queries import Listing

T = TypeVar("T")

MAX_OFFSET = 2**53 - 1  # rows; what every backend and every JSON reader can count to


@dataclass(frozen=True, slots=True)
class Page:
    """Which rows of all that match: at most ``limit`` of them, after the first ``offset``."""

    limit: int
    offset: int


def check_max_page_size(size: int) -> int:
    """Return a configured page bound.

    Raises:
        ConfigError: It is not a whole number from 1.
    """
    if isinstance(size, bool) or not 1 <= size <= MAX_OFFSET:
        raise ConfigError(f"THREADKEEP_MAX_PAGE_SIZE is {size!r}; it must be a whole number from 1")
    return size


def page_of(*, limit: int | None, offset: int, max_page_size: int) -> Page:
    """Return the page a caller asked for, no larger than the bound.

    Raises:
        InvalidRequestError: ``limit`` or ``offset`` is negative, or no whole number.
    """
    if limit is not None:
        _check_count("limit", limit)
    _check_count("offset", offset)
    wanted = max_page_size if limit is None else min(limit, max_page_size)
    return Page(wanted, min(offset, MAX_OFFSET))


def _check_count(name: str, count: object) -> None:
    if isinstance(count, bool) or not isinstance(count, int):
        raise InvalidRequestError(f"{name} is {count!r}; it must be a whole number")
    if count < 0:
        raise InvalidRequestError(f"{name} is {count}; it must not be negative")


def listing_of(rows: Sequence[T], *, page: Page, total: int) -> Listing[T]:
    """Return a page with what it left out; a page of no rows names no next one."""
    end = page.offset + len(rows)
    return Listing(rows, total, end if rows and end < total else None)


def cut(rows: Sequence[T], page: Page) -> Listing[T]:
    """Return one page of all the rows that match."""
    found = rows[page.offset : page.offset + page.limit]
    return listing_of(found, page=page, total=len(rows))
