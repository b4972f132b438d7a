import asyncio
from collections.abc import AsyncIterator
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.integration import engine_graphs as made
from tests.integration.deployment import Deployment, body, deployed
from tests.integration.engine_backends import Backend, backend, store_on
from threadkeep.errors import (
    GraphLoadError,
    NotFoundError,
    ThreadBusyError,
    ThreadStatusError,
)
from threadkeep.model.assistants import NewAssistant
from threadkeep.model.queries import RunQuery
from threadkeep.model.requests import RunRequest

__all__ = ["backend"]
pytestmark = pytest.mark.anyio


GRAPHS = {
    "chat": made.chat(),
    "two_questions": made.two_questions(),
    "steps": made.steps(5),
    "fan_out": made.fan_out(),
    "with_subgraph": made.with_subgraph(),
    "failing": made.failing(ValueError("no\0good")),
    "told": made.told(),
    "remembering": made.remembering(),
    "functional": made.functional,
    "make_chat": made.make_chat,
    "make_builder": made.make_builder,
    "open_chat": made.open_chat,
    "going_on": made.going_on(),
    "nonsense": lambda: "no graph",
}


@pytest.fixture
async def site(backend: Backend) -> AsyncIterator[Deployment]:
    async with deployed(GRAPHS, backend.resources, backend.saver, store_on(backend)) as running:
        yield running


async def test_a_run_answers_with_the_final_values(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    result = await site.runs.wait(RunRequest("chat", thread_id, input=made.ALICE))
    assert result.run.status == "success"
    assert [message["content"] for message in body(result)["messages"]] == [
        "I am Alice",
        "1 messages so far",
    ]


async def test_a_conversation_goes_on_where_it_stood(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    for _ in range(2):
        await site.runs.wait(RunRequest("chat", thread_id, input=made.ALICE))
    result = await site.runs.wait(RunRequest("chat", thread_id, input=made.ALICE))
    assert body(result)["messages"][-1]["content"] == "5 messages so far"


async def test_a_run_leaves_its_state_on_the_thread(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    result = await site.runs.wait(RunRequest("chat", thread_id, input=made.ALICE))
    thread = await site.thread(thread_id)
    snapshot = await site.state("chat", thread_id)
    assert (thread.status, thread.error, thread.interrupts) == ("idle", None, {})
    assert thread.values == body(result)
    assert thread.head_checkpoint_id == snapshot.config["configurable"]["checkpoint_id"]
    assert thread.metadata["graph_id"] == "chat"


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_every_durability_keeps_the_conversation(site: Deployment, durability: Any) -> None:
    thread_id = await site.new_thread("thread")
    request = RunRequest("steps", thread_id, input={"log": []}, durability=durability)
    await site.runs.wait(request)
    snapshot = await site.state("steps", thread_id)
    assert snapshot.values == {"log": [0, 1, 2, 3, 4]}


async def test_a_graph_id_and_its_assistants_id_mean_the_same(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    assistant_id = site.graphs.assistant_id_of("chat")
    run = await site.runs.create(RunRequest(assistant_id, thread_id, input=made.ALICE))
    assert run.assistant_id == assistant_id
    assert (await site.runs.join(thread_id, run.run_id)).run.status == "success"


async def test_interrupts_stop_the_run_and_stand_on_the_thread_by_task(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    result = await site.runs.wait(RunRequest("two_questions", thread_id, input={"log": []}))
    thread = await site.thread(thread_id)
    snapshot = await site.state("two_questions", thread_id)
    asked = [found["value"] for found in body(result)["__interrupt__"]]
    assert result.run.status == "interrupted"
    assert result.run.reason is None
    assert sorted(asked, key=str) == [{"ask": "first"}, {"ask": "second"}]
    assert thread.status == "interrupted"
    assert set(thread.interrupts) == {task.id for task in snapshot.tasks}
    assert "__interrupt__" not in (thread.values or {})


async def test_a_resume_for_each_interrupt_ends_the_run(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    first = await site.runs.wait(RunRequest("two_questions", thread_id, input={"log": []}))
    answers = {found["id"]: found["value"]["ask"].upper() for found in body(first)["__interrupt__"]}
    result = await site.runs.wait(
        RunRequest("two_questions", thread_id, command={"resume": answers})
    )
    thread = await site.thread(thread_id)
    assert result.run.status == "success"
    assert sorted(body(result)["log"], key=str) == [{"first": "FIRST"}, {"second": "SECOND"}]
    assert (thread.status, thread.interrupts) == ("idle", {})


async def test_one_of_two_interrupts_answered_leaves_the_other(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    first = await site.runs.wait(RunRequest("two_questions", thread_id, input={"log": []}))
    [one, other] = body(first)["__interrupt__"]
    result = await site.runs.wait(
        RunRequest("two_questions", thread_id, command={"resume": {one["id"]: "yes"}})
    )
    thread = await site.thread(thread_id)
    left = [found["id"] for held in thread.interrupts.values() for found in held]
    assert result.run.status == "interrupted"
    assert left == [other["id"]]


async def test_a_node_may_go_where_the_answer_says(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    await site.runs.wait(RunRequest("going_on", thread_id, input={"log": []}))
    result = await site.runs.wait(RunRequest("going_on", thread_id, command={"resume": "right"}))
    assert body(result)["log"] == ["right", "was right"]


async def test_a_command_may_update_and_go_somewhere(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    await site.runs.wait(RunRequest("going_on", thread_id, input={"log": []}))
    command = {"update": {"log": ["by hand"]}, "goto": {"node": "left", "input": {"log": []}}}
    result = await site.runs.wait(RunRequest("going_on", thread_id, command=command))
    assert body(result)["log"][:2] == ["by hand", "was left"]


async def test_a_breakpoint_stops_before_a_node_and_no_input_goes_on(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    request = RunRequest("steps", thread_id, input={"log": []}, interrupt_before=("step2",))
    stopped = await site.runs.wait(request)
    thread = await site.thread(thread_id)
    assert (stopped.run.status, thread.status) == ("interrupted", "interrupted")
    assert body(stopped) == {"log": [0, 1]}
    ended = await site.runs.wait(RunRequest("steps", thread_id))
    assert (ended.run.status, body(ended)) == ("success", {"log": [0, 1, 2, 3, 4]})


async def test_a_breakpoint_may_be_at_every_node(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    request = RunRequest("steps", thread_id, input={"log": []}, interrupt_after="*")
    assert body(await site.runs.wait(request)) == {"log": [0]}


async def test_sends_fan_out_and_come_together(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    result = await site.runs.wait(RunRequest("fan_out", thread_id, input={"log": []}))
    assert body(result) == {"log": [10, 20, 30]}


async def test_a_subgraph_runs_within(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    result = await site.runs.wait(RunRequest("with_subgraph", thread_id, input={"log": ["a"]}))
    assert body(result) == {"log": ["a", "a", 0, 1]}


async def test_a_graph_of_the_functional_api_answers_with_its_value(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    result = await site.runs.wait(RunRequest("functional", thread_id, input=21))
    assert (result.run.status, body(result)) == ("success", 42)
    assert (await site.thread(thread_id)).values is None
    assert body(await site.runs.join(thread_id, result.run.run_id)) == 42


@pytest.mark.parametrize("graph_id", ["make_chat", "make_builder", "open_chat"])
async def test_factories_of_every_kind_make_the_graph(site: Deployment, graph_id: str) -> None:
    thread_id = await site.new_thread("thread")
    for _ in range(2):
        result = await site.runs.wait(RunRequest(graph_id, thread_id, input=made.ALICE))
    assert body(result)["messages"][-1]["content"] == "3 messages so far"
    assert made.Opened.entered == made.Opened.left


async def test_long_term_memory_is_reached_from_async_and_sync_nodes(site: Deployment) -> None:
    for thread_id in ("one", "two"):
        await site.new_thread(thread_id)
        result = await site.runs.wait(RunRequest("remembering", thread_id, input={"log": []}))
    assert body(result) == {"log": [2, 2]}


async def test_config_tags_metadata_and_context_reach_the_graph(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    config = {
        "tags": ["mine"],
        "metadata": {"a": 1},
        "recursion_limit": 7,
        "configurable": {
            "model": "small",
            "thread_id": "stolen",
            "checkpoint_id": "stolen",
            "__pregel_resuming": True,
            "langgraph_auth_user": "stolen",
        },
    }
    request = RunRequest(
        "told",
        thread_id,
        input={"log": []},
        config=config,
        context={"tone": "warm"},
        metadata={"b": 2},
    )
    result = await site.runs.wait(request)
    [told] = body(result)["log"]
    assert told["tags"] == ["mine"]
    assert told["tone"] == "warm"
    assert told["graph_id"] == "told"
    assert {"a": 1, "b": 2}.items() <= told["metadata"].items()
    assert told["metadata"]["run_id"] == result.run.run_id
    assert told["configurable"]["model"] == "small"
    assert told["configurable"]["thread_id"] == thread_id
    assert "langgraph_auth_user" not in told["configurable"]


async def test_what_an_assistant_says_stands_under_what_the_run_says(site: Deployment) -> None:
    from_graph = await site.resources.assistants.get(site.graphs.assistant_id_of("told"))
    assert from_graph is not None
    made_id = "00000000-0000-0000-0000-00000000000a"
    await site.resources.assistants.ensure(
        [
            made_assistant(
                made_id,
                config={"tags": ["theirs"], "configurable": {"model": "big", "region": "eu"}},
                context={"tone": "cold"},
            )
        ]
    )
    thread_id = await site.new_thread("thread")
    request = RunRequest(
        made_id,
        thread_id,
        input={"log": []},
        config={"tags": ["mine"], "configurable": {"model": "small"}},
    )
    [told] = body(await site.runs.wait(request))["log"]
    assert told["tags"] == ["theirs", "mine"]
    assert told["tone"] == "cold"
    assert told["configurable"]["model"] == "small"
    assert told["configurable"]["region"] == "eu"
    assert told["configurable"]["assistant_id"] == made_id


def made_assistant(assistant_id: str, *, config: Any, context: Any) -> Any:
    return NewAssistant(assistant_id, "told", "told", None, config, context, {})


async def test_configurable_is_the_context_where_none_is_given(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    config = {"configurable": {"tone": "dry", "other": 1}}
    request = RunRequest("told", thread_id, input={"log": []}, config=config)
    [told] = body(await site.runs.wait(request))["log"]
    assert told["tone"] == "dry"


async def test_a_graph_that_raises_settles_run_and_thread(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    result = await site.runs.wait(RunRequest("failing", thread_id, input={"log": []}))
    thread = await site.thread(thread_id)
    error = {"error": "ValueError", "message": "no\0good"}
    assert (result.run.status, result.run.error) == ("error", error)
    assert body(result) == {"__error__": error}
    assert (thread.status, thread.error, thread.values) == ("error", error, {"log": ["fine"]})


async def test_a_failed_thread_goes_on_with_the_next_run(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    await site.runs.wait(RunRequest("failing", thread_id, input={"log": []}))
    await site.runs.wait(RunRequest("steps", thread_id, input={"log": []}))
    thread = await site.thread(thread_id)
    assert (thread.status, thread.error) == ("idle", None)


async def test_a_graph_that_goes_in_circles_ends_at_its_limit(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    request = RunRequest("steps", thread_id, input={"log": []}, config={"recursion_limit": 2})
    result = await site.runs.wait(request)
    assert body(result)["__error__"]["error"] == "GraphRecursionError"


async def test_input_that_a_graph_cannot_take_is_an_error_of_the_run(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    result = await site.runs.wait(RunRequest("steps", thread_id, input="words"))
    assert result.run.status == "error"
    assert (await site.thread(thread_id)).status == "error"


async def test_a_factory_that_makes_no_graph_fails_its_run(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    result = await site.runs.wait(RunRequest("nonsense", thread_id, input={}))
    assert body(result)["__error__"]["error"] == GraphLoadError.__name__


async def test_an_unknown_graph_is_refused(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    with pytest.raises(NotFoundError, match="assistant 'unknown'"):
        await site.runs.wait(RunRequest("unknown", thread_id, input={}))
    assert (await site.thread(thread_id)).status == "idle"


async def test_an_unknown_thread_is_refused(site: Deployment) -> None:
    with pytest.raises(NotFoundError, match="thread 'unknown'"):
        await site.runs.create(RunRequest("chat", "unknown", input=made.ALICE))
    assert site.executor.free == 4


async def test_an_unknown_thread_is_created_where_asked(site: Deployment) -> None:
    request = RunRequest("chat", "new", input=made.ALICE, if_not_exists="create")
    assert (await site.runs.wait(request)).run.status == "success"
    assert (await site.thread("new")).status == "idle"


async def test_a_stateless_run_takes_its_thread_and_checkpoints_along(site: Deployment) -> None:
    result = await site.runs.wait(RunRequest("chat", input=made.ALICE))
    assert result.run.status == "success"
    assert body(result)["messages"][-1]["content"] == "1 messages so far"
    assert await site.resources.threads.get(result.run.thread_id) is None
    assert await site.resources.runs.get(result.run.run_id) is None
    at: Any = {"configurable": {"thread_id": result.run.thread_id}}
    assert await site.saver.aget_tuple(at) is None


async def test_a_stateless_run_may_keep_its_thread(site: Deployment) -> None:
    result = await site.runs.wait(RunRequest("chat", input=made.ALICE, on_completion="keep"))
    assert (await site.thread(result.run.thread_id)).values == body(result)


async def test_a_stateless_run_that_fails_takes_its_thread_along(site: Deployment) -> None:
    result = await site.runs.wait(RunRequest("failing", input={"log": []}))
    assert result.run.status == "error"
    assert await site.resources.threads.get(result.run.thread_id) is None


async def test_join_answers_for_a_run_that_has_ended(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    first = await site.runs.wait(RunRequest("chat", thread_id, input=made.ALICE))
    joined = await site.runs.join(thread_id, first.run.run_id)
    assert (joined.run.status, body(joined)) == ("success", body(first))


async def test_join_answers_with_values_too_large_for_the_row(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    large = {"messages": [{"role": "user", "content": "x" * 10_000}]}
    first = await site.runs.wait(RunRequest("chat", thread_id, input=large))
    assert (await site.thread(thread_id)).values is None
    joined = await site.runs.join(thread_id, first.run.run_id)
    assert body(joined) == body(first)


async def test_join_answers_with_the_error_of_a_failed_run(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    first = await site.runs.wait(RunRequest("failing", thread_id, input={"log": []}))
    assert body(await site.runs.join(thread_id, first.run.run_id)) == body(first)


async def test_join_answers_with_the_interrupts_of_a_stopped_run(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    first = await site.runs.wait(RunRequest("two_questions", thread_id, input={"log": []}))
    joined = body(await site.runs.join(thread_id, first.run.run_id))
    assert sorted(joined["__interrupt__"], key=str) == sorted(body(first)["__interrupt__"], key=str)


async def test_a_run_of_another_thread_is_not_found(site: Deployment) -> None:
    await site.new_thread("mine")
    await site.new_thread("yours")
    run = (await site.runs.wait(RunRequest("chat", "mine", input=made.ALICE))).run
    with pytest.raises(NotFoundError):
        await site.runs.get("yours", run.run_id)
    with pytest.raises(NotFoundError):
        await site.runs.join("yours", run.run_id)


async def test_runs_of_a_thread_are_listed_newest_first(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    ids = [
        (await site.runs.wait(RunRequest("chat", thread_id, input=made.ALICE))).run.run_id
        for _ in range(3)
    ]
    page = await site.runs.list(RunQuery(thread_id=thread_id))
    assert [run.run_id for run in page.rows] == ids[::-1]
    assert (await site.runs.list(RunQuery(thread_id="unknown"))).total == 0


async def test_a_run_that_is_deleted_is_gone(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    run = (await site.runs.wait(RunRequest("chat", thread_id, input=made.ALICE))).run
    await site.runs.delete(thread_id, run.run_id)
    with pytest.raises(NotFoundError):
        await site.runs.get(thread_id, run.run_id)


async def test_a_fork_moves_the_head_to_its_branch(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    at: Any = {"configurable": {"thread_id": thread_id}}
    await site.runs.wait(RunRequest("chat", thread_id, input=made.ALICE))
    first = (await site.thread(thread_id)).head_checkpoint_id
    await site.runs.wait(RunRequest("chat", thread_id, input=made.ALICE))
    request = RunRequest("chat", thread_id, input=made.ALICE, checkpoint={"checkpoint_id": first})
    result = await site.runs.wait(request)
    thread = await site.thread(thread_id)
    latest = await site.saver.aget_tuple(at)
    assert body(result)["messages"][-1]["content"] == "3 messages so far"
    assert latest is not None
    assert thread.head_checkpoint_id == latest.config["configurable"]["checkpoint_id"]
    assert thread.values == body(result)


async def test_a_run_whose_thread_is_busy_waits_for_it(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    requests = [RunRequest("chat", thread_id, input=made.ALICE) for _ in range(5)]
    results = await asyncio.gather(*(site.runs.wait(request) for request in requests))
    counts = sorted(len(body(result)["messages"]) for result in results)
    assert counts == [2, 4, 6, 8, 10]
    assert (await site.thread(thread_id)).status == "idle"


async def test_more_runs_than_slots_all_end(site: Deployment) -> None:
    results = await asyncio.gather(
        *(site.runs.wait(RunRequest("steps", input={"log": []})) for _ in range(20))
    )
    assert {result.run.status for result in results} == {"success"}
    assert site.executor.free == 4


async def test_a_delayed_run_starts_when_its_time_has_come(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    began = datetime.now(UTC)
    request = RunRequest("chat", thread_id, input=made.ALICE, after_seconds=0.2)
    result = await site.runs.wait(request)
    assert result.run.status == "success"
    assert (datetime.now(UTC) - began).total_seconds() >= 0.2


async def test_a_run_may_be_refused_by_the_status_of_its_thread(site: Deployment) -> None:
    thread_id = await site.new_thread("thread")
    request = RunRequest("chat", thread_id, input=made.ALICE, thread_status_in=("interrupted",))
    with pytest.raises(ThreadStatusError):
        await site.runs.create(request)
    assert site.executor.free == 4


async def test_runs_inherit_nothing_of_the_request(backend: Backend) -> None:
    secret: ContextVar[str] = ContextVar("secret", default="nothing")

    async def awaiting(state: made.Log) -> made.Log:
        return {"log": [secret.get()]}

    def blocking(state: made.Log) -> made.Log:
        return {"log": [secret.get()]}

    graphs = {"awaiting": made.one_node(awaiting), "blocking": made.one_node(blocking)}
    async with deployed(graphs, backend.resources, backend.saver, store_on(backend)) as site:
        secret.set("of the request")
        for graph_id in graphs:
            result = await site.runs.wait(RunRequest(graph_id, input={"log": []}))
            assert body(result) == {"log": ["nothing"]}


async def test_reject_refuses_a_busy_thread(backend: Backend) -> None:
    gate = made.Gate()
    graphs = {"waiting": made.waiting(gate)}
    async with deployed(graphs, backend.resources, backend.saver, store_on(backend)) as site:
        thread_id = await site.new_thread("thread")
        run = await site.runs.create(RunRequest("waiting", thread_id, input={"log": []}))
        request = RunRequest("waiting", thread_id, input={"log": []}, multitask_strategy="reject")
        with pytest.raises(ThreadBusyError):
            await site.runs.create(request)
        gate.opened.set()
        assert (await site.runs.join(thread_id, run.run_id)).run.status == "success"
