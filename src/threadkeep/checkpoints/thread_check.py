"""All documents of one thread, held against each other.

Of each document no more is kept than its address, what it is and what it names, so a thread costs
some 200 bytes a document, whatever its values weigh. What is damaged is told once, where it is;
what cannot be read because of it is followed from there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from threadkeep.checkpoints import bodies
from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.entries import Entry, Snapshot, Text, Tree, names_of
from threadkeep.checkpoints.findings import Findings
from threadkeep.checkpoints.inspection import (
    ROOT_HEIGHT,
    VALUE_HEIGHT,
    DamageError,
    Look,
    is_manifest,
    look,
    refuse_unopened,
    right_collection,
)
from threadkeep.checkpoints.rows import Row, read_row
from threadkeep.checkpoints.schema1 import check_checkpoint, check_write
from threadkeep.checkpoints.sums import has_parent_sum, has_row_sum, parent_is, unseal_inside
from threadkeep.checkpoints.writes import SPECIAL, Writes, read_writes
from threadkeep.errors import CorruptionError, SchemaTooNewError
from threadkeep.model.uuid_times import TICKS_PER_SECOND, made_at
from threadkeep.ports.documents import CHECKPOINTS_V1, Document, Key

WRITES_AHEAD_SECONDS = 24 * 3600  # how long pending writes may wait for their checkpoint
VALUES = (bodies.VALUE, bodies.SEND)


@dataclass(slots=True)
class Checkpoint:
    """What is kept of a checkpoint.

    Attributes:
        document: Its document, without the body.
        broken: It cannot be read, or what it names cannot; and why.
        spans: How many of its addresses each channel has, in order; and those before, as ``""``.
        unstated: Delta channels whose value is made from its ancestors.
        parent: What repair is to name as its parent, where that is damaged.
    """

    document: Document
    broken: str | None = None
    spans: Sequence[tuple[str, int]] = ()
    unstated: frozenset[str] = frozenset()
    parent: str | None = None


@dataclass(slots=True)
class PendingWrites:
    """What is kept of a document of pending writes."""

    document: Document
    broken: str | None = None


@dataclass(slots=True)
class ThreadCheck:
    """Takes in a thread's documents, addressed ones first, and tells what is wrong.

    Attributes:
        thread_id: The thread.
        codec: Its key is that of addresses; its serializer is not used.
        now: The time, in ticks of a UUIDv6.
        findings: What is wrong.
        looks: What each addressed document is; ``None`` where it is damaged.
        refs: What each addressed document names.
        places: In which collection each lies.
        manifests: Those that only name parts, still to be joined.
        misplaced: Where those belong that lie in another collection.
        checkpoints: By key.
        writes: By key.
        earlier: Checkpoints of schema 1 that can be read, and those that cannot, by key.
        broken: Addressed documents that cannot be read, or whose inside cannot; and why.
        documents: How many were taken in.
        size_bytes: Their bodies.
    """

    thread_id: str
    codec: Codec
    now: int
    findings: Findings = field(default_factory=Findings)
    looks: dict[bytes, Look | None] = field(default_factory=dict)
    refs: dict[bytes, Sequence[bytes]] = field(default_factory=dict)
    places: dict[bytes, str] = field(default_factory=dict)
    manifests: dict[bytes, Document] = field(default_factory=dict)
    misplaced: dict[bytes, str] = field(default_factory=dict)
    checkpoints: dict[Key, Checkpoint] = field(default_factory=dict)
    writes: dict[Key, PendingWrites] = field(default_factory=dict)
    earlier: dict[Key, bool] = field(default_factory=dict)
    broken: dict[bytes, str] = field(default_factory=dict)
    documents: int = 0
    size_bytes: int = 0

    def take_addressed(self, document: Document) -> None:
        """Take in an item, blob or part."""
        ref = _ref(document)
        self._count(document)
        self.places[ref] = document.collection
        if document.refs:
            self.refs[ref] = document.refs
        if is_manifest(document):
            self.manifests[ref] = document
            self.looks[ref] = None
            return
        try:
            found = look(document, self.codec)
        except DamageError as damage:
            self.looks[ref] = None
            self.tell(damage.kind, document, str(damage))
            return
        self.looks[ref] = found
        right = right_collection(found, document.collection)
        if right != document.collection:
            self.misplaced[ref] = right
            self.tell("wrong-kind", document, f"it belongs into {right}")

    def take_earlier(self, document: Document) -> None:
        """Take in a checkpoint of schema 1, or a pending write of one."""
        self._count(document)
        is_checkpoint = document.collection == CHECKPOINTS_V1
        try:
            refuse_unopened(document)
            (check_checkpoint if is_checkpoint else check_write)(document)
            is_whole = True
        except DamageError as damage:
            is_whole = False
            self.tell(damage.kind, document, str(damage))
        except CorruptionError as error:
            is_whole = False
            self.tell("unreadable-body", document, str(error))
        except SchemaTooNewError as error:
            is_whole = False
            self.tell("newer-format", document, str(error))
        if is_checkpoint:
            self.earlier[document.key] = is_whole

    def take_checkpoint(self, document: Document) -> None:
        """Take in a checkpoint; the addressed documents are all here."""
        self._count(document)
        kept = Checkpoint(_bare(document))
        self.checkpoints[document.key] = kept
        try:
            plain = self._row_plain(document)
            row = self._read_row(document, plain)
        except DamageError as damage:
            kept.broken = str(damage)
            self.tell(damage.kind, document, str(damage))
            return
        if not has_parent_sum(document):
            parent = document.fields.get("parent_id")
            self.tell("wrong-parent", document, f"it was not stored with the parent {parent!r}")
            kept.parent = self._parent_of(document)
        meta = row.meta if isinstance(row.meta, bytes) else None
        if document.fields.get("meta") != meta:
            self.tell("wrong-field", document, "its field meta is not the address it names")
        counted = self.looks.get(meta) if meta else None
        names = counted.channels if counted else frozenset()
        kept.unstated = names & row.versions.keys() - row.entries.keys()
        entries = [*row.entries.items(), *row.extras.items()]
        spans = [(name, sum(1 for _ in names_of(entry))) for name, entry in entries]
        kept.spans = [("", 2 if meta else 1), *spans]
        for name, entry in entries:
            kept.broken = kept.broken or self._entry_damage(document, f"channel {name!r}", entry)

    def take_writes(self, document: Document) -> None:
        """Take in pending writes; the addressed documents are all here."""
        self._count(document)
        kept = PendingWrites(_bare(document))
        self.writes[document.key] = kept
        try:
            self._row_plain(document)
            _, writes = read_writes(document)
        except DamageError as damage:
            kept.broken = str(damage)
            self.tell(damage.kind, document, str(damage))
            return
        except CorruptionError as error:
            kept.broken = str(error)
            self.tell("malformed", document, str(error))
            return
        self._check_indexes(document, writes)
        for channel, entry in writes.values():
            name = f"a write to channel {channel!r}"
            kept.broken = kept.broken or self._entry_damage(document, name, entry)

    def finish(self) -> None:
        """Tell what is wrong between documents, when all have been taken in."""
        self.broken = self._follow_damage()
        self._tell_broken_rows(self.broken)
        self._tell_lost_history()
        self._tell_relations()
        self._tell_orphans()

    def tell(self, kind: str, document: Document, says: str) -> None:
        """Take in a finding."""
        self.findings.add(kind, self.thread_id, document.collection, document.key, says)

    def is_stored(self, key: Key) -> bool:
        """Tell whether a checkpoint is there, in either schema."""
        return key in self.checkpoints or key in self.earlier

    def is_whole(self, ref: bytes) -> bool:
        """Tell whether a document is there and undamaged, whatever it names."""
        return self.looks.get(ref) is not None

    def can_be_read(self, ref: bytes) -> bool:
        """Tell whether a document and all that it names are there and undamaged."""
        return self.is_whole(ref) and ref not in self.broken

    def _count(self, document: Document) -> None:
        self.documents += 1
        self.size_bytes += len(document.body)

    def _row_plain(self, document: Document) -> bytes:
        refuse_unopened(document)
        if not has_row_sum(document):
            raise DamageError("wrong-sum", "its row is not what was stored")
        try:
            return unseal_inside(document)
        except SchemaTooNewError as error:
            raise DamageError("newer-format", str(error)) from error
        except CorruptionError as error:
            raise DamageError("unreadable-body", str(error)) from error

    def _read_row(self, document: Document, plain: bytes) -> Row:
        shape = self._shape(document)
        try:
            return read_row(plain, document.refs, shape)
        except CorruptionError as error:
            raise DamageError("malformed", str(error)) from error

    def _shape(self, document: Document) -> bytes:
        if not document.refs:
            raise DamageError("malformed", "it names no shape")
        ref = document.refs[0]
        if ref not in self.looks:
            raise DamageError("missing-document", f"its shape {ref.hex()} is not stored")
        found = self.looks[ref]
        if found is None:
            raise DamageError("unreadable-checkpoint", f"its shape {ref.hex()} is damaged")
        if found.kind != bodies.SHAPE:
            raise DamageError("wrong-kind", f"{ref.hex()} is no shape, and is named as one")
        return found.plain

    def _parent_of(self, document: Document) -> str | None:
        """Find the parent a checkpoint was stored with, among those before it."""
        namespace, ident = document.key
        before = [str(key[1]) for key in self.checkpoints if key[0] == namespace]
        found = (one for one in reversed(before) if one != ident and parent_is(document, one))
        return next(found, None)

    def _entry_damage(self, document: Document, name: str, entry: Entry) -> str | None:
        """Say why a value cannot be made, as far as what its entry names itself tells."""
        tree = entry.tree if isinstance(entry, Snapshot | Text) else entry
        roots = {tree.root} if isinstance(tree, Tree) else set()
        for ref in names_of(entry):
            found = self.looks.get(ref)
            if ref not in self.looks:
                self.tell("missing-document", document, f"{name}: {ref.hex()} is not stored")
                return f"{name}: {ref.hex()} is not stored"
            if found is None or ref in self.manifests:
                continue
            fits = found.height == ROOT_HEIGHT or (ref not in roots and found.kind in VALUES)
            if not fits:
                self.tell("wrong-kind", document, f"{name}: {ref.hex()} is not what is named")
                return f"{name}: {ref.hex()} is not what is named"
        return None

    def _check_indexes(self, document: Document, writes: Writes) -> None:
        """Hold a task's writes against the part they lie in."""
        part = document.key[3]
        for index, (channel, _) in writes.items():
            special = SPECIAL.get(channel)
            if index != special if special is not None else index < 0:
                self.tell("wrong-part", document, f"a write to {channel!r} has index {index}")
            elif special is not None and part != special:
                self.tell("wrong-part", document, f"a write to {channel!r} lies in part {part!r}")

    def _follow_damage(self) -> dict[bytes, str]:
        """Find every document that cannot be read, itself or because of what it names."""
        broken = {
            ref: f"{ref.hex()} is damaged" for ref, found in self.looks.items() if found is None
        }
        users: dict[bytes, list[bytes]] = {}
        for ref, named in self.refs.items():
            found = self.looks[ref]
            says = found and self._nesting_damage(ref, found, named)
            if says:
                broken[ref] = says
        for ref, named in self.refs.items() if broken else ():
            for child in named:
                users.setdefault(child, []).append(ref)
        pending = list(broken)
        while pending:
            child = pending.pop()
            for user in users.get(child, ()):
                if user not in broken:
                    broken[user] = broken[child]
                    pending.append(user)
        return broken

    def _nesting_damage(self, ref: bytes, found: Look, named: Sequence[bytes]) -> str | None:
        """Hold a list's or table's node against the documents it names."""
        document = Document(self.thread_id, self.places[ref], (ref,), b"")
        heights = [height for height, count in found.children for _ in range(count)]
        for child, height in zip(named, heights, strict=False):
            below = self.looks.get(child)
            if child not in self.looks:
                self.tell("missing-document", document, f"it names {child.hex()}, not stored")
                return f"{child.hex()} is not stored"
            if below is None:
                continue
            fits = below.kind in VALUES if height == VALUE_HEIGHT else below.height == height
            if not fits:
                says = f"{child.hex()} is not of the height at which {ref.hex()} names it"
                self.tell("wrong-nesting", document, says)
                return says
        return None

    def _tell_broken_rows(self, broken: Mapping[bytes, str]) -> None:
        for kept in self.checkpoints.values():
            if kept.broken is None:
                kept.broken = next(_reasons(kept.document.refs, self.looks, broken), None)
                if kept.broken is not None:
                    self.tell("unreadable-checkpoint", kept.document, self._which(kept, broken))
        for one in self.writes.values():
            if one.broken is None:
                one.broken = next(_reasons(one.document.refs, self.looks, broken), None)
                if one.broken is not None:
                    says = f"pending writes that cannot be read: {one.broken}"
                    self.tell("unreadable-checkpoint", one.document, says)

    def _which(self, kept: Checkpoint, broken: Mapping[bytes, str]) -> str:
        """Name the channels of a checkpoint that cannot be read."""
        refs = iter(kept.document.refs)
        names = [
            repr(name) if name else "its shape or metadata"
            for name, count in kept.spans
            if any([*_reasons(islice(refs, count), self.looks, broken)])
        ]
        return f"{', '.join(names)}: {kept.broken}"

    def _tell_lost_history(self) -> None:
        """Follow damage to the checkpoints whose delta channels are made from what is damaged."""
        lost_writes = {one.document.key[:2] for one in self.writes.values() if one.broken}
        for key, kept in self.checkpoints.items():  # in key order: parents come before
            parent_id = kept.parent or kept.document.fields.get("parent_id")
            if kept.broken or not kept.unstated or parent_id is None:
                continue
            if self.earlier.get((key[0], parent_id)):
                continue
            parent = self.checkpoints.get((key[0], parent_id))
            if parent is None or parent.broken or parent.document.key in lost_writes:
                says = f"channel {', '.join(map(repr, sorted(kept.unstated)))}: it is made from"
                kept.broken = f"{says} checkpoint {parent_id!r}, which cannot be read"
                self.tell("lost-history", kept.document, kept.broken)

    def _tell_relations(self) -> None:
        for key, kept in self.checkpoints.items():
            parent = kept.document.fields.get("parent_id")
            if parent is None or self.is_stored((key[0], parent)) or kept.parent:
                continue
            self.tell("missing-parent", kept.document, f"its parent {parent!r} is not stored")
        for key, one in self.writes.items():
            if self.is_stored(key[:2]):
                continue
            made = made_at(str(key[1]))
            if self.now - made > WRITES_AHEAD_SECONDS * TICKS_PER_SECOND:
                self.tell("orphan-write", one.document, f"no checkpoint {key[1]!r} is stored")

    def _tell_orphans(self) -> None:
        live: set[bytes] = set()
        rows: Iterable[Checkpoint | PendingWrites] = (
            *self.checkpoints.values(),
            *self.writes.values(),
        )
        pending = [ref for kept in rows for ref in kept.document.refs]
        while pending:
            ref = pending.pop()
            if ref not in live:
                live.add(ref)
                pending += self.refs.get(ref, ())
        for ref, collection in self.places.items():
            if ref not in live:
                document = Document(self.thread_id, collection, (ref,), b"")
                self.tell("orphan-document", document, "no checkpoint or write names it")


def _reasons(
    refs: Iterable[bytes], looks: Mapping[bytes, Look | None], broken: Mapping[bytes, str]
) -> Iterator[str]:
    for ref in refs:
        if ref in broken:
            yield broken[ref]
        elif ref not in looks:
            yield f"{ref.hex()} is not stored"


def _bare(document: Document) -> Document:
    return Document(
        document.thread_id,
        document.collection,
        document.key,
        b"",
        document.refs,
        dict(document.fields),
    )


def _ref(document: Document) -> bytes:
    (ref,) = document.key
    assert isinstance(ref, bytes)
    return ref
