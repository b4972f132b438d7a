"""Documents as rows of their tables, and back."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from threadkeep.drivers.postgres.entry_digests import digests_of
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

# What addressed_documents.kind says.
KIND_OF = {ITEMS: 0, BLOBS: 1, PARTS: 2}
COLLECTION_OF = {kind: collection for collection, kind in KIND_OF.items()}

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


def pack_scope(scope: Scope, thread_id: str | None) -> dict[str, bytes]:
    """Return what the row of a thread, or of every thread, is found by."""
    packed = {"namespace": pack_text(scope.namespace), "agent_id": pack_text(scope.agent_id)}
    if thread_id is not None:
        packed["thread_id"] = pack_text(thread_id)
    return packed


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


def addressed_row(document: Document) -> tuple[Any, ...]:
    """Return an addressed document's kind, ref, refs, body, metadata and entries."""
    metadata = document.fields.get(METADATA)
    described: tuple[bytes | None, bytes | None] = (None, None)
    if metadata is not None:
        described = pack_text(str(metadata)), digests_of(str(metadata))
    kind = KIND_OF[document.collection]
    return (kind, document.key[0], pack_refs(document.refs), document.body, *described)


def columns(rows: Sequence[tuple[Any, ...]], names: Sequence[str]) -> dict[str, list[Any]]:
    """Turn rows into one array per column, by name; no rows are empty arrays."""
    turned: Iterable[Sequence[Any]] = zip(*rows, strict=True) if rows else [()] * len(names)
    return {name: list(column) for name, column in zip(names, turned, strict=True)}


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
