"""Which subgraphs of a run start and end, told from the ``tasks`` that LangGraph streams.

A subgraph has started with the first task in its namespace, whose last part names the parent's
task (``node:<task id>``); it has ended with that task's result.
Source: LangGraph's own ``LifecycleTransformer``, whose payload this is.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Namespace = tuple[str, ...]


class Lifecycle:
    """Keeps the open subgraphs of one run."""

    def __init__(self) -> None:
        self._open: dict[Namespace, str] = {}
        self._seen: set[Namespace] = set()
        self._tool_calls: dict[str, str] = {}

    def take(self, namespace: Namespace, task: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Take the start or the result of a task; yield what it says about subgraphs."""
        if "result" in task:
            yield from self._ended(namespace, task)
            return
        if (call_id := _tool_call_id(task.get("input"))) is not None:
            self._tool_calls[task["id"]] = call_id
        if namespace and namespace not in self._seen:
            self._seen.add(namespace)
            yield from self._started(namespace, task)

    def finish(self, status: str) -> Iterator[dict[str, Any]]:
        """Yield the end of every subgraph that is still open when the run ends."""
        for namespace in self._open:
            yield {"event": status, "namespace": list(namespace)}
        self._open.clear()

    def _started(self, namespace: Namespace, task: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        name, _, task_id = namespace[-1].partition(":")
        if not task_id:
            return
        self._open[namespace] = task_id
        agent = (task.get("metadata") or {}).get("lc_agent_name")
        payload = {"event": "started", "namespace": list(namespace), "graph_name": agent or name}
        payload["trigger_call_id"] = task_id
        if agent and task_id in self._tool_calls:
            payload["cause"] = {"type": "toolCall", "tool_call_id": self._tool_calls[task_id]}
        yield payload

    def _ended(self, namespace: Namespace, task: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        ended = [
            child
            for child, task_id in self._open.items()
            if child[:-1] == namespace and task_id == task["id"]
        ]
        for child in ended:
            del self._open[child]
            yield {"event": _status(task), "namespace": list(child), **_error(task)}


def _status(result: Mapping[str, Any]) -> str:
    if result.get("interrupts"):
        return "interrupted"
    return "failed" if result.get("error") else "completed"


def _error(result: Mapping[str, Any]) -> dict[str, str]:
    is_failure = result.get("error") and not result.get("interrupts")
    return {"error": str(result["error"])} if is_failure else {}


def _tool_call_id(given: Any) -> str | None:
    """Return the id of the tool call that a task answers, if it answers one."""
    if isinstance(given, Mapping) and isinstance(given.get("tool_call"), Mapping):
        found = given["tool_call"].get("id")
        return found if isinstance(found, str) else None
    if isinstance(given, list):
        ids = (call.get("id") for call in given if isinstance(call, Mapping))
        return next((found for found in ids if isinstance(found, str)), None)
    return None
