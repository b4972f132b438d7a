"""Puts beside erasures and prunes on PostgreSQL, each order forced by a lock that a test holds."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.postgres_races import TABLES, Race, racing
from threadkeep.drivers.postgres.address import parse
from threadkeep.drivers.postgres.database import PostgresDatabase
from threadkeep.drivers.postgres.documents import PostgresDocumentStore
from threadkeep.ports.documents import CHECKPOINTS, ITEMS, Batch, Find, Inserted, Key, Scope
from threadkeep.testing.builders import THREAD, address, checkpoint, item, write

SCOPE = Scope("tests", "agent.v1")
PARENT = (CHECKPOINTS, checkpoint(1).key)
REQUIRING = Batch([item(2)], [checkpoint(2)], [PARENT])

Store = PostgresDocumentStore


@pytest.fixture
def store(postgres_url: str) -> Iterator[Store]:
    made = Store(PostgresDatabase(parse(postgres_url, {})))
    made.setup()
    made.insert(SCOPE, Batch([item(1), checkpoint(1)]))
    yield made
    made.close()


@pytest.fixture
def other(postgres_url: str) -> Iterator[Store]:
    """Another process's store, as far as the database can tell."""
    made = Store(PostgresDatabase(parse(postgres_url, {})))
    yield made
    made.close()


@pytest.fixture
def race(postgres_url: str) -> Iterator[Race]:
    with racing(postgres_url) as made:
        yield made


def test_a_put_that_builds_on_what_an_erasure_takes_writes_nothing(
    store: Store, race: Race
) -> None:
    race.lock_thread()
    race.delete(*TABLES, "document_threads")
    inserted: Inserted = race.outcome(lambda: store.insert(SCOPE, REQUIRING))
    assert not inserted.written
    assert race.rows() == 0


def test_a_put_that_builds_on_nothing_begins_anew_after_an_erasure(
    store: Store, race: Race
) -> None:
    race.lock_thread()
    race.delete(*TABLES, "document_threads")
    inserted: Inserted = race.outcome(lambda: store.insert(SCOPE, Batch([item(2)])))
    assert inserted.written
    assert list(store.fetch(SCOPE, THREAD, [address(1), address(2)]).documents) == [address(2)]
    assert race.rows() == 1


def test_a_put_of_a_process_that_does_not_know_the_thread_does_the_same(
    store: Store, other: Store, race: Race
) -> None:
    for batch, is_written in ((REQUIRING, False), (Batch([item(2)]), True)):
        store.insert(SCOPE, Batch([item(1), checkpoint(1)]))
        race.lock_thread()
        race.delete(*TABLES, "document_threads")
        inserted: Inserted = race.outcome(lambda batch=batch: other.insert(SCOPE, batch))  # type: ignore[misc]
        assert inserted.written == is_written
        assert race.rows() == int(is_written)


def test_an_erasure_takes_what_a_put_committed_while_it_waited(store: Store, race: Race) -> None:
    race.lock_thread("key share")
    race.copy_checkpoint()
    assert race.outcome(lambda: store.erase(SCOPE, THREAD)) == 3
    assert race.rows() == 0


def test_a_put_whose_parent_a_prune_takes_writes_nothing(store: Store, race: Race) -> None:
    race.lock_thread()
    race.delete("checkpoint_documents")
    inserted: Inserted = race.outcome(lambda: store.insert(SCOPE, REQUIRING))
    assert not inserted.written
    assert store.count(SCOPE, Find(ITEMS)) == 1


@pytest.mark.parametrize("required", [(ITEMS, (address(1),)), ("writes", ())])
def test_every_required_document_is_locked(
    store: Store, race: Race, required: tuple[str, Key]
) -> None:
    pending = write(1)
    store.insert(SCOPE, Batch([pending]))
    if required[0] == "writes":
        required = (pending.collection, pending.key)
    race.lock_thread()
    race.delete("write_documents", "addressed_documents")
    batch = Batch([], [checkpoint(2)], [PARENT, required])
    inserted: Inserted = race.outcome(lambda: store.insert(SCOPE, batch))
    assert not inserted.written


def test_puts_do_not_wait_for_each_other(store: Store, race: Race) -> None:
    race.lock_thread("key share")
    race.copy_checkpoint()
    assert store.insert(SCOPE, REQUIRING).written


def test_a_put_waits_for_one_that_writes_the_same_checkpoint(store: Store, race: Race) -> None:
    race.lock_thread("key share")
    race.delete("checkpoint_documents")
    inserted: Inserted = race.outcome(lambda: store.insert(SCOPE, Batch([checkpoint(1)])))
    assert not inserted.present


def test_a_thread_that_another_process_erased_is_not_known_any_more(
    store: Store, other: Store
) -> None:
    assert other.erase(SCOPE, THREAD) == 2
    assert not store.insert(SCOPE, REQUIRING).written
    assert store.count(SCOPE, Find(ITEMS)) == 0
    assert store.insert(SCOPE, Batch([item(3)])).written
    assert other.erase(SCOPE, THREAD) == 1
    assert other.insert(SCOPE, Batch([checkpoint(1)])).written
    assert store.insert(SCOPE, REQUIRING).written
    assert store.count(SCOPE, Find(CHECKPOINTS)) == other.count(SCOPE, Find(CHECKPOINTS)) == 2


def test_eight_processes_that_begin_a_thread_at_once_begin_one(postgres_url: str) -> None:
    stores = [Store(PostgresDatabase(parse(postgres_url, {}))) for _ in range(8)]
    stores[0].setup()
    barrier = threading.Barrier(8)

    def begin(number: int) -> bool:
        written = True
        for round_ in range(20):
            barrier.wait()
            batch = Batch([item(number, thread_id=f"t{round_}")])
            written &= stores[number].insert(SCOPE, batch).written
        return written

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(begin, range(8)))
    with psycopg.connect(postgres_url) as connection:
        numbers = connection.execute("select count(*) from document_threads").fetchone()
    assert numbers == (20,)
    for each in stores:
        each.close()


def test_batches_that_meet_the_same_documents_in_other_orders_do_not_deadlock(
    store: Store,
) -> None:
    many = [item(number) for number in range(200)]
    with ThreadPoolExecutor(4) as threads:
        orders = [many, many[::-1], many[100:] + many[:100], many[::2] + many[1::2]]
        batches = [Batch([*order, write(1, n)]) for order in orders for n in range(5)]
        done = list(threads.map(lambda batch: store.insert(SCOPE, batch), batches))
    assert all(each.written for each in done)
    assert store.count(SCOPE, Find(ITEMS)) == 200
