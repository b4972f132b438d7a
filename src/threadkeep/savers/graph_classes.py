"""The classes that a graph's schemas name: those a saver of the graph restores in any case.

State, input, output and context, what nodes and branches take, the channels' types, and the same
of subgraphs; through unions, containers and the fields of classes. Only objects are looked at: the
packages of LangGraph are not needed.
"""

import dataclasses
import sys
from collections.abc import Iterable, Iterator, Set
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

from threadkeep.savers.typed.objects import kind_of

_SCHEMAS = ("state_schema", "input_schema", "output_schema", "context_schema", "schema")
_RESTORED = ("enum", "model", "model_v1", "namedtuple", "dataclass", "subclass")
_known: WeakKeyDictionary[Any, Set[type[Any]]] = WeakKeyDictionary()


def classes_of(graph: Any) -> Set[type[Any]]:
    """Find the classes of a graph, compiled or not."""
    if getattr(graph, "builder", None) is None:
        return _classes_of(graph)  # one that may grow yet
    known = _known.get(graph)
    if known is None:
        known = _known[graph] = _classes_of(graph)
    return known


def _classes_of(graph: Any) -> Set[type[Any]]:
    found: set[type[Any]] = set()
    seen: list[Any] = []
    for typ in _types(graph, set()):
        _collect(typ, found, seen)
    return found


def _types(graph: Any, graphs: set[int]) -> Iterator[Any]:
    """Iterate over the types that a graph and its subgraphs name."""
    if graph is None or id(graph) in graphs:
        return
    graphs.add(id(graph))
    yield from _schemas(graph)
    for channel in _values(graph, "channels"):
        yield _attribute(channel, "ValueType")
        yield _attribute(channel, "UpdateType")
    for branches in _values(graph, "branches"):
        for branch in branches.values() if isinstance(branches, dict) else ():
            yield from _schemas(branch)
    for node in _values(graph, "nodes"):
        yield from _schemas(node)
        for inner in (*(_attribute(node, "subgraphs") or ()), _attribute(node, "runnable")):
            if hasattr(inner, "channels"):
                yield from _types(inner, graphs)
    yield from _types(_attribute(graph, "builder"), graphs)


def _schemas(holder: Any) -> Iterator[Any]:
    yield from (_attribute(holder, name) for name in _SCHEMAS)


def _values(holder: Any, name: str) -> Iterable[Any]:
    held = _attribute(holder, name)
    return held.values() if isinstance(held, dict) else ()


def _attribute(holder: Any, name: str) -> Any:
    try:
        return getattr(holder, name, None)
    except Exception:  # a channel may be unable to name its type
        return None


def _collect(typ: Any, found: set[type[Any]], seen: list[Any]) -> None:
    if typ is None or any(typ is each for each in seen):
        return
    seen.append(typ)  # kept, so that no other type gets its identity
    origin = get_origin(typ)
    if origin is Literal:
        found.update(type(each) for each in get_args(typ) if kind_of(type(each)) == "enum")
        return
    if origin is Annotated:
        _collect(get_args(typ)[0], found, seen)
        return
    for inner in (origin, *get_args(typ), *_behind(typ)):
        _collect(inner, found, seen)
    if isinstance(typ, type) and not get_args(typ):
        if kind_of(typ) in _RESTORED and not _is_plain(typ):
            found.add(typ)
        for field in _field_types(typ):
            _collect(field, found, seen)


def _is_plain(typ: type[Any]) -> bool:
    """Tell whether the values of a class are plain ones: a builtin's, or a ``TypedDict``'s."""
    return typ.__module__ == "builtins" or hasattr(typ, "__total__")


def _behind(typ: Any) -> list[Any]:
    """List what an alias or a new type stands for."""
    named = (_attribute(typ, name) for name in ("__supertype__", "__value__"))
    return [each for each in named if each is not None]


def _field_types(kind: type[Any]) -> list[Any]:
    """List the types of a class's fields; those that cannot be told are left out."""
    if kind.__module__ == "builtins":
        return []
    module = sys.modules.get(kind.__module__)
    try:
        names = get_type_hints(kind, vars(module) if module else None, dict(vars(kind)), True)
    except Exception:
        names = {}
    found = list(names.values())
    for field in (_attribute(kind, "__pydantic_fields__") or {}).values():
        found.append(_attribute(field, "annotation"))
    for field in (_attribute(kind, "__fields__") or {}).values() if not found else ():
        found.append(_attribute(field, "outer_type_"))
    if dataclasses.is_dataclass(kind) and not names:
        found += [field.type for field in dataclasses.fields(kind)]
    return [each for each in found if not isinstance(each, str)]
