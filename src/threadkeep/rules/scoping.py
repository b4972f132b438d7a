"""A scope that every namespace lies below: who calls decides it, and nobody names another's.

``["users", "{identity}"]`` puts ``("facts",)`` of ``ada`` at ``("users", "ada", "facts")``, and
answers with ``("facts",)`` again. A field in braces is one of the caller's, and is written so that
it is one label and means nothing: ``%``, ``.``, ``*`` and control characters as ``%2E``.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from threadkeep.errors import ConfigError, UnauthenticatedError
from threadkeep.model.items import Item, ItemOperation, ItemQuery, Namespace, NamespaceQuery
from threadkeep.rules.namespaces import check_address

_FIELD = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ESCAPED = re.compile(r"[%.*\x00-\x1f]")


def check_scope(scope: Sequence[str]) -> tuple[str, ...]:
    """Return a scope's labels.

    Raises:
        ConfigError: A label is empty, holds a period or a wildcard, has braces around no name, or
            the first is LangGraph's own.
    """
    for label in scope:
        plain = _FIELD.sub("x", label)
        if not plain or re.search(r"[{}.*\x00-\x1f]", plain):
            raise ConfigError(
                f"store.scope has the label {label!r}; expected text without a period or *, in "
                'which {identity} or another field of the caller stands, e.g. ["users", '
                '"{identity}"]'
            )
    if not scope or scope[0] == "langgraph":
        raise ConfigError(f"store.scope is {list(scope)!r}; expected labels below a root of yours")
    return tuple(scope)


def names_caller(scope: Sequence[str]) -> bool:
    """Say whether a scope depends on who calls."""
    return any(_FIELD.search(label) for label in scope)


def scope_of(scope: Sequence[str], user: Mapping[str, Any] | None) -> Namespace:
    """Return the namespace that a caller's lie below.

    Raises:
        UnauthenticatedError: The scope depends on a field that the caller has not.
    """

    def field(match: re.Match[str]) -> str:
        value = None if user is None else user.get(match[1])
        if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
            raise UnauthenticatedError(
                f"long-term memory is kept apart by the caller's {match[1]}, and this call has none"
            )
        return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", str(value))

    return tuple(_FIELD.sub(field, label) for label in scope)


def scoped(operation: ItemOperation, scope: Namespace) -> ItemOperation:
    """Return an operation whose namespaces lie below a scope.

    Raises:
        InvalidNamespaceError: The address is none by itself.
    """
    if isinstance(operation, ItemQuery):
        return replace(operation, prefix=(*scope, *operation.prefix))
    if not isinstance(operation, NamespaceQuery):
        check_address(operation.namespace, operation.key)  # a root of the caller's own is needed
        return replace(operation, namespace=(*scope, *operation.namespace))
    more = [(_below(scope, prefix, suffix), suffix) for prefix, suffix in operation.more]
    depth = operation.max_depth
    return replace(
        operation,
        prefix=_below(scope, operation.prefix, operation.suffix),
        max_depth=None if depth is None else depth + len(scope),
        more=tuple(more),
    )


def unscoped(item: Item, scope: Namespace) -> Item:
    """Return an item as its caller names it."""
    return replace(item, namespace=item.namespace[len(scope) :])


def _below(scope: Namespace, prefix: Namespace, suffix: Namespace) -> Namespace:
    """Return a prefix below a scope that leaves a suffix room, so that none reaches into it."""
    size = max(len(prefix), len(suffix), 1)
    return (*scope, *prefix, *("*",) * (size - len(prefix)))
