"""What drives steps of ``checkpoints`` against a document store, for every part of the saver."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.encryption import Keyring, encrypted
from threadkeep.checkpoints.known import Known
from threadkeep.checkpoints.steps import Resume, Steps, arun, perform, run
from threadkeep.errors import CorruptionError
from threadkeep.ports.documents import AsyncDocumentStore, DocumentStore, Scope
from threadkeep.savers.staged_run import PlannedTooEarlyError
from threadkeep.savers.staging import StagedDocuments
from threadkeep.savers.under_way import WritesUnderWay

T = TypeVar("T")


class Driving(BaseCheckpointSaver[Any]):
    """Holds the document store, and what this saver and its copies know together."""

    def __init__(
        self,
        documents: DocumentStore,
        async_documents: AsyncDocumentStore | None,
        scope: Scope,
        serde: SerializerProtocol,
        keyring: Keyring | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self._keyring = keyring
        self._documents = documents
        self._async_documents = async_documents
        self._scope = scope
        self._known = Known(threading.Lock())
        self._under_way = WritesUnderWay()

    def _codec(self) -> Codec:
        return Codec(self.serde) if self._keyring is None else self._keyring.codec(self.serde)

    def _run(self, steps: Steps[T]) -> T:
        return run(self._stored(steps), self._documents, self._scope)

    def _stored(self, steps: Steps[T]) -> Steps[T]:
        """Take steps as they are put to the store."""
        return steps if self._keyring is None else encrypted(steps, self._keyring)

    async def _awrite(self, plan: Callable[[], Steps[None]]) -> None:
        """Plan a write and carry it out, in a ``staged`` view by staging it.

        It is planned anew where what it relies on had to be, and where that was pruned before the
        write was committed.
        """
        staged = self._async_documents
        if not isinstance(staged, StagedDocuments):
            await self._arun(plan())
            return
        beneath = staged.beneath

        def again() -> Awaitable[None]:
            return arun(self._stored(plan()), beneath, self._scope)

        while True:
            with suppress(PlannedTooEarlyError):
                await arun(self._stored(plan()), staged.writing(again), self._scope)
                return

    async def _arun(self, steps: Steps[T]) -> T:
        steps = self._stored(steps)
        if self._async_documents is not None:
            return await arun(steps, self._async_documents, self._scope)
        resume: Resume = partial(steps.send, None)
        while True:
            try:
                request = resume()
            except StopIteration as done:
                result: T = done.value
                return result
            work = partial(perform, request, self._documents, self._scope)
            try:
                resume = partial(steps.send, await asyncio.to_thread(work))
            except CorruptionError as error:
                resume = partial(steps.throw, error)
