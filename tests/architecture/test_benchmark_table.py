"""Figures that a page quotes are those of the newest committed run."""

import pytest

from benchmarks import pages, values


@pytest.mark.parametrize("page", pages.PAGES)
def test_a_table_is_what_the_committed_lines_give(page: str) -> None:
    text = (pages.ROOT / page).read_text(encoding="utf-8")
    assert text.count(pages.START) == text.count(pages.END) == 1
    assert text == pages.updated(page, pages.newest()), "run: python -m benchmarks.pages"


def test_the_table_of_large_values_is_what_the_committed_lines_give() -> None:
    text = values.PAGE.read_text(encoding="utf-8")
    assert text.count(values.START) == text.count(values.END) == 1
    assert text == values.updated(values.newest()), "run: python -m benchmarks.values --page"
