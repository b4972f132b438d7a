import pytest

from threadkeep.drivers.sql.rows import AFTER_LABELS, labels_of, path_of
from threadkeep.errors import InvalidNamespaceError, InvalidRequestError
from threadkeep.model.items import Namespace, NamespaceQuery
from threadkeep.rules.namespaces import (
    MAX_ADDRESS_BYTES,
    check_address,
    check_namespace_query,
    check_new_address,
    cut_namespace,
    is_below,
    literal_labels,
    select_namespaces,
)

ODD: list[Namespace] = [
    ("a",),
    ("a", "b"),
    ("a", "\x01"),
    ("a\x01",),
    ("a\x01", "b"),
    ("a-b",),
    ("ab",),
    ("é", "\uffff"),
    ("\U0001f642",),
]


def test_paths_are_in_the_order_of_their_labels() -> None:
    assert [labels_of(path) for path in sorted(map(path_of, ODD))] == sorted(ODD)


def test_a_subtree_is_a_range_of_paths() -> None:
    for prefix in ODD:
        low, high = path_of(prefix), path_of(prefix) + AFTER_LABELS
        inside = {namespace for namespace in ODD if low <= path_of(namespace) < high}
        assert inside == {namespace for namespace in ODD if is_below(namespace, prefix)}


def test_an_address_has_a_size() -> None:
    check_address(("n",), "k" * (MAX_ADDRESS_BYTES - 3))
    with pytest.raises(InvalidNamespaceError, match="bytes together"):
        check_address(("n",), "k" * (MAX_ADDRESS_BYTES - 2))


def test_a_text_is_no_namespace() -> None:
    with pytest.raises(InvalidNamespaceError, match="not the text 'users'"):
        check_address("users", "k")  # type: ignore[arg-type]
    with pytest.raises(InvalidNamespaceError, match="is not text"):
        check_address(("a", 1), "k")  # type: ignore[arg-type]


def test_the_reserved_root_reads_and_is_not_written() -> None:
    check_address(("langgraph", "x"), "k")
    with pytest.raises(InvalidNamespaceError, match="reserved"):
        check_new_address(("langgraph", "x"), "k")
    check_new_address(("x", "langgraph"), "k")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (NamespaceQuery(), ("a", "b", "c")),
        (NamespaceQuery(("a", "*")), ("a", "b", "c")),
        (NamespaceQuery(("*", "b"), ("*", "c")), ("a", "b", "c")),
        (NamespaceQuery(("b",)), None),
        (NamespaceQuery(suffix=("b",)), None),
        (NamespaceQuery(("a", "b", "c", "*")), None),
        (NamespaceQuery(suffix=("c",), max_depth=1), ("a",)),
        (NamespaceQuery(max_depth=9), ("a", "b", "c")),
    ],
)
def test_the_shape_of_a_namespace(query: NamespaceQuery, found: Namespace | None) -> None:
    assert cut_namespace(("a", "b", "c"), query) == found


def test_selected_namespaces_are_cut_distinct_and_in_order() -> None:
    query = NamespaceQuery(max_depth=1)
    assert select_namespaces([("b", "1"), ("a", "2"), ("a", "1")], query) == [("a",), ("b",)]


def test_literal_labels_end_at_the_first_wildcard() -> None:
    assert literal_labels(("a", "b")) == ("a", "b")
    assert literal_labels(("a", "*", "b")) == ("a",)
    assert literal_labels(("*",)) == ()


def test_a_depth_below_one_is_refused() -> None:
    with pytest.raises(InvalidRequestError):
        check_namespace_query(NamespaceQuery(max_depth=0))
