"""A run's events over HTTP: their form, their resumption, and what becomes of lost readers."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

from tests.integration.http_server import until


def new_thread(client: SyncLangGraphClient) -> str:
    return client.threads.create()["thread_id"]


def events(response: httpx.Response) -> Iterator[dict[str, Any]]:
    found: dict[str, Any] = {}
    for line in response.iter_lines():
        if not line and found:
            yield found
            found = {}
        elif line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            found[name] = json.loads(value) if name == "data" else value


def ticks(found: list[dict[str, Any]]) -> list[int]:
    return [event["data"]["tick"]["log"][0] for event in found if event["event"] == "updates"]


def run_of(response: httpx.Response) -> str:
    return response.headers["content-location"]


def body(**changes: Any) -> dict[str, Any]:
    return {"assistant_id": "ticking", "input": {"steps": 8}, "stream_mode": "updates"} | changes


def test_a_stream_has_the_headers_that_keep_it_flowing(
    client: SyncLangGraphClient, http: httpx.Client
) -> None:
    with http.stream("POST", f"/threads/{new_thread(client)}/runs/stream", json=body()) as response:
        headers = response.headers
        assert headers["content-type"].startswith("text/event-stream")
        assert headers["cache-control"] == "no-store"
        assert headers["x-accel-buffering"] == "no"
        assert headers["location"] == f"{headers['content-location']}/stream"


def test_a_stream_begins_with_its_run_and_ends_without_a_word(
    client: SyncLangGraphClient, http: httpx.Client
) -> None:
    with http.stream("POST", f"/threads/{new_thread(client)}/runs/stream", json=body()) as response:
        found = list(events(response))
    assert found[0]["event"] == "metadata"
    assert found[0]["data"] == {"run_id": run_of(response).rsplit("/", 1)[1], "attempt": 1}
    assert {event["event"] for event in found[1:]} == {"updates"}
    assert ticks(found) == list(range(8))


def test_events_carry_ids_only_when_a_reader_may_come_back(
    client: SyncLangGraphClient, http: httpx.Client
) -> None:
    for is_resumable in (False, True):
        asked = body(stream_resumable=is_resumable)
        path = f"/threads/{new_thread(client)}/runs/stream"
        with http.stream("POST", path, json=asked) as response:
            found = list(events(response))
        ids = [event.get("id") for event in found]
        assert ids == ([str(n + 1) for n in range(len(found))] if is_resumable else [None] * 9)


def test_a_failure_is_an_event(client: SyncLangGraphClient) -> None:
    parts = list(client.runs.stream(new_thread(client), "failing", input={}))
    assert parts[-1].event == "error"
    assert parts[-1].data == {
        "error": "RuntimeError",
        "message": "deliberate failure \0 in a node",
    }


@pytest.mark.parametrize("is_over", [False, True])
def test_a_reader_that_comes_back_misses_and_repeats_nothing(
    client: SyncLangGraphClient, http: httpx.Client, is_over: bool
) -> None:
    asked = body(input={"steps": 15}, stream_resumable=True)
    path = f"/threads/{new_thread(client)}/runs/stream"
    first: list[dict[str, Any]] = []
    with http.stream("POST", path, json=asked) as response:
        for event in events(response):
            first.append(event)
            if len(first) == 5:
                break
    if is_over:
        until(lambda: http.get(run_of(response)).json()["status"] == "success")
    header = {"Last-Event-ID": first[-1]["id"]}
    with http.stream("GET", f"{run_of(response)}/stream", headers=header) as again:
        rest = list(events(again))
    assert ticks(first + rest) == list(range(15))
    assert [int(event["id"]) for event in first + rest] == list(range(1, 17))


@pytest.mark.parametrize("is_over", [False, True])
def test_a_late_reader_may_have_everything_kept(
    client: SyncLangGraphClient, http: httpx.Client, is_over: bool
) -> None:
    thread_id = new_thread(client)
    run = client.runs.create(
        thread_id, "ticking", input={"steps": 8}, stream_mode="updates", stream_resumable=True
    )
    if is_over:
        client.runs.join(thread_id, run["run_id"])
    parts = list(client.runs.join_stream(thread_id, run["run_id"], last_event_id="-1"))
    assert parts[0].event == "metadata"
    assert [p.data["tick"]["log"][0] for p in parts if p.event == "updates"] == list(range(8))


@pytest.mark.parametrize("ident", ["", "x", "1-2", "-2", "9" * 40])
def test_an_id_that_was_never_given_is_no_error(
    client: SyncLangGraphClient, http: httpx.Client, ident: str
) -> None:
    thread_id = new_thread(client)
    run = client.runs.create(thread_id, "echo", input={}, stream_resumable=True)
    client.runs.join(thread_id, run["run_id"])
    path = f"/threads/{thread_id}/runs/{run['run_id']}/stream"
    assert http.get(path, headers={"Last-Event-ID": ident}).status_code == 200


def test_a_reader_who_joins_chooses_its_modes(client: SyncLangGraphClient) -> None:
    thread_id = new_thread(client)
    run = client.runs.create(
        thread_id,
        "ticking",
        input={"steps": 3},
        stream_mode=["updates", "custom", "values"],
        stream_resumable=True,
    )
    parts = list(
        client.runs.join_stream(
            thread_id, run["run_id"], last_event_id="-1", stream_mode=["custom", "values"]
        )
    )
    assert {part.event for part in parts} == {"metadata", "custom", "values"}


def test_every_mode_is_published(client: SyncLangGraphClient) -> None:
    modes: Any = ["values", "updates", "custom", "debug", "tasks", "checkpoints", "events"]
    parts = client.runs.stream(None, "ticking", input={"steps": 1}, stream_mode=modes)
    assert {part.event for part in parts} == {"metadata", *modes}


def test_messages_are_published_whole_and_as_tuples(client: SyncLangGraphClient) -> None:
    asked: Any = {"messages": [{"role": "user", "content": "hi"}]}
    parts = client.runs.stream(None, "chat", input=asked, stream_mode="messages-tuple")
    messages = [part.data[0] for part in parts if part.event == "messages"]
    assert [message["content"] for message in messages] == ["you said hi"]


def test_subgraphs_are_published_under_their_namespace(client: SyncLangGraphClient) -> None:
    parts = client.runs.stream(
        None, "nested", input={"tag": "a"}, stream_mode="updates", stream_subgraphs=True
    )
    assert any(part.event.startswith("updates|child:") for part in parts)


def test_silence_is_filled_with_comments(client: SyncLangGraphClient, http: httpx.Client) -> None:
    asked = {"assistant_id": "hanging", "input": {}, "on_disconnect": "cancel"}
    path = f"/threads/{new_thread(client)}/runs/stream"
    with http.stream("POST", path, json=asked) as response:
        comments = 0
        for line in response.iter_lines():
            comments += line == ": heartbeat"
            if comments == 2:
                break
    until(lambda: http.get(run_of(response)).json()["status"] == "interrupted")


@pytest.mark.parametrize(
    ("policy", "ends_as"), [("cancel", "interrupted"), ("continue", "success")]
)
def test_a_lost_reader_ends_the_run_where_it_says_so(
    client: SyncLangGraphClient, http: httpx.Client, policy: str, ends_as: str
) -> None:
    asked = body(input={"steps": 60}, on_disconnect=policy)
    path = f"/threads/{new_thread(client)}/runs/stream"
    with http.stream("POST", path, json=asked) as response:
        next(events(response))
    until(lambda: http.get(run_of(response)).json()["status"] == ends_as)


@pytest.mark.parametrize(("is_cancelling", "ends_as"), [(1, "interrupted"), (0, "success")])
def test_a_lost_reader_who_joined_ends_the_run_where_it_said_so(
    client: SyncLangGraphClient, http: httpx.Client, is_cancelling: int, ends_as: str
) -> None:
    thread_id = new_thread(client)
    run = client.runs.create(thread_id, "ticking", input={"steps": 60})
    path = f"/threads/{thread_id}/runs/{run['run_id']}"
    query = {"cancel_on_disconnect": is_cancelling}
    with http.stream("GET", f"{path}/stream", params=query) as response:
        next(events(response))
    until(lambda: http.get(path).json()["status"] == ends_as)


def test_hundreds_of_events_come_in_order(client: SyncLangGraphClient) -> None:
    config: Any = {"recursion_limit": 2000}
    asked = {"steps": 100}
    parts = client.runs.stream(
        None, "ticking", input=asked, config=config, stream_mode=["custom", "updates", "tasks"]
    )
    found = [part.data["tick"] for part in parts if part.event == "custom"]
    assert found == list(range(100))


@pytest.mark.anyio
async def test_the_awaiting_client_does_the_same(async_client: LangGraphClient) -> None:
    runs = async_client.runs
    thread_id = (await async_client.threads.create())["thread_id"]
    asked: Any = {"steps": 3}
    streamed = [
        part
        async for part in runs.stream(
            thread_id, "ticking", input=asked, stream_mode="updates", stream_resumable=True
        )
    ]
    assert [part.event for part in streamed] == ["metadata", *["updates"] * 3]
    run_id = streamed[0].data["run_id"]
    again = [
        part async for part in runs.join_stream(thread_id, run_id, last_event_id=streamed[1].id)
    ]
    assert again == streamed[2:]
