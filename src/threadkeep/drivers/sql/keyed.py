"""Keys, and documents that are found by one, as columns and back: the same in every SQL driver.

Documents of schema 1 lie in the tables of schema 2, apart by the first byte of their namespace:
``EARLIER``, with which no text begins.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from threadkeep.drivers.sql.damage import UNREADABLE, check_body, damaged_row
from threadkeep.drivers.sql.packing import (
    pack_id,
    pack_refs,
    pack_text,
    unpack_id,
    unpack_refs,
    unpack_text,
)
from threadkeep.ports.documents import (
    CHECKPOINTS,
    CHECKPOINTS_V1,
    COLLECTIONS,
    WRITES,
    WRITES_V1,
    Collection,
    Document,
    FieldType,
    Key,
    Scalar,
)

Packer = Callable[[Any], Any]

EARLIER = b"\xff"
NAMESPACE = "checkpoint_ns"
# The collection in whose table a collection lies, where that is another.
LIES_WITH: Mapping[str, str] = {CHECKPOINTS_V1: CHECKPOINTS, WRITES_V1: WRITES}


def _itself(value: Any) -> Any:
    return value


PACKERS: Mapping[FieldType, Packer] = {
    "text": pack_text,
    "id": pack_id,
    "json": pack_text,
    "integer": _itself,
    "bytes": _itself,
}
_UNPACKERS: Mapping[FieldType, Packer] = {
    "text": unpack_text,
    "id": unpack_id,
    "json": unpack_text,
    "integer": _itself,
    "bytes": _itself,
}


def pack_key(collection: str, key: Key) -> tuple[Any, ...]:
    """Return a key as the values of its columns."""
    types = COLLECTIONS[collection].key.values()
    packed = tuple(PACKERS[kind](value) for kind, value in zip(types, key, strict=True))
    return (EARLIER + packed[0], *packed[1:]) if collection in LIES_WITH else packed


def pack_field(collection: str, name: str, value: Scalar) -> Any:
    """Return a key's or declared field's value as its column has it."""
    spec = COLLECTIONS[collection]
    packed = PACKERS[spec.key.get(name) or spec.fields[name]](value)
    return EARLIER + packed if name == NAMESPACE and collection in LIES_WITH else packed


def keyed_row(document: Document) -> tuple[Any, ...]:
    """Return a checkpoint's or write's row, without its tid."""
    fields = _table_of(document.collection).fields
    packed = (_packed(kind, document.fields.get(name)) for name, kind in fields.items())
    key = pack_key(document.collection, document.key)
    return (*key, *packed, pack_refs(document.refs), document.body)


def keyed_document(collection: str, thread_id: str, row: Sequence[Any]) -> Document:
    """Make a checkpoint or write of the columns after the thread's.

    Raises:
        DamagedRowError: A column is none that was stored.
    """
    spec = _table_of(collection)
    *packed, refs, body = row
    kinds = (*spec.key.values(), *spec.fields.values())
    is_earlier = collection in LIES_WITH
    try:
        check_body(body)
        if is_earlier:
            packed[0] = packed[0].removeprefix(EARLIER)
        values = _unpacked(kinds, packed)
        names = unpack_refs(refs)
    except UNREADABLE as error:
        key_kinds = tuple(spec.key.values())
        raise damaged_row(
            error, collection, thread_id, lambda: _unpacked(key_kinds, packed[: len(spec.key)])
        ) from error
    key, fields = values[: len(spec.key)], values[len(spec.key) :]
    declared = dict(zip(spec.fields, fields, strict=True))
    if is_earlier:
        declared = {name: declared[name] for name in COLLECTIONS[collection].fields}
    return Document(thread_id, collection, key, body, names, declared)


def _table_of(collection: str) -> Collection:
    return COLLECTIONS[LIES_WITH.get(collection, collection)]


def _unpacked(kinds: Sequence[FieldType], columns: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        None if value is None else _UNPACKERS[kind](value)
        for kind, value in zip(kinds, columns, strict=True)
    )


def _packed(kind: FieldType, value: Scalar) -> Any:
    return None if value is None else PACKERS[kind](value)
