"""What the documents over a list's elements or a dict's items name, told without the entry."""

from collections.abc import Sequence

import ormsgpack

from threadkeep.checkpoints import bodies, tables
from threadkeep.ports.documents import Document

_NO_NODES = (b"\x00", tables.LEAF)


def leaves_of(document: Document) -> Sequence[bytes]:
    """Name the leaves or nodes that a node or root names; nothing for any other document.

    Raises:
        CorruptionError: Its body is none.
    """
    if not document.refs or document.body[:1] == bytes((bodies.MANIFEST,)):
        return ()  # a node or root is never so large
    plain = bodies.unseal(document.body)
    if plain[:1] != bodies.flag(bodies.NODE) or plain[1:2] in _NO_NODES:
        return ()
    if plain[1:2] == tables.ROOT:
        return document.refs[: sum(ormsgpack.unpackb(plain[2:])[0])]
    return document.refs
