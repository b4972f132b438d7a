"""Reading documents by address, and the values they are.

``gather`` follows addresses down to the last document: checkpoint or writes, then all nodes, then
their elements, three requests whatever the history, and one more for each further 2 MiB.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

from threadkeep.checkpoints import bodies
from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.entries import Blob, Entry, Inline, Keyed, Mark, Tree
from threadkeep.checkpoints.known import Known
from threadkeep.checkpoints.lists import Listing, read
from threadkeep.checkpoints.steps import Fetch, Steps
from threadkeep.errors import CorruptionError
from threadkeep.ports.documents import Document, Fetched, Find, Page

T = TypeVar("T")

Documents = dict[bytes, Document]

_SHARED = (dict, list, set, bytearray)  # of these each reader gets one of its own


def gather(thread_id: str, refs: Iterable[bytes], found: Documents, known: Known) -> Steps[None]:
    """Read documents and all that they name, however deep, into ``found``.

    Args:
        thread_id: Their thread.
        refs: Their addresses.
        found: Documents already read; gets the others.
        known: Asked first, and told what was read.

    Raises:
        CorruptionError: A document is missing.
    """
    walked: set[bytes] = set()
    walk: Collection[bytes] = list(refs)
    outside: dict[bytes, None] = {}
    while walk or outside:
        if not walk:
            known.keep_documents((yield from fetch(thread_id, outside, found)))
            walk, outside = outside, {}
        missing = _descend(walk, found, walked)
        walk = known.documents(thread_id, missing)
        found |= walk
        outside |= {ref: None for ref in missing if ref not in walk}


def settled(find: Find, load: Callable[[Page], Steps[T]]) -> Steps[T]:
    """Find a page and load what it names.

    Where a document is missing, the page is found anew: a prune or a deletion may have come
    between, and then it is another page now.

    Raises:
        CorruptionError: A document is missing, and the page is what it was.
    """
    page: Page = yield find
    while True:
        try:
            return (yield from load(page))
        except CorruptionError:
            now: Page = yield find
            if now == page:
                raise
            page = now


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


def fetch(thread_id: str, refs: Collection[bytes], found: Documents) -> Steps[Collection[Document]]:
    """Read documents, and the nodes under them, into ``found``.

    Returns:
        Those that were read.

    Raises:
        CorruptionError: One of ``refs`` is missing.
    """
    read_now: Documents = {}
    remaining = refs
    while remaining:
        fetched: Fetched = yield Fetch(thread_id, [*remaining], nodes=True)
        read_now |= fetched.documents
        remaining = fetched.remaining
    found |= read_now
    for ref in refs:
        if ref not in read_now:
            raise CorruptionError(f"thread {thread_id!r} lacks the document {ref.hex()}")
    return read_now.values()


class Reader:
    """Makes values of documents that were gathered.

    Args:
        codec: Its serializer makes the values.
        documents: Everything the entries asked for name.
        share: Whether the same element may be handed out more than once; containers never are.
    """

    def __init__(self, codec: Codec, documents: Documents, *, share: bool = False) -> None:
        self.documents = documents
        self.codec = codec
        self._share = share
        self._made: dict[bytes, Any] = {}

    def plain(self, ref: bytes) -> bytes:
        """Give the plain of a document.

        Raises:
            CorruptionError: The document is missing, or its body is none.
        """
        document = self._document(ref)
        body = document.body
        if body[:1] == bytes((bodies.MANIFEST,)):
            body = b"".join(self.plain(part)[1:] for part in document.refs)
        if body[:1] == bytes((bodies.FIELD,)):
            text = document.fields.get("metadata")
            return body[1:2] + str(text).encode()
        return bodies.unseal(body)

    def listing(self, tree: Tree) -> Listing:
        """Find out how a list is stored."""
        return read(tree, lambda ref: (self.plain(ref)[1:], self._document(ref).refs))

    def elements(self, listing: Listing) -> list[Any]:
        """Make the elements of a list."""
        return [self._element(mark) for mark in listing.marks]

    def value(self, entry: Entry) -> Any:
        """Make the value an entry states; an absent one is ``None``."""
        match entry:
            case None:
                return None
            case Inline(plain):
                return self.codec.load(plain)
            case Blob(ref):
                return self._element(ref)
            case Tree():
                return self.elements(self.listing(entry))
            case Keyed(entries):
                return {key: self.value(inner) for key, inner in entries}

    def _element(self, mark: Mark) -> Any:
        if isinstance(mark, Inline):
            return self.codec.load(mark.plain)
        if mark in self._made:
            return self._made[mark]
        made = self.codec.load(self.plain(mark))
        if self._share and not isinstance(made, _SHARED):
            self._made[mark] = made
        return made

    def _document(self, ref: bytes) -> Document:
        try:
            return self.documents[ref]
        except KeyError:
            raise CorruptionError(f"the document {ref.hex()} is missing") from None
