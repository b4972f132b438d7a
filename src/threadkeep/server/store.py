"""Long-term memory items over HTTP."""

from starlette.responses import Response
from starlette.types import ASGIApp

from threadkeep.server import bodies, checks, wire
from threadkeep.server.call import Call
from threadkeep.server.wire import json_response


async def put(call: Call) -> ASGIApp:
    """Insert or replace an item."""
    body = await call.body(bodies.ITEM_PUT)
    await call.services.items.put(
        tuple(body["namespace"]),
        body["key"],
        body["value"],
        index=body["index"],
        ttl_minutes=body["ttl"],
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
    found = await call.services.items.search(
        tuple(body["namespace_prefix"]),
        query=body["query"],
        filter=body["filter"],
        limit=body["limit"],
        offset=body["offset"],
        refresh_ttl=body["refresh_ttl"],
        mode=body["mode"],
    )
    return json_response({"items": [wire.item(row) for row in found]})


async def list_namespaces(call: Call) -> ASGIApp:
    """Read a page of the distinct namespaces."""
    body = await call.body(bodies.NAMESPACE_LISTING)
    found = await call.services.items.list_namespaces(
        prefix=_labels(body["prefix"]),
        suffix=_labels(body["suffix"]),
        max_depth=body["max_depth"],
        limit=body["limit"],
        offset=body["offset"],
    )
    return json_response({"namespaces": [list(namespace) for namespace in found]})


def _labels(given: list[str] | None) -> tuple[str, ...] | None:
    return tuple(given) if given else None
