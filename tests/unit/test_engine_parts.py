"""The small parts of the engine, each alone."""

import asyncio
import threading
from typing import Any

import pytest
from langgraph.types import Send

from threadkeep.engine.cancel import Stop, outcome_of
from threadkeep.engine.endings import Endings
from threadkeep.engine.execution import StartGate
from threadkeep.engine.identifiers import new_id
from threadkeep.engine.inputs import graph_input
from threadkeep.engine.kwargs import free_keys, merged_config
from threadkeep.engine.lifecycle import Lifecycle
from threadkeep.engine.threads import NodeThreads, RunThreads, current_run
from threadkeep.errors import InvalidRequestError
from threadkeep.model.events import is_asked, mode_of


def test_identifiers_are_version_7_and_ordered_by_time() -> None:
    ids = [new_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert {(ident[14], ident[19] in "89ab") for ident in ids} == {("7", True)}
    milliseconds = [ident[:13] for ident in ids]
    assert milliseconds == sorted(milliseconds)


def test_reserved_keys_are_not_the_callers() -> None:
    given = {
        "thread_id": "t",
        "run_id": "r",
        "checkpoint_ns": "",
        "checkpoint_map": {},
        "__pregel_store": 1,
        "langgraph_auth_user_id": "u",
        "user_id": "mine",
    }
    assert free_keys(given) == {"user_id": "mine"}


def test_configs_merge_by_key_and_the_run_wins() -> None:
    below = {"tags": ["a", "b"], "configurable": {"x": 1, "y": 1}, "recursion_limit": 5}
    above = {"tags": ["b", "c"], "configurable": {"y": 2}, "metadata": {"m": 1}}
    assert merged_config(below, above) == {
        "tags": ["a", "b", "c"],
        "metadata": {"m": 1},
        "configurable": {"x": 1, "y": 2},
        "recursion_limit": 5,
    }


def test_a_command_takes_the_place_of_input() -> None:
    command: Any = graph_input(
        {
            "input": {"ignored": True},
            "command": {
                "resume": {"a": 1},
                "update": [["k", "v"], ["k", "w"]],
                "goto": ["one", {"node": "two", "input": 2}],
            },
        }
    )
    assert command.resume == {"a": 1}
    assert command.update == [("k", "v"), ("k", "w")]
    assert command.goto == ["one", Send("two", 2)]


def test_a_command_that_goes_nowhere_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="goto is 5"):
        graph_input({"command": {"goto": 5}})


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("values", "values"),
        ("updates|child:1|deeper:2", "updates"),
        ("messages", "messages-tuple"),
        ("messages|child:1", "messages-tuple"),
        ("messages/partial", "messages"),
        ("messages/complete|child:1", "messages"),
    ],
)
def test_an_event_belongs_to_the_mode_its_name_says(name: str, mode: str) -> None:
    assert mode_of(name) == mode
    assert is_asked(name, {mode})
    assert not is_asked(name, {"custom"})
    assert is_asked(name, ())


def test_metadata_and_errors_come_whatever_is_asked() -> None:
    assert is_asked("metadata", {"custom"})
    assert is_asked("error", {"custom"})


def test_a_timeout_carries_its_limit_and_a_cancel_no_error() -> None:
    timeout = outcome_of(Stop.TIMEOUT, timeout_seconds=3)
    assert timeout.error["message"] == "the run took longer than 3 seconds"
    assert outcome_of(Stop.INTERRUPT, timeout_seconds=None).error is None
    assert outcome_of(Stop.SHUTDOWN, timeout_seconds=None).reason == "server_restarted"


def test_lifecycle_tells_failed_and_interrupted_subgraphs_apart() -> None:
    lifecycle = Lifecycle()
    started = [*lifecycle.take(("a:1",), {"id": "x", "name": "n", "input": None})]
    started += lifecycle.take(("b:2",), {"id": "y", "name": "n", "input": None})
    assert [event["graph_name"] for event in started] == ["a", "b"]
    failed = lifecycle.take((), {"id": "1", "name": "a", "result": {}, "error": "bad"})
    assert [*failed] == [{"event": "failed", "namespace": ["a:1"], "error": "bad"}]
    asked = {"id": "2", "name": "b", "result": {}, "interrupts": [{"id": "i"}]}
    assert [*lifecycle.take((), asked)] == [{"event": "interrupted", "namespace": ["b:2"]}]
    assert [*lifecycle.finish("completed")] == []


def test_lifecycle_names_the_tool_call_that_started_an_agent() -> None:
    lifecycle = Lifecycle()
    task = {"id": "1", "name": "tools", "input": {"tool_call": {"id": "call-9"}}}
    assert [*lifecycle.take((), task)] == []
    inner = {"id": "x", "name": "n", "input": None, "metadata": {"lc_agent_name": "helper"}}
    [started] = lifecycle.take(("tools:1",), inner)
    assert started["graph_name"] == "helper"
    assert started["cause"] == {"type": "toolCall", "tool_call_id": "call-9"}
    assert [*lifecycle.finish("failed")] == [{"event": "failed", "namespace": ["tools:1"]}]


@pytest.mark.anyio
async def test_who_waits_for_an_end_is_told_once_and_leaves_nothing() -> None:
    endings = Endings()
    with endings.watch("run") as one, endings.watch("run") as two:
        result: Any = "result"
        endings.tell("run", result)
        assert [await one, await two] == [result, result]
    with endings.watch("run") as late:
        assert not late.done()
    assert endings._waiting == {}


@pytest.mark.anyio
async def test_the_gate_lets_two_start_and_the_next_when_one_has() -> None:
    gate = StartGate()
    first, _ = await gate.enter(), await gate.enter()
    third = asyncio.ensure_future(gate.enter())
    await asyncio.sleep(0)
    assert not third.done()
    first()
    first()
    await third
    fourth = asyncio.ensure_future(gate.enter())
    await fourth  # the turns end by themselves


@pytest.fixture
def threads() -> Any:
    threads = NodeThreads(2)
    yield threads
    threads.shutdown()


def test_calls_in_threads_give_results_and_errors(threads: NodeThreads) -> None:
    def fail() -> None:
        raise ValueError("bad")

    assert threads.submit(divmod, 7, 2).result() == (3, 1)
    with pytest.raises(ValueError, match="bad"):
        threads.submit(fail).result()


def test_threads_that_are_free_are_used_again(threads: NodeThreads) -> None:
    names = {threads.submit(_thread_name).result() for _ in range(20)}
    assert len(names) <= 2


def test_many_calls_run_at_once(threads: NodeThreads) -> None:
    together = threading.Barrier(8)
    calls = [threads.submit(together.wait, 10) for _ in range(8)]
    assert sorted(call.result() for call in calls) == list(range(8))


def test_after_the_end_no_call_is_taken() -> None:
    threads = NodeThreads(1)
    threads.submit(int).result()
    threads.shutdown()
    threads.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        threads.submit(int)


@pytest.mark.anyio
async def test_a_runs_calls_are_known_until_they_end(threads: NodeThreads) -> None:
    run, may_end = RunThreads(), threading.Event()
    token = current_run.set(run)
    call = threads.submit(may_end.wait, 10)
    current_run.reset(token)
    threads.submit(int)
    assert run.are_working
    assert not await run.ended(within_seconds=0.01)
    may_end.set()
    assert await run.ended(within_seconds=None)
    assert call.result() is True
    assert not run.are_working


def _thread_name() -> str:
    return threading.current_thread().name
