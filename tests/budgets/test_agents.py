"""What a turn of agents may cost that give the whole conversation to each other."""

from collections.abc import Iterator
from statistics import median

import pytest
from langchain_core.runnables import RunnableConfig

from benchmarks import agents
from tests.budgets.test_checkpoints import CountingStore
from tests.budgets.test_values import handed
from threadkeep import DocumentCheckpointSaver
from threadkeep.ports.drivers import open_driver

THREAD: RunnableConfig = {"configurable": {"thread_id": "t1"}}
TURN_BYTES = {"agent": 4500, "supervisor": 10_000, "swarm": 7500}
TURNS = 24


@pytest.fixture
def store() -> Iterator[CountingStore]:
    driver = open_driver("memory://")
    yield CountingStore(driver.documents())
    driver.close()


@pytest.mark.parametrize("name", agents.BUILDS)
def test_a_turn_costs_the_same_however_long_the_conversation(
    store: CountingStore, name: str
) -> None:
    graph = agents.BUILDS[name](DocumentCheckpointSaver(store))
    costs = []
    for given in agents.turns(TURNS):
        graph.invoke(given, THREAD, durability="sync")
        costs.append(handed(store))
    early, late = median(costs[1:9]), median(costs[-8:])
    assert late < TURN_BYTES[name]
    assert late < 1.2 * early
    fresh = agents.BUILDS[name](DocumentCheckpointSaver(store))
    assert fresh.get_state(THREAD).values["messages"] == graph.get_state(THREAD).values["messages"]
    for checkpoint in graph.checkpointer.list(THREAD):
        found = DocumentCheckpointSaver(store).get_tuple(checkpoint.config)
        assert found is not None
        assert found.checkpoint == checkpoint.checkpoint
        assert found.pending_writes == checkpoint.pending_writes
