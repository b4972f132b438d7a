"""Storage algorithms as generators, so each is written once for blocking and awaiting callers.

An algorithm yields what it needs from the document store and is sent the answer:

    def load(ref: bytes) -> Steps[Document]:
        fetched = yield Fetch(thread_id, (ref,))
        return fetched.documents[ref]

``run`` drives one against a ``DocumentStore``, ``arun`` against an ``AsyncDocumentStore``. All
that an algorithm does before its first request happens before the driver waits for anything.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from threadkeep.ports.documents import (
    AsyncDocumentStore,
    Batch,
    DocumentStore,
    Find,
    Key,
    Scope,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Insert:
    """Ask for ``DocumentStore.insert``; answered with ``Inserted``."""

    batch: Batch


@dataclass(frozen=True, slots=True)
class Fetch:
    """Ask for ``DocumentStore.fetch``; answered with ``Fetched``."""

    thread_id: str
    refs: Sequence[bytes]
    nodes: bool = False


@dataclass(frozen=True, slots=True)
class Remove:
    """Ask for ``DocumentStore.remove``; answered with the number removed."""

    thread_id: str
    documents: Sequence[tuple[str, Key]]


@dataclass(frozen=True, slots=True)
class Erase:
    """Ask for ``DocumentStore.erase``; answered with the number erased."""

    thread_id: str


class UnderWay(Protocol):
    """Requests of others that have been sent and not answered yet."""

    def wait(self) -> None:
        """Block until they are answered, or for a moment at most."""
        ...

    async def await_(self) -> None:
        """Wait until they are answered, or for a moment at most."""
        ...


@dataclass(frozen=True, slots=True)
class Pause:
    """Ask to go on when others have been answered; answered with ``None``."""

    until: UnderWay


Request = Insert | Fetch | Find | Remove | Erase | Pause
Steps = Generator[Request, Any, T]


def perform(request: Request, store: DocumentStore, scope: Scope) -> Any:
    """Answer one request from a blocking store."""
    match request:
        case Insert(batch):
            return store.insert(scope, batch)
        case Fetch(thread_id, refs, nodes):
            return store.fetch(scope, thread_id, refs, nodes=nodes)
        case Find():
            return store.find(scope, request)
        case Remove(thread_id, documents):
            return store.remove(scope, thread_id, documents)
        case Erase(thread_id):
            return store.erase(scope, thread_id)
        case Pause(until):
            return until.wait()


async def aperform(request: Request, store: AsyncDocumentStore, scope: Scope) -> Any:
    """Answer one request from an awaiting store."""
    match request:
        case Insert(batch):
            return await store.insert(scope, batch)
        case Fetch(thread_id, refs, nodes):
            return await store.fetch(scope, thread_id, refs, nodes=nodes)
        case Find():
            return await store.find(scope, request)
        case Remove(thread_id, documents):
            return await store.remove(scope, thread_id, documents)
        case Erase(thread_id):
            return await store.erase(scope, thread_id)
        case Pause(until):
            return await until.await_()


def run(steps: Steps[T], store: DocumentStore, scope: Scope) -> T:
    """Drive an algorithm to its result, blocking on the store."""
    reply: Any = None
    while True:
        try:
            request = steps.send(reply)
        except StopIteration as done:
            result: T = done.value
            return result
        reply = perform(request, store, scope)


async def arun(steps: Steps[T], store: AsyncDocumentStore, scope: Scope) -> T:
    """Drive an algorithm to its result, awaiting the store."""
    reply: Any = None
    while True:
        try:
            request = steps.send(reply)
        except StopIteration as done:
            result: T = done.value
            return result
        reply = await aperform(request, store, scope)
