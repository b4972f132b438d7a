"""Loading graphs from files and opening what is there."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore

from threadkeep.engine.graphs import Graphs, GraphSpec
from threadkeep.errors import GraphLoadError, NotFoundError

pytestmark = pytest.mark.anyio

GRAPH = """
from langgraph.graph import START, MessagesState, StateGraph

async def node(state):
    return {"messages": []}

builder = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node")
graph = builder.compile()
made = lambda: graph
number = 5

class Holder:
    graph = graph
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def write(folder: Path, name: str, text: str) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(dedent(text))


async def loaded(folder: Path, **graphs: str) -> Graphs:
    specs = [GraphSpec(graph_id, *address.rsplit(":", 1)) for graph_id, address in graphs.items()]
    found = Graphs(specs, base_dir=folder)
    await found.load()
    return found


async def nodes_of(graphs: Graphs, graph_id: str, **options: Any) -> set[str]:
    async with graphs.open(graph_id, {}, saver=None, store=None, **options) as graph:
        return set(graph.nodes)


async def test_each_kind_of_export_can_be_opened(folder: Path) -> None:
    write(folder, "agent.py", GRAPH)
    names = ("graph", "builder", "made", "Holder.graph")
    graphs = await loaded(folder, **{name: f"./agent.py:{name}" for name in names})
    for name in names:
        assert await nodes_of(graphs, name) == {"__start__", "node"}


async def test_a_file_is_imported_once_for_all_its_graphs(folder: Path) -> None:
    write(folder, "agent.py", GRAPH + "\nimport sys\nsys.counted = getattr(sys, 'counted', 0) + 1")
    await loaded(folder, one="./agent.py:graph", two="agent.py:builder")
    assert sys.__dict__.pop("counted") == 1


async def test_a_file_may_import_its_neighbours(folder: Path) -> None:
    write(folder, "neighbour_of_agent.py", GRAPH)
    write(folder, "agent.py", "from neighbour_of_agent import graph")
    graphs = await loaded(folder, chat="./agent.py:graph")
    assert await nodes_of(graphs, "chat") == {"__start__", "node"}


async def test_a_file_of_a_package_may_import_relatively(folder: Path) -> None:
    write(folder, "src/package_of_agent/__init__.py", "")
    write(folder, "src/package_of_agent/inner/__init__.py", "")
    write(folder, "src/package_of_agent/parts.py", GRAPH)
    write(folder, "src/package_of_agent/inner/agent.py", "from ..parts import graph")
    graphs = await loaded(folder, chat="./src/package_of_agent/inner/agent.py:graph")
    assert await nodes_of(graphs, "chat") == {"__start__", "node"}


async def test_a_dotted_module_may_be_named(folder: Path) -> None:
    write(folder, "dotted_of_agent/agent.py", GRAPH)
    graphs = await loaded(folder, chat="dotted_of_agent.agent:graph")
    assert await nodes_of(graphs, "chat") == {"__start__", "node"}


@pytest.mark.parametrize(
    ("text", "export", "said"),
    [
        (None, "graph", "no such file"),
        ("x = 1", "graph", "the module has no 'graph'"),
        ("import nothing_like_it", "graph", "ModuleNotFoundError: No module named"),
        ("def broken(:", "graph", "SyntaxError"),
        ("raise SystemExit(3)", "graph", "SystemExit: 3"),
        (GRAPH, "number", "is a int; expected a compiled graph"),
        ("def graph(config, runtime, other): ...", "graph", "takes config, runtime, other"),
        ("from langgraph.graph import StateGraph\ngraph = StateGraph(dict)", "graph", "compiled"),
    ],
)
async def test_a_graph_that_fails_says_why_and_the_others_serve(
    folder: Path, text: str | None, export: str, said: str
) -> None:
    write(folder, "good.py", GRAPH)
    if text is not None:
        write(folder, "bad.py", text)
    graphs = await loaded(folder, bad=f"./bad.py:{export}", good="./good.py:graph")
    error = graphs.error_of("bad")
    assert error is not None
    assert "'bad'" in str(error)
    assert said in str(error)
    assert graphs.error_of("good") is None
    assert await nodes_of(graphs, "good") == {"__start__", "node"}
    with pytest.raises(GraphLoadError, match="'bad'"):
        await nodes_of(graphs, "bad")


async def test_an_unknown_graph_is_not_found() -> None:
    with pytest.raises(NotFoundError, match="graph 'unknown'"):
        await nodes_of(Graphs.of({}), "unknown")


async def test_the_default_assistant_of_a_graph_has_the_platforms_id() -> None:
    graphs = Graphs.of({"agent": None})
    assert graphs.assistant_id_of("agent") == "fe096781-5601-53d2-b2f6-0d3403f7e9ca"
    assert graphs.assistant_id_of("other") == "other"


def builder() -> Any:
    async def node(state: MessagesState) -> Any:
        return {"messages": []}

    return StateGraph(MessagesState).add_node("node", node).add_edge(START, "node")


async def test_a_graphs_own_saver_and_store_are_replaced_with_one_word_about_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    own = builder().compile(checkpointer=InMemorySaver(), store=InMemoryStore())
    graphs = Graphs.of({"chat": own})
    await graphs.load()
    saver, store = InMemorySaver(), InMemoryStore()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            async with graphs.open("chat", {}, saver=saver, store=store) as graph:
                assert graph.checkpointer is saver
                assert graph.store is store
                assert graph.nodes is own.nodes
    assert own.checkpointer is not saver
    assert [record.levelname for record in caplog.records] == ["WARNING"]


async def test_a_graph_that_wants_no_saver_gets_none() -> None:
    graphs = Graphs.of({"chat": builder().compile(checkpointer=False)})
    await graphs.load()
    async with graphs.open("chat", {}, saver=InMemorySaver(), store=None) as graph:
        assert graph.checkpointer is False


async def test_factories_get_what_their_parameters_ask_for() -> None:
    seen: list[Any] = []

    def with_config(config: Any) -> Any:
        seen.append(config["configurable"]["model"])
        return builder()

    def with_any_name(settings: Any, extra: int = 3) -> Any:
        seen.append(settings["configurable"]["model"])
        return builder()

    async def with_runtime(runtime: Any) -> Any:
        seen.append((runtime.access_context, runtime.execution_runtime.context))
        return builder().compile()

    @contextmanager
    def with_both(config: Any, runtime: Any) -> Iterator[Any]:
        seen.append((config["configurable"]["model"], runtime.store))
        yield builder()
        seen.append("left")

    given = {
        "config": with_config,
        "any": with_any_name,
        "runtime": with_runtime,
        "both": with_both,
    }
    graphs = Graphs.of(given)
    await graphs.load()
    store = InMemoryStore()
    for graph_id in given:
        opened = graphs.open(
            graph_id,
            {"configurable": {"model": "small"}},
            saver=None,
            store=store,
            purpose="threads.create_run",
            context={"tone": "warm"},
        )
        async with opened as graph:
            assert "node" in graph.nodes
    assert seen == [
        "small",
        "small",
        ("threads.create_run", {"tone": "warm"}),
        ("small", store),
        "left",
    ]


async def test_a_factory_that_makes_something_else_says_so() -> None:
    graphs = Graphs.of({"chat": lambda: 5})
    await graphs.load()
    with pytest.raises(GraphLoadError, match="returned a int; expected a compiled graph"):
        await nodes_of(graphs, "chat")
