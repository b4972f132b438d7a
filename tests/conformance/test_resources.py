"""The shipped suite for resource stores, on every driver here."""

import pytest

from threadkeep.drivers.memory.resources import MemoryResourceStore
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock
from threadkeep.testing.resources import (
    PAGE_SIZE,
    AssistantSuite,
    FilterSuite,
    IsolationSuite,
    ItemSuite,
    LifetimeSuite,
    NamespaceSuite,
    PagingSuite,
    QueueSuite,
    RunSuite,
    ThreadSuite,
    ValueSuite,
)


class InMemory:
    """Overrides the fixture that the suites leave open."""

    @pytest.fixture
    def store(self, clock: ManualClock) -> ResourceStore:
        return MemoryResourceStore(clock=clock, max_page_size=PAGE_SIZE)


class TestMemoryAssistants(InMemory, AssistantSuite): ...


class TestMemoryThreads(InMemory, ThreadSuite): ...


class TestMemoryRuns(InMemory, RunSuite): ...


class TestMemoryQueue(InMemory, QueueSuite): ...


class TestMemoryItems(InMemory, ItemSuite): ...


class TestMemoryFilters(InMemory, FilterSuite): ...


class TestMemoryNamespaces(InMemory, NamespaceSuite): ...


class TestMemoryLifetimes(InMemory, LifetimeSuite): ...


class TestMemoryPaging(InMemory, PagingSuite): ...


class TestMemoryIsolation(InMemory, IsolationSuite): ...


class TestMemoryValues(InMemory, ValueSuite): ...
