"""What can be wrong with a stored thread: a name for each kind of damage, and one case of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from threadkeep.ports.documents import Key

KINDS: Mapping[str, str] = {
    "newer-format": "a body of a format that only a later release may know",
    "wrong-key": "a document is encrypted under a key that was not given",
    "not-encrypted": "a document in the clear, where all is to be encrypted",
    "unreadable-row": "the store cannot read a row",
    "unreadable-body": "a body is cut off, is no frame, or lies about its length",
    "wrong-address": "a document is not what its address says",
    "wrong-sum": "a checkpoint's or write's row is not what was stored",
    "wrong-parent": "a checkpoint's parent is not the one it was stored with",
    "wrong-kind": "a document is of another kind than its collection, or what names it, asks for",
    "malformed": "a body does not say what its kind of document says",
    "wrong-nesting": "the nodes of a list do not lie over each other as they should",
    "missing-document": "a document is named and not stored",
    "missing-part": "a part of a large value is named and not stored",
    "wrong-parts": "the parts of a large value do not make it up",
    "missing-parent": "a checkpoint's parent is not stored, and no prune took it",
    "wrong-field": "a declared field says something else than the document",
    "wrong-part": "pending writes lie under a part that is not theirs",
    "orphan-write": "a pending write whose checkpoint was never stored, or is gone",
    "orphan-document": "a document that no checkpoint or write names",
    "lost-history": "a DeltaChannel's value is made from a checkpoint that cannot be read",
    "unreadable-checkpoint": "a checkpoint cannot be read, because of damage named elsewhere",
}
# Left behind by what was replaced, and by what came second: nothing reads it, a prune deletes it.
HARMLESS = frozenset(("orphan-document",))
SHOWN = 100  # findings of one kind and thread told one by one; the others are counted


@dataclass(frozen=True, slots=True)
class Finding:
    """One case of damage.

    Attributes:
        kind: One of ``KINDS``.
        thread_id: The thread it is in.
        collection: The collection of the damaged document.
        key: The document's key; empty where the store could not tell.
        says: What is wrong, in words.
    """

    kind: str
    thread_id: str
    collection: str
    key: Key
    says: str

    @property
    def ident(self) -> str:
        """Name the document within its collection: key fields, addresses in hex."""
        parts = (part.hex() if isinstance(part, bytes) else str(part) for part in self.key)
        return "/".join(parts)


@dataclass(slots=True)
class Findings:
    """All that is wrong with one thread.

    Attributes:
        shown: At most ``SHOWN`` of each kind.
        counts: How many there are of each kind.
    """

    shown: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, kind: str, thread_id: str, collection: str, key: Key, says: str) -> None:
        """Take in a case."""
        assert kind in KINDS
        self.counts[kind] += 1
        if self.counts[kind] <= SHOWN:
            self.shown.append(Finding(kind, thread_id, collection, key, says))


@dataclass(frozen=True, slots=True)
class ThreadReport:
    """What a look at one thread gave.

    Attributes:
        thread_id: The thread.
        documents: How many documents were read.
        size_bytes: Their bodies.
        findings: At most ``SHOWN`` of each kind.
        counts: How many there are of each kind; empty for a thread that is whole.
    """

    thread_id: str
    documents: int
    size_bytes: int
    findings: Sequence[Finding] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Tell whether all can be read as it was stored."""
        return not self.counts.keys() - HARMLESS
