"""Steps of ``put_writes``, and the pending writes of a checkpoint.

One document holds a task's regular writes, one each of its special ones (error, interrupt...).
The key field ``part`` is the first regular write's index, or the special's negative index.

Special writes are replaced. A task's regular writes stay as first stored. What it writes again adds
to them only where it repeats all of them, as the same attempt would; what another attempt wrote is
not mixed in. The writes of the null task, which no node makes, add up index by index.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import ormsgpack

from threadkeep.checkpoints import bodies
from threadkeep.checkpoints.codec import Codec, storing
from threadkeep.checkpoints.drafts import Draft
from threadkeep.checkpoints.entries import Entry, no_more, pack, unpack
from threadkeep.checkpoints.known import Known, Place, Reliance
from threadkeep.checkpoints.origins import NOTHING, Origins
from threadkeep.checkpoints.reading import Reader
from threadkeep.checkpoints.steps import Steps
from threadkeep.checkpoints.sums import add_sums, unseal_row
from threadkeep.checkpoints.terms import ATTEMPTS, Terms, belonging, insert_all
from threadkeep.checkpoints.threads import thread_is_stored
from threadkeep.checkpoints.values import Memory, Path, encode
from threadkeep.errors import CorruptionError, NotFoundError, UnavailableError
from threadkeep.ports.documents import (
    CHECKPOINTS,
    WRITES,
    Document,
    Find,
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

NULL_TASK = "00000000-0000-0000-0000-000000000000"  # its writes are input: ``Command``, resumes

Writes = dict[int, tuple[str, Entry]]  # by index: channel and value


@dataclass(frozen=True, slots=True)
class PutWrites:
    """One call of ``put_writes``.

    Attributes:
        place: The checkpoint the writes follow; it may not be stored yet.
        writes: Channel and value, in order.
        task_id: The task that made them.
        task_path: Its place among the tasks of the step.
        lease: The lease they are written under, if any.
    """

    place: Place
    writes: Sequence[tuple[str, Any]]
    task_id: str
    task_path: str
    lease: int | None = None


def put_writes(request: PutWrites, codec: Codec, known: Known) -> Steps[None]:
    """Store a task's writes.

    All values are serialized before the first request. Those that go on from the checkpoint's are
    once more where it was pruned meanwhile.

    Raises:
        NotFoundError: The thread was deleted after the checkpoint was made.
        LeaseLostError: The lease they were to be written under is another's.
        UnavailableError: What was handed over was pruned at each of ``ATTEMPTS``.
        ValueNotStorableError: The serializer refuses a value; nothing is written.
    """
    thread_id = request.place[0]
    records = known.related(request.place, request.task_id)
    origins, reliance = Origins({}, records), Reliance(records, set())
    written = _encode(request, Draft(thread_id, codec, reliance.stored), origins)
    used = reliance.used | origins.used
    after = belonging([request.place[1:]])
    if used:
        # Where nothing was told by its print, to serialize all at once costs little more.
        whole = None if origins.used else _encode(request, Draft(thread_id, codec), NOTHING)
        others = [] if (CHECKPOINTS, request.place[1:]) in used else after
        terms = Terms((*used,), others, request.lease)
        if (yield from _store(request, written, known, terms)):
            return
        if not (yield from thread_is_stored(thread_id)):
            raise NotFoundError("thread", thread_id)
        written = whole or _encode(request, Draft(thread_id, codec), NOTHING)
    for _ in range(ATTEMPTS):
        if (yield from _store(request, written, known, Terms((), after, request.lease))):
            return
    raise UnavailableError(f"thread {thread_id!r} is pruned all the time; try again")


@dataclass(slots=True)
class _Written:
    """The values of a put_writes, taken into a draft.

    Attributes:
        draft: Their documents.
        special: Those that are replaced.
        regular: The others, by their index.
        memories: How the regular ones are stored.
    """

    draft: Draft
    special: Writes = field(default_factory=dict)
    regular: Writes = field(default_factory=dict)
    memories: dict[Path, Memory] = field(default_factory=dict)


def _store(request: PutWrites, written: _Written, known: Known, terms: Terms) -> Steps[bool]:
    draft, special, regular = written.draft, written.special, written.regular
    again = known.has_writes(request.place, request.task_id)
    replacing = [_document(request, index, {index: write}) for index, write in special.items()]
    first = [_document(request, 0, regular)] if regular and not again else []
    batches = draft.batches(terms, first=first, replacing=replacing)
    if first or replacing:
        done = yield from insert_all(request.place[0], batches)
        if done is None:
            return False
        again = again or any((WRITES, _key(request, 0)) in each.present for each in done)
    if regular and again and not (yield from _add_missing(request, draft, regular, terms)):
        return False
    if first and not again:  # what is kept instead, or replaced later, names other documents
        below = () if special else draft.refs()
        known.note_refs(request.place, [*first[0].refs, *below])
        known.note_written(request.place, written.memories)
    known.keep_documents([one for batch in batches for one in batch.documents])
    if regular:
        known.note_task(request.place, request.task_id)
    return True


def _add_missing(request: PutWrites, draft: Draft, regular: Writes, terms: Terms) -> Steps[bool]:
    """Store the writes whose index the task has none at, unless they are another attempt's."""
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
        stored: Writes = {}
        for document in page.documents:
            stored = read_writes(document)[1] | stored  # the lowest part wins at each index
        missing = {index: write for index, write in regular.items() if index not in stored}
        if not missing or (request.task_id != NULL_TASK and not _repeats(regular, stored)):
            return True
        part = _free_part([document.key[3] for document in page.documents], min(missing))
        document = _document(request, part, missing)
        done = yield from insert_all(thread_id, draft.batches(terms, first=[document]))
        if done is None:
            return False
        if not done[-1].present:
            return True


def _repeats(regular: Writes, stored: Writes) -> bool:
    """Tell whether writes are those that are stored, and more."""
    return all(regular.get(index) == write for index, write in stored.items() if index >= 0)


def _free_part(taken: Sequence[Scalar], wanted: int) -> int:
    """Number a document of further writes: what is stored first has the lower number."""
    while wanted in taken:
        wanted += 1
    return wanted


def _encode(request: PutWrites, draft: Draft, old: Origins) -> _Written:
    written = _Written(draft)
    for position, (channel, value) in enumerate(request.writes):
        with storing(f"a write to channel {channel!r} of thread {request.place[0]!r}"):
            entry, memories = encode(draft.codec.written(channel, value), (channel,), draft, old)
        if channel in SPECIAL:
            written.special[SPECIAL[channel]] = channel, entry
        else:
            written.regular[position] = channel, entry
            written.memories |= {
                path: memory for path, memory in memories.items() if any(memory.names())
            }
    return written


def _key(request: PutWrites, part: int) -> tuple[str, str, str, int]:
    return (*request.place[1:], request.task_id, part)


def _document(request: PutWrites, part: int, writes: Writes) -> Document:
    refs: list[bytes] = []
    channels = [channel for channel, _ in writes.values()]
    entries = [pack(entry, refs) for _, entry in writes.values()]
    indexes = None if list(writes) == list(range(part, part + len(writes))) else list(writes)
    with storing("a write's channel or task path"):
        plain = bodies.flag(bodies.WRITES) + ormsgpack.packb(
            [request.task_path, channels, entries, indexes], option=ormsgpack.OPT_NON_STR_KEYS
        )
    document = Document(
        request.place[0], WRITES, _key(request, part), bodies.seal(plain), tuple(refs)
    )
    return replace(document, body=add_sums(document))


def read_writes(document: Document) -> tuple[str, Writes]:
    """Give back a task's path and writes from their document.

    Raises:
        CorruptionError: The body is none of a pending write.
        SchemaTooNewError: The body is of a format that a later release may know.
    """
    part = int(document.key[3] or 0)
    try:
        plain = unseal_row(document)
        if plain[:1] != bodies.flag(bodies.WRITES):
            raise CorruptionError("its body is that of another kind of document")
        path, channels, packed, indexes = ormsgpack.unpackb(
            plain[1:], option=ormsgpack.OPT_NON_STR_KEYS
        )
        refs = iter(document.refs)
        entries = [unpack(entry, refs) for entry in packed]
        no_more(refs)
        at = indexes or range(part, part + len(entries))
        return path, dict(zip(at, zip(channels, entries, strict=True), strict=True))
    except CorruptionError as error:
        raise CorruptionError(f"{_name(document)}: {error}") from error
    except (ValueError, TypeError) as error:
        raise CorruptionError(f"{_name(document)} cannot be read") from error


def _name(document: Document) -> str:
    return f"the writes of task {document.key[2]!r} (part {document.key[3]!r})"


def ordered(documents: Sequence[Document]) -> list[tuple[str, str, Entry]]:
    """State the pending writes of one checkpoint, in the order they are applied.

    Source: ``langgraph.checkpoint.base.writes_sort_key``.

    Returns:
        Task, channel and value of each.
    """
    found: dict[tuple[str, int], tuple[str, str, Entry]] = {}
    for document in sorted(documents, key=lambda document: document.key[2:]):
        path, writes = read_writes(document)
        for index, (channel, entry) in writes.items():
            found.setdefault((str(document.key[2]), index), (path, channel, entry))
    by_place = sorted(
        (path, task_id, index, channel, entry)
        for (task_id, index), (path, channel, entry) in found.items()
    )
    return [(task_id, channel, entry) for _, task_id, _, channel, entry in by_place]


def pending(documents: Sequence[Document], reader: Reader) -> list[tuple[str, str, Any]]:
    """Make the pending writes of one checkpoint; see ``ordered``."""
    written = ordered(documents)
    return [
        (task, channel, reader.channel(f"a write to channel {channel!r}", entry))
        for task, channel, entry in written
    ]
