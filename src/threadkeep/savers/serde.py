"""The saver's serializer: what comes back is what went in, and reading it calls nothing.

It is LangGraph's ``JsonPlusSerializer`` to all that ask for one, with an allow-list where LangGraph
gives it one. Messages have the bytes that LangGraph gives them; the four stock classes whose stored
fields are exactly the declared ones are read a short way, many at a time where a list is read (see
``messages``).
"""

import copy
import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from threadkeep.checkpoints.shelf import Sketch
from threadkeep.errors import CorruptionError
from threadkeep.savers import messages
from threadkeep.savers.typed.classes import Classes
from threadkeep.savers.typed.decoding import decode, decode_all
from threadkeep.savers.typed.encoding import encode
from threadkeep.savers.typed.langgraphs import json_value

AllowList = Iterable[tuple[str, ...] | type[Any]] | Literal[True] | None
_UNSAID = object()


class SafeSerializer(JsonPlusSerializer):
    """Keeps types, and calls nothing; see the module.

    Args:
        allowed_msgpack_modules: Module and name of the classes of users that are restored, beside
            LangGraph's own. ``True`` is all that are imported, and is the default outside
            LangGraph's strict mode; ``None`` is none.
    """

    errors_as_text = True  # an exception that a task ended with is stated as LangGraph states it

    def __init__(self, *, allowed_msgpack_modules: AllowList | object = _UNSAID) -> None:
        super().__init__()
        allowed: Any = allowed_msgpack_modules
        if allowed is _UNSAID:  # the oldest release that is supported has no strict mode
            allowed = getattr(self, "_allowed_msgpack_modules", True)
        self._classes = Classes(allowed if allowed is True else _names(allowed or ()))

    def with_msgpack_allowlist(
        self, extra_allowlist: Iterable[tuple[str, ...] | type[Any]]
    ) -> "SafeSerializer":
        """Return one that restores further classes, given by module and name."""
        allowed = self._classes.allowed
        extra = _names(extra_allowlist)
        if allowed is True or extra <= allowed:
            return self
        clone = copy.copy(self)
        clone._classes = self._classes.with_allowed(allowed | extra)
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
            sketch = messages.sketch(stored)
            if sketch is not None:
                try:
                    return messages.compose([sketch])[0]
                except ValueError:
                    pass  # it holds an object
            return decode(stored, self._classes)
        if kind == "null":
            return None
        if kind == "bytes":
            return stored
        if kind == "bytearray":
            return bytearray(stored)
        if kind == "json":
            return _json(stored)
        raise CorruptionError(f"a value of the type {kind!r}, which is never read")

    @property
    def sketches(self) -> bool:
        """Say yes, except for a subclass that reads in its own way."""
        return type(self).loads_typed is SafeSerializer.loads_typed

    def sketch(self, stored: Sequence[bytes], start: int) -> list[Sketch | None]:
        """See ``SketchingSerde.sketch``."""
        return [messages.sketch(each, start) for each in stored]

    def compose(self, sketches: Sequence[Sketch]) -> list[Any]:
        """See ``SketchingSerde.compose``."""
        return messages.compose(sketches)

    def load(self, stored: Sequence[bytes], start: int) -> list[Any]:
        """See ``SketchingSerde.load``."""
        return decode_all(stored, start)

    def payload(self, sketch: Sketch) -> bytes:
        """See ``SketchingSerde.payload``."""
        return messages.payload(sketch)


def _names(classes: Iterable[tuple[str, ...] | type[Any]]) -> frozenset[tuple[str, ...]]:
    return frozenset(
        (each.__module__, each.__name__) if isinstance(each, type) else tuple(each)
        for each in classes
    )


def _json(data: bytes) -> Any:
    """Make the value of LangGraph's older form; what names a class is data, but for messages."""
    try:
        return json.loads(data, object_hook=json_value)
    except (ValueError, RecursionError) as error:
        raise CorruptionError(f"a stored value is no JSON: {error}") from error
