from typing import Any

import pytest

from threadkeep.errors import ConfigError, InvalidRequestError
from threadkeep.rules.paging import (
    MAX_OFFSET,
    Page,
    check_max_page_size,
    cut,
    listing_of,
    page_of,
)


@pytest.mark.parametrize(
    ("limit", "offset", "page"),
    [
        (None, 0, Page(10, 0)),
        (3, 2, Page(3, 2)),
        (10, 0, Page(10, 0)),
        (11, 0, Page(10, 0)),
        (2**80, 2**80, Page(10, MAX_OFFSET)),
        (0, 0, Page(0, 0)),
    ],
)
def test_a_page_is_within_the_bound(limit: int | None, offset: int, page: Page) -> None:
    assert page_of(limit=limit, offset=offset, max_page_size=10) == page


def test_negative_pages_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="limit is -1"):
        page_of(limit=-1, offset=0, max_page_size=10)
    with pytest.raises(InvalidRequestError, match="offset is -1"):
        page_of(limit=1, offset=-1, max_page_size=10)


@pytest.mark.parametrize("count", [1.5, "1", True, float("nan")])
def test_pages_are_counted_in_whole_numbers(count: Any) -> None:
    with pytest.raises(InvalidRequestError, match=r"limit is .*whole number"):
        page_of(limit=count, offset=0, max_page_size=10)
    with pytest.raises(InvalidRequestError, match=r"offset is .*whole number"):
        page_of(limit=1, offset=count, max_page_size=10)


def test_a_cut_page_says_where_to_go_on() -> None:
    assert cut("abcde", Page(2, 0)).next_offset == 2
    assert cut("abcde", Page(2, 2)).next_offset == 4
    assert cut("abcde", Page(2, 4)).next_offset is None
    assert cut("abcde", Page(5, 0)).next_offset is None
    assert cut("abcde", Page(0, 0)).next_offset is None
    assert listing_of([], page=Page(2, 9), total=5).next_offset is None


@pytest.mark.parametrize("size", [0, -1, True, 2**60])
def test_a_bound_is_a_whole_number_from_one(size: int) -> None:
    with pytest.raises(ConfigError, match="THREADKEEP_MAX_PAGE_SIZE"):
        check_max_page_size(size)
    assert check_max_page_size(1) == 1
