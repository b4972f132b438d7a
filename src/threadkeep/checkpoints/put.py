"""Steps of ``put``: one checkpoint, its new documents, one atomic batch.

What the parent and the checkpoints a subgraph runs under keep stored is left out; the batch then
requires those checkpoints. Where one is gone, everything is written; where the whole thread is
gone, nothing is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from threadkeep.checkpoints import metadata as metadata_documents
from threadkeep.checkpoints.bodies import seal
from threadkeep.checkpoints.codec import Codec, storing
from threadkeep.checkpoints.drafts import Draft
from threadkeep.checkpoints.entries import Entry
from threadkeep.checkpoints.known import Known, Place, Record, Reliance
from threadkeep.checkpoints.recall import recall
from threadkeep.checkpoints.rows import OWN_KEYS, Row, row_plain, shape_plain
from threadkeep.checkpoints.steps import Insert, Pause, Steps, UnderWay
from threadkeep.checkpoints.threads import thread_is_stored
from threadkeep.checkpoints.values import ListMemory, Path, encode
from threadkeep.errors import NotFoundError
from threadkeep.ports.documents import CHECKPOINTS, Batch, Document, Inserted


@dataclass(frozen=True, slots=True)
class Put:
    """One call of ``put``.

    Attributes:
        place: The new checkpoint's place.
        parent_id: The checkpoint it follows, or ``None``.
        checkpoint: LangGraph's checkpoint.
        metadata: Its metadata, complete.
        under_way: Writes of the parent's tasks that are being stored: their values are this
            checkpoint's, and are handed over once if they are waited for.
    """

    place: Place
    parent_id: str | None
    checkpoint: Mapping[str, Any]
    metadata: Mapping[str, Any]
    under_way: UnderWay | None = None

    def parent_place(self) -> Place | None:
        """Name the parent, unless the checkpoint is being put over itself."""
        thread_id, namespace, checkpoint_id = self.place
        if self.parent_id is None or self.parent_id == checkpoint_id:
            return None
        return thread_id, namespace, self.parent_id


@dataclass(slots=True)
class _Encoded:
    """The values of a put, taken into a draft."""

    draft: Draft
    entries: dict[str, Entry] = field(default_factory=dict)
    lists: dict[Path, ListMemory] = field(default_factory=dict)
    extras: dict[str, Entry] = field(default_factory=dict)


def put(request: Put, codec: Codec, known: Known) -> Steps[None]:
    """Store a checkpoint.

    All values are serialized before the first request. A channel whose version is the parent's
    keeps the parent's entry, whatever the value given.

    Raises:
        NotFoundError: The thread was deleted after the parent was stored.
        ValueNotStorableError: The serializer refuses a value; nothing is written.
    """
    place = request.parent_place()
    parent = known.record(place) if place else None
    sources = _sources(request, known, parent)
    reliance = Reliance(sources, set())
    encoded = _encode(request, parent, Draft(request.place[0], codec, reliance.stored))
    if request.under_way is not None:
        yield Pause(request.under_way)
        encoded.draft.without(reliance.stored)
    if place and parent is None:
        parent = yield from recall(place, codec)
        if parent is not None:
            reliance = Reliance([parent, *sources], set())
            _adopt(encoded, request, parent)
            encoded.draft.without(reliance.stored)
    if parent is not None:
        reliance.used.add(parent.key)
    batches, record = _finish(request, encoded, tuple(reliance.used))
    written = yield from _insert(batches)
    if not written:
        if not (yield from thread_is_stored(request.place[0])):
            raise NotFoundError("thread", request.place[0])
        encoded = _encode(request, None, Draft(request.place[0], codec))
        batches, record = _finish(request, encoded, ())
        yield from _insert(batches)
    known.remember(record)
    known.keep_documents([one for batch in batches for one in batch.documents])


def _sources(request: Put, known: Known, parent: Record | None) -> list[Record]:
    """Find what is known of the checkpoints whose documents may be left out."""
    sources = [] if parent is None else [parent]
    parents = request.metadata.get("parents")
    for namespace, checkpoint_id in parents.items() if isinstance(parents, Mapping) else ():
        if not isinstance(checkpoint_id, str):
            continue
        record = known.record((request.place[0], namespace, checkpoint_id))
        if record is not None and record not in sources:
            sources.append(record)
    return sources


def _encode(request: Put, parent: Record | None, draft: Draft) -> _Encoded:
    encoded = _Encoded(draft)
    checkpoint = request.checkpoint
    lists = parent.lists if parent else {}
    kept = _unchanged(checkpoint["channel_versions"], parent)
    for channel, value in checkpoint["channel_values"].items():
        if channel in kept:
            continue
        with storing(f"the value of channel {channel!r}"):
            encoded.entries[channel], found = encode(value, (channel,), draft, lists)
        encoded.lists |= found
    for key in checkpoint.keys() - OWN_KEYS:
        with storing(f"the checkpoint's {key!r}"):
            encoded.extras[key], _ = encode(checkpoint[key], (key,), draft, {})
    if parent is not None:
        _adopt(encoded, request, parent)
    return encoded


def _unchanged(versions: Mapping[str, Any], parent: Record | None) -> set[str]:
    """Name the channels whose version is the parent's."""
    if parent is None:
        return set()
    return {
        channel
        for channel, version in versions.items()
        if channel in parent.versions
        and parent.versions[channel] == version
        and type(parent.versions[channel]) is type(version)
    }


def _adopt(encoded: _Encoded, request: Put, parent: Record) -> None:
    """Take over the parent's entries of unchanged channels."""
    kept = _unchanged(request.checkpoint["channel_versions"], parent)
    for channel in kept:
        encoded.entries.pop(channel, None)
        if channel in parent.entries:
            encoded.entries[channel] = parent.entries[channel]
    encoded.lists = {path: memory for path, memory in encoded.lists.items() if path[0] not in kept}
    encoded.lists |= {path: memory for path, memory in parent.lists.items() if path[0] in kept}


def _finish(request: Put, encoded: _Encoded, requires: Sequence[Any]) -> tuple[list[Batch], Record]:
    """Make the batches that store a checkpoint, and what is known once they are written."""
    checkpoint, draft = request.checkpoint, encoded.draft
    thread_id, namespace, checkpoint_id = request.place
    with storing("the checkpoint's metadata"):
        fields, meta = metadata_documents.store(request.metadata, draft)
    row = Row(
        checkpoint.get("v"),
        checkpoint.get("ts"),
        checkpoint["channel_versions"],
        checkpoint["versions_seen"],
        checkpoint.get("updated_channels"),
        encoded.entries,
        encoded.extras,
        meta,
    )
    with storing("a name or version in the checkpoint"):
        shape = shape_plain(row)
        shape_ref = draft.blob(shape)
        plain, refs = row_plain(row, shape, shape_ref)
    document = Document(
        thread_id,
        CHECKPOINTS,
        (namespace, checkpoint_id),
        seal(plain),
        refs,
        {"parent_id": request.parent_id, **fields},
    )
    record = Record(
        request.place,
        dict(checkpoint["channel_versions"]),
        encoded.entries,
        encoded.lists,
        [shape_ref, *([meta] if isinstance(meta, bytes) else [])],
    )
    return draft.batches(requires, replacing=[document]), record


def _insert(batches: Sequence[Batch]) -> Steps[bool]:
    """Write batches in order, as long as what they require is there."""
    for batch in batches:
        inserted: Inserted = yield Insert(batch)
        if not inserted.written:
            return False
    return True
