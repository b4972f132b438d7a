"""Threads of schema 1: read, listed after schema 2, continued in it, pruned, copied, deleted."""

import itertools
import operator
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from tests.schema1 import Schema1Saver
from threadkeep import DocumentCheckpointSaver
from threadkeep.checkpoints.opaque import opaque_codec
from threadkeep.errors import CorruptionError, SchemaTooNewError
from threadkeep.model.default_scope import AGENT_ID, NAMESPACE
from threadkeep.ports.documents import (
    CHECKPOINTS,
    CHECKPOINTS_V1,
    COLLECTIONS,
    WRITES_V1,
    Batch,
    Document,
    DocumentStore,
    Find,
    Scope,
)
from threadkeep.ports.drivers import open_driver
from threadkeep.services.verification import Verification

SCOPE = Scope(NAMESPACE, AGENT_ID)
AT: Any = {"configurable": {"thread_id": "old", "run_id": "run-1"}}


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    approved: bool


def inner_ask(state: State) -> dict[str, Any]:
    return {"approved": interrupt("may I?") == "yes"}


def answer(state: State) -> dict[str, Any]:
    return {"messages": [AIMessage(f"approved: {state['approved']}", id="a")]}


def graph() -> StateGraph[State]:
    """A subgraph that asks, then an answer."""
    asking = StateGraph(State)
    asking.add_node("inner", inner_ask)
    asking.add_edge(START, "inner")
    builder = StateGraph(State)
    builder.add_node("ask", asking.compile())
    builder.add_node("answer", answer)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "answer")
    builder.add_edge("answer", END)
    return builder


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DocumentStore]:
    urls = {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path}/s.db"}
    url = urls.get(request.param) or request.getfixturevalue("postgres_url")
    with closing(open_driver(url)) as driver:
        documents = driver.documents()
        documents.setup()
        yield documents


@pytest.fixture
def before(store: DocumentStore) -> Schema1Saver:
    """A thread that was interrupted in schema 1."""
    saver = Schema1Saver(store, SCOPE)
    compiled = graph().compile(checkpointer=saver)
    compiled.invoke({"messages": [HumanMessage("hello", id="h")], "approved": False}, AT)
    return saver


def everything(saver: Any) -> list[Any]:
    found = []
    for one in saver.list({"configurable": {"thread_id": "old"}}):
        parent = one.parent_config and one.parent_config["configurable"]["checkpoint_id"]
        writes = sorted((task, channel, str(value)) for task, channel, value in one.pending_writes)
        at = one.config["configurable"]
        place = at["checkpoint_ns"], at["checkpoint_id"]
        found.append((place, parent, one.checkpoint["channel_values"], writes))
    return sorted(found, key=lambda one: one[0])


def documents_of(store: DocumentStore, collection: str, thread_id: str = "old") -> list[Document]:
    return list(store.find(SCOPE, Find(collection, thread_id)).documents)


def test_a_thread_of_schema_1_is_read_as_it_was_stored(
    store: DocumentStore, before: Schema1Saver
) -> None:
    saver = DocumentCheckpointSaver(store)
    assert everything(saver) == everything(before)
    newest, known = saver.get_tuple(AT), before.get_tuple(AT)
    assert newest is not None
    assert known is not None
    assert newest.checkpoint == known.checkpoint
    assert newest.config["configurable"]["checkpoint_id"] == known.checkpoint["id"]
    one = saver.get_tuple(known.parent_config)  # type: ignore[arg-type]
    assert one is not None
    assert one.checkpoint["id"] != newest.checkpoint["id"]
    assert saver.get_tuple({"configurable": {"thread_id": "another"}}) is None
    assert [report.counts for report in saver.verify()] == [{}]


def test_a_thread_of_schema_1_is_continued_in_schema_2(
    store: DocumentStore, before: Schema1Saver
) -> None:
    saver = DocumentCheckpointSaver(store)
    old = documents_of(store, CHECKPOINTS_V1)
    compiled = graph().compile(checkpointer=saver)
    assert compiled.get_state(AT).interrupts[0].value == "may I?"
    ended = compiled.invoke(Command(resume="yes"), AT)
    assert [each.content for each in ended["messages"]] == ["hello", "approved: True"]
    assert documents_of(store, CHECKPOINTS_V1) == old
    assert documents_of(store, CHECKPOINTS)
    listed = [one.config["configurable"]["checkpoint_id"] for one in saver.list(AT)]
    earlier = [str(document.key[1]) for document in old]
    assert sorted(listed[-len(earlier) :]) == sorted(earlier)
    assert not set(listed[: -len(earlier)]) & set(earlier)
    states = [state.values.get("approved") for state in compiled.get_state_history(AT)]
    assert states[0] is True
    assert states[-2] is False
    assert [report.counts for report in saver.verify()] == [{}]
    another: Any = {"configurable": {"thread_id": "old"}}
    asked: Any = {"messages": [HumanMessage("more", id="m")], "approved": False}
    again = compiled.invoke(asked, another)
    assert "__interrupt__" in again
    fork = list(compiled.get_state_history(AT))[-2].config  # a step of schema 1
    assert compiled.invoke(None, fork)["messages"][0].content == "hello"


def test_a_list_has_limits_filters_and_bounds_over_both_schemas(
    store: DocumentStore, before: Schema1Saver
) -> None:
    saver = DocumentCheckpointSaver(store)
    graph().compile(checkpointer=saver).invoke(Command(resume="yes"), AT)
    listed = list(saver.list(None))
    for limit in range(len(listed) + 2):
        assert list(saver.list(None, limit=limit)) == listed[:limit]
    loops = [one for one in listed if one.metadata["source"] == "loop"]
    assert list(saver.list(None, filter={"source": "loop"})) == loops
    of_run = list(saver.list(None, filter={"run_id": "run-1", "step": -1}))
    assert [one.metadata["step"] for one in of_run] == [-1, -1]
    oldest = listed[-1].config
    assert list(saver.list(None, before=oldest)) == []
    root = [one for one in listed if not one.config["configurable"]["checkpoint_ns"]]
    assert list(saver.list({"configurable": {"thread_id": "old", "checkpoint_ns": ""}})) == root


def test_a_thread_of_both_schemas_is_copied_and_deleted(
    store: DocumentStore, before: Schema1Saver
) -> None:
    saver = DocumentCheckpointSaver(store)
    graph().compile(checkpointer=saver).invoke(Command(resume="yes"), AT)
    saver.copy_thread("old", "copy")
    copied = list(saver.list({"configurable": {"thread_id": "copy"}}))
    listed = list(saver.list({"configurable": {"thread_id": "old"}}))
    assert [one.checkpoint for one in copied] == [one.checkpoint for one in listed]
    saver.delete_thread("old")
    for collection in COLLECTIONS:
        assert documents_of(store, collection) == []
    assert saver.get_tuple(AT) is None
    assert [report.counts for report in saver.verify()] == [{}]
    copy: Any = {"configurable": {"thread_id": "copy"}}
    assert list(saver.list(copy)) == copied


def test_a_prune_keeps_the_newest_of_both_schemas(
    store: DocumentStore, before: Schema1Saver
) -> None:
    saver = DocumentCheckpointSaver(store)
    newest = saver.get_tuple(AT)
    saver.prune(["old"])  # its call of a subgraph is under the root checkpoint that stays
    kept = list(saver.list(None))
    assert newest in kept
    assert len(kept) == 2
    compiled = graph().compile(checkpointer=saver)
    ended = compiled.invoke(Command(resume="yes"), AT)
    assert ended["messages"][-1].content == "approved: True"
    saver.prune(["old"])
    assert documents_of(store, CHECKPOINTS_V1) == documents_of(store, WRITES_V1) == []
    (last,) = saver.list(None)
    assert last.parent_config is None
    assert compiled.get_state(AT).values["messages"][-1].content == "approved: True"
    assert [report.counts for report in saver.verify()] == [{}]


def test_the_checkpoints_of_a_run_are_deleted_in_both_schemas(
    store: DocumentStore, before: Schema1Saver
) -> None:
    saver = DocumentCheckpointSaver(store)
    saver.delete_for_runs(["another"])
    assert everything(saver) == everything(before)
    saver.delete_for_runs(["run-1"])
    assert list(saver.list(None)) == []


def test_a_sweep_leaves_what_tasks_of_schema_1_write_now(
    store: DocumentStore, before: Schema1Saver
) -> None:
    saver = DocumentCheckpointSaver(store)
    newest = before.get_tuple(AT)
    assert newest is not None
    (task, _, _) = newest.pending_writes[0]  # type: ignore[index]
    written = [("approved", True), ("__error__", "boom"), ("messages", ["m"])]
    saver.put_writes(newest.config, written, "later task")
    saver.put_writes(newest.config, [("__interrupt__", "another")], task)
    saver.sweep(older_than=timedelta(0))
    read = saver.get_tuple(AT)
    assert read is not None
    assert read.pending_writes is not None
    assert [each[1:] for each in read.pending_writes if each[0] == "later task"] == [
        ("__error__", "boom"),
        ("approved", True),
        ("messages", ["m"]),
    ]
    assert (task, "__interrupt__", "another") in read.pending_writes
    assert [report.counts for report in saver.verify()] == [{}]


DAMAGES: dict[str, Any] = {
    "no JSON": lambda body: body[:-5],
    "no text": lambda body: b"\xff" + body,
    "another checkpoint": lambda body: body.replace(b'"checkpoint_id": "', b'"checkpoint_id": "x'),
    "no value": lambda body: body.replace(b'"payload"', b'"pay"'),
    "no base64": lambda body: body.replace(b'"$v": "', b'"$v": "!'),
    "too deep": lambda body: b"[" * 100_000,
    "empty": lambda body: b"",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damage_in_schema_1_is_told(
    store: DocumentStore, before: Schema1Saver, damage: Any
) -> None:
    saver = DocumentCheckpointSaver(store)
    newest = documents_of(store, CHECKPOINTS_V1)[-1]
    store.insert(SCOPE, Batch(replacing=[replace(newest, body=damage(newest.body))]))
    with pytest.raises(CorruptionError, match=str(newest.key[1])):
        list(saver.list(None))
    (report,) = saver.verify()
    assert report.counts == {"unreadable-body": 1}
    (plan,) = [one.plan for one in Verification(store, SCOPE, opaque_codec()).verify(plans=True)]
    assert plan is not None
    assert plan.actions == []
    assert "restore it, or delete the thread" in plan.beyond[0]


def test_a_later_schema_is_refused(store: DocumentStore, before: Schema1Saver) -> None:
    saver = DocumentCheckpointSaver(store)
    for document in documents_of(store, CHECKPOINTS_V1):
        newer = replace(document, body=document.body.replace(b'"_schema": 1', b'"_schema": 3'))
        store.insert(SCOPE, Batch(replacing=[newer]))
    with pytest.raises(SchemaTooNewError, match="schema 3"):
        saver.get_tuple(AT)
    (report,) = saver.verify()
    assert set(report.counts) == {"newer-format"}


def test_a_saver_with_keys_refuses_schema_1(store: DocumentStore, before: Schema1Saver) -> None:
    saver = DocumentCheckpointSaver(store, encryption_keys=["a key of 16 bytes at least"])
    with pytest.raises(CorruptionError, match="is not encrypted"):
        saver.get_tuple(AT)


def test_a_delta_channel_begins_at_a_snapshot_of_schema_1(store: DocumentStore) -> None:
    class Log(TypedDict):
        log: Annotated[list[str], DeltaChannel(lambda old, new: [*old, *itertools.chain(*new)])]

    def say(state: Any) -> dict[str, Any]:
        return {"log": [f"step {len(state['log'])}"]}

    class Whole(TypedDict):
        log: Annotated[list[str], operator.add]

    def graph_of(state: Any, saver: Any) -> Any:
        builder = StateGraph(state)
        builder.add_node("say", say)
        builder.add_edge(START, "say")
        return builder.compile(checkpointer=saver)

    graph_of(Whole, Schema1Saver(store, SCOPE)).invoke({"log": ["a"]}, AT)
    saver = DocumentCheckpointSaver(store)
    later: Any = {"configurable": {"thread_id": "old", "run_id": "run-2"}}
    graph_of(Log, saver).invoke({"log": ["b"]}, later)
    said = ["a", "step 1", "b", "step 3"]
    assert graph_of(Log, saver).get_state(AT).values["log"] == said
    saver.prune(["old"])  # the snapshot stays: the log is made from it
    assert graph_of(Log, saver).get_state(AT).values["log"] == said
    saver.delete_for_runs(["run-1"])
    assert graph_of(Log, DocumentCheckpointSaver(store)).get_state(AT).values["log"] == said
