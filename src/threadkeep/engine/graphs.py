"""The graphs a server offers: loaded once, opened for each use.

Loading happens in a thread, one graph after another and each apart: a graph that fails keeps its
error and the others serve. Whoever opens a graph waits until it is loaded.
"""

import asyncio
import importlib
import logging
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from threadkeep.engine.exits import exits_kept_in
from threadkeep.errors import GraphLoadError, NotFoundError

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.pregel import Pregel
    from langgraph.store.base import BaseStore

    from threadkeep.engine.opening import Purpose

logger = logging.getLogger(__name__)

OnSettled = Callable[[str, float, GraphLoadError | None], None]

ASSISTANT_NAMESPACE = uuid.UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")  # as LangGraph's server


@dataclass(frozen=True, slots=True)
class GraphSpec:
    """Where a graph is.

    Attributes:
        graph_id: Its name for clients.
        path: A file, relative to the folder of ``langgraph.json``, or a dotted module.
        export: The name in it: a compiled graph, a builder or a factory.
        description: For people, or ``None``.
    """

    graph_id: str
    path: str
    export: str
    description: str | None = None


class Graphs:
    """Every graph of one deployment."""

    def __init__(self, specs: Sequence[GraphSpec], *, base_dir: Path) -> None:
        self._specs = {spec.graph_id: spec for spec in specs}
        self._base_dir = base_dir
        self._given: Mapping[str, Any] = {}
        self._sources: dict[str, Any] = {}
        self._errors: dict[str, GraphLoadError] = {}
        self._loading = asyncio.Lock()
        self._settled = {graph_id: asyncio.Event() for graph_id in self._specs}
        self._assistant_ids = {name: _assistant_id(name) for name in self._specs}

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Graphs":
        """Offer graphs already in hand: compiled ones, builders or factories, by graph id."""
        specs = [GraphSpec(graph_id, "", "") for graph_id in given]
        graphs = cls(specs, base_dir=Path())
        graphs._given = dict(given)
        return graphs

    @property
    def graph_ids(self) -> Sequence[str]:
        """The graphs offered, loaded or not, in the order given."""
        return tuple(self._specs)

    @property
    def specs(self) -> Sequence[GraphSpec]:
        """Where each graph is, in the order given."""
        return tuple(self._specs.values())

    def assistant_id_of(self, ident: str) -> str:
        """Return the id of a graph's default assistant; of a text that is no graph id, itself."""
        return self._assistant_ids.get(ident, ident)

    def error_of(self, graph_id: str) -> GraphLoadError | None:
        """Return why a graph cannot be opened, or ``None``: it can, or is not loaded yet."""
        return self._errors.get(graph_id)

    async def settled(self, graph_id: str) -> None:
        """Wait until a graph has been loaded or has failed to.

        Raises:
            NotFoundError: No such graph.
        """
        while (settled := self._settled.get(graph_id)) is not None:
            await settled.wait()
            if settled is self._settled.get(graph_id):  # not replaced meanwhile
                return
        raise NotFoundError("graph", graph_id)

    async def load(self, on_settled: OnSettled | None = None) -> None:
        """Load every graph not loaded yet; a failure is kept for ``error_of``.

        Args:
            on_settled: Told of each graph: its id, the seconds it took, and why it failed or
                ``None``. Without it failures are logged.
        """
        await asyncio.to_thread(importlib.import_module, "threadkeep.engine.opening")
        await asyncio.to_thread(importlib.import_module, "threadkeep.engine.drive")
        told = on_settled or _log_failure
        async with self._loading:
            for spec in self.specs:
                began = time.perf_counter()
                if self._specs.get(spec.graph_id) is spec and await self._load(spec):
                    spent = time.perf_counter() - began
                    told(spec.graph_id, spent, self.error_of(spec.graph_id))

    def replace(self, specs: Sequence[GraphSpec]) -> None:
        """Offer other graphs, or the same from other code; ``load`` them next.

        Graphs that are open stay as they are. Whoever waits for a graph waits for the new one.
        """
        before = self._settled
        self._specs = {spec.graph_id: spec for spec in specs}
        self._sources, self._errors = {}, {}
        self._settled = {graph_id: asyncio.Event() for graph_id in self._specs}
        self._assistant_ids = {name: _assistant_id(name) for name in self._specs}
        for settled in before.values():
            settled.set()

    @asynccontextmanager
    async def open(
        self,
        graph_id: str,
        config: Mapping[str, Any],
        *,
        saver: "BaseCheckpointSaver[Any] | None",
        store: "BaseStore | None",
        purpose: "Purpose" = "threads.read",
        context: Any = None,
    ) -> "AsyncIterator[Pregel[Any, Any, Any, Any]]":
        """Yield a graph that reads and writes through this saver and store.

        A compiled graph is shared, a factory is called anew. A saver or store that the graph was
        compiled with is replaced, except where it was compiled with ``checkpointer=False``.

        Args:
            graph_id: Which graph; waits until it is loaded.
            config: What a factory that takes a config is given.
            saver: Where its checkpoints are, or ``None`` to leave what it has.
            store: Its long-term memory, or ``None`` to leave what it has.
            purpose: Why, for factories that take a ``ServerRuntime``.
            context: The run's context, for the same.

        Raises:
            NotFoundError: No such graph.
            GraphLoadError: It could not be loaded, or its factory gave no graph.
            GraphError: The graph, or what is done with it here, would have ended the process.
        """
        await self.settled(graph_id)
        if graph_id in self._errors:
            raise self._errors[graph_id]
        source = self._sources[graph_id]
        asked = source.asked(config, store=store, purpose=purpose, context=context)
        with exits_kept_in():
            async with source.open(asked) as graph:
                yield source.bound(graph, saver=saver, store=store)

    async def _load(self, spec: GraphSpec) -> bool:
        """Load one graph; false when it is loaded already, or was replaced meanwhile."""
        settled = self._settled[spec.graph_id]
        if settled.is_set():
            return False
        try:
            source = await self._source(spec)
        except GraphLoadError as error:
            source = error
        except Exception as error:  # what is exported may be anything
            source = GraphLoadError(f"graph {spec.graph_id!r} cannot be loaded: {error}")
            source.__cause__ = error
        if settled is not self._settled.get(spec.graph_id):
            return False
        if isinstance(source, GraphLoadError):
            self._errors[spec.graph_id] = source
        else:
            self._sources[spec.graph_id] = source
        settled.set()
        return True

    async def _source(self, spec: GraphSpec) -> Any:
        opening = importlib.import_module("threadkeep.engine.opening")
        given = self._given.get(spec.graph_id)
        if given is None:
            given = await asyncio.to_thread(opening.imported, spec, self._base_dir)
        return opening.Source(spec.graph_id, given)


def _log_failure(graph_id: str, seconds: float, error: GraphLoadError | None) -> None:
    if error is not None:
        logger.error("%s", error, exc_info=error.__cause__)


def _assistant_id(graph_id: str) -> str:
    return str(uuid.uuid5(ASSISTANT_NAMESPACE, graph_id))
