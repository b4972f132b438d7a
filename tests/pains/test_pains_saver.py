"""Faults that users of other checkpointers met, held against ours on each driver."""

import asyncio
import contextlib
import statistics
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from operator import add
from typing import Annotated, Any, TypedDict

import ormsgpack
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from tests.pains import saver_factories, types_stored
from threadkeep import DocumentCheckpointSaver
from threadkeep.errors import CorruptionError, ThreadkeepError
from threadkeep.ports.drivers import open_driver
from threadkeep.testing.saver_steps import checkpoint, config

Saver = DocumentCheckpointSaver


class Storage:
    """One storage, and the clients of it that a case opens."""

    def __init__(self, factory: str) -> None:
        self.name = uuid.uuid4().hex
        self._factory = getattr(saver_factories, factory)
        self._stack = contextlib.ExitStack()

    def open(self, **options: Any) -> Saver:
        """Open a client that stays open until the end of the case."""
        saver: Saver = self._stack.enter_context(self._factory(self.name, **options))
        return saver

    def client(self) -> contextlib.AbstractContextManager[Saver]:
        """Open a client that the case closes."""
        client: contextlib.AbstractContextManager[Saver] = self._factory(self.name)
        return client

    def stored_bytes(self) -> int:
        return saver_factories.stored_bytes(self.name)

    def raw_bytes(self) -> bytes:
        return saver_factories.raw_bytes(self.name)

    def close(self) -> None:
        self._stack.close()
        saver_factories.drop(self.name)


@pytest.fixture(
    params=[
        "memory_saver",
        "sqlite_saver",
        pytest.param("postgres_saver", marks=pytest.mark.servers),
    ]
)
def storage(request: pytest.FixtureRequest) -> Iterator[Storage]:
    with contextlib.closing(Storage(request.param)) as storage:
        if request.param == "postgres_saver":
            saver_factories.keep_in(storage.name, request.getfixturevalue("postgres_module_url"))
        yield storage


def write(
    saver: Saver,
    values: Mapping[str, Any],
    at: RunnableConfig | None = None,
    version: Any = f"{1:032}.0",
    **said: Any,
) -> RunnableConfig:
    made = checkpoint(values, dict.fromkeys(values, version))
    metadata: Any = {"source": "loop", "step": 0, "parents": {}, **said}
    return saver.put(at or config("t"), made, metadata, made["channel_versions"])


def read(saver: Saver, at: RunnableConfig | None = None) -> dict[str, Any]:
    found = saver.get_tuple(at or config("t"))
    assert found is not None
    return found.checkpoint["channel_values"]


def round_trip(saver: Saver, value: Any) -> Any:
    write(saver, {"v": value})
    return read(saver)["v"]


class Chat(TypedDict):
    messages: Annotated[list[Any], add]


class Log(TypedDict):
    log: Annotated[list[str], add]


def chat_graph(saver: Saver) -> Any:
    def reply(state: Chat) -> Chat:
        return {"messages": [AIMessage(f"re: {state['messages'][-1].content[:20]}")]}

    graph: Any = StateGraph(Chat)
    graph.add_node("reply", reply)
    graph.add_edge(START, "reply")
    graph.add_edge("reply", END)
    return graph.compile(checkpointer=saver)


def log_graph(saver: Saver, schema: Any = Log) -> Any:
    graph = StateGraph(schema)
    graph.add_node("say", lambda _: {"log": ["said"]})
    graph.add_edge(START, "say")
    graph.add_edge("say", END)
    return graph.compile(checkpointer=saver)


def extend(current: list[str], writes: Any) -> list[str]:
    """Reduce as a delta channel does: the state, and all writes of a step at once."""
    return [*current, *(text for one in writes for text in one)]


class DeltaLog(TypedDict):
    log: Annotated[list[str], DeltaChannel(extend)]


def test_p01_bytes_per_turn_stay_flat(storage: Storage) -> None:
    graph = chat_graph(storage.open())
    sizes = []
    for turn in range(40):
        graph.invoke({"messages": [HumanMessage(f"{turn} " + "x" * 1000)]}, config("t"))
        sizes.append(storage.stored_bytes())
    assert sizes[39] - sizes[29] <= 2 * sizes[9]


def test_p03_reading_the_head_does_not_depend_on_history(storage: Storage) -> None:
    saver = storage.open()

    def fill(thread: str, count: int) -> None:
        at = config(thread)
        for n in range(count):
            at = write(saver, {"a": [f"v{n}"]}, at, f"{n:032}.1", step=n)

    def seconds(thread: str) -> float:
        taken = []
        for _ in range(15):
            started = time.perf_counter()
            saver.get_tuple(config(thread))
            taken.append(time.perf_counter() - started)
        return statistics.median(taken)

    fill("short", 20)
    fill("long", 2000)
    assert seconds("long") < 4 * seconds("short") + 0.002


def test_p05_a_nul_in_text_is_kept(storage: Storage) -> None:
    assert round_trip(storage.open(), "before\x00after") == "before\x00after"


def test_p05_a_nul_in_a_message_is_kept(storage: Storage) -> None:
    graph = chat_graph(storage.open())
    graph.invoke({"messages": [HumanMessage("tool said \x00\x00")]}, config("t"))
    first = graph.get_state(config("t")).values["messages"][0]
    assert first.content == "tool said \x00\x00"


def test_p05_a_nul_in_metadata_is_kept(storage: Storage) -> None:
    saver = storage.open()
    write(saver, {"v": 1}, label="a\x00b")
    found = saver.get_tuple(config("t"))
    assert found is not None
    assert dict(found.metadata)["label"] == "a\x00b"


def test_p05_a_nul_in_a_thread_id_is_refused(storage: Storage) -> None:
    with pytest.raises(ThreadkeepError, match="without NUL"):
        write(storage.open(), {"v": 1}, config("x\x00y"))


@pytest.mark.parametrize("name", sorted(types_stored.VALUES))
def test_p07_a_users_type_comes_back(storage: Storage, name: str) -> None:
    value = types_stored.VALUES[name]
    came = round_trip(storage.open(), value)
    assert type(came) is type(value)
    assert came == value


def test_p09_a_class_that_moved_is_shown_with_its_data(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    saver = storage.open()
    write(saver, {"v": types_stored.Movable(name="ada")})
    with monkeypatch.context() as moved:
        moved.delattr(types_stored, "Movable")
        found = read(saver)["v"]
        assert type(found) is not dict
        assert "ada" in repr(found)
        write(saver, {"v": found}, version=f"{2:032}.0")
    assert read(saver)["v"] == types_stored.Movable(name="ada")


@pytest.mark.parametrize(
    ("code", "body"),
    [
        (0, ("types_stored", "trip", "one")),
        (1, ("types_stored", "trip", ["pos"])),
        (2, ("types_stored", "trip", {"what": "kw"})),
        (3, ("types_stored", "trip", "meth", "__call__")),
        (4, ("types_stored", "trip", {"what": "v1"})),
        (5, ("types_stored", "trip", {"what": "v2"}, "model_validate_json")),
        *((code, ("types_stored", "trip", {"a": 1}, None, None, None)) for code in range(16, 32)),
    ],
)
def test_p11_a_tampered_value_calls_nothing(code: int, body: tuple[Any, ...]) -> None:
    saver = DocumentCheckpointSaver(open_driver("memory://").documents())
    module, *rest = body
    named = [f"tests.pains.{module}", *rest]
    evil = ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(named)))
    types_stored.tripped.clear()
    before = set(sys.modules)
    with contextlib.suppress(CorruptionError):
        assert saver.serde.loads_typed(("msgpack", evil)) != "tripped"
    assert types_stored.tripped == []
    assert set(sys.modules) == before


def test_p09_a_failed_put_leaves_the_head_whole(storage: Storage) -> None:
    saver = storage.open()
    head = write(saver, {"a": ["one"], "b": ["two"]})
    with pytest.raises(ThreadkeepError, match="'b'"):
        write(saver, {"a": ["newer"], "b": [threading.Lock()]}, head, f"{2:032}.0", step=1)
    found = saver.get_tuple(config("t"))
    assert found is not None
    assert found.config == head
    assert read(saver) == {"a": ["one"], "b": ["two"]}
    assert len(list(saver.list(config("t")))) == 1


@pytest.mark.parametrize("key", ["x') OR 1=1 --", "source') = 'loop' OR ('1'='1", 'a"b', "$", "%s"])
def test_p13_a_filter_key_is_only_a_key(storage: Storage, key: str) -> None:
    saver = storage.open()
    write(saver, {"v": 1}, config("a"), tenant="a")
    write(saver, {"v": 2}, config("b"), tenant="b")
    assert list(saver.list(None, filter={"tenant": "a", key: "nope"})) == []


@pytest.mark.parametrize("key", ["tenant id", "\u043a\u043b\u044e\u0447", "a.b", "a'b"])
def test_p13_any_metadata_key_can_be_asked_for(storage: Storage, key: str) -> None:
    saver = storage.open()
    write(saver, {"v": 1}, config("a"), **{key: "yes"})
    write(saver, {"v": 2}, config("b"), other="yes")
    found = list(saver.list(None, filter={key: "yes"}))
    assert [one.config["configurable"]["thread_id"] for one in found] == ["a"]


def test_p19_forks_that_share_a_version_keep_their_values(storage: Storage) -> None:
    saver = storage.open()
    root = write(saver, {"m": ["root"]}, version=1)
    one = write(saver, {"m": ["root", "from worker one"]}, root, 2, step=1)
    two = write(saver, {"m": ["root", "from worker two"]}, root, 2, step=1)
    assert read(saver, one)["m"] == ["root", "from worker one"]
    assert read(saver, two)["m"] == ["root", "from worker two"]


def test_p19_many_threads_share_one_client(storage: Storage) -> None:
    saver = storage.open()

    def talk(number: int) -> Any:
        at = config(f"t{number}")
        for n in range(5):
            at = write(saver, {"m": [number, n]}, at, f"{n:032}.{number}", step=n)
            saver.put_writes(at, [("m", [number, n, "w"])], f"task{n}")
        found = saver.get_tuple(config(f"t{number}"))
        return found and (found.pending_writes or [])[0][2]

    with ThreadPoolExecutor(12) as pool:
        said = list(pool.map(talk, range(24)))
    assert said == [[number, 4, "w"] for number in range(24)]


def test_p21_two_clients_write_one_storage_at_once(storage: Storage) -> None:
    one, two = storage.open(), storage.open()

    def talk(saver: Saver, name: str) -> None:
        at = config(name)
        for n in range(60):
            at = write(saver, {"m": [name, n]}, at, f"{n:032}.1", step=n)

    with ThreadPoolExecutor(2) as pool:
        for talking in [pool.submit(talk, one, "a"), pool.submit(talk, two, "b")]:
            talking.result(60)
    assert read(one, config("b"))["m"] == ["b", 59]
    assert read(two, config("a"))["m"] == ["a", 59]


def test_p21_one_client_serves_two_event_loops(storage: Storage) -> None:
    saver = storage.open()
    made = checkpoint({"m": ["hello"]}, {"m": 1})
    asyncio.run(saver.aput(config("t"), made, {"source": "loop", "step": 0}, {"m": 1}))
    found = asyncio.run(saver.aget_tuple(config("t")))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"m": ["hello"]}


def test_p23_a_late_write_does_not_bring_a_thread_back(storage: Storage) -> None:
    saver = storage.open()
    at = write(saver, {"m": ["private"]}, version=f"{1:032}.1")
    saver.delete_thread("t")
    late: list[Callable[[], Any]] = [
        lambda: saver.put_writes(at, [("m", "late")], "task"),
        lambda: write(saver, {"m": ["private", "late"]}, at, f"{2:032}.1", step=1),
    ]
    for one in late:
        with pytest.raises(ThreadkeepError, match="no thread"):
            one()
    assert saver.get_tuple(config("t")) is None
    assert b"private" not in storage.raw_bytes()


def test_p23_deleting_leaves_no_byte_in_any_namespace(storage: Storage) -> None:
    saver = storage.open()
    kept = write(saver, {"m": ["keep me"]}, config("other"))
    for namespace in ("", "child:1", "child:1|grandchild:2"):
        values = {"m": ["canary-" + "z" * 3000]}
        at = write(saver, values, config("t", namespace), label="canary-meta")
        saver.put_writes(at, [("m", "canary-write")], "task")
    assert b"canary-" in storage.raw_bytes()
    saver.delete_thread("t")
    assert b"canary-" not in storage.raw_bytes()
    assert read(saver, kept) == {"m": ["keep me"]}


def test_p25_prune_keeps_the_head_and_frees_the_rest(storage: Storage) -> None:
    saver = storage.open()
    graph = chat_graph(saver)
    for turn in range(8):
        graph.invoke({"messages": [HumanMessage(f"m{turn}" + "x" * 2000)]}, config("t"))
    wanted = graph.get_state(config("t")).values
    before, files_before = storage.stored_bytes(), saver_factories.file_bytes(storage.name)
    saver.prune(["t"])
    assert len(list(saver.list(config("t")))) == 1
    assert graph.get_state(config("t")).values == wanted
    assert storage.stored_bytes() < before / 2
    assert saver_factories.file_bytes(storage.name) <= files_before / 2
    graph.invoke({"messages": [HumanMessage("next")]}, config("t"))
    assert len(graph.get_state(config("t")).values["messages"]) == 18


def test_p25_prune_of_a_delta_thread_loses_nothing(storage: Storage) -> None:
    saver = storage.open()
    graph = log_graph(saver, DeltaLog)
    for turn in range(5):
        graph.invoke({"log": [f"in{turn}"]}, config("t"))
    wanted = graph.get_state(config("t")).values["log"]
    assert len(wanted) == 10
    saver.prune(["t"])
    assert graph.get_state(config("t")).values["log"] == wanted


def test_p27_four_clients_may_set_up_one_fresh_storage(storage: Storage) -> None:
    clients = [storage.open(setup=False) for _ in range(4)]
    gate = threading.Barrier(4)

    def set_up(saver: Saver) -> None:
        gate.wait()
        saver.setup()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(set_up, clients, timeout=30))
    write(clients[0], {"m": ["x"]})
    assert read(clients[3]) == {"m": ["x"]}
    clients[1].setup()


@pytest.mark.parametrize("schema", [Log, DeltaLog])
def test_p29_a_fork_and_the_branch_it_left_both_stay_right(storage: Storage, schema: Any) -> None:
    graph = log_graph(storage.open(), schema)
    for n in range(3):
        graph.invoke({"log": [f"in{n}"]}, config("t"))
    tip = graph.get_state(config("t"))
    history = graph.get_state_history(config("t"))
    past = next(one for one in history if len(one.values.get("log", [])) == 2 and not one.next)
    forked = graph.update_state(past.config, {"log": ["fork"]})
    assert graph.get_state(forked).values["log"] == [*past.values["log"], "fork"]
    assert graph.get_state(tip.config).values["log"] == tip.values["log"]


def test_p31_finished_siblings_are_not_run_again_after_a_restart(storage: Storage) -> None:
    ran = []

    def build(saver: Saver) -> Any:
        def paid(_: Log) -> Log:
            ran.append("paid")
            return {"log": ["paid"]}

        graph: Any = StateGraph(Log)
        graph.add_node("paid", paid)
        graph.add_node("ask", lambda _: {"log": [interrupt({"q": "ok?"})]})
        graph.add_edge(START, "paid")
        graph.add_edge(START, "ask")
        return graph.compile(checkpointer=saver)

    with storage.client() as saver:
        build(saver).invoke({"log": []}, config("t"))
    with storage.client() as saver:
        graph = build(saver)
        assert [one.value for one in graph.get_state(config("t")).interrupts] == [{"q": "ok?"}]
        done = graph.invoke(Command(resume="yes"), config("t"))
    assert sorted(done["log"]) == ["paid", "yes"]
    assert ran == ["paid"]


def test_p39_a_tool_result_of_twenty_megabytes(storage: Storage) -> None:
    saver = storage.open()
    text = "0123456789abcdef" * (20 * 1024 * 1024 // 16)
    came = round_trip(saver, [HumanMessage("go"), ToolMessage(text, tool_call_id="1")])
    assert came[1].content == text
    head = saver.get_tuple(config("t"))
    assert head is not None
    saver.put_writes(head.config, [("v", text)], "task")
    again = saver.get_tuple(config("t"))
    assert again is not None
    assert (again.pending_writes or [])[0][2] == text
