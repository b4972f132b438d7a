"""Reading documents by address, and the values they are.

``gather`` follows addresses down to the last document: checkpoint or writes, then all nodes, then
their elements, three requests whatever the history, and one more for each further 2 MiB.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from typing import Any

from threadkeep.checkpoints import bodies
from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.entries import (
    Blob,
    Entry,
    Inline,
    Keyed,
    Mark,
    Snapshot,
    Table,
    Text,
    Tree,
)
from threadkeep.checkpoints.known import Known
from threadkeep.checkpoints.lists import Listing, read
from threadkeep.checkpoints.steps import Fetch, Steps
from threadkeep.checkpoints.tables import Items
from threadkeep.checkpoints.tables import read as read_table
from threadkeep.checkpoints.texts import join
from threadkeep.checkpoints.values import SNAPSHOT
from threadkeep.errors import CorruptionError, SchemaTooNewError, ThreadkeepError
from threadkeep.ports.documents import CHECKPOINTS, Document, Fetched, Find, Is, Page

Documents = dict[bytes, Document]

_SHARED = (dict, list, set, bytearray)  # of these each reader gets one of its own


def gather(
    thread_id: str, refs: Iterable[bytes], found: Documents, known: Known
) -> Steps[set[bytes]]:
    """Read documents and all that they name, however deep, into ``found``.

    Args:
        thread_id: Their thread.
        refs: Their addresses.
        found: Documents already read; gets the others.
        known: Asked first.

    Returns:
        The addresses of those that came from the store: nobody has checked them yet.

    Raises:
        CorruptionError: A document is missing.
    """
    fresh: set[bytes] = set()
    walked: set[bytes] = set()
    walk: Collection[bytes] = list(refs)
    outside: dict[bytes, None] = {}
    while walk or outside:
        if not walk:
            # All nodes come with the first answer: nothing that is named after it names more.
            fresh |= yield from fetch(thread_id, outside, found, nodes=not fresh)
            walk, outside = outside, {}
        missing = _descend(walk, found, walked)
        walk = known.documents(thread_id, missing)
        found |= walk
        outside |= {ref: None for ref in missing if ref not in walk}
    return fresh


def _descend(refs: Iterable[bytes], found: Documents, walked: set[bytes]) -> list[bytes]:
    """Follow addresses through the documents found; name those that are not."""
    missing: dict[bytes, None] = {}
    stack = list(refs)
    for ref in stack:  # grows while it is walked
        if ref in walked:
            continue
        document = found.get(ref)
        if document is None:
            missing[ref] = None
        else:
            walked.add(ref)
            stack += document.refs
    return list(missing)


def fetch(
    thread_id: str, refs: Collection[bytes], found: Documents, *, nodes: bool = True
) -> Steps[Set[bytes]]:
    """Read documents, and the nodes under them where wanted, into ``found``.

    Returns:
        The addresses of those that were read.

    Raises:
        CorruptionError: One of ``refs`` is missing.
    """
    read_now: Documents = {}
    remaining = refs
    while remaining:
        fetched: Fetched = yield Fetch(thread_id, [*remaining], nodes=nodes)
        read_now |= fetched.documents
        remaining = fetched.remaining
    found |= read_now
    for ref in refs:
        if ref not in read_now:
            raise CorruptionError(f"thread {thread_id!r} lacks the document {ref.hex()}")
    return read_now.keys()


def still_stored(checkpoints: Sequence[Document]) -> Steps[list[Document]]:
    """Tell which checkpoints are stored as they were read.

    What a checkpoint names may be gone because the checkpoint is: that is no damage.
    """
    kept = []
    for document in checkpoints:
        namespace, checkpoint_id = document.key
        page: Page = yield Find(
            CHECKPOINTS,
            document.thread_id,
            [Is("checkpoint_ns", namespace), Is("checkpoint_id", checkpoint_id)],
            limit=1,
        )
        if [*page.documents] == [document]:
            kept.append(document)
    return kept


@contextmanager
def naming(checkpoint: Document) -> Iterator[None]:
    """Name the checkpoint in whatever is told of its damage.

    Raises:
        CorruptionError: In place of any error but one of ours of another kind.
        SchemaTooNewError: In place of one that names no checkpoint.
    """
    try:
        yield
    except CorruptionError as error:
        raise CorruptionError(_damage(checkpoint, error)) from error
    except SchemaTooNewError as error:
        raise SchemaTooNewError(_damage(checkpoint, error)) from error
    except (ThreadkeepError, MemoryError):
        raise
    except Exception as error:
        raise CorruptionError(_damage(checkpoint, error)) from error


def _damage(checkpoint: Document, error: Exception) -> str:
    namespace, checkpoint_id = checkpoint.key
    where = f" in {namespace!r}" if namespace else ""
    return f"checkpoint {checkpoint_id!r}{where} of thread {checkpoint.thread_id!r}: {error}"


class Reader:
    """Makes values of documents that were gathered.

    Args:
        codec: Its serializer makes the values.
        documents: Everything the entries asked for name.
        fresh: The addresses of those that nobody has checked yet.
        share: Whether the same element may be handed out more than once; containers never are.

    Attributes:
        checked: Fresh documents that are what their addresses say.
    """

    def __init__(
        self, codec: Codec, documents: Documents, fresh: Set[bytes], *, share: bool = False
    ) -> None:
        self.documents = documents
        self.codec = codec
        self.checked: list[Document] = []
        self._fresh = set(fresh)
        self._share = share
        self._made: dict[bytes, Any] = {}

    def plain(self, ref: bytes) -> bytes:
        """Give the plain of a document.

        Raises:
            CorruptionError: The document is missing, or not the one its address names.
        """
        document = self._document(ref)
        body, refs = document.body, document.refs
        if body[:1] == bytes((bodies.MANIFEST,)):
            body, refs = b"".join(self.plain(part)[1:] for part in refs), ()
        if body[:1] == bytes((bodies.FIELD,)):
            plain = body[1:2] + str(document.fields.get("metadata")).encode()
        else:
            plain = bodies.unseal(body)
        if ref in self._fresh:
            if self.codec.address(plain, refs) != ref:
                raise CorruptionError(f"the document {ref.hex()} is not what its address says")
            self._fresh.discard(ref)
            self.checked.append(document)
        return plain

    def listing(self, tree: Tree) -> Listing:
        """Find out how a list is stored."""
        return read(tree, self._node)

    def items(self, root: bytes) -> Items:
        """Find out how a table is stored."""
        return read_table(root, self._node)

    def elements(self, listing: Listing) -> list[Any]:
        """Make the elements of a list."""
        return self.made(listing.marks)

    def made(self, marks: Iterable[Mark]) -> list[Any]:
        """Make the values that marks name."""
        return [self._element(mark) for mark in marks]

    def value(self, entry: Entry) -> Any:
        """Make the value an entry states; an absent one is ``None``."""
        match entry:
            case None:
                return None
            case Inline(plain):
                return self.codec.load(plain)
            case Blob(ref):
                return self._element(ref)
            case Tree() | Snapshot() | Text():
                return self._of_elements(entry)
            case Table(root):
                items = self.items(root)
                return dict(zip(items.keys, self.made(items.marks), strict=True))
            case Keyed(entries):
                return {key: self.value(inner) for key, inner in entries}

    def channel(self, name: str, entry: Entry) -> Any:
        """Make the value of an entry; see ``value``.

        Raises:
            CorruptionError: It cannot be made; says which it is.
        """
        try:
            return self.value(entry)
        except CorruptionError as error:
            raise CorruptionError(f"{name}: {error}") from error

    def _of_elements(self, entry: Tree | Snapshot | Text) -> Any:
        if isinstance(entry, Tree):
            return self.elements(self.listing(entry))
        elements = self.elements(self.listing(entry.tree))
        return join(elements) if isinstance(entry, Text) else SNAPSHOT(elements)

    def _element(self, mark: Mark) -> Any:
        if isinstance(mark, Inline):
            return self.codec.load(mark.plain)
        if mark in self._made:
            return self._made[mark]
        made = self.codec.load(self.plain(mark))
        if self._share and not isinstance(made, _SHARED):
            self._made[mark] = made
        return made

    def _node(self, ref: bytes) -> tuple[bytes, tuple[bytes, ...]]:
        return self.plain(ref)[1:], self._document(ref).refs

    def _document(self, ref: bytes) -> Document:
        try:
            return self.documents[ref]
        except KeyError:
            raise CorruptionError(f"the document {ref.hex()} is missing") from None
