"""Every method that LangGraph's clients have, called once; none is forgotten as they grow."""

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

pytestmark = pytest.mark.anyio
RESOURCES = ("assistants", "threads", "runs", "crons", "store")
NEVER = "0 0 29 2 *"


@dataclass(frozen=True)
class World:
    """What a call may name: all of it there, nothing of it another call's."""

    assistant_id: str
    thread_id: str
    run_id: str
    hanging_thread_id: str
    hanging_run_id: str
    cron_id: str
    namespace: tuple[str, ...]


Call = Callable[[Any, World], Any]
CALLS: dict[str, Call] = {
    "assistants.get": lambda c, w: c.get(w.assistant_id),
    "assistants.get_graph": lambda c, w: c.get_graph(w.assistant_id, xray=True),
    "assistants.get_schemas": lambda c, w: c.get_schemas(w.assistant_id),
    "assistants.get_subgraphs": lambda c, w: c.get_subgraphs(w.assistant_id, recurse=True),
    "assistants.create": lambda c, w: c.create("echo", if_exists="do_nothing"),
    "assistants.update": lambda c, w: c.update(w.assistant_id, metadata={"a": 1}),
    "assistants.delete": lambda c, w: c.delete(w.assistant_id, delete_threads=True),
    "assistants.search": lambda c, w: c.search(limit=1, response_format="object"),
    "assistants.count": lambda c, w: c.count(graph_id="echo"),
    "assistants.get_versions": lambda c, w: c.get_versions(w.assistant_id),
    "assistants.set_latest": lambda c, w: c.set_latest(w.assistant_id, 1),
    "threads.get": lambda c, w: c.get(w.thread_id, include=["ttl"]),
    "threads.create": lambda c, w: c.create(metadata={"a": 1}, ttl=5, graph_id="echo"),
    "threads.update": lambda c, w: c.update(w.thread_id, metadata={"a": 2}),
    "threads.delete": lambda c, w: c.delete(w.thread_id),
    "threads.search": lambda c, w: c.search(ids=[w.thread_id], extract={"a": "values.tag"}),
    "threads.count": lambda c, w: c.count(status="idle"),
    "threads.copy": lambda c, w: c.copy(w.thread_id),
    "threads.prune": lambda c, w: c.prune([w.thread_id], strategy="keep_latest"),
    "threads.get_state": lambda c, w: c.get_state(w.thread_id, subgraphs=True),
    "threads.update_state": lambda c, w: c.update_state(w.thread_id, {"tag": "b"}, as_node="say"),
    "threads.get_history": lambda c, w: c.get_history(w.thread_id, limit=2),
    "threads.join_stream": lambda c, w: c.join_stream(w.thread_id, last_event_id="-1"),
    "threads.stream": lambda c, w: c.stream(w.thread_id, assistant_id="echo"),
    "runs.stream": lambda c, w: c.stream(w.thread_id, "echo", input={"tag": "a"}),
    "runs.create": lambda c, w: c.create(w.thread_id, "echo", input={"tag": "a"}),
    "runs.create_batch": lambda c, w: c.create_batch([{"assistant_id": "echo", "input": {}}]),
    "runs.wait": lambda c, w: c.wait(None, "echo", input={"tag": "a"}),
    "runs.list": lambda c, w: c.list(w.thread_id, select=["run_id", "cancel_reason"]),
    "runs.get": lambda c, w: c.get(w.thread_id, w.run_id),
    "runs.cancel": lambda c, w: c.cancel(w.hanging_thread_id, w.hanging_run_id, wait=True),
    "runs.cancel_many": lambda c, w: c.cancel_many(
        thread_id=w.hanging_thread_id, run_ids=[w.hanging_run_id]
    ),
    "runs.join": lambda c, w: c.join(w.thread_id, w.run_id),
    "runs.join_stream": lambda c, w: c.join_stream(w.thread_id, w.run_id),
    "runs.delete": lambda c, w: c.delete(w.thread_id, w.run_id),
    "crons.create_for_thread": lambda c, w: c.create_for_thread(
        w.thread_id, "echo", schedule=NEVER
    ),
    "crons.create": lambda c, w: c.create("echo", schedule=NEVER, input={"tag": "a"}),
    "crons.delete": lambda c, w: c.delete(w.cron_id),
    "crons.update": lambda c, w: c.update(w.cron_id, schedule="0 0 1 1 *", end_time=None),
    "crons.search": lambda c, w: c.search(assistant_id=w.assistant_id, limit=1),
    "crons.count": lambda c, w: c.count(assistant_id=w.assistant_id),
    "store.put_item": lambda c, w: c.put_item(w.namespace, "k", {"a": 1}, index=False),
    "store.get_item": lambda c, w: c.get_item(w.namespace, "kept", refresh_ttl=False),
    "store.delete_item": lambda c, w: c.delete_item(w.namespace, "kept"),
    "store.search_items": lambda c, w: c.search_items(w.namespace, filter={"a": {"$gt": 0}}),
    "store.list_namespaces": lambda c, w: c.list_namespaces(prefix=list(w.namespace)),
}


@pytest.fixture
def world(client: SyncLangGraphClient) -> Iterator[World]:
    assistant_id = client.assistants.create("echo")["assistant_id"]
    thread_id = client.threads.create()["thread_id"]
    run = client.runs.create(thread_id, assistant_id, input={"tag": "a"})
    client.runs.join(thread_id, run["run_id"])
    hanging = client.runs.create(client.threads.create()["thread_id"], "hanging", input={})
    cron: Any = client.crons.create(assistant_id, schedule=NEVER)
    namespace = ("n", uuid4().hex)
    client.store.put_item(namespace, "kept", {"a": 1})
    yield World(
        assistant_id,
        thread_id,
        run["run_id"],
        hanging["thread_id"],
        hanging["run_id"],
        cron["cron_id"],
        namespace,
    )
    client.threads.delete(hanging["thread_id"])  # its run would keep a slot


def methods(client: Any) -> set[str]:
    """Return the public methods of every resource of a client."""
    return {
        f"{resource}.{name}"
        for resource in RESOURCES
        for name, _ in inspect.getmembers(type(getattr(client, resource)), inspect.isfunction)
        if not name.startswith("_")
    }


def bound(client: Any, name: str) -> Any:
    return getattr(client, name.partition(".")[0])


def test_every_method_of_both_clients_is_called(
    client: SyncLangGraphClient, async_client: LangGraphClient
) -> None:
    assert methods(client) == methods(async_client) == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_the_blocking_client_calls(client: SyncLangGraphClient, world: World, name: str) -> None:
    answer = CALLS[name](bound(client, name), world)
    if name == "threads.stream":
        with answer as thread:
            thread.run.start(input={"tag": "b"})
            assert thread.output["tag"] == "b"
    elif name == "threads.join_stream":
        again = client.runs.stream(world.thread_id, "echo", input={}, stream_resumable=True)
        assert next(again).event == next(answer).event == "metadata"
    elif isinstance(answer, Iterator):
        assert [part.event for part in answer if part.event == "error"] == []


@pytest.mark.parametrize("name", CALLS)
async def test_the_awaiting_client_calls(
    async_client: LangGraphClient, world: World, name: str
) -> None:
    answer = CALLS[name](bound(async_client, name), world)
    if inspect.isawaitable(answer):
        answer = await answer
    if name == "threads.stream":
        async with answer as thread:
            await thread.run.start(input={"tag": "b"})
            assert (await thread.output)["tag"] == "b"
    elif name == "threads.join_stream":
        again = async_client.runs.stream(world.thread_id, "echo", input={}, stream_resumable=True)
        first = await anext(again)
        assert first.event == (await anext(answer)).event == "metadata"
    elif isinstance(answer, AsyncIterator):
        assert [part.event async for part in answer if part.event == "error"] == []
