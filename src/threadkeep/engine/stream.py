"""From what LangGraph streams to the events of a run, as clients of its server expect them.

| stream mode | events |
|---|---|
| values, updates, custom, debug, tasks, checkpoints, tools | one of that name for each chunk |
| messages-tuple | ``messages``: ``[chunk, metadata]`` |
| messages | ``messages/metadata`` once for each message, ``messages/partial`` with the message so \
far, ``messages/complete`` with the whole |
| events | ``events``: those of ``astream_events`` version 2 |
| lifecycle | ``lifecycle``: subgraphs that start and end |

Events of subgraphs, where they are asked for, carry the namespace: ``updates|child:<task id>``.
Source: langgraph_sdk, and LangGraph's server as seen from outside.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessageChunk, message_chunk_to_message
from langgraph.types import Interrupt

from threadkeep.engine.json import encode, interrupts_json
from threadkeep.engine.kwargs import CHECKPOINT_KEYS
from threadkeep.engine.lifecycle import Lifecycle
from threadkeep.model.runs import INTERRUPT
from threadkeep.ports.bus import EventBus

ABSENT: Any = object()

# What each mode needs of LangGraph; ``values`` and ``updates`` are always needed, to know where a
# run ended and whether it stopped at an interrupt.
_SOURCE = {
    "messages-tuple": "messages",
    "lifecycle": "tasks",
}


class Publisher:
    """Publishes the events of one run and keeps what its end needs.

    Attributes:
        values: The root graph's last values, without interrupts; ``ABSENT`` before the first.
        interrupts: The interrupts the root graph stopped at, by id.
        is_stopped: Whether the root graph stopped at an interrupt or a breakpoint.
        has_updates: Whether a node of the root graph has run to its end.
    """

    def __init__(
        self, bus: EventBus, run_id: str, modes: Collection[str], *, subgraphs: bool
    ) -> None:
        self._bus = bus
        self._run_id = run_id
        self._modes = frozenset(modes)
        self._with_subgraphs = subgraphs
        self._messages = _Messages()
        self._lifecycle = Lifecycle()
        self.values: Any = ABSENT
        self.interrupts: dict[str, Interrupt[Any]] = {}
        self.is_stopped = False
        self.has_updates = False

    @property
    def sources(self) -> list[str]:
        """The stream modes to ask LangGraph for."""
        asked = {_SOURCE.get(mode, mode) for mode in self._modes - {"events"}}
        return sorted(asked | {"values", "updates"})

    @property
    def needs_subgraphs(self) -> bool:
        """Whether LangGraph must stream subgraphs, too."""
        return self._with_subgraphs or "lifecycle" in self._modes

    @property
    def needs_events(self) -> bool:
        """Whether the graph must be driven through ``astream_events``."""
        return "events" in self._modes

    def publish(self, name: str, payload: Any, namespace: Sequence[str] = ()) -> None:
        """Publish one event if anybody wants it; its payload is encoded only then."""
        if self._bus.wanted(self._run_id):
            full = "|".join((name, *namespace)) if namespace else name
            self._bus.publish(self._run_id, full, encode(payload))

    def take(self, namespace: Sequence[str], mode: str, chunk: Any) -> None:
        """Take one chunk of LangGraph's stream."""
        if not namespace:
            self._note(mode, chunk)
        if mode == "tasks" and "lifecycle" in self._modes:
            for payload in self._lifecycle.take(tuple(namespace), chunk):
                self.publish("lifecycle", payload)
        if namespace and not self._with_subgraphs:
            return
        if mode == "messages":
            self._take_message(namespace, chunk)
        elif mode in self._modes:
            self.publish(mode, _shaped(mode, chunk), namespace)

    def take_event(self, event: Mapping[str, Any]) -> None:
        """Take one event of ``astream_events``."""
        if "langsmith:hidden" not in (event.get("tags") or ()):
            self.publish("events", event)

    def finish(self, status: str) -> None:
        """Publish what only the end of the graph says."""
        if "lifecycle" in self._modes:
            for payload in self._lifecycle.finish(status):
                self.publish("lifecycle", payload)

    def _note(self, mode: str, chunk: Any) -> None:
        if mode not in ("values", "updates"):
            return
        is_mapping = isinstance(chunk, Mapping)
        if is_mapping and INTERRUPT in chunk:
            self.is_stopped = True
            self.interrupts.update({found.id: found for found in chunk[INTERRUPT]})
            chunk = {key: value for key, value in chunk.items() if key != INTERRUPT}
            if not chunk:
                return  # the state is no mapping, and this is only word of the interrupt
        if mode == "values":
            self.values = chunk
        else:
            self.has_updates = True

    def _take_message(self, namespace: Sequence[str], chunk: Any) -> None:
        if "messages-tuple" in self._modes:
            self.publish("messages", chunk, namespace)
        if "messages" in self._modes:
            message, metadata = chunk
            self._messages.add(message, metadata)
            if self._bus.wanted(self._run_id):
                for kind, payload in self._messages.news():
                    self.publish(f"messages/{kind}", payload, namespace)


class _Messages:
    """Messages as they grow; chunks are joined only when somebody reads."""

    def __init__(self) -> None:
        self._whole: dict[str, Any] = {}
        self._waiting: list[tuple[Any, Mapping[str, Any]]] = []

    def add(self, message: Any, metadata: Mapping[str, Any]) -> None:
        """Note a message or a chunk of one."""
        self._waiting.append((message, metadata))

    def news(self) -> Iterator[tuple[str, Any]]:
        """Yield what is to be said of the messages noted since the last call."""
        waiting, self._waiting = self._waiting, []
        for message, metadata in waiting:
            ident = message.id or ""
            known = self._whole.get(ident)
            if known is None:
                yield "metadata", {ident: {"metadata": metadata}}
            if not isinstance(message, BaseMessageChunk):
                self._whole[ident] = message
                yield "complete", [message]
                continue
            whole: Any = message
            if isinstance(known, BaseMessageChunk):
                whole = known + message
            self._whole[ident] = whole
            yield "partial", [message_chunk_to_message(whole)]
            if getattr(message, "chunk_position", None) == "last":
                yield "complete", [message_chunk_to_message(whole)]


def _shaped(mode: str, chunk: Any) -> Any:
    """Return a chunk as the wire has it."""
    if mode in ("values", "updates") and isinstance(chunk, Mapping) and INTERRUPT in chunk:
        return {**chunk, INTERRUPT: interrupts_json(chunk[INTERRUPT])}
    if mode == "checkpoints":
        return _checkpoint(chunk)
    if mode == "debug" and chunk.get("type") == "checkpoint":
        return {**chunk, "payload": _checkpoint(chunk["payload"])}
    return chunk


def _checkpoint(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Add the addresses under the names that state and history use on the wire."""
    return {
        **payload,
        "checkpoint": _address(payload.get("config")),
        "parent_checkpoint": _address(payload.get("parent_config")),
        "tasks": [_task(task) for task in payload.get("tasks") or ()],
    }


def _task(task: Mapping[str, Any]) -> dict[str, Any]:
    shown = dict(task)
    state = shown.get("state")
    if isinstance(state, Mapping):
        del shown["state"]
        shown["checkpoint"] = _address(state)
    return shown


def _address(config: Mapping[str, Any] | None) -> dict[str, Any] | None:
    at = (config or {}).get("configurable")
    if not at:
        return None
    return {key: at[key] for key in ("thread_id", *CHECKPOINT_KEYS) if key in at}
