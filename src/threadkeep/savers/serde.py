"""The saver's serializer: what comes back is what went in, and reading it calls nothing.

It is LangGraph's ``JsonPlusSerializer`` to all that ask for one, with an allow-list where LangGraph
gives it one. Messages have the bytes that LangGraph gives them; the four stock classes whose stored
fields are exactly the declared ones are read a short way.
"""

import copy
import json
from collections.abc import Iterable
from typing import Any, Literal

import ormsgpack
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.serde import _msgpack
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from threadkeep.errors import CorruptionError
from threadkeep.savers.typed.classes import Allowed, Classes
from threadkeep.savers.typed.decoding import decode
from threadkeep.savers.typed.encoding import encode
from threadkeep.savers.typed.langgraphs import json_value

_STOCK = {
    (cls.__module__, cls.__name__): (cls, frozenset(cls.model_fields))
    for cls in (AIMessage, HumanMessage, SystemMessage, ToolMessage)
}
_PYDANTIC = 5  # LangGraph's msgpack extension for a pydantic model
_HEADERS = {0xC7: 3, 0xC8: 4, 0xC9: 6}  # msgpack extensions of up to 8, 16 and 32 bits of length

AllowList = Iterable[tuple[str, ...] | type[Any]] | Literal[True] | None


class SafeSerializer(JsonPlusSerializer):
    """Keeps types, and calls nothing; see the module.

    Args:
        allowed_msgpack_modules: Module and name of the classes of users that are restored, beside
            LangGraph's own. ``True`` is all that are imported, and is the default outside
            LangGraph's strict mode; ``None`` is none.
    """

    errors_as_text = True  # an exception that a task ended with is stated as LangGraph states it

    def __init__(self, *, allowed_msgpack_modules: AllowList | object = _msgpack._SENTINEL) -> None:
        allowed: Any = allowed_msgpack_modules
        super().__init__(allowed_msgpack_modules=allowed)
        self._classes = Classes(self._named())

    def with_msgpack_allowlist(
        self, extra_allowlist: Iterable[tuple[str, ...] | type[Any]]
    ) -> "SafeSerializer":
        """Return one that restores further classes, given by module and name."""
        extra = list(extra_allowlist)
        clone = super().with_msgpack_allowlist(extra)
        if clone is self or not isinstance(clone, SafeSerializer):
            return self
        allowed = clone._named()
        clone._classes = self._classes if allowed is True else self._classes.with_allowed(allowed)
        return clone

    def with_classes(self, classes: Iterable[type[Any]]) -> "SafeSerializer":
        """Return one that restores these classes too, wherever they were made."""
        known = self._classes.with_given(classes)
        if known is self._classes:
            return self
        clone = copy.copy(self)
        clone._classes = known
        return clone

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Make the bytes of a value.

        Raises:
            TypeError: It would not come back as it is; the message says where in it, and why.
        """
        kind = type(obj)
        if obj is None:
            return "null", b""
        if kind is bytes:
            return "bytes", obj
        if kind is bytearray:
            return "bytearray", bytes(obj)
        return "msgpack", encode(obj, self._classes)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Make the value of what ``dumps_typed`` made, here or in LangGraph's serializer.

        Raises:
            CorruptionError: It is none of a value.
        """
        kind, stored = data
        if kind == "msgpack":
            message = _message(stored)
            return decode(stored, self._classes) if message is None else message
        if kind == "null":
            return None
        if kind == "bytes":
            return stored
        if kind == "bytearray":
            return bytearray(stored)
        if kind == "json":
            return _json(stored)
        raise CorruptionError(f"a value of the type {kind!r}, which is never read")

    def _named(self) -> Allowed:
        allowed = self._allowed_msgpack_modules
        return True if allowed is True else frozenset(allowed or ())


def _json(data: bytes) -> Any:
    """Make the value of LangGraph's older form; what names a class is data, but for messages."""
    try:
        return json.loads(data, object_hook=json_value)
    except (ValueError, RecursionError) as error:
        raise CorruptionError(f"a stored value is no JSON: {error}") from error


def _message(data: bytes) -> Any:
    """Make a stock message, or answer ``None`` for anything else."""
    header = _HEADERS.get(data[0]) if data else None
    if header is None or data[header - 1] != _PYDANTIC:
        return None
    try:
        module, name, fields, _ = ormsgpack.unpackb(data[header:], ext_hook=_refuse)
        cls, declared = _STOCK[module, name]
    except (ValueError, TypeError, KeyError):
        return None
    if fields.keys() != declared:
        return None
    message = cls.__new__(cls)
    put = object.__setattr__
    put(message, "__dict__", fields)
    put(message, "__pydantic_fields_set__", set(fields))
    put(message, "__pydantic_extra__", {})
    put(message, "__pydantic_private__", None)
    return message


def _refuse(code: int, _data: bytes) -> Any:
    """Leave a message that holds other objects to LangGraph."""
    raise ValueError(code)
