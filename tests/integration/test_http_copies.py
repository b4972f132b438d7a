"""Threads made from others or from supersteps, pruned, and read in part."""

from typing import Any, cast
from uuid import uuid4

import httpx
import pytest
from langgraph_sdk import errors
from langgraph_sdk.client import SyncLangGraphClient

from tests.integration.http_graphs import graphs
from tests.integration.http_server import serve


def run_thread(client: SyncLangGraphClient, *tags: str, **metadata: Any) -> str:
    thread_id = client.threads.create(metadata=metadata)["thread_id"]
    for tag in tags:
        client.runs.wait(thread_id, "echo", input={"tag": tag})
    return thread_id


def copied(client: SyncLangGraphClient, thread_id: str) -> Any:
    """Copy a thread; the client says that it answers nothing, and answers the new one."""
    return cast(Any, client.threads.copy)(thread_id)


def test_a_copy_has_state_and_history_and_goes_its_own_way(client: SyncLangGraphClient) -> None:
    thread_id = run_thread(client, "a", "b", team="x")
    copy = copied(client, thread_id)
    assert copy["thread_id"] != thread_id
    assert copy["metadata"]["team"] == "x"
    assert copy["values"] == {"log": ["echo:a", "echo:b"], "tag": "b"}
    assert client.runs.list(copy["thread_id"]) == []
    histories = [
        [state["checkpoint"]["checkpoint_id"] for state in client.threads.get_history(ident)]
        for ident in (thread_id, copy["thread_id"])
    ]
    assert histories[0] == histories[1]
    client.runs.wait(copy["thread_id"], "echo", input={"tag": "c"})
    assert cast(Any, client.threads.get_state(thread_id))["values"]["tag"] == "b"
    client.threads.delete(thread_id)
    values = cast(Any, client.threads.get_state(copy["thread_id"]))["values"]
    assert values["log"] == ["echo:a", "echo:b", "echo:c"]
    with pytest.raises(errors.NotFoundError):
        copied(client, str(uuid4()))


def test_a_copy_of_an_interrupted_thread_is_resumed_alone(client: SyncLangGraphClient) -> None:
    thread_id = client.threads.create()["thread_id"]
    client.runs.wait(thread_id, "asking", input={"tag": "a"})
    copy = copied(client, thread_id)
    assert copy["status"] == "interrupted"
    assert copy["interrupts"] == client.threads.get(thread_id)["interrupts"]
    done: Any = client.runs.wait(copy["thread_id"], "asking", command={"resume": "yes"})
    assert done["log"] == ["echo:a", "answer:yes"]
    assert client.threads.get(thread_id)["status"] == "interrupted"


def test_a_prune_keeps_the_latest_or_nothing(client: SyncLangGraphClient) -> None:
    one, other = run_thread(client, "a", "b"), run_thread(client, "a")
    unknown = str(uuid4())
    kept: Any = client.threads.prune([one, unknown], strategy="keep_latest")
    assert kept == {"pruned_count": 1}
    assert len(client.threads.get_history(one)) == 1
    assert client.threads.get_state(one)["values"] == {"log": ["echo:a", "echo:b"], "tag": "b"}
    gone: Any = client.threads.prune([one, other, unknown])
    assert gone == {"pruned_count": 2}
    for thread_id in (one, other):
        with pytest.raises(errors.NotFoundError):
            client.threads.get(thread_id)


def test_supersteps_make_a_state(client: SyncLangGraphClient) -> None:
    first = {"values": {"tag": "z", "log": ["q"]}, "as_node": "__input__"}
    second = {"values": {"log": ["by hand"]}, "as_node": "say"}
    made: Any = client.threads.create(
        graph_id="echo", supersteps=[{"updates": [first]}, {"updates": [second]}]
    )
    assert (made["status"], made["values"]) == ("idle", {"log": ["by hand"]})
    assert len(client.threads.get_history(made["thread_id"])) == 2
    done: Any = client.runs.wait(made["thread_id"], "echo", input={"tag": "y"})
    assert done["log"] == ["by hand", "echo:y"]


def test_a_command_is_a_superstep_too(http: httpx.Client) -> None:
    update = {"command": {"update": {"log": ["told"]}}, "as_node": "say"}
    body = {"metadata": {"graph_id": "echo"}, "supersteps": [{"updates": [update]}]}
    made = http.post("/threads", json=body).json()
    assert made["values"] == {"log": ["told"]}


@pytest.mark.parametrize(
    ("metadata", "update", "status"),
    [
        ({}, {"values": {}, "as_node": "say"}, 422),
        ({"graph_id": "unheard-of"}, {"values": {}, "as_node": "say"}, 404),
        ({"graph_id": "echo"}, {"values": {}, "as_node": "unheard-of"}, 422),
        ({"graph_id": "echo"}, {"values": {}}, 422),
    ],
)
def test_a_thread_whose_supersteps_are_refused_is_not_made(
    http: httpx.Client, metadata: Any, update: Any, status: int
) -> None:
    thread_id = str(uuid4())
    body = {
        "thread_id": thread_id,
        "metadata": metadata,
        "supersteps": [{"updates": [update]}],
    }
    assert http.post("/threads", json=body).status_code == status
    assert http.get(f"/threads/{thread_id}").status_code == 404


def test_a_state_is_read_in_part(client: SyncLangGraphClient) -> None:
    thread_id = run_thread(client, "a")
    state: Any = client.threads.get_state(thread_id, select=["values.tag", "next"])
    assert state == {"values": {"tag": "a"}, "next": []}
    whole: Any = client.threads.get_state(thread_id)
    at: Any = client.threads.get_state(thread_id, checkpoint=whole["checkpoint"], select=["values"])
    assert at == {"values": whole["values"]}
    history: Any = client.threads.get_history(thread_id, select=["values.tag"])
    assert history[0] == {"values": {"tag": "a"}}
    assert history[-1] == {"values": {}}


def test_a_search_extracts_what_it_is_asked_for(
    client: SyncLangGraphClient, label: dict[str, str]
) -> None:
    thread_id = run_thread(client, "a", "b", **label)
    paths = {"last": "values.log[-1]", "graph": "metadata.graph_id", "none": "values.x[0].y"}
    found: Any = client.threads.search(metadata=label, select=["thread_id"], extract=paths)
    (row,) = found
    assert row == {
        "thread_id": thread_id,
        "extracted": {"last": "echo:b", "graph": "echo", "none": None},
    }
    (whole,) = cast(Any, client.threads.search(metadata=label, extract={"tag": "values.tag"}))
    assert whole["extracted"] == {"tag": "b"}
    assert whole["values"] == {"log": ["echo:a", "echo:b"], "tag": "b"}


@pytest.mark.parametrize("path", ["", "values[", "thread_id", "values..a", "values[x]", "v" * 999])
def test_a_path_that_is_none_is_refused(http: httpx.Client, path: str) -> None:
    refused = http.post("/threads/search", json={"extract": {"a": path}})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_field")


def test_a_lower_bound_of_the_server_cuts_and_says_so() -> None:
    with (
        serve(graphs(), "memory://", max_page_size=2) as url,
        httpx.Client(base_url=url, timeout=30) as http,
    ):
        ids = [http.post("/threads", json={}).json()["thread_id"] for _ in range(3)]
        page = http.post("/threads/search", json={"limit": 1000})
        assert len(page.json()) == 2
        assert page.headers["X-Pagination-Total"] == "3"
        assert page.headers["X-Pagination-Next"] == "2"
        assert http.post("/threads/search", json={"limit": 1001}).status_code == 422
        for tag in "ab":
            body = {"assistant_id": "echo", "input": {"tag": tag}}
            http.post(f"/threads/{ids[0]}/runs/wait", json=body)
        path = f"/threads/{ids[0]}/history"
        first = http.post(path, json={})
        assert len(first.json()) == 2
        rest = http.post(path, json={"before": first.headers["X-Pagination-Next"], "limit": 2})
        assert len(rest.json()) == 2
        assert "X-Pagination-Next" not in rest.headers  # as many as were asked for
        for key in "abc":
            http.put("/store/items", json={"namespace": ["n", key], "key": key, "value": {}})
        for path, name in (("items/search", "items"), ("namespaces", "namespaces")):
            found = http.post(f"/store/{path}", json={"limit": 3})
            assert len(found.json()[name]) == 2
            assert found.headers["X-Pagination-Next"] == "2"
