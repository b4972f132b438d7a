"""Bad input: each a clear JSON error, never HTML, never a stack trace, never a crash."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.integration.http_graphs import graphs
from tests.integration.http_server import serve

UNKNOWN = "0e2a7c5e-4b1d-4c7a-9f35-6d2b8a1c9e40"  # fixed: it stands in the names of cases
MB = 1024 * 1024

ITEM = {"namespace": ["a"], "key": "k", "value": {}}


def body_of(response: httpx.Response) -> dict[str, Any]:
    assert response.headers["content-type"] == "application/json"
    body: dict[str, Any] = response.json()
    assert body["status"] == response.status_code
    assert isinstance(body["detail"], str)
    assert body["detail"]
    assert isinstance(body["code"], str)
    assert "Traceback" not in response.text
    return body


REQUESTS: list[tuple[str, str, Any, int, str]] = [
    # method, path, body, status, code
    ("GET", "/nothing", None, 404, "not_found"),
    ("GET", "/threads/x/y/z", None, 404, "not_found"),
    ("POST", "/runs/crons", {}, 422, "invalid_field"),
    ("GET", "/docs", None, 404, "not_found"),
    ("GET", "/threads/", None, 404, "not_found"),
    ("PUT", "/threads", {}, 405, "method_not_allowed"),
    ("DELETE", "/ok", None, 405, "method_not_allowed"),
    ("GET", "/threads/not-a-uuid", None, 422, "invalid_field"),
    ("GET", f"/threads/{'x' * 10_000}", None, 422, "invalid_field"),
    ("GET", "/threads/%00", None, 422, "invalid_field"),
    ("GET", "/threads/..%2f..%2fetc", None, 404, "not_found"),
    ("GET", f"/threads/{UNKNOWN}", None, 404, "not_found"),
    ("PATCH", f"/threads/{UNKNOWN}", {"metadata": {}}, 404, "not_found"),
    ("DELETE", f"/threads/{UNKNOWN}", None, 404, "not_found"),
    ("GET", f"/threads/{UNKNOWN}/state", None, 404, "not_found"),
    ("GET", f"/threads/{UNKNOWN}/state/{UNKNOWN}", None, 404, "not_found"),
    ("POST", f"/threads/{UNKNOWN}/state", {"values": {}}, 404, "not_found"),
    ("POST", f"/threads/{UNKNOWN}/history", {}, 404, "not_found"),
    ("GET", f"/threads/{UNKNOWN}/history?limit=x", None, 422, "invalid_field"),
    ("GET", f"/threads/{UNKNOWN}/history?limit=1001", None, 422, "invalid_field"),
    ("GET", f"/threads/{UNKNOWN}/runs", None, 404, "not_found"),
    ("GET", f"/threads/{UNKNOWN}/runs?limit=-1", None, 422, "invalid_field"),
    ("GET", f"/threads/{UNKNOWN}/runs?limit={'9' * 5000}", None, 422, "invalid_field"),
    ("GET", f"/threads/{UNKNOWN}/runs?offset=1.5", None, 422, "invalid_field"),
    ("GET", f"/threads/{UNKNOWN}/runs?status=done", None, 422, "invalid_field"),
    ("GET", f"/threads/{UNKNOWN}/runs?select=secret", None, 422, "invalid_field"),
    ("GET", f"/threads/{UNKNOWN}?include=all", None, 422, "invalid_field"),
    ("GET", f"/threads/{UNKNOWN}/state?subgraphs=maybe", None, 422, "invalid_field"),
    ("POST", f"/threads/{UNKNOWN}/runs", {"assistant_id": "echo"}, 404, "not_found"),
    ("POST", f"/threads/{UNKNOWN}/runs/wait", {"assistant_id": "echo"}, 404, "not_found"),
    ("POST", f"/threads/{UNKNOWN}/runs/stream", {"assistant_id": "echo"}, 404, "not_found"),
    ("GET", f"/threads/{UNKNOWN}/runs/{UNKNOWN}", None, 404, "not_found"),
    ("GET", f"/threads/{UNKNOWN}/runs/nope", None, 422, "invalid_field"),
    ("GET", f"/threads/{UNKNOWN}/runs/{UNKNOWN}/join", None, 404, "not_found"),
    ("GET", f"/threads/{UNKNOWN}/runs/{UNKNOWN}/stream", None, 404, "not_found"),
    ("POST", f"/threads/{UNKNOWN}/runs/{UNKNOWN}/cancel", None, 404, "not_found"),
    ("POST", f"/threads/{UNKNOWN}/runs/{UNKNOWN}/cancel?action=kill", None, 422, "invalid_field"),
    ("DELETE", f"/threads/{UNKNOWN}/runs/{UNKNOWN}", None, 404, "not_found"),
    ("POST", "/runs/wait", {"assistant_id": "no-such-graph"}, 422, "invalid_field"),
    ("POST", "/runs/wait", {"assistant_id": "x" * 10_000}, 422, "invalid_field"),
    ("POST", "/runs/wait", {"assistant_id": UNKNOWN}, 404, "not_found"),
    ("POST", "/runs/wait", {}, 422, "invalid_field"),
    ("POST", "/runs/wait", [], 422, "invalid_field"),
    ("POST", "/runs/wait", {"assistant_id": "echo", "webhook": "ftp://x"}, 422, "invalid_request"),
    ("POST", "/runs/batch", {}, 422, "invalid_field"),
    ("POST", "/runs/batch", [{"assistant_id": "echo"}, {}], 422, "invalid_field"),
    ("POST", "/runs/cancel", {}, 422, "invalid_field"),
    ("POST", "/threads", {"metadata": "x"}, 422, "invalid_field"),
    ("POST", "/threads", {"thread_id": "x"}, 422, "invalid_field"),
    ("POST", "/threads/search", {"limit": 1001}, 422, "invalid_field"),
    ("POST", "/threads/search", {"limit": -1}, 422, "invalid_field"),
    ("POST", "/threads/search", {"select": ["nope"]}, 422, "invalid_field"),
    ("POST", "/threads/count", {"status": "x"}, 422, "invalid_field"),
    ("POST", "/assistants/search", {"sort_by": "x"}, 422, "invalid_field"),
    ("GET", "/assistants/no-such-graph", None, 422, "invalid_field"),
    ("GET", f"/assistants/{UNKNOWN}", None, 404, "not_found"),
    ("GET", f"/assistants/{UNKNOWN}/schemas", None, 404, "not_found"),
    ("GET", "/assistants/echo/graph?xray=deep", None, 422, "invalid_field"),
    ("GET", "/store/items?namespace=a", None, 422, "invalid_field"),
    ("GET", "/store/items?key=a", None, 422, "invalid_namespace"),
    ("GET", "/store/items?namespace=nothing.here&key=a", None, 404, "not_found"),
    ("GET", "/store/items?namespace=a..b&key=a", None, 422, "invalid_namespace"),
    ("PUT", "/store/items", {"namespace": ["a"], "key": "k"}, 422, "invalid_field"),
    ("PUT", "/store/items", ITEM | {"namespace": ["a.b"]}, 422, "invalid_namespace"),
    ("PUT", "/store/items", ITEM | {"namespace": ["\0"]}, 422, "invalid_namespace"),
    ("POST", "/store/items/search", {"filter": {"a": {"$like": 1}}}, 400, "invalid_filter"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "status", "code"), REQUESTS)
def test_a_bad_request_is_a_clear_json_error(
    http: httpx.Client, method: str, path: str, body: Any, status: int, code: str
) -> None:
    response = http.request(method, path, json=body)
    assert (response.status_code, body_of(response)["code"]) == (status, code), response.text
    assert len(response.text) < 1000


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"\xff\xfe",
        b'{"a": NaN}',
        b'{"metadata": {"a": "\\ud800"}}',
        b"[" * 100_000,
        b'{"metadata":' + b'{"a":' * 5000 + b"1" + b"}" * 5001,
        b'{"metadata": ' + b"[" * 600 + b"]" * 600 + b"}",
    ],
)
def test_a_malformed_body_says_where(http: httpx.Client, content: bytes) -> None:
    response = http.post("/threads", content=content)
    assert (response.status_code, body_of(response)["code"]) == (400, "malformed_body")


def test_an_error_names_the_field_for_programs(http: httpx.Client) -> None:
    body = body_of(http.post("/threads", json={"metadata": 5}))
    assert body["details"] == {"field": "metadata"}
    assert body["detail"] == "metadata: expected an object, got 5"


def test_a_wrong_method_says_which_are_right(http: httpx.Client) -> None:
    response = http.put(f"/threads/{UNKNOWN}", json={})
    assert {word.strip() for word in response.headers["allow"].split(",")} >= {
        "GET",
        "PATCH",
        "DELETE",
    }


def test_an_unknown_field_is_ignored(http: httpx.Client) -> None:
    assert http.post("/threads", json={"colour": "red"}).status_code == 200


def test_an_empty_body_is_an_empty_object(http: httpx.Client) -> None:
    assert http.post("/threads").status_code == 200


def test_a_nul_in_metadata_is_kept_or_refused(http: httpx.Client) -> None:
    response = http.post("/threads", json={"metadata": {"a": "x\0y"}})
    assert response.status_code in {200, 422}
    if response.status_code == 200:
        assert response.json()["metadata"] == {"a": "x\0y"}


def test_a_body_of_40_mb_is_refused(http: httpx.Client) -> None:
    response = http.post("/threads", content=b'{"a": "' + b"x" * (40 * MB) + b'"}')
    assert response.status_code == 413
    assert body_of(response)["details"] == {"limit_bytes": 32 * MB}
    assert http.get("/ok").json() == {"ok": True}


def test_a_body_that_announces_no_length_is_counted(http: httpx.Client) -> None:
    def chunks() -> Iterator[bytes]:
        yield b'{"a": "'
        for _ in range(40):
            yield b"x" * MB
        yield b'"}'

    response = http.post("/threads", content=chunks())
    assert response.status_code == 413
    assert body_of(response)["code"] == "body_too_large"


def test_the_limit_of_a_body_is_exact() -> None:
    with serve(graphs(), "memory://", max_body_bytes=100) as url:
        fitting = b'{"a": "' + b"x" * 91 + b'"}'
        assert httpx.post(f"{url}/threads", content=fitting).status_code == 200
        assert httpx.post(f"{url}/threads", content=fitting + b" ").status_code == 413


def test_every_answer_has_a_request_id(http: httpx.Client) -> None:
    assert http.get("/ok", headers={"X-Request-Id": "mine-1"}).headers["x-request-id"] == "mine-1"
    forged = http.get("/nope", headers={"X-Request-Id": "a b"}).headers["x-request-id"]
    assert len(forged) == 36


def test_a_page_of_another_origin_may_call(http: httpx.Client) -> None:
    origin = {"Origin": "http://localhost:3000"}
    asked = http.options("/threads", headers=origin | {"Access-Control-Request-Method": "POST"})
    assert asked.status_code == 200
    answered = http.get("/ok", headers=origin)
    assert answered.headers["access-control-allow-origin"] == "*"
    assert "X-Pagination-Total" in answered.headers["access-control-expose-headers"]


def test_a_head_is_a_get_without_its_body(http: httpx.Client) -> None:
    response = http.head("/ok")
    assert response.status_code == 200
    assert response.content == b""
