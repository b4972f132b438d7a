"""What LangGraph's serializer writes, read as data.

Its extensions name a callable to import and to call. Here the name is looked up in tables; a class
of a user is filled as ``rebuilding`` does it, where what was stored are its fields.
"""

import uuid
from collections import deque
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import ormsgpack

from threadkeep.savers.typed import builtins, codes, objects, rebuilding
from threadkeep.savers.typed.classes import SLOTTED, Classes, Unknown
from threadkeep.savers.typed.placeholders import Unrestored, redacted

_ONE: Mapping[tuple[str, str], Callable[[Any], Any]] = {
    ("uuid", "UUID"): lambda text: uuid.UUID(hex=text),
    ("decimal", "Decimal"): lambda text: Decimal(_text(text)),
    ("builtins", "set"): lambda items: set(_items(items)),
    ("builtins", "frozenset"): lambda items: frozenset(_items(items)),
    ("collections", "deque"): lambda items: deque(_items(items)),
    ("zoneinfo", "ZoneInfo"): lambda key: builtins.MAKERS["zone"](key),
}
_POSITIONAL: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("datetime", "date"): date,
    ("datetime", "timedelta"): timedelta,
    ("datetime", "timezone"): timezone,
    ("re", "compile"): lambda pattern, flags=0: builtins.MAKERS["Pattern"](pattern, flags),
}
_SECRETS = {("pydantic.types", "SecretStr"), ("pydantic.types", "SecretBytes")}


def one(classes: Classes, module: Any, name: Any, value: Any) -> Any:
    """Make what LangGraph stores as a callable and one value for it.

    Raises:
        Unknown: The callable is none that is known; so for the functions below.
    """
    key = _key(module, name)
    make = _ONE.get(key)
    if make is not None:
        return make(value)
    if module == "ipaddress":
        return builtins.MAKERS["IP"](name, value)
    if key in _SECRETS:
        return redacted(f"{module}:{name}")
    return rebuilding.enum_member(classes, module, name, value)


def positional(classes: Classes, module: Any, name: Any, values: Any) -> Any:
    """Make what LangGraph stores as a callable and values in their order."""
    key = _key(module, name)
    make = _POSITIONAL.get(key)
    if make is not None:
        return make(*_items(values))
    if module in ("pathlib", "pathlib._local"):
        return _path(name, _items(values))
    if key == ("langgraph.types", "Send"):
        node, argument, timeout = [*_items(values), None][:3]
        fields = {"node": node, "arg": argument, "timeout": timeout}
        return rebuilding.slotted(classes, module, name, fields)
    raise Unknown("it is stored as a call, which is not made")


def named(classes: Classes, module: Any, name: Any, values: Any) -> Any:
    """Make what LangGraph stores as a callable and values by name."""
    key = _key(module, name)
    if key == ("datetime", "time"):
        return time(**values)
    if key in SLOTTED:
        return rebuilding.slotted(classes, module, name, values)
    kind = classes.restorable(module, name)
    if objects.kind_of(kind) == "namedtuple":
        return rebuilding.named_tuple(classes, module, name, values)
    return rebuilding.dataclass(classes, module, name, values)


def method(_classes: Classes, module: Any, name: Any, value: Any, called: Any) -> Any:
    """Make what LangGraph stores as a method of a class, and one value for it."""
    if (module, name, called) == ("datetime", "datetime", "fromisoformat"):
        return datetime.fromisoformat(_text(value))
    raise Unknown("it is stored as a call, which is not made")


def model(_classes: Classes, module: Any, name: Any, fields: Any, _called: Any = None) -> Any:
    """Make a model: LangChain's own; LangGraph stores others without the types of their fields."""
    kind = objects.STOCK.get(_key(module, name))
    if kind is None:
        raise Unknown("it was stored by LangGraph's serializer, without the types of its fields")
    return rebuilding.stock(kind, fields)


def snapshot(value: Any) -> Any:
    """Make LangGraph's wrapper for the stated value of a delta channel."""
    if objects.SNAPSHOT is None:
        raise Unknown("this release of langgraph-checkpoint has no delta channels")
    return objects.SNAPSHOT(value)


def _key(module: Any, name: Any) -> tuple[str, str]:
    return _text(module), _text(name)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(f"a {type(value).__name__} where text stands")
    return value


def _items(values: Any) -> list[Any]:
    if type(values) not in (list, tuple):
        raise ValueError("no values")
    return list(values)


def _path(name: str, parts: list[Any]) -> Any:
    kind = builtins.PATHS.get(name)
    if kind is None:
        raise Unknown("it is stored as a call, which is not made")
    return builtins.MAKERS["Path"](name, str(kind(*map(_text, parts))))


def json_value(found: dict[str, Any]) -> Any:
    """Make what an object in LangGraph's older JSON form stands for.

    One that names a class of LangChain's messages is the message; any other that names a class
    stays as it is stored, in an ``Unrestored``.
    """
    if found.get("lc") not in (1, 2) or found.get("type") != "constructor":
        return found
    ident = found.get("id")
    name = ident[-1] if type(ident) is list and ident else None
    kind = _MESSAGES.get(name) if type(name) is str else None
    try:
        if kind is not None:
            return rebuilding.stock(kind, dict(found.get("kwargs") or {}))
        reason = "it is stored as a call, which is not made"
    except (Unknown, ValueError, TypeError) as error:
        reason = str(error)
    raw = ormsgpack.packb(["", "", found], option=codes.PACK)
    return Unrestored(codes.LG_POSITIONAL, raw, str(name), reason, found)


_MESSAGES = {kind.__name__: kind for kind in objects.STOCK_CLASSES}
