"""How the checkpoints of a thread hang together: read without bodies and values.

A channel of LangGraph's ``DeltaChannel`` stands in few checkpoints only; in the others its value
is what the pending writes of their ancestors make of it. ``with_ancestors`` says which ancestors
a checkpoint cannot do without.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.gathering import fetch
from threadkeep.checkpoints.metadata import DELTA_COUNTERS
from threadkeep.checkpoints.reading import Reader
from threadkeep.checkpoints.recall import row_of
from threadkeep.checkpoints.rows import Row
from threadkeep.checkpoints.steps import Steps
from threadkeep.ports.documents import (
    CHECKPOINTS,
    FIND_LIMIT,
    Condition,
    Document,
    Find,
    Is,
    Key,
    Page,
)

Metadata = Mapping[bytes, Mapping[str, Any]]  # by address: what JSON can state of it


@dataclass(frozen=True, slots=True)
class Structure:
    """A thread's checkpoints.

    Attributes:
        thread_id: The thread.
        checkpoints: Their documents without bodies, by key, in the order of keys.
    """

    thread_id: str
    checkpoints: Mapping[Key, Document]

    def namespaces(self) -> dict[str, list[Key]]:
        """Sort the keys by namespace, oldest first."""
        by_name: dict[str, list[Key]] = {}
        for key in self.checkpoints:
            by_name.setdefault(str(key[0]), []).append(key)
        return by_name

    def parent(self, key: Key) -> Key | None:
        """Name the stored parent of a checkpoint."""
        parent = key[0], self.checkpoints[key].fields.get("parent_id")
        return parent if parent in self.checkpoints else None

    def metadata(self, key: Key, metadata: Metadata) -> Mapping[str, Any]:
        """Find a checkpoint's metadata beyond ``source`` and ``step``."""
        ref = self.checkpoints[key].fields.get("meta")
        return metadata[ref] if isinstance(ref, bytes) else {}


def read_structure(thread_id: str) -> Steps[Structure]:
    """Read which checkpoints a thread has: one request for each ``FIND_LIMIT`` of them."""
    found = yield from _find_all(thread_id, [], bodies=False)
    return Structure(thread_id, {document.key: document for document in found})


def read_metadata(structure: Structure) -> Steps[Metadata]:
    """Read the metadata of all checkpoints; steps of a run share theirs."""
    metas = (one.fields.get("meta") for one in structure.checkpoints.values())
    refs = {ref for ref in metas if isinstance(ref, bytes)}
    found = yield from fetch(structure.thread_id, refs)
    return {ref: json.loads(str(found[ref].fields.get("metadata") or "{}")) for ref in refs}


def with_ancestors(
    structure: Structure, metadata: Metadata, kept: Collection[Key], codec: Codec
) -> Steps[set[Key]]:
    """Add to some checkpoints the ancestors that their values are made from.

    Only a namespace whose metadata counts delta updates is looked into further.
    """
    all_kept = set(kept)
    for namespace, keys in structure.namespaces().items():
        channels: set[str] = set()
        for key in keys:
            counters = structure.metadata(key, metadata).get(DELTA_COUNTERS)
            channels |= counters.keys() if isinstance(counters, dict) else set()
        own = [key for key in keys if key in all_kept]
        if channels and own and len(own) < len(keys):
            rows = yield from _read_rows(structure.thread_id, namespace, codec)
            all_kept |= _ancestors(structure, rows, own, channels)
    return all_kept


def _ancestors(
    structure: Structure, rows: Mapping[Key, Row], kept: Iterable[Key], channels: set[str]
) -> set[Key]:
    asked: dict[Key, set[str]] = {}
    for key in kept:
        for ancestor, wanted in _walk(structure, rows, key, channels):
            before = asked.setdefault(ancestor, set())
            if wanted <= before:
                break  # and so were its own ancestors
            before |= wanted
    return set(asked)


def _walk(
    structure: Structure, rows: Mapping[Key, Row], key: Key, channels: set[str]
) -> Iterator[tuple[Key, set[str]]]:
    """Follow parents as long as a channel's value is to be found further up."""
    wanted = _unstated(rows.get(key), channels)
    parent = structure.parent(key)
    while wanted and parent is not None:
        yield parent, wanted
        wanted = _unstated(rows.get(parent), wanted)
        parent = structure.parent(parent)


def _unstated(row: Row | None, channels: set[str]) -> set[str]:
    """Name the channels that were written before a checkpoint and whose value it does not have."""
    if row is None:
        return set()
    return {name for name in channels if name in row.versions and name not in row.entries}


def _read_rows(thread_id: str, namespace: str, codec: Codec) -> Steps[dict[Key, Row]]:
    documents = yield from _find_all(thread_id, [Is("checkpoint_ns", namespace)], bodies=True)
    found = yield from fetch(thread_id, {document.refs[0] for document in documents})
    parts = {part for shape in found.values() for part in shape.refs}  # of one with many names
    found |= yield from fetch(thread_id, parts)
    reader = Reader(codec, {**found}, found.keys())
    return {document.key: row_of(document, reader) for document in documents}


def _find_all(
    thread_id: str, where: Collection[Condition], *, bodies: bool
) -> Steps[list[Document]]:
    documents: list[Document] = []
    after = None
    while True:
        page: Page = yield Find(
            CHECKPOINTS, thread_id, [*where], after=after, limit=FIND_LIMIT, bodies=bodies
        )
        documents += page.documents
        if not page.more or not page.documents:
            return documents
        after = thread_id, documents[-1].key
