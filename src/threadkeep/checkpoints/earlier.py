"""Steps that read threads of schema 1, behind those of schema 2.

A checkpoint that is not in schema 2 is read from schema 1; what follows it is put into schema 2,
and so is what its tasks write now. A list has the steps of schema 2 first.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from threadkeep.checkpoints import listing as current
from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.gathering import Documents, gather
from threadkeep.checkpoints.get import Loaded, get, place_of
from threadkeep.checkpoints.known import Known, Place
from threadkeep.checkpoints.listing import Listing, Position
from threadkeep.checkpoints.metadata import equal_text, json_text
from threadkeep.checkpoints.reading import Reader, naming
from threadkeep.checkpoints.schema1 import check_write, make_checkpoint, typed
from threadkeep.checkpoints.steps import Steps
from threadkeep.checkpoints.strays import absent
from threadkeep.checkpoints.writes import read_writes
from threadkeep.errors import CorruptionError
from threadkeep.ports.documents import (
    CHECKPOINTS_V1,
    WRITES,
    WRITES_V1,
    Below,
    Condition,
    Document,
    Find,
    Is,
    Key,
    Page,
)

PAGE = 10  # read at once: each is a whole snapshot

Written = dict[tuple[str, int], tuple[str, str, Any]]  # by task and index: path, channel, value


def get_either(
    thread_id: str, namespace: str, checkpoint_id: str | None, codec: Codec, known: Known
) -> Steps[Loaded | None]:
    """Read one checkpoint, or the newest of a namespace, of whichever schema; see ``get``."""
    loaded = yield from get(thread_id, namespace, checkpoint_id, codec, known)
    if loaded is None:
        loaded = yield from get_earlier(thread_id, namespace, checkpoint_id, codec, known)
    return loaded


def get_earlier(
    thread_id: str, namespace: str, checkpoint_id: str | None, codec: Codec, known: Known
) -> Steps[Loaded | None]:
    """Read one checkpoint of schema 1, or the newest of a namespace.

    Raises:
        CorruptionError: A document cannot be read.
        SchemaTooNewError: It is of another schema.
    """
    where: list[Condition] = [Is("checkpoint_ns", namespace)]
    if checkpoint_id:
        where.append(Is("checkpoint_id", checkpoint_id))
    page: Page = yield Find(
        CHECKPOINTS_V1, thread_id, where, newest_first=True, limit=1, children=WRITES_V1
    )
    for document in page.documents:
        return (yield from _load(document, page.children, codec, known))
    return None


def next_page(
    listing: Listing, position: Position, codec: Codec, known: Known
) -> Steps[tuple[list[Loaded], Position | None]]:
    """Read one page of a listing: of schema 2, and after its end of schema 1.

    See ``listing.next_page``.
    """
    if not position.earlier:
        loaded, after = yield from current.next_page(listing, position, codec, known)
        left = None if position.left is None else position.left - len(loaded)
        if after is None and left != 0:
            after = Position(None, left, earlier=True)
        return loaded, after
    page: Page = yield Find(
        CHECKPOINTS_V1,
        listing.thread_id,
        _where(listing),
        newest_first=True,
        after=position.after,
        limit=PAGE,
        children=WRITES_V1,
    )
    left = position.left
    loaded = []
    for document in (yield from _not_in_schema_2(page.documents)):
        one = yield from _load(document, page.children, codec, known)
        if _matches(one.metadata, listing.filter or {}) and left != 0:
            loaded.append(one)
            left = None if left is None else left - 1
    if not page.more or not page.documents or left == 0:
        return loaded, None
    last = page.documents[-1]
    return loaded, Position((last.thread_id, last.key), left, earlier=True)


def earlier_is_stored(place: Place) -> Steps[bool]:
    """Tell whether a checkpoint is stored in schema 1."""
    thread_id, namespace, checkpoint_id = place
    where = [Is("checkpoint_ns", namespace), Is("checkpoint_id", checkpoint_id)]
    page: Page = yield Find(CHECKPOINTS_V1, thread_id, where, limit=1, bodies=False)
    return bool(page.documents)


def _where(listing: Listing) -> list[Condition]:
    where: list[Condition] = []
    if listing.namespace is not None:
        where.append(Is("checkpoint_ns", listing.namespace))
    if listing.checkpoint_id:
        where.append(Is("checkpoint_id", listing.checkpoint_id))
    if listing.before:
        where.append(Below("checkpoint_id", listing.before))
    return where


def _not_in_schema_2(documents: Sequence[Document]) -> Steps[list[Document]]:
    """Leave out the checkpoints that were put again."""
    kept: set[tuple[str, Key]] = set()
    for thread_id in dict.fromkeys(document.thread_id for document in documents):
        own = [document.key for document in documents if document.thread_id == thread_id]
        kept |= {(thread_id, key) for key in (yield from absent(thread_id, own))}
    return [document for document in documents if (document.thread_id, document.key) in kept]


def _load(
    document: Document, children: Sequence[Document], codec: Codec, known: Known
) -> Steps[Loaded]:
    place = place_of(document)
    with naming(document):
        checkpoint, metadata = make_checkpoint(document, codec)
        own = [
            write
            for write in children
            if (write.thread_id, write.key[:2]) == (document.thread_id, document.key)
        ]
        written = _written(own, codec)
    yield from _add_later(place, written, codec, known)
    parent_id = document.fields.get("parent_id")
    return Loaded(
        place,
        None if parent_id is None else str(parent_id),
        checkpoint,
        metadata,
        [
            (task_id, channel, value)
            for (task_id, _), (_, channel, value) in sorted(written.items(), key=_applied)
        ],
    )


def _applied(item: tuple[tuple[str, int], tuple[str, str, Any]]) -> tuple[str, str, int]:
    (task_id, index), (path, _, _) = item
    return path, task_id, index


def _written(documents: Sequence[Document], codec: Codec) -> Written:
    written: Written = {}
    for document in documents:
        try:
            said = check_write(document)
            value = codec.serde.loads_typed(typed(said, "value"))
        except CorruptionError as error:
            raise CorruptionError(f"the writes of task {document.key[2]!r}: {error}") from error
        path = said.get("task_path")
        place = str(document.key[2]), int(document.key[3] or 0)
        written[place] = path if type(path) is str else "", said["channel"], value
    return written


def _add_later(place: Place, written: Written, codec: Codec, known: Known) -> Steps[None]:
    """Add what the checkpoint's tasks wrote in schema 2: regular writes stay as first stored."""
    thread_id, namespace, checkpoint_id = place
    where = [Is("checkpoint_ns", namespace), Is("checkpoint_id", checkpoint_id)]
    after: tuple[str, Key] | None = None
    documents: list[Document] = []
    while True:
        page: Page = yield Find(WRITES, thread_id, where, after=after)
        documents += page.documents
        if not page.more or not page.documents:
            break
        after = thread_id, page.documents[-1].key
    if not documents:
        return
    found: Documents = {}
    refs = [ref for document in documents for ref in document.refs]
    fresh = yield from gather(thread_id, refs, found, known)
    reader = Reader(codec, found, fresh)
    for document in documents:
        path, writes = read_writes(document)
        for index, (channel, entry) in writes.items():
            key = str(document.key[2]), index
            if index < 0 or key not in written:
                value = reader.channel(f"a write to channel {channel!r}", entry)
                written[key] = path, channel, value


def _matches(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(
        name in metadata
        and (text := json_text(metadata[name])) is not None
        and equal_text(json.loads(text)) == equal_text(json.loads(json_text(value) or "null"))
        for name, value in wanted.items()
    )
