"""The page of cases names cases that are there, and leaves no suite out."""

import re

from tests.architecture.tree import ROOT
from threadkeep.testing import resources

PAGE = (ROOT / "docs" / "resource-cases.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
CASE = re.compile(r"`(\w+)\.(test_\w+)`")
COMMON = 196  # cases that stores of this kind have in common


def test_the_cases_are_numbered_without_a_gap() -> None:
    numbers = [int(number) for number, _, _ in ROW.findall(PAGE)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= COMMON


def test_every_promise_has_a_case_that_is_there() -> None:
    missing = [
        f"{number} {suite}.{case}"
        for number, _, cases in ROW.findall(PAGE)
        for suite, case in CASE.findall(cases) or [("", "")]
        if not hasattr(getattr(resources, suite, None), case)
    ]
    assert missing == []


def test_every_suite_is_named() -> None:
    named = {suite for suite, _ in CASE.findall(PAGE)}
    shipped = {name for name in resources.__all__ if name.endswith("Suite")}
    assert shipped - named == set()
