"""Keys, and documents that are found by one, as columns and back: the same in every SQL driver."""

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
from threadkeep.ports.documents import COLLECTIONS, Document, FieldType, Key, Scalar

Packer = Callable[[Any], Any]


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
    return tuple(PACKERS[kind](value) for kind, value in zip(types, key, strict=True))


def keyed_row(document: Document) -> tuple[Any, ...]:
    """Return a checkpoint's or write's row, without its tid."""
    fields = COLLECTIONS[document.collection].fields
    packed = (_packed(kind, document.fields.get(name)) for name, kind in fields.items())
    key = pack_key(document.collection, document.key)
    return (*key, *packed, pack_refs(document.refs), document.body)


def keyed_document(collection: str, thread_id: str, row: Sequence[Any]) -> Document:
    """Make a checkpoint or write of the columns after the thread's.

    Raises:
        DamagedRowError: A column is none that was stored.
    """
    spec = COLLECTIONS[collection]
    *packed, refs, body = row
    kinds = (*spec.key.values(), *spec.fields.values())
    try:
        check_body(body)
        values = _unpacked(kinds, packed)
        names = unpack_refs(refs)
    except UNREADABLE as error:
        key_kinds = tuple(spec.key.values())
        raise damaged_row(
            error, collection, thread_id, lambda: _unpacked(key_kinds, packed[: len(spec.key)])
        ) from error
    key, fields = values[: len(spec.key)], values[len(spec.key) :]
    return Document(
        thread_id, collection, key, body, names, dict(zip(spec.fields, fields, strict=True))
    )


def _unpacked(kinds: Sequence[FieldType], columns: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        None if value is None else _UNPACKERS[kind](value)
        for kind, value in zip(kinds, columns, strict=True)
    )


def _packed(kind: FieldType, value: Scalar) -> Any:
    return None if value is None else PACKERS[kind](value)
