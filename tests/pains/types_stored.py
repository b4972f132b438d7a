"""Types that users keep in their state."""

import dataclasses
import enum
import uuid
from collections import namedtuple
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path

from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel


class Colour(enum.Enum):
    RED = "red"


class Mode(enum.StrEnum):
    FAST = "fast"


class Level(enum.IntEnum):
    LOW = 1


class Order(BaseModel):
    class Phase(enum.StrEnum):
        OPEN = "open"

    phase: Phase
    total: Decimal
    note: str | None = None


class Reply(BaseModel):
    children: list["Reply"] = []
    message: HumanMessage | None = None


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0
    seen: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Frozen:
    day: date


Pair = namedtuple("Pair", "left right")


class Outer:
    class Inner(BaseModel):
        n: int


class Movable(BaseModel):
    name: str


tripped: list[object] = []


def trip(*given: object, **named: object) -> str:
    """Note that it was called; a tampered row asks for it."""
    tripped.append((given, named))
    return "tripped"


VALUES = {
    "enum": Colour.RED,
    "str_enum": Mode.FAST,
    "str_enum_in_list": [Mode.FAST],
    "int_enum": Level.LOW,
    "model_with_nested_enum": Order(phase=Order.Phase.OPEN, total=Decimal("1.50")),
    "nested_enum": Order.Phase.OPEN,
    "nested_model_class": Outer.Inner(n=1),
    "recursive_model_with_message": Reply(children=[Reply(message=HumanMessage("hi"))]),
    "dataclass": Point(1, 2, ["a"]),
    "frozen_dataclass": Frozen(date(2026, 1, 2)),
    "namedtuple": Pair(1, "b"),
    "tuple": (1, (2, 3)),
    "uuid_path_time": [uuid.UUID(int=5), Path("/a/b"), time(13, 30, tzinfo=UTC)],
    "utc_datetime": datetime(2026, 1, 1, tzinfo=UTC),
    "messages": [
        HumanMessage("a", id="1"),
        AIMessage("", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c1"}]),
    ],
}
