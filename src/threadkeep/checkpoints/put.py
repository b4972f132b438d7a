"""Steps of ``put``: one checkpoint, its new documents, one atomic batch.

What the parent and the checkpoints a subgraph runs under keep stored is left out; the batch then
requires those checkpoints. Where one is gone, everything is written; where the whole thread is
gone, nothing is.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from threadkeep.checkpoints import metadata as metadata_documents
from threadkeep.checkpoints.bodies import seal
from threadkeep.checkpoints.codec import Codec, storing
from threadkeep.checkpoints.drafts import Draft
from threadkeep.checkpoints.earlier import earlier_is_stored
from threadkeep.checkpoints.entries import Entry, names_of
from threadkeep.checkpoints.known import Known, Place, Record, Reliance
from threadkeep.checkpoints.metadata import DELTA_COUNTERS
from threadkeep.checkpoints.origins import NOTHING, Origins
from threadkeep.checkpoints.recall import recall
from threadkeep.checkpoints.rows import OWN_KEYS, Row, row_plain, shape_plain
from threadkeep.checkpoints.steps import Pause, Steps, UnderWay
from threadkeep.checkpoints.sums import add_sums
from threadkeep.checkpoints.terms import ATTEMPTS, Terms, belonging, insert_all
from threadkeep.checkpoints.threads import thread_is_stored
from threadkeep.checkpoints.values import Memory, Path, encode
from threadkeep.errors import NotFoundError, UnavailableError
from threadkeep.ports.documents import CHECKPOINTS, Batch, Document, Key


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
        lease: The lease it is written under, if any.
    """

    place: Place
    parent_id: str | None
    checkpoint: Mapping[str, Any]
    metadata: Mapping[str, Any]
    under_way: UnderWay | None = None
    lease: int | None = None

    def ancestors(self) -> list[tuple[str, str]]:
        """Name the checkpoints it says it follows or runs under, by namespace and id."""
        _, namespace, checkpoint_id = self.place
        own = [] if self.parent_id in (None, checkpoint_id) else [(namespace, self.parent_id)]
        parents = self.metadata.get("parents")
        named = parents.items() if isinstance(parents, Mapping) else ()
        return [(str(each), ident) for each, ident in (*own, *named) if isinstance(ident, str)]

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
    lists: dict[Path, Memory] = field(default_factory=dict)
    extras: dict[str, Entry] = field(default_factory=dict)


def put(request: Put, codec: Codec, known: Known) -> Steps[None]:
    """Store a checkpoint.

    All values are serialized before the first request. A channel whose version is the parent's
    keeps the parent's entry, whatever the value given.

    Raises:
        NotFoundError: The thread was deleted after the parent was stored; or the parent is gone,
            and the value of a ``DeltaChannel`` is made from it.
        LeaseLostError: The lease it was to be written under is another's.
        UnavailableError: What it handed over was pruned at each of ``ATTEMPTS``.
        ValueNotStorableError: The serializer refuses a value; nothing is written.
    """
    place = request.parent_place()
    parent = known.record(place) if place else None
    sources = _sources(request, known, parent)
    origins = Origins(parent.lists if parent else {}, sources)
    reliance = Reliance(sources, origins.used)
    draft = Draft(request.place[0], codec, reliance.stored)
    encoded = _encode(request, parent, draft, origins)
    if request.under_way is not None:
        yield Pause(request.under_way)
        encoded.draft.without(reliance.stored)
    if place and parent is None:
        parent = yield from recall(place, codec)
        if parent is not None:
            reliance = Reliance([parent, *sources], reliance.used)
            _adopt(encoded, request, parent)
            entries = (*encoded.entries.values(), *encoded.extras.values())
            encoded.draft.only(ref for entry in entries for ref in names_of(entry))
            encoded.draft.without(reliance.stored)
        elif _needs_ancestors(request) and not (yield from earlier_is_stored(place)):
            raise NotFoundError("checkpoint", place[2])
    if parent is not None:
        reliance.used.add(parent.key)
    batches, record = _finish(request, encoded, _terms(request, reliance.used))
    if (yield from insert_all(request.place[0], batches)) is None:
        batches, record = yield from _put_whole(request, codec)
    known.remember(record)
    known.keep_documents([one for batch in batches for one in batch.documents])


def _put_whole(request: Put, codec: Codec) -> Steps[tuple[list[Batch], Record]]:
    """Store a checkpoint that can rely on no other, because one it relied on is gone."""
    encoded = _encode(request, None, Draft(request.place[0], codec), NOTHING)
    batches, record = _finish(request, encoded, _terms(request, ()))
    for _ in range(ATTEMPTS):
        if request.ancestors() and not (yield from thread_is_stored(request.place[0])):
            raise NotFoundError("thread", request.place[0])
        if (
            request.parent_id is not None
            and _needs_ancestors(request)
            and not (yield from earlier_is_stored((*request.place[:2], request.parent_id)))
        ):
            raise NotFoundError("checkpoint", request.parent_id)
        if (yield from insert_all(request.place[0], batches)) is not None:
            return batches, record
    raise UnavailableError(f"thread {request.place[0]!r} is pruned all the time; try again")


def _terms(request: Put, used: Collection[tuple[str, Key]]) -> Terms:
    """Say what must be so: what was relied on is there, and nothing it follows was erased."""
    others = [each for each in request.ancestors() if (CHECKPOINTS, each) not in used]
    return Terms(tuple(used), belonging(others), request.lease)


def _needs_ancestors(request: Put) -> bool:
    """Tell whether the value of a ``DeltaChannel`` is made from the parent's writes."""
    counters = request.metadata.get(DELTA_COUNTERS)
    checkpoint = request.checkpoint
    return isinstance(counters, Mapping) and any(
        name in checkpoint["channel_versions"] and name not in checkpoint["channel_values"]
        for name in counters
    )


def _sources(request: Put, known: Known, parent: Record | None) -> list[Record]:
    """Find what is known of the checkpoints whose documents may be left out."""
    sources = [] if parent is None else [parent]
    for namespace, checkpoint_id in request.ancestors():
        record = known.record((request.place[0], namespace, checkpoint_id))
        if record is not None and record not in sources:
            sources.append(record)
    return sources


def _encode(request: Put, parent: Record | None, draft: Draft, old: Origins) -> _Encoded:
    encoded = _Encoded(draft)
    checkpoint = request.checkpoint
    kept = _unchanged(checkpoint["channel_versions"], parent)
    for channel, value in checkpoint["channel_values"].items():
        if channel in kept:
            continue
        with storing(f"the value of channel {channel!r} of thread {request.place[0]!r}"):
            encoded.entries[channel], found = encode(value, (channel,), draft, old)
        encoded.lists |= found
    for key in checkpoint.keys() - OWN_KEYS:
        with storing(f"the checkpoint's {key!r}"):
            encoded.extras[key], _ = encode(checkpoint[key], (key,), draft, NOTHING)
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


def _finish(request: Put, encoded: _Encoded, terms: Terms) -> tuple[list[Batch], Record]:
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
    document = replace(document, body=add_sums(document))
    record = Record(
        request.place,
        dict(checkpoint["channel_versions"]),
        encoded.entries,
        encoded.lists,
        [shape_ref, *([meta] if isinstance(meta, bytes) else [])],
    )
    return draft.batches(terms, replacing=[document]), record
