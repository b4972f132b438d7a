"""Steps of ``get_tuple`` and ``list``: checkpoints with their values and pending writes."""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from threadkeep.checkpoints import metadata as metadata_documents
from threadkeep.checkpoints.blame import blame
from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.dicts import watch_table
from threadkeep.checkpoints.entries import Blob, Entry, Keyed, Table, Text, Tree
from threadkeep.checkpoints.gathering import Documents, gather, still_stored
from threadkeep.checkpoints.known import Known, Place
from threadkeep.checkpoints.lists import Listing
from threadkeep.checkpoints.reading import Reader, naming
from threadkeep.checkpoints.recall import record_of, row_of
from threadkeep.checkpoints.rows import Row
from threadkeep.checkpoints.steps import Steps
from threadkeep.checkpoints.texts import is_long, join, watch_text
from threadkeep.checkpoints.values import Memory, Path, watch
from threadkeep.checkpoints.writes import pending, read_writes
from threadkeep.errors import CorruptionError, MissingDocumentError
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
    while True:
        page: Page = yield Find(
            CHECKPOINTS, thread_id, where, newest_first=True, limit=1, children=WRITES
        )
        if not page.documents:
            return None
        found: Documents = {}
        try:
            with naming(page.documents[0]):
                refs = _refs(page.documents, page.children)
                fresh = yield from gather(thread_id, refs, found, known)
        except CorruptionError as error:
            if not (yield from still_stored(page.documents)):
                continue  # it was deleted while it was read
            if isinstance(error.__cause__, MissingDocumentError):
                raise blame(error.__cause__, page.documents, found, codec) from error
            raise
        document = page.documents[0]
        with naming(document):
            return _watched_checkpoint(document, page.children, Reader(codec, found, fresh), known)


def _watched_checkpoint(
    document: Document, children: Sequence[Document], reader: Reader, known: Known
) -> Loaded:
    """Make a checkpoint of its documents, and remember how it is stored."""
    row = row_of(document, reader)
    values, lists = _watched_values(row, reader)
    loaded = _loaded(document, row, values, children, reader)
    known.keep_read(document.thread_id, reader.kept, reader.kept_bytes)
    known.remember(record_of(loaded.place, row, document, lists))
    for writes in children:
        if any(index >= 0 for index in read_writes(writes)[1]):
            known.note_refs(loaded.place, writes.refs)  # a special one may come to name others
            known.note_task(loaded.place, str(writes.key[2]))
    return loaded


def place_of(document: Document) -> Place:
    """Tell the place of a checkpoint's document."""
    namespace, checkpoint_id = document.key
    return document.thread_id, str(namespace), str(checkpoint_id)


def load_page(
    documents: Sequence[Document], writes: Sequence[Document], codec: Codec, known: Known
) -> Steps[list[Loaded]]:
    """Make the checkpoints of one found page, documents of one thread being read together.

    Those that were deleted meanwhile are left out.

    Raises:
        CorruptionError: A document a checkpoint names is missing, or is not what it should be.
    """
    children: dict[Place, list[Document]] = {}
    for document in writes:
        namespace, checkpoint_id = document.key[:2]
        place = document.thread_id, str(namespace), str(checkpoint_id)
        children.setdefault(place, []).append(document)
    made: dict[Place, Loaded] = {}
    for thread_id in dict.fromkeys(document.thread_id for document in documents):
        own: Sequence[Document] = [each for each in documents if each.thread_id == thread_id]
        found: Documents = {}
        own, fresh = yield from _gather_stored(own, children, found, codec, known)
        reader = Reader(codec, found, fresh, share=True)
        for document in own:
            place = place_of(document)
            with naming(document):
                row = row_of(document, reader)
                values = {
                    channel: reader.channel(f"channel {channel!r}", entry)
                    for channel, entry in row.entries.items()
                }
                made[place] = _loaded(document, row, values, children.get(place, []), reader)
        known.keep_read(thread_id, reader.kept, reader.kept_bytes)
    places = [place_of(document) for document in documents]
    return [made[place] for place in places if place in made]


def _gather_stored(
    checkpoints: Sequence[Document],
    children: Mapping[Place, Sequence[Document]],
    found: Documents,
    codec: Codec,
    known: Known,
) -> Steps[tuple[Sequence[Document], Set[bytes]]]:
    """Read all that checkpoints of one thread name.

    Returns:
        Those that are still stored, and what ``gather`` answers.
    """
    while checkpoints:
        writes = [each for one in checkpoints for each in children.get(place_of(one), ())]
        refs = _refs(checkpoints, writes)
        try:
            fresh = yield from gather(checkpoints[0].thread_id, refs, found, known)
        except CorruptionError as error:
            kept = yield from still_stored(checkpoints)
            if len(kept) == len(checkpoints):
                if isinstance(error, MissingDocumentError):
                    raise blame(error, checkpoints, found, codec) from error
                raise
            checkpoints = kept
            found.clear()  # what came with the others was not checked
        else:
            return checkpoints, fresh
    return (), set()


def _refs(documents: Collection[Document], writes: Collection[Document]) -> list[bytes]:
    return [ref for document in (*documents, *writes) for ref in document.refs]


def _watched_values(row: Row, reader: Reader) -> tuple[dict[str, Any], dict[Path, Memory]]:
    """Make a row's values, and remember its lists as they are now."""
    lists: dict[Path, Memory] = {}
    values: dict[str, Any] = {}
    for channel, entry in row.entries.items():
        try:
            values[channel] = _watched((channel,), entry, reader, lists)
        except CorruptionError as error:
            raise CorruptionError(f"channel {channel!r}: {error}") from error
    return values, lists


def _watched(path: Path, entry: Entry, reader: Reader, lists: dict[Path, Memory]) -> Any:
    match entry:
        case Tree():
            listing = reader.listing(entry)
            elements, taken = reader.printed(listing.marks)
            lists[path] = watch(elements, taken, listing)
            return elements
        case Table(root):
            items = reader.items(root)
            inner, taken = reader.printed(items.marks)
            lists[path] = watch_table(inner, taken, items)
            return dict(zip(items.keys, inner, strict=True))
        case Text(tree):
            listing = reader.listing(tree)
            pieces = reader.made(listing.marks)
            text = join(pieces)
            lists[path] = watch_text(text, listing, pieces)
            return text
        case Blob(ref):
            value = reader.value(entry)
            if is_long(value):
                lists[path] = watch_text(value, Listing([ref]), [value])
            return value
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
