"""Operations on items: checked and made plain, and what a batch of them writes in the end."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from threadkeep.errors import InvalidRequestError
from threadkeep.model.items import (
    DeleteItem,
    GetItem,
    ItemOperation,
    ItemQuery,
    Namespace,
    NamespaceQuery,
    PutItem,
)
from threadkeep.rules.expiry import plain_lifetime
from threadkeep.rules.item_filter import plain_filter
from threadkeep.rules.json_text import normal_object
from threadkeep.rules.namespaces import (
    check_address,
    check_labels,
    check_namespace_query,
    check_new_address,
)

Address = tuple[Namespace, str]


def plain_operation(operation: ItemOperation) -> ItemOperation:
    """Return an operation with namespaces as tuples and its value plain.

    Raises:
        InvalidRequestError: One of its kinds; see ``ItemRepo``.
    """
    match operation:
        case PutItem():
            return plain_put(operation)
        case GetItem() | DeleteItem():
            check_address(operation.namespace, operation.key)
            return replace(operation, namespace=tuple(operation.namespace))
        case ItemQuery():
            return plain_query(operation)
        case NamespaceQuery():
            return plain_namespace_query(operation)


def plain_put(put: PutItem) -> PutItem:
    """Return a put with its value plain.

    Raises:
        InvalidRequestError: One of its kinds; see ``ItemRepo.put``.
    """
    check_new_address(put.namespace, put.key)
    value = normal_object(put.value, "the item's value")
    return replace(
        put,
        namespace=tuple(put.namespace),
        value=value,
        ttl_minutes=plain_lifetime(put.ttl_minutes),
    )


def plain_query(query: ItemQuery) -> ItemQuery:
    """Return a query with its filter plain.

    Raises:
        InvalidRequestError: One of its kinds; see ``ItemRepo.search``.
    """
    check_labels(query.prefix)
    if not isinstance(query.text, str | None):
        raise InvalidRequestError(f"the text of a search is {query.text!r}, which is no text")
    return replace(query, prefix=tuple(query.prefix), filter=plain_filter(query.filter))


def plain_namespace_query(query: NamespaceQuery) -> NamespaceQuery:
    """Return a query checked.

    Raises:
        InvalidRequestError: One of its kinds; see ``ItemRepo.list_namespaces``.
    """
    check_namespace_query(query)
    more = tuple((tuple(prefix), tuple(suffix)) for prefix, suffix in query.more)
    return replace(query, prefix=tuple(query.prefix), suffix=tuple(query.suffix), more=more)


def last_writes(operations: Sequence[ItemOperation]) -> Mapping[Address, PutItem | DeleteItem]:
    """Return what a batch writes: the last put or delete of each address."""
    return {
        (operation.namespace, operation.key): operation
        for operation in operations
        if isinstance(operation, (PutItem, DeleteItem))
    }
