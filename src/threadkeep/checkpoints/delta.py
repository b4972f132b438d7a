"""Steps of ``get_delta_channel_history``: what a checkpoint's ancestors wrote to some channels.

A channel of LangGraph's ``DeltaChannel`` stands in few checkpoints only. Elsewhere its value is
made from the value at the nearest ancestor that states one, and the pending writes of that
ancestor and all those between. Checkpoints are read by the page, newest first, as ancestors are
older than their descendants; one that is not met that way is asked for by its id.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.earlier import get_earlier
from threadkeep.checkpoints.entries import Entry, names_of
from threadkeep.checkpoints.gathering import Documents, gather, still_stored
from threadkeep.checkpoints.get import Loaded
from threadkeep.checkpoints.known import Known
from threadkeep.checkpoints.reading import Reader, naming
from threadkeep.checkpoints.recall import row_of
from threadkeep.checkpoints.steps import Steps
from threadkeep.checkpoints.writes import ordered
from threadkeep.errors import CorruptionError
from threadkeep.ports.documents import (
    CHECKPOINTS,
    FIND_LIMIT,
    WRITES,
    Below,
    Condition,
    Document,
    Find,
    Is,
    Key,
    Page,
)

FIRST_PAGE = 128  # ancestors read at first: by default every hundredth update states a value

Write = tuple[str, str, Any]  # task, channel, value


@dataclass(frozen=True, slots=True)
class History:
    """What became of one channel.

    Attributes:
        writes: On the way to the checkpoint asked about, oldest first.
        seed: The value before them, in a list of one; an empty one where there was none.
    """

    writes: list[Write]
    seed: list[Any]


@dataclass(slots=True)
class _Trail:
    """The ancestors met so far.

    Attributes:
        wanted: The channels whose value is still to be found.
        seeds: The entries of the others.
        steps: What each ancestor wrote to a channel while it was wanted, the nearest first.
        earlier: The ancestor in schema 1 at which it ends, if it does: a whole snapshot.
    """

    wanted: set[str]
    seeds: dict[str, Entry] = field(default_factory=dict)
    steps: list[list[tuple[str, str, Entry]]] = field(default_factory=list)
    earlier: Loaded | None = None


@dataclass(frozen=True, slots=True)
class _Ancestor:
    document: Document
    writes: Sequence[Document]


class _Ancestors:
    """The checkpoints below one, read by the page as far as they are asked for."""

    def __init__(self, thread_id: str, namespace: str, checkpoint_id: str) -> None:
        self._thread_id = thread_id
        self._namespace = namespace
        self._below = checkpoint_id
        self._after: tuple[str, Key] | None = None
        self._more = True
        self._limit = FIRST_PAGE
        self._read: dict[str, _Ancestor] = {}

    def find(self, checkpoint_id: str) -> Steps[_Ancestor | None]:
        """Find one by its id; those already read are let go of."""
        while checkpoint_id not in self._read and self._more:
            yield from self._read_page()
        if checkpoint_id not in self._read:
            self._take_in((yield self._question([Is("checkpoint_id", checkpoint_id)], 1)))
        return self._read.pop(checkpoint_id, None)

    def _read_page(self) -> Steps[None]:
        below = [Below("checkpoint_id", self._below)]
        page: Page = yield self._question(below, self._limit, self._after)
        self._take_in(page)
        self._more = page.more and bool(page.documents)
        self._limit = FIND_LIMIT
        if page.documents:
            self._after = self._thread_id, page.documents[-1].key

    def _question(
        self, where: Sequence[Condition], limit: int, after: tuple[str, Key] | None = None
    ) -> Find:
        conditions = [Is("checkpoint_ns", self._namespace), *where]
        return Find(
            CHECKPOINTS,
            self._thread_id,
            conditions,
            newest_first=True,
            after=after,
            limit=limit,
            children=WRITES,
        )

    def _take_in(self, page: Page) -> None:
        children: dict[str, list[Document]] = {}
        for document in page.children:
            children.setdefault(str(document.key[1]), []).append(document)
        for document in page.documents:
            ident = str(document.key[1])
            self._read[ident] = _Ancestor(document, children.get(ident, ()))


def delta_history(
    thread_id: str,
    namespace: str,
    checkpoint_id: str | None,
    channels: Collection[str],
    codec: Codec,
    known: Known,
) -> Steps[dict[str, History]]:
    """Read what made the values of some channels at a checkpoint, or at the newest one.

    A page of ancestors by each request, their values by one more and one for each 2 MiB.

    Raises:
        CorruptionError: A document is missing, or is not what it should be.
    """
    if not channels:
        return {}
    where: list[Condition] = [Is("checkpoint_ns", namespace)]
    if checkpoint_id:
        where.append(Is("checkpoint_id", checkpoint_id))
    find = Find(CHECKPOINTS, thread_id, where, newest_first=True, limit=1)
    while True:
        page: Page = yield find
        try:
            return (yield from _load(channels, codec, known, page))
        except CorruptionError:
            if not page.documents or (yield from still_stored(page.documents)):
                raise  # else it was deleted while its ancestors were read


def _load(
    channels: Collection[str], codec: Codec, known: Known, page: Page
) -> Steps[dict[str, History]]:
    trail = _Trail(set(channels))
    found: Documents = {}
    thread_id = ""
    for target in page.documents:
        thread_id = target.thread_id
        yield from _follow(target, trail, found, codec, known)
    entries = [entry for step in trail.steps for _, _, entry in step]
    refs = [ref for entry in (*entries, *trail.seeds.values()) for ref in names_of(entry)]
    fresh = yield from gather(thread_id, refs, found, known)
    reader = Reader(codec, found, fresh)
    histories = {
        name: History([], [reader.value(trail.seeds[name])] if name in trail.seeds else [])
        for name in channels
    }
    if trail.earlier is not None:
        values = trail.earlier.checkpoint["channel_values"]
        for name in trail.wanted:
            histories[name].seed.extend([values[name]] if name in values else [])
            writes = trail.earlier.pending_writes
            histories[name].writes.extend(each for each in writes if each[1] == name)
    for step in reversed(trail.steps):
        for task_id, channel, entry in step:
            histories[channel].writes.append((task_id, channel, reader.value(entry)))
    return histories


def _follow(
    target: Document, trail: _Trail, found: Documents, codec: Codec, known: Known
) -> Steps[None]:
    """Walk up from a checkpoint until the value of each channel is found."""
    namespace, checkpoint_id = map(str, target.key)
    ancestors = _Ancestors(target.thread_id, namespace, checkpoint_id)
    parent_id = target.fields.get("parent_id")
    while trail.wanted and parent_id is not None:
        ancestor = yield from ancestors.find(str(parent_id))
        if ancestor is None:
            trail.earlier = yield from get_earlier(
                target.thread_id, namespace, str(parent_id), codec, known
            )
            return
        document = ancestor.document
        fresh = yield from gather(target.thread_id, document.refs[:1], found, known)
        reader = Reader(codec, found, fresh)
        with naming(document):
            entries = row_of(document, reader).entries
        known.keep_read(target.thread_id, reader.kept, reader.kept_bytes)
        trail.steps.append([*_written(ancestor.writes, trail.wanted)])
        for name in trail.wanted & entries.keys():
            trail.seeds[name] = entries[name]
        trail.wanted -= entries.keys()
        parent_id = document.fields.get("parent_id")


def _written(
    writes: Sequence[Document], channels: Collection[str]
) -> Iterable[tuple[str, str, Entry]]:
    return (each for each in ordered(writes) if each[1] in channels)
