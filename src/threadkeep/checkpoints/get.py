"""Steps of ``get_tuple`` and ``list``: checkpoints with their values and pending writes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from threadkeep.checkpoints import metadata as metadata_documents
from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.entries import Entry, Keyed, Tree
from threadkeep.checkpoints.known import Known, Place
from threadkeep.checkpoints.reading import Documents, Reader, gather, settled
from threadkeep.checkpoints.recall import record_of, row_of
from threadkeep.checkpoints.rows import Row
from threadkeep.checkpoints.steps import Steps
from threadkeep.checkpoints.values import ListMemory, Path, watch
from threadkeep.checkpoints.writes import pending, read_writes
from threadkeep.ports.documents import CHECKPOINTS, WRITES, Condition, Document, Find, Is, Page


@dataclass(frozen=True, slots=True)
class Loaded:
    """A checkpoint as LangGraph has it; all containers are the receiver's own.

    Attributes:
        place: Where it is stored.
        parent_id: The checkpoint it follows, or ``None``.
        checkpoint: LangGraph's checkpoint.
        metadata: Its metadata.
        pending_writes: Task, channel and value, in the order they are applied.
    """

    place: Place
    parent_id: str | None
    checkpoint: dict[str, Any]
    metadata: dict[str, Any]
    pending_writes: list[tuple[str, str, Any]]


def get(
    thread_id: str, namespace: str, checkpoint_id: str | None, codec: Codec, known: Known
) -> Steps[Loaded | None]:
    """Read one checkpoint, or the newest of a namespace.

    At most three requests, plus one for each further 2 MiB of documents not known.

    Raises:
        CorruptionError: A document the checkpoint names is missing, or is not what it should be.
    """
    where: list[Condition] = [Is("checkpoint_ns", namespace)]
    if checkpoint_id:
        where.append(Is("checkpoint_id", checkpoint_id))
    find = Find(CHECKPOINTS, thread_id, where, newest_first=True, limit=1, children=WRITES)
    return (yield from settled(find, partial(_load, codec, known)))


def _load(codec: Codec, known: Known, page: Page) -> Steps[Loaded | None]:
    if not page.documents:
        return None
    document = page.documents[0]
    place = place_of(document)
    found: Documents = {}
    yield from gather(place[0], _refs(page.documents, page.children), found, known)
    reader = Reader(codec, found)
    row = row_of(document, reader)
    values, lists = _watched_values(row, reader)
    known.remember(record_of(place, row, document, lists))
    for writes in page.children:
        if any(index >= 0 for index in read_writes(writes)[1]):
            known.note_refs(place, writes.refs)  # a special one may be replaced, and name others
            known.note_task(place, str(writes.key[2]))
    return _loaded(document, row, values, page.children, reader)


def place_of(document: Document) -> Place:
    """Tell the place of a checkpoint's document."""
    namespace, checkpoint_id = document.key
    return document.thread_id, str(namespace), str(checkpoint_id)


def load_page(
    documents: Sequence[Document], writes: Sequence[Document], codec: Codec, known: Known
) -> Steps[list[Loaded]]:
    """Make the checkpoints of one found page, documents of one thread being read together.

    Raises:
        CorruptionError: A document a checkpoint names is missing, or is not what it should be.
    """
    children: dict[Place, list[Document]] = {}
    for document in writes:
        namespace, checkpoint_id = document.key[:2]
        place = document.thread_id, str(namespace), str(checkpoint_id)
        children.setdefault(place, []).append(document)
    readers: dict[str, Reader] = {}
    for thread_id in dict.fromkeys(document.thread_id for document in documents):
        found: Documents = {}
        own = [document for document in documents if document.thread_id == thread_id]
        named = [document for document in writes if document.thread_id == thread_id]
        yield from gather(thread_id, _refs(own, named), found, known)
        readers[thread_id] = Reader(codec, found, share=True)
    loaded = []
    for document in documents:
        reader = readers[document.thread_id]
        row = row_of(document, reader)
        values = {channel: reader.value(entry) for channel, entry in row.entries.items()}
        own = children.get(place_of(document), [])
        loaded.append(_loaded(document, row, values, own, reader))
    return loaded


def _refs(documents: Collection[Document], writes: Collection[Document]) -> list[bytes]:
    return [ref for document in (*documents, *writes) for ref in document.refs]


def _watched_values(row: Row, reader: Reader) -> tuple[dict[str, Any], dict[Path, ListMemory]]:
    """Make a row's values, and remember its lists as they are now."""
    lists: dict[Path, ListMemory] = {}
    values = {
        channel: _watched((channel,), entry, reader, lists)
        for channel, entry in row.entries.items()
    }
    return values, lists


def _watched(path: Path, entry: Entry, reader: Reader, lists: dict[Path, ListMemory]) -> Any:
    match entry:
        case Tree():
            listing = reader.listing(entry)
            elements = reader.elements(listing)
            lists[path] = watch(elements, listing)
            return elements
        case Keyed(entries):
            return {key: _watched((*path, key), inner, reader, lists) for key, inner in entries}
    return reader.value(entry)


def _loaded(
    document: Document,
    row: Row,
    values: dict[str, Any],
    writes: Sequence[Document],
    reader: Reader,
) -> Loaded:
    parent_id = document.fields.get("parent_id")
    place = place_of(document)
    checkpoint = {
        "v": row.v,
        "id": place[2],
        "ts": row.ts,
        "channel_values": values,
        "channel_versions": dict(row.versions),
        "versions_seen": {node: dict(versions) for node, versions in row.seen.items()},
        "updated_channels": None if row.updated is None else list(row.updated),
        **{key: reader.value(entry) for key, entry in row.extras.items()},
    }
    return Loaded(
        place,
        None if parent_id is None else str(parent_id),
        checkpoint,
        _metadata(document, row, reader),
        pending(writes, reader),
    )


def _metadata(document: Document, row: Row, reader: Reader) -> dict[str, Any]:
    fields: Mapping[str, Any] = document.fields
    named = {name: fields[name] for name in ("source", "step") if fields.get(name) is not None}
    if isinstance(row.meta, bytes):
        return named | metadata_documents.load(reader.plain(row.meta), reader.codec)
    return named | ({"parents": {}} if row.meta else {})
