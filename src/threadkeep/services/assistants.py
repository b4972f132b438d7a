"""Assistants: found by id or by search, and what their graphs look like."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from threadkeep.engine.exits import graph_failures
from threadkeep.engine.graphs import Graphs
from threadkeep.errors import InvalidRequestError, NotFoundError, ThreadkeepError
from threadkeep.model.assistants import Assistant
from threadkeep.model.queries import AssistantQuery, Listing
from threadkeep.ports.resources import AssistantRepo
from threadkeep.services.schemas import graph_schemas


class AssistantService:
    """Assistants and the graphs behind them."""

    def __init__(self, assistants: AssistantRepo, graphs: Graphs) -> None:
        self._assistants = assistants
        self._graphs = graphs

    def default_id(self, graph_id: str) -> str | None:
        """Return the id of a graph's default assistant; ``None`` for a text that names no graph."""
        if graph_id not in self._graphs.graph_ids:
            return None
        return self._graphs.assistant_id_of(graph_id)

    async def get(self, assistant_id: str) -> Assistant:
        """Read an assistant.

        Raises:
            NotFoundError: No such assistant.
        """
        found = await self._assistants.get(assistant_id)
        if found is None:
            raise NotFoundError("assistant", assistant_id)
        return found

    async def search(self, query: AssistantQuery) -> Listing[Assistant]:
        """Read a page of assistants."""
        return await self._assistants.search(query)

    async def count(self, query: AssistantQuery) -> int:
        """Count the assistants that match, whatever the query's page."""
        return await self._assistants.count(query)

    async def schemas(self, assistant_id: str) -> Mapping[str, Any]:
        """Return the JSON Schemas of an assistant's graph.

        Raises:
            NotFoundError: No such assistant, or its graph is not served any more.
            GraphLoadError: Its graph could not be loaded.
            GraphError: The graph's own code fails.
        """
        row = await self.get(assistant_id)
        async with self._open(row) as graph:
            return graph_schemas(row.graph_id, graph)

    async def drawing(self, assistant_id: str, *, xray: int | bool) -> Mapping[str, Any]:
        """Return the nodes and edges of an assistant's graph.

        Args:
            xray: How many levels of subgraphs to unfold, ``True`` for all of them.

        Raises:
            NotFoundError: As ``schemas``; also GraphLoadError.
            InvalidRequestError: The graph cannot be drawn.
        """
        row = await self.get(assistant_id)
        async with self._open(row) as graph:
            try:
                drawn = await graph.aget_graph({**row.config}, xray=xray)
            except ThreadkeepError:
                raise
            except Exception as error:
                raise InvalidRequestError(
                    f"graph {row.graph_id!r} cannot be drawn: {type(error).__name__}: {error}"
                ) from error
            shown: Mapping[str, Any] = drawn.to_json()
            return shown

    async def subgraphs(
        self, assistant_id: str, *, namespace: str | None, recurse: bool
    ) -> Mapping[str, Any]:
        """Return the JSON Schemas of the subgraphs of an assistant's graph, by namespace.

        Args:
            namespace: Only the subgraph with exactly this one, nested ones joined by ``|``.
            recurse: Whether to go below the first level.

        Raises:
            NotFoundError: As ``schemas``; also GraphLoadError.
        """
        row = await self.get(assistant_id)
        async with self._open(row) as graph:
            return {
                name: graph_schemas(row.graph_id, subgraph)
                async for name, subgraph in graph.aget_subgraphs(
                    namespace=namespace, recurse=recurse
                )
            }

    @asynccontextmanager
    async def _open(self, row: Assistant) -> AsyncIterator[Any]:
        opened = self._graphs.open(
            row.graph_id, row.config, saver=None, store=None, purpose="assistants.read"
        )
        with graph_failures(row.graph_id):
            async with opened as graph:
                yield graph
