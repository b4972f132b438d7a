"""How documents order, what they count, and how the SQL drivers pack their keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.drivers.sql.packing import (
    pack_id,
    pack_refs,
    pack_text,
    unpack_id,
    unpack_refs,
    unpack_text,
)
from threadkeep.ports.documents import Document
from threadkeep.rules.document_order import id_order, is_compact, key_order, size_of

UUID = "1ef4f797-8335-6428-8001-8a1503f9b875"

hexes = st.text("0123456789abcdef", min_size=32, max_size=32)
uuids = hexes.map(lambda d: f"{d[:8]}-{d[8:12]}-{d[12:16]}-{d[16:20]}-{d[20:]}")
any_text = st.text(st.characters(exclude_categories=()), max_size=40)
idents = any_text | uuids | uuids.map(str.upper) | uuids.map(lambda ident: "ff" + ident[2:])


@pytest.mark.parametrize(
    ("ident", "compact"),
    [
        (UUID, True),
        (UUID.upper(), False),
        (UUID.replace("-", ""), False),
        (UUID + "\n", False),
        (" " + UUID[1:], False),
        ("ff" + UUID[2:], False),
        ("1ef4f7978-335-6428-8001-8a1503f9b875", False),
        ("\u0661ef4f797-8335-6428-8001-8a1503f9b875", False),
        ("", False),
    ],
)
def test_only_a_lowercase_uuid_is_compact(ident: str, compact: bool) -> None:
    assert is_compact(ident) is compact
    assert (len(pack_id(ident)) == 16) is compact


@given(idents)
def test_an_id_unpacks_to_what_was_packed(ident: str) -> None:
    assert unpack_id(pack_id(ident)) == ident
    assert unpack_text(pack_text(ident)) == ident


@given(idents, idents)
def test_packed_ids_order_and_equal_as_ids_do(one: str, other: str) -> None:
    assert (pack_id(one) < pack_id(other)) == (id_order(one) < id_order(other))
    assert (pack_id(one) == pack_id(other)) == (one == other)
    assert (pack_text(one) < pack_text(other)) == (one < other)


@given(st.lists(st.binary(min_size=12, max_size=12)))
def test_addresses_unpack_to_what_was_packed(refs: list[bytes]) -> None:
    assert unpack_refs(pack_refs(refs)) == tuple(refs)


def test_a_document_counts_its_body_refs_key_and_fields() -> None:
    document = Document(
        "thread",
        "langgraph_checkpoints_v2",
        ("é", UUID),
        b"12345",
        (b"x" * 12,),
        {"source": "loop", "step": 7, "meta": b"123", "parent_id": None},
    )
    assert size_of(document) == 5 + 12 + (2 + 36) + (4 + 8 + 3)


def test_a_key_orders_field_by_field_with_uuids_first() -> None:
    keys = [("", UUID), ("", "a"), ("a", UUID)]
    ordered = sorted(keys, key=lambda key: key_order("langgraph_checkpoints_v2", key))
    assert ordered == keys
