"""Graph state, messages and events as JSON, encoded once.

Nothing a graph holds makes this fail: what JSON has no word for becomes the nearest thing it has
(a set is a list, bytes are base64, an exception is ``{"error", "message"}``), else its text. Text
that is no Unicode (lone surrogates) is repaired, so that every client can read what is sent.
"""

import base64
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import timedelta
from typing import Any

import orjson

from threadkeep.model.threads import MIRRORED_VALUES_BYTES

MAX_DEPTH = 150  # below it values become text; orjson itself stops at 254
_LOOSE = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
_MESSAGES = "langchain_core.messages."


def encode(value: Any) -> bytes:
    """Return a value as JSON."""
    try:
        return orjson.dumps(value, default=_plain)
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return orjson.dumps(value, default=_plain, option=_LOOSE)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(_rebuilt(value, ()), separators=(",", ":")).encode()


def interrupts_json(interrupts: Iterable[Any]) -> list[dict[str, Any]]:
    """Return interrupts as the wire has them; ``response_schema`` only where there is one."""
    found: list[dict[str, Any]] = []
    for interrupt in interrupts:
        shown = {"value": interrupt.value, "id": interrupt.id}
        schema = getattr(interrupt, "response_schema", None)
        found.append(shown if schema is None else {**shown, "response_schema": schema})
    return found


def mirrored(encoded: bytes) -> Mapping[str, Any] | None:
    """Return encoded state values as a thread's row keeps them; ``None`` where it cannot.

    It keeps an object of at most ``MIRRORED_VALUES_BYTES``.
    """
    if len(encoded) > MIRRORED_VALUES_BYTES:
        return None
    values = orjson.loads(encoded)
    return values if isinstance(values, dict) else None


def error_of(error: BaseException) -> dict[str, str]:
    """Return an exception as clients see it: its class and its words, never its traceback."""
    return {"error": type(error).__name__, "message": _unicode(_text_of(error))}


def _plain(value: Any) -> Any:
    """Return the nearest thing JSON has for a value orjson does not know; one level only."""
    kind = type(value)
    encoder = _ENCODERS.get(kind)
    if encoder is None:
        encoder = _ENCODERS[kind] = _encoder_for(kind)
    return encoder(value)


def _encoder_for(kind: type) -> Callable[[Any], Any]:
    """Choose once for each class; decided by what the class offers, so no import is needed."""
    if kind.__module__.startswith(_MESSAGES):
        return _message
    for name, encoder in _BY_METHOD:
        if callable(getattr(kind, name, None)):
            return encoder
    for base, encoder in _BY_BASE:
        if issubclass(kind, base):
            return encoder
    return _text_of


def _message(value: Any) -> Any:
    """Encode a message from its fields: four times cheaper than ``model_dump``, the same text."""
    extra = getattr(value, "__pydantic_extra__", None)
    return {**value.__dict__, **extra} if extra else value.__dict__


def _dumped(value: Any) -> Any:
    try:
        return value.model_dump()
    except Exception:
        return _text_of(value)


def _text_of(value: Any) -> str:
    try:
        return str(value)
    except Exception as error:
        return f"<{type(value).__name__} without text: {type(error).__name__}>"


_BY_METHOD: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("model_dump", _dumped),
    ("_asdict", lambda value: value._asdict()),
)
_BY_BASE: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (BaseException, error_of),
    (bytes | bytearray | memoryview, lambda value: base64.b64encode(value).decode()),
    (timedelta, lambda value: value.total_seconds()),
    (Mapping, lambda value: dict(value)),
    (tuple | set | frozenset, lambda value: list(value)),
)
_ENCODERS: dict[type, Callable[[Any], Any]] = {}


def _rebuilt(value: Any, inside: tuple[int, ...]) -> Any:
    """Rebuild a value of plain JSON types; cycles and great depth become text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _unicode(str.__str__(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if id(value) in inside or len(inside) >= MAX_DEPTH:
        return f"<{type(value).__name__} nested too deeply>"
    return _rebuilt_nested(value, (*inside, id(value)))


def _rebuilt_nested(value: Any, inside: tuple[int, ...]) -> Any:
    if isinstance(value, Mapping):
        return {_unicode(_text_of(key)): _rebuilt(held, inside) for key, held in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and not hasattr(value, "_asdict"):
        return [_rebuilt(held, inside) for held in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _rebuilt(held, inside) for field, held in _held(value)}
    try:
        return orjson.loads(orjson.dumps(value))
    except TypeError:
        return _rebuilt(_plain(value), inside)


def _held(value: Any) -> Iterable[tuple[Any, Any]]:
    return ((field, getattr(value, field.name, None)) for field in fields(value))


def _unicode(text: str) -> str:
    """Join surrogate pairs that stand apart; replace those that have no other half."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
