"""The shipped suite for resource stores, on every driver here."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from threadkeep.drivers.memory.resources import MemoryResourceStore
from threadkeep.drivers.sqlite.address import Address
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.resources import SqliteResourceStore
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources import (
    PAGE_SIZE,
    AssistantSuite,
    ConcurrencySuite,
    CountSuite,
    CronSuite,
    DeliverySuite,
    ErasureSuite,
    FilterSuite,
    FiringSuite,
    IdempotencySuite,
    IsolationSuite,
    ItemSuite,
    LifetimeSuite,
    MultitaskSuite,
    NamespaceSuite,
    OutboxSuite,
    OwnershipSuite,
    PagingSuite,
    QueueSuite,
    RankedItemSuite,
    RunSuite,
    SettlingSuite,
    ThreadCopySuite,
    ThreadLifetimeSuite,
    ThreadSuite,
    UnicodeSuite,
    ValueSuite,
)


class InMemory:
    """Overrides the fixture that the suites leave open."""

    @pytest.fixture
    def store(self, clock: ManualClock) -> ResourceStore:
        return MemoryResourceStore(clock=clock, max_page_size=PAGE_SIZE)


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that is set up and empty, to be copied."""
    path = tmp_path_factory.mktemp("resources") / "migrated.db"
    database = SqliteDatabase(Address(path))
    database.setup_now()
    database.close()
    return path


class OnSqlite:
    """Overrides the same fixture; each case has a file of its own."""

    @pytest.fixture
    def store(self, clock: ManualClock, tmp_path: Path, migrated: Path) -> Iterator[ResourceStore]:
        path = tmp_path / "resources.db"
        shutil.copy(migrated, path)
        database = SqliteDatabase(Address(path))
        yield SqliteResourceStore(database, clock=clock, max_page_size=PAGE_SIZE)
        database.close()


class TestMemoryAssistants(InMemory, AssistantSuite): ...


class TestMemoryThreads(InMemory, ThreadSuite): ...


class TestMemoryRuns(InMemory, RunSuite): ...


class TestMemoryMultitask(InMemory, MultitaskSuite): ...


class TestMemorySettling(InMemory, SettlingSuite): ...


class TestMemoryQueue(InMemory, QueueSuite): ...


class TestMemoryCrons(InMemory, CronSuite): ...


class TestMemoryFiring(InMemory, FiringSuite): ...


class TestMemoryIdempotency(InMemory, IdempotencySuite): ...


class TestMemoryDeliveries(InMemory, DeliverySuite): ...


class TestMemoryOutbox(InMemory, OutboxSuite): ...


class TestMemoryThreadCopies(InMemory, ThreadCopySuite): ...


class TestMemoryThreadLifetimes(InMemory, ThreadLifetimeSuite): ...


class TestMemoryOwnership(InMemory, OwnershipSuite): ...


class TestMemoryConcurrency(InMemory, ConcurrencySuite): ...


class TestMemoryCounts(InMemory, CountSuite): ...


class TestMemoryErasure(InMemory, ErasureSuite): ...


class TestMemoryUnicode(InMemory, UnicodeSuite): ...


class TestMemoryItems(InMemory, ItemSuite): ...


class TestMemoryFilters(InMemory, FilterSuite): ...


class TestMemoryNamespaces(InMemory, NamespaceSuite): ...


class TestMemoryLifetimes(InMemory, LifetimeSuite): ...


class TestMemoryPaging(InMemory, PagingSuite): ...


class TestMemoryIsolation(InMemory, IsolationSuite): ...


class TestMemoryValues(InMemory, ValueSuite): ...


class TestSqliteAssistants(OnSqlite, AssistantSuite): ...


class TestSqliteThreads(OnSqlite, ThreadSuite): ...


class TestSqliteRuns(OnSqlite, RunSuite): ...


class TestSqliteMultitask(OnSqlite, MultitaskSuite): ...


class TestSqliteSettling(OnSqlite, SettlingSuite): ...


class TestSqliteQueue(OnSqlite, QueueSuite): ...


class TestSqliteCrons(OnSqlite, CronSuite): ...


class TestSqliteFiring(OnSqlite, FiringSuite): ...


class TestSqliteIdempotency(OnSqlite, IdempotencySuite): ...


class TestSqliteDeliveries(OnSqlite, DeliverySuite): ...


class TestSqliteOutbox(OnSqlite, OutboxSuite): ...


class TestSqliteThreadCopies(OnSqlite, ThreadCopySuite): ...


class TestSqliteThreadLifetimes(OnSqlite, ThreadLifetimeSuite): ...


class TestSqliteOwnership(OnSqlite, OwnershipSuite): ...


class TestSqliteConcurrency(OnSqlite, ConcurrencySuite): ...


class TestSqliteCounts(OnSqlite, CountSuite): ...


class TestSqliteErasure(OnSqlite, ErasureSuite): ...


class TestSqliteUnicode(OnSqlite, UnicodeSuite): ...


class TestSqliteItems(OnSqlite, ItemSuite): ...


class TestSqliteFilters(OnSqlite, FilterSuite): ...


class TestSqliteNamespaces(OnSqlite, NamespaceSuite): ...


class TestSqliteLifetimes(OnSqlite, LifetimeSuite): ...


class TestSqlitePaging(OnSqlite, PagingSuite): ...


class TestSqliteIsolation(OnSqlite, IsolationSuite): ...


class TestSqliteValues(OnSqlite, ValueSuite): ...


class TestMemoryRankedItems(InMemory, RankedItemSuite): ...


class TestSqliteRankedItems(OnSqlite, RankedItemSuite): ...
