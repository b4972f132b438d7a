"""Prunes and deletions between the plan of a run's write and its commit, on each driver.

``between`` forces the order: another process acts when the write has been planned, and before it
is handed to the store. What the store then refuses must be written whole all the same.
"""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from benchmarks import chat
from tests.integration import engine_graphs as made_graphs
from tests.integration.deployment import deployed
from tests.integration.engine_backends import Backend, backend, store_on
from tests.integration.test_prune_races import (
    LARGE,
    chain,
    expected,
    fresh,
    saver,
    values_of,
)
from threadkeep import DocumentCheckpointSaver
from threadkeep.errors import NotFoundError
from threadkeep.model.requests import RunRequest
from threadkeep.ports.documents import CHECKPOINTS
from threadkeep.testing.saver_steps import checkpoint, config, conversation

__all__ = ["backend", "saver"]  # fixtures

pytestmark = pytest.mark.anyio

Saver = DocumentCheckpointSaver


def between(saver: Saver, patch: pytest.MonkeyPatch, act: Callable[[], Any]) -> list[bool]:
    """Let something happen once, when a batch that relies on others has been planned."""
    store: Any = saver._async_documents
    done: list[bool] = []

    def first(batch: Any) -> None:
        if batch.requires and not done:
            done.append(True)
            act()

    insert, stage = store.insert, getattr(store, "stage", None)

    async def insert_after(scope: Any, batch: Any) -> Any:
        first(batch)
        return await insert(scope, batch)

    def stage_after(scope: Any, batch: Any, **options: Any) -> Any:
        first(batch)
        assert stage is not None
        return stage(scope, batch, **options)

    patch.setattr(store, "insert", insert_after)
    if stage is not None:
        patch.setattr(store, "stage", stage_after)
    return done


async def put(
    view: Saver, values: dict[str, Any], at: RunnableConfig, version: int, **metadata: Any
) -> RunnableConfig:
    made = checkpoint(values, dict.fromkeys(values, version))
    said: Any = {"source": "loop", "step": version, **metadata}
    return await view.aput(at, made, said, {})


async def refused(view: Saver, at: RunnableConfig) -> None:
    """Expect a put to be refused, at once or when it is waited for."""

    async def put_and_flush() -> None:
        await put(view, expected(30), at, 9)
        await view.flush()

    with pytest.raises(NotFoundError):
        await put_and_flush()


@pytest.mark.parametrize("cold", [False, True])
async def test_a_fork_of_a_step_that_is_pruned_meanwhile_is_whole(
    saver: Saver, monkeypatch: pytest.MonkeyPatch, cold: bool
) -> None:
    at = chain(saver, [30, 3])
    if cold:
        saver._known.doubt()
    pruned = between(saver, monkeypatch, lambda: fresh(saver).prune(["t1"]))
    view = saver.staged()
    new = await put(view, expected(30), at[0], 9)
    await view.flush()
    view.check_stored()
    assert pruned
    assert values_of(saver, new) == expected(30)
    assert [one.config for one in saver.list(config())] == [new, at[1]]


async def test_all_that_follows_a_fork_of_a_pruned_step_is_written(
    saver: Saver, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = chain(saver, [30, 3])
    between(saver, monkeypatch, lambda: fresh(saver).prune(["t1"]))
    view = saver.staged()
    new = await put(view, expected(30), at[0], 9)
    await view.aput_writes(new, [("m", [HumanMessage("more " * 30)]), ("x", "new")], "task")
    later = await put(view, {"m": conversation(32), "x": "text 30 " * 20}, new, 10)
    await view.aput_writes(later, [("x", "newest")], "task")
    seen = await view.aget_tuple(config())  # the run itself reads what it wrote
    assert seen is not None
    assert seen.config == later
    last = await put(view, {"m": conversation(34), "x": "end"}, later, 11)
    await view.flush()
    assert [one.config for one in saver.list(config())] == [last, later, new, at[1]]
    found = fresh(saver).get_tuple(new)
    assert found is not None
    assert [value for _, _, value in found.pending_writes or ()] == [
        [HumanMessage("more " * 30)],
        "new",
    ]
    assert values_of(saver, later)["m"] == conversation(32)
    assert values_of(saver, last) == {"m": conversation(34), "x": "end"}


async def test_a_step_of_the_run_itself_that_is_pruned_meanwhile_is_gone_on_from(
    saver: Saver, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = chain(saver, [3])
    view = saver.staged()
    new = await put(view, expected(30), at[0], 9)
    await view.flush()
    other = fresh(saver)

    def overtake() -> None:
        made = checkpoint(expected(5), dict.fromkeys(expected(5), 5))
        other.put(at[0], made, {"source": "loop", "step": 5}, {})
        other.prune(["t1"])

    between(saver, monkeypatch, overtake)
    last = await put(view, expected(32), new, 10)
    await view.flush()
    assert saver.get_tuple(new) is None
    assert values_of(saver, last) == expected(32)


async def test_what_a_run_sent_ahead_and_was_pruned_is_sent_again(
    saver: Saver, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = chain(saver, [3, 5])
    between(saver, monkeypatch, lambda: fresh(saver).prune(["t1"]))
    view = saver.staged()
    new = await put(view, {"m": conversation(5), "x": LARGE}, at[1], 9)
    await view.flush()
    assert values_of(saver, new) == {"m": conversation(5), "x": LARGE}


async def test_writes_of_a_step_that_is_pruned_meanwhile_are_whole(
    saver: Saver, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = chain(saver, [30, 3])
    pruned = between(saver, monkeypatch, lambda: fresh(saver).prune(["t1"]))
    view = saver.staged()
    writes = [("x", "text 30 " * 20), ("m", conversation(30))]
    await view.aput_writes(at[0], writes, "task")
    await view.flush()
    assert pruned
    again = checkpoint({}, {}, id=at[0]["configurable"]["checkpoint_id"])
    saver.put(config(), again, {}, {})
    found = fresh(saver).get_tuple(at[0])
    assert found is not None
    assert [(name, value) for _, name, value in found.pending_writes or ()] == writes


async def test_what_was_planned_before_a_step_was_written_anew_is_planned_anew(
    saver: Saver, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = chain(saver, [30, 3])
    between(saver, monkeypatch, lambda: fresh(saver).prune(["t1"]))
    view = saver.staged()
    new = await put(view, expected(30), at[0], 9)
    with view._under_way.entered(("t1", "", new["configurable"]["checkpoint_id"])):
        # It is planned, and waits for writes that are under way.
        following = asyncio.create_task(put(view, expected(32), new, 10))
        await asyncio.sleep(0)
        await view.flush()
    last = await following
    await view.flush()
    assert values_of(saver, last) == expected(32)


async def test_a_run_of_a_thread_that_is_deleted_meanwhile_is_refused(
    saver: Saver, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = chain(saver, [30, 3])
    between(saver, monkeypatch, lambda: fresh(saver).delete_thread("t1"))
    view = saver.staged()
    await refused(view, at[1])
    await refused(view, at[1])
    assert not saver._documents.measure(saver._scope, "t1")


async def test_a_thread_deleted_and_begun_anew_meanwhile_takes_nothing_of_the_run(
    saver: Saver, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = chain(saver, [30, 3])
    begun: list[RunnableConfig] = []

    def begin_anew() -> None:
        other = fresh(saver)
        other.delete_thread("t1")
        made = checkpoint(expected(2), dict.fromkeys(expected(2), 1))
        begun.append(other.put(config(), made, {"source": "loop", "step": 1}, {}))

    between(saver, monkeypatch, begin_anew)
    view = saver.staged()
    await refused(view, at[1])
    assert [one.config for one in fresh(saver).list(config())] == begun
    assert values_of(saver) == expected(2)


def add(current: list[str], writes: Any) -> list[str]:
    return [*current, *(word for each in writes for word in each)]


class Log(TypedDict):
    log: Annotated[list[str], DeltaChannel(add)]


async def test_a_fork_of_a_delta_channels_step_that_is_pruned_meanwhile_is_whole(
    saver: Saver, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = saver.staged()
    builder = StateGraph(Log).add_node("say", lambda _: {"log": ["said"]})
    graph = builder.add_edge(START, "say").compile(checkpointer=view)
    for turn in range(3):
        await graph.ainvoke({"log": [f"in {turn}"]}, config(), durability="sync")
    steps = [state async for state in graph.aget_state_history(config())]
    old = next(state for state in steps if state.values["log"] == ["in 0", "said"])
    pruned = between(saver, monkeypatch, lambda: forget(saver, old.config))
    await graph.ainvoke({"log": ["fork"]}, old.config, durability="async")
    await view.flush()
    assert pruned
    reader = builder.compile(checkpointer=fresh(saver))
    assert (await reader.aget_state(config())).values["log"] == ["in 0", "said", "fork", "said"]


async def test_a_delta_channels_value_that_is_gone_meanwhile_is_not_made_up(
    saver: Saver, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = saver.staged()
    other = await put(view, {"x": "text " * 30}, config(), 1)
    first = await put(view, {"log": ["a"], "x": "text " * 30}, config(), 1)
    await view.flush()
    between(saver, monkeypatch, lambda: forget(saver, first))
    made = checkpoint({"x": "text " * 30}, {"log": 2, "x": 1})
    said: Any = {"source": "loop", "step": 2, "counters_since_delta_snapshot": {"log": (1, 1)}}

    async def put_and_flush() -> None:
        await view.aput(first, made, said, {})
        await view.flush()

    with pytest.raises(NotFoundError, match="checkpoint"):
        await put_and_flush()
    assert [one.config for one in fresh(saver).list(config())] == [other]


def forget(saver: Saver, at: RunnableConfig) -> None:
    """Remove one checkpoint, and nothing else."""
    key = ("", at["configurable"]["checkpoint_id"])
    saver._documents.remove(saver._scope, "t1", [(CHECKPOINTS, key)])


async def test_an_agents_run_from_a_pruned_step_ends_with_all_its_messages(
    saver: Saver, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = saver.staged()
    graph = chat.build(view)
    for turn in range(3):
        await graph.ainvoke(chat.turn_input(turn), config(), durability="async")
    await view.flush()
    old = [state async for state in graph.aget_state_history(config()) if not state.next][1]
    pruned = between(saver, monkeypatch, lambda: fresh(saver).prune(["t1"]))
    await graph.ainvoke(chat.turn_input(2), old.config, durability="async")
    await view.flush()
    assert pruned
    assert values_of(saver)["messages"] == chat.history(3)


async def test_a_servers_run_from_a_step_that_is_pruned_meanwhile_succeeds(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [f"word {number} " * 20 for number in range(4)]
    async with deployed(
        {"steps": made_graphs.steps(2)}, backend.resources, backend.saver, store_on(backend)
    ) as site:
        thread_id = await site.new_thread("thread")
        for word in words[:3]:
            await site.runs.wait(RunRequest("steps", thread_id, input={"log": [word]}))
        at = config(thread_id)
        old = [one async for one in backend.saver.alist(at) if one.metadata["step"] == 1][-1]
        pruned = between(
            backend.saver, monkeypatch, lambda: fresh(backend.saver).prune([thread_id])
        )
        ran = await site.runs.wait(
            RunRequest(
                "steps",
                thread_id,
                input={"log": [words[3]]},
                checkpoint={"checkpoint_id": old.config["configurable"]["checkpoint_id"]},
            )
        )
        state = await site.state("steps", thread_id)
        row = await site.runs.get(thread_id, ran.run.run_id)
    assert pruned
    assert (ran.run.status, row.status) == ("success", "success")
    log = [word for word in state.values["log"] if word in words]
    assert log == [words[0], words[3]]
    assert fresh(backend.saver).get_tuple(old.config) is None
