"""Storage algorithms as generators, so each is written once for blocking and awaiting callers.

An algorithm yields what it needs from the document store and is sent the answer:

    def load(ref: bytes) -> Steps[Document]:
        fetched = yield Fetch(thread_id, (ref,))
        return fetched.documents[ref]

``run`` drives one against a ``DocumentStore``, ``arun`` against an ``AsyncDocumentStore``. All
that an algorithm does before its first request happens before the driver waits for anything.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from threadkeep.errors import CorruptionError
from threadkeep.ports.documents import (
    AsyncDocumentStore,
    Batch,
    DocumentStore,
    Find,
    Key,
    Pruning,
    Scope,
)

T = TypeVar("T")


Store = DocumentStore | AsyncDocumentStore


@dataclass(frozen=True, slots=True)
class Insert:
    """Ask for ``DocumentStore.insert``; answered with ``Inserted``."""

    batch: Batch

    def ask(self, store: Store, scope: Scope) -> Any:
        """Hand the request to either face: its answer, or what awaits it."""
        return store.insert(scope, self.batch)


@dataclass(frozen=True, slots=True)
class Fetch:
    """Ask for ``DocumentStore.fetch``; answered with ``Fetched``."""

    thread_id: str
    refs: Sequence[bytes]
    nodes: bool = False

    def ask(self, store: Store, scope: Scope) -> Any:
        """See ``Insert.ask``."""
        return store.fetch(scope, self.thread_id, self.refs, nodes=self.nodes)


@dataclass(frozen=True, slots=True)
class Remove:
    """Ask for ``DocumentStore.remove``; answered with the number removed."""

    thread_id: str
    documents: Sequence[tuple[str, Key]]

    def ask(self, store: Store, scope: Scope) -> Any:
        """See ``Insert.ask``."""
        return store.remove(scope, self.thread_id, self.documents)


@dataclass(frozen=True, slots=True)
class Erase:
    """Ask for ``DocumentStore.erase``; answered with the number erased."""

    thread_id: str

    def ask(self, store: Store, scope: Scope) -> Any:
        """See ``Insert.ask``."""
        return store.erase(scope, self.thread_id)


@dataclass(frozen=True, slots=True)
class Copy:
    """Ask for ``DocumentStore.copy``; answered with the number copied."""

    source: str
    target: str

    def ask(self, store: Store, scope: Scope) -> Any:
        """See ``Insert.ask``."""
        return store.copy(scope, self.source, self.target)


@dataclass(frozen=True, slots=True)
class Prune:
    """Ask for ``DocumentStore.prune``; answered with ``Pruned``."""

    thread_id: str
    pruning: Pruning

    def ask(self, store: Store, scope: Scope) -> Any:
        """See ``Insert.ask``."""
        return store.prune(scope, self.thread_id, self.pruning)


@dataclass(frozen=True, slots=True)
class TakeLease:
    """Ask for ``DocumentStore.lease``; answered with its token or ``None``."""

    thread_id: str
    seconds: float

    def ask(self, store: Store, scope: Scope) -> Any:
        """See ``Insert.ask``."""
        return store.lease(scope, self.thread_id, self.seconds)


@dataclass(frozen=True, slots=True)
class ExtendLease:
    """Ask for ``DocumentStore.extend_lease``; answered with whether it still was the thread's."""

    thread_id: str
    token: int
    seconds: float

    def ask(self, store: Store, scope: Scope) -> Any:
        """See ``Insert.ask``."""
        return store.extend_lease(scope, self.thread_id, self.token, self.seconds)


@dataclass(frozen=True, slots=True)
class ReleaseLease:
    """Ask for ``DocumentStore.release_lease``; answered with ``None``."""

    thread_id: str
    token: int

    def ask(self, store: Store, scope: Scope) -> Any:
        """See ``Insert.ask``."""
        return store.release_lease(scope, self.thread_id, self.token)


class UnderWay(Protocol):
    """Requests of others that have been sent and not answered yet."""

    def wait(self) -> None:
        """Block until they are answered.

        Raises:
            UnavailableError: That took too long.
        """
        ...

    async def await_(self) -> None:
        """Wait until they are answered; see ``wait``."""
        ...


@dataclass(frozen=True, slots=True)
class Pause:
    """Ask to go on when others have been answered; answered with ``None``."""

    until: UnderWay


LeaseRequest = TakeLease | ExtendLease | ReleaseLease
Request = Insert | Fetch | Find | Remove | Erase | Copy | Prune | LeaseRequest | Pause
Steps = Generator[Request, Any, T]
Resume = Callable[[], Request]  # goes on with a reply, or with the damage that was met instead


def perform(request: Request, store: DocumentStore, scope: Scope) -> Any:
    """Answer one request from a blocking store."""
    if isinstance(request, Find):
        return store.find(scope, request)
    if isinstance(request, Pause):
        return request.until.wait()
    return request.ask(store, scope)


async def aperform(request: Request, store: AsyncDocumentStore, scope: Scope) -> Any:
    """Answer one request from an awaiting store."""
    if isinstance(request, Find):
        return await store.find(scope, request)
    if isinstance(request, Pause):
        return await request.until.await_()
    return await request.ask(store, scope)


def run(steps: Steps[T], store: DocumentStore, scope: Scope) -> T:
    """Drive an algorithm to its result, blocking on the store."""
    resume: Resume = partial(steps.send, None)
    while True:
        try:
            request = resume()
        except StopIteration as done:
            result: T = done.value
            return result
        try:
            resume = partial(steps.send, perform(request, store, scope))
        except CorruptionError as error:
            resume = partial(steps.throw, error)


async def arun(steps: Steps[T], store: AsyncDocumentStore, scope: Scope) -> T:
    """Drive an algorithm to its result, awaiting the store."""
    resume: Resume = partial(steps.send, None)
    while True:
        try:
            request = resume()
        except StopIteration as done:
            result: T = done.value
            return result
        try:
            resume = partial(steps.send, await aperform(request, store, scope))
        except CorruptionError as error:
            resume = partial(steps.throw, error)
