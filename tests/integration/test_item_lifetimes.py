"""Lifetimes of items over HTTP: the default, one of their own, and none at all."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from threadkeep import create_app
from threadkeep.drivers.memory.resources import MemoryResourceStore
from threadkeep.savers.store import ItemStore


@pytest.mark.anyio
async def test_a_null_pins_an_item_that_would_expire_by_default() -> None:
    resources = MemoryResourceStore()
    store = ItemStore(resources, ttl={"default_ttl": 60})
    graphs: dict[str, Any] = {"g": lambda config: None}
    app = create_app(graphs=graphs, database="memory://", store=store)
    transport = httpx.ASGITransport(app)
    async with (
        app.lifespan(app),
        httpx.AsyncClient(transport=transport, base_url="http://it") as client,
    ):
        for key, more in (("default", {}), ("own", {"ttl": 0.5}), ("pinned", {"ttl": None})):
            body: dict[str, Any] = {"namespace": ["n"], "key": key, "value": {}, **more}
            assert (await client.put("/store/items", json=body)).status_code == 204
    lifetimes = {}
    for key in ("default", "own", "pinned"):
        item = await resources.items.get(("n",), key, refresh=False)
        assert item is not None
        lifetimes[key] = item.ttl_minutes
        if item.expires_at is not None:
            assert item.expires_at < datetime.now(UTC) + timedelta(minutes=61)
    assert lifetimes == {"default": 60, "own": 0.5, "pinned": None}
