"""A thread with every kind of document, and ways to damage it through the store's own port."""

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from threadkeep.checkpoints import bodies
from threadkeep.checkpoints.sums import add_sums, body_inside
from threadkeep.errors import CorruptionError
from threadkeep.model.default_scope import AGENT_ID, NAMESPACE
from threadkeep.ports.documents import (
    BLOBS,
    CHECKPOINTS,
    COLLECTIONS,
    ITEMS,
    PARTS,
    WRITES,
    Batch,
    Document,
    DocumentStore,
    Find,
    Key,
    Scope,
)
from threadkeep.testing.saver_steps import checkpoint, config, conversation

Saver = BaseCheckpointSaver[Any]
THREAD = "thread-1"
SCOPE = Scope(NAMESPACE, AGENT_ID)
STEPS = 12
LARGE = random.Random(7).randbytes(600_000)  # three parts


def fill(saver: Saver, thread_id: str = THREAD, steps: int = STEPS) -> None:
    """Put a conversation with a large value, a dict, a table, metadata and pending writes."""
    at: RunnableConfig = config(thread_id)
    for step in range(steps):
        values = {
            "messages": conversation(4 * (step + 1)),
            "file": LARGE,
            "facts": {"name": "x" * 900, "list": ["y" * 80, step], "more": "z" * 300},
            "table": {f"key {number}": "v" * 60 for number in range(50)},
            "small": step,
        }
        versions: dict[str, str | int | float] = {
            "messages": step + 1,
            "file": 1,
            "facts": step + 1,
            "table": 1,
            "small": step + 1,
        }
        made = checkpoint(values, versions)
        told: Any = {"source": "loop", "step": step, "run_id": f"run {step // 3}", "parents": {}}
        at = saver.put(at, made, told, versions)
        saver.put_writes(at, [("messages", ["w" * 90]), ("small", step)], f"task {step}", "path")
    saver.put_writes(at, [("__interrupt__", ["stop here " * 9])], "asks", "path")


@dataclass(frozen=True, slots=True)
class Stored:
    """All documents of one thread, and the store they lie in."""

    store: DocumentStore
    scope: Scope
    thread_id: str
    documents: Mapping[str, Sequence[Document]]

    def put(self, document: Document) -> None:
        """Write a document over what has its key."""
        self.store.insert(self.scope, Batch(replacing=[document]))

    def remove(self, document: Document) -> None:
        """Delete a document, whoever names it."""
        self.store.remove(self.scope, self.thread_id, [(document.collection, document.key)])

    def newest(self) -> Document:
        """Return the newest checkpoint."""
        return self.documents[CHECKPOINTS][-1]

    def of_kind(self, kind: int, payload: bytes = b"") -> list[Document]:
        """Return the addressed documents of a kind whose payload begins so."""
        found = []
        for document in (*self.documents[ITEMS], *self.documents[BLOBS], *self.documents[PARTS]):
            with suppress(CorruptionError):
                plain = plain_of(document)
                if plain[0] >> 4 == kind and plain[1:].startswith(payload):
                    found.append(document)
        return found

    def manifest(self) -> Document:
        """Return the document of the large value."""
        places = (*self.documents[ITEMS], *self.documents[BLOBS])
        return next(one for one in places if one.body == b"\x02")


def plain_of(document: Document) -> bytes:
    """Give a document's plain as it stands in its body."""
    if document.body[:1] == b"\x03":
        return document.body[1:] + str(document.fields["metadata"]).encode()
    return bodies.unseal(document.body)


def stored(store: DocumentStore, scope: Scope = SCOPE, thread_id: str = THREAD) -> Stored:
    """Read all documents of a thread."""
    documents: dict[str, list[Document]] = {}
    for name in COLLECTIONS:
        found: list[Document] = []
        after: tuple[str, Key] | None = None
        while True:
            page = store.find(scope, Find(name, thread_id, after=after))
            found += page.documents
            if not page.more:
                break
            after = thread_id, found[-1].key
        documents[name] = found
    return Stored(store, scope, thread_id, documents)


Damage = Callable[[Stored], Document]  # does it, and answers the document that is to be named


def _swapped(thread: Stored, document: Document, plain: bytes, **changes: Any) -> Document:
    """Put another plain in place of a row's, with sums as if it had been stored so."""
    made = replace(document, body=bodies.seal(plain), **changes)
    made = replace(made, body=add_sums(made))
    thread.put(made)
    return made


def missing_element(thread: Stored) -> Document:
    leaf = thread.of_kind(bodies.NODE, b"\x00")[0]
    gone = next(one for one in thread.documents[ITEMS] if one.key[0] == leaf.refs[0])
    thread.remove(gone)
    return leaf


def missing_shape(thread: Stored) -> Document:
    thread.remove(thread.of_kind(bodies.SHAPE)[0])
    return thread.newest()


def missing_leaf(thread: Stored) -> Document:
    root = thread.of_kind(bodies.NODE, b"\xff")[-1]
    thread.remove(next(one for one in thread.documents[ITEMS] if one.key[0] == root.refs[-1]))
    return root


def missing_part(thread: Stored) -> Document:
    manifest = thread.manifest()
    thread.remove(next(one for one in thread.documents[PARTS] if one.key[0] == manifest.refs[1]))
    return manifest


def doubled_part(thread: Stored) -> Document:
    manifest = thread.manifest()
    thread.put(replace(manifest, refs=(manifest.refs[0], *manifest.refs[:1], *manifest.refs[2:])))
    return manifest


def swapped_parts(thread: Stored) -> Document:
    manifest = thread.manifest()
    thread.put(replace(manifest, refs=manifest.refs[:1] + manifest.refs[:0:-1]))
    return manifest


def manifest_without_parts(thread: Stored) -> Document:
    thread.put(replace(thread.manifest(), refs=()))
    return thread.manifest()


def wrong_hash(thread: Stored) -> Document:
    one = next(one for one in thread.of_kind(bodies.VALUE) if one.body != b"\x02")
    thread.put(replace(one, body=bodies.seal(plain_of(one) + b"!")))
    return one


def swapped_references(thread: Stored) -> Document:
    leaf = thread.of_kind(bodies.NODE, b"\x00")[0]
    thread.put(replace(leaf, refs=leaf.refs[::-1]))
    return leaf


def truncated_body(thread: Stored) -> Document:
    one = next(one for one in thread.of_kind(bodies.VALUE) if one.body[:1] in (b"\x01", b"\x04"))
    thread.put(replace(one, body=one.body[:-5]))
    return one


def lying_length(thread: Stored) -> Document:
    one = next(one for one in thread.of_kind(bodies.VALUE) if one.body[:1] in (b"\x01", b"\x04"))
    thread.put(replace(one, body=one.body[:1] + b"\xe0" + b"\xff" * 7 + b"\x00" + one.body[3:]))
    return one


def empty_body(thread: Stored) -> Document:
    one = thread.of_kind(bodies.VALUE)[0]
    thread.put(replace(one, body=b""))
    return one


def no_format(thread: Stored) -> Document:
    one = thread.of_kind(bodies.VALUE)[0]
    thread.put(replace(one, body=b"\xee" + one.body[1:]))
    return one


def newer_format(thread: Stored) -> Document:
    one = thread.of_kind(bodies.VALUE)[0]
    thread.put(replace(one, body=b"\x3f" + one.body[1:]))
    return one


def newer_row(thread: Stored) -> Document:
    one = thread.newest()
    made = replace(one, body=b"\x3f" + body_inside(one)[1:])
    thread.put(replace(made, body=add_sums(made)))
    return one


def changed_row(thread: Stored) -> Document:
    one = thread.newest()
    thread.put(replace(one, body=one.body[:-1] + bytes((one.body[-1] ^ 1,))))
    return one


def changed_step(thread: Stored) -> Document:
    one = thread.newest()
    thread.put(replace(one, fields={**one.fields, "step": 99}))
    return one


def truncated_references(thread: Stored) -> Document:
    one = thread.newest()
    thread.put(replace(one, refs=one.refs[:-1]))
    return one


def forged_references(thread: Stored) -> Document:
    one = thread.newest()
    return _swapped(thread, one, bodies.unseal(body_inside(one)), refs=one.refs[:-1])


def garbage_row(thread: Stored) -> Document:
    return _swapped(thread, thread.newest(), bodies.flag(bodies.CHECKPOINT) + b"\x93\x01\x02")


def changed_write(thread: Stored) -> Document:
    one = thread.documents[WRITES][0]
    thread.put(replace(one, refs=one.refs[::-1] + one.refs))
    return one


def garbage_write(thread: Stored) -> Document:
    return _swapped(thread, thread.documents[WRITES][0], bodies.flag(bodies.WRITES) + b"\xc1")


def misplaced_write(thread: Stored) -> Document:
    one = next(one for one in thread.documents[WRITES] if one.key[3] == -3)
    thread.remove(one)
    plain = bodies.unseal(body_inside(one))
    return _swapped(thread, one, plain, key=(*one.key[:3], -1))


def other_parent(thread: Stored) -> Document:
    one, other = thread.newest(), thread.documents[CHECKPOINTS][2]
    thread.put(replace(one, fields={**one.fields, "parent_id": other.key[1]}))
    return one


def missing_parent(thread: Stored) -> Document:
    thread.remove(thread.documents[CHECKPOINTS][-2])
    for one in thread.documents[WRITES]:
        if one.key[1] == thread.documents[CHECKPOINTS][-2].key[1]:
            thread.remove(one)
    return thread.newest()


def wrong_field(thread: Stored) -> Document:
    one = thread.newest()
    thread.put(replace(one, fields={**one.fields, "meta": b"m" * 12}))
    return one


def orphan_document(thread: Stored) -> Document:
    plain = b"\x01left behind by nobody, and named by nobody either"
    ref = bodies.address(bodies.PUBLIC_KEY, plain)
    made = Document(thread.thread_id, ITEMS, (ref,), bodies.seal(plain))
    thread.put(made)
    return made


def orphan_write(thread: Stored) -> Document:
    one = thread.documents[WRITES][0]
    ident = "1e000000-0000-6000-8000-000000000000"
    return _swapped(thread, one, bodies.unseal(body_inside(one)), key=("", ident, "task", 0))


def mixed_up_thread(thread: Stored) -> Document:
    one = thread.newest()
    other = "thread-2"
    moved = replace(one, thread_id=other)
    thread.store.insert(thread.scope, Batch(replacing=[moved]))
    return moved


def wrong_collection(thread: Stored) -> Document:
    shape = thread.of_kind(bodies.SHAPE)[0]
    thread.remove(shape)
    thread.put(replace(shape, collection=ITEMS, fields={}))
    return replace(shape, collection=ITEMS)


def value_for_shape(thread: Stored) -> Document:
    one = thread.newest()
    value = thread.of_kind(bodies.VALUE)[0]
    plain = bodies.unseal(body_inside(one))
    return _swapped(thread, one, plain, refs=(value.key[0], *one.refs[1:]))


def garbage_shape(thread: Stored) -> Document:
    plain = bodies.flag(bodies.SHAPE) + b"\x91\x01"
    ref = bodies.address(bodies.PUBLIC_KEY, plain)
    made = Document(thread.thread_id, BLOBS, (ref,), bodies.seal(plain))
    thread.put(made)
    row = thread.newest()
    _swapped(thread, row, bodies.unseal(body_inside(row)), refs=(ref, *row.refs[1:]))
    return made


def metadata_without_field(thread: Stored) -> Document:
    plain = b"\x34{}"
    ref = bodies.address(bodies.PUBLIC_KEY, plain)
    made = Document(thread.thread_id, BLOBS, (ref,), bodies.seal(plain))
    thread.put(made)
    return made


def cycle(thread: Stored) -> Document:
    """A list's root that names itself: no address can, so the address is wrong as well."""
    root = thread.of_kind(bodies.NODE, b"\xff")[-1]
    ref = root.key[0]
    assert isinstance(ref, bytes)
    thread.put(replace(root, refs=(ref,) * len(root.refs)))
    return root


def root_within_root(thread: Stored) -> Document:
    """A root that names a root where a leaf should be, all with right addresses."""
    root = thread.of_kind(bodies.NODE, b"\xff")[-1]
    plain = plain_of(root)
    refs = (*root.refs[:-1], root.key[0])
    assert all(isinstance(ref, bytes) for ref in refs)
    ref = bodies.address(bodies.PUBLIC_KEY, plain, refs)  # type: ignore[arg-type]
    made = replace(root, key=(ref,), refs=refs)  # type: ignore[arg-type]
    thread.put(made)
    row = thread.newest()
    named = tuple(ref if each == root.key[0] else each for each in row.refs)
    _swapped(thread, row, bodies.unseal(body_inside(row)), refs=named)
    return made


# What is planted, and the kind it is to be told as.
PLANTED: Mapping[Damage, str] = {
    missing_element: "missing-document",
    missing_shape: "missing-document",
    missing_leaf: "missing-document",
    missing_part: "missing-part",
    doubled_part: "wrong-parts",
    swapped_parts: "wrong-parts",
    manifest_without_parts: "missing-part",
    wrong_hash: "wrong-address",
    swapped_references: "wrong-address",
    cycle: "wrong-address",
    root_within_root: "wrong-nesting",
    truncated_body: "unreadable-body",
    lying_length: "unreadable-body",
    empty_body: "unreadable-body",
    no_format: "unreadable-body",
    newer_format: "newer-format",
    newer_row: "newer-format",
    changed_row: "wrong-sum",
    changed_step: "wrong-sum",
    truncated_references: "wrong-sum",
    changed_write: "wrong-sum",
    forged_references: "malformed",
    garbage_row: "malformed",
    garbage_write: "malformed",
    garbage_shape: "malformed",
    metadata_without_field: "malformed",
    misplaced_write: "wrong-part",
    other_parent: "wrong-parent",
    missing_parent: "missing-parent",
    wrong_field: "wrong-field",
    orphan_document: "orphan-document",
    orphan_write: "orphan-write",
    mixed_up_thread: "missing-document",
    wrong_collection: "wrong-kind",
    value_for_shape: "wrong-kind",
}
