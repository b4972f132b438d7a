"""Graphs that go on after a prune: what an interrupted one resumes from stays, on each driver."""

from operator import add
from typing import Annotated, Any

import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from tests.integration.test_prune_races import fresh, saver
from threadkeep import DocumentCheckpointSaver
from threadkeep.testing.saver_steps import config

__all__ = ["saver"]  # a fixture


def extend(current: list[str], writes: Any) -> list[str]:
    return [*current, *(word for each in writes for word in each)]


class Plain(TypedDict):
    log: Annotated[list[str], add]


class Delta(TypedDict):
    log: Annotated[list[str], DeltaChannel(extend)]


def asking(saver: DocumentCheckpointSaver, schema: Any, ran: list[str], **options: Any) -> Any:
    """Return a graph whose subgraph does one thing, asks, and does another."""

    def does(what: str) -> Any:
        def node(_: Any) -> Any:
            ran.append(what)
            return {"log": [f"{what} " * 30]}

        return node

    inner: Any = StateGraph(schema)
    inner.add_node("before", does("before"))
    inner.add_node("ask", lambda _: {"log": [interrupt("go on?")]})
    inner.add_node("after", does("after"))
    inner.add_edge(START, "before").add_edge("before", "ask").add_edge("ask", "after")
    outer: Any = StateGraph(schema)
    outer.add_node("sub", inner.compile(**options))
    outer.add_edge(START, "sub")
    return outer.compile(checkpointer=saver)


@pytest.mark.parametrize("schema", [Plain, Delta])
@pytest.mark.parametrize("options", [{}, {"checkpointer": True}])
def test_an_interrupted_subgraph_resumes_after_a_prune(
    saver: DocumentCheckpointSaver, schema: Any, options: dict[str, Any]
) -> None:
    ran: list[str] = []
    graph = asking(saver, schema, ran, **options)
    graph.invoke({"log": ["first " * 30]}, config())
    graph.invoke(Command(resume="yes"), config())  # an earlier turn, which is to go
    graph.invoke({"log": ["second " * 30]}, config())
    stopped = graph.get_state(config(), subgraphs=True)
    assert [each.value for each in stopped.interrupts] == ["go on?"]
    del ran[:]
    for _ in range(2):
        fresh(saver).prune(["t1"])
    graph = asking(fresh(saver), schema, ran, **options)
    kept = graph.get_state(config(), subgraphs=True)
    assert kept.values == stopped.values
    assert kept.tasks[0].state.values == stopped.tasks[0].state.values
    done = graph.invoke(Command(resume="no"), config())
    assert ran == ["after"]
    assert done["log"][-3:] == ["before " * 30, "no", "after " * 30]
    assert graph.get_state(config()).values == done
    assert not graph.get_state(config()).next


def test_a_delta_thread_that_is_deleted_begins_anew_without_what_it_had(
    saver: DocumentCheckpointSaver,
) -> None:
    builder: Any = StateGraph(Delta).add_node("say", lambda _: {"log": ["said"]})
    graph = builder.add_edge(START, "say").compile(checkpointer=saver)
    graph.invoke({"log": ["old"]}, config())
    fresh(saver).delete_thread("t1")
    graph = builder.compile(checkpointer=fresh(saver))
    assert graph.invoke({"log": ["new"]}, config())["log"] == ["new", "said"]
    assert graph.get_state(config()).values["log"] == ["new", "said"]
    saver.copy_thread("t1", "t2")
    saver.prune(["t2"])
    assert graph.invoke({"log": ["more"]}, config("t2"))["log"] == ["new", "said", "more", "said"]
    assert graph.get_state(config()).values["log"] == ["new", "said"]
