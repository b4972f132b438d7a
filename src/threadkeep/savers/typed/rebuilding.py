"""Objects from what was stored of them, as data.

No constructor, validator, ``__setstate__`` or property runs, and nothing is called that a stored
value names: an object is made by ``object.__new__`` (or a builtin type's), and its dictionary and
slots are filled. Only a set or a dict asks its items for their hash, as always.
"""

import dataclasses
import enum
from collections.abc import Callable, Iterable, Mapping
from types import MemberDescriptorType
from typing import Any

from threadkeep.savers.typed import objects
from threadkeep.savers.typed.classes import SLOTTED, SUBCLASSES, Classes, Unknown

_PLAIN = (str, int, float, bool, type(None), bytes, complex, enum.Enum, frozenset, tuple)
_FACTORIES: tuple[Any, ...] = (list, dict, set, tuple, frozenset, str, int, float, bool)
_NOTHING: Any = object()
_FLAG_MISSING: Callable[[Any, Any], Any] = enum.Flag._missing_.__func__  # type: ignore[attr-defined]


def enum_member(classes: Classes, module: Any, qualname: Any, value: Any) -> Any:
    """Find the member of an enum that has a value.

    Raises:
        Unknown: There is none; so for every function here: the class is not as it was.
    """
    kind: Any = _found(classes, module, qualname, "enum")
    return member(kind, value)


def member(kind: Any, value: Any) -> Any:
    """See ``enum_member``."""
    for each in kind._member_map_.values():
        if type(each._value_) is type(value) and _is_same(each._value_, value):
            return each
    if issubclass(kind, enum.Flag) and type(value) is int:
        try:
            return _FLAG_MISSING(kind, value)
        except ValueError:
            pass
    raise Unknown(f"its class has no member of the value {value!r}")


def _is_same(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))


def dataclass(
    classes: Classes, module: Any, qualname: Any, fields: Any, further: Any = None
) -> Any:
    """Make a dataclass's object."""
    kind: Any = _found(classes, module, qualname, "dataclass")
    known = {field.name: field for field in dataclasses.fields(kind)}
    values = _text_keys(fields)
    _refuse_strange(values.keys() - known.keys())
    for name in known.keys() - values.keys():
        field = known[name]
        values[name] = _default(name, field.default, field.default_factory)
    return _filled(kind, values | (_text_keys(further) if further else {}))


def named_tuple(classes: Classes, module: Any, qualname: Any, fields: Any) -> Any:
    """Make a named tuple."""
    kind: Any = _found(classes, module, qualname, "namedtuple")
    values = _text_keys(fields)
    _refuse_strange(values.keys() - set(kind._fields))
    defaults = kind._field_defaults
    items = [
        values[name] if name in values else _default(name, defaults.get(name, _NOTHING), None)
        for name in kind._fields
    ]
    return tuple.__new__(kind, items)


def slotted(classes: Classes, module: Any, qualname: Any, fields: Any) -> Any:
    """Make one of LangGraph's own objects that are no dataclasses."""
    kind = classes.restorable(module, qualname)
    if (module, qualname) not in SLOTTED or (kind.__module__, kind.__qualname__) not in SLOTTED:
        raise Unknown("its class is none that is restored")
    return _filled(kind, _text_keys(fields))


def subclass(classes: Classes, module: Any, qualname: Any, value: Any, own: Any) -> Any:
    """Make an object of a subclass of a builtin type."""
    kind = _found(classes, module, qualname, "subclass")
    if (module, qualname) not in SUBCLASSES and not classes.is_listed(kind):
        raise Unknown("its class is not on the allow-list")
    base: Any = objects.base_of(kind)
    if type(value) is not base:
        raise Unknown(f"its class is one of {base.__name__}, not of {type(value).__name__}")
    if base in (list, dict, set, bytearray):
        made = base.__new__(kind)
        base.__init__(made, value)
    else:
        made = base.__new__(kind, value)
    if own:
        object.__getattribute__(made, "__dict__").update(_text_keys(own))
    return made


def model(
    classes: Classes, module: Any, qualname: Any, fields: Any, set_: Any, extra: Any, private: Any
) -> Any:
    """Make a model of pydantic 2."""
    kind: Any = _found(classes, module, qualname, "model")
    values = _text_keys(fields)
    names = kind.__pydantic_fields__
    surplus = {name: values.pop(name) for name in values.keys() - names.keys()}
    further = (_text_keys(extra) if extra else {}) | surplus
    policy = kind.model_config.get("extra")
    if further and policy == "forbid":
        _refuse_strange(further)
    _add_defaults(values, names)
    named = names.keys() if set_ is None else {str(name) for name in set_}
    return filled_model(
        kind,
        values,
        set(named),
        further if policy == "allow" else None,
        _text_keys(private) if private else _private_of(kind),
    )


def stock(kind: Any, fields: Any) -> Any:
    """Make one of LangChain's models."""
    values = _text_keys(fields)
    names = kind.__pydantic_fields__
    extra = {name: values.pop(name) for name in values.keys() - names.keys()}
    named = set(values)
    _add_defaults(values, names)
    allows = kind.model_config.get("extra") == "allow"
    return filled_model(kind, values, named | set(extra), extra if allows else None, None)


def filled_model(kind: Any, values: Any, set_: set[str], extra: Any, private: Any) -> Any:
    """Make a model of pydantic 2 of its parts, without a look at them."""
    made = object.__new__(kind)
    put = object.__setattr__
    put(made, "__dict__", values)
    put(made, "__pydantic_fields_set__", set_)
    if not kind.__pydantic_root_model__:  # which has neither
        put(made, "__pydantic_extra__", extra)
        put(made, "__pydantic_private__", private)
    return made


def model_v1(
    classes: Classes, module: Any, qualname: Any, fields: Any, set_: Any, _extra: Any, private: Any
) -> Any:
    """Make a model of pydantic 1."""
    kind: Any = _found(classes, module, qualname, "model_v1")
    values = _text_keys(fields)
    policy = str(getattr(kind.__config__.extra, "value", kind.__config__.extra))
    for name in values.keys() - kind.__fields__.keys():
        if policy == "forbid":
            _refuse_strange([name])
        if policy == "ignore":
            del values[name]
    for name, field in kind.__fields__.items():
        if name not in values:
            default = _NOTHING if field.required else field.default
            values[name] = _default(name, default, field.default_factory)
    made = object.__new__(kind)
    object.__setattr__(made, "__dict__", values)
    named = values.keys() if set_ is None else {str(name) for name in set_}
    object.__setattr__(made, "__fields_set__", set(named))
    for name, value in (_text_keys(private) if private else {}).items():
        if name in kind.__private_attributes__:
            object.__setattr__(made, name, value)
    return made


def _found(classes: Classes, module: Any, qualname: Any, wanted: str) -> type[Any]:
    kind = classes.restorable(module, qualname)
    found = objects.kind_of(kind)
    if found != wanted and (found, wanted) != ("stock", "model"):
        raise Unknown(f"its class is not a {wanted} any more")
    return kind


def _text_keys(fields: Any) -> dict[str, Any]:
    if type(fields) is not dict or not all(type(name) is str for name in fields):
        raise ValueError("fields without names")
    return fields


def _refuse_strange(names: Iterable[str]) -> None:
    for name in names:
        raise Unknown(f"its class has no field {name!r} any more")


def _add_defaults(values: dict[str, Any], names: Mapping[str, Any]) -> None:
    if len(values) < len(names):
        for name in names.keys() - values.keys():
            field = names[name]
            default = _NOTHING if field.is_required() else field.default
            values[name] = _default(name, default, field.default_factory)


def _private_of(kind: Any) -> dict[str, Any] | None:
    """Give the private attributes that a model begins with."""
    attributes = kind.__private_attributes__
    if not attributes:
        return None
    return {
        name: _default(name, attribute.default, attribute.default_factory)
        for name, attribute in attributes.items()
        if not _is_missing(attribute.default) or attribute.default_factory is not None
    }


def _is_missing(default: Any) -> bool:
    return (
        default is _NOTHING
        or default is dataclasses.MISSING
        or type(default).__name__ == "PydanticUndefinedType"
    )


def _default(name: str, default: Any, factory: Any) -> Any:
    """Give the value of a field that was not there when the object was stored."""
    if factory in _FACTORIES:
        return factory()
    if not _is_missing(default):
        if isinstance(default, _PLAIN):
            return default
        if type(default) in (list, dict, set) and not default:
            return type(default)()
    raise Unknown(f"it was stored without its field {name!r}")


def _filled(kind: type[Any], values: dict[str, Any]) -> Any:
    """Make an object, its values in its dictionary or in its slots."""
    try:
        made = object.__new__(kind)
    except TypeError as error:
        raise Unknown("its class makes no plain objects any more") from error
    try:
        own = object.__getattribute__(made, "__dict__")
    except AttributeError:
        own = None
    for name, value in values.items():
        slot = _slot(kind, name)
        if slot is not None:
            slot.__set__(made, value)
        elif own is not None:
            own[name] = value
        else:
            raise Unknown(f"its class has no room for {name!r} any more")
    return made


def _slot(kind: type[Any], name: str) -> MemberDescriptorType | None:
    for base in kind.__mro__:
        found = vars(base).get(name)
        if isinstance(found, MemberDescriptorType):
            return found
    return None
