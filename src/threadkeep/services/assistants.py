"""Assistants: made and changed in versions, found, and what their graphs look like."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from threadkeep.engine.exits import graph_failures
from threadkeep.engine.graphs import Graphs
from threadkeep.engine.identifiers import new_id
from threadkeep.errors import (
    AlreadyExistsError,
    InvalidRequestError,
    NotFoundError,
    ThreadkeepError,
)
from threadkeep.model.assistants import Assistant, AssistantPatch, NewAssistant
from threadkeep.model.queries import AssistantQuery, Listing, ThreadQuery, VersionQuery
from threadkeep.ports.resources import AssistantRepo
from threadkeep.rules.run_secrets import check_no_secrets
from threadkeep.services.schemas import graph_schemas
from threadkeep.services.threads import IfExists, ThreadService


class AssistantService:
    """Assistants and the graphs behind them."""

    def __init__(
        self, assistants: AssistantRepo, graphs: Graphs, *, threads: ThreadService
    ) -> None:
        self._assistants = assistants
        self._graphs = graphs
        self._threads = threads

    async def create(
        self,
        *,
        graph_id: str,
        assistant_id: str | None = None,
        name: str | None = None,
        description: str | None = None,
        config: Mapping[str, Any],
        context: Mapping[str, Any],
        metadata: Mapping[str, Any],
        if_exists: IfExists = "raise",
    ) -> Assistant:
        """Make an assistant of a graph.

        Args:
            assistant_id: Its id; a new one without.
            name: The graph's without.
            config: Merged under the config of its runs. Its ``configurable`` and ``context`` are
                two words for one thing: of the two, one is given, and both are kept.
            if_exists: Whether an assistant that has the id already is an error or the answer.

        Raises:
            NotFoundError: No such graph.
            InvalidRequestError: ``config.configurable`` and ``context`` are both given, or a
                credential would be kept.
            AlreadyExistsError: The id is taken, and ``if_exists`` is ``raise``.
        """
        self._require_graph(graph_id)
        config, context = _twins(config, context)
        check_no_secrets({"config": config, "context": context}, "an assistant")
        new = NewAssistant(
            assistant_id=assistant_id or new_id(),
            graph_id=graph_id,
            name=graph_id if name is None else name,
            description=description,
            config=config,
            context=context,
            metadata=metadata,
        )
        try:
            return await self._assistants.create(new)
        except AlreadyExistsError:
            if if_exists == "raise":
                raise
            return await self.get(new.assistant_id)

    async def update(self, assistant_id: str, patch: AssistantPatch) -> Assistant:
        """Make a new version, and make it active.

        Raises:
            NotFoundError: No such assistant, or no such graph.
            InvalidRequestError: ``config.configurable`` and ``context`` are both given, or a
                credential would be kept.
        """
        if patch.graph_id is not None:
            self._require_graph(patch.graph_id)
        if patch.config is not None or patch.context is not None:
            config, context = _twins(patch.config or {}, patch.context or {})
            if patch.config is None:  # its tags and limits stay
                below = (await self.get(assistant_id)).config
                config = {**below, "configurable": dict(patch.context or {})}
            check_no_secrets({"config": config, "context": context}, "an assistant")
            patch = replace(patch, config=config, context=context)
        return await self._assistants.update(assistant_id, patch)

    async def versions(self, assistant_id: str, query: VersionQuery) -> Listing[Assistant]:
        """Read a page of an assistant's versions, highest first.

        Raises:
            NotFoundError: No such assistant.
        """
        page = await self._assistants.list_versions(assistant_id, query)
        if not page.total:
            await self.get(assistant_id)
        return page

    async def set_latest(self, assistant_id: str, version: int) -> Assistant:
        """Make a version active again.

        Raises:
            NotFoundError: No such assistant, or no such version of it.
        """
        return await self._assistants.set_latest(assistant_id, version)

    async def delete(self, assistant_id: str, *, delete_threads: bool) -> None:
        """Delete an assistant with its versions.

        Args:
            delete_threads: Whether the threads that last ran it go, too; they go first.

        Raises:
            NotFoundError: No such assistant.
        """
        await self.get(assistant_id)
        if delete_threads:
            query = ThreadQuery(metadata={"assistant_id": assistant_id}, select=())
            while found := (await self._threads.search(query)).rows:
                for thread in found:
                    with contextlib.suppress(NotFoundError):
                        await self._threads.delete(thread.thread_id)
        if not await self._assistants.delete(assistant_id):
            raise NotFoundError("assistant", assistant_id)

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

    def _require_graph(self, graph_id: str) -> None:
        if graph_id not in self._graphs.graph_ids:
            raise NotFoundError("graph", graph_id)


def _twins(
    config: Mapping[str, Any], context: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return config and context, each with what the other was given."""
    configurable = config.get("configurable")
    if configurable and context:
        raise InvalidRequestError(
            "config.configurable and context are both given; they are two words for one thing: "
            "give context alone"
        )
    if context:
        return {**config, "configurable": dict(context)}, context
    return config, dict(configurable or {})
