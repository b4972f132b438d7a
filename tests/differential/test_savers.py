"""Random graphs on LangGraph's saver in memory and on ours at once: every read is the same.

``Both`` hands each call to the two savers and compares what they answer, so the graph's own reads
are compared too. The other saver needs unique versions: with integers it loses values after a fork.
"""

import asyncio
import copy
import random
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import InvalidUpdateError
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt

from tests.postgres_savers import opened_saver
from threadkeep import DocumentCheckpointSaver

TURNS = 6
THREAD = "t"


def plain(value: Any) -> Any:
    """Take a value apart so that types count in a comparison, and the order of keys does not."""
    if isinstance(value, BaseMessage):
        return type(value), plain(value.__dict__)
    if isinstance(value, dict):
        return type(value), {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        kind = list if type(value) is tuple else type(value)  # LangGraph's saver forgets tuples
        return kind, [plain(inner) for inner in value]
    return type(value), value


def place(config: RunnableConfig | None) -> list[Any] | None:
    """Take the address out of a config: the saver in memory hands back all that it was given."""
    keys = ("thread_id", "checkpoint_ns", "checkpoint_id")
    return None if config is None else [config["configurable"].get(key) for key in keys]


def assert_same(theirs: CheckpointTuple | None, ours: CheckpointTuple | None) -> None:
    assert (theirs is None) == (ours is None)
    if theirs is None or ours is None:
        return
    assert place(theirs.config) == place(ours.config)
    assert place(theirs.parent_config) == place(ours.parent_config)
    # LangGraph leaves this key out of the stub it puts in exit mode; ours then has it as None.
    assert plain({"updated_channels": None, **theirs.checkpoint}) == plain(ours.checkpoint)
    assert plain(theirs.metadata) == plain(ours.metadata)
    assert plain(theirs.pending_writes) == plain(ours.pending_writes)


class Both(BaseCheckpointSaver[str]):
    """Two savers as one."""

    def __init__(self, ours: DocumentCheckpointSaver) -> None:
        super().__init__()
        self.theirs, self.ours = InMemorySaver(), ours
        self.reads = 0
        self.deltas = 0
        self._lock = threading.RLock()

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        with self._lock:
            theirs, ours = self.theirs.get_tuple(config), self.ours.get_tuple(config)
            assert_same(theirs, ours)
            self.reads += 1
            return ours

    def list(self, config: RunnableConfig | None, **options: Any) -> Iterator[CheckpointTuple]:
        with self._lock:
            theirs = list(self.theirs.list(config, **options))
            ours = list(self.ours.list(config, **options))
            for one, other in zip(by_id(theirs), by_id(ours), strict=True):
                assert_same(one, other)
            self.reads += len(ours)
        return iter(ours)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        checkpoint = copy.deepcopy(checkpoint)  # a node that runs on may edit what it holds
        with self._lock:
            self.theirs.put(config, checkpoint, metadata, new_versions)
            return self.ours.put(config, checkpoint, metadata, new_versions)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        writes = copy.deepcopy(writes)
        with self._lock:
            self.theirs.put_writes(config, writes, task_id, task_path)
            self.ours.put_writes(config, writes, task_id, task_path)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        with self._lock:
            theirs = self.theirs.get_delta_channel_history(config=config, channels=channels)
            ours = self.ours.get_delta_channel_history(config=config, channels=channels)
            assert plain(theirs) == plain(ours)
            self.deltas += len(ours)
            return ours

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        theirs = await self.theirs.aget_delta_channel_history(config=config, channels=channels)
        ours = await self.ours.aget_delta_channel_history(config=config, channels=channels)
        assert plain(theirs) == plain(ours)
        self.deltas += len(ours)
        return ours

    def delete_thread(self, thread_id: str) -> None:
        with self._lock:
            self.theirs.delete_thread(thread_id)
            self.ours.delete_thread(thread_id)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        theirs, ours = await self.theirs.aget_tuple(config), await self.ours.aget_tuple(config)
        assert_same(theirs, ours)
        self.reads += 1
        return ours

    async def alist(
        self, config: RunnableConfig | None, **options: Any
    ) -> AsyncIterator[CheckpointTuple]:
        for found in self.list(config, **options):
            yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        checkpoint = copy.deepcopy(checkpoint)
        await self.theirs.aput(config, checkpoint, metadata, new_versions)
        return await self.ours.aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        writes = copy.deepcopy(writes)
        await self.theirs.aput_writes(config, writes, task_id, task_path)
        await self.ours.aput_writes(config, writes, task_id, task_path)

    def get_next_version(self, current: str | None, channel: None) -> str:
        return self.theirs.get_next_version(current, channel)


def by_id(found: Sequence[CheckpointTuple]) -> list[CheckpointTuple]:
    """Order a listing as SQL savers do: the saver in memory groups by thread and namespace."""
    return sorted(found, key=lambda one: one.checkpoint["id"], reverse=True)


def extend(current: list[Any] | None, writes: Sequence[Any]) -> list[Any]:
    """Reduce as a delta channel does: the state, and all writes of a step at once."""
    return [*(current or []), *(each for one in writes for each in one)]


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    rows: Annotated[list[Any], add]
    table: list[Any]
    data: dict[str, Any]
    index: dict[Any, Any]
    notes: str
    done: int
    log: Annotated[list[Any], DeltaChannel(extend, snapshot_frequency=4)]
    names: Annotated[list[Any], DeltaChannel(extend)]


class Script:
    """What the nodes do next; the same choices whichever saver reads them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.made = 0

    def message(self) -> AnyMessage:
        self.made += 1
        kind = self.random.choice((HumanMessage, AIMessage))
        text = "word " * self.random.choice((1, 20, 300))
        made: AnyMessage = kind(f"{self.made} {text}", id=f"m{self.made}")
        made.response_metadata = {"n": {"deep": [self.made]}}
        return made

    def row(self) -> Any:
        self.made += 1
        return self.random.choice(
            (self.made, "é" * (self.made % 120), {"id": self.made, "tags": ["x"] * 20}, None)
        )

    def update(self, state: State) -> State:
        change: Callable[[State], State] = self.random.choice(
            (
                self.append,
                self.append,
                self.log,
                self.remove,
                self.replace,
                self.edit_in_place,
                self.edit_unreturned,
                self.rewrite_table,
                self.edit_data,
                self.edit_index,
                self.write_notes,
                self.write_notes,
            )
        )
        return change(state)

    def log(self, _: State) -> State:
        return {"log": [self.row() for _ in range(3)], "names": [f"name {self.made}"]}

    def append(self, _: State) -> State:
        return {
            "log": [self.message()],
            "messages": [self.message() for _ in range(self.random.randint(1, 9))],
            "rows": [self.row() for _ in range(self.random.randint(0, 30))],
        }

    def remove(self, state: State) -> State:
        messages: list[Any] = state.get("messages", [])
        gone = self.random.sample(messages, min(len(messages), self.random.randint(1, 6)))
        removals: list[Any] = [RemoveMessage(id=str(one.id)) for one in gone]
        return {"messages": removals}

    def replace(self, state: State) -> State:
        if not state.get("messages"):
            return self.append(state)
        old = self.random.choice(state["messages"])
        return {"messages": [AIMessage("replaced " * 9, id=old.id)]}

    def edit_in_place(self, state: State) -> State:
        if not state.get("messages"):
            return self.append(state)
        one = self.random.choice(state["messages"])
        one.content = f"edited {self.made} " * 9
        return {"messages": [one]}

    def edit_unreturned(self, state: State) -> State:
        for one in self.random.sample(
            state.get("messages", []), min(2, len(state.get("messages", [])))
        ):
            one.response_metadata.setdefault("n", {}).setdefault("deep", []).append(True)
        return {"messages": [self.message()]}

    def rewrite_table(self, state: State) -> State:
        table = list(state.get("table", []))
        table[self.random.randint(0, len(table)) :] = [self.row() for _ in range(9)]
        return {"table": table}

    def edit_data(self, state: State) -> State:
        data = dict(state.get("data", {}))
        data[self.random.choice("abc")] = [self.message() for _ in range(12)]
        data["text"] = "t" * self.random.choice((3, 3000))
        return {"data": data}

    def edit_index(self, state: State) -> State:
        """Change a dict of many keys, in place or not, and its order."""
        index = state.get("index") or {f"k{number}": [self.row()] for number in range(90)}
        key = self.random.choice(list(index))
        way = self.random.randrange(4)
        if way == 0:
            index[key].append(self.row())
        elif way == 1:
            index = {**index, self.made: [self.message()]}
        elif way == 2:
            index[key] = index.pop(key)
        else:
            index = {other: inner for other, inner in index.items() if other != key}
        return {"index": index}

    def write_notes(self, state: State) -> State:
        notes = state.get("notes", "notes " * 500)
        cut = self.random.choice((len(notes), len(notes), len(notes), 2900, 7))
        return {"notes": f"{notes[:cut]}{self.made} é " + "more " * self.random.choice((1, 300))}


def build(script: Script, saver: BaseCheckpointSaver[Any]) -> Any:
    child: Any = StateGraph(State)

    child.add_node("inner", script.update)
    child.add_edge(START, "inner")
    child.add_edge("inner", END)

    def ask(_: State) -> State:
        return {"rows": [interrupt({"q": "go on?"})]}

    def fan(_: State) -> Any:
        way = script.random.choice(("work", "send", "child", "ask", END))
        if way == "send":
            return [Send("work", {"messages": [], "rows": [n]}) for n in range(3)]
        return way

    graph: Any = StateGraph(State)
    graph.add_node("work", script.update)
    graph.add_node("child", child.compile())
    graph.add_node("ask", ask)
    graph.add_edge(START, "work")
    graph.add_conditional_edges("work", fan, ["work", "child", "ask", END])
    graph.add_edge("child", END)
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)


@contextmanager
def opened(driver: str, folder: Path) -> Iterator[DocumentCheckpointSaver]:
    url = "memory://" if driver == "memory" else f"sqlite:///{folder}/s.db"
    with DocumentCheckpointSaver.from_url(url) as saver:
        yield saver


def compare_all(both: Both) -> None:
    """Compare every read there is, warm."""
    thread: RunnableConfig = {"configurable": {"thread_id": THREAD}}
    everything = list(both.list(thread))
    list(both.list(None, filter={"source": "loop"}))
    list(both.list(thread, filter={"step": 2, "parents": {}}))
    for found in everything:
        both.get_tuple(found.config)
    if everything:
        before = everything[len(everything) // 2].config
        list(both.list({"configurable": {"thread_id": THREAD, "checkpoint_ns": ""}}, before=before))


def compare_histories(both: Both) -> None:
    """Compare what made the values of the delta channels, at every checkpoint."""
    thread: RunnableConfig = {"configurable": {"thread_id": THREAD}}
    for found in both.list(thread):
        both.get_delta_channel_history(config=found.config, channels=["log", "names", "none"])


def compare_copy(both: Both) -> None:
    """Copy the thread, and compare it with the other saver's own."""
    both.ours.copy_thread(THREAD, "copy")
    theirs = by_id(list(both.theirs.list({"configurable": {"thread_id": THREAD}})))
    ours = list(both.ours.list({"configurable": {"thread_id": "copy"}}))
    for one, other in zip(theirs, ours, strict=True):
        for config in (other.config, other.parent_config):
            if config is not None:
                config["configurable"]["thread_id"] = THREAD
        assert_same(one, other)


def values_of(graph: Any, at: RunnableConfig) -> Any:
    try:
        state = graph.get_state(at)
    except InvalidUpdateError:
        return "two values for one channel"
    return plain(state.values), state.next, len(state.interrupts)


def another(saver: DocumentCheckpointSaver) -> DocumentCheckpointSaver:
    """Return a saver of the same checkpoints that knows nothing yet."""
    scope = saver._scope
    return DocumentCheckpointSaver(
        saver._documents, namespace=scope.namespace, agent_id=scope.agent_id
    )


def compare_pruned(script: Script, both: Both, keep_last: int) -> None:
    """Prune the copy: the newest states are what they were, and the thread goes on."""
    at: RunnableConfig = {"configurable": {"thread_id": "copy"}}
    graph = build(script, both.ours)
    before = [values_of(graph, one.config) for one in both.ours.list(root(at), limit=keep_last)]
    both.ours.prune(["copy"], keep_last=keep_last)
    for saver in (both.ours, another(both.ours)):
        graph = build(script, saver)
        after = [values_of(graph, one.config) for one in saver.list(root(at), limit=keep_last)]
        assert before == after
    both.ours.prune(["copy"], keep_last=keep_last)
    if not before:
        return
    with suppress(RecursionError, InvalidUpdateError):
        state = graph.get_state(at)
        graph.invoke(Command(resume="go on") if state.interrupts else {"rows": ["more"]}, at)
        assert "more" in graph.get_state(at).values["rows"] or state.interrupts


def root(at: RunnableConfig) -> RunnableConfig:
    return {"configurable": {**at["configurable"], "checkpoint_ns": ""}}


def take_a_turn(script: Script, graph: Any, both: Both, *, awaiting: bool) -> None:
    config: RunnableConfig = {
        "configurable": {"thread_id": THREAD},
        "recursion_limit": 12,
        "metadata": {"run_id": f"r{script.made}", "user": "ada"},
    }
    history = [one for one in graph.get_state_history(config) if one.values]
    way = script.random.random()
    given: Any = {"messages": [script.message()]}
    if history and history[0].interrupts:
        given = Command(resume=f"answer {script.made}")
    elif history and way < 0.2:
        past = script.random.choice(history)
        graph.update_state(past.config, script.append({}), as_node="work")
    elif history and way < 0.35:
        given, config = (
            None,
            config | {"configurable": script.random.choice(history).config["configurable"]},
        )
    elif way < 0.42:
        both.delete_thread(THREAD)
    options = {"durability": script.random.choice(("sync", "async", "exit"))}
    try:
        if awaiting:
            asyncio.run(graph.ainvoke(given, config, **options))
        else:
            graph.invoke(given, config, **options)
    except (RecursionError, InvalidUpdateError):
        pass


def read_the_same(seed: int, ours: DocumentCheckpointSaver) -> None:
    script = Script(seed)
    both = Both(ours)
    graph = build(script, both)
    for turn in range(TURNS):
        take_a_turn(script, graph, both, awaiting=turn % 2 == 1)
        compare_all(both)
        compare_histories(both)
        compare_copy(both)
        compare_pruned(script, both, keep_last=1 + turn % 3)
        both.ours.delete_thread("copy")
    both.ours = another(ours)
    compare_all(both)
    take_a_turn(script, build(script, both), both, awaiting=False)
    compare_all(both)
    assert both.reads > 50
    assert both.deltas > 20


@pytest.mark.parametrize("driver", ["memory", "sqlite"])
@pytest.mark.parametrize("seed", range(10))
def test_random_graphs_read_the_same_from_both_savers(
    seed: int, driver: str, tmp_path: Path
) -> None:
    with opened(driver, tmp_path) as ours:
        read_the_same(seed, ours)


@pytest.mark.parametrize("seed", range(4))
def test_random_graphs_read_the_same_from_postgresql(seed: int, postgres_module_url: str) -> None:
    with opened_saver(postgres_module_url) as ours:
        read_the_same(seed, ours)
