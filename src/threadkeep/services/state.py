"""A thread's state: read now or at a checkpoint, its history, and changed by hand.

LangGraph computes all of it from the checkpoints, so the thread's graph is needed: the one its last
run used, else the one its metadata names under ``graph_id``.
"""

import importlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from threadkeep.engine.exits import graph_failures
from threadkeep.engine.graphs import Graphs
from threadkeep.engine.json import encode, interrupts_json, mirrored
from threadkeep.engine.kwargs import CHECKPOINT_KEYS
from threadkeep.engine.updates import Updates
from threadkeep.errors import (
    GraphError,
    GraphLoadError,
    InvalidRequestError,
    NotFoundError,
    ThreadBusyError,
    ThreadkeepError,
)
from threadkeep.model.requests import StateUpdate
from threadkeep.model.threads import Thread, ThreadState
from threadkeep.ports.resources import ThreadRepo

if TYPE_CHECKING:  # at run time they come with the graphs, after the port is open
    from langchain_core.runnables import RunnableConfig
    from langgraph.pregel import Pregel
    from langgraph.types import StateSnapshot

    from threadkeep.engine.opening import Purpose

    Graph = Pregel[Any, Any, Any, Any]

HISTORY_LIMIT = 100  # checkpoints of a history without a limit

Saver = BaseCheckpointSaver[Any]


class StateService:
    """States of threads, through their graphs."""

    def __init__(
        self,
        threads: ThreadRepo,
        graphs: Graphs,
        *,
        saver: Saver,
        store: BaseStore,
        updates: Updates,
    ) -> None:
        self._updates = updates
        self._threads = threads
        self._graphs = graphs
        self._saver = saver
        self._store = store

    async def get(
        self,
        thread_id: str,
        *,
        checkpoint: Mapping[str, Any] | None = None,
        subgraphs: bool = False,
    ) -> "StateSnapshot | None":
        """Read a thread's state.

        Args:
            checkpoint: Which one: ``checkpoint_id``, ``checkpoint_ns``, ``checkpoint_map``, each
                optional; the newest of the root graph without.
            subgraphs: Read the states of subgraphs that have tasks, too.

        Returns:
            ``None`` for a thread that belongs to no graph yet, and so has no state.

        Raises:
            NotFoundError: No such thread or checkpoint, or its graph is not served any more.
            GraphError: The graph's own code fails on what is stored.
        """
        thread = await self._thread(thread_id)
        config = _config(thread_id, checkpoint)
        async with self._graph(thread) as graph:
            if graph is None:
                return None
            snapshot = await _read(graph, config, subgraphs=subgraphs)
        asked = config["configurable"].get("checkpoint_id")
        if asked is not None and snapshot.created_at is None:
            raise NotFoundError("checkpoint", asked)
        return snapshot

    async def history(
        self,
        thread_id: str,
        *,
        limit: int = HISTORY_LIMIT,
        before: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        checkpoint: Mapping[str, Any] | None = None,
    ) -> "Sequence[StateSnapshot]":
        """Read a thread's states, newest first.

        Args:
            limit: At most so many.
            before: Only those older than the checkpoint with this ``checkpoint_id``.
            metadata: Only those whose metadata has these values.
            checkpoint: Whose: the subgraph under ``checkpoint_ns``; the root graph without.

        Raises:
            NotFoundError: No such thread, or its graph is not served any more.
            GraphError: The graph's own code fails on what is stored.
        """
        thread = await self._thread(thread_id)
        place = {k: v for k, v in (checkpoint or {}).items() if k != "checkpoint_id"}
        if limit == 0:
            return []
        async with self._graph(thread) as graph:
            if graph is None:
                return []
            states = graph.aget_state_history(
                _config(thread_id, place),
                filter=dict(metadata) if metadata else None,
                before=_config(thread_id, {**place, **before}) if before else None,
                limit=limit,
            )
            return [state async for state in states]

    async def update(
        self,
        thread_id: str,
        values: Any,
        *,
        as_node: str | None = None,
        checkpoint: Mapping[str, Any] | None = None,
    ) -> "RunnableConfig":
        """Change a thread's state as if a node had answered with these values.

        Args:
            values: What the node answers; ``None`` for nothing.
            as_node: The node; the last one that ran, where that is unambiguous, without.
            checkpoint: Which state to change, as in ``get``; the new state follows it.

        Returns:
            A config that names the new checkpoint.

        Raises:
            InvalidRequestError: The thread belongs to no graph yet, or the graph refuses the values
                or the node.
            NotFoundError: No such thread or checkpoint, or its graph is not served any more.
            ThreadBusyError: A run of the thread is pending or running.
            UnavailableError: It takes too long; see ``Updates``.
        """
        async with self._updates.of(thread_id):
            return await self._update(thread_id, values, as_node, checkpoint)

    async def _update(
        self, thread_id: str, values: Any, as_node: str | None, checkpoint: Mapping[str, Any] | None
    ) -> "RunnableConfig":
        thread = await self._thread(thread_id)
        if thread.status == "busy":
            raise ThreadBusyError(thread_id)
        async with self._graph(thread, purpose="threads.update") as graph:
            if graph is None:
                raise _shapeless(thread_id)
            if (checkpoint or {}).get("checkpoint_id") is not None:
                await _check_present(graph, _config(thread_id, checkpoint))
            written = await _write(graph, _config(thread_id, checkpoint), values, as_node)
            head = await _read(graph, _config(thread_id, None), subgraphs=False)
        await self._threads.record_state(thread_id, _left(head))
        return written

    async def replay(self, thread_id: str, supersteps: Sequence[Sequence[StateUpdate]]) -> Thread:
        """Change a thread's state by several supersteps, as if nodes had answered.

        Args:
            supersteps: One after another, each with what its nodes answered at once.

        Returns:
            The thread as the last superstep left it.

        Raises:
            InvalidRequestError: As ``update``; what came before the one refused is written.
            NotFoundError: No such thread, or its graph is not served any more.
        """
        async with self._updates.of(thread_id):
            thread = await self._thread(thread_id)
            async with self._graph(thread, purpose="threads.update") as graph:
                if graph is None:
                    raise _shapeless(thread_id)
                config = _config(thread_id, None)
                await _write_steps(graph, config, supersteps)
                head = await _read(graph, config, subgraphs=False)
            return await self._threads.record_state(thread_id, _left(head))

    async def with_values(self, thread: Thread) -> Thread:
        """Return a thread with the values of its head, where its row is too small for them."""
        if thread.values is not None or thread.head_checkpoint_id is None:
            return thread
        try:
            async with self._graph(thread) as graph:
                if graph is None:
                    return thread
                head = await _read(graph, _config(thread.thread_id, None), subgraphs=False)
        except (NotFoundError, GraphLoadError, GraphError):
            return thread  # its graph cannot read them now; the rest of the row still stands
        return replace(thread, values=head.values)

    async def _thread(self, thread_id: str) -> Thread:
        thread = await self._threads.get(thread_id)
        if thread is None:
            raise NotFoundError("thread", thread_id)
        return thread

    @asynccontextmanager
    async def _graph(
        self, thread: Thread, *, purpose: "Purpose" = "threads.read"
    ) -> "AsyncIterator[Graph | None]":
        graph_id = thread.metadata.get("graph_id")
        if not isinstance(graph_id, str):
            yield None
            return
        below = thread.config.get("configurable") or {}
        config = {**thread.config, "configurable": {**below, "thread_id": thread.thread_id}}
        with graph_failures(graph_id):
            async with self._graphs.open(
                graph_id, config, saver=self._saver, store=self._store, purpose=purpose
            ) as graph:
                yield graph


def _config(thread_id: str, checkpoint: Mapping[str, Any] | None) -> "RunnableConfig":
    place = {"thread_id": thread_id, "checkpoint_ns": ""}
    given = checkpoint or {}
    place |= {key: given[key] for key in CHECKPOINT_KEYS if given.get(key) is not None}
    return {"configurable": place}


def _left(head: "StateSnapshot") -> ThreadState:
    """Return what a thread's row keeps of its head."""
    return ThreadState(
        status="interrupted" if head.next else "idle",
        values=mirrored(encode(head.values)),
        head_checkpoint_id=head.config["configurable"].get("checkpoint_id"),
        interrupts={
            task.id: orjson.loads(encode(interrupts_json(task.interrupts)))
            for task in head.tasks
            if task.interrupts
        },
    )


async def _read(graph: "Graph", config: "RunnableConfig", *, subgraphs: bool) -> "StateSnapshot":
    try:
        return await graph.aget_state(config, subgraphs=subgraphs)
    except ValueError as error:
        namespace = config["configurable"]["checkpoint_ns"]
        if namespace and not isinstance(error, ThreadkeepError):
            raise NotFoundError("subgraph", namespace) from error
        raise


async def _check_present(graph: "Graph", config: "RunnableConfig") -> None:
    """Refuse a checkpoint that is not there: an update of it would start from nothing."""
    if (await _read(graph, config, subgraphs=False)).created_at is None:
        raise NotFoundError("checkpoint", config["configurable"]["checkpoint_id"])


async def _write(
    graph: "Graph", config: "RunnableConfig", values: Any, as_node: str | None
) -> "RunnableConfig":
    with _refusals():
        return await graph.aupdate_state(config, values, as_node)


async def _write_steps(
    graph: "Graph", config: "RunnableConfig", supersteps: Sequence[Sequence[StateUpdate]]
) -> None:
    pregel = importlib.import_module("langgraph.types")
    inputs = importlib.import_module("threadkeep.engine.inputs")
    with _refusals():
        steps = [
            [
                pregel.StateUpdate(
                    each.values if each.command is None else inputs.command_of(each.command),
                    each.as_node,
                )
                for each in updates
            ]
            for updates in supersteps
        ]
        await graph.abulk_update_state(config, steps)


@contextmanager
def _refusals() -> Iterator[None]:
    """Tell the caller what a graph makes of an update.

    Reducers and writers are the graph's own code, fed with the caller's values: whatever they
    raise says that the values do not fit.
    """
    try:
        yield
    except ThreadkeepError:
        raise
    except Exception as error:
        raise InvalidRequestError(
            f"the graph refuses the update: {type(error).__name__}: {error}"
        ) from error


def _shapeless(thread_id: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"thread {thread_id!r} belongs to no graph yet, so its state has no shape; run a graph on "
        "it first, or set metadata.graph_id"
    )
