"""How documents order, and how many bytes one counts: the same on every driver."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from threadkeep.ports.documents import COLLECTIONS, REF_BYTES, Document, FieldType, Key, Scalar

INTEGER_BYTES = 8  # what an integer counts, whatever a driver spends on it

# One that begins with ff is left out: a driver marks ids that are no UUIDs with that byte.
_UUID = re.compile(r"(?!ff)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def is_compact(ident: str) -> bool:
    """Say whether an id is a lowercase UUID that can stand as its 16 bytes."""
    return len(ident) == 36 and _UUID.fullmatch(ident) is not None


def id_order(ident: Any) -> tuple[bool, str]:
    """Return what an id sorts by: UUIDs first, then the others, each by code point."""
    return not is_compact(ident), ident


def _itself(value: Any) -> Any:
    return value


_ORDER: Mapping[FieldType, Callable[[Any], Any]] = {
    "text": _itself,
    "id": id_order,
    "integer": _itself,
    "bytes": _itself,
}


def field_order(collection: str, name: str) -> Callable[[Any], Any]:
    """Return the function from a value of a key field to what it sorts by."""
    return _ORDER[COLLECTIONS[collection].key[name]]


def key_order(collection: str, key: Key) -> tuple[Any, ...]:
    """Return what a key sorts by."""
    types = COLLECTIONS[collection].key.values()
    return tuple(_ORDER[kind](value) for kind, value in zip(types, key, strict=True))


def text_bytes(text: str) -> bytes:
    """Encode text exactly, lone surrogates included; the bytes order as the code points do."""
    return text.encode("utf-8", "surrogatepass")


def scalar_size(value: Scalar) -> int:
    """Count the bytes of a key or field value."""
    match value:
        case None:
            return 0
        case str():
            return len(value) if value.isascii() else len(text_bytes(value))
        case bytes():
            return len(value)
        case _:
            return INTEGER_BYTES


def size_of(document: Document) -> int:
    """Count the bytes of a document: body, refs, key and fields."""
    scalars = (*document.key, *document.fields.values())
    return len(document.body) + REF_BYTES * len(document.refs) + sum(map(scalar_size, scalars))
