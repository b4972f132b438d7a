"""Long-term memory over HTTP, as LangGraph's client sees it."""

from uuid import uuid4

import httpx
import pytest
from langgraph_sdk import errors
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient


@pytest.fixture
def root() -> str:
    return uuid4().hex


def test_an_item_is_put_read_replaced_and_deleted(client: SyncLangGraphClient, root: str) -> None:
    store = client.store
    store.put_item([root, "a"], "k", {"n": 1})
    item = store.get_item([root, "a"], "k")
    assert set(item) == {"namespace", "key", "value", "created_at", "updated_at"}
    assert (item["namespace"], item["key"], item["value"]) == ([root, "a"], "k", {"n": 1})
    store.put_item([root, "a"], "k", {"n": 2})
    assert store.get_item([root, "a"], "k")["value"] == {"n": 2}
    assert store.get_item([root, "a"], "k")["created_at"] == item["created_at"]
    store.delete_item([root, "a"], "k")
    store.delete_item([root, "a"], "k")
    with pytest.raises(errors.NotFoundError):
        store.get_item([root, "a"], "k")


def test_a_search_stays_below_its_namespace_and_filters(
    client: SyncLangGraphClient, root: str
) -> None:
    store = client.store
    for n in range(3):
        store.put_item([root, "a"], f"k{n}", {"n": n, "kind": "x"})
    store.put_item([root, "ab"], "k", {"n": 9, "kind": "x"})
    found = store.search_items([root, "a"], filter={"n": {"$gte": 1}})["items"]
    assert sorted(item["key"] for item in found) == ["k1", "k2"]
    assert all("score" in item for item in found)
    page = store.search_items([root], limit=2, offset=1)["items"]
    assert len(page) == 2


def test_namespaces_are_listed(client: SyncLangGraphClient, root: str) -> None:
    store = client.store
    for labels in (["a", "x"], ["a", "y"], ["b", "x"]):
        store.put_item([root, *labels], "k", {})
    listed = store.list_namespaces(prefix=[root])["namespaces"]
    assert listed == [[root, "a", "x"], [root, "a", "y"], [root, "b", "x"]]
    assert store.list_namespaces(prefix=[root], max_depth=2)["namespaces"] == [
        [root, "a"],
        [root, "b"],
    ]
    found = store.list_namespaces(prefix=[root], suffix=["x"], limit=1, offset=1)
    assert found["namespaces"] == [[root, "b", "x"]]


def test_an_items_lifetime_is_taken(client: SyncLangGraphClient, root: str) -> None:
    client.store.put_item([root], "k", {"a": 1}, ttl=60)
    assert client.store.get_item([root], "k", refresh_ttl=True)["value"] == {"a": 1}


def test_five_megabytes_are_kept(client: SyncLangGraphClient, root: str) -> None:
    text = "x" * (5 * 1024 * 1024)
    client.store.put_item([root], "big", {"text": text})
    assert client.store.get_item([root], "big")["value"]["text"] == text


def test_a_query_takes_a_mode_and_others_are_refused(http: httpx.Client, root: str) -> None:
    body = {"namespace": [root], "key": "k", "value": {"text": "tea"}}
    assert http.put("/store/items", json=body).status_code == 204
    search = {"namespace_prefix": [root], "query": "tea"}
    for mode in ("vector", "text", "hybrid", "auto", None):
        found = http.post("/store/items/search", json={**search, "mode": mode})
        assert [item["key"] for item in found.json()["items"]] == ["k"]
    refused = http.post("/store/items/search", json={**search, "mode": "best"})
    assert refused.status_code == 422


def test_a_put_answers_no_content(http: httpx.Client, root: str) -> None:
    body = {"namespace": [root], "key": "k", "value": {}}
    assert http.put("/store/items", json=body).status_code == 204
    assert http.request("DELETE", "/store/items", json=body).status_code == 204


@pytest.mark.anyio
async def test_the_awaiting_client_does_the_same(async_client: LangGraphClient, root: str) -> None:
    store = async_client.store
    await store.put_item([root], "k", {"n": 1})
    assert (await store.get_item([root], "k"))["value"] == {"n": 1}
    assert len((await store.search_items([root]))["items"]) == 1
    assert (await store.list_namespaces(prefix=[root]))["namespaces"] == [[root]]
    await store.delete_item([root], "k")
    assert (await store.search_items([root]))["items"] == []
