"""Objects of classes: what is stored of each kind.

An object's own fields are read, never a method of it. ``kind_of`` says which kind a class is of;
``rebuilding`` holds the other direction.
"""

import dataclasses
import enum
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import ormsgpack
from langchain_core import documents, messages
from langgraph.checkpoint.serde import types as serde_types

from threadkeep.savers.typed import codes
from threadkeep.savers.typed.arrays import array_state, is_numpy
from threadkeep.savers.typed.classes import SLOTTED, SUBCLASSES, Unknown
from threadkeep.savers.typed.placeholders import Unrestored, secret_name
from threadkeep.savers.typed.refusals import Refused

if TYPE_CHECKING:
    from threadkeep.savers.typed.encoding import Encoder

BASES = (str, int, float, complex, bytes, bytearray, list, dict, tuple, set, frozenset)
STOCK = {  # LangChain's models whose bytes are LangGraph's
    (cls.__module__, cls.__name__): cls
    for cls in (
        messages.AIMessage,
        messages.AIMessageChunk,
        messages.ChatMessage,
        messages.ChatMessageChunk,
        messages.FunctionMessage,
        messages.FunctionMessageChunk,
        messages.HumanMessage,
        messages.HumanMessageChunk,
        messages.RemoveMessage,
        messages.SystemMessage,
        messages.SystemMessageChunk,
        messages.ToolMessage,
        messages.ToolMessageChunk,
        documents.Document,
    )
}
STOCK_CLASSES = frozenset(STOCK.values())
_NAMES = {cls: name for name, cls in STOCK.items()}
SNAPSHOT: Any = getattr(serde_types, "_DeltaSnapshot", None)

_HEAP_TYPE = 1 << 9  # a class made by a class statement: its objects have no state that is hidden
_METHOD = "model_validate_json"  # LangGraph's name for how a model is made; it is never called


def state(value: Any, depth: int, encoder: "Encoder") -> Any:
    """Turn an object into one that msgpack keeps.

    Raises:
        Refused: Its class is of no kind that is restored.
    """
    kind = type(value)
    try:
        return _STATES[kind_of(kind)](value, depth, encoder)
    except Unknown as why:
        raise Refused(str(why)) from None


def kind_of(kind: Any) -> str:
    """Say what kind of class one is."""
    return _kind_of(kind)


@lru_cache(maxsize=4096)
def _kind_of(kind: Any) -> str:
    if kind in STOCK_CLASSES:
        return "stock"
    for name, is_it in _KINDS:
        if is_it(kind):
            return name
    return "other"


def is_model(kind: type[Any]) -> bool:
    """Tell whether a class is a model of pydantic 2."""
    return _has(kind, "__pydantic_fields__", "__pydantic_validator__") and _is_plain(kind)


def is_model_v1(kind: type[Any]) -> bool:
    """Tell whether a class is a model of pydantic 1."""
    return _has(kind, "__fields__", "__fields_set__", "__private_attributes__") and _is_plain(kind)


def is_dataclass(kind: type[Any]) -> bool:
    """Tell whether a class is a dataclass whose fields are all there is."""
    return dataclasses.is_dataclass(kind) and _is_plain(kind)


def is_namedtuple(kind: type[Any]) -> bool:
    """Tell whether a class is a named tuple."""
    return issubclass(kind, tuple) and isinstance(_static(kind, "_fields"), tuple)


def is_subclass(kind: type[Any]) -> bool:
    """Tell whether a class is one of a builtin type that holds a value."""
    return issubclass(kind, BASES) and not is_numpy(kind)


def base_of(kind: type[Any]) -> type[Any]:
    """Name the builtin type that a class is a subclass of."""
    return next(base for base in kind.__mro__ if base in BASES)


def slots_of(kind: type[Any]) -> Iterator[str]:
    """Iterate over the names of a class's slots, its bases' first."""
    for base in reversed(kind.__mro__):
        slots = vars(base).get("__slots__", ())
        yield from (slots,) if isinstance(slots, str) else slots


def attributes(value: Any) -> dict[str, Any]:
    """Read an object's own dictionary; empty for an object without one."""
    try:
        return dict(object.__getattribute__(value, "__dict__"))
    except AttributeError:
        return {}


def _has(kind: type[Any], *names: str) -> bool:
    return all(_static(kind, name) is not None for name in names)


def _static(kind: type[Any], name: str) -> Any:
    for base in kind.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return None


def _is_plain(kind: type[Any]) -> bool:
    return all(base is object or base.__flags__ & _HEAP_TYPE for base in kind.__mro__)


_KINDS: tuple[tuple[str, Callable[[type[Any]], bool]], ...] = (
    ("unrestored", lambda kind: kind is Unrestored),
    ("snapshot", lambda kind: kind is SNAPSHOT),
    ("enum", lambda kind: issubclass(kind, enum.Enum)),
    ("model", is_model),
    ("model_v1", is_model_v1),
    ("secret", lambda kind: hasattr(kind, "get_secret_value")),
    ("namedtuple", is_namedtuple),
    ("dataclass", is_dataclass),
    ("numpy", is_numpy),
    ("slots", lambda kind: (kind.__module__, kind.__qualname__) in SLOTTED),
    ("subclass", is_subclass),
)


def _enum(value: Any, depth: int, encoder: "Encoder") -> Any:
    parts = [*encoder.classes.name(type(value)), value._value_]
    return encoder.extension(codes.ENUM, parts, depth)


def stock_state(value: Any, depth: int, encoder: "Encoder") -> Any:
    """Encode a model of LangChain as LangGraph does: the same bytes, and so the same address."""
    if value.__pydantic_private__:
        return _model(value, depth, encoder)
    extra = value.__pydantic_extra__
    fields = {**value.__dict__, **extra} if extra else value.__dict__
    parts = [*_NAMES[type(value)], encoder.items(fields, depth), _METHOD]
    return ormsgpack.Ext(codes.LG_MODEL, ormsgpack.packb(parts, option=codes.PACK))


def _model(value: Any, depth: int, encoder: "Encoder") -> Any:
    kind: Any = type(value)
    names = kind.__pydantic_fields__
    own = _without_cached(value)
    if not own.keys() <= names.keys():
        raise Refused(f"a {kind.__qualname__} with attributes beside its fields; declare them")
    fields = _own(value, names, own)
    fields_set = value.__pydantic_fields_set__
    parts = [
        *encoder.classes.name(kind),
        encoder.items(fields, depth),
        None if fields_set == names.keys() else sorted(fields_set),
        _some(value.__pydantic_extra__, depth, encoder),
        _some(_private(value), depth, encoder),
    ]
    return ormsgpack.Ext(codes.MODEL, ormsgpack.packb(parts, option=codes.PACK))


def _private(value: Any) -> dict[str, Any] | None:
    private = value.__pydantic_private__
    return dict(private) if private else None


def _model_v1(value: Any, depth: int, encoder: "Encoder") -> Any:
    kind: Any = type(value)
    fields = _without_cached(value)
    private = {
        name: object.__getattribute__(value, name)
        for name in kind.__private_attributes__
        if hasattr(value, name)
    }
    fields_set = value.__fields_set__
    parts = [
        *encoder.classes.name(kind),
        encoder.items(_own(value, kind.__fields__, fields) | fields, depth),
        None if set(fields_set) == set(fields) else sorted(fields_set),
        None,
        _some(private, depth, encoder),
    ]
    return ormsgpack.Ext(codes.MODEL_V1, ormsgpack.packb(parts, option=codes.PACK))


def _some(values: dict[str, Any] | None, depth: int, encoder: "Encoder") -> Any:
    return encoder.items(values, depth) if values else None


def _namedtuple(value: Any, depth: int, encoder: "Encoder") -> Any:
    kind = type(value)
    if attributes(value):
        raise Refused(f"a {kind.__qualname__} with attributes beside its fields; use a dataclass")
    fields = dict(zip(_static(kind, "_fields"), tuple(value), strict=True))
    parts = [*encoder.classes.name(kind), encoder.items(fields, depth)]
    return ormsgpack.Ext(codes.NAMEDTUPLE, ormsgpack.packb(parts, option=codes.PACK))


def _dataclass(value: Any, depth: int, encoder: "Encoder") -> Any:
    names = [field.name for field in dataclasses.fields(value)]
    own = _without_cached(value)
    fields = _own(value, names, own)
    further = {name: held for name, held in own.items() if name not in fields}
    parts = [
        *encoder.classes.name(type(value)),
        encoder.items(fields, depth),
        _some(further, depth, encoder),
    ]
    return ormsgpack.Ext(codes.DATACLASS, ormsgpack.packb(parts, option=codes.PACK))


def _own(value: Any, names: Any, own: dict[str, Any]) -> dict[str, Any]:
    """Read the fields of an object, which stand in its dictionary or in slots."""
    fields = {}
    for name in names:
        try:
            fields[name] = own[name] if name in own else getattr(value, name)
        except AttributeError:
            kind = type(value).__qualname__
            raise Refused(f"the field {name!r} of this {kind} is not set") from None
    return fields


def _without_cached(value: Any) -> dict[str, Any]:
    """Read an object's dictionary, but for what a ``cached_property`` left there."""
    kind = type(value)
    return {
        name: held
        for name, held in attributes(value).items()
        if not isinstance(_static(kind, name), cached_property)
    }


def _slots(value: Any, depth: int, encoder: "Encoder") -> Any:
    kind = type(value)
    fields = {name: getattr(value, name) for name in slots_of(kind) if hasattr(value, name)}
    parts = [*encoder.classes.name(kind), encoder.items(fields, depth)]
    return ormsgpack.Ext(codes.SLOTS, ormsgpack.packb(parts, option=codes.PACK))


def _subclass(value: Any, depth: int, encoder: "Encoder") -> Any:
    kind = type(value)
    base = base_of(kind)
    name = kind.__module__, kind.__qualname__
    if name not in SUBCLASSES and not encoder.classes.is_listed(kind):
        raise Refused(
            f"{name[0]}.{name[1]} is a subclass of {base.__name__}, and would come back as "
            f"{base.__name__}; store {base.__name__}(...), or name the class in the graph's schema "
            "and use saver.for_graph(graph)"
        )
    parts = [*encoder.classes.name(kind), _as_base(value, base), attributes(value) or None]
    return encoder.extension(codes.SUBCLASS, parts, depth)


def _as_base(value: Any, base: Any) -> Any:
    if base is dict:
        return dict(dict.items(value))
    if base in (str, int, float, bytes):
        return base.__getnewargs__(value)[0]
    return base(base.__iter__(value)) if base is not complex else complex(value.real, value.imag)


def _secret(value: Any, _depth: int, _encoder: "Encoder") -> Any:
    return ormsgpack.Ext(codes.SECRET, secret_name(value).encode("utf-8", "surrogatepass"))


def _snapshot(value: Any, depth: int, encoder: "Encoder") -> Any:
    return ormsgpack.Ext(codes.LG_SNAPSHOT, encoder.pack(value.value, depth))


def _unrestored(value: Unrestored, _depth: int, _encoder: "Encoder") -> Any:
    return ormsgpack.Ext(*value.stored)


def _other(value: Any, _depth: int, _encoder: "Encoder") -> Any:
    kind = type(value)
    raise Refused(
        f"a {kind.__module__}.{kind.__qualname__} is no data that can be restored; use a "
        "dataclass, a pydantic model or plain values"
    )


_STATES: dict[str, Callable[[Any, int, "Encoder"], Any]] = {
    "dataclass": _dataclass,
    "enum": _enum,
    "model": _model,
    "model_v1": _model_v1,
    "namedtuple": _namedtuple,
    "numpy": array_state,
    "other": _other,
    "secret": _secret,
    "slots": _slots,
    "snapshot": _snapshot,
    "stock": stock_state,
    "subclass": _subclass,
    "unrestored": _unrestored,
}
