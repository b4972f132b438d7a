"""What one process has seen stored: what a later put may leave out, and share.

Everything here may be forgotten at any time; the format needs none of it. A put that leaves out a
document because of what is known makes its batch require the checkpoint it is known from.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from threadkeep.checkpoints.entries import Entry, names_of
from threadkeep.checkpoints.shelf import Kept, Shelf
from threadkeep.checkpoints.values import Memories, Memory, Path
from threadkeep.ports.documents import CHECKPOINTS, Document, Key

Place = tuple[str, str, str]  # thread_id, checkpoint_ns, checkpoint_id

MEMORY_BYTES = 64 * 1024 * 1024  # of prints and of documents, each: some 4,000 threads of 16 KiB
HEADS = 3  # checkpoints remembered of one namespace: the newest, and forks under way
TASKS = 10_000  # tasks whose stored writes are remembered
THREADS_GONE = 10_000  # deleted threads remembered; an older deletion is told by the store


class Record:
    """One stored checkpoint.

    Attributes:
        versions: Its channels' versions.
        entries: Its channels' entries.
        lists: Its lists and other values of many parts, to share with the next.
        others: Addresses it names that no entry names, and those of its pending writes.
        written: Values of its pending writes, to share with as well.
    """

    def __init__(
        self,
        place: Place,
        versions: Mapping[str, Any],
        entries: Mapping[str, Entry],
        lists: Memories,
        others: Collection[bytes],
    ) -> None:
        self.place = place
        self.versions = versions
        self.entries = entries
        self.lists = lists
        self.others = set(others)
        self.written: dict[Path, Memory] = {}
        self.size_bytes = 1024 + sum(memory.size_bytes for memory in lists.values())
        self._named: set[bytes] | None = None

    @property
    def key(self) -> tuple[str, Key]:
        """Name the checkpoint's document, as ``Batch.requires`` does."""
        return CHECKPOINTS, self.place[1:]

    def stored(self, ref: bytes) -> bool:
        """Tell whether a document is stored as long as this checkpoint is.

        May answer no for an element of a list, which is then handed over once more.
        """
        if self._named is None:
            self._named = self._names()
        return ref in self._named or ref in self.others

    def _names(self) -> set[bytes]:
        named: set[bytes] = set()
        for entry in self.entries.values():
            named.update(names_of(entry))
        for memory in self.lists.values():
            named.update(memory.names())
        return named


@dataclass(slots=True)
class Reliance:
    """The checkpoints a write may rely on, and those it came to rely on.

    Attributes:
        records: What is known of them.
        used: Keys of those that made the write leave something out.
    """

    records: Collection[Record]
    used: set[tuple[str, Key]]

    def stored(self, ref: bytes) -> bool:
        """Tell whether one of them keeps a document, and remember that it was relied on."""
        for record in self.records:
            if record.stored(ref):
                self.used.add(record.key)
                return True
        return False


class Known:
    """Bounded memory of one saver; safe to share between threads and event loops.

    Args:
        guard: Entered around every change: a lock, where several threads share it.
        capacity_bytes: Kept of prints, and as much again of documents read and written.
    """

    def __init__(
        self, guard: AbstractContextManager[Any], capacity_bytes: int = MEMORY_BYTES
    ) -> None:
        self._guard = guard
        self._capacity = capacity_bytes
        self._records: OrderedDict[Place, Record] = OrderedDict()
        self._by_task: dict[tuple[str, str], Place] = {}
        self._heads: dict[tuple[str, str], list[Place]] = {}
        self._records_bytes = 0
        self._shelf = Shelf(capacity_bytes)
        self._tasks: OrderedDict[tuple[Place, str], None] = OrderedDict()
        self._gone: OrderedDict[str, int] = OrderedDict()

    def record(self, place: Place) -> Record | None:
        """Find what is known of a checkpoint."""
        with self._guard:
            found = self._records.get(place)
            if found is not None:
                self._records.move_to_end(place)
            return found

    def remember(self, record: Record) -> None:
        """Take in a checkpoint that is stored."""
        with self._guard:
            self._drop(record.place)
            heads = self._heads.setdefault(record.place[:2], [])
            heads.append(record.place)
            for place in heads[:-HEADS]:
                self._drop(place)
            self._records[record.place] = record
            self._by_task[record.place[0], task_of(record.place[1])] = record.place
            self._records_bytes += record.size_bytes
            while self._records_bytes > self._capacity:
                self._drop(next(iter(self._records)))

    def note_task(self, place: Place, task_id: str) -> None:
        """Take in that a task's regular writes are stored."""
        with self._guard:
            self._tasks[place, task_id] = None
            while len(self._tasks) > TASKS:
                self._tasks.popitem(last=False)

    def note_refs(self, place: Place, refs: Iterable[bytes]) -> None:
        """Take in that documents are stored as long as a checkpoint is: its writes name them."""
        with self._guard:
            record = self._records.get(place)
            if record is not None:
                record.others.update(refs)

    def note_written(self, place: Place, written: Mapping[Path, Memory]) -> None:
        """Take in values that are stored as long as a checkpoint is: its writes state them."""
        with self._guard:
            record = self._records.get(place)
            if record is not None and written:
                before = sum(memory.size_bytes for memory in record.written.values())
                record.written = {**record.written, **written}
                size = sum(memory.size_bytes for memory in record.written.values()) - before
                record.size_bytes += size
                self._records_bytes += size

    def related(self, place: Place, task_id: str) -> list[Record]:
        """Find checkpoints whose values a task's writes are likely to share.

        They are the one the writes follow, or where that is not stored yet the newest of its
        namespace and of the one around; and the newest of the subgraph that the task ran.
        """
        thread_id, namespace, _ = place
        with self._guard:
            places = [place]
            if place not in self._records:
                places = self._heads.get((thread_id, namespace), [])[-1:]
                places += self._heads.get((thread_id, enclosing(namespace)), [])[-1:]
            inner = self._by_task.get((thread_id, task_id))
            places += [inner] if inner else []
            return [self._records[each] for each in dict.fromkeys(places) if each in self._records]

    def has_writes(self, place: Place, task_id: str) -> bool:
        """Tell whether a task is known to have writes stored for a checkpoint."""
        with self._guard:
            return (place, task_id) in self._tasks

    def documents(self, thread_id: str, refs: Collection[bytes]) -> dict[bytes, Kept]:
        """Find documents that were read or written before."""
        with self._guard:
            return self._shelf.find(thread_id, refs)

    def keep_read(self, thread_id: str, found: Mapping[bytes, Kept], size_bytes: int) -> None:
        """Take in documents that were read and are what their addresses say; see ``Shelf.keep``."""
        if found:
            with self._guard:
                self._shelf.keep(thread_id, found, size_bytes)

    def keep_documents(self, documents: Collection[Document]) -> None:
        """Take in documents that were written; those without an address are left out."""
        with self._guard:
            self._shelf.keep_documents(documents)

    def forget(self, thread_id: str, at: int) -> None:
        """Drop all that is known of a thread that was deleted.

        Args:
            thread_id: The thread.
            at: When, as a UUIDv6 would state it.
        """
        with self._guard:
            for place in [place for place in self._records if place[0] == thread_id]:
                self._drop(place)
            for task in [task for task in self._tasks if task[0][0] == thread_id]:
                del self._tasks[task]
            self._shelf.forget(thread_id)
            self._gone[thread_id] = max(at, self._gone.pop(thread_id, 0))
            while len(self._gone) > THREADS_GONE:
                self._gone.popitem(last=False)

    def begin_anew(self, thread_id: str) -> None:
        """Take in that a thread that may have been deleted is stored again."""
        with self._guard:
            self._gone.pop(thread_id, None)

    def doubt(self) -> None:
        """Drop all that a put could rely on: some of it may not have been stored after all."""
        with self._guard:
            for place in [*self._records]:
                self._drop(place)
            self._tasks.clear()

    def gone_at(self, thread_id: str) -> int | None:
        """Say when a thread was last deleted, as far as is known."""
        with self._guard:
            return self._gone.get(thread_id)

    def _drop(self, place: Place) -> None:
        record = self._records.pop(place, None)
        if record is not None:
            self._records_bytes -= record.size_bytes
            heads = self._heads[place[:2]]
            heads.remove(place)
            task = place[0], task_of(place[1])
            if self._by_task.get(task) == place:
                del self._by_task[task]
            if not heads:
                del self._heads[place[:2]]


def task_of(namespace: str) -> str:
    """Name the task that a subgraph's namespace belongs to; empty for a graph that no task runs.

    A namespace is the name and the task of each graph around, and a count where one task runs
    several: ``outer:task|inner:task|1``.
    """
    return _inner(namespace)[1].partition(":")[2]


def enclosing(namespace: str) -> str:
    """Name the namespace around a subgraph's; see ``task_of``."""
    return _inner(namespace)[0]


def _inner(namespace: str) -> tuple[str, str]:
    """Split off the innermost name, without a count."""
    around, _, last = namespace.rpartition("|")
    return _inner(around) if last.isdigit() else (around, last)
