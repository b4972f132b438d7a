"""Prunes, copies, leases and erasures beside puts on PostgreSQL: each order is forced by locks.

One of two operations is held just before its commit; the other comes to wait for it.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.postgres_races import Race, racing
from threadkeep.drivers.postgres.address import parse
from threadkeep.drivers.postgres.database import PostgresDatabase
from threadkeep.drivers.postgres.documents import PostgresDocumentStore
from threadkeep.ports.documents import (
    CHECKPOINTS,
    ITEMS,
    Batch,
    Find,
    Inserted,
    Pruned,
    Pruning,
    Scope,
)
from threadkeep.testing.builders import THREAD, address, checkpoint, checkpoint_id, item, write

SCOPE = Scope("tests", "agent.v1")
FIRST = checkpoint(1, refs=[address(1)])
PRUNING = Pruning([FIRST.key])
LATE = [(FIRST.key, 0)]  # belongs to a checkpoint, and nobody knows when that was made
LONG_SECONDS = 60.0

Store = PostgresDocumentStore


@pytest.fixture
def store(postgres_url: str) -> Iterator[Store]:
    made = Store(PostgresDatabase(parse(postgres_url, {})))
    made.setup()
    made.insert(SCOPE, Batch([item(1), FIRST, write(1)]))
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


def checkpoints(store: Store, thread_id: str = THREAD) -> Sequence[str]:
    page = store.find(SCOPE, Find(CHECKPOINTS, thread_id))
    return [str(one.key[1]) for one in page.documents]


def items(store: Store, thread_id: str = THREAD) -> Sequence[int]:
    page = store.find(SCOPE, Find(ITEMS, thread_id))
    return [int.from_bytes(one.key[0], "big") for one in page.documents]  # type: ignore[arg-type]


FOLLOWER = checkpoint(2, parent_id=checkpoint_id(1))
FORK = checkpoint(3, refs=[address(1)])


def test_a_follower_put_before_a_prune_stops_it(store: Store, race: Race) -> None:
    race.hold(store._documents.insert(SCOPE, Batch([FOLLOWER], [], [(CHECKPOINTS, FIRST.key)])))
    assert race.outcome(lambda: store.prune(SCOPE, THREAD, PRUNING)) == Pruned(done=False)
    assert checkpoints(store) == [checkpoint_id(1), checkpoint_id(2)]
    assert items(store) == [1]


def test_what_a_put_before_a_prune_names_stays(store: Store, race: Race) -> None:
    race.hold(store._documents.insert(SCOPE, Batch([item(1), FORK])))
    assert race.outcome(lambda: store.prune(SCOPE, THREAD, PRUNING)) == Pruned(True, 1, 1, 0)
    assert checkpoints(store) == [checkpoint_id(3)]
    assert items(store) == [1]


@pytest.mark.parametrize("knows", [True, False])
def test_a_put_after_a_prune_that_relies_on_what_went_writes_nothing(
    store: Store, other: Store, race: Race, knows: bool
) -> None:
    writer = store if knows else other
    race.hold(store._documents.prune(SCOPE, THREAD, PRUNING))
    batch = Batch([FORK], [], [(CHECKPOINTS, FIRST.key)])
    inserted: Inserted = race.outcome(lambda: writer.insert(SCOPE, batch))
    assert inserted == Inserted(written=False)
    assert checkpoints(store) == []
    assert items(store) == []


@pytest.mark.parametrize("knows", [True, False])
def test_a_put_after_a_prune_that_brings_everything_is_whole(
    store: Store, other: Store, race: Race, knows: bool
) -> None:
    writer = store if knows else other
    race.hold(store._documents.prune(SCOPE, THREAD, PRUNING))
    inserted: Inserted = race.outcome(lambda: writer.insert(SCOPE, Batch([item(1), FORK])))
    assert (inserted.written, list(inserted.present)) == (True, [])
    assert checkpoints(store) == [checkpoint_id(3)]
    assert items(store) == [1]


def test_two_prunes_come_one_after_the_other(store: Store, race: Race) -> None:
    assert race.hold(store._documents.prune(SCOPE, THREAD, PRUNING)) == Pruned(True, 1, 1, 1)
    assert race.outcome(lambda: store.prune(SCOPE, THREAD, PRUNING)) == Pruned()


def test_a_prune_after_an_erasure_finds_nothing(store: Store, race: Race) -> None:
    race.hold(store._documents.erase(SCOPE, THREAD))
    assert race.outcome(lambda: store.prune(SCOPE, THREAD, PRUNING)) == Pruned()


@pytest.mark.parametrize("knows", [True, False])
def test_what_belongs_to_a_thread_is_not_written_after_its_erasure(
    store: Store, other: Store, race: Race, knows: bool
) -> None:
    writer = store if knows else other
    race.hold(store._documents.erase(SCOPE, THREAD))
    batch = Batch([checkpoint(2)], after=LATE)
    inserted: Inserted = race.outcome(lambda: writer.insert(SCOPE, batch))
    assert inserted == Inserted(written=False, erased=True)
    assert race.rows() == 0


def test_an_erasure_takes_what_was_put_before_it_and_refuses_the_next(
    store: Store, race: Race
) -> None:
    race.hold(store._documents.insert(SCOPE, Batch([checkpoint(2)], after=LATE)))
    assert race.outcome(lambda: store.erase(SCOPE, THREAD)) == 4
    assert store.insert(SCOPE, Batch([checkpoint(3)], after=LATE)).erased
    assert race.rows() == 0


def test_what_the_new_thread_does_not_hold_is_refused_also_after_a_prune(
    store: Store, race: Race
) -> None:
    store.erase(SCOPE, THREAD)
    store.insert(SCOPE, Batch([FIRST]))
    race.hold(store._documents.prune(SCOPE, THREAD, PRUNING))
    inserted: Inserted = race.outcome(
        lambda: store.insert(SCOPE, Batch([checkpoint(2)], after=LATE))
    )
    assert inserted.erased


def test_a_thread_made_again_by_another_is_not_taken_for_the_erased_one(
    store: Store, other: Store
) -> None:
    other.erase(SCOPE, THREAD)
    other.insert(SCOPE, Batch([FIRST]))
    assert store.insert(SCOPE, Batch([checkpoint(2)], after=LATE)).written
    assert checkpoints(other) == [checkpoint_id(1), checkpoint_id(2)]


def test_a_first_put_that_belongs_to_something_makes_its_thread(store: Store) -> None:
    for number, token in enumerate([None, store.lease(SCOPE, "new", LONG_SECONDS)]):
        new = item(number, thread_id="new")
        assert store.insert(SCOPE, Batch([new], after=LATE, lease=token)).written
    assert items(store, "new") == [0, 1]


def test_marks_that_are_past_their_time_are_forgotten(store: Store, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "insert into document_erasures (mark, erased_at)"
            " select int4send(n), n from generate_series(1, 150) n"
        )
        marks = []
        for _ in range(3):
            store.insert(SCOPE, Batch([item(1)]))
            store.erase(SCOPE, THREAD)
            marks += connection.execute("select count(*) from document_erasures").fetchall()
    assert marks == [(51,), (1,), (1,)]


def taken_over(store: Store) -> tuple[int, Batch]:
    token = store.lease(SCOPE, THREAD, 0)
    assert token is not None
    return token, Batch([checkpoint(2)], lease=token)


@pytest.mark.parametrize("knows", [True, False])
def test_a_batch_that_waits_for_a_takeover_is_stale(
    store: Store, other: Store, race: Race, knows: bool
) -> None:
    token, batch = taken_over(store)
    writer = store if knows else other
    second = race.hold(store._documents.lease(SCOPE, THREAD, LONG_SECONDS))
    assert second is not None
    assert second > token
    inserted: Inserted = race.outcome(lambda: writer.insert(SCOPE, batch))
    assert inserted == Inserted(written=False, stale=True)
    assert checkpoints(store) == [checkpoint_id(1)]


def test_a_takeover_waits_for_a_batch_under_the_lease_before(store: Store, race: Race) -> None:
    token, batch = taken_over(store)
    race.hold(store._documents.insert(SCOPE, batch))
    second = race.outcome(lambda: store.lease(SCOPE, THREAD, LONG_SECONDS))
    assert second > token
    assert checkpoints(store) == [checkpoint_id(1), checkpoint_id(2)]
    assert store.insert(SCOPE, Batch([checkpoint(3)], lease=token)).stale


def test_a_batch_that_waits_for_a_lease_to_be_extended_is_written(store: Store, race: Race) -> None:
    token, batch = taken_over(store)
    assert race.hold(store._documents.extend_lease(SCOPE, THREAD, token, LONG_SECONDS))
    inserted: Inserted = race.outcome(lambda: store.insert(SCOPE, batch))
    assert inserted.written


def test_a_batch_that_waits_for_a_lease_to_be_given_back_is_stale(store: Store, race: Race) -> None:
    token, batch = taken_over(store)
    race.hold(store._documents.release_lease(SCOPE, THREAD, token))
    inserted: Inserted = race.outcome(lambda: store.insert(SCOPE, batch))
    assert inserted.stale


@pytest.mark.parametrize("seconds", [0, LONG_SECONDS])
def test_of_two_that_take_a_lease_at_once_the_later_has_the_greater_token(
    store: Store, other: Store, race: Race, seconds: float
) -> None:
    second = other._documents.lease(SCOPE, "new", LONG_SECONDS)
    first = race.hold(store._documents.lease(SCOPE, "new", seconds - 1))
    assert first is not None
    taken = race.outcome(lambda: other._database.run(second))
    assert taken is None if seconds else taken > first


def test_a_lease_whose_answer_was_lost_is_taken_again(store: Store) -> None:
    operation = store._documents.lease(SCOPE, THREAD, LONG_SECONDS)
    first, again = store._database.run(operation), store._database.run(operation)
    assert first is not None
    assert again is not None
    assert again > first
    assert store.lease(SCOPE, THREAD, LONG_SECONDS) is None


def test_a_copy_of_a_thread_that_is_being_pruned_is_what_is_left(store: Store, race: Race) -> None:
    store.insert(SCOPE, Batch([FOLLOWER]))
    pruning = Pruning([FIRST.key], [FOLLOWER.key])
    race.hold(store._documents.prune(SCOPE, THREAD, pruning))
    assert race.outcome(lambda: store.copy(SCOPE, THREAD, "copy")) == 1
    assert checkpoints(store, "copy") == [checkpoint_id(2)]


def test_a_prune_of_the_source_waits_for_a_copy(store: Store, race: Race) -> None:
    assert race.hold(store._documents.copy(SCOPE, THREAD, "copy")) == 3
    assert race.outcome(lambda: store.prune(SCOPE, THREAD, PRUNING)) == Pruned(True, 1, 1, 1)
    assert items(store, "copy") == [1]


def test_puts_into_the_source_do_not_wait_for_a_copy(store: Store, race: Race) -> None:
    race.hold(store._documents.copy(SCOPE, THREAD, "copy"))
    assert store.insert(SCOPE, Batch([checkpoint(2)])).written


@pytest.mark.parametrize("target", ["a", "zz"])
def test_a_copy_of_a_thread_that_is_being_erased_is_nothing(
    store: Store, race: Race, target: str
) -> None:
    race.hold(store._documents.erase(SCOPE, THREAD))
    assert race.outcome(lambda: store.copy(SCOPE, THREAD, target)) == 0
    assert race.rows() == 0


def test_a_put_beside_a_copy_onto_its_thread_keeps_what_was_there(store: Store, race: Race) -> None:
    race.hold(store._documents.copy(SCOPE, THREAD, "copy"))
    own = checkpoint(1, b"own", thread_id="copy")
    inserted: Inserted = race.outcome(lambda: store.insert(SCOPE, Batch([own])))
    assert list(inserted.present) == [(CHECKPOINTS, own.key)]


def test_copies_in_both_directions_beside_puts_and_prunes_do_not_deadlock(
    store: Store, postgres_url: str
) -> None:
    many = [item(number, thread_id="copy") for number in range(100)]

    def work(kind: int) -> None:
        for number in range(15):
            if kind == 0:
                store.copy(SCOPE, THREAD, "copy")
            elif kind == 1:
                store.copy(SCOPE, "copy", THREAD)
            elif kind == 2:
                store.insert(SCOPE, Batch([*many[::-1], checkpoint(number, thread_id="copy")]))
            else:
                store.prune(SCOPE, THREAD, Pruning([checkpoint(number).key]))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    with psycopg.connect(postgres_url) as connection:
        row = connection.execute(
            "select deadlocks from pg_stat_database where datname = current_database()"
        ).fetchone()
    assert row == (0,)
