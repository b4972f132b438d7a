"""LangGraph's operations on a store as operations on items, and the answers back."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from langgraph.store.base import (
    GetOp,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)
from langgraph.store.base import Item as StoreItem

from threadkeep.errors import InvalidNamespaceError, InvalidRequestError
from threadkeep.model.items import (
    DeleteItem,
    GetItem,
    Item,
    ItemOperation,
    ItemQuery,
    Namespace,
    NamespaceQuery,
    PutItem,
)
from threadkeep.ports.resources import ItemHolder
from threadkeep.rules.scoping import scoped, unscoped
from threadkeep.savers.indexing import Mode, Ranks, check_mode


class ModeSearchOp(SearchOp):
    """A search that says how its query ranks; ``None``: as the index is configured."""

    mode: Mode | None = None

    @classmethod
    def of(cls, op: SearchOp, mode: Mode | None) -> "ModeSearchOp":
        """Return a search with a mode."""
        found = cls(*op)
        found.mode = None if mode is None else check_mode(mode)
        return found


async def run(
    resources: ItemHolder, operations: Sequence[Op], indexing: Ranks | None, scope: Namespace
) -> list[Result]:
    """Do operations in one transaction, and return LangGraph's answers.

    Args:
        scope: The labels that all namespaces lie below, of which the caller sees nothing.

    Raises:
        InvalidRequestError: An operation is wrong.
        UnavailableError: The embedder failed; nothing was done.
    """
    plain = [_operation(op) for op in operations]
    if scope:
        plain = [scoped(each, scope) for each in plain]
    if indexing is not None:
        plain = await _indexed(indexing, operations, plain)
    results = list(await resources.items.apply(plain))
    for place, (op, result) in enumerate(zip(operations, results, strict=True)):
        match op:
            case GetOp():
                results[place] = None if result is None else _item(unscoped(result, scope))
            case SearchOp():
                query: Any = plain[place]
                found = await _rest(resources, query, list(result))
                results[place] = [_search_item(unscoped(item, scope)) for item in found]
            case ListNamespacesOp():
                results[place] = [tuple(namespace[len(scope) :]) for namespace in result]
            case _:
                results[place] = None
    return results


async def _indexed(
    indexing: Ranks, operations: Sequence[Op], plain: Sequence[ItemOperation]
) -> list[ItemOperation]:
    """Return operations with what the index holds, and what it is asked."""
    chosen = {place: op.index for place, op in enumerate(operations) if isinstance(op, PutOp)}
    found = await indexing.indexed(plain, chosen)
    for place, op in enumerate(operations):
        query = found[place]
        if isinstance(op, SearchOp) and isinstance(query, ItemQuery) and op.query:
            mode = op.mode if isinstance(op, ModeSearchOp) else None
            found[place] = await indexing.ranked(query, op.query, mode)
    return found


async def _rest(resources: ItemHolder, query: ItemQuery, found: list[Item]) -> list[Item]:
    """Read on where a limit is above the store's page bound, until it or the end is reached."""
    size, limit = resources.max_page_size, query.limit or 0
    while len(found) < limit and found and len(found) % size == 0:
        rest = min(size, limit - len(found))
        more = replace(query, limit=rest, offset=query.offset + len(found))
        page = (await resources.items.search(more)).rows
        found.extend(page)
        if not page:
            break
    return found


def _operation(op: Op) -> ItemOperation:
    match op:
        case GetOp():
            return GetItem(_labels(op.namespace), op.key, refresh=op.refresh_ttl)
        case SearchOp():
            return _query(op)
        case ListNamespacesOp():
            return _namespaces(op)
        case PutOp():
            address = _labels(op.namespace), str(op.key)
            if op.value is None:
                return DeleteItem(*address)
            return PutItem(*address, op.value, ttl_minutes=op.ttl)
    raise InvalidRequestError(f"a store does not know the operation {type(op).__name__}")


def _query(op: SearchOp) -> ItemQuery:
    if op.limit is None:
        raise InvalidRequestError("limit is None; a search of items needs a whole number")
    if not isinstance(op.query, str | None):
        raise InvalidRequestError(f"query is {op.query!r}, which is no text")
    return ItemQuery(
        prefix=_labels(op.namespace_prefix),
        filter=op.filter or {},
        limit=op.limit,
        offset=op.offset,
        refresh=op.refresh_ttl,
    )


def _namespaces(op: ListNamespacesOp) -> NamespaceQuery:
    paths: dict[str, list[Namespace]] = {"prefix": [], "suffix": []}
    for condition in op.match_conditions or ():
        if condition.match_type not in paths:
            raise InvalidRequestError(
                f"list_namespaces does not know the condition {condition.match_type!r}; known are "
                "prefix and suffix"
            )
        paths[condition.match_type].append(_labels(condition.path))
    first, *more = zip_longest(paths["prefix"] or [()], paths["suffix"], fillvalue=())
    return NamespaceQuery(
        *first, max_depth=op.max_depth, limit=op.limit, offset=op.offset, more=tuple(more)
    )


def _labels(namespace: Any) -> Namespace:
    if isinstance(namespace, str):  # its letters would be taken for labels
        raise InvalidNamespaceError(
            f"a namespace is a tuple of labels, as ({namespace!r},) is, not {namespace!r}"
        )
    return tuple(namespace)


def _item(item: Item) -> StoreItem:
    return StoreItem(
        value=dict(item.value),
        key=item.key,
        namespace=item.namespace,
        created_at=item.created_at,
        updated_at=item.updated_at,
    )


def _search_item(item: Item) -> SearchItem:
    return SearchItem(
        namespace=item.namespace,
        key=item.key,
        value=dict(item.value),
        created_at=item.created_at,
        updated_at=item.updated_at,
        score=item.score,
    )
