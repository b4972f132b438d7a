"""Values to msgpack, exact in type and value, or refused.

What msgpack keeps is left to it; all else becomes an extension of ``codes``. msgpack itself would
change some values without a word (an enum as a key, a ``bytearray`` in a list), so each container's
types are looked at first, a whole level at a time.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import ormsgpack

from threadkeep.savers.typed import builtins, codes, objects
from threadkeep.savers.typed.classes import Classes
from threadkeep.savers.typed.refusals import Refused

_NATIVE = frozenset((str, int, float, bool, type(None), bytes))
_SURE = _NATIVE - {str, int}  # those of which msgpack takes every value

Handler = Callable[[Any, int, "Encoder"], Any]


class Encoder:
    """Encodes values whose classes some ``Classes`` will find again.

    Args:
        classes: Which classes are found.
        careful: Whether to look at each text and each integer: msgpack refuses some of them, and
            the first try leaves them to it.
    """

    __slots__ = ("classes", "native")

    def __init__(self, classes: Classes, *, careful: bool = False) -> None:
        self.classes = classes
        self.native = _SURE if careful else _NATIVE

    def pack(self, value: Any, depth: int) -> bytes:
        """Encode a value that stands in an extension."""
        return ormsgpack.packb(self.state(value, depth), option=codes.PACK)

    def extension(self, code: int, parts: Iterable[Any], depth: int) -> ormsgpack.Ext:
        """Encode an array of values as an extension."""
        items = [self.state(part, depth) for part in parts]
        return ormsgpack.Ext(code, ormsgpack.packb(items, option=codes.PACK))

    def state(self, value: Any, depth: int) -> Any:
        """Turn a value into one that msgpack keeps.

        Raises:
            Refused: There is none that would come back as it.
            TypeError: What msgpack refuses, where the encoder is not careful.
        """
        kind = type(value)
        if kind in self.native:
            return value
        if depth > codes.DEPTH:
            raise Refused(f"it is nested more than {codes.DEPTH} deep")
        handler = _HANDLERS.get(kind)
        if handler is None:
            return objects.state(value, depth + 1, self)
        return handler(value, depth + 1, self)

    def items(self, values: dict[str, Any], depth: int) -> dict[str, Any]:
        """Turn the fields of an object into ones that msgpack keeps."""
        made = values.copy()
        native = self.native
        for name, value in made.items():
            kind = type(value)
            if kind in native or ((kind is dict or kind is list) and not value):
                continue
            try:
                made[name] = self.state(value, depth)
            except Refused as refusal:
                raise refusal.under(f".{name}") from None
        return made


def encode(value: Any, classes: Classes) -> bytes:
    """Encode a value.

    Raises:
        Refused: It would not come back as it is; the message says where and why.
    """
    try:
        return Encoder(classes).pack(value, 0)
    except Refused:
        raise
    except TypeError:
        return Encoder(classes, careful=True).pack(value, 0)


def _list(value: list[Any], depth: int, encoder: Encoder) -> Any:
    value = value.copy()  # another thread may change it meanwhile
    if encoder.native.issuperset(map(type, value)):
        return value
    for at, item in enumerate(value):
        try:
            value[at] = encoder.state(item, depth)
        except Refused as refusal:
            raise refusal.under(f"[{at}]") from None
    return value


def _dict(value: dict[Any, Any], depth: int, encoder: Encoder) -> Any:
    value = value.copy()
    if encoder.native is _NATIVE and _NATIVE.issuperset(map(type, value)):
        if _NATIVE.issuperset(map(type, value.values())):
            return value
    elif not all(map(_is_kept, value)):
        return ormsgpack.Ext(codes.MAPPING, encoder.pack(pairs(value), depth))
    for key, item in value.items():
        try:
            value[key] = encoder.state(item, depth)
        except Refused as refusal:
            raise refusal.under(f"[{key!r}]") from None
    return value


def pairs(value: Mapping[Any, Any]) -> list[Any]:
    """List a mapping's keys and values in turn."""
    return [part for pair in list(value.items()) for part in pair]


def _is_kept(key: Any) -> bool:
    kind = type(key)
    if kind is str:
        return not _has_surrogates(key)
    return -(2**63) <= key < 2**64 if kind is int else kind in _SURE


def _has_surrogates(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _text(value: str, _depth: int, _encoder: Encoder) -> Any:
    if not _has_surrogates(value):
        return value
    return ormsgpack.Ext(codes.TEXT, value.encode("utf-8", "surrogatepass"))


def _integer(value: int, _depth: int, _encoder: Encoder) -> Any:
    if -(2**63) <= value < 2**64:
        return value
    size = value.bit_length() // 8 + 1
    return ormsgpack.Ext(codes.INTEGER, value.to_bytes(size, "big", signed=True))


def _tuple(value: tuple[Any, ...], depth: int, encoder: Encoder) -> Any:
    return ormsgpack.Ext(codes.TUPLE, encoder.pack(list(value), depth))


def _builtin(parts: Callable[[Any], Iterable[Any]]) -> Handler:
    def state(value: Any, depth: int, encoder: Encoder) -> Any:
        return encoder.extension(codes.BUILTIN, parts(value), depth)

    return state


def _set(value: Any, depth: int, encoder: Encoder) -> Any:
    """Encode a set in the order of its items' bytes: it is the same under every hash seed."""
    parts = [encoder.pack(type(value).__name__, depth)]
    parts += sorted(encoder.pack(item, depth) for item in list(value))
    return ormsgpack.Ext(codes.BUILTIN, _array(parts))


def _array(parts: list[bytes]) -> bytes:
    """Join encoded values as one array."""
    count = len(parts)
    head = bytes((0x90 | count,)) if count < 16 else b"\xdd" + count.to_bytes(4, "big")
    return head + b"".join(parts)


_HANDLERS: dict[type[Any], Handler] = {
    str: _text,
    int: _integer,
    list: _list,
    dict: _dict,
    tuple: _tuple,
    set: _set,
    frozenset: _set,
    **dict.fromkeys(objects.STOCK_CLASSES, objects.stock_state),
    **{kind: _builtin(parts) for kind, parts in builtins.PARTS.items()},
}
