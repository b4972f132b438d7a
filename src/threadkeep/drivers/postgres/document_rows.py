"""Documents as rows of their tables, and back."""

from collections.abc import Iterable, Sequence
from typing import Any

from threadkeep.drivers.postgres.entry_digests import digests_of
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

# What addressed_documents.kind says.
KIND_OF = {ITEMS: 0, BLOBS: 1, PARTS: 2}
COLLECTION_OF = {kind: collection for collection, kind in KIND_OF.items()}


def pack_scope(scope: Scope, thread_id: str | None) -> dict[str, bytes]:
    """Return what the row of a thread, or of every thread, is found by."""
    packed = {"namespace": pack_text(scope.namespace), "agent_id": pack_text(scope.agent_id)}
    if thread_id is not None:
        packed["thread_id"] = pack_text(thread_id)
    return packed


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
