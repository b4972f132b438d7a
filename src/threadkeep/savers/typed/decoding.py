"""msgpack to values: what ``encoding`` wrote, and what LangGraph's serializer writes.

A stored value is data. It may name classes, which are found and filled (see ``classes`` and
``rebuilding``), and types of the tables here; no other name in it is looked at, and nothing that
it names is imported or called. What is no value is a ``CorruptionError``; a value of a class that
is not restored is an ``Unrestored``.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ormsgpack

from threadkeep.errors import CorruptionError
from threadkeep.savers.typed import arrays, builtins, codes, langgraphs, rebuilding
from threadkeep.savers.typed.classes import Classes, Unknown
from threadkeep.savers.typed.placeholders import Unrestored, redacted


class Decoder:
    """Decodes one value."""

    __slots__ = ("_classes", "_level")

    def __init__(self, classes: Classes) -> None:
        self._classes = classes
        self._level = 0

    def unpack(self, data: bytes) -> Any:
        """Decode a value, at the top or in an extension."""
        return ormsgpack.unpackb(data, ext_hook=self._extension, option=codes.UNPACK)

    def _extension(self, code: int, data: bytes) -> Any:
        raw = _RAW.get(code)
        if raw is not None:
            return raw(data)
        make = _MAKERS.get(code)
        if make is None:
            raise ValueError(f"an extension of unknown number {code}")
        self._level += 1
        if self._level > codes.DEPTH:
            raise ValueError("a value that is nested too deep")
        parts = self.unpack(data)
        self._level -= 1
        try:
            return make(self._classes, parts)
        except Unknown as why:
            return Unrestored(code, data, _name(code, parts), str(why), parts)


def decode(data: bytes, classes: Classes) -> Any:
    """Decode a value.

    Raises:
        CorruptionError: It is none.
    """
    try:
        return Decoder(classes).unpack(data)
    except MemoryError:
        raise
    except Exception as error:
        raise CorruptionError(f"a stored value cannot be read: {error}") from error


def decode_all(stored: Sequence[bytes], start: int) -> list[Any]:
    """Decode many values by one call, if none of them holds an extension.

    Args:
        stored: What ends with the values.
        start: Where in each of them its value begins.

    Raises:
        ValueError: One of them holds one, or is none.
    """
    array = b"\xdd" + struct.pack(">I", len(stored))
    packed = b"".join([array, *[each[start:] for each in stored]])
    made: list[Any] = ormsgpack.unpackb(packed, ext_hook=_refuse, option=codes.UNPACK)
    return made


def _refuse(code: int, _data: bytes) -> Any:
    """Leave an extension to a decoder."""
    raise ValueError(code)


def _name(code: int, parts: Any) -> str:
    if code in _OURS:
        return _OURS[code]
    named = type(parts) is list and len(parts) > 2
    return f"{parts[0]}.{parts[1]}" if named else "object"


def _call(make: Callable[..., Any]) -> Callable[[Classes, Any], Any]:
    """Give a maker the items of an array."""
    return lambda classes, parts: make(classes, *parts)


def _builtin(_classes: Classes, parts: Any) -> Any:
    name, *rest = parts
    return builtins.MAKERS[name](*rest)


def _mapping(_classes: Classes, parts: Any) -> Any:
    return dict(zip(parts[::2], parts[1::2], strict=True))


_OURS = {
    codes.BUILTIN: "builtin",
    codes.ARRAY: "numpy.ndarray",
    codes.SCALAR: "numpy.generic",
    codes.LG_ARRAY: "numpy.ndarray",
}
_RAW: Mapping[int, Callable[[bytes], Any]] = {
    codes.TEXT: lambda data: data.decode("utf-8", "surrogatepass"),
    codes.INTEGER: lambda data: int.from_bytes(data, "big", signed=True),
    codes.SECRET: lambda data: redacted(data.decode("utf-8", "surrogatepass")),
}
_MAKERS: Mapping[int, Callable[[Classes, Any], Any]] = {
    codes.LG_ONE: _call(langgraphs.one),
    codes.LG_POSITIONAL: _call(langgraphs.positional),
    codes.LG_NAMED: _call(langgraphs.named),
    codes.LG_METHOD: _call(langgraphs.method),
    codes.LG_MODEL_V1: _call(langgraphs.model),
    codes.LG_MODEL: _call(langgraphs.model),
    codes.LG_ARRAY: lambda _classes, parts: arrays.array(*parts),
    codes.LG_SNAPSHOT: lambda _classes, value: langgraphs.snapshot(value),
    codes.TUPLE: lambda _classes, items: tuple(items),
    codes.MAPPING: _mapping,
    codes.BUILTIN: _builtin,
    codes.ENUM: _call(rebuilding.enum_member),
    codes.NAMEDTUPLE: _call(rebuilding.named_tuple),
    codes.DATACLASS: _call(rebuilding.dataclass),
    codes.MODEL: _call(rebuilding.model),
    codes.MODEL_V1: _call(rebuilding.model_v1),
    codes.SUBCLASS: _call(rebuilding.subclass),
    codes.SLOTS: _call(rebuilding.slotted),
    codes.ARRAY: lambda _classes, parts: arrays.array(*parts),
    codes.SCALAR: lambda _classes, parts: arrays.scalar(*parts),
}
