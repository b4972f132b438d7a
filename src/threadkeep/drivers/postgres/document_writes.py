"""Units of work that change documents.

A batch is one statement: the thread's row is found or made, and locked, in it; so are the documents
that the batch requires.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from threadkeep.drivers.postgres.batch_statements import (
    AFTER,
    ARRAYS,
    LEASE,
    BatchStatements,
)
from threadkeep.drivers.postgres.document_rows import KIND_OF, addressed_row, columns, pack_scope
from threadkeep.drivers.postgres.queries import Query, Unit
from threadkeep.drivers.sql.keyed import LIES_WITH, keyed_row, pack_key
from threadkeep.errors import UnavailableError
from threadkeep.ports.documents import (
    CHECKPOINTS,
    COLLECTIONS,
    WRITES,
    Batch,
    Document,
    Inserted,
    Key,
    Scope,
)
from threadkeep.rules.document_life import erasure_mark

THREADS_REMEMBERED = 10_000  # row numbers of threads, kept per process: about 2 MB
MEETINGS = 20  # times that another process makes or erases the thread at the same moment

Statements = Mapping[str, str]
Keys = Sequence[tuple[str, Key]]
Named = tuple[str, str, str]

_ADDRESSED = "addressed"

_TABLE_OF = {CHECKPOINTS: "checkpoints", WRITES: "writes"}
_TABLE_OF |= {earlier: _TABLE_OF[later] for earlier, later in LIES_WITH.items()}


class Threads:
    """The row numbers of threads; what is remembered is checked by each statement that uses it."""

    def __init__(self) -> None:
        self._numbers: OrderedDict[Named, int] = OrderedDict()
        self._lock = threading.Lock()  # held for a look-up

    def recall(self, name: Named) -> int | None:
        """Return a thread's number, if it is remembered."""
        with self._lock:
            number = self._numbers.get(name)
            if number is not None:
                self._numbers.move_to_end(name)
            return number

    def remember(self, name: Named, number: int) -> None:
        """Keep a thread's number, instead of another."""
        with self._lock:
            self._numbers[name] = number
            if len(self._numbers) > THREADS_REMEMBERED:
                self._numbers.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Insertion:
    """A batch, ready to be written: ``run`` is the unit of work.

    Attributes:
        statements: Puts the statement together.
        threads: Shared by the store's insertions.
        name: Whose documents.
        requires: How many documents must be there.
        mark: What an erasure of the thread is remembered by.
        lease: The token that must be the thread's lease's, if any.
        parts: Names of the parts of the statement.
        arrays: What they bind.
        keyed: The documents that are reported where they are present, as (collection, key).
    """

    statements: BatchStatements
    threads: Threads
    name: Named
    requires: int
    mark: bytes
    lease: int | None
    parts: tuple[str, ...]
    arrays: Mapping[str, Any]
    keyed: Keys

    def run(self) -> Unit[Inserted]:
        """Write the batch."""
        number = self.threads.recall(self.name)
        if number is not None:
            ((found, *answer),) = yield self._query("thread_by_number", number)
            if found is not None:
                return self._inserted(answer)
        # It is not known, or was erased, and perhaps made again under another number.
        if self.requires or self.needs:
            return (yield from self._run_where_allowed())
        for _ in range(MEETINGS):
            ((found, *answer),) = yield self._query("thread_found_or_made")
            if found is not None:
                self.threads.remember(self.name, found)
                return self._inserted(answer)
        raise _endless()

    @property
    def needs(self) -> bool:
        """Say whether it is written under a lease, or depends on what was erased."""
        return LEASE in self.parts or AFTER in self.parts

    def _run_where_allowed(self) -> Unit[Inserted]:
        """Write it to a thread that is there; make that one first, by a statement of its own.

        A statement knows what was erased before it began: it may write to a thread that it found,
        but not to one that it makes, for that may have been made and erased meanwhile.
        """
        for _ in range(MEETINGS):
            ((found, *answer),) = yield self._query("thread_by_name")
            if found is not None:
                self.threads.remember(self.name, found)
            inserted = self._inserted(answer)
            if found is not None or self.requires or inserted.stale or inserted.erased:
                return inserted
            yield Query(self.statements.make_thread, self._values())
        raise _endless()

    def _query(self, thread: str, number: int | None = None) -> Query:
        return Query(self.statements.text(thread, self.parts), self._values(number))

    def _values(self, number: int | None = None) -> Mapping[str, Any]:
        namespace, agent_id, thread_id = self.name
        values = {**self.arrays, **pack_scope(Scope(namespace, agent_id), thread_id)}
        values |= {"tid": number, "required": self.requires}
        values |= {"mark": self.mark, "lease": self.lease}
        return values

    def _inserted(self, answer: Sequence[Any]) -> Inserted:
        is_stale, is_erased, is_written, *added = answer
        if not is_written:
            return Inserted(written=False, stale=is_stale, erased=is_erased and not is_stale)
        new = {tuple(key) for keys in added for key in keys or ()}
        present = []
        for collection, key in self.keyed:
            packed = _answered(collection, key)
            if packed not in new:
                present.append((collection, key))
            new.discard(packed)  # of two with one key, the second met the first
        return Inserted(present=present)


def insertions(
    statements: BatchStatements,
    threads: Threads,
    scope: Scope,
    thread_id: str,
    batch: Batch,
    *,
    touched: int,
) -> Sequence[Insertion]:
    """Make a checked batch ready to be written: by one statement.

    By two, of one transaction, where it replaces documents that it also adds.
    """
    added = {_identity(each) for each in batch.documents}
    if any(_identity(each) in added for each in batch.replacing):
        first, second = replace(batch, replacing=()), Batch(replacing=batch.replacing)
        batches = [first, second]
    else:
        batches = [batch]
    name = scope.namespace, scope.agent_id, thread_id
    return [_insertion(statements, threads, name, each, touched) for each in batches]


def nothing() -> Unit[Inserted]:
    """Write an empty batch."""
    yield from ()
    return Inserted()


def run_all(insertions: Sequence[Insertion]) -> Unit[Inserted]:
    """Write one or two insertions of a batch; the first says what was met."""
    first, *others = insertions
    inserted = yield from first.run()
    for other in others if inserted.written else ():
        yield from other.run()
    return inserted


def remove(statements: Statements, scope: Scope, thread_id: str, documents: Keys) -> Unit[int]:
    """Delete documents; answer with how many were there."""
    by_table = _keys_by_table(documents)
    arrays = {
        **columns(by_table["checkpoints"], ("ns", "ids")),
        **columns(by_table["writes"], ("write_ns", "write_ids", "tasks", "parts")),
        **columns(by_table["documents"], ("refs", "kinds")),
    }
    ((gone,),) = yield Query(statements["remove"], {**pack_scope(scope, thread_id), **arrays})
    return int(gone)


def _endless() -> UnavailableError:
    return UnavailableError("postgresql: others make and erase the thread all the time")


def _insertion(
    statements: BatchStatements, threads: Threads, name: Named, batch: Batch, touched: int
) -> Insertion:
    required = _keys_by_table(dict.fromkeys(batch.requires))
    rows = {AFTER: [(*pack_key(CHECKPOINTS, key), made) for key, made in batch.after]}
    rows |= {f"required_{table}": keys for table, keys in required.items()}
    rows |= {f"add_{table}": found for table, found in _rows(batch.documents, first=True).items()}
    rows |= {f"put_{table}": found for table, found in _rows(batch.replacing, first=False).items()}
    added = rows["add_documents"]
    if any(row[4] is not None for row in added):
        rows["add_documents_with_metadata"] = rows.pop("add_documents")
    else:
        rows["add_documents"] = [row[:4] for row in added]
    parts = tuple(part for part, found in rows.items() if found)
    arrays: dict[str, Any] = {"touched": touched}
    for part in parts:
        arrays |= columns(rows[part], ARRAYS[part])
    if batch.lease is not None:
        parts = (LEASE, *parts)
    keyed = [(d.collection, d.key) for d in batch.documents if d.collection not in KIND_OF]
    return Insertion(
        statements=statements,
        threads=threads,
        name=name,
        requires=sum(map(len, required.values())),
        mark=erasure_mark(Scope(*name[:2]), name[2]) if batch.after else b"",
        lease=batch.lease,
        parts=parts,
        arrays=arrays,
        keyed=keyed,
    )


def _rows(documents: Iterable[Document], *, first: bool) -> dict[str, list[tuple[Any, ...]]]:
    """Return documents as rows by table, one per key: the first, or the last.

    They are in key order, so that two batches never wait for each other's rows.
    """
    chosen: dict[tuple[str, Any], Document] = {}
    for document in documents:
        identity = _identity(document)
        if not first or identity not in chosen:
            chosen[identity] = document
    rows: dict[str, list[tuple[Any, ...]]] = {"documents": [], "checkpoints": [], "writes": []}
    for document in chosen.values():
        if document.collection in KIND_OF:
            rows["documents"].append(addressed_row(document))
        else:
            rows[_TABLE_OF[document.collection]].append(keyed_row(document))
    rows["documents"].sort(key=lambda row: row[1])
    for collection, table in _TABLE_OF.items():
        width = len(COLLECTIONS[collection].key)
        rows[table].sort(key=lambda row, width=width: row[:width])  # type: ignore[misc]
    return rows


def _identity(document: Document) -> tuple[str, Key]:
    """Return what makes two documents one: addressed collections share their addresses."""
    return _ADDRESSED if document.collection in KIND_OF else document.collection, document.key


def _keys_by_table(keys: Iterable[tuple[str, Key]]) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {"checkpoints": [], "writes": [], "documents": []}
    for collection, key in keys:
        packed = pack_key(collection, key)
        if collection in KIND_OF:
            found["documents"].append((*packed, KIND_OF[collection]))
        else:
            found[_TABLE_OF[collection]].append(packed)
    return found


def _answered(collection: str, key: Key) -> tuple[Any, ...]:
    """Return a key as the answer of an insertion has it: all of it bytes."""
    packed = pack_key(collection, key)
    return tuple(
        part.to_bytes(8, "big", signed=True) if isinstance(part, int) else part for part in packed
    )
