"""Marks in shared runs: what a list of them would be."""

from hypothesis import given
from hypothesis import strategies as st

from threadkeep.checkpoints.entries import Mark
from threadkeep.checkpoints.marks import RUN_LEN, Marks

COUNTS = st.integers(0, 3 * RUN_LEN)


def named(count: int, by: bytes = b"") -> list[Mark]:
    return [by + str(place).encode() for place in range(count)]


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_joined_marks_are_what_a_list_of_them_is(
    count: int, kept: int, grown: int, start: int
) -> None:
    plain, added = named(count), named(grown, b"new ")
    kept = min(kept, count)
    for marks in (plain, Marks.joined(plain, count, [])):
        joined = Marks.joined(marks, kept, added)
        whole = plain[:kept] + added
        assert list(joined) == whole
        assert len(joined) == len(whole)
        assert joined[start:] == whole[start:]
        assert joined[:start] == whole[:start]
        assert joined[start : start + 7] == whole[start : start + 7]
        assert joined[5:start:3] == whole[5:start:3]
        assert joined[::-1] == whole[::-1]
        assert [joined[at] for at in range(-len(whole), len(whole))] == whole * 2


def test_what_is_kept_is_shared() -> None:
    before = Marks.joined(named(3 * RUN_LEN + 5), 3 * RUN_LEN + 5, [])
    after = Marks.joined(before, len(before), [b"new"])
    assert all(one is other for one, other in zip(before._runs[:3], after._runs[:3], strict=True))
    assert list(before) == named(3 * RUN_LEN + 5)
