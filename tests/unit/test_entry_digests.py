"""Two entries have one digest exactly where the rules say that they are equal."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.drivers.postgres.entry_digests import DIGEST_BYTES, digest_of, digests_of
from threadkeep.rules.json_equality import json_equal
from threadkeep.testing.document_filters import ENTRIES, METADATA, UNESCAPED

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.integers(2**53 - 2, 2**53 + 2)
    | st.sampled_from([0.0, -0.0, 1.0, 0.1, 2.0**53, 1e300, 1e-300])
    | st.sampled_from(["", "1", "true", "null", "a", "\ud83d\ude00", "\U0001f600", "\x00"])
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["a", "b", ""]), inner, max_size=2)
    ),
    max_leaves=4,
)


def has(metadata: str, entry: str, value: str) -> bool:
    digests = digests_of(metadata)
    held = [digests[at : at + DIGEST_BYTES] for at in range(0, len(digests), DIGEST_BYTES)]
    return digest_of(entry, value).bytes in held


@given(left=values, right=values)
def test_digests_are_equal_exactly_where_values_are(left: Any, right: Any) -> None:
    metadata = json.dumps({"k": left}, ensure_ascii=False)
    assert has(metadata, "k", json.dumps(right)) == json_equal(left, json.loads(json.dumps(right)))


@pytest.mark.parametrize(
    ("metadata", "entry", "value", "expected"),
    [*((METADATA, *case) for case in ENTRIES), *UNESCAPED],
)
def test_the_table_of_entries_holds(metadata: str, entry: str, value: str, expected: bool) -> None:
    assert has(metadata, entry, value) == expected


def test_numbers_beyond_floats_are_numbers_of_their_own() -> None:
    assert has('{"k": 1e999}', "k", "2e999")  # both read as infinite
    assert not has('{"k": 1e999}', "k", '"Infinity"')
    assert not has('{"k": 1e999}', "k", "1" + "0" * 999)
