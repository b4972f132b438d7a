"""``verify`` knows every shape of a value: whole it is told so, and none of it is idle."""

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.types import Send

from benchmarks import agents
from tests.damage import SCOPE
from threadkeep import DocumentCheckpointSaver
from threadkeep.ports.documents import BLOBS, ITEMS, DocumentStore, Find
from threadkeep.ports.drivers import open_driver
from threadkeep.testing.saver_steps import checkpoint, config, conversation

MESSAGES = conversation(40)
VALUES: dict[str, Any] = {
    "table": {f"key {number}": {"text": "x" * number} for number in range(100)},
    "table in a dict": {"rows": ["one"], "t": dict.fromkeys(range(400), "y" * 60)},
    "deep": {"call": {"n": 1}, "state": {"messages": MESSAGES, "n": 1}},
    "messages": MESSAGES,
    "sends": [Send("tools", {"call": "c" * 60, "state": {"messages": MESSAGES}}), Send("b", 1)],
}
TEXTS = ["text " * 600, "text " * 600 + "more " * 200, "text " * 600 + "more " * 400]
THREAD: RunnableConfig = {"configurable": {"thread_id": "t1"}}


@pytest.fixture
def store() -> Iterator[DocumentStore]:
    driver = open_driver("memory://")
    yield driver.documents()
    driver.close()


def findings(store: DocumentStore) -> dict[str, int]:
    reports = list(DocumentCheckpointSaver(store).verify())
    assert [report.thread_id for report in reports] == ["t1"]
    return dict(reports[0].counts)


def fill(store: DocumentStore) -> None:
    saver, at = DocumentCheckpointSaver(store), config()
    for step, text in enumerate(TEXTS):
        values = {**VALUES, "text": text, "bytes": {"b": text.encode()}}
        versions = dict.fromkeys(values, 1) | {"text": step + 1, "bytes": step + 1}
        at = saver.put(at, checkpoint(values, versions), {"source": "loop"}, {})
        saver.put_writes(at, [("__pregel_tasks", VALUES["sends"][0]), ("text", text)], "task")


def test_whole_values_have_no_findings(store: DocumentStore) -> None:
    fill(store)
    assert findings(store) == {}
    DocumentCheckpointSaver(store).prune(["t1"])
    assert findings(store) == {}


def test_any_document_that_is_missing_is_told(store: DocumentStore) -> None:
    fill(store)
    for collection in (ITEMS, BLOBS):
        page = store.find(SCOPE, Find(collection, "t1", limit=1000))
        assert len(page.documents) > 1
        assert not page.more
        for document in page.documents[::9]:
            driver = open_driver("memory://")
            damaged = driver.documents()
            fill(damaged)
            damaged.remove(SCOPE, "t1", [(collection, document.key)])
            assert findings(damaged)
            driver.close()


@pytest.mark.parametrize("name", agents.BUILDS)
def test_threads_of_agents_have_no_findings(store: DocumentStore, name: str) -> None:
    graph = agents.BUILDS[name](DocumentCheckpointSaver(store))
    for given in agents.turns(6):
        graph.invoke(given, THREAD)
    assert findings(store) == {}
    DocumentCheckpointSaver(store).prune(["t1"], keep_last=3)
    assert findings(store) == {}
