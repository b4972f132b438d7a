"""One addressed document, looked at for itself: is it what its address and collection say?

Nothing is deserialized: what stands in a value is the serializer's, and its address vouches for it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ormsgpack

from threadkeep.checkpoints import bodies
from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.encryption import Unopened
from threadkeep.checkpoints.entries import (
    Blob,
    Entry,
    Inline,
    Keyed,
    Snapshot,
    Table,
    Text,
    Tree,
    unpack_marks,
)
from threadkeep.checkpoints.sends import unpack_send
from threadkeep.errors import CorruptionError, SchemaTooNewError
from threadkeep.ports.documents import BLOBS, ITEMS, PARTS, Document

# Where documents lie, by their kind as a flag byte has it; the first is where they are put back.
_COLLECTIONS: Mapping[int, Sequence[str]] = {
    bodies.VALUE: (ITEMS, BLOBS),
    bodies.NODE: (ITEMS,),
    bodies.SHAPE: (BLOBS,),
    bodies.META: (BLOBS,),
    bodies.PART: (PARTS,),
    bodies.SEND: (ITEMS,),
}
ROOT_HEIGHT = 255  # of a root; leaves are 0, nodes above them
VALUE_HEIGHT = -1
LIST_LEAF, LIST_ROOT, TABLE_LEAF, TABLE_ROOT = b"\x00", b"\xff", b"\xfe", b"\xfd"


class DamageError(Exception):
    """What is wrong with a document: a kind of ``findings.KINDS``, and words."""

    def __init__(self, kind: str, says: str) -> None:
        super().__init__(says)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Look:
    """What a document turned out to be.

    Attributes:
        kind: The high half of its flag.
        height: Of a leaf, node or root of a list or table; -1 of all else. See ``ROOT_HEIGHT``.
        children: Of those and of a send: how many documents of which height it names, in the order
            of ``refs``.
        plain: Of a shape.
        channels: Of metadata: the delta channels whose updates it counts.
    """

    kind: int
    height: int = -1
    children: Sequence[tuple[int, int]] = ()
    plain: bytes = b""
    channels: frozenset[str] = frozenset()


def right_collection(found: Look, collection: str) -> str:
    """Tell where a document belongs that lies in a collection: there, where it may."""
    allowed = _COLLECTIONS[found.kind]
    return collection if collection in allowed else allowed[0]


def is_manifest(document: Document) -> bool:
    """Tell whether a document only names its parts."""
    return document.body == bytes((bodies.MANIFEST,))


def look(document: Document, codec: Codec) -> Look:
    """Say what an addressed document is, which is no manifest.

    Raises:
        DamageError: It is not what it should be.
    """
    plain = _plain(document)
    (ref,) = document.key
    if not isinstance(ref, bytes) or not codec.is_address(ref, plain, document.refs):
        raise DamageError("wrong-address", "its content has another address")
    return look_at(plain, document)


def look_at(plain: bytes, document: Document) -> Look:
    """Say what a document is by its plain, or by the beginning of it where it is a value.

    Raises:
        DamageError: Its plain is of no kind, or says nothing that its kind says.
    """
    if not plain:
        raise DamageError("unreadable-body", "its body is empty")
    kind = plain[0] >> 4
    if kind not in _COLLECTIONS:
        raise DamageError("wrong-kind", f"a document of kind {kind}, which no address names")
    if kind not in (bodies.NODE, bodies.SEND) and document.refs and not is_manifest(document):
        raise DamageError("malformed", "it names documents, which its kind does not")
    try:
        return _content(kind, plain, document)
    except (CorruptionError, ValueError, TypeError, LookupError) as error:
        raise DamageError("malformed", f"its content is none of its kind: {error}") from error


def _content(kind: int, plain: bytes, document: Document) -> Look:
    if kind == bodies.NODE:
        return _node(plain[1:], document.refs)
    if kind == bodies.SEND:
        _, argument = unpack_send(plain[1:], document.refs)
        return Look(kind, children=[(height, 1) for height in _named(argument)])
    if kind == bodies.SHAPE:
        _, names, count, seen, keys = ormsgpack.unpackb(plain[1:])
        if not 0 <= count <= len(names) or not isinstance(seen, list) or len(keys) < 0:
            raise ValueError("a shape's counts")
        return Look(kind, plain=plain)
    if kind == bodies.META:
        return Look(kind, channels=_counted(document.fields.get("metadata")))
    return Look(kind)


def refuse_unopened(document: Document) -> None:
    """Tell of a document that could not be decrypted.

    Raises:
        DamageError: It could not.
    """
    if isinstance(document.body, Unopened):
        raise DamageError(document.body.kind, document.body.says)


def _plain(document: Document) -> bytes:
    refuse_unopened(document)
    body = document.body
    if body[:1] == bytes((bodies.FIELD,)):
        text = document.fields.get("metadata")
        if len(body) != 2 or not isinstance(text, str):
            raise DamageError("unreadable-body", "its text is not in its field")
        return body[1:] + text.encode("utf-8", "surrogatepass")
    try:
        return bodies.unseal(body)
    except SchemaTooNewError as error:
        raise DamageError("newer-format", str(error)) from error
    except CorruptionError as error:
        raise DamageError("unreadable-body", str(error)) from error


def _node(payload: bytes, refs: Sequence[bytes]) -> Look:
    first, rest = payload[:1], payload[1:]
    if first in (LIST_LEAF, TABLE_LEAF):
        runs = ormsgpack.unpackb(rest)
        _check_marks(runs[1:] if first == TABLE_LEAF else runs, refs)
        return Look(bodies.NODE, 0, [(VALUE_HEIGHT, len(refs))])
    if first in (LIST_ROOT, TABLE_ROOT):
        told = ormsgpack.unpackb(rest)
        counts, runs = (told[0], told[2:]) if first == TABLE_ROOT else (told, [])
        nodes = sum(counts)
        if (first == LIST_ROOT and not counts) or min(counts, default=0) < 0 or nodes > len(refs):
            raise ValueError("a root's counts")
        _check_marks(runs, refs[nodes:])
        children = [*zip(range(len(counts) - 1, -1, -1), counts, strict=True)]
        return Look(bodies.NODE, ROOT_HEIGHT, [*children, (VALUE_HEIGHT, len(refs) - nodes)])
    if len(first) != 1 or rest or not refs:
        raise ValueError("a node's addresses")
    return Look(bodies.NODE, first[0], [(first[0] - 1, len(refs))])


def _named(entry: Entry) -> Iterator[int]:
    """Say of which height each document is that an entry names, in order."""
    match entry:
        case Tree(root, tail) | Snapshot(Tree(root, tail)) | Text(Tree(root, tail)):
            yield from (ROOT_HEIGHT for _ in (root,) if root is not None)
            yield from (VALUE_HEIGHT for mark in tail if isinstance(mark, bytes))
        case Keyed(entries):
            for _, inner in entries:
                yield from _named(inner)
        case Table():
            yield ROOT_HEIGHT
        case Blob():
            yield VALUE_HEIGHT


def _check_marks(runs: Sequence[Any], refs: Sequence[bytes]) -> None:
    rest = iter(refs)
    marks = unpack_marks(runs, rest)
    if next(rest, None) is not None or any(mark == Inline(b"") for mark in marks):
        raise ValueError("the marks of its elements")


def _counted(text: Any) -> frozenset[str]:
    """Read the delta channels that metadata counts, from the text of its declared field."""
    told = json.loads(text) if isinstance(text, str) else None
    if not isinstance(told, dict):
        raise ValueError("its field has no JSON object")
    counters = told.get("counters_since_delta_snapshot")
    return frozenset(counters) if isinstance(counters, dict) else frozenset()
