"""Where items live: addresses that every backend can hold, and the shapes of namespaces.

Labels are compared whole, by code point; ``*`` is a wildcard in ``NamespaceQuery`` only.
"""

from collections.abc import Iterable

from threadkeep.errors import InvalidNamespaceError, InvalidRequestError
from threadkeep.model.items import Namespace, NamespaceQuery
from threadkeep.rules.identifiers import is_plain

MAX_ADDRESS_BYTES = 2048  # labels and key as UTF-8; PostgreSQL indexes at most 2,704 bytes a row
RESERVED_ROOT = "langgraph"  # LangGraph keeps this root label for itself
WILDCARD = "*"


def check_address(namespace: Namespace, key: str) -> None:
    """Refuse an address no item can have.

    Raises:
        InvalidNamespaceError: No label at all; a label or key that is empty, not text, or holds NUL
            or a lone surrogate; a label with a period (the wire joins labels with it); all of it
            above ``MAX_ADDRESS_BYTES``.
    """
    if not namespace:
        raise InvalidNamespaceError("the namespace is empty; an item needs at least one label")
    check_labels(namespace)
    _check_plain("key", key)
    if _size_bytes((*namespace, key)) > MAX_ADDRESS_BYTES:
        raise InvalidNamespaceError(
            f"namespace and key are above {MAX_ADDRESS_BYTES} bytes together"
        )


def check_new_address(namespace: Namespace, key: str) -> None:
    """Do the same for an item about to be put, whose root label must not be LangGraph's own.

    Raises:
        InvalidNamespaceError: See ``check_address``; or the root label is ``langgraph``.
    """
    check_address(namespace, key)
    if namespace[0] == RESERVED_ROOT:
        raise InvalidNamespaceError(f"the root label {RESERVED_ROOT!r} is reserved")


def check_labels(labels: Namespace) -> None:
    """Refuse labels no namespace can have; none at all are fine.

    Raises:
        InvalidNamespaceError: See ``check_address``.
    """
    if isinstance(labels, str):
        raise InvalidNamespaceError(f"a namespace is a sequence of labels, not the text {labels!r}")
    for label in labels:
        _check_plain("label", label)
        if "." in label:
            raise InvalidNamespaceError(f"the label {label!r} holds a period")


def check_namespace_query(query: NamespaceQuery) -> None:
    """Refuse a query that describes no namespace.

    Raises:
        InvalidNamespaceError: See ``check_labels``, for prefix and suffix.
        InvalidRequestError: ``max_depth`` is below 1.
    """
    for prefix, suffix in query.shapes:
        check_labels(prefix)
        check_labels(suffix)
    if query.max_depth is not None and query.max_depth < 1:
        raise InvalidRequestError(f"max_depth is {query.max_depth}; it must be at least 1")


def is_below(namespace: Namespace, prefix: Namespace) -> bool:
    """Say whether a namespace starts with these labels, each taken literally."""
    return tuple(namespace[: len(prefix)]) == tuple(prefix)


def cut_namespace(namespace: Namespace, query: NamespaceQuery) -> Namespace | None:
    """Return a namespace cut to the query's depth, or ``None`` when it has not the query's shapes.

    A prefix is compared with the first labels, a suffix with the last; one longer than the
    namespace never matches.
    """
    if all(_has_shape(namespace, prefix, suffix) for prefix, suffix in query.shapes):
        return namespace[: query.max_depth]
    return None


def select_namespaces(namespaces: Iterable[Namespace], query: NamespaceQuery) -> list[Namespace]:
    """Return what a query finds, before paging: matched, cut, without repeats, in order."""
    found = {cut_namespace(namespace, query) for namespace in namespaces}
    return sorted(namespace for namespace in found if namespace is not None)


def literal_labels(prefix: Namespace) -> Namespace:
    """Return the labels before the first wildcard: a subtree that holds all that can match."""
    if WILDCARD in prefix:
        return prefix[: prefix.index(WILDCARD)]
    return prefix


def _has_shape(namespace: Namespace, prefix: Namespace, suffix: Namespace) -> bool:
    if max(len(prefix), len(suffix)) > len(namespace):
        return False
    last = namespace[len(namespace) - len(suffix) :]
    return _fits(namespace[: len(prefix)], prefix) and _fits(last, suffix)


def _fits(labels: Namespace, pattern: Namespace) -> bool:
    return all(wanted in (WILDCARD, label) for label, wanted in zip(labels, pattern, strict=True))


def _check_plain(kind: str, text: str) -> None:
    if not isinstance(text, str):
        raise InvalidNamespaceError(f"the {kind} {text!r} is not text")
    if not text:
        raise InvalidNamespaceError(f"the {kind} is empty")
    if not is_plain(text):
        raise InvalidNamespaceError(f"the {kind} {text!r} holds NUL or a lone surrogate")


def _size_bytes(texts: Iterable[str]) -> int:
    return sum(len(text.encode()) + 1 for text in texts)
