import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from tests.integration import engine_graphs as made
from tests.integration.deployment import Deployment, deployed, heard, names, payloads
from tests.integration.engine_backends import Backend, backend, store_on
from tests.integration.models import call
from threadkeep.model.events import Event
from threadkeep.model.queries import RunQuery
from threadkeep.model.requests import STREAM_MODES, RunRequest

__all__ = ["backend"]
pytestmark = pytest.mark.anyio


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


def tool_caller() -> Any:
    """Calls a tool."""

    async def ask(state: Any) -> Any:
        return {"messages": [call("echo", text="hello")]}

    builder = StateGraph(MessagesState).add_node("ask", ask)
    builder.add_node("tools", ToolNode([echo])).add_edge("ask", "tools")
    return builder.add_edge(START, "ask").compile()


GRAPHS = {
    "chat": made.chat(),
    "streaming_chat": made.streaming_chat(),
    "two_questions": made.two_questions(),
    "steps": made.steps(2),
    "with_subgraph": made.with_subgraph(),
    "writer": made.writer(),
    "failing": made.failing(ValueError("no good")),
    "emitter": made.emitter(2_000),
    "tool_caller": tool_caller(),
}


@pytest.fixture
async def site(backend: Backend) -> AsyncIterator[Deployment]:
    async with deployed(GRAPHS, backend.resources, backend.saver, store_on(backend)) as running:
        yield running


async def events(site: Deployment, graph_id: str, *modes: Any, **more: Any) -> list[Event]:
    """Stream a run of a graph and return all it published."""
    given = made.ALICE if "chat" in graph_id or "tool" in graph_id else {"log": []}
    request = RunRequest(graph_id, input=given, stream_mode=modes, **more)
    return await heard(await site.runs.open_stream(request))


async def test_a_stream_begins_with_the_run_and_ends_with_it(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    request = RunRequest("chat", thread_id, input=made.ALICE)
    stream = await site.runs.open_stream(request)
    found = await heard(stream)
    assert payloads(found, "metadata") == [{"run_id": stream.run.run_id, "attempt": 1}]
    assert names(found) == ["metadata", "values", "values"]
    assert [event.seq for event in found] == [1, 2, 3]
    assert (await site.thread(thread_id)).status == "idle"


async def test_values_come_after_each_step(site: Deployment) -> None:
    found = await events(site, "steps", "values")
    assert payloads(found, "values") == [{"log": []}, {"log": [0]}, {"log": [0, 1]}]


async def test_updates_come_for_each_node(site: Deployment) -> None:
    found = await events(site, "steps", "updates")
    assert payloads(found, "updates") == [{"step0": {"log": [0]}}, {"step1": {"log": [1]}}]
    assert names(found) == ["metadata", "updates", "updates"]


async def test_custom_events_come_from_async_and_sync_nodes(site: Deployment) -> None:
    found = await events(site, "writer", "custom")
    assert payloads(found, "custom") == [{"at": "first"}, {"at": "second"}]


async def test_message_tuples_carry_tokens_and_where_they_come_from(site: Deployment) -> None:
    found = await events(site, "streaming_chat", "messages-tuple")
    tuples = payloads(found, "messages")
    assert "".join(chunk["content"] for chunk, _ in tuples) == "one two three "
    assert {chunk["type"] for chunk, _ in tuples} == {"AIMessageChunk"}
    assert {metadata["langgraph_node"] for _, metadata in tuples} == {"node"}


async def test_messages_grow_and_are_complete_in_the_end(site: Deployment) -> None:
    found = await events(site, "streaming_chat", "messages")
    [about] = payloads(found, "messages/metadata")
    [message_id] = about
    partial = payloads(found, "messages/partial")
    assert about[message_id]["metadata"]["langgraph_node"] == "node"
    assert [message["content"] for [message] in partial][:3] == [
        "one ",
        "one two ",
        "one two three ",
    ]
    [[whole]] = payloads(found, "messages/complete")
    assert (whole["type"], whole["id"]) == ("ai", message_id)
    assert whole["content"] == "one two three "


async def test_a_message_made_in_one_piece_is_complete_at_once(site: Deployment) -> None:
    found = await events(site, "chat", "messages")
    [[whole]] = payloads(found, "messages/complete")
    assert whole["content"] == "1 messages so far"
    assert payloads(found, "messages/partial") == []


async def test_tasks_and_checkpoints_and_debug_say_what_happens(site: Deployment) -> None:
    found = await events(site, "steps", "tasks", "checkpoints", "debug")
    tasks = payloads(found, "tasks")
    checkpoints = payloads(found, "checkpoints")
    assert [task["name"] for task in tasks] == ["step0", "step0", "step1", "step1"]
    assert [point["next"] for point in checkpoints] == [
        ["__start__"],
        ["step0"],
        ["step1"],
        [],
    ]
    assert checkpoints[1]["parent_checkpoint"] == checkpoints[0]["checkpoint"]
    assert checkpoints[0]["checkpoint"]["checkpoint_id"]
    kinds = [part["type"] for part in payloads(found, "debug")]
    assert kinds.count("checkpoint") == 4
    assert kinds.count("task") == kinds.count("task_result") == 2
    assert not any(b"__pregel" in event.data for event in found)


async def test_events_are_those_of_astream_events(site: Deployment) -> None:
    found = await events(site, "streaming_chat", "events", "values")
    kinds = [event["event"] for event in payloads(found, "events")]
    assert kinds[0] == "on_chain_start"
    assert kinds[-1] == "on_chain_end"
    assert kinds.count("on_chat_model_stream") == 4
    assert len(payloads(found, "values")) == 2


async def test_tools_say_when_they_start_and_end(site: Deployment) -> None:
    found = await events(site, "tool_caller", "tools")
    assert "tools" in names(found)
    assert b"echo" in next(event.data for event in found if event.name == "tools")


async def test_subgraphs_stay_silent_unless_asked_for(site: Deployment) -> None:
    found = await events(site, "with_subgraph", "updates")
    assert names(found) == ["metadata", "updates"]


async def test_events_of_subgraphs_carry_their_namespace(site: Deployment) -> None:
    found = await events(site, "with_subgraph", "updates", stream_subgraphs=True)
    assert names(found)[0] == "metadata"
    assert [name.split(":")[0] for name in names(found)[1:]] == [
        "updates|child",
        "updates|child",
        "updates",
    ]


async def test_lifecycle_says_when_subgraphs_start_and_end(site: Deployment) -> None:
    found = await events(site, "with_subgraph", "lifecycle")
    started, ended = payloads(found, "lifecycle")
    assert (started["event"], started["graph_name"]) == ("started", "child")
    assert ended == {"event": "completed", "namespace": started["namespace"]}
    assert set(names(found)) == {"metadata", "lifecycle"}


async def test_interrupts_come_with_the_values(site: Deployment) -> None:
    found = await events(site, "two_questions", "values", "updates")
    shown = [part for part in payloads(found, "values") if "__interrupt__" in part]
    assert len(shown) == 2
    assert all(set(part["__interrupt__"][0]) == {"value", "id"} for part in shown)


async def test_a_failure_is_the_last_event(site: Deployment) -> None:
    found = await events(site, "failing", "values")
    assert found[-1].name == "error"
    assert payloads(found, "error") == [{"error": "ValueError", "message": "no good"}]


async def test_every_mode_at_once_is_published_and_can_be_told_apart(site: Deployment) -> None:
    found = await events(site, "with_subgraph", *STREAM_MODES, stream_subgraphs=True)
    assert {name.split("|")[0] for name in names(found)} >= {
        "metadata",
        "values",
        "updates",
        "tasks",
        "checkpoints",
        "debug",
        "events",
        "lifecycle",
    }
    assert [event.seq for event in found] == list(range(1, len(found) + 1))


async def test_a_resumable_run_is_replayed_by_number_after_its_end(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    request = RunRequest("steps", thread_id, input={"log": []}, stream_resumable=True)
    run = (await site.runs.wait(request)).run
    everything = await joined(site, thread_id, run.run_id, after=0)
    tail = await joined(site, thread_id, run.run_id, after=2)
    assert [event.seq for event in everything] == [1, 2, 3, 4]
    assert tail == everything[2:]


async def joined(site: Deployment, thread_id: str, run_id: str, **more: Any) -> list[Event]:
    """Join a stream and return all of it."""
    options: dict[str, Any] = {"after": None, "modes": (), "cancel_on_disconnect": False, **more}
    return await heard(await site.runs.join_stream(thread_id, run_id, **options))


async def test_a_join_may_ask_for_some_modes(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    request = RunRequest(
        "streaming_chat",
        thread_id,
        input=made.ALICE,
        stream_resumable=True,
        stream_mode=("values", "updates", "messages", "messages-tuple"),
    )
    run = (await site.runs.wait(request)).run
    for modes, shown in {
        ("updates",): {"metadata", "updates"},
        ("messages-tuple",): {"metadata", "messages"},
        ("messages",): {
            "metadata",
            "messages/metadata",
            "messages/partial",
            "messages/complete",
        },
    }.items():
        found = await joined(site, thread_id, run.run_id, after=0, modes=modes)
        assert set(names(found)) == shown


async def test_a_run_that_ended_unheard_has_nothing_to_replay(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    run = (await site.runs.wait(RunRequest("steps", thread_id, input={"log": []}))).run
    assert await joined(site, thread_id, run.run_id, after=0) == []


async def test_a_run_under_way_is_joined_where_it_is(backend: Backend) -> None:
    gate = made.Gate()
    graphs = {"waiting": made.waiting(gate)}
    async with deployed(graphs, backend.resources, backend.saver, store_on(backend)) as site:
        thread_id = await site.new_thread("thread")
        run = await site.runs.create(RunRequest("waiting", thread_id, input={"log": []}))
        await gate.has_begun()
        stream = await site.runs.join_stream(
            thread_id, run.run_id, after=None, modes=(), cancel_on_disconnect=False
        )
        gate.opened.set()
        assert payloads(await heard(stream), "values") == [{"log": ["before", "waited"]}]


async def test_a_fast_graph_reaches_its_reader_whole_and_in_order(site: Deployment) -> None:
    found = await events(site, "emitter", "custom")
    assert payloads(found, "custom") == list(range(2_000))


async def test_a_slow_reader_is_ended_and_the_run_goes_on(backend: Backend) -> None:
    async with deployed(
        GRAPHS, backend.resources, backend.saver, store_on(backend), events_per_run=100
    ) as site:
        thread_id = await site.new_thread("thread")
        request = RunRequest("emitter", thread_id, input={"log": []}, stream_mode=("custom",))
        stream = await site.runs.open_stream(request)
        joined = await site.runs.join(thread_id, stream.run.run_id)
        found = await heard(stream)
        assert joined.run.status == "success"
        assert len(found) < 2_000


async def test_many_readers_hear_the_same(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    request = RunRequest("emitter", thread_id, input={"log": []}, stream_mode=("custom",))
    first = await site.runs.open_stream(request)
    others = [
        await site.runs.join_stream(
            thread_id, first.run.run_id, after=0, modes=(), cancel_on_disconnect=False
        )
        for _ in range(3)
    ]
    found = await asyncio.gather(heard(first), *(heard(other) for other in others))
    assert all(payloads(each, "custom") == list(range(2_000)) for each in found)


async def test_a_reader_that_leaves_before_the_run_is_made_listens_no_more(
    backend: Backend,
) -> None:
    gate = made.Gate()
    graphs = {"waiting": made.waiting(gate)}
    async with deployed(graphs, backend.resources, backend.saver, store_on(backend)) as site:
        thread_id = await site.new_thread("thread")
        request = RunRequest("waiting", thread_id, input={"log": []})
        opening = asyncio.create_task(site.runs.open_stream(request))
        await asyncio.sleep(0)
        opening.cancel()
        await asyncio.wait({opening})
        assert opening.cancelled()
        await gate.has_begun()
        (run,) = (await site.runs.list(RunQuery(thread_id=thread_id))).rows
        assert run.status == "running"
        assert not site.bus.wanted(run.run_id)
        gate.opened.set()
        assert (await site.runs.join(thread_id, run.run_id)).run.status == "success"
