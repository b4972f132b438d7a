"""Documents as rows of their tables, and back."""

from dataclasses import dataclass
from typing import Any

from threadkeep.drivers.sql.addressed import METADATA
from threadkeep.drivers.sql.packing import (
    pack_refs,
    pack_text,
)
from threadkeep.ports.documents import (
    BLOBS,
    ITEMS,
    PARTS,
    Document,
    Scope,
)

# What documents.kind says. Blobs with metadata are apart, so that no other is looked up for it.
ITEM, BLOB, PART, BLOB_WITH_METADATA = range(4)

KIND_OF = {ITEMS: ITEM, BLOBS: BLOB, PARTS: PART}
COLLECTION_OF = {ITEM: ITEMS, BLOB: BLOBS, PART: PARTS, BLOB_WITH_METADATA: BLOBS}


def pack_scope(scope: Scope, thread_id: str) -> tuple[bytes, bytes, bytes]:
    """Return the key of a thread's row."""
    return pack_text(scope.namespace), pack_text(scope.agent_id), pack_text(thread_id)


def kinds_of(collection: str) -> tuple[int, int]:
    """Return the kinds that documents of an addressed collection may have."""
    kind = KIND_OF[collection]
    return (kind, BLOB_WITH_METADATA) if kind == BLOB else (kind, kind)


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
