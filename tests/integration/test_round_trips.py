"""Nested values of every kind come back the same from a store, also in another process."""

import json
import os
import subprocess
import sys
import uuid
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.types import Interrupt, Send

from tests import kept_values
from tests.kept_values import VALUES, is_same
from tests.pains import saver_factories
from threadkeep.errors import ValueNotStorableError
from threadkeep.model.default_scope import AGENT_ID, NAMESPACE
from threadkeep.savers.saver import DocumentCheckpointSaver
from threadkeep.testing.saver_steps import checkpoint, config

text = st.text(st.characters(), max_size=8)  # lone surrogates and NUL are among them
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    text,
    st.binary(max_size=6),
    st.complex_numbers(),
    st.decimals(),
    st.fractions(),
    st.dates(),
    st.datetimes(timezones=st.none() | st.timezones(), allow_imaginary=False),
    st.times(),
    st.timedeltas(),
    st.uuids(),
    st.ip_addresses(),
    st.sampled_from([*kept_values.Colour, *kept_values.Mode, *kept_values.Level]),
    st.integers(0, 3).map(kept_values.Right),
    st.builds(range, st.integers(), st.integers(), st.integers(1, 9)),
    st.builds(bytearray, st.binary(max_size=6)),
)
keys = st.one_of(
    text, st.integers(), st.booleans(), st.none(), st.dates(), st.uuids(), st.tuples(text, text),
    st.sampled_from([*kept_values.Colour, *kept_values.Mode]), st.frozensets(text, max_size=2),
    st.decimals(allow_nan=False),
)  # fmt: skip


Made = Callable[[Any], Any]

OBJECTS: tuple[Made, ...] = (
    lambda one: kept_values.Point(one, 3, [one]),
    lambda one: kept_values.Day(date(2026, 1, 1), one),
    lambda one: kept_values.Pair(one, one),
    lambda one: kept_values.Frozen(name="a", more=one),  # type: ignore[call-arg]
    lambda one: kept_values.Outer.Inner.model_construct(n=one),
    lambda one: kept_values.Old.construct(name=one, when=None),
    lambda one: HumanMessage("hi", id="1", additional_kwargs={"v": one}),
    lambda one: ToolMessage("r", tool_call_id="1", artifact=one),
    lambda one: Send("node", one),
    lambda one: Interrupt(one, id="i"),
    lambda one: {"plain": one},
    lambda one: {"key": one, 1: one},
)
CONTAINERS: tuple[Made, ...] = (
    list,
    tuple,
    deque,
    lambda items: dict(enumerate(items)),
    lambda items: {f"key {at}": item for at, item in enumerate(items)},
    lambda items: {(at, "t"): item for at, item in enumerate(items)},
    lambda items: OrderedDict(enumerate(items)),
    lambda items: defaultdict(list, enumerate(items)),
)


@st.composite
def values(draw: st.DrawFn, depth: int = 4) -> Any:
    """Draw a value, its parts nested in containers and objects."""
    kind = draw(st.integers(0, 5)) if depth else 0
    match kind:
        case 0:
            return draw(scalars)
        case 1:
            return VALUES[draw(st.sampled_from(sorted(VALUES)))]
        case 2:
            return draw(st.sampled_from((set, frozenset)))(draw(st.lists(keys, max_size=3)))
        case 3:
            return draw(st.sampled_from(OBJECTS))(draw(values(depth - 1)))
        case 4:
            return draw(st.dictionaries(keys, values(depth - 1), max_size=3))
    items = [draw(values(depth - 1)) for _ in range(draw(st.integers(0, 3)))]
    return draw(st.sampled_from(CONTAINERS))(items)


class Storage:
    """A store of its own, and savers on it."""

    def __init__(self, driver: str, name: str) -> None:
        self.name = name
        self.driver = driver
        self._factory = getattr(saver_factories, f"{driver}_saver")

    def saver(self) -> Any:
        return self._factory(self.name)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def storage(request: pytest.FixtureRequest) -> Iterator[Storage]:
    name = uuid.uuid4().hex
    if request.param == "postgres":
        saver_factories.keep_in(name, request.getfixturevalue("postgres_module_url"))
    yield Storage(request.param, name)
    saver_factories.drop(name)


def put(saver: DocumentCheckpointSaver, thread: str, values: dict[str, Any]) -> None:
    made = checkpoint(values, dict.fromkeys(values, 1))
    head = saver.put(config(thread), made, {"source": "loop", "step": 0, "parents": {}}, {})
    saver.put_writes(head, list(values.items()), "task")


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(value=values())
def test_a_value_comes_back_the_same_or_is_refused(storage: Storage, value: Any) -> None:
    kept = {"value": value, "in_list": [value, value], "in_dict": {"k": [value], "v": value}}
    thread = uuid.uuid4().hex
    with storage.saver() as saver:
        try:
            put(saver, thread, kept)
        except ValueNotStorableError as error:
            refused = str(error)
            assert "channel 'value' of thread" in refused
            return
    with storage.saver() as saver:  # another client: it knows nothing of the first
        found = saver.get_tuple(config(thread))
        assert is_same(found.checkpoint["channel_values"], kept)
        assert is_same({name: held for _, name, held in found.pending_writes}, kept)
        (listed,) = saver.list(config(thread))
        assert is_same(listed.checkpoint["channel_values"], kept)


READER = """
import json, sys
from tests import kept_values
from tests.kept_values import VALUES, is_same
from threadkeep import DocumentCheckpointSaver
url, namespace, agent, thread = json.loads(sys.argv[1])
with DocumentCheckpointSaver.from_url(url, namespace=namespace, agent_id=agent) as saver:
    found = saver.get_tuple({"configurable": {"thread_id": thread, "checkpoint_ns": ""}})
    held = found.checkpoint["channel_values"]
    print(json.dumps([name for name in VALUES if not is_same(held[name], VALUES[name])]))
    print(json.dumps(kept_values.calls))
"""


@pytest.mark.parametrize("seed", ["1", "77"])
def test_a_value_comes_back_the_same_in_another_process(storage: Storage, seed: str) -> None:
    thread = uuid.uuid4().hex
    with storage.saver() as saver:
        put(saver, thread, dict(VALUES))
    told = [saver_factories.address(storage.name), NAMESPACE, AGENT_ID, thread]
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        [sys.executable, "-c", READER, json.dumps(told)],
        env={**os.environ, "PYTHONHASHSEED": seed},
        cwd=root,
        capture_output=True,
        text=True,
        timeout=90,
        check=True,
    )
    different, calls = map(json.loads, ran.stdout.splitlines())
    assert different == []
    assert set(calls) <= {"validator", "model_post_init", "__post_init__"}  # of the values made
