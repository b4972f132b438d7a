"""Types of the standard library, by a name of ours: what each is made of, and made from.

Nothing is looked up by these names but the tables below. Subclasses are none of these.
"""

import ipaddress
import pathlib
import re
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

from threadkeep.savers.typed.classes import Unknown
from threadkeep.savers.typed.refusals import Refused

_FACTORIES: Mapping[str, Callable[[], Any]] = MappingProxyType(
    {kind.__name__: kind for kind in (list, dict, set, str, int, float, bool, tuple, bytes)}
)
_FLAGS = ~int(re.DEBUG)  # it would print
PATHS = {
    kind.__name__: kind
    for kind in (
        pathlib.PurePosixPath,
        pathlib.PureWindowsPath,
        pathlib.PosixPath,
        pathlib.WindowsPath,
    )
}
_ADDRESSES = {
    kind.__name__: kind
    for kind in (
        ipaddress.IPv4Address,
        ipaddress.IPv4Interface,
        ipaddress.IPv4Network,
        ipaddress.IPv6Address,
        ipaddress.IPv6Interface,
        ipaddress.IPv6Network,
    )
}


def _pairs(value: Mapping[Any, Any]) -> list[Any]:
    return [part for pair in list(value.items()) for part in pair]


def _zone(value: tzinfo | None) -> tzinfo | None:
    """Accept a time zone that comes back; refuse another before the moment it belongs to."""
    if value is None or type(value) in (timezone, ZoneInfo):
        return value
    kind = type(value)
    raise Refused(
        f"its time zone is a {kind.__module__}.{kind.__qualname__}; use zoneinfo.ZoneInfo or "
        "datetime.timezone"
    )


def _zone_parts(value: ZoneInfo) -> list[Any]:
    if value.key is None:
        raise Refused("its ZoneInfo has no key, so it cannot be found again")
    return ["zone", value.key]


def _timezone_parts(value: timezone) -> list[Any]:
    offset, *name = value.__getinitargs__()  # type: ignore[attr-defined]
    return ["timezone", offset.days, offset.seconds, offset.microseconds, *name]


def _moment_parts(name: str, value: Any) -> list[Any]:
    zone = _zone(value.tzinfo)
    if not value.fold and (zone is None or _is_offset(zone)):
        return [name, value.isoformat()]  # an offset is part of the text
    return [name, value.replace(tzinfo=None, fold=0).isoformat(), zone, value.fold]


def _is_offset(zone: tzinfo) -> bool:
    """Tell whether a time zone is an offset that has no name."""
    return type(zone) is timezone and len(zone.__getinitargs__()) == 1  # type: ignore[attr-defined]


def _default_parts(value: defaultdict[Any, Any]) -> list[Any]:
    factory = value.default_factory
    name = None if factory is None else getattr(factory, "__name__", "")
    if name is not None and _FACTORIES.get(name) is not factory:
        raise Refused(f"its default_factory is not one of {', '.join(_FACTORIES)}; use a dict")
    return ["defaultdict", name, *_pairs(value)]


Parts = Callable[[Any], Iterable[Any]]

PARTS: Mapping[type[Any], Parts] = {
    bytearray: lambda value: ["bytearray", bytes(value)],
    complex: lambda value: ["complex", value.real, value.imag],
    range: lambda value: ["range", value.start, value.stop, value.step],
    deque: lambda value: ["deque", value.maxlen, *list(value)],
    OrderedDict: lambda value: ["OrderedDict", *_pairs(value)],
    Counter: lambda value: ["Counter", *_pairs(value)],
    defaultdict: _default_parts,
    Decimal: lambda value: ["Decimal", str(value)],
    Fraction: lambda value: ["Fraction", value.numerator, value.denominator],
    date: lambda value: ["date", value.isoformat()],
    datetime: lambda value: _moment_parts("datetime", value),
    time: lambda value: _moment_parts("time", value),
    timedelta: lambda value: ["timedelta", value.days, value.seconds, value.microseconds],
    timezone: _timezone_parts,
    ZoneInfo: _zone_parts,
    uuid.UUID: lambda value: ["UUID", value.bytes],
    re.Pattern: lambda value: ["Pattern", value.pattern, value.flags],
    **{kind: lambda value: ["Path", type(value).__name__, str(value)] for kind in PATHS.values()},
    **{
        kind: lambda value: ["IP", type(value).__name__, str(value)] for kind in _ADDRESSES.values()
    },
}


def _of(kinds: Any, value: Any) -> Any:
    if not isinstance(value, kinds) or type(value) is bool:
        raise ValueError(f"a {type(value).__name__} where a {kinds} stands")
    return value


def _mapping(made: Any, pairs: tuple[Any, ...]) -> Any:
    if len(pairs) % 2:
        raise ValueError("a key without a value")
    for at in range(0, len(pairs), 2):
        dict.__setitem__(made, pairs[at], pairs[at + 1])
    return made


def _moment(made: Any, zone: Any, fold: Any) -> Any:
    if zone is None and not fold:
        return made
    return made.replace(tzinfo=_zone(zone), fold=_of(int, fold))


def _default(name: Any, *pairs: Any) -> Any:
    return _mapping(defaultdict(None if name is None else _FACTORIES[name]), pairs)


def _ordered(*pairs: Any) -> Any:
    made: OrderedDict[Any, Any] = OrderedDict()
    for key, value in zip(pairs[::2], pairs[1::2], strict=True):
        made[key] = value
    return made


def _named_zone(key: Any) -> ZoneInfo:
    try:
        return ZoneInfo(_of(str, key))
    except (OSError, ValueError, ImportError, LookupError) as error:
        raise Unknown("this machine has no such time zone") from error


def _path(kind: Any, text: Any) -> Any:
    try:
        return PATHS[kind](_of(str, text))
    except NotImplementedError as error:
        raise Unknown("this system has no such paths") from error


def _pattern(pattern: Any, flags: Any) -> Any:
    try:
        return re.compile(_of((str, bytes), pattern), _of(int, flags) & _FLAGS)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError("no regular expression") from error


MAKERS: Mapping[str, Callable[..., Any]] = {
    "set": lambda *items: set(items),
    "frozenset": lambda *items: frozenset(items),
    "bytearray": lambda data: bytearray(_of(bytes, data)),
    "complex": lambda real, imag: complex(_of(float, real), _of(float, imag)),
    "range": lambda *bounds: range(*(_of(int, bound) for bound in bounds)),
    "deque": lambda maxlen, *items: deque(items, maxlen),
    "OrderedDict": _ordered,
    "Counter": lambda *pairs: _mapping(Counter(), pairs),
    "defaultdict": _default,
    "Decimal": lambda text: Decimal(_of(str, text)),
    "Fraction": lambda over, under: Fraction(_of(int, over), _of(int, under)),
    "date": lambda text: date.fromisoformat(_of(str, text)),
    "datetime": lambda text, zone=None, fold=0: _moment(
        datetime.fromisoformat(_of(str, text)), zone, fold
    ),
    "time": lambda text, zone=None, fold=0: _moment(time.fromisoformat(_of(str, text)), zone, fold),
    "timedelta": lambda *parts: timedelta(*(_of(int, part) for part in parts)),
    "timezone": lambda days, seconds, micros, *name: timezone(
        timedelta(days, seconds, micros), *(_of(str, each) for each in name)
    ),
    "zone": _named_zone,
    "UUID": lambda data: uuid.UUID(bytes=_of(bytes, data)),
    "Pattern": _pattern,
    "Path": _path,
    "IP": lambda kind, text: _ADDRESSES[kind](_of(str, text)),
}
