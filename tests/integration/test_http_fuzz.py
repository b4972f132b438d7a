"""Any JSON at all, and any field of a table with any value: an answer in our words, never a 5xx."""

from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from threadkeep.server import bodies
from threadkeep.server.checks import Field

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    scalars | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
BODIES: list[tuple[str, str, tuple[Field, ...]]] = [
    ("POST", "/assistants", bodies.ASSISTANT_CREATE),
    ("POST", "/assistants/echo/versions", bodies.VERSION_SEARCH),
    ("POST", "/assistants/echo/latest", bodies.VERSION_CHOICE),
    ("POST", "/threads/prune", bodies.THREAD_PRUNE),
    ("POST", "/runs/search", bodies.RUN_SEARCH),
    ("POST", "/runs/crons", bodies.CRON_CREATE),
    ("POST", "/threads/{thread_id}/runs/crons", bodies.CRON_CREATE),
    ("POST", "/runs/crons/search", bodies.CRON_SEARCH),
    ("POST", "/runs/crons/count", bodies.CRON_COUNT),
    ("POST", "/assistants/search", bodies.ASSISTANT_SEARCH),
    ("POST", "/assistants/count", bodies.ASSISTANT_COUNT),
    ("POST", "/threads", bodies.THREAD_CREATE),
    ("POST", "/threads/search", bodies.THREAD_SEARCH),
    ("POST", "/threads/count", bodies.THREAD_COUNT),
    ("PATCH", "/threads/{thread_id}", bodies.THREAD_UPDATE),
    ("POST", "/threads/{thread_id}/state", bodies.STATE_UPDATE),
    ("POST", "/threads/{thread_id}/state/checkpoint", bodies.STATE_AT),
    ("POST", "/threads/{thread_id}/history", bodies.HISTORY),
    ("POST", "/threads/{thread_id}/runs/wait", bodies.RUN_CREATE),
    ("POST", "/runs/cancel", bodies.RUNS_CANCEL),
    ("PUT", "/store/items", bodies.ITEM_PUT),
    ("DELETE", "/store/items", bodies.ITEM_DELETE),
    ("POST", "/store/items/search", bodies.ITEM_SEARCH),
    ("POST", "/store/namespaces", bodies.NAMESPACE_LISTING),
]
QUERIES = [
    "/threads/{thread_id}", "/threads/{thread_id}/state", "/threads/{thread_id}/history",
    "/threads/{thread_id}/runs", "/assistants/echo/graph", "/assistants/echo/subgraphs",
    "/store/items",
]  # fmt: skip
NAMES = (
    "limit", "offset", "status", "select", "include", "subgraphs", "before", "xray", "recurse",
    "namespace", "key", "refresh_ttl",
)  # fmt: skip
LIKELY: dict[str, st.SearchStrategy[Any]] = {
    "graph_id": st.sampled_from(["echo", "chat"]),
    "schedule": st.sampled_from(["0 0 29 2 *", "@yearly", "1 1 31 12 7"]),
    "timezone": st.sampled_from(["UTC", "Europe/Berlin"]) | st.text(max_size=5),
    "end_time": st.datetimes().map(str) | st.text(max_size=9),
    "assistant_id": st.sampled_from(["echo", "chat", "failing"]),
    "namespace": st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=3),
    "key": st.text(min_size=1, max_size=5),
    "value": st.dictionaries(st.text(max_size=5), values, max_size=3),
    "checkpoint": st.dictionaries(
        st.sampled_from(["checkpoint_id", "checkpoint_ns", "checkpoint_map"]), st.text(max_size=9)
    ),
    "filter": st.dictionaries(st.text(max_size=5), values, max_size=2),
    "after_seconds": st.just(0),
}
fuzz = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def objects(fields: tuple[Field, ...]) -> st.SearchStrategy[dict[str, Any]]:
    parts = {field.name: LIKELY.get(field.name, values) | values for field in fields}
    likely = {name: LIKELY[name] for name in parts if name in LIKELY}
    return st.fixed_dictionaries({}, optional=parts) | st.fixed_dictionaries(
        likely, optional={name: part for name, part in parts.items() if name not in likely}
    )


@pytest.fixture(scope="module")
def thread_id(http_url: str) -> str:
    found: str = httpx.post(f"{http_url}/threads", json={}).json()["thread_id"]
    body = {"assistant_id": "echo", "input": {"tag": "a"}}
    httpx.post(f"{http_url}/threads/{found}/runs/wait", json=body)
    return found


def check(response: httpx.Response) -> None:
    assert response.status_code < 500, response.text
    if response.status_code >= 400:
        assert response.json()["status"] == response.status_code


@pytest.mark.parametrize(("method", "path", "fields"), BODIES, ids=[path for _, path, _ in BODIES])
@fuzz
@given(data=st.data())
def test_any_body_is_answered(
    http: httpx.Client,
    thread_id: str,
    method: str,
    path: str,
    fields: tuple[Field, ...],
    data: st.DataObject,
) -> None:
    body = data.draw(objects(fields) | values)
    place = path.format(thread_id=thread_id)
    try:
        response = http.request(method, place, json=body)
    except ValueError:  # a number or a text that the client itself cannot send
        return
    check(response)


@pytest.mark.parametrize("path", QUERIES)
@fuzz
@given(query=st.dictionaries(st.sampled_from(NAMES), st.text(max_size=12), max_size=4))
def test_any_query_is_answered(
    http: httpx.Client, thread_id: str, path: str, query: dict[str, str]
) -> None:
    check(http.get(path.format(thread_id=thread_id), params=query))


@pytest.mark.parametrize("path", ["/threads/{}", "/threads/{}/state", "/assistants/{}", "/{}"])
@fuzz
@given(ident=st.text(min_size=1))
def test_any_identifier_is_answered(http: httpx.Client, path: str, ident: str) -> None:
    quoted = "".join(f"%{byte:02x}" for byte in ident.encode("utf-8", "replace"))
    check(http.get(path.format(quoted)))
