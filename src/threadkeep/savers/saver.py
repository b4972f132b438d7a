"""LangGraph's checkpointer over a document store, blocking and awaiting in one class.

Every method is a shell: it reads LangGraph's arguments and drives steps of ``checkpoints`` against
the store. The object holds no connection of its own and may be shared by threads and event loops.
"""

import asyncio
import copy
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from threadkeep.checkpoints import listing, metadata
from threadkeep.checkpoints.delta import History, delta_history
from threadkeep.checkpoints.earlier import get_either, next_page
from threadkeep.checkpoints.get import Loaded
from threadkeep.checkpoints.known import Place
from threadkeep.checkpoints.put import Put, put
from threadkeep.checkpoints.steps import Steps
from threadkeep.checkpoints.writes import PutWrites, put_writes
from threadkeep.errors import InvalidRequestError, NotFoundError, ThreadkeepError
from threadkeep.model.default_scope import AGENT_ID, NAMESPACE
from threadkeep.model.uuid_times import made_at
from threadkeep.ports.documents import AsyncDocumentStore, DocumentStore, Scope
from threadkeep.rules.credentials import without_credentials
from threadkeep.savers.addresses import address, config_of, text
from threadkeep.savers.graph_classes import classes_of
from threadkeep.savers.keys import keys_and_serde
from threadkeep.savers.leases import lease_of
from threadkeep.savers.opening import Opening
from threadkeep.savers.staged_run import StagedRun
from threadkeep.savers.staging import StagedDocuments
from threadkeep.savers.verifying import Verifying
from threadkeep.savers.versions import next_version
from threadkeep.savers.whole_threads import WholeThreads

if TYPE_CHECKING:  # older releases of LangGraph have no delta channels
    from langgraph.checkpoint.base import DeltaChannelHistory

T = TypeVar("T")


class DocumentCheckpointSaver(WholeThreads, Verifying):
    """Keeps LangGraph checkpoints as increments in a document store.

    Args:
        documents: An open document store; ``setup`` must have run on it, here or elsewhere.
        async_documents: Its awaiting face. Without it the async methods call ``documents`` in
            worker threads.
        namespace: With ``agent_id``, whose checkpoints: others do not see them.
        agent_id: See ``namespace``.
        serde: LangGraph's serializer for values, if another than ``SafeSerializer``, which keeps
            types and calls nothing.
        secret_keys: Further keys of ``configurable`` and metadata that name credentials, which are
            never stored; see ``rules.credentials``.
        encryption_keys: With at least one, all that is stored of values, writes and metadata is
            encrypted, and what is not is refused. The first writes, all of them read. The cipher
            is ours, or that of an ``EncryptedSerializer`` given as ``serde``.

    Raises:
        ConfigError: A key is too short, or an ``EncryptedSerializer`` comes without keys.
    """

    def __init__(
        self,
        documents: DocumentStore,
        *,
        async_documents: AsyncDocumentStore | None = None,
        namespace: str = NAMESPACE,
        agent_id: str = AGENT_ID,
        serde: SerializerProtocol | None = None,
        secret_keys: Collection[str] = (),
        encryption_keys: Sequence[str | bytes] = (),
    ) -> None:
        keyring, serde = keys_and_serde(encryption_keys, serde)
        super().__init__(
            documents,
            async_documents,
            Scope(namespace, agent_id),
            serde,
            keyring,
        )
        self._secret_keys = frozenset(secret_keys)

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        namespace: str = NAMESPACE,
        agent_id: str = AGENT_ID,
        serde: SerializerProtocol | None = None,
        secret_keys: Collection[str] = (),
        encryption_keys: Sequence[str | bytes] = (),
    ) -> "Opening[DocumentCheckpointSaver]":
        """Open a storage address, for ``with`` and for ``async with``.

        Sets up what is missing, and closes what was opened.

        Raises:
            ConfigError: On entering: no installed driver serves the address.
            StorageError: On entering: the backend cannot be opened.
        """
        return Opening(
            url,
            lambda driver: cls(
                driver.documents(),
                async_documents=driver.async_documents(),
                namespace=namespace,
                agent_id=agent_id,
                serde=serde,
                secret_keys=secret_keys,
                encryption_keys=encryption_keys,
            ),
        )

    def setup(self) -> None:
        """Create what is missing; idempotent, and safe when many processes do it at once."""
        self._documents.setup()

    async def asetup(self) -> None:
        """See ``setup``."""
        if self._async_documents is not None:
            await self._async_documents.setup()
        else:
            await asyncio.to_thread(self._documents.setup)

    def for_graph(self, graph: Any) -> "DocumentCheckpointSaver":
        """Return a view that restores the classes of a graph's schemas, wherever they were made.

        It shares all this saver knows. Without it a class is restored when it is found by its name
        in a module that is imported, which those of functions are not.

        Args:
            graph: A builder, or a compiled graph.
        """
        classes = classes_of(graph)
        given = getattr(self.serde, "with_classes", None)
        if given is None:
            return self.with_allowlist({(each.__module__, each.__name__) for each in classes})  # type: ignore[return-value]
        view = copy.copy(self)
        view.serde = given(classes)
        return view

    def staged(self) -> "DocumentCheckpointSaver":
        """Return a view for one run whose async writes return before they are durable.

        It shares all this saver knows. ``flush`` it when the run ends; where the store cannot
        stage, its writes are as durable as this saver's.
        """
        view = copy.copy(self)
        if hasattr(self._async_documents, "stage"):
            run = StagedRun(self._async_documents, self._known.doubt)  # type: ignore[arg-type]
            view._async_documents = StagedDocuments(run)
        return view

    async def flush(self) -> None:
        """Wait until all that a ``staged`` view wrote is durable; nothing to do for others.

        Raises:
            NotFoundError: The thread was deleted meanwhile.
            StorageError: The backend failed.
        """
        if isinstance(self._async_documents, StagedDocuments):
            try:
                await self._async_documents.flush()
            except ThreadkeepError:
                self._known.doubt()  # it may hold what was lost for stored
                raise

    def check_stored(self) -> None:
        """Refuse unless all that a ``staged`` view wrote is stored; see ``StagedDocuments.check``.

        Raises:
            NotFoundError: The thread was deleted meanwhile.
            StorageError: The backend failed, or it is too early to know.
        """
        if isinstance(self._async_documents, StagedDocuments):
            self._async_documents.check()

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read one checkpoint, or the newest of a namespace; ``None`` when there is none."""
        return _tuple(self._run(self._get(config)))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See ``get_tuple``."""
        return _tuple(await self._arun(self._get(config)))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """List checkpoints, newest first by id across threads and namespaces.

        Those of schema 1 come after all others.

        One page is read at a time; nothing is held open between pages.
        """
        question = _listing(config, filter, before, limit)
        position = listing.start(question)
        while position is not None:
            steps = next_page(question, position, self._codec(), self._known)
            page, position = self._run(steps)
            yield from (_made(loaded) for loaded in page)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """See ``list``."""
        question = _listing(config, filter, before, limit)
        position = listing.start(question)
        while position is not None:
            steps = next_page(question, position, self._codec(), self._known)
            page, position = await self._arun(steps)
            for loaded in page:
                yield _made(loaded)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint after the one ``config`` names, in one transaction.

        A channel whose version is its parent's keeps its parent's value. A checkpoint put again is
        replaced. Values above 2 MiB in sum go ahead in transactions of their own.

        Raises:
            NotFoundError: The thread was deleted after the parent was stored; or the parent was
                pruned, and the value of a ``DeltaChannel`` is made from it.
            LeaseLostError: The thread's lease has passed to another; nothing is written.
            ValueNotStorableError: A value cannot be serialized; nothing is written.
        """
        request = self._put(config, checkpoint, metadata)
        self._run(put(request, self._codec(), self._known))
        return config_of(request.place)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """See ``put``."""
        request = self._put(config, checkpoint, metadata)
        await self._awrite(lambda: put(request, self._codec(), self._known))
        return config_of(request.place)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store a task's writes for a checkpoint, in one transaction.

        Special writes replace. A task's regular writes stay as first stored; what repeats them all
        may add to them, and two attempts are not mixed. The null task's add up, index by index.

        Raises:
            NotFoundError: The thread was deleted after the checkpoint was made.
            LeaseLostError: The thread's lease has passed to another; nothing is written.
            ValueNotStorableError: A value cannot be serialized; nothing is written.
        """
        request = self._put_writes(config, writes, task_id, task_path)
        with self._under_way.entered(request.place):
            self._run(put_writes(request, self._codec(), self._known))

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """See ``put_writes``."""
        request = self._put_writes(config, writes, task_id, task_path)
        with self._under_way.entered(request.place):
            await self._awrite(lambda: put_writes(request, self._codec(), self._known))

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> "Mapping[str, DeltaChannelHistory]":
        """Read what the ancestors of a checkpoint wrote to some channels, since each one's value.

        Ancestors are read by the page, not one by one.
        """
        return _histories(self._run(self._delta_history(config, channels)))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> "Mapping[str, DeltaChannelHistory]":
        """See ``get_delta_channel_history``."""
        return _histories(await self._arun(self._delta_history(config, channels)))

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Answer a greater version of the same type; see ``next_version``."""
        return next_version(current)

    def _get(self, config: RunnableConfig) -> Steps[Loaded | None]:
        thread_id, namespace, checkpoint_id = address(config)
        return get_either(thread_id, namespace, checkpoint_id, self._codec(), self._known)

    def _delta_history(
        self, config: RunnableConfig, channels: Sequence[str]
    ) -> Steps[dict[str, History]]:
        names = list(dict.fromkeys(channels))
        return delta_history(*address(config), names, self._codec(), self._known)

    def _put(
        self, config: RunnableConfig, checkpoint: Checkpoint, given: CheckpointMetadata
    ) -> Put:
        if "checkpoint_ns" not in config["configurable"]:
            raise InvalidRequestError("put needs configurable.checkpoint_ns; '' is the root's")
        thread_id, namespace, parent_id = address(config)
        parents = given.get("parents")
        ancestors = parents.items() if isinstance(parents, Mapping) else ()
        for ancestor in ((namespace, parent_id), *ancestors):
            if ancestor[1] is not None:
                self._refuse_if_gone((thread_id, str(ancestor[0]), str(ancestor[1])))
        place = (thread_id, namespace, text("checkpoint id", checkpoint["id"]))
        under_way = self._under_way.of((thread_id, namespace, parent_id)) if parent_id else None
        lease = lease_of(config, self._known, thread_id)
        said = without_credentials(metadata.merge(config, given), self._secret_keys)
        return Put(place, parent_id, checkpoint, said, under_way, lease)

    def _put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str,
    ) -> PutWrites:
        thread_id, namespace, checkpoint_id = address(config)
        if checkpoint_id is None:
            raise InvalidRequestError("put_writes needs configurable.checkpoint_id")
        place = (thread_id, namespace, checkpoint_id)
        self._refuse_if_gone(place)
        lease = lease_of(config, self._known, thread_id)
        return PutWrites(place, writes, text("task_id", task_id), task_path, lease)

    def _refuse_if_gone(self, place: Place) -> None:
        """Refuse what belongs to a thread as it was before this process deleted it.

        A checkpoint that was stored since, or whose id was made since, belongs to what it is now.
        """
        gone_at = self._known.gone_at(place[0])
        if gone_at is None or made_at(place[2]) > gone_at:
            return
        if self._known.record(place) is None:
            raise NotFoundError("thread", place[0])


def _listing(
    config: RunnableConfig | None,
    filter_: dict[str, Any] | None,
    before: RunnableConfig | None,
    limit: Any,
) -> listing.Listing:
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool)):
        raise InvalidRequestError(f"limit must be an integer, not {limit!r}")
    before_id = before["configurable"].get("checkpoint_id") if before else None
    if config is None:
        return listing.Listing(before=before_id, filter=filter_, limit=limit)
    thread_id, namespace, checkpoint_id = address(config)
    named = config["configurable"].get("checkpoint_ns") is not None
    return listing.Listing(
        thread_id, namespace if named else None, checkpoint_id, before_id, filter_, limit
    )


def _histories(found: Mapping[str, History]) -> "dict[str, DeltaChannelHistory]":
    made: dict[str, DeltaChannelHistory] = {}
    for name, history in found.items():
        made[name] = {"writes": history.writes}
        if history.seed:
            made[name]["seed"] = history.seed[0]
    return made


def _tuple(loaded: Loaded | None) -> CheckpointTuple | None:
    return None if loaded is None else _made(loaded)


def _made(loaded: Loaded) -> CheckpointTuple:
    thread_id, namespace, _ = loaded.place
    parent = None
    if loaded.parent_id is not None:
        parent = config_of((thread_id, namespace, loaded.parent_id))
    return CheckpointTuple(
        config_of(loaded.place),
        loaded.checkpoint,  # type: ignore[arg-type]
        loaded.metadata,  # type: ignore[arg-type]
        parent,
        loaded.pending_writes,
    )
