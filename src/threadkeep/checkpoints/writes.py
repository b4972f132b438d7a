"""Steps of ``put_writes``, and the pending writes of a checkpoint.

One document holds a task's regular writes, one each of its special ones (error, interrupt...).
The key field ``part`` is the first regular write's index, or the special's negative index. Regular
writes are kept as first stored, index by index; special ones are replaced.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ormsgpack

from threadkeep.checkpoints import bodies
from threadkeep.checkpoints.codec import Codec, storing
from threadkeep.checkpoints.drafts import Draft, nothing_stored
from threadkeep.checkpoints.entries import Entry, pack, unpack
from threadkeep.checkpoints.known import Known, Place, Reliance
from threadkeep.checkpoints.reading import Reader
from threadkeep.checkpoints.steps import Insert, Steps
from threadkeep.checkpoints.threads import thread_is_stored
from threadkeep.checkpoints.values import encode
from threadkeep.errors import CorruptionError, NotFoundError
from threadkeep.ports.documents import (
    WRITES,
    Batch,
    Document,
    Find,
    Inserted,
    Is,
    Page,
    Scalar,
)

# Source: ``langgraph.checkpoint.base.WRITES_IDX_MAP``.
SPECIAL: Mapping[str, int] = {
    "__error__": -1,
    "__scheduled__": -2,
    "__interrupt__": -3,
    "__resume__": -4,
}

Writes = dict[int, tuple[str, Entry]]  # by index: channel and value


@dataclass(frozen=True, slots=True)
class PutWrites:
    """One call of ``put_writes``.

    Attributes:
        place: The checkpoint the writes follow; it may not be stored yet.
        writes: Channel and value, in order.
        task_id: The task that made them.
        task_path: Its place among the tasks of the step.
    """

    place: Place
    writes: Sequence[tuple[str, Any]]
    task_id: str
    task_path: str


def put_writes(request: PutWrites, codec: Codec, known: Known) -> Steps[None]:
    """Store a task's writes; all values are serialized before the first request.

    Raises:
        NotFoundError: The thread was deleted after the checkpoint was stored.
        ValueNotStorableError: The serializer refuses a value; nothing is written.
    """
    record = known.record(request.place)
    reliance = Reliance([record] if record else [], set())
    draft = Draft(request.place[0], codec, reliance.stored)
    special, regular = _encode(request, draft)
    if reliance.used:
        full = Draft(request.place[0], codec, nothing_stored)
        _encode(request, full)
        written = yield from _store(request, draft, special, regular, known, [*reliance.used])
        if written:
            return
        if not (yield from thread_is_stored(request.place[0])):
            raise NotFoundError("thread", request.place[0])
        draft = full
    yield from _store(request, draft, special, regular, known, [])


def _store(
    request: PutWrites,
    draft: Draft,
    special: Writes,
    regular: Writes,
    known: Known,
    requires: Sequence[Any],
) -> Steps[bool]:
    again = known.has_writes(request.place, request.task_id)
    replacing = [_document(request, index, {index: write}) for index, write in special.items()]
    first = [_document(request, 0, regular)] if regular and not again else []
    batches = draft.batches(requires, first=first, replacing=replacing)
    for batch in batches:
        inserted: Inserted = yield Insert(batch)
        if not inserted.written:
            return False
        again = again or (WRITES, _key(request, 0)) in inserted.present
    if regular and again:
        yield from _add_missing(request, regular, requires)
    known.note_refs(request.place, draft.refs())
    known.keep_documents([one for batch in batches for one in batch.documents])
    if regular:
        known.note_task(request.place, request.task_id)
    return True


def _add_missing(request: PutWrites, regular: Writes, requires: Sequence[Any]) -> Steps[None]:
    """Store the writes whose index the task has none at."""
    thread_id, namespace, checkpoint_id = request.place
    while True:
        page: Page = yield Find(
            WRITES,
            thread_id,
            [
                Is("checkpoint_ns", namespace),
                Is("checkpoint_id", checkpoint_id),
                Is("task_id", request.task_id),
            ],
        )
        stored = {index for document in page.documents for index in read_writes(document)[1]}
        missing = {index: write for index, write in regular.items() if index not in stored}
        if not missing:
            return
        part = _free_part([document.key[3] for document in page.documents], min(missing))
        batch = Batch([_document(request, part, missing)], requires=requires)
        inserted: Inserted = yield Insert(batch)
        if not inserted.written or not inserted.present:
            return


def _free_part(taken: Sequence[Scalar], wanted: int) -> int:
    """Number a document of further writes: what is stored first has the lower number."""
    while wanted in taken:
        wanted += 1
    return wanted


def _encode(request: PutWrites, draft: Draft) -> tuple[Writes, Writes]:
    special: Writes = {}
    regular: Writes = {}
    for position, (channel, value) in enumerate(request.writes):
        with storing(f"a write to channel {channel!r}"):
            entry, _ = encode(value, (channel,), draft, {})
        if channel in SPECIAL:
            special[SPECIAL[channel]] = channel, entry
        else:
            regular[position] = channel, entry
    return special, regular


def _key(request: PutWrites, part: int) -> tuple[str, str, str, int]:
    return (*request.place[1:], request.task_id, part)


def _document(request: PutWrites, part: int, writes: Writes) -> Document:
    refs: list[bytes] = []
    channels = [channel for channel, _ in writes.values()]
    entries = [pack(entry, refs) for _, entry in writes.values()]
    indexes = None if list(writes) == list(range(part, part + len(writes))) else list(writes)
    with storing("a write's channel or task path"):
        plain = bodies.flag(bodies.WRITES) + ormsgpack.packb(
            [request.task_path, channels, entries, indexes]
        )
    return Document(request.place[0], WRITES, _key(request, part), bodies.seal(plain), tuple(refs))


def read_writes(document: Document) -> tuple[str, Writes]:
    """Give back a task's path and writes from their document.

    Raises:
        CorruptionError: The body is none of a pending write.
    """
    part = int(document.key[3] or 0)
    try:
        path, channels, packed, indexes = ormsgpack.unpackb(
            bodies.unseal(document.body)[1:], option=ormsgpack.OPT_NON_STR_KEYS
        )
        refs = iter(document.refs)
        entries = [unpack(entry, refs) for entry in packed]
        at = indexes or range(part, part + len(entries))
        return path, dict(zip(at, zip(channels, entries, strict=True), strict=True))
    except (ValueError, TypeError) as error:
        raise CorruptionError("a pending write cannot be read") from error


def pending(documents: Sequence[Document], reader: Reader) -> list[tuple[str, str, Any]]:
    """Make the pending writes of one checkpoint, in the order they are applied.

    Source: ``langgraph.checkpoint.base.writes_sort_key``.
    """
    found: dict[tuple[str, int], tuple[str, str, Entry]] = {}
    for document in sorted(documents, key=lambda document: document.key[2:]):
        path, writes = read_writes(document)
        for index, (channel, entry) in writes.items():
            found.setdefault((str(document.key[2]), index), (path, channel, entry))
    ordered = sorted(
        (path, task_id, index, channel, entry)
        for (task_id, index), (path, channel, entry) in found.items()
    )
    return [(task, channel, reader.value(entry)) for _, task, _, channel, entry in ordered]
