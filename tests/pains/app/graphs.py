"""Small graphs that need no model; what they did is lines in the file named by PAINS_LEDGER.

So a test can count how often a node really ran, whatever the server says.
"""

import asyncio
import operator
import os
import time
from typing import Annotated, Any

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

STEP_SECONDS = 0.05


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    tag: str
    seconds: float
    steps: int
    blob: Any


def _append(line: str) -> None:
    with open(os.environ["PAINS_LEDGER"], "a", encoding="utf-8") as file:
        file.write(line + "\n")


async def note(line: str) -> None:
    await asyncio.to_thread(_append, line)


async def say(state: State) -> State:
    await note(f"echo {state.get('tag', '')}")
    said: State = {"log": [f"echo:{state.get('tag', '')}"]}
    return {**said, "blob": state["blob"]} if "blob" in state else said


async def begin(state: State) -> State:
    await note(f"start {state.get('tag', '')} {time.time():.3f}")
    return {"log": ["start"]}


async def work(state: State) -> State:
    for _ in range(max(1, int(state.get("seconds", 1) / STEP_SECONDS))):
        await asyncio.sleep(STEP_SECONDS)
    await note(f"end {state.get('tag', '')} {time.time():.3f}")
    return {"log": ["work"]}


async def tick(state: State) -> State:
    await asyncio.sleep(STEP_SECONDS)
    return {"log": [len(state.get("log", []))]}


def go_on(state: State) -> str:
    return END if len(state["log"]) >= state.get("steps", 10) else "tick"


async def before(state: State) -> State:
    await note(f"before {state.get('tag', '')}")
    return {"log": ["before"]}


async def ask(state: State) -> State:
    answer = interrupt({"question": "ok?"})
    await note(f"answered {state.get('tag', '')}")
    await asyncio.sleep(6 * STEP_SECONDS)
    return {"log": [f"answer:{answer}"]}


async def fail(state: State) -> State:
    await note(f"fail {state.get('tag', '')}")
    raise RuntimeError("deliberate failure \x00 in a node")


def chain(name: str, **nodes: Any) -> Any:
    graph, last = StateGraph(State), START
    for node, function in nodes.items():
        graph.add_node(node, function)
        graph.add_edge(last, node)
        last = node
    graph.add_edge(last, END)
    return graph.compile(name=name)


echo = chain("echo", say=say)
slow = chain("slow", begin=begin, work=work)
interrupting = chain("interrupting", before=before, ask=ask)
failing = chain("failing", fail=fail)
ticking = (
    StateGraph(State)
    .add_node("tick", tick)
    .add_edge(START, "tick")
    .add_conditional_edges("tick", go_on)
    .compile(name="ticking")
)
