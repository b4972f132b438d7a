"""What is stored comes back exactly, or is refused; no code of a class runs for it."""

import copy
import dataclasses
import threading
from collections import defaultdict
from datetime import datetime, tzinfo
from typing import Any

import numpy as np
import ormsgpack
import pytest

from tests import kept_values
from tests.kept_values import VALUES, Colour, Order, is_same
from threadkeep.savers.serde import SafeSerializer
from threadkeep.savers.typed import codes
from threadkeep.savers.typed.placeholders import Unrestored

SERDE = SafeSerializer()


def again(value: Any, serde: SafeSerializer = SERDE) -> Any:
    return serde.loads_typed(serde.dumps_typed(value))


@pytest.mark.parametrize("name", VALUES)
def test_a_value_comes_back_as_it_was(name: str) -> None:
    value = VALUES[name]
    stored = SERDE.dumps_typed(value)
    kept_values.calls.clear()
    found = SERDE.loads_typed(stored)
    assert kept_values.calls == []
    assert is_same(found, value), repr(found)
    assert SERDE.dumps_typed(found) == stored
    inside = {"k": [value], "t": (value,)}
    assert is_same(again(inside), inside)
    assert kept_values.calls == []


def test_every_kind_of_state_is_the_same_under_another_order_of_hashes() -> None:
    one, other = {f"item {n}" for n in range(50)}, {f"item {n}" for n in reversed(range(50))}
    assert SERDE.dumps_typed(one) == SERDE.dumps_typed(other)


class Plain:
    pass


class Zone(tzinfo):
    def utcoffset(self, _at: Any) -> Any: ...
    def tzname(self, _at: Any) -> Any: ...
    def dst(self, _at: Any) -> Any: ...


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def _cycle() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


def _local_class() -> Any:
    @dataclasses.dataclass
    class Inside:
        x: int

    return Inside(1)


def _unset() -> Any:
    made = kept_values.Point(1)
    del made.x
    return made


REFUSED: dict[str, tuple[Any, str]] = {
    "a lock": ({"a": [1, threading.Lock()]}, r"at \['a'\]\[1\]: a _thread.lock is no data"),
    "a plain object": ([Plain()], r"at \[0\]: a tests.unit.test_kept_values.Plain is no data"),
    "a class": (Plain, "a builtins.type is no data"),
    "a function": (_deep, "a builtins.function is no data"),
    "a generator": ((n for n in [1]), "a builtins.generator is no data"),
    "a memoryview": ([memoryview(b"x")], "memoryview is no data"),
    "an exception": ({"e": ValueError("x")}, "ValueError is no data"),
    "a str subclass": ([kept_values.Special("x")], "Special is a subclass of str, and would come"),
    "in a field": (kept_values.Point(1, 2, [Plain()]), r"at \.seen\[0\]: "),
    "in a tuple": ((1, (2, Plain())), r"at \[1\]\[1\]: "),
    "in a key": ({(1, Plain()): 1}, "Plain is no data"),
    "too deep": (_deep(300), "nested more than 150 deep"),
    "a cycle": (_cycle(), "nested more than 150 deep"),
    "a local class": (_local_class(), "define it in a module, or use the saver of saver.for_graph"),
    "an unset field": (_unset(), "the field 'x' of this Point is not set"),
    "a factory": (defaultdict(lambda: 1), "default_factory is not one of list, dict"),
    "objects in numpy": (np.array([object()]), "holds objects"),
    "a matrix": (np.ma.array([1]), "would come back as a numpy array"),
    "another time zone": (datetime(2026, 1, 1, tzinfo=Zone()), "use zoneinfo.ZoneInfo"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_not_come_back_is_refused_with_its_place(name: str) -> None:
    value, why = REFUSED[name]
    with pytest.raises(TypeError, match=why):
        SERDE.dumps_typed(value)


def test_a_class_of_a_function_is_restored_where_it_was_given() -> None:
    value = {"v": [_local_class()]}
    serde = SERDE.with_classes([type(value["v"][0])])
    assert is_same(again(value, serde), value)
    assert serde.with_classes([type(value["v"][0])]) is serde
    lost = SERDE.loads_typed(serde.dumps_typed(value))["v"][0]
    assert isinstance(lost, Unrestored)
    assert lost.data[2] == {"x": 1}
    assert SERDE.dumps_typed({"v": [lost]}) == serde.dumps_typed(value)


def test_a_subclass_of_a_builtin_type_is_restored_where_it_was_given() -> None:
    value = kept_values.Special("x")
    value.mark = 1  # type: ignore[attr-defined]
    found = again([value], SERDE.with_classes([kept_values.Special]))[0]
    assert (type(found), found, found.mark) == (kept_values.Special, "x", 1)


def test_a_class_that_is_not_allowed_is_kept_and_not_restored() -> None:
    strict = SafeSerializer(allowed_msgpack_modules=[("tests.kept_values", "Point")])
    assert is_same(again(kept_values.Point(1), strict), kept_values.Point(1))
    lost = again(kept_values.Mode.FAST, strict)
    assert isinstance(lost, Unrestored)
    assert "not on the allow-list" in repr(lost)
    assert is_same(SERDE.loads_typed(strict.dumps_typed(lost)), kept_values.Mode.FAST)
    assert is_same(again(VALUES["messages"][3], strict), VALUES["messages"][3])
    wider = strict.with_msgpack_allowlist([("tests.kept_values", "Mode")])
    assert again([kept_values.Mode.FAST], wider) == [kept_values.Mode.FAST]


@pytest.mark.parametrize(
    "kind",
    [Colour, kept_values.Point, kept_values.Frozen, kept_values.Pair, kept_values.Old],
    ids=lambda kind: kind.__name__,
)
def test_a_class_that_moved_shows_and_loses_nothing(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = {"enum": Colour.RED, "dataclass": kept_values.Point(1, 2, ["ada"])}
    value |= {"model": kept_values.Frozen(name="ada"), "pair": kept_values.Pair(1, 2)}
    value |= {"old": kept_values.Old(name="ada")}
    name = next(name for name, held in value.items() if isinstance(held, kind))
    stored = SERDE.dumps_typed(value)
    with monkeypatch.context() as moved:
        moved.delattr(kept_values, kind.__name__)
        found = SERDE.loads_typed(stored)
        assert isinstance(found[name], Unrestored)
        assert found[name].type_name == f"tests.kept_values.{kind.__name__}"
        assert "not in a module that is imported" in repr(found[name])
        assert SERDE.dumps_typed(found) == stored
        copied = copy.deepcopy(found[name])
        assert copied == found[name]
        assert len({copied, found[name]}) == 1
        moved.setattr(kept_values, kind.__name__, int, raising=False)
        assert isinstance(SERDE.loads_typed(stored)[name], Unrestored)
    assert is_same(SERDE.loads_typed(stored), value)


def _renamed(value: Any, **fields: Any) -> Any:
    """Store a value with other fields than its class has."""
    raw = ormsgpack.packb([type(value).__module__, type(value).__qualname__, fields, *([None] * 3)])
    return SERDE.loads_typed(("msgpack", ormsgpack.packb(ormsgpack.Ext(codes.MODEL, raw))))


def test_a_model_that_changed_is_filled_with_its_defaults_or_shows() -> None:
    order = VALUES["model"]
    older = _renamed(order, phase=Order.Phase.OPEN.value, total="1")
    assert older.note is None
    assert "stored without its field 'total'" in repr(_renamed(order, phase="open"))
    removed = _renamed(order, phase="open", total="1", note=None, gone=1)
    assert not hasattr(removed, "gone")
    kept = _renamed(VALUES["model_frozen"], name="a", gone=1)
    assert kept.gone == 1
