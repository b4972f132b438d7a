"""A LangGraph saver that reads the threads of naas-abi-core where they are, schema 1 and 2.

A source, for a migration or for reading through: it writes nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from threadkeep.checkpoints import seed
from threadkeep.checkpoints.metadata import equal_text, json_text
from threadkeep.checkpoints.schema1 import parse
from threadkeep.errors import CorruptionError, NotSupportedError, SchemaTooNewError
from threadkeep.ports.documents import CHECKPOINTS_V1, WRITES_V1
from threadkeep.ports.seed_documents import FETCH_LIMIT, SeedDocuments, SeedFind
from threadkeep.savers.addresses import address, config_of
from threadkeep.savers.serde import SafeSerializer
from threadkeep.savers.versions import next_version

# Newest first: what is in schema 2, and after it what is in schema 1.
_SCHEMAS = ((2, seed.CHECKPOINTS, seed.WRITES), (1, CHECKPOINTS_V1, WRITES_V1))
WRITES_AT_ONCE = 100


class SeedSaver(BaseCheckpointSaver[Any]):
    """Reads what naas-abi-core's savers stored.

    Args:
        documents: Its document database; see ``SeedDriver.seed_documents``.
        namespace: With ``agent_id``, whose checkpoints; those of the engine where not given.
        agent_id: See ``namespace``.
    """

    def __init__(
        self,
        documents: SeedDocuments,
        *,
        namespace: str = seed.NAMESPACE,
        agent_id: str = seed.AGENT_ID,
    ) -> None:
        super().__init__(serde=SafeSerializer())
        self._documents, self._namespace, self._agent_id = documents, namespace, agent_id

    def thread_ids(self) -> Sequence[str]:
        """List the threads that have checkpoints, in the order of their ids.

        Raises:
            StorageError: The database failed, or is none of naas-abi-core.
        """
        found: set[str] = set()
        for _, collection, _ in _SCHEMAS:
            found.update(self._documents.threads(self._namespace, collection, self._agent_id))
        return sorted(found)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read one checkpoint, or the newest of a namespace; ``None`` when there is none.

        Raises:
            CorruptionError: A document is missing, or is not what it should be.
            SchemaTooNewError: It is of a schema after 2.
        """
        thread_id, namespace, checkpoint_id = address(config)
        fields = {"thread_id": thread_id, "checkpoint_ns": namespace}
        fields |= {"checkpoint_id": checkpoint_id} if checkpoint_id else {}
        return next(self._tuples(fields, None, checkpoint_id), None)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """List checkpoints, newest first by id; those of schema 1 after all others.

        Raises:
            CorruptionError: See ``get_tuple``.
            SchemaTooNewError: See ``get_tuple``.
        """
        fields: dict[str, str] = {}
        if config is not None:
            thread_id, namespace, checkpoint_id = address(config)
            fields["thread_id"] = thread_id
            if config["configurable"].get("checkpoint_ns") is not None:
                fields["checkpoint_ns"] = namespace
            if checkpoint_id:
                fields["checkpoint_id"] = checkpoint_id
        bound = before["configurable"].get("checkpoint_id") if before else None
        left = limit
        for one in self._tuples(fields, bound, None):
            if left is not None and left <= 0:
                return
            if _matches(one.metadata, filter or {}):
                yield one
                left = None if left is None else left - 1

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See ``get_tuple``."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """See ``list``."""
        listed = self.list(config, filter=filter, before=before, limit=limit)
        while (one := await asyncio.to_thread(next, listed, None)) is not None:
            yield one

    def put(self, *given: Any, **named: Any) -> NoReturn:
        """Refuse: nothing is written.

        Raises:
            NotSupportedError: Always; so for what follows.
        """
        raise NotSupportedError("naas-abi-core's database is only read; put into a saver of ours")

    put_writes = delete_thread = aput = aput_writes = adelete_thread = put

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Answer a greater version of the same type; see ``next_version``."""
        return next_version(current)

    def _tuples(
        self, fields: Mapping[str, str], before: str | None, only: str | None
    ) -> Iterator[CheckpointTuple]:
        """Iterate over checkpoints, one read at a time; of one in both schemas the newer."""
        seen: set[tuple[str, ...]] = set()
        for schema, collection, writes in _SCHEMAS:
            for said in self._said(schema, collection, fields, before):
                place = said["thread_id"], said["checkpoint_ns"], said["checkpoint_id"]
                if place not in seen:
                    seen.add(place)
                    yield self._tuple(place, said, self._writes(place, schema, writes))

    def _said(
        self, schema: int, collection: str, fields: Mapping[str, str], before: str | None = None
    ) -> Iterator[Mapping[str, Any]]:
        limit = 1 if collection in (seed.CHECKPOINTS, CHECKPOINTS_V1) else WRITES_AT_ONCE
        after: tuple[str, str] | None = None
        while True:
            named = {"agent_id": self._agent_id, **fields}
            find = SeedFind(self._namespace, collection, named, before, after, limit)
            found = self._documents.find(find)
            for ident, text in found:
                said = parse(text)
                if said.get("_schema") != schema:
                    raise SchemaTooNewError(
                        f"a document of {collection} says that it is of schema "
                        f"{said.get('_schema')!r}; 1 and 2 are read"
                    )
                after = str(said.get("checkpoint_id")), ident
                yield said
            if len(found) < limit:
                return

    def _writes(
        self, place: tuple[str, str, str], schema: int, collection: str
    ) -> Iterator[Mapping[str, Any]]:
        names = ("thread_id", "checkpoint_ns", "checkpoint_id")
        return self._said(schema, collection, dict(zip(names, place, strict=True)))

    def _tuple(
        self,
        place: tuple[str, str, str],
        said: Mapping[str, Any],
        pending: Iterable[Mapping[str, Any]],
    ) -> CheckpointTuple:
        try:
            writes = sorted(pending, key=_applied)
            found = self._resolved(place[0], [said, *writes])
            parent = said.get("parent_id")
            return CheckpointTuple(
                config_of(place),
                seed.checkpoint(said, found, self.serde),  # type: ignore[arg-type]
                seed.value(said, "metadata", found, self.serde),
                config_of((*place[:2], parent)) if parent else None,
                [
                    (one["task_id"], one["channel"], seed.value(one, "value", found, self.serde))
                    for one in writes
                ],
            )
        except (CorruptionError, KeyError, TypeError, ValueError) as error:
            where = f"checkpoint {place[2]!r} of thread {place[0]!r}"
            raise CorruptionError(f"{where} cannot be read: {error}") from error

    def _resolved(
        self, thread_id: str, roots: Iterable[Mapping[str, Any]]
    ) -> dict[str, Mapping[str, Any]]:
        """Read all that documents name, level by level."""
        found: dict[str, Mapping[str, Any]] = {}
        level = dict.fromkeys(ref for said in roots for ref in seed.references(said))
        while level:
            wanted = [ref for ref in level if ref not in found]
            level = {}
            for collection in dict.fromkeys(map(seed.collection_of, wanted)):
                refs = [ref for ref in wanted if seed.collection_of(ref) == collection]
                for start in range(0, len(refs), FETCH_LIMIT):
                    for said in self._fetched(thread_id, collection, refs[start:][:FETCH_LIMIT]):
                        found[said["ref"]] = said
                        level |= dict.fromkeys(seed.references(said))
        return found

    def _fetched(
        self, thread_id: str, collection: str, refs: Sequence[str]
    ) -> Iterator[Mapping[str, Any]]:
        ids = [seed.document_id(self._agent_id, thread_id, ref) for ref in refs]
        return map(parse, self._documents.fetch(self._namespace, collection, ids))


def _applied(said: Mapping[str, Any]) -> tuple[str, str, int]:
    return said.get("task_path") or "", said["task_id"], said["index"]


def _matches(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(
        name in metadata
        and json_text(metadata[name]) is not None
        and equal_text(metadata[name]) == equal_text(value)
        for name, value in wanted.items()
    )
