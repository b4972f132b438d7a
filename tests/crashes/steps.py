"""A run whose nodes leave marks outside of the database, in a process that is killed."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph

from tests.crashes.killing import Bomb, watched
from tests.crashes.scenes import at, open_saver, open_storage
from threadkeep import DocumentCheckpointSaver

NODES = ("first", "left", "right", "join", "last")


def joined(old: list[str], new: list[str]) -> list[str]:
    return [*old, *new]


class State(TypedDict):
    log: Annotated[list[str], joined]


def note(ledger: Path, line: str) -> None:
    """Write a line that outlives this process."""
    opened = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(opened, f"{line}\n".encode())
    os.close(opened)


class Noting(DocumentCheckpointSaver):
    """Notes each task's writes as soon as they are said to be durable."""

    ledger: Path

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        super().put_writes(config, writes, task_id, task_path)
        for channel, value in writes:
            if channel == "log":
                note(self.ledger, f"durable {value[0]}")


def build(saver: DocumentCheckpointSaver, ledger: Path) -> Any:
    builder: Any = StateGraph(State)
    for name in NODES:

        def act(_: State, name: str = name) -> State:
            note(ledger, f"ran {name}")
            return {"log": [name]}

        builder.add_node(name, act)
    for one, other in (("first", "left"), ("first", "right"), ("join", "last")):
        builder.add_edge(one, other)
    builder.add_edge(START, "first")
    builder.add_edge(["left", "right"], "join")
    builder.add_edge("last", END)
    return builder.compile(checkpointer=saver)


def run_on(url: str, thread_id: str, ledger: Path, kill_at: int) -> None:
    """Begin the run, or go on with what is stored of it."""
    bomb = Bomb(kill_at)
    with watched(bomb):
        driver = open_storage(url)
        saver = Noting(driver.documents())
        saver.ledger = ledger
        graph = build(saver, ledger)
        config = at(thread_id)
        given = None if graph.get_state(config).created_at else {"log": ["input"]}
        bomb.arm()
        graph.invoke(given, config, durability="sync")
        driver.close()


def final_log(url: str, thread_id: str, ledger: Path) -> list[str]:
    """Read what the run left."""
    driver = open_storage(url)
    try:
        state = build(open_saver(driver), ledger).get_state(at(thread_id))
        assert state.next == ()
        return list(state.values["log"])
    finally:
        driver.close()
