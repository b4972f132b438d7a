"""Random operations on the memory store beside SQLite and PostgreSQL: the same answers."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from threadkeep.drivers.memory import documents as memory
from threadkeep.drivers.postgres import document_reads as postgres_reads
from threadkeep.drivers.postgres.address import parse
from threadkeep.drivers.postgres.database import PostgresDatabase
from threadkeep.drivers.postgres.documents import PostgresDocumentStore
from threadkeep.drivers.sqlite import document_reads as sqlite_reads
from threadkeep.drivers.sqlite.address import Address
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.documents import SqliteDocumentStore
from threadkeep.ports.documents import (
    CHECKPOINTS,
    COLLECTIONS,
    Batch,
    Below,
    Condition,
    Document,
    DocumentStore,
    FieldType,
    Find,
    HasEntry,
    In,
    Is,
    Key,
    Page,
    Pruning,
    Scalar,
    Scope,
)
from threadkeep.testing.builders import address, checkpoint_id

READ_BYTES = 400  # instead of 2 MiB, so that small documents fill a reply

SCOPES = [Scope("n", "a"), Scope("n", "b"), Scope("na", "")]
THREADS = ["", "t", "t\x00", "u", "\ud800"]
NAMESPACES = ["", "child", "child:1", "é"]
IDS = [checkpoint_id(1), checkpoint_id(2), checkpoint_id(3), "ff" + checkpoint_id(1)[2:], "a", ""]
ADDRESSES = [address(number) for number in range(12)]
METADATA = [
    '{"a": 1}',
    '{"a":1.0,"b":"x"}',
    '{"a": true}',
    '{"\\u0061": 1, "b": "\\u0078"}',
    '{"b": ["x", 1]}',
    "{}",
]

texts = st.sampled_from
VALUES: dict[tuple[str, FieldType], st.SearchStrategy[Scalar]] = {
    ("checkpoint_ns", "text"): texts(NAMESPACES),
    ("checkpoint_id", "id"): texts(IDS),
    ("task_id", "id"): texts(IDS),
    ("parent_id", "id"): texts(IDS),
    ("source", "text"): texts(["input", "loop", ""]),
    ("step", "integer"): st.sampled_from([-1, 0, 1, 2**62]),
    ("part", "integer"): st.integers(-2, 2),
    ("index", "integer"): st.integers(-2, 2),
    ("meta", "bytes"): st.sampled_from([b"", b"\x00", b"m"]),
    ("ref", "bytes"): st.sampled_from(ADDRESSES),
    ("metadata", "json"): texts(METADATA),
}


def keys(collection: str) -> st.SearchStrategy[Key]:
    """Draw keys of a collection."""
    return st.tuples(*(VALUES[field] for field in COLLECTIONS[collection].key.items()))


@st.composite
def drawn_documents(draw: st.DrawFn, thread_id: str) -> Document:
    """Draw a document of any collection."""
    collection = draw(st.sampled_from(list(COLLECTIONS)))
    fields = COLLECTIONS[collection].fields.items()
    most = 3 if COLLECTIONS[collection].names else 0
    return Document(
        thread_id,
        collection,
        draw(keys(collection)),
        draw(st.sampled_from([b"", b"body", b"x" * 100, b"y" * 500])),
        tuple(draw(st.lists(st.sampled_from(ADDRESSES), max_size=most))),
        {name: draw(st.none() | VALUES[name, kind]) for name, kind in fields},
    )


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Draw a batch of one thread."""
    drawn = drawn_documents(draw(st.sampled_from(THREADS)))
    documents = draw(st.lists(drawn, max_size=5))
    replacing = draw(st.lists(drawn, max_size=2))
    requires = draw(st.lists(named_keys(), max_size=1)) if documents or replacing else []
    made = st.tuples(keys(CHECKPOINTS), st.sampled_from([0, 1 << 61]))
    after = draw(st.lists(made, max_size=2)) if documents or replacing else []
    return Batch(documents, replacing, requires, after)


@st.composite
def named_keys(draw: st.DrawFn) -> tuple[str, Key]:
    """Draw a document's collection and key."""
    collection = draw(st.sampled_from(list(COLLECTIONS)))
    return collection, draw(keys(collection))


@st.composite
def conditions(draw: st.DrawFn, collection: str) -> Condition:
    """Draw a condition that a collection takes."""
    spec = COLLECTIONS[collection]
    every = {**spec.key, **spec.fields}
    name, kind = draw(st.sampled_from(list(every.items())))
    values = VALUES[name, kind]
    if kind == "json":
        entry = draw(st.sampled_from(["a", "b", "c", ""]))
        return HasEntry(name, entry, draw(st.sampled_from(["1", "true", '"x"', '["x", 1.0]'])))
    choice = draw(st.integers(0, 2))
    if choice == 0 and name in spec.key:
        return Below(name, draw(values))
    if choice == 1:
        return In(name, draw(st.lists(st.none() | values, max_size=3)))
    return Is(name, draw(st.none() | values))


@st.composite
def finds(draw: st.DrawFn) -> Find:
    """Draw a question."""
    collection = draw(st.sampled_from(list(COLLECTIONS)))
    after = st.tuples(st.sampled_from(THREADS), keys(collection))
    return Find(
        collection,
        draw(st.none() | st.sampled_from(THREADS)),
        draw(st.lists(conditions(collection), max_size=2)),
        newest_first=draw(st.booleans()),
        after=draw(st.none() | after),
        limit=draw(st.integers(0, 6)),
        children=COLLECTIONS[collection].children if draw(st.booleans()) else None,
        bodies=draw(st.booleans()),
    )


scopes = st.sampled_from(SCOPES)
threads = st.sampled_from(THREADS)
addresses = st.lists(st.sampled_from(ADDRESSES), max_size=8)


@dataclass(frozen=True)
class Plain:
    """A page as values that compare."""

    documents: tuple[Document, ...]
    children: tuple[Document, ...]
    more: bool

    @classmethod
    def of(cls, page: Page) -> "Plain":
        return cls(tuple(page.documents), tuple(page.children), page.more)


def closure(
    store: DocumentStore, scope: Scope, thread_id: str, refs: Sequence[bytes]
) -> dict[bytes, Document]:
    """Fetch nodes call by call; what was read is not asked for again, so circles end."""
    found: dict[bytes, Document] = {}
    remaining = list(refs)
    while remaining:
        fetched = store.fetch(scope, thread_id, remaining, nodes=True)
        found.update(fetched.documents)
        remaining = [ref for ref in fetched.remaining if ref not in found]
        assert fetched.documents or not remaining
    return found


class TwoStores(RuleBasedStateMachine):
    """Does the same to both stores and compares what they answer."""

    @initialize()
    def open_both(self) -> None:
        self.memory = memory.MemoryDocumentStore()
        self.other = self.open_other()
        self.leases: list[tuple[int, int]] = []  # tokens of the two stores, the last taken last
        self.other.setup()

    def open_other(self) -> DocumentStore:
        """Open a store that is empty, each time."""
        raise NotImplementedError

    def teardown(self) -> None:
        self.other.close()

    @rule(scope=scopes, batch=batches(), at=st.one_of(st.none(), st.integers(0, 5)))
    def insert(self, scope: Scope, batch: Batch, at: int | None) -> None:
        mine, others = (None, None) if at is None else self.lease_at(at)
        here = self.memory.insert(scope, replace(batch, lease=mine))
        there = self.other.insert(scope, replace(batch, lease=others))
        assert replace(here, present=()) == replace(there, present=())
        assert list(here.present) == list(there.present)

    def lease_at(self, at: int) -> tuple[int, int]:
        """Return the tokens of a lease that was taken; of none where there is no such one."""
        return self.leases[-1 - at] if at < len(self.leases) else (0, 0)

    @rule(scope=scopes, thread_id=threads, seconds=st.sampled_from([-1, 60]))
    def lease(self, scope: Scope, thread_id: str, seconds: float) -> None:
        here = self.memory.lease(scope, thread_id, seconds)
        there = self.other.lease(scope, thread_id, seconds)
        if here is None or there is None:
            assert here == there
            return
        assert all(here > mine and there > others for mine, others in self.leases)
        self.leases.append((here, there))

    @rule(
        scope=scopes,
        thread_id=threads,
        at=st.integers(0, 5),
        seconds=st.sampled_from([-1, 60]),
    )
    def extend_lease(self, scope: Scope, thread_id: str, at: int, seconds: float) -> None:
        mine, others = self.lease_at(at)
        extended = self.memory.extend_lease(scope, thread_id, mine, seconds)
        assert extended == self.other.extend_lease(scope, thread_id, others, seconds)

    @rule(scope=scopes, thread_id=threads, at=st.integers(0, 5))
    def release_lease(self, scope: Scope, thread_id: str, at: int) -> None:
        mine, others = self.lease_at(at)
        self.memory.release_lease(scope, thread_id, mine)
        self.other.release_lease(scope, thread_id, others)

    @rule(scope=scopes, thread_id=threads, documents=st.lists(named_keys(), max_size=4))
    def remove(self, scope: Scope, thread_id: str, documents: list[tuple[str, Key]]) -> None:
        gone = self.memory.remove(scope, thread_id, documents)
        assert gone == self.other.remove(scope, thread_id, documents)

    @rule(scope=scopes, thread_id=threads)
    def erase(self, scope: Scope, thread_id: str) -> None:
        assert self.memory.erase(scope, thread_id) == self.other.erase(scope, thread_id)

    @rule(scope=scopes, source=threads, other=threads)
    def copy(self, scope: Scope, source: str, other: str) -> None:
        copied = self.memory.copy(scope, source, other)
        assert copied == self.other.copy(scope, source, other)

    @rule(
        scope=scopes,
        thread_id=threads,
        gone=st.lists(keys(CHECKPOINTS), max_size=4),
        orphans=st.lists(keys(CHECKPOINTS), max_size=4),
        strays=st.lists(keys(CHECKPOINTS), max_size=4),
    )
    def prune(
        self,
        scope: Scope,
        thread_id: str,
        gone: list[Key],
        orphans: list[Key],
        strays: list[Key],
    ) -> None:
        pruning = Pruning(gone, orphans, strays)
        pruned = self.memory.prune(scope, thread_id, pruning)
        assert pruned == self.other.prune(scope, thread_id, pruning)

    @rule(scope=scopes, find=finds())
    def find(self, scope: Scope, find: Find) -> None:
        assert Plain.of(self.memory.find(scope, find)) == Plain.of(self.other.find(scope, find))
        assert self.memory.count(scope, find) == self.other.count(scope, find)

    @rule(scope=scopes, find=finds())
    def page_through(self, scope: Scope, find: Find) -> None:
        find = replace(find, limit=max(find.limit, 1), after=None)
        page = self.other.find(scope, find)
        found = list(page.documents)
        while page.more:
            after = (found[-1].thread_id, found[-1].key)
            page = self.other.find(scope, replace(find, after=after))
            found.extend(page.documents)
        assert len(found) == self.memory.count(scope, find)

    @rule(scope=scopes, thread_id=threads, refs=addresses)
    def fetch(self, scope: Scope, thread_id: str, refs: list[bytes]) -> None:
        here = self.memory.fetch(scope, thread_id, refs)
        there = self.other.fetch(scope, thread_id, refs)
        assert here.documents == there.documents
        assert list(here.remaining) == list(there.remaining)

    @rule(scope=scopes, thread_id=threads, refs=addresses)
    def fetch_nodes(self, scope: Scope, thread_id: str, refs: list[bytes]) -> None:
        here = closure(self.memory, scope, thread_id, refs)
        assert here == closure(self.other, scope, thread_id, refs)

    @rule(scope=scopes, thread_id=threads)
    def measure(self, scope: Scope, thread_id: str) -> None:
        here = self.memory.measure(scope, thread_id)
        assert here == self.other.measure(scope, thread_id)


class MemoryAndSqlite(TwoStores):
    def open_other(self) -> DocumentStore:
        self.folder = TemporaryDirectory()
        return SqliteDocumentStore(SqliteDatabase(Address(Path(self.folder.name) / "d.db")))

    def teardown(self) -> None:
        super().teardown()
        self.folder.cleanup()


@pytest.fixture(autouse=True)
def small_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    for reads in (memory, sqlite_reads, postgres_reads):
        monkeypatch.setattr(reads, "READ_BYTES", READ_BYTES)


def compare(machine: type[TwoStores], examples: int, *, seeded: bool) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            derandomize=seeded,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def on_postgres(url: str) -> type[TwoStores]:
    """Return the machine whose other store is in a schema of its own, each time."""
    schemas = itertools.count()

    class MemoryAndPostgres(TwoStores):
        def open_other(self) -> DocumentStore:
            return PostgresDocumentStore(
                PostgresDatabase(parse(f"{url}?schema=s{next(schemas)}", {}))
            )

    return MemoryAndPostgres


def test_the_sqlite_store_answers_as_the_memory_store_does() -> None:
    compare(MemoryAndSqlite, 25, seeded=True)


@pytest.mark.soak
def test_the_sqlite_store_answers_as_the_memory_store_does_for_minutes() -> None:
    compare(MemoryAndSqlite, 3000, seeded=False)


def test_the_postgresql_store_answers_as_the_memory_store_does(postgres_module_url: str) -> None:
    compare(on_postgres(postgres_module_url), 15, seeded=True)


@pytest.mark.soak
def test_the_postgresql_store_answers_as_the_memory_store_does_for_minutes(
    postgres_module_url: str,
) -> None:
    compare(on_postgres(postgres_module_url), 400, seeded=False)
