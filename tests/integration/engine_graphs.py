"""Graphs of every kind a server must run."""

import asyncio
import operator
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_store, get_stream_writer
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send, interrupt
from typing_extensions import TypedDict

from tests.integration.models import ScriptedModel

ALICE = {"messages": [{"role": "user", "content": "I am Alice"}]}


class Log(TypedDict):
    """What nodes append to."""

    log: Annotated[list[Any], operator.add]


def one_node(node: Any, schema: Any = Log) -> Any:
    """Return a graph of one node."""
    return StateGraph(schema).add_node("node", node).add_edge(START, "node").compile()


async def answer(state: MessagesState) -> Any:
    return {"messages": [AIMessage(f"{len(state['messages'])} messages so far")]}


def chat() -> Any:
    """Counts the messages of the conversation."""
    return one_node(answer, MessagesState)


def streaming_chat() -> Any:
    """Says three words through a model, token by token."""
    model = ScriptedModel(script=[AIMessage("one two three")])

    async def speak(state: MessagesState) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return one_node(speak, MessagesState)


def two_questions() -> Any:
    """Asks two things at once, then ends."""

    def ask(name: str) -> Any:
        def node(state: Log) -> Log:
            return {"log": [{name: interrupt({"ask": name})}]}

        return node

    builder = StateGraph(Log).add_node("first", ask("first")).add_node("second", ask("second"))
    return builder.add_edge(START, "first").add_edge(START, "second").compile()


def steps(count: int) -> Any:
    """Does so many steps, each in a node of its own."""
    builder = StateGraph(Log)
    for number in range(count):
        builder.add_node(f"step{number}", _step(number))
    builder.add_edge(START, "step0")
    for number in range(1, count):
        builder.add_edge(f"step{number - 1}", f"step{number}")
    return builder.compile()


def _step(number: int) -> Any:
    async def node(state: Log) -> Log:
        return {"log": [number]}

    return node


def fan_out() -> Any:
    """Sends three numbers to workers and sums what comes back."""

    def split(state: Log) -> list[Send]:
        return [Send("worker", {"number": number}) for number in (1, 2, 3)]

    async def worker(state: Any) -> Log:
        return {"log": [state["number"] * 10]}

    builder = StateGraph(Log).add_node("worker", worker)
    return builder.add_conditional_edges(START, split, ["worker"]).compile()


def with_subgraph() -> Any:
    """Has a child of two steps."""
    return StateGraph(Log).add_node("child", steps(2)).add_edge(START, "child").compile()


def writer() -> Any:
    """Writes to the custom stream, from an async and from a sync node."""

    async def first(state: Log) -> Log:
        get_stream_writer()({"at": "first"})
        return {"log": []}

    def second(state: Log) -> Log:
        get_stream_writer()({"at": "second"})
        return {"log": []}

    return StateGraph(Log).add_sequence([first, second]).add_edge(START, "first").compile()


def failing(error: BaseException) -> Any:
    """Does one step and fails in the next."""

    async def fine(state: Log) -> Log:
        return {"log": ["fine"]}

    async def fails(state: Log) -> Log:
        raise error

    return StateGraph(Log).add_sequence([fine, fails]).add_edge(START, "fine").compile()


@dataclass
class Gate:
    """Lets a test see a node begin, and say when it may end."""

    begun: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    opened: threading.Event = field(default_factory=threading.Event)
    cancelled: list[str] = field(default_factory=list)

    async def has_begun(self) -> None:
        await _soon(lambda: self.begun.acquire(blocking=False))

    async def has_opened(self) -> None:
        await _soon(self.opened.is_set)


async def _soon(condition: Callable[[], bool]) -> None:
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0.002)
    raise AssertionError("it did not come to be so")


def waiting(gate: Gate) -> Any:
    """Does one step, then waits at the gate in an async node."""

    async def before(state: Log) -> Log:
        return {"log": ["before"]}

    async def wait(state: Log) -> Log:
        gate.begun.release()
        try:
            await gate.has_opened()
        except asyncio.CancelledError:
            gate.cancelled.append("node")
            raise
        return {"log": ["waited"]}

    return StateGraph(Log).add_sequence([before, wait]).add_edge(START, "before").compile()


def blocking(gate: Gate) -> Any:
    """Waits at the gate in a sync node, which nothing can stop from outside."""

    def block(state: Log) -> Log:
        gate.begun.release()
        gate.opened.wait(timeout=30)
        return {"log": ["blocked"]}

    return one_node(block)


def stubborn(gate: Gate) -> Any:
    """Waits at the gate in an async node that swallows its cancellation."""

    async def stay(state: Log) -> Log:
        gate.begun.release()
        while not gate.opened.is_set():
            try:
                await gate.has_opened()
            except asyncio.CancelledError:
                gate.cancelled.append("swallowed")
        return {"log": ["stayed"]}

    async def after(state: Log) -> Log:
        return {"log": ["after"]}

    return StateGraph(Log).add_sequence([stay, after]).add_edge(START, "stay").compile()


def emitter(count: int) -> Any:
    """Writes so many custom events."""

    async def emit(state: Log) -> Log:
        write = get_stream_writer()
        for number in range(count):
            write(number)
            if number % 100 == 0:
                await asyncio.sleep(0)
        return {"log": []}

    return one_node(emit)


@dataclass
class Context:
    """What ``told`` is told."""

    tone: str = "flat"


def told() -> Any:
    """Returns what reached the graph: config and context."""

    async def tell(state: Log, config: RunnableConfig, runtime: Runtime[Context]) -> Log:
        info = runtime.server_info
        assert info is not None
        return {
            "log": [
                {
                    "configurable": {
                        key: value
                        for key, value in config["configurable"].items()
                        if not key.startswith("__")
                    },
                    "tags": list(config.get("tags") or ()),
                    "metadata": dict(config["metadata"]),
                    "tone": runtime.context.tone,
                    "graph_id": info.graph_id,
                }
            ]
        }

    node: Any = tell
    builder = StateGraph(Log, context_schema=Context).add_node("tell", node)
    return builder.add_edge(START, "tell").compile()


def remembering() -> Any:
    """Counts its visits in long-term memory, once from an async and once from a sync node."""

    async def visit(state: Log) -> Log:
        store = get_store()
        found = await store.aget(("visits",), "count")
        count = 1 if found is None else found.value["count"] + 1
        await store.aput(("visits",), "count", {"count": count})
        return {"log": [count]}

    def look(state: Log) -> Log:
        found = get_store().get(("visits",), "count")
        assert found is not None
        return {"log": [found.value["count"]]}

    return StateGraph(Log).add_sequence([visit, look]).add_edge(START, "visit").compile()


@task
async def double(number: int) -> int:
    return number * 2


@entrypoint()
async def functional(number: int) -> int:
    """A graph of the functional API: its state is no mapping."""
    return await double(number)


async def make_chat(config: RunnableConfig) -> Any:
    """An async factory that takes a config."""
    return chat()


def make_builder() -> Any:
    """A sync factory without arguments, of a builder."""
    return StateGraph(MessagesState).add_node("node", answer).add_edge(START, "node")


class Opened:
    """How often the context-manager factory was entered and left."""

    entered = 0
    left = 0


@asynccontextmanager
async def open_chat(runtime: Any) -> AsyncIterator[Any]:
    """A factory that is a context manager and takes a runtime."""
    assert runtime.access_context in ("threads.create_run", "threads.read")
    Opened.entered += 1
    yield chat()
    Opened.left += 1


def going_on() -> Any:
    """Goes where a command says: used with ``goto`` and ``update``."""

    async def decide(state: Log) -> Command[Any]:
        answered = interrupt("where to?")
        return Command(goto=answered, update={"log": [answered]})

    async def left(state: Log) -> Log:
        return {"log": ["was left"]}

    async def right(state: Log) -> Log:
        return {"log": ["was right"]}

    builder = StateGraph(Log).add_node("decide", decide, destinations=("left", "right"))
    builder.add_node("left", left).add_node("right", right)
    return builder.add_edge(START, "decide").add_edge("left", END).add_edge("right", END).compile()
