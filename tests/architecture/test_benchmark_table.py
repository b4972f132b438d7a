"""Figures that a page quotes are those of the newest committed run."""

import pytest

from benchmarks import pages, values


@pytest.mark.parametrize("quote", pages.QUOTES, ids=lambda quote: f"{quote.page} {quote.mark}")
def test_a_table_is_what_the_committed_lines_give(quote: pages.Quote) -> None:
    text = (pages.ROOT / quote.page).read_text(encoding="utf-8")
    assert text.count(quote.start) == text.count(quote.end) == 1
    assert text == pages.updated(quote), "run: python -m benchmarks.pages"


def test_the_table_of_large_values_is_what_the_committed_lines_give() -> None:
    text = values.PAGE.read_text(encoding="utf-8")
    assert text.count(values.START) == text.count(values.END) == 1
    assert text == values.updated(values.newest()), "run: python -m benchmarks.values --page"
