"""How a checkpoint or a pending write states one value, and how that is packed.

An entry names its documents in order; packed, it says only how many, and the addresses stand in
the document's ``refs``:

    absent        nil                     the channel has a version and no value
    ``Inline``    bin                     the plain itself
    ``Blob``      0                       the next address
    ``Table``     1                       the next address: the root of a dict of many keys
    ``Tree``      [root, run, ...]        the next address is the root if root is 1, not if 0; a
                                          run is a number of elements by address, or one plain
    ``Snapshot``  [root, run, ...]        the same, root being 3 or 2
    ``Text``      [root, run, ...]        the same, root being 5 or 4
    ``Keyed``     {key: entry, ...}       a dict, each value for itself

A key of a dict that is text stands as it is, as bin where it holds lone surrogates.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from threadkeep.errors import CorruptionError


class Inline(NamedTuple):
    """A value that is small enough to stand where it is named."""

    plain: bytes


class Blob(NamedTuple):
    """A value that is one document."""

    ref: bytes


_ROOT, _SNAPSHOT, _TEXT = 1, 2, 4  # of a packed list's form: it has a root; what it is of

Mark = bytes | Inline  # an element: its address, or itself


class Tree(NamedTuple):
    """A list.

    Attributes:
        root: The document over all sealed leaves, or ``None`` when there are none.
        tail: The marks after the last sealed leaf.
    """

    root: bytes | None
    tail: tuple[Mark, ...]


class Snapshot(NamedTuple):
    """A list in LangGraph's wrapper for the stated value of a ``DeltaChannel``."""

    tree: Tree


class Text(NamedTuple):
    """A long text, or bytes, in pieces: the value is what the list's elements give joined."""

    tree: Tree


class Keyed(NamedTuple):
    """A dict whose values are told apart."""

    entries: tuple[tuple[str, "Entry"], ...]


class Table(NamedTuple):
    """A dict of many keys, by the address of the root over its items."""

    root: bytes


Key = str | int  # of a dict whose items are told apart; never a subclass of either

Entry = Inline | Blob | Tree | Snapshot | Text | Keyed | Table | None


def names_of(entry: Entry) -> Iterator[bytes]:
    """Iterate over the addresses that an entry names itself."""
    match entry:
        case Blob(ref) | Table(ref):
            yield ref
        case Tree(root, tail) | Snapshot(Tree(root, tail)) | Text(Tree(root, tail)):
            yield from (mark for mark in (root, *tail) if isinstance(mark, bytes))
        case Keyed(entries):
            for _, inner in entries:
                yield from names_of(inner)


def pack_key(key: Key) -> str | int | bytes:
    """Pack a key of a dict, exactly."""
    if isinstance(key, int) or key.isascii():
        return key
    try:
        key.encode()
    except UnicodeEncodeError:
        return key.encode("utf-8", "surrogatepass")
    return key


def unpack_key(packed: str | int | bytes) -> Any:
    """Give back the key that ``pack_key`` packed."""
    return packed.decode("utf-8", "surrogatepass") if isinstance(packed, bytes) else packed


def pack_marks(marks: Iterable[Mark], refs: list[bytes]) -> list[Any]:
    """Pack marks as runs; their addresses go to the end of ``refs``."""
    runs: list[Any] = []
    for mark in marks:
        if isinstance(mark, Inline):
            runs.append(mark.plain)
            continue
        refs.append(mark)
        if runs and isinstance(runs[-1], int):
            runs[-1] += 1
        else:
            runs.append(1)
    return runs


def unpack_marks(runs: Iterable[Any], refs: Iterator[bytes]) -> list[Mark]:
    """Give back the marks that ``pack_marks`` packed.

    Raises:
        CorruptionError: They name more documents than there are addresses.
    """
    marks: list[Mark] = []
    for run in runs:
        if isinstance(run, bytes):
            marks.append(Inline(run))
            continue
        before = len(marks)
        marks += islice(refs, run)
        if len(marks) - before != run:
            raise CorruptionError("a list names more documents than there are addresses")
    return marks


def pack(entry: Entry, refs: list[bytes]) -> Any:
    """Pack an entry; its addresses go to the end of ``refs``."""
    match entry:
        case None:
            return None
        case Inline(plain):
            return plain
        case Blob(ref) | Table(ref):
            refs.append(ref)
            return int(isinstance(entry, Table))
        case Tree():
            return _pack_tree(entry, 0, refs)
        case Snapshot(tree) | Text(tree):
            return _pack_tree(tree, _TEXT if isinstance(entry, Text) else _SNAPSHOT, refs)
        case Keyed(entries):
            return {pack_key(key): pack(inner, refs) for key, inner in entries}


def unpack(packed: Any, refs: Iterator[bytes]) -> Entry:
    """Give back the entry that ``pack`` packed.

    Raises:
        CorruptionError: It is none that ``pack`` makes.
    """
    match packed:
        case None:
            return None
        case bytes():
            return Inline(packed)
        case 0:
            return Blob(_next(refs))
        case 1:
            return Table(_next(refs))
        case [int(form), *runs]:
            root = _next(refs) if form & _ROOT else None
            tree = Tree(root, tuple(unpack_marks(runs, refs)))
            if form & _TEXT:
                return Text(tree)
            return Snapshot(tree) if form & _SNAPSHOT else tree
        case dict():
            return Keyed(
                tuple((unpack_key(key), unpack(inner, refs)) for key, inner in packed.items())
            )
    raise CorruptionError(f"an entry that is a {type(packed).__name__}")


def _pack_tree(tree: Tree, form: int, refs: list[bytes]) -> list[Any]:
    if tree.root is not None:
        refs.append(tree.root)
        form |= _ROOT
    return [form, *pack_marks(tree.tail, refs)]


def no_more(refs: Iterator[bytes]) -> None:
    """Refuse addresses that are left over.

    Raises:
        CorruptionError: There are some.
    """
    if next(refs, None) is not None:
        raise CorruptionError("a document has more addresses than its entries name")


def _next(refs: Iterator[bytes]) -> bytes:
    ref = next(refs, None)
    if ref is None:
        raise CorruptionError("an entry names more documents than its document has addresses")
    return ref
