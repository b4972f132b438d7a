"""The shipped suite for resource stores, on PostgreSQL."""

from collections.abc import Iterator

import pytest

from tests.postgres_resources import empty
from threadkeep.drivers.postgres.address import parse
from threadkeep.drivers.postgres.database import PostgresDatabase
from threadkeep.drivers.postgres.resources import PostgresResourceStore
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing import resources as suites
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources import PAGE_SIZE


@pytest.fixture(scope="module")
def set_up(postgres_module_url: str) -> str:
    """A database that is set up, and shared by the cases."""
    database = PostgresDatabase(parse(postgres_module_url, {}))
    database.setup()
    database.close()
    return postgres_module_url


class OnPostgres:
    """Overrides the fixture that the suites leave open."""

    @pytest.fixture
    def store(self, clock: ManualClock, set_up: str) -> Iterator[ResourceStore]:
        empty(set_up)
        database = PostgresDatabase(parse(set_up, {}))
        yield PostgresResourceStore(database, clock=clock, max_page_size=PAGE_SIZE)
        database.close()


class TestAssistants(OnPostgres, suites.AssistantSuite): ...


class TestThreads(OnPostgres, suites.ThreadSuite): ...


class TestRuns(OnPostgres, suites.RunSuite): ...


class TestMultitask(OnPostgres, suites.MultitaskSuite): ...


class TestSettling(OnPostgres, suites.SettlingSuite): ...


class TestQueue(OnPostgres, suites.QueueSuite): ...


class TestItems(OnPostgres, suites.ItemSuite): ...


class TestFilters(OnPostgres, suites.FilterSuite): ...


class TestNamespaces(OnPostgres, suites.NamespaceSuite): ...


class TestLifetimes(OnPostgres, suites.LifetimeSuite): ...


class TestPaging(OnPostgres, suites.PagingSuite): ...


class TestIsolation(OnPostgres, suites.IsolationSuite): ...


class TestValues(OnPostgres, suites.ValueSuite): ...


class TestCrons(OnPostgres, suites.CronSuite): ...


class TestFiring(OnPostgres, suites.FiringSuite): ...


class TestIdempotency(OnPostgres, suites.IdempotencySuite): ...


class TestDeliveries(OnPostgres, suites.DeliverySuite): ...


class TestOutbox(OnPostgres, suites.OutboxSuite): ...


class TestThreadCopy(OnPostgres, suites.ThreadCopySuite): ...


class TestThreadLifetime(OnPostgres, suites.ThreadLifetimeSuite): ...


class TestOwnership(OnPostgres, suites.OwnershipSuite): ...


class TestConcurrency(OnPostgres, suites.ConcurrencySuite): ...


class TestCount(OnPostgres, suites.CountSuite): ...


class TestErasure(OnPostgres, suites.ErasureSuite): ...


class TestUnicode(OnPostgres, suites.UnicodeSuite): ...


def test_every_suite_is_run() -> None:
    run = {base for kind in OnPostgres.__subclasses__() for base in kind.__mro__}
    shipped = [getattr(suites, name) for name in suites.__all__ if name.endswith("Suite")]
    assert [suite.__name__ for suite in shipped if suite not in run] == []


class TestRankedItems(OnPostgres, suites.RankedItemSuite): ...
