"""The document store: small immutable bodies with declared fields, in named collections.

A *document* belongs to a thread of a *scope* (namespace + agent id) and to a *collection*. Its
*key* is the tuple of its collection's key fields; the other declared fields can be asked for; its
body is opaque. Some documents name others: those addresses stand beside the body, in ``refs``,
so that a store can follow them without reading bodies.

A store hosts the collections of ``COLLECTIONS`` and no others. The two faces carry the same
verbs; a driver implements the one it is native to and takes the other from ``drivers.lift``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from threadkeep.ports.collections import BLOBS as BLOBS
from threadkeep.ports.collections import CHECKPOINTS as CHECKPOINTS
from threadkeep.ports.collections import CHECKPOINTS_V1 as CHECKPOINTS_V1
from threadkeep.ports.collections import COLLECTIONS as COLLECTIONS
from threadkeep.ports.collections import ITEMS as ITEMS
from threadkeep.ports.collections import PARTS as PARTS
from threadkeep.ports.collections import REF_BYTES as REF_BYTES
from threadkeep.ports.collections import WRITES as WRITES
from threadkeep.ports.collections import WRITES_V1 as WRITES_V1
from threadkeep.ports.collections import Collection as Collection
from threadkeep.ports.collections import FieldType as FieldType
from threadkeep.ports.collections import Key as Key
from threadkeep.ports.collections import Scalar as Scalar

PART_BYTES = 256 * 1024  # a body above this is split, so that no broker limit is ever met
READ_BYTES = 2 * 1024 * 1024  # no reply is larger; a quarter of the 8 MiB at which brokers end
FIND_LIMIT = 1000  # documents in one page, at most
IN_LIMIT = 1000  # values of one ``In``, at most
ERASURE_SECONDS = 30 * 24 * 3600  # how long an erasure is known: longer than any run is under way


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose documents: a namespace and an agent id within it."""

    namespace: str
    agent_id: str


@dataclass(frozen=True, slots=True)
class Document:
    """One stored document.

    Attributes:
        thread_id: The thread it belongs to; erasing the thread erases it.
        collection: One of ``COLLECTIONS``.
        key: Its key fields' values, in the collection's order.
        body: Its bytes, at most ``max_body_bytes`` of the store.
        refs: Addresses of the documents it names, in order; each of ``REF_BYTES`` bytes, in any
            addressed collection of the same thread.
        fields: Its other declared fields; a field left out is ``None``. A document that was read
            has every one of them.
    """

    thread_id: str
    collection: str
    key: Key
    body: bytes
    refs: tuple[bytes, ...] = ()
    fields: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Batch:
    """What one ``insert`` writes, all of it or nothing.

    Attributes:
        documents: Written where absent; where one with the same key is present it stays as it
            is, and is *renewed*: its ``touched_at`` becomes now. Of two with one key the first is
            written.
        replacing: Written whether or not one with the same key is present, after ``documents``;
            of two with one key the last is written.
        requires: Keys of documents that must be present, as (collection, key); when one is not,
            nothing is written.
        after: Checkpoints the batch belongs to, each as its key and when it was made, in ticks of
            a UUIDv6 (100 ns since 1582-10-15; 0 where that is not known). Where the thread was
            erased, nothing is written unless each of them is present or was made after that.
        lease: The token of a lease on the thread; when it is not the thread's lease any more,
            nothing is written.
    """

    documents: Sequence[Document] = ()
    replacing: Sequence[Document] = ()
    requires: Sequence[tuple[str, Key]] = ()
    after: Sequence[tuple[Key, int]] = ()
    lease: int | None = None


@dataclass(frozen=True, slots=True)
class Inserted:
    """What an ``insert`` did.

    Attributes:
        written: Whether the batch was written: false when a required document is absent, what it
            belongs to was erased, or its lease is another's.
        erased: Whether it was not written because what it belongs to was erased (``Batch.after``).
        stale: Whether it was not written because of its lease (``Batch.lease``).
        present: Keys of those ``Batch.documents`` that were there already and were kept, as
            (collection, key), for the collections that are not addressed.
    """

    written: bool = True
    present: Sequence[tuple[str, Key]] = ()
    erased: bool = False
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Pruning:
    """Which checkpoints of one thread are to go.

    Attributes:
        gone: Their keys; absent ones are passed over.
        orphans: Keys of the checkpoints that stay although their parent goes.
        strays: Keys of absent checkpoints, whose writes go unless they have come meanwhile.
    """

    gone: Sequence[Key]
    orphans: Sequence[Key] = ()
    strays: Sequence[Key] = ()


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a ``prune`` did.

    Attributes:
        done: False when a checkpoint follows one of ``Pruning.gone`` and is in neither of its
            lists: it was put after the plan was made. Nothing was changed then: plan anew.
        checkpoints: How many checkpoints are gone.
        writes: How many pending writes are gone.
        documents: How many addressed documents are gone.
    """

    done: bool = True
    checkpoints: int = 0
    writes: int = 0
    documents: int = 0


@dataclass(frozen=True, slots=True)
class Is:
    """A key or declared field equals a value; ``None`` means the field is absent."""

    name: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class In:
    """A key or declared field equals one of at most ``IN_LIMIT`` values; none matches nothing."""

    name: str
    values: Sequence[Scalar]


@dataclass(frozen=True, slots=True)
class Below:
    """A key field orders strictly before a value."""

    name: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class HasEntry:
    """A json field's object has a top-level key whose value is JSON-equal to ``value``.

    The key is literal: a dot, a space or a quote in it means itself. ``value`` is JSON text.
    Numbers compare by value (5 is 5.0, integers exactly), true is not 1, objects and lists
    compare whole, a missing key matches nothing and ``null`` matches a stored null only.
    """

    name: str
    entry: str
    value: str


Condition = Is | In | Below | HasEntry


@dataclass(frozen=True, slots=True)
class Find:
    """A question for documents of one collection.

    Attributes:
        thread_id: One thread, or ``None`` for every thread of the scope.
        where: Conditions, all of which hold.
        newest_first: Order by the *last* key field, descending, ties by the fields before it and
            then by thread, ascending; otherwise by thread, then key, ascending.
        after: The (thread_id, key) of the last document of the page before, or ``None``.
        limit: Documents wanted, from 0 to ``FIND_LIMIT``.
        children: The collection's own ``children``; those of every found document come with it,
            in key order, whether or not they fit the budget of this page's documents.
        bodies: Whether bodies are wanted; ``False`` answers with empty ones.
    """

    collection: str
    thread_id: str | None = None
    where: Sequence[Condition] = ()
    newest_first: bool = False
    after: tuple[str, Key] | None = None
    limit: int = FIND_LIMIT
    children: str | None = None
    bodies: bool = True


@dataclass(frozen=True, slots=True)
class Page:
    """Found documents.

    Attributes:
        documents: In the order asked for.
        children: Their children, in key order, when asked for.
        more: Whether the page was cut, by its limit or by ``READ_BYTES``: ask again with ``after``.
            A cut page holds at least one document.
    """

    documents: Sequence[Document]
    children: Sequence[Document] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class Fetched:
    """Documents by address.

    Attributes:
        documents: Those read, by address; absent addresses are absent.
        remaining: Addresses not looked at because the reply was full (``READ_BYTES``), in order;
            fetch them next. At least one document is read by each call, however large.
    """

    documents: Mapping[bytes, Document]
    remaining: Sequence[bytes] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """What one thread stores in one collection: documents, and their bytes.

    The bytes of a document, here and where a reply is cut at ``READ_BYTES``, are those of its
    body, refs, key and fields: text in UTF-8, an integer as 8.
    """

    documents: int
    size_bytes: int


class DocumentStore(Protocol):
    """The blocking face; safe to call from several threads and, where durable, processes."""

    @property
    def max_body_bytes(self) -> int:
        """The largest body accepted; at least ``PART_BYTES``."""
        ...

    def setup(self) -> None:
        """Create what is missing; idempotent, and safe when several processes do it at once.

        Raises:
            SchemaTooNewError: The store was written by a newer release; nothing is changed.
        """
        ...

    def insert(self, scope: Scope, batch: Batch) -> Inserted:
        """Write a batch in one transaction: all of it, or nothing.

        The documents of a batch belong to one thread. Where the driver cannot write a large batch
        in one transaction (a broker), it is written in order instead, ``replacing`` last.

        Raises:
            InvalidRequestError: Documents of two threads, an unknown collection, a key or field
                of the wrong type or number; nothing is written.
            DocumentTooLargeError: A body is above ``max_body_bytes``; nothing is written.
            StorageError: The backend failed; nothing is written.
        """
        ...

    def fetch(
        self, scope: Scope, thread_id: str, refs: Sequence[bytes], *, nodes: bool = False
    ) -> Fetched:
        """Read addressed documents of a thread, at most ``READ_BYTES`` of them by one call.

        Args:
            scope: Whose documents.
            thread_id: The thread they belong to.
            refs: Their addresses, in any addressed collection; repeated ones are read once.
            nodes: Also read, however deep, every document named by a read one that itself names
                documents (a *node*); documents that name none are read only when in ``refs``.
        """
        ...

    def find(self, scope: Scope, find: Find) -> Page:
        """Read one page of a collection.

        Raises:
            InvalidRequestError: An unknown collection or field, a limit out of bounds.
        """
        ...

    def count(self, scope: Scope, find: Find) -> int:
        """Count the documents ``find`` would answer without ``after`` and ``limit``."""
        ...

    def remove(self, scope: Scope, thread_id: str, documents: Sequence[tuple[str, Key]]) -> int:
        """Delete documents of one thread, given as (collection, key), in one transaction.

        Returns:
            How many were present and are now gone.
        """
        ...

    def erase(self, scope: Scope, thread_id: str) -> int:
        """Delete every document of a thread, in one transaction; an unknown thread is no error.

        Nothing of the bodies stays readable in the store's files afterwards. That something was
        erased, and when, stays known for ``ERASURE_SECONDS`` at least (``Batch.after``), as a
        hash of the thread's names and a time.

        Returns:
            How many documents are gone.
        """
        ...

    def copy(self, scope: Scope, source: str, target: str) -> int:
        """Copy every document of a thread to another thread of the scope, in one transaction.

        What the target has stays as it is; an absent source and ``source == target`` change
        nothing. Where the driver can, bodies do not leave the store. A target that was erased may
        be written again whatever it belongs to (``Batch.after``).

        Returns:
            How many documents the target has that it had not.
        """
        ...

    def prune(self, scope: Scope, thread_id: str, pruning: Pruning) -> Pruned:
        """Delete checkpoints with their pending writes, and then all that nothing names any more.

        One transaction; an ``insert`` of the same thread comes before it or after. In it, in order:

        1. Look for a checkpoint, in neither list, whose ``parent_id`` is that of one of ``gone``
           in its namespace. Where there is one, nothing is changed.
        2. Delete the checkpoints of ``gone``, and the writes under them and under absent strays.
        3. Make ``parent_id`` of ``orphans`` ``None``, where their parent is absent.
        4. Delete each addressed document that no checkpoint or write of the thread names, itself
           or through documents it names: a batch must require what went ahead of it.

        An unknown thread is no error.
        """
        ...

    def lease(self, scope: Scope, thread_id: str, seconds: float) -> int | None:
        """Take the one lease on a thread, for a time; the thread may store nothing yet.

        A lease whose time is over can be taken by the next who asks; until then it stays valid.

        Returns:
            Its token, greater than that of every lease before it; ``None`` when the thread has a
            lease whose time is not over.
        """
        ...

    def extend_lease(self, scope: Scope, thread_id: str, token: int, seconds: float) -> bool:
        """Let a lease end ``seconds`` from now; false where it is the thread's no more."""
        ...

    def release_lease(self, scope: Scope, thread_id: str, token: int) -> None:
        """Give a lease back; no error where it is the thread's no more."""
        ...

    def measure(self, scope: Scope, thread_id: str) -> Mapping[str, Usage]:
        """Say what a thread stores, by collection; collections without documents are left out."""
        ...

    def close(self) -> None:
        """Finish what was handed over and let go of the backend; idempotent."""
        ...


class AsyncDocumentStore(Protocol):
    """The awaiting face; ``DocumentStore`` says what each method promises."""

    @property
    def max_body_bytes(self) -> int:
        """See ``DocumentStore.max_body_bytes``."""
        ...

    async def setup(self) -> None:
        """See ``DocumentStore.setup``."""
        ...

    async def insert(self, scope: Scope, batch: Batch) -> Inserted:
        """See ``DocumentStore.insert``."""
        ...

    async def fetch(
        self, scope: Scope, thread_id: str, refs: Sequence[bytes], *, nodes: bool = False
    ) -> Fetched:
        """See ``DocumentStore.fetch``."""
        ...

    async def find(self, scope: Scope, find: Find) -> Page:
        """See ``DocumentStore.find``."""
        ...

    async def count(self, scope: Scope, find: Find) -> int:
        """See ``DocumentStore.count``."""
        ...

    async def remove(
        self, scope: Scope, thread_id: str, documents: Sequence[tuple[str, Key]]
    ) -> int:
        """See ``DocumentStore.remove``."""
        ...

    async def erase(self, scope: Scope, thread_id: str) -> int:
        """See ``DocumentStore.erase``."""
        ...

    async def copy(self, scope: Scope, source: str, target: str) -> int:
        """See ``DocumentStore.copy``."""
        ...

    async def prune(self, scope: Scope, thread_id: str, pruning: Pruning) -> Pruned:
        """See ``DocumentStore.prune``."""
        ...

    async def lease(self, scope: Scope, thread_id: str, seconds: float) -> int | None:
        """See ``DocumentStore.lease``."""
        ...

    async def extend_lease(self, scope: Scope, thread_id: str, token: int, seconds: float) -> bool:
        """See ``DocumentStore.extend_lease``."""
        ...

    async def release_lease(self, scope: Scope, thread_id: str, token: int) -> None:
        """See ``DocumentStore.release_lease``."""
        ...

    async def measure(self, scope: Scope, thread_id: str) -> Mapping[str, Usage]:
        """See ``DocumentStore.measure``."""
        ...

    async def close(self) -> None:
        """See ``DocumentStore.close``."""
        ...
