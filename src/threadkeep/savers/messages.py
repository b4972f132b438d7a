"""Messages read many at a time.

A conversation is thousands of messages of four stock classes. What LangGraph's serializer makes of
one begins and ends with bytes that are the same for the class; between them are its fields. So the
fields of many are cut out, decoded by one call, and set on new messages, without constructor and
validators: what comes back is what was stored. A long text is taken out first, and each message
made of a sketch gets the same ``str``.

What is none of this, or holds an object inside, is left to the serializer.
"""

import struct
from collections.abc import Sequence
from typing import Any

import ormsgpack
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel

from threadkeep.checkpoints.prints import TEXT_LEN
from threadkeep.checkpoints.shelf import Sketch

_PYDANTIC = 5  # LangGraph's msgpack extension for a pydantic model
_STARTS = {0xC7: 2, 0xC8: 3, 0xC9: 5}  # msgpack extensions of up to 8, 16 and 32 bits of length
_LENGTHS = {0xDA: 2, 0xDB: 4}  # msgpack strings of more than 255 bytes
_CONTENT = "content"
_SUFFIX = ormsgpack.packb("model_validate_json")
_SUFFIX_LEN = len(_SUFFIX)

_new = object.__new__
_set_fields, _set_names, _set_extra, _set_private = (
    vars(BaseModel)[name].__set__
    for name in (
        "__dict__",
        "__pydantic_fields_set__",
        "__pydantic_extra__",
        "__pydantic_private__",
    )
)


class _Form:
    """What the messages of one class have in common."""

    __slots__ = ("cls", "head", "head_len", "names", "prefix", "prefix_len", "set_names")

    def __init__(self, cls: type[BaseModel]) -> None:
        self.cls = cls
        self.names = list(cls.model_fields)
        self.set_names = set(self.names)
        self.head = bytes((0x80 | len(self.names),)) + ormsgpack.packb(_CONTENT)
        named = ormsgpack.packb(cls.__module__) + ormsgpack.packb(cls.__name__)
        self.prefix = bytes((_PYDANTIC, 0x94)) + named + self.head
        self.head_len, self.prefix_len = len(self.head), len(self.prefix)


# By the first byte of the module's name, which is its length.
_FORMS = {
    form.prefix[2]: form
    for form in [_Form(cls) for cls in (AIMessage, HumanMessage, SystemMessage, ToolMessage)]
    if form.names[0] == _CONTENT
}


def sketch(stored: bytes, start: int = 0) -> Sketch | None:
    """Look at a serialized value; ``None`` where it is no message of a stock class.

    Args:
        stored: What ends with the value.
        start: Where in it the value begins.
    """
    try:
        start += _STARTS[stored[start]]
        form = _FORMS[stored[start + 2]]
        if not stored.startswith(form.prefix, start) or not stored.endswith(_SUFFIX):
            return None
        at = start + form.prefix_len
        wide = _LENGTHS.get(stored[at])
        if wide is not None:
            begin = at + 1 + wide
            length = int.from_bytes(stored[at + 1 : begin], "big")
            if length > TEXT_LEN:
                end = begin + length
                text = stored[begin:end].decode()
                if len(text) > TEXT_LEN:
                    return text, form.head + b"\xc0" + stored[end:-_SUFFIX_LEN], form
    except (LookupError, UnicodeDecodeError):
        return None
    return None, stored[at - form.head_len : -_SUFFIX_LEN], form


def compose(sketches: Sequence[Sketch]) -> list[Any]:
    """Make the messages of sketches.

    Raises:
        ValueError: One holds an object, or other fields than its class declares.
    """
    array = b"\xdd" + struct.pack(">I", len(sketches))
    packed = b"".join([array, *[rest for _, rest, _ in sketches]])
    all_fields = ormsgpack.unpackb(packed, ext_hook=_refuse)
    made = []
    for (text, _, form), fields in zip(sketches, all_fields, strict=True):
        if type(fields) is not dict or [*fields] != form.names:
            raise ValueError("a message with other fields than its class declares")
        if text is not None:
            fields[_CONTENT] = text
        message = _new(form.cls)
        _set_fields(message, fields)
        _set_names(message, form.set_names.copy())
        _set_extra(message, {})
        _set_private(message, None)
        made.append(message)
    return made


def payload(sketch: Sketch) -> bytes:
    """Give back what a sketch was made of."""
    text, rest, form = sketch
    if text is not None:
        rest = form.head + ormsgpack.packb(text) + rest[form.head_len + 1 :]
    inner = form.prefix[1 : -form.head_len] + rest + _SUFFIX
    return ormsgpack.packb(ormsgpack.Ext(_PYDANTIC, inner))


def _refuse(code: int, _data: bytes) -> Any:
    """Leave a message that holds other objects to the serializer."""
    raise ValueError(code)
