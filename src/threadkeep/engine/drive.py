"""One run on its graph: from what was asked to where it stands when the graph has ended."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

import orjson
from langgraph.graph import END
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore

from threadkeep.engine import saving
from threadkeep.engine.graphs import Graphs
from threadkeep.engine.inputs import graph_config, graph_context, graph_input
from threadkeep.engine.json import encode, interrupts_json, mirrored
from threadkeep.engine.kwargs import CHECKPOINT_KEYS, is_temporary
from threadkeep.engine.stream import ABSENT, Publisher
from threadkeep.model.runs import INTERRUPT, Run
from threadkeep.model.threads import ThreadState, ThreadStatus
from threadkeep.ports.bus import EventBus

Graph = Pregel[Any, Any, Any, Any]

logger = logging.getLogger(__name__)

EVENTS_BEFORE_YIELD = 50  # chunks; others get the loop at least so often, however fast a graph is


class Work:
    """One run being driven.

    Attributes:
        run: The run as it was claimed.
        place: Where it stands on its thread.
        publisher: Its events, and what they leave.
    """

    def __init__(
        self, run: Run, graphs: Graphs, bus: EventBus, *, saver: saving.Saver, store: BaseStore
    ) -> None:
        self.run = run
        self.place = saving.Place(run.thread_id)
        modes = run.kwargs["stream_mode"]
        self.publisher = Publisher(
            bus, run.run_id, modes, subgraphs=bool(run.kwargs["stream_subgraphs"])
        )
        self._graphs = graphs
        self._written = saving.saver_for(saver, durability=run.kwargs["durability"])
        self._saver = saving.RunSaver(self._written, self.place)
        self._store = store
        self._interrupts: dict[str, list[dict[str, Any]]] = {}
        self._values_json: bytes | None = None  # encoded once, when the graph has ended
        self._chunks = 0

    @property
    def is_interrupted(self) -> bool:
        """Whether the graph stopped at an interrupt or a breakpoint."""
        return self.publisher.is_stopped

    @property
    def has_run_nothing(self) -> bool:
        """Whether the graph came to its end without a node having run."""
        return not self.publisher.is_stopped and not self.publisher.has_updates

    async def perform(self) -> None:
        """Drive the graph to its end.

        Raises:
            GraphLoadError: The graph could not be loaded.
            Exception: Whatever the graph raises.
        """
        run = self.run
        config = graph_config(run)
        self.publisher.publish("metadata", {"run_id": run.run_id, "attempt": max(run.fence, 1)})
        opened = self._graphs.open(
            run.kwargs["graph_id"],
            config,
            saver=self._saver,
            store=self._store,
            purpose="threads.create_run",
            context=run.kwargs.get("context"),
        )
        async with opened as graph:
            await self._leave_foreign_tasks(graph, config)
            await self._stream(graph, config)
            if self.is_interrupted:
                await self._find_interrupts(graph)
        self.publisher.finish("interrupted" if self.is_interrupted else "completed")

    def revoke(self) -> None:
        """Let the run write no more checkpoints."""
        self.place.is_revoked = True

    async def flush(self) -> None:
        """Wait until every checkpoint of the run is durable; a temporary thread's need not be.

        Raises:
            Exception: Whatever the saver raises: the checkpoints are not all there.
        """
        if not is_temporary(self.run):
            await saving.flush(self._written)

    def check_stored(self) -> None:
        """Refuse to go on unless the run's checkpoints are stored; see ``saving.check_stored``."""
        if not is_temporary(self.run):
            saving.check_stored(self._written)

    def state(self, status: ThreadStatus, *, error: Any = None) -> ThreadState | None:
        """Return what the run leaves on its thread; ``None`` when it changed nothing of it."""
        if self.publisher.values is ABSENT and not self.place.has_written:
            return None
        encoded = self._encoded()
        return ThreadState(
            status=status,
            values=None if encoded is None else mirrored(encoded),
            head_checkpoint_id=self.place.head,
            interrupts=self._interrupts if status == "interrupted" else {},
            error=error,
        )

    def answer(self) -> bytes | None:
        """Return the values as JSON, with the interrupts; ``None`` when there are none."""
        values, found = self.publisher.values, self.publisher.interrupts
        if not found:
            return self._encoded()
        shown = dict(values) if isinstance(values, Mapping) else {}
        return encode({**shown, INTERRUPT: interrupts_json(found.values())})

    def _encoded(self) -> bytes | None:
        if self._values_json is None and self.publisher.values is not ABSENT:
            self._values_json = encode(self.publisher.values)
        return self._values_json

    async def _leave_foreign_tasks(self, graph: Graph, config: dict[str, Any]) -> None:
        """Drop the tasks that another graph left on the thread and this one would take for its own.

        Nodes of one name in two graphs are started by one channel, so a run without an input of
        its own would go on in the middle of the other graph's turn. With an input LangGraph drops
        them itself.
        """
        kwargs = self.run.kwargs
        if graph.checkpointer is False or (
            kwargs["command"] is None and kwargs["input"] is not None
        ):
            return
        at: Any = {"configurable": {"checkpoint_ns": "", **config["configurable"]}}
        head = await self._saver.aget_tuple(at)
        owner = head and head.metadata.get("graph_id")
        if owner is None or owner == kwargs["graph_id"]:
            return
        if not (await graph.aget_state(at)).next:
            return
        logger.warning(
            "run %s of graph %r leaves the tasks that graph %r has pending on thread %s",
            *(self.run.run_id, kwargs["graph_id"], owner, self.run.thread_id),
        )
        at["metadata"] = config["metadata"]  # or who wrote it could not be told
        await graph.aupdate_state(at, None, as_node=END)
        for key in CHECKPOINT_KEYS:  # what was written is the newest: the run goes on from there
            config["configurable"].pop(key, None)

    async def _stream(self, graph: Graph, config: dict[str, Any]) -> None:
        kwargs, publisher = self.run.kwargs, self.publisher
        options = {
            "context": graph_context(graph, kwargs),
            "stream_mode": publisher.sources,
            "subgraphs": publisher.needs_subgraphs,
            "interrupt_before": kwargs["interrupt_before"] or None,
            "interrupt_after": kwargs["interrupt_after"] or None,
            "durability": kwargs["durability"] if graph.checkpointer is not False else None,
        }
        given: Any = graph_input(kwargs)
        passed: Any = config
        if publisher.needs_events:
            await self._stream_events(graph, given, passed, options)
            return
        stream: Any = graph.astream(given, passed, **options)
        async with aclosing(stream):
            async for item in stream:
                self._take(item)
                await self._let_others()

    async def _stream_events(
        self, graph: Graph, given: Any, config: Any, options: dict[str, Any]
    ) -> None:
        stream: Any = graph.astream_events(given, config, version="v2", **options)
        async with aclosing(stream):
            async for event in stream:
                is_own = event["run_id"] == self.run.run_id
                if is_own and event["event"] == "on_chain_stream":
                    self._take(event["data"]["chunk"])
                else:
                    self.publisher.take_event(event)
                await self._let_others()

    def _take(self, item: Any) -> None:
        if self.publisher.needs_subgraphs:
            namespace, mode, chunk = item
        else:
            namespace, (mode, chunk) = (), item
        self.publisher.take(namespace, mode, chunk)

    async def _let_others(self) -> None:
        self._chunks += 1
        if self._chunks % EVENTS_BEFORE_YIELD == 0:
            await asyncio.sleep(0)

    async def _find_interrupts(self, graph: Graph) -> None:
        """Read which tasks wait, by their ids."""
        if graph.checkpointer is False:
            return
        snapshot = await graph.aget_state({"configurable": {"thread_id": self.run.thread_id}})
        self._interrupts = {
            task.id: interrupts_json(task.interrupts) for task in snapshot.tasks if task.interrupts
        }
        self._interrupts = orjson.loads(encode(self._interrupts))
        self.place.head = snapshot.config["configurable"].get("checkpoint_id", self.place.head)


async def stored_values(
    graphs: Graphs,
    graph_id: str,
    *,
    thread_id: str,
    checkpoint_id: str | None,
    saver: saving.Saver,
    store: BaseStore,
) -> Any:
    """Read the values of a thread from its checkpoint."""
    at = {"thread_id": thread_id}
    if checkpoint_id is not None:
        at["checkpoint_id"] = checkpoint_id
    async with graphs.open(graph_id, {"configurable": at}, saver=saver, store=store) as graph:
        snapshot = await graph.aget_state({"configurable": at})
        return snapshot.values
