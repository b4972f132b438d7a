"""Addressed documents made of what a SQL driver read: a long conversation is thousands of them."""

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from threadkeep.drivers.sql.damage import UNREADABLE, check_body, damaged_row
from threadkeep.drivers.sql.packing import unpack_refs, unpack_text
from threadkeep.ports.documents import BLOBS, REF_BYTES, Document, Scalar

METADATA = "metadata"

_NO_FIELDS: Mapping[str, Scalar] = MappingProxyType({})
_NO_METADATA: Mapping[str, Scalar] = MappingProxyType({METADATA: None})

# A frozen dataclass's own constructor takes three times as long as setting its slots.
_new = object.__new__
_thread, _collection, _key, _body, _refs, _fields = (
    vars(Document)[name].__set__
    for name in ("thread_id", "collection", "key", "body", "refs", "fields")
)


def addressed_document(
    collection: str,
    thread_id: str,
    ref: bytes,
    metadata: bytes | None,
    refs: bytes | None,
    body: bytes,
) -> Document:
    """Make an addressed document.

    Raises:
        DamagedRowError: Its addresses, its metadata or its body are damaged.
    """
    made: Any = _new(Document)
    _thread(made, thread_id)
    _collection(made, collection)
    _key(made, (ref,))
    _body(made, body)
    if refs is None and metadata is None and type(body) is bytes:
        _refs(made, ())
        _fields(made, _NO_METADATA if collection == BLOBS else _NO_FIELDS)
        return made  # type: ignore[no-any-return]
    try:
        check_body(body)
        _refs(made, unpack_refs(refs))
        text = None if metadata is None else unpack_text(metadata)
    except UNREADABLE as error:
        raise damaged_row(error, collection, thread_id, lambda: (ref,)) from error
    _fields(made, {METADATA: text} if collection == BLOBS else _NO_FIELDS)
    return made  # type: ignore[no-any-return]


def addressed_documents(
    thread_id: str,
    collections: Mapping[int, str],
    rows: Iterable[tuple[Any, ...]],
    budget_bytes: float = math.inf,
) -> tuple[dict[bytes, Document], bytes | None]:
    """Make addressed documents of rows: address, kind, metadata, addresses named and body.

    Args:
        thread_id: Their thread.
        collections: What the kinds are called.
        rows: The rows.
        budget_bytes: Where the documents come to more, the others are left out; one is made always.

    Returns:
        The documents by address, and the address of the first one left out.

    Raises:
        DamagedRowError: One of them is damaged.
    """
    found: dict[bytes, Document] = {}
    left = budget_bytes
    for ref, kind, metadata, refs, body in rows:
        collection = collections[kind]
        made: Any
        if refs is None and metadata is None and type(body) is bytes:
            # As ``addressed_document`` does: calling it would take as long again.
            made = _new(Document)
            _thread(made, thread_id)
            _collection(made, collection)
            _key(made, (ref,))
            _body(made, body)
            _refs(made, ())
            _fields(made, _NO_METADATA if collection == BLOBS else _NO_FIELDS)
            left -= REF_BYTES + len(body)
        else:
            made = addressed_document(collection, thread_id, ref, metadata, refs, body)
            left -= REF_BYTES + len(metadata or b"") + len(refs or b"") + len(body)
        if left < 0 and found:
            return found, ref
        found[ref] = made
    return found, None
