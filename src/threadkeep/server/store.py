"""Long-term memory items over HTTP."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp

from threadkeep.model.unset import UNSET
from threadkeep.server import bodies, checks, wire
from threadkeep.server.bodies import read_body
from threadkeep.server.call import Call
from threadkeep.server.wire import NEXT_HEADER, json_response


async def put(call: Call) -> ASGIApp:
    """Insert or replace an item."""
    given = await read_body(call.request)
    body = checks.read_fields(given, bodies.ITEM_PUT)
    await call.services.items.put(
        tuple(body["namespace"]),
        body["key"],
        body["value"],
        index=body["index"],
        ttl_minutes=body["ttl"] if "ttl" in given else UNSET,
    )
    return Response(status_code=204)


async def get(call: Call) -> ASGIApp:
    """Read an item; the labels of its namespace are joined by periods, which none may hold."""
    namespace = call.query("namespace", checks.text(), default="")
    key = call.query("key", checks.text(at_least=1))
    if key is None:
        raise checks.InvalidFieldError("key", "required, but absent")
    refresh = call.flag("refresh_ttl") if "refresh_ttl" in call.request.query_params else None
    labels = tuple(namespace.split(".")) if namespace else ()
    found = await call.services.items.get(labels, key, refresh_ttl=refresh)
    return json_response(wire.item(found))


async def delete(call: Call) -> ASGIApp:
    """Delete an item; an unknown one is no error."""
    body = await call.body(bodies.ITEM_DELETE)
    await call.services.items.delete(tuple(body["namespace"]), body["key"])
    return Response(status_code=204)


async def search(call: Call) -> ASGIApp:
    """Read a page of the items below a namespace."""
    body = await call.body(bodies.ITEM_SEARCH)
    bound = min(body["limit"], call.options.max_page_size)
    found = await call.services.items.search(
        tuple(body["namespace_prefix"]),
        query=body["query"],
        filter=body["filter"],
        limit=bound,
        offset=body["offset"],
        refresh_ttl=body["refresh_ttl"],
        mode=body["mode"],
    )
    headers = _cut(body, len(found), bound)
    return json_response({"items": [wire.item(row) for row in found]}, headers=headers)


async def list_namespaces(call: Call) -> ASGIApp:
    """Read a page of the distinct namespaces."""
    body = await call.body(bodies.NAMESPACE_LISTING)
    bound = min(body["limit"], call.options.max_page_size)
    found = await call.services.items.list_namespaces(
        prefix=_labels(body["prefix"]),
        suffix=_labels(body["suffix"]),
        max_depth=body["max_depth"],
        limit=bound,
        offset=body["offset"],
    )
    headers = _cut(body, len(found), bound)
    return json_response({"namespaces": [list(each) for each in found]}, headers=headers)


def _cut(body: Mapping[str, Any], found: int, bound: int) -> dict[str, str]:
    """Say where a page goes on that the server's own bound may have cut."""
    is_cut = found == bound < body["limit"]
    return {NEXT_HEADER: str(body["offset"] + found)} if is_cut else {}


def _labels(given: list[str] | None) -> tuple[str, ...] | None:
    return tuple(given) if given else None
