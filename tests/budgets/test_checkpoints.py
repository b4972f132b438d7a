"""What a conversation may cost, in bytes and requests: exact counts, on any machine."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from benchmarks import chat
from benchmarks.counting import Counter, Counts, counted_connections
from threadkeep import DocumentCheckpointSaver
from threadkeep.ports.documents import (
    ITEMS,
    PART_BYTES,
    READ_BYTES,
    Batch,
    DocumentStore,
    Fetched,
    Find,
    Inserted,
    Page,
    Scope,
)
from threadkeep.ports.drivers import open_driver
from threadkeep.testing.saver_steps import checkpoint, config

THREAD: RunnableConfig = {"configurable": {"thread_id": "chat"}}
TURN_BYTES = 5000  # handed over per turn, every bound value counted
WRITES_PER_TURN = chat.PUTS_PER_TURN + chat.WRITES_PER_TURN
REQUEST_BYTES = READ_BYTES + 64 * 1024  # bodies, and what stands beside them


class CountingStore:
    """A document store that notes the size of each request and each reply."""

    def __init__(self, store: DocumentStore) -> None:
        self._store = store
        self.inserts: list[Batch] = []
        self.reads: list[int] = []

    def insert(self, scope: Scope, batch: Batch) -> Inserted:
        self.inserts.append(batch)
        return self._store.insert(scope, batch)

    def fetch(
        self, scope: Scope, thread_id: str, refs: Sequence[bytes], *, nodes: bool = False
    ) -> Fetched:
        fetched = self._store.fetch(scope, thread_id, refs, nodes=nodes)
        self.reads.append(sum(len(one.body) for one in fetched.documents.values()))
        return fetched

    def find(self, scope: Scope, find: Find) -> Page:
        page = self._store.find(scope, find)
        self.reads.append(sum(len(one.body) for one in page.documents))
        return page

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def size_of(batch: Batch) -> int:
    return sum(len(one.body) for one in (*batch.documents, *batch.replacing))


@pytest.fixture
def store() -> Iterator[CountingStore]:
    driver = open_driver("memory://")
    yield CountingStore(driver.documents())
    driver.close()


def mean(turns: Sequence[Counts]) -> Counts:
    total = sum(turns[1:], turns[0])
    return Counts(*(value // len(turns) for value in astuple(total)))


def test_a_turn_costs_the_same_however_long_the_conversation(tmp_path: Path) -> None:
    path, counter, turns = tmp_path / "chat.db", Counter(), list[Counts]()
    with (
        counted_connections({path: counter}),
        DocumentCheckpointSaver.from_url(f"sqlite:///{path}") as saver,
    ):
        graph = chat.build(saver)
        for turn in range(30):
            before = counter.read()
            graph.invoke(chat.turn_input(turn), THREAD, durability="sync")
            turns.append(counter.read() - before)
        deep: RunnableConfig = {"configurable": {"thread_id": "deep"}}
        state = {"messages": chat.history(990), "turn": 989, "active_agent": "assistant"}
        graph.update_state(deep, state, as_node="model")
        before = counter.read()
        for turn in range(990, 1006):
            graph.invoke(chat.turn_input(turn), deep, durability="sync")
        at_990 = mean([counter.read() - before])
    early, late = mean(turns[5:10]), mean(turns[-5:])
    assert late.handed_bytes <= 1.1 * early.handed_bytes
    assert late.handed_bytes <= TURN_BYTES
    assert late.transactions <= WRITES_PER_TURN
    assert late.statements <= 2 * WRITES_PER_TURN
    at_30 = mean(turns[14:])
    for name in ("handed_bytes", "rows", "statements"):
        assert getattr(at_990, name) / 16 == pytest.approx(getattr(at_30, name), rel=0.1), name


def test_a_conversation_is_read_in_three_requests_and_again_in_one(store: CountingStore) -> None:
    saver = DocumentCheckpointSaver(store)
    graph = chat.build(saver)
    graph.update_state(THREAD, {"messages": chat.history(300), "turn": 299}, as_node="model")
    for fresh, requests in ((True, 3), (False, 1)):
        store.reads.clear()
        reader = DocumentCheckpointSaver(store) if fresh else saver
        found = reader.get_tuple(THREAD)
        assert found is not None
        assert len(found.checkpoint["channel_values"]["messages"]) == 1201
        assert len(store.reads) == requests
        assert reader.get_tuple(THREAD) is not None
        assert len(store.reads) == requests + 1


def test_a_cold_read_is_three_queries_on_sqlite_at_any_length(tmp_path: Path) -> None:
    path, counter = tmp_path / "chat.db", Counter()
    with (
        counted_connections({path: counter}),
        DocumentCheckpointSaver.from_url(f"sqlite:///{path}") as saver,
    ):
        graph = chat.build(saver)
        for turns in (30, 300):
            thread: RunnableConfig = {"configurable": {"thread_id": str(turns)}}
            state = {"messages": chat.history(turns), "turn": turns - 1}
            graph.update_state(thread, state, as_node="model")
            graph.invoke(chat.turn_input(turns), thread, durability="sync")
            head = saver.get_tuple(thread)
            assert head is not None
            saver.put_writes(head.config, [("turn", 1)], "task")
            before = counter.read().queries
            assert DocumentCheckpointSaver(saver._documents).get_tuple(thread) is not None
            assert counter.read().queries - before <= 3


def test_a_thousand_ancestors_are_followed_in_a_few_requests(store: CountingStore) -> None:
    saver, at = DocumentCheckpointSaver(store), config()
    for number in range(1001):
        made = checkpoint({}, {"log": number + 1})
        at = saver.put(at, made, {"source": "loop", "step": number}, {})
        saver.put_writes(at, [("log", [f"text {number} " * 9])], "task")
    store.reads.clear()
    reader = DocumentCheckpointSaver(store)
    history = reader.get_delta_channel_history(config=at, channels=["log"])["log"]
    assert [len(value) for _, _, value in history["writes"]] == [1] * 1000
    assert history["writes"][-1][2] == ["text 999 " * 9]
    assert len(store.reads) <= 6


def test_a_stated_value_of_a_delta_channel_stores_no_message_again(store: CountingStore) -> None:
    saver = DocumentCheckpointSaver(store)
    messages = chat.history(50)
    head = saver.put(config(), checkpoint({}, {}), {}, {})
    for number, message in enumerate(messages):
        saver.put_writes(head, [("log", [message])], f"task-{number:03}")
    before = store.measure(saver._scope, "t1")[ITEMS]
    stated = checkpoint({"log": _DeltaSnapshot(messages)}, {"log": 1})
    saver.put(head, stated, {"source": "loop"}, {})
    after = store.measure(saver._scope, "t1")[ITEMS]
    assert after.size_bytes < 1.1 * before.size_bytes
    found = DocumentCheckpointSaver(store).get_tuple(config())
    assert found is not None
    log = found.checkpoint["channel_values"]["log"]
    assert (type(log), log.value) == (_DeltaSnapshot, messages)


def test_a_listing_reads_each_document_once(store: CountingStore) -> None:
    graph = chat.build(DocumentCheckpointSaver(store))
    for turn in range(20):
        graph.invoke(chat.turn_input(turn), THREAD)
    store.reads.clear()
    listed = list(DocumentCheckpointSaver(store).list(THREAD, limit=100))
    assert len(listed) == 100
    assert len(store.reads) <= 3
    assert sum(store.reads) < 2 * chat.text_bytes(20)


def test_twenty_megabytes_are_stored_once_and_no_request_is_large(store: CountingStore) -> None:
    text = random.Random(7).randbytes(10 * 1024 * 1024).hex()
    saver = DocumentCheckpointSaver(store)
    values = {"m": [HumanMessage("go"), ToolMessage(text, tool_call_id="1")]}
    head = saver.put(config(), checkpoint(values, {"m": 1}), {"source": "loop"}, {"m": 1})
    saver.put_writes(head, [("m", [values["m"][1]])], "task")
    written = [one for batch in store.inserts for one in (*batch.documents, *batch.replacing)]
    assert max(len(one.body) for one in written) <= PART_BYTES
    assert max(map(size_of, store.inserts)) <= REQUEST_BYTES
    stored = sum(len(one.body) for one in written)
    assert stored == sum(len(one.body) for one in {one.key: one for one in written}.values())
    store.reads.clear()
    found = DocumentCheckpointSaver(store).get_tuple(config())
    assert found is not None
    assert found.checkpoint["channel_values"]["m"][1].content == text
    assert max(store.reads) <= REQUEST_BYTES
    assert len(store.reads) <= 3 + stored // READ_BYTES + 1


def test_a_put_hands_over_what_is_new_and_nothing_else(store: CountingStore) -> None:
    saver = DocumentCheckpointSaver(store)
    messages = chat.history(250)
    head = saver.put(config(), checkpoint({"m": messages}, {"m": 1}), {}, {"m": 1})
    for step in range(2, 40):
        messages = [*messages, HumanMessage(f"{step} " + chat.prose(str(step), 300))]
        store.inserts.clear()
        head = saver.put(config(), checkpoint({"m": messages}, {"m": step}), {}, {"m": step})
        head = saver.put(head, checkpoint({"m": messages}, {"m": step}), {}, {"m": step})
    _, last = store.inserts
    assert [one.collection for one in last.documents] == []
