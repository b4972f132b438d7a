"""Values of every kind that is stored exactly, and what it means that one came back."""

import dataclasses
import enum
import ipaddress
import math
import re
import uuid
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Generic, NamedTuple, TypeVar
from zoneinfo import ZoneInfo

import numpy as np
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.types import Command, Interrupt, Overwrite, Send
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, RootModel, field_validator
from pydantic import v1 as pydantic_v1

T = TypeVar("T")
calls: list[str] = []  # what ran that must not


class Colour(enum.Enum):
    RED = "red"
    PAIR = (1, "two")


class Mode(enum.StrEnum):
    FAST = "fast"


class Level(enum.IntEnum):
    LOW = 1


class Right(enum.Flag):
    READ = 1
    WRITE = 2


class Bits(enum.IntFlag):
    A = 1
    B = 4


class Order(BaseModel):
    class Phase(enum.StrEnum):
        OPEN = "open"

    phase: Phase
    total: Decimal
    note: str | None = None
    _seen: list[int] = PrivateAttr(default_factory=list)

    @field_validator("total")
    @classmethod
    def counted(cls, value: Decimal) -> Decimal:
        calls.append("validator")
        return value

    def model_post_init(self, _context: Any) -> None:
        calls.append("model_post_init")

    @cached_property
    def double(self) -> Decimal:
        return self.total * 2


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow")
    name: str
    hidden: int = Field(default=0, exclude=True)


class Reply(BaseModel):
    children: list["Reply"] = []
    message: HumanMessage | None = None


class Box(BaseModel, Generic[T]):
    held: T


IntBox = Box[int]
IntBox.__qualname__ = "IntBox"
IntBox.__module__ = __name__


class Names(RootModel[list[str]]):
    pass


class Old(pydantic_v1.BaseModel):
    name: str
    when: datetime | None = None
    _note: str = pydantic_v1.PrivateAttr("n")


class Outer:
    class Inner(BaseModel):
        n: int

    @dataclasses.dataclass
    class Part:
        n: int


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0
    seen: list[Any] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        calls.append("__post_init__")

    def __setstate__(self, state: Any) -> None:
        calls.append("__setstate__")

    def __reduce__(self) -> Any:
        calls.append("__reduce__")
        return Point, (1,)


@dataclasses.dataclass(frozen=True, slots=True)
class Day:
    day: date
    mark: Any = None


@dataclasses.dataclass
class Late(Point):
    z: int = dataclasses.field(init=False, default=9)


Pair = namedtuple("Pair", "left right")


class Spot(NamedTuple):
    x: float
    name: str = "here"


class Special(str):
    """A subclass of a builtin type."""


def late() -> Late:
    made = Late(1)
    made.note = "beside"  # type: ignore[attr-defined]
    return made


def used_order() -> Order:
    order = Order(phase=Order.Phase.OPEN, total=Decimal("1.50"))
    order._seen.append(3)
    assert order.double
    return order


ZURICH = ZoneInfo("Europe/Zurich")
_FOLDED = datetime(2026, 10, 25, 2, 30, tzinfo=ZURICH, fold=1)

VALUES: Mapping[str, Any] = {
    "none": None,
    "text": "plain",
    "empty": "",
    "nul": "before\x00after",
    "lone_surrogate": "a\ud800b",
    "surrogates_in_keys": {"a\udfff": ["\ud800"]},
    "true": True,
    "zero": 0,
    "integers": [2**63 - 1, -(2**63), 2**64 - 1],
    "big_integers": [2**64, -(2**63) - 1, 10**300, -(10**300)],
    "floats": [0.0, -0.0, 1e308, 5e-324, math.inf, -math.inf, 1.0, 0.1],
    "nan": math.nan,
    "complex": complex(-0.0, math.nan),
    "bytes": b"\x00\xff",
    "bytearray": bytearray(b"ab"),
    "bytearray_inside": [bytearray(b"ab"), {"k": bytearray()}],
    "range": range(3, 10**20, 2),
    "list": [1, [2, [3]]],
    "tuple": (1, (2, [3, ()])),
    "list_of_tuples": [(1, 2), (3, 4)],
    "dict": {"a": 1, "b": {"c": [1]}},
    "integer_keys": {1: "a", -5: "b", 2**70: "c"},
    "mixed_keys": {None: 0, 1.5: 1, b"x": 3, "s": 4, False: 2},
    "tuple_keys": {(1, "a"): 1, ((2, Mode.FAST), 3): 2, (): 3},
    "enum_keys": {Colour.RED: 1, Mode.FAST: 2, Level.LOW: 3},
    "date_keys": {date(2026, 1, 1): 1, uuid.UUID(int=7): 2},
    "frozen_keys": {frozenset((1, 2)): 1, Day(date(2026, 1, 1)): 2},
    "set": {1, "a", (2, 3), None},
    "frozenset": frozenset((b"x", 2.5)),
    "deque": deque([1, (2,)], maxlen=5),
    "ordered_dict": OrderedDict([("b", 1), ("a", (2,))]),
    "counter": Counter("abca"),
    "default_dict": defaultdict(list, {"a": [1], 2: []}),
    "decimal": [Decimal("1.50"), Decimal("-0"), Decimal("1E+400"), Decimal("Infinity")],
    "fraction": Fraction(10**30, 7),
    "datetime": datetime(2026, 1, 2, 3, 4, 5, 6),  # noqa: DTZ001 - without a zone on purpose
    "utc": datetime(2026, 1, 1, tzinfo=UTC),
    "zoned": datetime(2026, 7, 1, tzinfo=ZURICH),
    "folded": _FOLDED,
    "named_offset": datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=-3), "BRT")),
    "date": date(1, 1, 1),
    "times": [time(13, 30, tzinfo=UTC), time(2, fold=1), time(1, 2, 3, 4)],
    "timedelta": timedelta(days=-3, microseconds=7),
    "zone": [ZURICH, UTC, timezone(timedelta(seconds=1))],
    "uuid": uuid.UUID(int=5),
    "paths": [PurePosixPath("/a/b"), PureWindowsPath("C:\\x"), PurePosixPath("a\udcff")],
    "addresses": [
        ipaddress.ip_address("10.0.0.1"),
        ipaddress.ip_interface("10.0.0.1/8"),
        ipaddress.ip_network("10.0.0.0/8"),
        ipaddress.ip_address("fe80::1%eth0"),
        ipaddress.ip_network("2001:db8::/32"),
    ],
    "patterns": [re.compile(r"a+\d", re.IGNORECASE), re.compile(b"x")],
    "enum": [Colour.RED, Colour.PAIR, Mode.FAST, Level.LOW],
    "nested_enum": Order.Phase.OPEN,
    "flags": [Right.READ, Right.READ | Right.WRITE, Right(0), Bits.A | Bits.B, Bits(9)],
    "dataclass": Point(1, 2, ["a"]),
    "dataclass_nested": Outer.Part(4),
    "dataclass_slots": Day(date(2026, 1, 2), (1, 2)),
    "dataclass_inherited": late(),
    "namedtuple": Pair(1, (2, "b")),
    "typed_namedtuple": Spot(1.5),
    "model": used_order(),
    "model_nested": Outer.Inner(n=1),
    "model_frozen": Frozen(name="a", hidden=3, more=(1, 2)),  # type: ignore[call-arg]
    "model_recursive": Reply(children=[Reply(message=HumanMessage("hi"))]),
    "model_generic": IntBox(held=4),
    "model_root": Names(["a", "b"]),
    "model_constructed": Outer.Inner.model_construct(n="not a number"),
    "model_v1": Old(name="a", when=datetime(2026, 1, 1, tzinfo=UTC)),
    "array": np.arange(6, dtype="<i4").reshape(2, 3),
    "array_fortran": np.asfortranarray(np.array([[1.5, -0.0], [np.nan, 2]])),
    "array_view": np.arange(10)[::3],
    "arrays": [
        np.zeros((0, 3)),
        np.array(5),
        np.array(["a", "bcd"]),
        np.array([b"x"]),
        np.array(["2026-01-01"], dtype="M8[D]"),
        np.array([True, False]),
        np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
        np.array([1 + 2j], dtype=">c16"),
    ],
    "scalars": [np.float64(1.5), np.float32(0.1), np.int8(-3), np.bool_(True),
                np.datetime64("2026-01-01T00:00", "m"), np.timedelta64(3, "h")],
    "messages": [
        HumanMessage("a", id="1"),
        HumanMessage([{"type": "text", "text": "x"}, "y"], name="ada"),
        HumanMessage("extra", more=1),
        AIMessage("", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c1"}],
                  usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
                  response_metadata={"model": "m", "n": 1.5}),
        SystemMessage("be kind"),
        ToolMessage("r", tool_call_id="c", artifact=Point(1), status="error"),
        ToolMessage("r", tool_call_id="c", artifact={"when": (_FOLDED, Mode.FAST)}),
        AIMessageChunk(content="part"),
        ChatMessage(content="x", role="r"),
        RemoveMessage(id="1"),
    ],
    "message_text": AIMessage("hi").text,
    "document": Document("text", metadata={"a": (1,)}, id="d"),
    "langgraph": [
        Send("node", {"a": (1,)}),
        Interrupt("why", id="i"),
        Command(update={"a": 1}, goto=["b"]),
        Overwrite([1]),
    ],
}  # fmt: skip


def is_same(one: Any, other: Any) -> bool:
    """Tell whether two values are of the same types and equal, all the way down."""
    if type(one) is not type(other):
        return False
    for kinds, compare in _COMPARE:
        if isinstance(one, kinds):
            return compare(one, other)
    return bool(one == other)


def _same_items(one: Any, other: Any) -> bool:
    return len(one) == len(other) and all(map(is_same, one, other))


def _same_mapping(one: Any, other: Any) -> bool:
    return (
        _same_items(list(one), list(other))
        and _same_items(list(one.values()), list(other.values()))
        and getattr(one, "default_factory", None) is getattr(other, "default_factory", None)
    )


def _same_set(one: Any, other: Any) -> bool:
    return len(one) == len(other) and all(any(is_same(a, b) for b in other) for a in one)


def _same_float(one: Any, other: Any) -> bool:
    return repr(one) == repr(other)


def _same_array(one: Any, other: Any) -> bool:
    return (
        (one.dtype, one.shape, one.flags.writeable)
        == (other.dtype, other.shape, other.flags.writeable)
    ) and one.tobytes() == other.tobytes()


def _same_moment(one: Any, other: Any) -> bool:
    return (one.replace(tzinfo=None), one.tzinfo, one.fold) == (
        other.replace(tzinfo=None),
        other.tzinfo,
        other.fold,
    )


def _same_model(one: Any, other: Any) -> bool:
    return (
        is_same(one.__dict__ | {"double": 0}, other.__dict__ | {"double": 0})
        and is_same(one.__pydantic_extra__, other.__pydantic_extra__)
        and is_same(one.__pydantic_private__, other.__pydantic_private__)
        and (type(one).__module__.startswith("langchain")
             or one.model_fields_set == other.model_fields_set)
    )  # fmt: skip


def _same_v1(one: Any, other: Any) -> bool:
    return (
        is_same(one.__dict__, other.__dict__)
        and one.__fields_set__ == other.__fields_set__
        and all(getattr(one, name) == getattr(other, name) for name in one.__private_attributes__)
    )


def _same_fields(one: Any, other: Any) -> bool:
    names = [field.name for field in dataclasses.fields(one)]
    names += sorted({*getattr(one, "__dict__", ()), *getattr(other, "__dict__", ())})
    return all(is_same(getattr(one, name), getattr(other, name)) for name in names)


class _Dataclass(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return dataclasses.is_dataclass(value)


class _AnyDataclass(metaclass=_Dataclass):
    pass


_COMPARE: tuple[tuple[Any, Callable[[Any, Any], bool]], ...] = (
    (enum.Enum, lambda one, other: one is other),
    (np.generic, lambda one, other: one.dtype == other.dtype and one.tobytes() == other.tobytes()),
    ((float, complex, Decimal), _same_float),
    (np.ndarray, _same_array),
    (BaseModel, _same_model),
    (pydantic_v1.BaseModel, _same_v1),
    (_AnyDataclass, _same_fields),
    (Send, lambda one, other: one.node == other.node and is_same(one.arg, other.arg)),
    (deque, lambda one, other: one.maxlen == other.maxlen and _same_items(list(one), list(other))),
    ((list, tuple), _same_items),
    (dict, _same_mapping),
    ((set, frozenset), _same_set),
    ((datetime, time), _same_moment),
)
