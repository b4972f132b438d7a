"""Which texts of an item are indexed: what its fields lead to.

A field is ``$``, the whole value, or a path: keys joined by periods, ``[0]`` and ``[-1]`` for an
element of a list, ``[*]`` for each of them, ``*`` for each value of an object or list, and
``{a,b}`` for several keys. Text is taken as it is, any other value as JSON; null and what is absent
give none.

Source: the paths of LangGraph's stores; a key that holds a period can be reached in a value by no
path but ``$``.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from threadkeep.errors import InvalidRequestError

WHOLE = "$"
MAX_PASSAGES = 64  # of one item: bounds what one put embeds

_STEP = re.compile(r"\[(-?\d{1,9}|\*)\]|\{([^{}]*)\}|([^.\[\]{}]+)|(\.)")


def check_fields(fields: Any) -> tuple[str, ...]:
    """Return fields as a tuple.

    Raises:
        InvalidRequestError: They are no list of paths.
    """
    if not isinstance(fields, list | tuple) or not all(isinstance(each, str) for each in fields):
        raise InvalidRequestError(f'fields is {fields!r}; expected a list of paths, e.g. ["$"]')
    for field in fields:
        _steps(field)
    return tuple(fields)


def item_texts(value: Mapping[str, Any], fields: Sequence[str]) -> list[str]:
    """Return the texts that fields lead to, each once, in order; at most ``MAX_PASSAGES``.

    Raises:
        InvalidRequestError: A field is no path.
    """
    found: dict[str, None] = {}
    for field in fields:
        for held in _walk(value, _steps(field)):
            text = held if isinstance(held, str) else json.dumps(held, ensure_ascii=False)
            if held is not None and text.strip():
                found[_plain(text)] = None
    return list(found)[:MAX_PASSAGES]


def _plain(text: str) -> str:
    """Return a text without the characters that embedders and databases refuse."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


def _steps(field: str) -> list[tuple[str, ...]]:
    """Return each step of a path as the keys or the one index it takes; see ``_walk``."""
    if field == WHOLE:
        return []
    steps: list[tuple[str, ...]] = []
    position = 0
    for match in _STEP.finditer(field.removeprefix("$.")):
        if match.start() != position:
            break
        position = match.end()
        index, several, key, _ = match.groups()
        if index is not None:
            steps.append(("[", index))
        elif several is not None:
            steps.append(("{", *(each.strip() for each in several.split(","))))
        elif key is not None:
            steps.append(("{", key) if key != "*" else ("[", "*"))
    if position != len(field.removeprefix("$.")) or not steps:
        raise InvalidRequestError(f"{field!r} is no path, as $, a.b, a[0] and a[*].b are")
    return steps


def _walk(value: Any, steps: Sequence[tuple[str, ...]]) -> Iterator[Any]:
    if not steps:
        yield value
        return
    (kind, *names), rest = steps[0], steps[1:]
    for held in _children(value, kind, names):
        yield from _walk(held, rest)


def _children(value: Any, kind: str, names: Sequence[str]) -> Iterator[Any]:
    if kind == "{":
        if isinstance(value, dict):
            yield from (value[name] for name in names if name in value)
        return
    (index,) = names
    if index == "*":
        yield from value.values() if isinstance(value, dict) else ()
        yield from value if isinstance(value, list) else ()
    elif isinstance(value, list) and -len(value) <= int(index) < len(value):
        yield value[int(index)]
