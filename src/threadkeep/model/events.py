"""What a run publishes while it executes."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a run.

    Attributes:
        seq: Its place in the run, from 1, without gaps.
        name: The wire's event name, e.g. ``values`` or ``messages|child:1``.
        data: Its payload, JSON, encoded once by the publisher.
    """

    seq: int
    name: str
    data: bytes


ALWAYS = frozenset({"metadata", "error"})  # events that belong to no stream mode


def mode_of(name: str) -> str:
    """Return the stream mode an event name belongs to, e.g. ``messages`` of ``messages/partial``.

    An event named just ``messages`` belongs to ``messages-tuple``.
    """
    kind = name.split("|", 1)[0]
    if kind == "messages":
        return "messages-tuple"
    return kind.split("/", 1)[0]


def is_asked(name: str, modes: Collection[str]) -> bool:
    """Say whether a reader of some stream modes gets an event; no modes mean every one."""
    return not modes or name in ALWAYS or mode_of(name) in modes
