"""Any history of a value, through any saver, comes back exactly: types and order of keys too."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Send

from threadkeep import DocumentCheckpointSaver
from threadkeep.ports.drivers import open_driver
from threadkeep.testing.saver_steps import checkpoint, config

Step = tuple[Any, ...]

exactly = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(allow_nan=False), texts, st.binary()
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(texts, inner, max_size=3),
        st.builds(HumanMessage, texts, id=st.just("m")),
    ),
    max_leaves=6,
)
keys = st.one_of(st.text(max_size=12), st.integers(-(2**63), 2**64 - 1))
anywhere = st.integers(0, 10**6)
changes = st.one_of(
    st.tuples(st.just("set"), anywhere, values),
    st.tuples(st.just("add"), keys, values),
    st.tuples(st.just("delete"), anywhere),
    st.tuples(st.just("move"), anywhere),
    st.tuples(st.just("edit"), anywhere, scalars),
    st.tuples(st.just("swap keys"), anywhere, keys),
    st.tuples(st.just("keep first"), anywhere),
)
steps = st.tuples(
    st.lists(changes, max_size=3), st.sampled_from(["put", "write first", "restart", "read"])
)


def apply(value: dict[Any, Any], change: Step) -> dict[Any, Any]:
    """Change a dict, in place or not; a value in it only in place."""
    kind, *arguments = change
    if kind == "add":
        return value | {arguments[0]: arguments[1]}
    if kind == "keep first":
        return dict(list(value.items())[: 20 + arguments[0] % 40])
    if not value:
        return value
    key = list(value)[arguments[0] % len(value)]
    if kind == "swap keys":
        return {arguments[1] if one == key else one: inner for one, inner in value.items()}
    in_place[kind](value, key, arguments[1:])
    return value


def put_value(value: dict[Any, Any], key: Any, new: Sequence[Any]) -> None:
    value[key] = new[0]


def delete(value: dict[Any, Any], key: Any, _: Sequence[Any]) -> None:
    del value[key]


def move(value: dict[Any, Any], key: Any, _: Sequence[Any]) -> None:
    value[key] = value.pop(key)


def edit(value: dict[Any, Any], key: Any, new: Sequence[Any]) -> None:
    inner = value[key]
    if isinstance(inner, list):
        inner.append(new[0])
    elif isinstance(inner, dict):
        inner["edited"] = new[0]
    elif isinstance(inner, HumanMessage):
        inner.additional_kwargs["edited"] = new[0]


in_place = {"set": put_value, "delete": delete, "move": move, "edit": edit}


@contextmanager
def history_of() -> Iterator["History"]:
    driver = open_driver("memory://")
    yield History(driver.documents())
    driver.close()


class History:
    """Puts one value after another, and knows what each was."""

    def __init__(self, documents: Any) -> None:
        self._documents = documents
        self.saver = DocumentCheckpointSaver(documents)
        self.at: RunnableConfig = config()
        self.said: list[tuple[RunnableConfig, str]] = []

    def put(self, value: Any, way: str) -> None:
        if way == "restart":
            self.saver = DocumentCheckpointSaver(self._documents)
        if way == "write first" and self.said:
            self.saver.put_writes(self.at, [("v", value)], "task")
        made = checkpoint({"v": value, "s": 1}, {"v": len(self.said) + 1, "s": 1})
        self.at = self.saver.put(self.at, made, {"source": "loop", "step": 0}, {})
        self.said.append((self.at, repr(value)))

    def last(self) -> Any:
        found = self.saver.get_tuple(self.at)
        assert found is not None
        return found.checkpoint["channel_values"]["v"]

    def check(self) -> None:
        """Read everything, by a saver that knows nothing; then from a copy, and pruned."""
        fresh = DocumentCheckpointSaver(self._documents)
        self._check(fresh, "t1", self.said)
        listed = [repr(one.checkpoint["channel_values"]["v"]) for one in fresh.list(config())]
        assert listed == [value for _, value in self.said][::-1]
        for one, (_, value) in zip([*fresh.list(config())][1:], self.said[:0:-1], strict=True):
            for _, _, written in one.pending_writes or ():
                assert repr(written) == value
        fresh.copy_thread("t1", "t2")
        fresh.prune(["t2"], keep_last=2)
        self._check(fresh, "t2", self.said[-2:])
        fresh.prune(["t1"])
        self._check(self.saver, "t1", self.said[-1:])
        self._check(DocumentCheckpointSaver(self._documents), "t1", self.said[-1:])

    def _check(self, saver: Any, thread: str, said: Sequence[tuple[RunnableConfig, str]]) -> None:
        for at, value in said:
            place = {**at["configurable"], "thread_id": thread}
            found = saver.get_tuple({"configurable": place})
            assert found is not None
            assert repr(found.checkpoint["channel_values"]["v"]) == value


texts_of_any_size = st.builds(
    lambda text, times: text * times, texts, st.sampled_from([1, 1, 20, 100, 300])
)
edits = st.tuples(
    st.sampled_from(["append", "append", "append", "prepend", "cut", "insert", "other", "bytes"]),
    anywhere,
    texts_of_any_size,
)


def edited(value: str | bytes, change: Step) -> str | bytes:
    kind, place, new = change
    if kind == "bytes":
        return value.encode() if isinstance(value, str) else value.decode()
    if isinstance(value, bytes):
        return edited(value.decode(), change).encode()  # type: ignore[union-attr]
    at = place % (len(value) + 1)
    parts = {
        "append": (value, new),
        "prepend": (new, value),
        "cut": (value[:at],),
        "insert": (value[:at], new, value[at:]),
        "other": (new,),
    }
    return "".join(parts[kind])


@exactly
@given(
    texts_of_any_size,
    st.booleans(),
    st.lists(
        st.tuples(edits, st.sampled_from(["put", "put", "write first", "restart", "read"])),
        max_size=12,
    ),
)
def test_any_history_of_a_text_comes_back(
    value: str | bytes, inside: bool, then: list[tuple[Step, str]]
) -> None:
    with history_of() as history:
        for change, way in [(("insert", 0, ""), "put"), *then]:
            if way == "read":
                history.last()
            value = edited(value, change)
            history.put({"rows": ["one"], "text": value} if inside else value, way)
        history.check()


elements = st.one_of(values, st.builds(HumanMessage, st.just("text " * 20), id=st.just("m")))
list_changes = st.one_of(
    st.tuples(st.just("append"), st.lists(elements, min_size=1, max_size=5)),
    st.tuples(st.just("insert"), anywhere, elements),
    st.tuples(st.just("delete"), anywhere),
    st.tuples(st.just("edit"), anywhere, scalars),
)


def change_list(value: list[Any], change: Step) -> list[Any]:
    kind, *arguments = change
    if kind == "append":
        return [*value, *arguments[0]]
    at = arguments[0] % (len(value) + 1)
    if kind == "insert":
        value.insert(at, arguments[1])
    elif kind == "delete":
        return value[:at] + value[at + 1 :]
    elif at < len(value):
        edit({0: value[at]}, 0, arguments[1:])
    return value


@exactly
@given(
    st.integers(0, 40),
    st.sampled_from(["a list", "in a dict", "deep in a dict", "sent", "all of these"]),
    st.lists(
        st.tuples(
            st.lists(list_changes, min_size=1, max_size=3),
            st.sampled_from(["put", "put", "write first", "restart", "read"]),
        ),
        max_size=8,
    ),
)
def test_any_history_of_a_list_comes_back_wherever_it_is(
    count: int, where: str, then: list[tuple[list[Step], str]]
) -> None:
    value: list[Any] = [HumanMessage(f"{number} " * 20, id="m") for number in range(count)]

    def placed() -> Any:
        ways = {
            "a list": value,
            "in a dict": {"n": 1, "messages": value},
            "deep in a dict": {"call": {"args": [1]}, "state": {"messages": value, "n": {}}},
        }
        ways["sent"] = [Send("a", ways["deep in a dict"]), Send("b", 1), Send("c", {"m": value})]
        return ways.get(where, [*ways.values()])

    with history_of() as history:
        history.put(placed(), "put")
        for made, way in then:
            if way == "read":
                history.last()
            for change in made:
                value = change_list(value, change)
            history.put(placed(), way)
        history.check()


@exactly
@given(
    st.dictionaries(keys, values, max_size=3),
    st.integers(0, 90),
    st.booleans(),
    st.lists(steps, min_size=1, max_size=6),
)
def test_any_history_of_a_dict_comes_back(
    first: dict[Any, Any], count: int, inside: bool, then: list[tuple[list[Step], str]]
) -> None:
    value = first | {f"key {number}": {"text": "x" * (number % 60)} for number in range(count)}
    with history_of() as history:
        history.put({"few": value} if inside else value, "put")
        for made, way in then:
            if way == "read":
                value = history.last()
                value = value["few"] if inside else value
            for change in made:
                value = apply(value, change)
            history.put({"few": value} if inside else value, way)
        history.check()
