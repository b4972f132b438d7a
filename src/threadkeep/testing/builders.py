"""Documents whose uninteresting parts are filled in."""

from collections.abc import Sequence

from threadkeep.ports.documents import (
    BLOBS,
    CHECKPOINTS,
    CHECKPOINTS_V1,
    COLLECTIONS,
    ITEMS,
    PARTS,
    REF_BYTES,
    WRITES,
    WRITES_V1,
    Document,
    Scalar,
)

THREAD = "thread-1"


def address(number: int) -> bytes:
    """Return an address; they order by number."""
    return number.to_bytes(REF_BYTES, "big")


def checkpoint_id(number: int) -> str:
    """Return an id as LangGraph makes them, a UUIDv6; they order by number."""
    return f"1f0{number:05x}-0000-6000-8000-000000000000"


def checkpoint(
    number: int | str,
    body: bytes = b"checkpoint",
    *,
    ns: str = "",
    thread_id: str = THREAD,
    refs: Sequence[bytes] = (),
    **fields: Scalar,
) -> Document:
    """Build a checkpoint by its number or whole id."""
    ident = number if isinstance(number, str) else checkpoint_id(number)
    every = dict.fromkeys(COLLECTIONS[CHECKPOINTS].fields) | fields
    return Document(thread_id, CHECKPOINTS, (ns, ident), body, tuple(refs), every)


def write(
    number: int | str,
    part: int = 0,
    body: bytes = b"write",
    *,
    task: str = "task",
    ns: str = "",
    thread_id: str = THREAD,
    refs: Sequence[bytes] = (),
) -> Document:
    """Build a write of a checkpoint by that one's number or whole id."""
    ident = number if isinstance(number, str) else checkpoint_id(number)
    return Document(thread_id, WRITES, (ns, ident, task, part), body, tuple(refs))


def earlier_checkpoint(
    number: int, body: bytes = b"earlier", *, ns: str = "", thread_id: str = THREAD, **more: Scalar
) -> Document:
    """Build a checkpoint of schema 1 by its number."""
    fields = {"parent_id": None, **more}
    return Document(thread_id, CHECKPOINTS_V1, (ns, checkpoint_id(number)), body, (), fields)


def earlier_write(
    number: int, index: int = 0, body: bytes = b"earlier write", *, thread_id: str = THREAD
) -> Document:
    """Build a write of a checkpoint of schema 1 by that one's number."""
    return Document(thread_id, WRITES_V1, ("", checkpoint_id(number), "task", index), body)


def item(
    number: int, body: bytes = b"item", *, thread_id: str = THREAD, refs: Sequence[bytes] = ()
) -> Document:
    """Build an item by the number of its address."""
    return Document(thread_id, ITEMS, (address(number),), body, tuple(refs))


def blob(
    number: int,
    body: bytes = b"blob",
    *,
    thread_id: str = THREAD,
    refs: Sequence[bytes] = (),
    metadata: str | None = None,
) -> Document:
    """Build a blob by the number of its address."""
    fields = {"metadata": metadata}
    return Document(thread_id, BLOBS, (address(number),), body, tuple(refs), fields)


def part(number: int, body: bytes = b"part", *, thread_id: str = THREAD) -> Document:
    """Build a part by the number of its address."""
    return Document(thread_id, PARTS, (address(number),), body)
