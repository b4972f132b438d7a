"""Statements with named values, and units of work that yield them.

A unit of work is a generator that yields queries and is sent their rows, so that it is written
once for blocking and awaiting callers. It may be driven more than once.
"""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, Literal, TypeVar

T = TypeVar("T")
Row = tuple[Any, ...]
Answer = Literal["rows", "named", "count"]

_NAME = re.compile(r"(?<!:):([a-z][a-z0-9_]*)")  # and not a cast
_KEPT = 1024  # texts, with their names read: conditions make some hundreds


@dataclass(frozen=True, slots=True)
class Query:
    """One statement.

    Attributes:
        text: SQL in which ``:name`` stands for a value.
        parameters: The values; ``None`` for a script of several statements without any.
        answer: What the unit is sent: rows as tuples, rows by the names of their columns, or how
            many rows were changed.
    """

    text: str
    parameters: Mapping[str, Any] | None = field(default_factory=dict)
    answer: Answer = "rows"


Unit = Generator[Query, Any, T]


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """What is to be run.

    Attributes:
        what: Its name in an error's message.
        unit: Makes the unit of work, once per attempt.
        atomic: Whether its statements are one transaction; else each is its own.
        is_snapshot: Whether that transaction only reads, and all of it the same state.
        is_repeatable: Whether doing it twice leaves what doing it once does. What is not is not
            repeated once its commit was sent.
    """

    what: str
    unit: Callable[[], Unit[T]]
    atomic: bool = False
    is_snapshot: bool = False
    is_repeatable: bool = True


def numbered(query: Query) -> tuple[bytes, Sequence[Any] | None]:
    """Return a query as the server takes it: the text with numbers for names, and the values."""
    if query.parameters is None:
        return query.text.encode(), None
    text, names = _numbered(query.text)
    return text, [query.parameters[name] for name in names]


@lru_cache(maxsize=_KEPT)
def _numbered(text: str) -> tuple[bytes, Sequence[str]]:
    names: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        return f"${names.setdefault(match[1], len(names) + 1)}"

    return _NAME.sub(number, text).encode(), tuple(names)
