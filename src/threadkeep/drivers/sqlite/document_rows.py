"""Documents as rows of their tables, and back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from threadkeep.drivers.sql.addressed import METADATA
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
    BLOBS,
    COLLECTIONS,
    ITEMS,
    PARTS,
    Document,
    FieldType,
    Key,
    Scalar,
    Scope,
)

# What documents.kind says. Blobs with metadata are apart, so that no other is looked up for it.
ITEM, BLOB, PART, BLOB_WITH_METADATA = range(4)

KIND_OF = {ITEMS: ITEM, BLOBS: BLOB, PARTS: PART}
COLLECTION_OF = {ITEM: ITEMS, BLOB: BLOBS, PART: PARTS, BLOB_WITH_METADATA: BLOBS}

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


def pack_scope(scope: Scope, thread_id: str) -> tuple[bytes, bytes, bytes]:
    """Return the key of a thread's row."""
    return pack_text(scope.namespace), pack_text(scope.agent_id), pack_text(thread_id)


def kinds_of(collection: str) -> tuple[int, int]:
    """Return the kinds that documents of an addressed collection may have."""
    kind = KIND_OF[collection]
    return (kind, BLOB_WITH_METADATA) if kind == BLOB else (kind, kind)


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


def _packed(kind: FieldType, value: Scalar) -> Any:
    return None if value is None else PACKERS[kind](value)


@dataclass(frozen=True, slots=True)
class AddressedRow:
    """An addressed document's row, without its tid and time."""

    ref: Any
    kind: int
    refs: bytes | None
    body: bytes
    metadata: bytes | None

    @classmethod
    def of(cls, document: Document) -> "AddressedRow":
        """Make a document's row."""
        metadata = document.fields.get(METADATA)
        kind = KIND_OF[document.collection] if metadata is None else BLOB_WITH_METADATA
        packed = None if metadata is None else pack_text(str(metadata))
        return cls(document.key[0], kind, pack_refs(document.refs), document.body, packed)

    def values(self, tid: int, touched: int) -> tuple[Any, ...]:
        """Return the values of the columns."""
        return tid, self.ref, self.kind, touched, self.refs, self.body


def keyed_document(collection: str, thread_id: str, row: Sequence[Any]) -> Document:
    """Make a checkpoint or write of the columns after the thread's.

    Raises:
        DamagedRowError: A column is none that was stored.
    """
    spec = COLLECTIONS[collection]
    *columns, refs, body = row
    kinds = (*spec.key.values(), *spec.fields.values())
    try:
        check_body(body)
        values = _unpacked(kinds, columns)
        names = unpack_refs(refs)
    except UNREADABLE as error:
        key_kinds = tuple(spec.key.values())
        raise damaged_row(
            error, collection, thread_id, lambda: _unpacked(key_kinds, columns[: len(spec.key)])
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
