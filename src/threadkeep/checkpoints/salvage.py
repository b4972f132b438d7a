"""What is left of a checkpoint that cannot be read, as a checkpoint that can.

Only what is damaged is left out: elements of a list, keys of a dict, or a channel's whole value.
Values are not deserialized; what is whole keeps its documents.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import ormsgpack

from threadkeep.checkpoints import tables
from threadkeep.checkpoints.bodies import seal, unseal
from threadkeep.checkpoints.drafts import Draft
from threadkeep.checkpoints.entries import (
    Entry,
    Inline,
    Keyed,
    Mark,
    Snapshot,
    Table,
    Tree,
    names_of,
    unpack_key,
    unpack_marks,
)
from threadkeep.checkpoints.inspection import (
    LIST_LEAF,
    ROOT_HEIGHT,
    TABLE_LEAF,
    TABLE_ROOT,
    VALUE_HEIGHT,
)
from threadkeep.checkpoints.lists import Listing, arrange
from threadkeep.checkpoints.rows import Row, read_row, row_plain, shape_plain
from threadkeep.checkpoints.steps import Fetch, Steps
from threadkeep.checkpoints.sums import add_sums, has_row_sum, unseal_inside
from threadkeep.checkpoints.terms import Terms
from threadkeep.checkpoints.thread_check import ThreadCheck
from threadkeep.errors import CorruptionError, SchemaTooNewError
from threadkeep.ports.documents import CHECKPOINTS, Batch, Document, Fetched

Item = tuple[Any, Mark | None]  # a key, where there is one, and what stands for the value


@dataclass(frozen=True, slots=True)
class Salvaged:
    """A checkpoint with what is left of it.

    Attributes:
        document: Its document, to be written in place of the damaged one.
        batches: That, and what it names that is new.
        loses: What is lost, in words.
    """

    document: Document
    batches: Sequence[Batch]
    loses: str


def salvage(document: Document, check: ThreadCheck) -> Steps[Salvaged | None]:
    """Make a checkpoint of what is left of one; ``None`` where its own row says nothing."""
    row = _row(document, check)
    if row is None:
        return None
    roots = [root for entry in row.entries.values() for root in _roots(entry)]
    nodes = yield from _nodes(document.thread_id, [ref for ref in roots if check.is_whole(ref)])
    work = _Salvage(check, nodes, Draft(document.thread_id, check.codec, check.can_be_read))
    if not has_row_sum(document):
        work.lost.append("that nobody can tell what was changed in its row")
    entries = {name: work.entry(f"channel {name!r}", one) for name, one in row.entries.items()}
    extras = {name: work.entry(f"its {name!r}", one) for name, one in row.extras.items()}
    meta = row.meta
    if isinstance(meta, bytes) and not check.can_be_read(meta):
        meta = False
        work.lost.append("its metadata beyond source and step")
    left = {name: entry for name, entry in entries.items() if entry is not None}
    row = replace(row, entries=left, extras=extras, meta=meta)
    shape = shape_plain(row)
    plain, refs = row_plain(row, shape, work.draft.blob(shape))
    fields = {**document.fields, "meta": meta if isinstance(meta, bytes) else None}
    made = replace(document, body=seal(plain), refs=refs, fields=fields)
    made = replace(made, body=add_sums(made))
    terms = Terms([(CHECKPOINTS, document.key)])
    loses = "; ".join(work.lost) or "nothing of it"
    return Salvaged(made, work.draft.batches(terms, replacing=[made]), loses)


def _row(document: Document, check: ThreadCheck) -> Row | None:
    shape = check.looks.get(document.refs[0]) if document.refs else None
    if shape is None:
        return None
    try:
        return read_row(unseal_inside(document), document.refs, shape.plain)
    except (CorruptionError, SchemaTooNewError):
        return None


def _roots(entry: Entry) -> Iterator[bytes]:
    """Iterate over the roots of the lists and tables in an entry."""
    match entry:
        case Tree(bytes(root), _) | Snapshot(Tree(bytes(root), _)) | Table(root):
            yield root
        case Keyed(entries):
            for _, inner in entries:
                yield from _roots(inner)


def _nodes(thread_id: str, roots: Sequence[bytes]) -> Steps[dict[bytes, Document]]:
    """Read the nodes of lists, as far as they are stored."""
    nodes: dict[bytes, Document] = {}
    remaining = roots
    while remaining:
        fetched: Fetched = yield Fetch(thread_id, remaining, nodes=True)
        nodes |= fetched.documents
        remaining = fetched.remaining
    return nodes


@dataclass(slots=True)
class _Salvage:
    """Makes entries of what is left.

    Attributes:
        check: Knows what can be read.
        nodes: Nodes of lists.
        draft: Gets the new nodes.
        lost: What is lost so far.
    """

    check: ThreadCheck
    nodes: dict[bytes, Document]
    draft: Draft
    lost: list[str]

    def __init__(self, check: ThreadCheck, nodes: dict[bytes, Document], draft: Draft) -> None:
        self.check = check
        self.nodes = nodes
        self.draft = draft
        self.lost = []

    def entry(self, name: str, entry: Entry) -> Entry:
        """Make an entry of what is left of one; ``None`` where nothing is."""
        if all(map(self.check.can_be_read, names_of(entry))):
            return entry
        match entry:
            case Tree():
                return self._tree(name, entry)
            case Snapshot(tree):
                return Snapshot(self._tree(name, tree))
            case Table(root):
                return self._table(name, root)
            case Keyed(entries):
                inner = [(key, self.entry(f"{name}[{key!r}]", one)) for key, one in entries]
                return Keyed(tuple((key, one) for key, one in inner if one is not None))
        self.lost.append(f"the value of {name}")
        return None

    def _tree(self, name: str, tree: Tree) -> Tree:
        marks: list[Mark] = []
        lost = 0
        sealed = self._items(tree.root) if tree.root is not None else ()
        for mark in (*(mark for _, mark in sealed), *tree.tail):
            if self._is_left(mark):
                marks.append(mark)
            else:
                lost += 1
        self.lost.append(f"{lost} elements or runs of elements of {name}; {len(marks)} are left")
        return arrange(marks, Listing(), 0, self.draft.node).entry()

    def _table(self, name: str, root: bytes) -> Entry:
        items = list(self._items(root))
        left = [(key, mark) for key, mark in items if self._is_left(mark)]
        if not left:
            self.lost.append(f"the value of {name}")
            return None
        keys, marks = zip(*left, strict=True)
        self.lost.append(f"{len(items) - len(left)} keys or runs of keys of {name}")
        made = tables.arrange(keys, marks, tables.Items(), 0, (), self.draft.node).root
        return None if made is None else Table(made)

    def _is_left(self, mark: Mark | None) -> TypeGuard[Mark]:
        if isinstance(mark, Inline):
            return True
        return mark is not None and self.check.can_be_read(mark)

    def _items(self, ref: bytes, height: int = ROOT_HEIGHT) -> Iterator[Item]:
        """Iterate over the marks below a node, in a table with keys; ``None`` for a lost node."""
        found, node = self.check.looks.get(ref), self.nodes.get(ref)
        if found is None or node is None or found.height != height:
            yield None, None
            return
        heights = [below for below, count in found.children for _ in range(count)]
        for child, below in zip(node.refs, heights, strict=True):
            if below != VALUE_HEIGHT:
                yield from self._items(child, below)
        yield from _own_items(node)


def _own_items(node: Document) -> Iterator[Item]:
    """Iterate over the elements that a leaf names, or the tail in a table's root."""
    payload = unseal(node.body)[1:]
    tag = payload[:1]
    if tag == LIST_LEAF:
        for mark in unpack_marks(ormsgpack.unpackb(payload[1:]), iter(node.refs)):
            yield None, mark
    elif tag in (TABLE_LEAF, TABLE_ROOT):
        told = ormsgpack.unpackb(payload[1:])
        nodes = sum(told.pop(0)) if tag == TABLE_ROOT else 0
        marks = unpack_marks(told[1:], iter(node.refs[nodes:]))
        yield from zip(map(unpack_key, told[0]), marks, strict=True)
