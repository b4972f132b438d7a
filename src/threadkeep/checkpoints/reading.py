"""Reading documents by address, and the values they are.

``gather`` follows addresses down to the last document: checkpoint or writes, then all nodes, then
their elements, three requests whatever the history, and one more for each further 2 MiB.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from typing import Any, NoReturn

from threadkeep.checkpoints import bodies
from threadkeep.checkpoints.codec import TYPES, Codec
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
from threadkeep.checkpoints.prints import Taken, take
from threadkeep.checkpoints.sends import make_send, unpack_send
from threadkeep.checkpoints.shelf import (
    KEPT_BYTES,
    Held,
    Kept,
    SketchingSerde,
    Source,
    refs_of,
)
from threadkeep.checkpoints.steps import Fetch, Steps
from threadkeep.checkpoints.tables import Items
from threadkeep.checkpoints.tables import read as read_table
from threadkeep.checkpoints.texts import join
from threadkeep.checkpoints.values import SNAPSHOT
from threadkeep.errors import (
    CorruptionError,
    MissingDocumentError,
    SchemaTooNewError,
    ThreadkeepError,
)
from threadkeep.ports.documents import CHECKPOINTS, PARTS, Document, Fetched, Find, Is, Page

TOGETHER = 64  # elements made at a time: more do not fit the processor's cache

Documents = dict[bytes, Kept]

_MANIFEST, _FIELD = bytes((bodies.MANIFEST,)), bytes((bodies.FIELD,))
_SKETCHED = TYPES.index("msgpack")  # flag of plains that a sketch may be made of: msgpack values
_SEND = bodies.flag(bodies.SEND)
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
            read_now = yield from fetch(thread_id, outside, nodes=not fresh)
            found |= read_now
            fresh |= read_now.keys()
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
            stack += refs_of(document)
    return list(missing)


def fetch(
    thread_id: str, refs: Collection[bytes], *, nodes: bool = True
) -> Steps[dict[bytes, Document]]:
    """Read documents, and the nodes under them where wanted.

    Raises:
        MissingDocumentError: One of ``refs`` is missing.
    """
    found: dict[bytes, Document] = {}
    remaining = refs
    while remaining:
        fetched: Fetched = yield Fetch(thread_id, [*remaining], nodes=nodes)
        found |= fetched.documents
        remaining = fetched.remaining
    if not all(map(found.__contains__, refs)):
        lost = next(ref for ref in refs if ref not in found)
        raise MissingDocumentError(thread_id, lost, found)
    return found


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


class _DamagedError(Exception):
    """What a mark names cannot be made.

    Attributes:
        mark: The mark.
        why: What is wrong.
    """

    def __init__(self, mark: Mark, why: Exception) -> None:
        super().__init__(str(why))
        self.mark = mark
        self.why = why


class Reader:
    """Makes values of documents that were gathered.

    Args:
        codec: Its serializer makes the values.
        documents: Everything the entries asked for name.
        fresh: The addresses of those that nobody has checked yet.
        share: Whether the same element may be handed out more than once; containers never are.

    Attributes:
        kept: Documents that were checked, to be kept for further reads.
    """

    def __init__(
        self, codec: Codec, documents: Documents, fresh: Set[bytes], *, share: bool = False
    ) -> None:
        self.documents = documents
        self.codec = codec
        self.kept: Documents = {}
        self._fresh = set(fresh)
        self._share = share
        self._shared: dict[Mark, Any] = {}
        serde: Any = codec.serde
        self._sketching: SketchingSerde | None = (
            serde if getattr(serde, "sketches", False) else None
        )

    def plain(self, ref: bytes) -> bytes:
        """Give the plain of a document.

        Raises:
            CorruptionError: The document is missing, or not the one its address names.
        """
        found = self._document(ref)
        if isinstance(found, Document):
            found = self._unpack(ref, found, None)
        if isinstance(found, tuple):
            raise CorruptionError(f"the document {ref.hex()} is an element where a node should be")
        return found.plain

    def listing(self, tree: Tree) -> Listing:
        """Find out how a list is stored."""
        if tree.root is None:
            return read(tree, self.node)
        plain = self.plain(tree.root)
        root = self.documents[tree.root]
        sealed = root.listing if isinstance(root, Held) else None
        if sealed is None:
            sealed = read(Tree(tree.root, ()), self.node)
            self._keep(tree.root, Held(refs_of(root), plain, sealed))
        return Listing([*sealed.marks, *tree.tail], sealed.ends, sealed.levels, tree.root)

    def items(self, root: bytes) -> Items:
        """Find out how a table is stored."""
        return read_table(root, self.node)

    def node(self, ref: bytes) -> tuple[bytes, tuple[bytes, ...]]:
        """Give the payload and the addresses of a node."""
        return self.plain(ref)[1:], refs_of(self.documents[ref])

    def made(self, marks: Sequence[Mark]) -> list[Any]:
        """Make the values that marks name.

        Raises:
            CorruptionError: One cannot be made; says which.
        """
        try:
            if self._share:
                return self._made_once(marks)
            return [value for values, _ in self._batches(marks) for value in values]
        except _DamagedError as error:
            _raise_numbered(error, marks)

    def printed(self, marks: Sequence[Mark]) -> tuple[list[Any], list[Taken]]:
        """Make the values that marks name, with what their prints are made of; see ``made``."""
        made: list[Any] = []
        taken: list[Taken] = []
        try:
            for values, sources in self._batches(marks):
                made += values
                taken += [
                    source[0] if type(source) is tuple else take(value)
                    for value, source in zip(values, sources, strict=True)
                ]
        except _DamagedError as error:
            _raise_numbered(error, marks)
        return made, taken

    def value(self, entry: Entry) -> Any:
        """Make the value an entry states; an absent one is ``None``."""
        match entry:
            case None:
                return None
            case Inline(plain):
                return self.codec.load(plain)
            case Blob(ref):
                return self._one(ref)
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
            return self.made(self.listing(entry).marks)
        elements = self.made(self.listing(entry.tree).marks)
        return join(elements) if isinstance(entry, Text) else SNAPSHOT(elements)

    def _one(self, ref: bytes) -> Any:
        """Make the value of one document."""
        try:
            if self._share:
                return self._made_once([ref])[0]
            return self._together([ref])[0][0]
        except _DamagedError as error:
            if isinstance(error.why, ThreadkeepError):
                raise error.why from None
            raise CorruptionError(f"the document {ref.hex()}: {error.why}") from error.why

    def _made_once(self, marks: Sequence[Mark]) -> list[Any]:
        """Make values; those that may be shared are made once."""
        shared = self._shared
        if not all(map(shared.__contains__, marks)):
            own: list[Any] = []  # of those made now, what may not be shared
            missing = [mark for mark in dict.fromkeys(marks) if mark not in shared]
            for values, _ in self._batches(missing):
                own += values
            for mark, value in zip(missing, own, strict=True):
                if not isinstance(value, _SHARED) and type(value).__name__ != "Send":
                    shared[mark] = value
            if not all(map(shared.__contains__, marks)):
                containers = [mark for mark in marks if mark not in shared]
                made = iter([value for values, _ in self._batches(containers) for value in values])
                return [shared[mark] if mark in shared else next(made) for mark in marks]
        return [shared[mark] for mark in marks]

    def _batches(self, marks: Sequence[Mark]) -> Iterator[tuple[list[Any], list[Source]]]:
        """Make values some at a time, with what they were made of."""
        for start in range(0, len(marks), TOGETHER):
            yield self._together(marks[start : start + TOGETHER])

    def _together(self, marks: Sequence[Mark]) -> tuple[list[Any], list[Source]]:
        """Make values by one call of the serializer where it can, else one by one."""
        sources = self._sources(marks)
        sketches = [source for source in sources if type(source) is tuple]
        if self._sketching is not None and len(sketches) == len(sources):
            try:
                return self._sketching.compose(sketches), sources
            except ValueError:
                pass  # one of them is told below
        made = [self._alone(mark, each) for mark, each in zip(marks, sources, strict=True)]
        return [value for value, _ in made], [each for _, each in made]

    def _alone(self, mark: Mark, source: Source) -> tuple[Any, Source]:
        """Make one value; a sketch that makes none is given up."""
        if isinstance(source, tuple):
            assert self._sketching is not None
            try:
                return self._sketching.compose([source])[0], source
            except ValueError:
                plain = bytes((_SKETCHED,)) + self._sketching.payload(source)
                source = self._keep(mark, Held((), plain))
        try:
            if source.plain[:1] == _SEND:
                node, argument = unpack_send(source.plain[1:], source.refs)
                return make_send(node, self.value(argument)), source
            return self.codec.load(source.plain), source
        except MemoryError:
            raise
        except Exception as error:
            raise _DamagedError(mark, error) from error

    def _sources(self, marks: Sequence[Mark]) -> list[Source]:
        """Find what values are made of."""
        documents, sketching = self.documents, self._sketching
        sources: list[Source] = []
        for mark in marks:
            if isinstance(mark, Inline):
                sources.append(Held((), mark.plain))
                continue
            found = documents.get(mark)
            if type(found) is not tuple and type(found) is not Held:
                try:
                    found = self._unpack(mark, self._document(mark), sketching)
                except (CorruptionError, SchemaTooNewError) as error:
                    raise _DamagedError(mark, error) from error
            sources.append(found)
        return sources

    def _unpack(self, ref: bytes, document: Any, sketching: SketchingSerde | None) -> Source:
        """Unpack a document, and check it where that is still to be done."""
        body, refs = document.body, document.refs
        if refs and body[:1] == _MANIFEST:
            return self._unpack_large(ref, refs)
        if body[:1] == _FIELD:
            plain = body[1:2] + str(document.fields.get("metadata")).encode()
        else:
            plain = bodies.unseal(body)
        if ref in self._fresh:
            self._check(ref, plain, refs)
        source: Source | None = None
        if sketching is not None and plain[0] == _SKETCHED:
            source = sketching.sketch(plain[1:])
        if source is None:
            source = Held(refs, plain)
        if len(plain) <= KEPT_BYTES and document.collection != PARTS:
            self.documents[ref] = self.kept[ref] = source
        return source

    def _unpack_large(self, ref: bytes, parts: tuple[bytes, ...]) -> Held:
        """Put a large value together; nothing keeps it."""
        plain = bodies.unseal(b"".join([self.plain(part)[1:] for part in parts]))
        if ref in self._fresh:
            self._check(ref, plain, ())
        return Held(parts, plain)

    def _check(self, ref: bytes, plain: bytes, refs: tuple[bytes, ...]) -> None:
        if not self.codec.is_address(ref, plain, refs):
            raise CorruptionError(f"the document {ref.hex()} is not what its address says")
        self._fresh.discard(ref)

    def _keep(self, mark: Mark, held: Held) -> Held:
        if isinstance(mark, bytes):
            self.documents[mark] = self.kept[mark] = held
        return held

    def _document(self, ref: bytes) -> Kept:
        try:
            return self.documents[ref]
        except KeyError:
            raise CorruptionError(f"the document {ref.hex()} is missing") from None


def _raise_numbered(error: _DamagedError, marks: Sequence[Mark]) -> NoReturn:
    """Name the element that is damaged, unless the error is of another kind."""
    if isinstance(error.why, ThreadkeepError) and not isinstance(error.why, CorruptionError):
        raise error.why
    place = [*marks].index(error.mark)
    raise CorruptionError(f"element {place}: {error.why}") from error.why
