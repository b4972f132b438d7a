"""The saver of one run: passes everything on to the server's, and knows where the run stands.

Once it is revoked it writes nothing more, so that a run whose end was recorded, or whose lease
was lost, cannot change its thread afterwards however its nodes behave.
"""

import copy
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

from threadkeep.errors import RunCancelledError

Saver = BaseCheckpointSaver[Any]


class StagedSaver(Protocol):
    """A saver whose writes may wait a moment; see ``StagingSaver``."""

    async def flush(self) -> None:
        """Wait until everything written through it is durable."""
        ...

    def check_stored(self) -> None:
        """Refuse unless that is so, or becomes so with the transaction this is called in."""
        ...


@runtime_checkable
class StagingSaver(Protocol):
    """A saver that can hold back a run's writes so that they share transactions."""

    def staged(self) -> StagedSaver:
        """Return a saver for one run, itself a ``BaseCheckpointSaver``."""
        ...


class Place:
    """Where a run stands on its thread.

    Attributes:
        head: The root checkpoint written last, else the one the run started from, else ``None``.
        has_written: Whether the run wrote a root checkpoint.
        is_revoked: Whether the run may write no more.
    """

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        self.head: str | None = None
        self.has_written = False
        self.is_revoked = False

    def check(self) -> None:
        """Refuse to write for a run that has ended.

        Raises:
            RunCancelledError: It has.
        """
        if self.is_revoked:
            raise RunCancelledError("this run has ended; it may write no more")

    def read(self, config: RunnableConfig, found: CheckpointTuple | None) -> None:
        """Note a checkpoint that was read."""
        if found is not None and self.head is None and self._is_root(config):
            self.head = found.config["configurable"]["checkpoint_id"]

    def wrote(self, config: RunnableConfig, written: RunnableConfig) -> None:
        """Note a checkpoint that was written."""
        if self._is_root(config):
            self.head = written["configurable"]["checkpoint_id"]
            self.has_written = True

    def _is_root(self, config: RunnableConfig) -> bool:
        at = config["configurable"]
        return not at.get("checkpoint_ns") and at.get("thread_id") == self.thread_id


class RunSaver(BaseCheckpointSaver[Any]):
    """See the module."""

    def __init__(self, inner: Saver, place: Place) -> None:
        super().__init__(serde=inner.serde)
        self._inner = inner
        self._place = place

    @property
    def config_specs(self) -> list[Any]:
        """See ``BaseCheckpointSaver``; so for every method here."""
        return self._inner.config_specs

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> "RunSaver":
        """Return the same over an inner saver that reads these types too."""
        inner = self._inner.with_allowlist(extra_allowlist)
        if inner is self._inner:
            return self
        clone = copy.copy(self)
        clone._inner = inner
        clone.serde = inner.serde
        return clone

    def for_graph(self, graph: Any) -> "RunSaver":
        """Return the same over an inner saver that restores the classes of a graph."""
        clone = copy.copy(self)
        clone._inner = for_graph(self._inner, graph)
        clone.serde = clone._inner.serde
        return clone

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Ask the inner saver."""
        return self._inner.get_next_version(current, channel)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read, and note the place."""
        found = self._inner.get_tuple(config)
        self._place.read(config, found)
        return found

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read, and note the place."""
        found = await self._inner.aget_tuple(config)
        self._place.read(config, found)
        return found

    def list(self, config: RunnableConfig | None, **kwargs: Any) -> Iterator[CheckpointTuple]:
        """Ask the inner saver."""
        return self._inner.list(config, **kwargs)

    def alist(self, config: RunnableConfig | None, **kwargs: Any) -> AsyncIterator[CheckpointTuple]:
        """Ask the inner saver."""
        return self._inner.alist(config, **kwargs)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write while the run may, and note the place."""
        self._place.check()
        written = self._inner.put(config, checkpoint, metadata, new_versions)
        self._place.wrote(config, written)
        return written

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write while the run may, and note the place."""
        self._place.check()
        written = await self._inner.aput(config, checkpoint, metadata, new_versions)
        self._place.wrote(config, written)
        return written

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Write while the run may."""
        self._place.check()
        self._inner.put_writes(config, writes, task_id, task_path)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Write while the run may."""
        self._place.check()
        await self._inner.aput_writes(config, writes, task_id, task_path)

    def get_delta_channel_history(self, **kwargs: Any) -> Mapping[str, Any]:
        """Ask the inner saver."""
        return self._inner.get_delta_channel_history(**kwargs)

    async def aget_delta_channel_history(self, **kwargs: Any) -> Mapping[str, Any]:
        """Ask the inner saver."""
        return await self._inner.aget_delta_channel_history(**kwargs)


def for_graph(saver: Saver, graph: Any) -> Saver:
    """Return a saver that restores the classes of a graph, where it has such a view."""
    view = getattr(saver, "for_graph", None)
    return saver if view is None else view(graph)


def saver_for(saver: Saver, *, durability: str) -> Saver:
    """Return what a run writes through: under ``async`` a staged saver where there is one."""
    if durability == "async" and isinstance(saver, StagingSaver):
        staged: Any = saver.staged()
        found: Saver = staged
        return found
    return saver


async def flush(saver: Saver) -> None:
    """Wait until what a run wrote is durable; at once for a saver that holds nothing back."""
    waiting: Any = saver
    if hasattr(waiting, "flush"):
        await waiting.flush()


def check_stored(saver: Saver) -> None:
    """Refuse unless what a run wrote is stored with the transaction this is called in.

    Raises:
        Exception: Whatever the saver raises: it is not, or not yet.
    """
    waiting: Any = saver
    if hasattr(waiting, "check_stored"):
        waiting.check_stored()


def can_roll_back(saver: Saver) -> bool:
    """Say whether a saver can remove the checkpoints of one run."""
    return type(saver).adelete_for_runs is not BaseCheckpointSaver.adelete_for_runs


def cannot_roll_back(saver: Saver) -> str:
    """Return the sentence that says so."""
    return (
        f"{type(saver).__name__} cannot remove the checkpoints of one run, so a run cannot be "
        "rolled back; cancel it with action=interrupt"
    )
