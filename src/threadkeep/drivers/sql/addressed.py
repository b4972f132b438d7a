"""Addressed documents made of what a SQL driver read: a long conversation is thousands of them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from threadkeep.drivers.sql.damage import UNREADABLE, check_body, damaged_row
from threadkeep.drivers.sql.packing import unpack_refs, unpack_text
from threadkeep.ports.documents import BLOBS, Document, Scalar

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
