"""The events of the thread protocol, made from what runs publish; and which of them are asked for.

Every event has a ``seq`` that only grows within its thread and is the same for every listener, so
that any of them can go on behind one it has seen: the run's time of creation in milliseconds, then
the place of the event in the run.
Source: ``langchain_protocol``, and LangGraph's server as seen from outside.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from threadkeep.model.events import Event
from threadkeep.model.runs import INTERRUPT, Run
from threadkeep.server.content_blocks import ContentBlocks
from threadkeep.services.thread_events import ThreadBurst

CHANNELS = (
    "values",
    "updates",
    "messages",
    "tools",
    "custom",
    "lifecycle",
    "input",
    "tasks",
    "checkpoints",
)
PASSED_ON = frozenset({"updates", "tools", "tasks", "checkpoints"})  # as runs publish them
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)  # before any run; keeps a seq below 2 ** 53 until 2095
ONE_MILLISECOND = timedelta(milliseconds=1)
SEQS_PER_MILLISECOND = 4096
SEQS_PER_EVENT = 16  # one message chunk may begin a message, a block, and end both
ENDS = {"success": "completed", "interrupted": "interrupted"}  # the others have failed

ProtocolEvent = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Filter:
    """What one subscription asks for.

    Attributes:
        channels: Names of ``CHANNELS``, or ``custom:<name>``.
        namespaces: Prefixes of namespaces; a part without ``:`` means every task of that node.
            ``None`` for all.
        depth: How many levels below such a prefix; ``None`` for any.
        since: Only events behind this ``seq``.
    """

    channels: frozenset[str]
    namespaces: Sequence[Sequence[str]] | None = None
    depth: int | None = None
    since: int = 0

    def wants(self, event: ProtocolEvent) -> bool:
        """Say whether an event is asked for."""
        if event["seq"] <= self.since or not _channels_of(event) & self.channels:
            return False
        if not self.namespaces:
            return True
        at = event["params"]["namespace"]
        return any(
            _is_below(at, prefix) and (self.depth is None or len(at) - len(prefix) <= self.depth)
            for prefix in self.namespaces
        )


def _channels_of(event: ProtocolEvent) -> set[str]:
    if event["method"] == "input.requested":
        return {"input"}
    if event["method"] == "custom":
        name = event["params"]["data"].get("name")
        return {"custom", f"custom:{name}"}
    return {event["method"]}


def _is_below(namespace: Sequence[str], prefix: Sequence[str]) -> bool:
    if len(prefix) > len(namespace):
        return False
    return all(
        part == asked or (":" not in asked and part.partition(":")[0] == asked)
        for part, asked in zip(namespace, prefix, strict=False)
    )


def seq_of(run: Run, place: int, number: int = 0) -> int:
    """Return where an event stands in its thread.

    Args:
        place: The ``seq`` of what its run published.
        number: Which of the events that tell of it, from 0.
    """
    elapsed_ms = int((run.created_at - BEGAN) / ONE_MILLISECOND)
    within = place * SEQS_PER_EVENT + min(number, SEQS_PER_EVENT - 1)
    return elapsed_ms * SEQS_PER_MILLISECOND + within + 1


class ThreadProtocol:
    """Tells the stream of one thread, from its first burst on."""

    def __init__(self) -> None:
        self._run: _RunProtocol | None = None
        self._last = 0

    def take(self, burst: ThreadBurst) -> Iterator[ProtocolEvent]:
        """Yield the events that a burst is told by."""
        if self._run is None or self._run.run_id != burst.run.run_id:
            self._run = _RunProtocol(burst.run)
        for event in self._run.take(burst):
            self._last = max(self._last + 1, event["seq"])
            yield {**event, "seq": self._last}


class _RunProtocol:
    """Tells one run."""

    def __init__(self, run: Run) -> None:
        self.run_id = run.run_id
        self._graph = run.kwargs["graph_id"]
        self._run = run
        self._place = 0
        self._has_begun = False
        self._waiting: dict[str, dict[str, Any]] = {}
        self._messages: dict[tuple[str, ...], ContentBlocks] = defaultdict(ContentBlocks)

    def take(self, burst: ThreadBurst) -> Iterator[ProtocolEvent]:
        if not self._has_begun:
            self._has_begun = True
            yield self._event(0, "lifecycle", [], {"event": "running", "graph_name": self._graph})
        for event in burst.events:
            self._place = event.seq
            for number, (method, namespace, data) in enumerate(self._told(event)):
                yield self._event(number, method, namespace, data)
        if burst.has_ended:
            self._place += 1
            yield from self._end(burst.run)

    def _told(self, event: Event) -> Iterator[tuple[str, list[str], Any]]:
        kind, *namespace = event.name.split("|")
        if kind == "values":
            yield from self._values(namespace, orjson.loads(event.data))
        elif kind == "messages":
            message, _ = orjson.loads(event.data)
            for data in self._messages[tuple(namespace)].take(message):
                yield "messages", namespace, data
        elif kind == "lifecycle":
            data = orjson.loads(event.data)
            yield kind, data.get("namespace") or [], data
        elif kind == "custom":
            data = orjson.loads(event.data)
            is_named = isinstance(data, dict) and isinstance(data.get("name"), str)
            yield kind, namespace, data if is_named else {"payload": data}
        elif kind in PASSED_ON:
            yield kind, namespace, orjson.loads(event.data)

    def _values(self, namespace: list[str], values: Any) -> Iterator[tuple[str, list[str], Any]]:
        found = values.pop(INTERRUPT, ()) if isinstance(values, dict) else ()
        if not namespace:
            self._waiting |= {each["id"]: each for each in found}
        yield "values", namespace, values

    def _end(self, run: Run) -> Iterator[ProtocolEvent]:
        """Tell of interrupts once the thread waits for their answers, then of the end."""
        number = 0
        if run.status == "interrupted":
            for number, (ident, found) in enumerate(self._waiting.items(), 1):
                # Clients read the one or the other.
                asked = {"payload": found["value"], "value": found["value"]}
                yield self._event(
                    number - 1, "input.requested", [], {"interrupt_id": ident, **asked}
                )
        ended = {"event": ENDS.get(run.status, "failed"), "graph_name": self._graph}
        if run.error is not None:
            ended["error"] = str(run.error.get("message") or run.error.get("error"))
        yield self._event(number, "lifecycle", [], ended)

    def _event(
        self, number: int, method: str, namespace: Sequence[str], data: Mapping[str, Any]
    ) -> ProtocolEvent:
        return {
            "type": "event",
            "event_id": f"{self.run_id}:{self._place}.{number}",
            "seq": seq_of(self._run, self._place, number),
            "method": method,
            "params": {
                "namespace": list(namespace),
                "timestamp": time.time_ns() // 1_000_000,
                "data": data,
            },
        }
