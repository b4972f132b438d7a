"""LangGraph's ``Send``, whose argument often is the state: its lists are shared with the state's.

The prebuilt agents send the whole state along with each tool call. A ``Send`` is one document,
which states its argument as an entry does.
"""

from importlib import import_module
from typing import Any

import ormsgpack

from threadkeep.checkpoints.entries import Entry, no_more, pack, unpack
from threadkeep.errors import CorruptionError

SEND_BYTES = 32 * 1024  # a longer statement is not worth it: what it names must stand beside it


def is_send(value: Any) -> bool:
    """Tell whether a value is a ``Send`` that is a node and an argument, which is a dict."""
    kind: Any = type(value)
    return (
        kind.__name__ == "Send"
        and kind.__module__ == "langgraph.types"
        and type(value.arg) is dict
        and type(value.node) is str
        and getattr(value, "timeout", None) is None
    )


def pack_send(node: str, argument: Entry) -> tuple[bytes, tuple[bytes, ...]] | None:
    """Make the payload of a ``Send`` and what it names; ``None`` where it is too long."""
    refs: list[bytes] = []
    packed = [node, pack(argument, refs)]
    payload = ormsgpack.packb(packed, option=ormsgpack.OPT_NON_STR_KEYS)
    return (payload, tuple(refs)) if len(payload) <= SEND_BYTES else None


def unpack_send(payload: bytes, refs: tuple[bytes, ...]) -> tuple[str, Entry]:
    """Give back what ``pack_send`` packed.

    Raises:
        CorruptionError: It is none that ``pack_send`` makes.
    """
    try:
        node, packed = ormsgpack.unpackb(payload, option=ormsgpack.OPT_NON_STR_KEYS)
        rest = iter(refs)
        argument = unpack(packed, rest)
    except (ValueError, TypeError) as error:
        raise CorruptionError("a Send cannot be read") from error
    no_more(rest)
    return node, argument


def make_send(node: str, argument: Any) -> Any:
    """Make the object."""
    return import_module("langgraph.types").Send(node, argument)  # loads the graph runtime
