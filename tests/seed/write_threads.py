"""Runs where naas-abi-core is installed: stores threads with its savers, and tells what it reads.

    python write_threads.py FILE_OR_URL

Told on standard output as JSON: the checkpoints of both schemas, as its own reader gives them.
"""

# mypy: disable-error-code="import-not-found"
import base64
import json
import operator
import sys
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt
from naas_abi_core.services.agent.DocumentCheckpointSaver import DocumentCheckpointSaver
from naas_abi_core.services.agent.tests.legacy_checkpoints import v1_saver
from naas_abi_core.services.document.DocumentFactory import DocumentFactory
from naas_abi_core.services.document.DocumentService import DocumentService


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]
    notes: Annotated[list[str], operator.add]
    big: str
    approved: bool


def work(state: State) -> dict[str, Any]:
    number = len(state["messages"])
    said = AIMessage(f"answer {number} " + "x" * 900, id=f"a{number}")
    return {"messages": [said], "notes": [f"n{number}"] * 40, "big": "b" * 300_000}


def ask(state: State) -> dict[str, Any]:
    return {"approved": interrupt("may I?") == "yes"}


def compiled(saver: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("work", work)
    builder.add_node("ask", ask)
    builder.add_edge(START, "work")
    builder.add_edge("work", "ask")
    builder.add_edge("ask", END)
    return builder.compile(checkpointer=saver)


def turn(saver: Any, thread_id: str, turns: int, *, ends: bool = True) -> None:
    at = {"configurable": {"thread_id": thread_id}}
    for number in range(turns):
        said = HumanMessage(f"question {number}", id=f"h{thread_id}{number}")
        compiled(saver).invoke({"messages": [said], "notes": [], "approved": False}, at)
        if ends or number < turns - 1:
            compiled(saver).invoke(Command(resume="yes"), at)


def told(saver: Any) -> list[Any]:
    dump = JsonPlusSerializer().dumps_typed
    found = []
    for one in saver.list(None):
        parent = one.parent_config and one.parent_config["configurable"]["checkpoint_id"]
        at = one.config["configurable"]
        said = [one.checkpoint, one.metadata, [list(each) for each in one.pending_writes]]
        packed = base64.b64encode(dump(said)[1]).decode()
        place = [at["thread_id"], at["checkpoint_ns"], at["checkpoint_id"], parent]
        found.append([*place, packed])
    return found


def main(where: str) -> None:
    is_postgres = where.startswith("postgres")
    make = (
        DocumentFactory.DocumentAdapterPostgreSQL
        if is_postgres
        else DocumentFactory.DocumentAdapterSQLite
    )
    root = DocumentService._for_engine(make(where))
    old = root.for_namespace("naas_abi_core.services.agent")
    turn(v1_saver(old, "engine.v1"), "old", 1, ends=False)
    turn(v1_saver(old, "engine.v1"), "continued", 1, ends=False)
    saver = DocumentCheckpointSaver.for_engine(root)
    saver.setup()
    turn(saver, "new", 3)
    turn(saver, "asked", 1, ends=False)
    compiled(saver).invoke(Command(resume="yes"), {"configurable": {"thread_id": "continued"}})
    print(json.dumps(told(saver)))
    root.adapter.close()


if __name__ == "__main__":
    main(sys.argv[1])
