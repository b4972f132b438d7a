"""Small graphs for the tests over HTTP; none needs a model or a key."""

import asyncio
import operator
from typing import Annotated, Any

from langchain_core.messages import AIMessage
from langgraph.config import get_config, get_store, get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    tag: str
    steps: int
    blob: Any


async def say(state: State) -> State:
    return {"log": [f"echo:{state.get('tag', '')}"]}


async def tick(state: State) -> State:
    await asyncio.sleep(0.01)
    get_stream_writer()({"tick": len(state.get("log", []))})
    return {"log": [len(state.get("log", []))]}


def go_on(state: State) -> str:
    return END if len(state["log"]) >= state.get("steps", 5) else "tick"


async def hang(state: State) -> State:
    await asyncio.sleep(600)
    return {"log": ["hung"]}


async def ask(state: State) -> State:
    answer = interrupt({"question": "ok?"})
    return {"log": [f"answer:{answer}"]}


async def fail(state: State) -> State:
    raise RuntimeError("deliberate failure \x00 in a node")


async def show_config(state: State) -> State:
    return {"blob": sorted(get_config()["configurable"].get("shown", []))}


async def remember(state: State) -> State:
    store = get_store()
    await store.aput(("memories",), state["tag"], {"text": state["tag"]})
    return {"log": [item.key for item in await store.asearch(("memories",), limit=100)]}


def single(name: str, node: Any) -> Any:
    graph = StateGraph(State).add_node(name, node).add_edge(START, name).add_edge(name, END)
    return graph.compile(name=name)


async def answer(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(f"you said {state['messages'][-1].content}", id="answer")]}


def graphs() -> dict[str, Any]:
    """Return fresh graphs by id."""
    ticking = StateGraph(State).add_node("tick", tick).add_edge(START, "tick")
    ticking.add_conditional_edges("tick", go_on)
    asking = StateGraph(State).add_node("say", say).add_node("ask", ask)
    asking.add_edge(START, "say").add_edge("say", "ask").add_edge("ask", END)
    chat = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
    return {
        "echo": single("say", say),
        "ticking": ticking.compile(),
        "hanging": single("hang", hang),
        "asking": asking.compile(),
        "failing": single("fail", fail),
        "configured": single("show_config", show_config),
        "remembering": single("remember", remember),
        "nested": single("child", asking.compile()),
        "chat": chat.compile(),
    }
