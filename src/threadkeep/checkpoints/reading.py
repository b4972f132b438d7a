"""Values made of the documents that were gathered, each checked against its address once.

Most elements of a long list are alike: they are unpacked, checked and made many at a time. What is
not like them, and what is damaged, is looked at one by one, so that it can be told which it is.
"""

from collections.abc import Iterator, Sequence, Set
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
from threadkeep.checkpoints.gathering import Documents
from threadkeep.checkpoints.lists import Listing, read
from threadkeep.checkpoints.prints import Taken, take
from threadkeep.checkpoints.sends import make_send, unpack_send
from threadkeep.checkpoints.shelf import (
    KEPT_BYTES,
    OVERHEAD_BYTES,
    Held,
    Kept,
    SketchingSerde,
    Source,
    refs_of,
    size_of,
)
from threadkeep.checkpoints.tables import Items
from threadkeep.checkpoints.tables import read as read_table
from threadkeep.checkpoints.texts import join
from threadkeep.checkpoints.values import SNAPSHOT
from threadkeep.errors import (
    CorruptionError,
    SchemaTooNewError,
    ThreadkeepError,
)
from threadkeep.ports.documents import PARTS, Document

TOGETHER = 64  # elements made at a time: more do not fit the processor's cache

_MANIFEST, _FIELD = bytes((bodies.MANIFEST,)), bytes((bodies.FIELD,))
_TABLED = bytes((bodies.TABLED,))
# The flag of plains that a sketch may be made of.
_SKETCHED = bodies.flag(bodies.VALUE, TYPES.index("msgpack"))
_SEND = bodies.flag(bodies.SEND)
_SHARED = (dict, list, set, bytearray)  # of these each reader gets one of its own


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
        kept_bytes: What they occupy.
    """

    def __init__(
        self, codec: Codec, documents: Documents, fresh: Set[bytes], *, share: bool = False
    ) -> None:
        self.documents = documents
        self.codec = codec
        self.kept: Documents = {}
        self.kept_bytes = 0
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
                    source if type(source) is tuple else take(value)
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
        elif self._sketching is not None and not sketches:
            plains = [source.plain for source in sources]  # type: ignore[union-attr]
            if all(plain[:1] == _SKETCHED for plain in plains):
                try:
                    return self._sketching.load(plains, 1), sources
                except ValueError:
                    pass
        made = [self._alone(mark, each) for mark, each in zip(marks, sources, strict=True)]
        return [value for value, _ in made], [each for _, each in made]

    def _alone(self, mark: Mark, source: Source) -> tuple[Any, Source]:
        """Make one value; a sketch that makes none is given up."""
        if isinstance(source, tuple):
            assert self._sketching is not None
            try:
                return self._sketching.compose([source])[0], source
            except ValueError:
                plain = _SKETCHED + self._sketching.payload(source)
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
        find = self.documents.get
        sources: list[Any] = [
            find(mark) if type(mark) is bytes else Held((), mark.plain)  # type: ignore[union-attr]
            for mark in marks
        ]
        self._unpack_together(marks, sources)
        for at, source in enumerate(sources):
            if type(source) is not tuple and type(source) is not Held:
                sources[at] = self._source(marks[at])
        return sources

    def _source(self, mark: Any) -> Source:
        """Find what one value is made of; it may have been unpacked since, for another mark."""
        try:
            found = self._document(mark)
            if isinstance(found, Document):
                return self._unpack(mark, found, self._sketching)
        except (CorruptionError, SchemaTooNewError) as error:
            raise _DamagedError(mark, error) from error
        return found

    def _unpack_together(self, marks: Sequence[Mark], sources: list[Any]) -> None:
        """Unpack what most elements are, all in one go; the others are left as they are.

        Where one is damaged, all are left: it is told when they are unpacked one by one.
        """
        places = [
            at
            for at, each in enumerate(sources)
            if type(each) is Document
            and each.body[:1] == _TABLED
            and not each.refs
            and each.collection != PARTS
        ]
        if not places:
            return
        refs: list[Any] = [marks[at] for at in places]
        try:
            plains = bodies.unseal_all([sources[at].body for at in places])
        except CorruptionError:
            return
        fresh = self._fresh
        if all(map(fresh.__contains__, refs)):
            right = self.codec.are_addresses(refs, plains)
        else:
            right = all(
                ref not in fresh or self.codec.is_address(ref, plain)
                for ref, plain in zip(refs, plains, strict=True)
            )
        if not right or max(map(len, plains)) > KEPT_BYTES:
            return
        self.kept_bytes += sum(map(len, plains)) + OVERHEAD_BYTES * len(plains)
        made = self._sketches(plains)
        for at, ref, plain, source in zip(places, refs, plains, made, strict=True):
            sources[at] = self.documents[ref] = self.kept[ref] = source or Held((), plain)

    def _sketches(self, plains: list[bytes]) -> Sequence[Source | None]:
        """Look at plains; none where the serializer makes no sketch."""
        nothing = [None] * len(plains)
        if self._sketching is None:
            return nothing
        made = self._sketching.sketch(plains, 1)
        if {plain[:1] for plain in plains} == {_SKETCHED}:
            return made
        return [
            each if plain[:1] == _SKETCHED else None
            for plain, each in zip(plains, made, strict=True)
        ]

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
        if sketching is not None and plain[:1] == _SKETCHED:
            (source,) = sketching.sketch([plain], 1)
        if source is None:
            source = Held(refs, plain)
        if len(plain) <= KEPT_BYTES and document.collection != PARTS:
            self._shelve(ref, source)
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
            self._shelve(mark, held)
        return held

    def _shelve(self, ref: bytes, source: Source) -> None:
        """Take what a document was found to be in its place, and keep it."""
        old = self.kept.get(ref)
        self.kept_bytes += size_of(source) - (0 if old is None else size_of(old))
        self.documents[ref] = self.kept[ref] = source

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
