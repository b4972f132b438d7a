"""Bodies of checkpoints and pending writes, with sums that tell whether a row is as it was stored.

Other documents are named by their content; these two are named by what LangGraph calls them. So
their body begins with a sum over the key, ``source`` and ``step``, the addresses, and the body
inside as it is stored. Which thread they lie in is left out, for a copy moves no body; so is
``meta``, which stands in the addresses too; and the parent has a sum of its own, since a prune
takes it away. CRC-32 is made for damage: whoever forges a row forges its sum as well.
"""

from collections.abc import Mapping
from typing import Any
from zlib import crc32

from threadkeep.checkpoints.bodies import CHECKED, unseal
from threadkeep.errors import CorruptionError
from threadkeep.ports.documents import CHECKPOINTS, Document

SUM_BYTES = 4
PARENT_SUM_BYTES = 2
_CHECKPOINT_START = 1 + SUM_BYTES + PARENT_SUM_BYTES  # of the body inside
_WRITES_START = 1 + SUM_BYTES


def add_sums(document: Document) -> bytes:
    """Make the body of a checkpoint or write, given the document with the body inside."""
    sums = _row_sum(document, document.body)
    if document.collection == CHECKPOINTS:
        sums += parent_sum(document.fields.get("parent_id"))
    return bytes((CHECKED,)) + sums + document.body


def unseal_row(document: Document) -> bytes:
    """Give back the plain of a checkpoint or write.

    Raises:
        CorruptionError: The row is not what was stored, or its body is none.
        SchemaTooNewError: Its body is of a format that a later release may know.
    """
    body = document.body
    if body[:1] != b"\x08":
        return unseal(body)  # of an earlier release: nothing to check it by
    inside = body_inside(document)
    if _row_sum(document, inside) != body[1:5]:
        raise CorruptionError("its row is not what was stored: the sum over it is another")
    if document.collection == CHECKPOINTS:
        parent = document.fields.get("parent_id")
        if parent is not None and parent_sum(parent) != body[5:7]:
            raise CorruptionError(f"its parent {parent!r} is not the one it was stored with")
    return unseal(inside)


def body_inside(document: Document) -> bytes:
    """Give the body within the sums of a checkpoint or write, or the whole where it has none."""
    if document.body[:1] != b"\x08":
        return document.body
    is_checkpoint = document.collection == CHECKPOINTS
    return document.body[_CHECKPOINT_START if is_checkpoint else _WRITES_START :]


def unseal_inside(document: Document) -> bytes:
    """Give the plain of a checkpoint or write, whatever its sums say; see ``unseal_row``."""
    return unseal(body_inside(document))


def has_row_sum(document: Document) -> bool:
    """Tell whether a row has the sum it was stored with; one without any has."""
    body = document.body
    return body[:1] != b"\x08" or _row_sum(document, body_inside(document)) == body[1:5]


def has_parent_sum(document: Document) -> bool:
    """Tell whether a checkpoint has the parent it was stored with, or none any more."""
    parent = document.fields.get("parent_id")
    return parent is None or document.body[:1] != b"\x08" or parent_is(document, parent)


def parent_sum(parent: Any) -> bytes:
    """Take the sum of a checkpoint's parent."""
    return (crc32(_encoded(f"{parent}")) & 0xFFFF).to_bytes(PARENT_SUM_BYTES, "big")


def parent_is(document: Document, parent: Any) -> bool:
    """Tell whether a checkpoint was stored with a parent; false where its body does not say."""
    return document.body[:1] == b"\x08" and document.body[5:7] == parent_sum(parent)


def _row_sum(document: Document, inside: bytes) -> bytes:
    """Take the sum over a row, its parent left out."""
    key: tuple[Any, ...] = document.key
    if document.collection == CHECKPOINTS:
        namespace, ident = key
        fields: Mapping[str, Any] = document.fields
        name = f"{namespace}\0{ident}\0{fields.get('source')}\0{fields.get('step')}\0"
    else:
        namespace, ident, task, part = key
        name = f"{namespace}\0{ident}\0{task}\0{part}\0"
    return crc32(b"".join((_encoded(name), *document.refs, inside))).to_bytes(SUM_BYTES, "big")


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return text.encode("utf-8", "surrogatepass")
