"""What a run publishes while it executes."""

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
