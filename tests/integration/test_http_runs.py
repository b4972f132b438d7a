"""Runs over HTTP, as LangGraph's client sees them."""

import asyncio
import socket
import time
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from langgraph_sdk import errors
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient
from langgraph_sdk.schema import RunCreateMetadata

from tests.integration.http_server import until
from threadkeep.background.worker import POLL_SECONDS

KEYS = {
    "run_id", "thread_id", "assistant_id", "metadata", "status", "kwargs", "multitask_strategy",
    "created_at", "updated_at",
}  # fmt: skip


def new_thread(client: SyncLangGraphClient) -> str:
    return client.threads.create()["thread_id"]


def status(client: SyncLangGraphClient, run: Any) -> str:
    return client.runs.get(run["thread_id"], run["run_id"])["status"]


def test_waiting_answers_the_values(client: SyncLangGraphClient, http: httpx.Client) -> None:
    thread_id = new_thread(client)
    told: list[RunCreateMetadata] = []
    answer = client.runs.wait(thread_id, "echo", input={"tag": "a"}, on_run_created=told.append)
    assert answer == {"log": ["echo:a"], "tag": "a"}
    (run,) = client.runs.list(thread_id)
    assert told == [{"run_id": run["run_id"], "thread_id": thread_id}]
    assert set(run) == KEYS
    assert (run["status"], run["multitask_strategy"]) == ("success", "enqueue")
    assert str(UUID(run["assistant_id"])) == run["assistant_id"]


def test_an_answer_says_where_the_run_is(client: SyncLangGraphClient, http: httpx.Client) -> None:
    thread_id = new_thread(client)
    body = {"assistant_id": "echo", "input": {}}
    for path, then in (("", None), ("/wait", "/join"), ("/stream", "/stream")):
        response = http.post(f"/threads/{thread_id}/runs{path}", json=body)
        place = response.headers["content-location"]
        assert place.startswith(f"/threads/{thread_id}/runs/")
        assert response.headers.get("location") == (place + then if then else None)
        assert http.get(place).json()["thread_id"] == thread_id


def test_a_failed_run_answers_its_error(client: SyncLangGraphClient, http: httpx.Client) -> None:
    thread_id = new_thread(client)
    body = {"assistant_id": "failing", "input": {}}
    response = http.post(f"/threads/{thread_id}/runs/wait", json=body)
    assert response.status_code == 200
    failure = {"error": "RuntimeError", "message": "deliberate failure \0 in a node"}
    assert response.json() == {"__error__": failure}
    with pytest.raises(Exception, match="deliberate failure"):
        client.runs.wait(thread_id, "failing", input={})
    thread = client.threads.get(thread_id)
    assert thread["status"] == "error"
    assert client.runs.wait(thread_id, "echo", input={"tag": "after"})["tag"] == "after"  # type: ignore[call-overload]
    assert client.threads.get(thread_id)["status"] == "idle"


def test_an_interrupted_run_is_resumed(client: SyncLangGraphClient) -> None:
    thread_id = new_thread(client)
    answer: Any = client.runs.wait(thread_id, "asking", input={"tag": "a"})
    assert answer["__interrupt__"][0]["value"] == {"question": "ok?"}
    thread = client.threads.get(thread_id)
    assert thread["status"] == "interrupted"
    assert [i["value"] for held in thread["interrupts"].values() for i in held] == [
        {"question": "ok?"}
    ]
    assert client.threads.get_state(thread_id)["next"] == ["ask"]
    answer = client.runs.wait(thread_id, "asking", command={"resume": "yes"})
    assert answer["log"] == ["echo:a", "answer:yes"]
    assert client.threads.get(thread_id)["status"] == "idle"


def test_a_run_in_the_background_is_joined(client: SyncLangGraphClient) -> None:
    thread_id = new_thread(client)
    run = client.runs.create(thread_id, "ticking", input={"steps": 3}, metadata={"a": 1})
    assert run["metadata"] == {"a": 1}
    answer: Any = client.runs.join(thread_id, run["run_id"])
    assert answer["log"] == [0, 1, 2]
    assert status(client, run) == "success"
    assert client.runs.join(thread_id, run["run_id"]) == answer


def test_a_run_may_make_its_thread(client: SyncLangGraphClient) -> None:
    thread_id = str(uuid4())
    with pytest.raises(errors.NotFoundError):
        client.runs.create(thread_id, "echo", input={})
    client.runs.create(thread_id, "echo", input={}, if_not_exists="create")
    assert client.threads.get(thread_id)["metadata"]["graph_id"] == "echo"  # type: ignore[index]


def test_a_stateless_run_takes_its_thread_along(client: SyncLangGraphClient) -> None:
    told: list[RunCreateMetadata] = []
    answer: Any = client.runs.wait(None, "echo", input={"tag": "a"}, on_run_created=told.append)
    assert answer["log"] == ["echo:a"]
    gone = told[0].get("thread_id")
    assert gone is not None
    with pytest.raises(errors.NotFoundError):
        client.threads.get(gone)


def test_a_stateless_run_may_keep_its_thread(client: SyncLangGraphClient) -> None:
    told: list[RunCreateMetadata] = []
    client.runs.wait(
        None, "echo", input={"tag": "a"}, on_completion="keep", on_run_created=told.append
    )
    kept = told[0].get("thread_id")
    assert kept is not None
    assert client.threads.get_state(kept)["values"] == {"log": ["echo:a"], "tag": "a"}


def test_a_batch_makes_each_of_its_runs(client: SyncLangGraphClient) -> None:
    asked: Any = [{"assistant_id": "echo", "input": {"tag": str(n)}} for n in range(3)]
    made: Any = client.runs.create_batch(asked)
    assert [run["kwargs"]["input"]["tag"] for run in made] == ["0", "1", "2"]
    assert len({run["thread_id"] for run in made}) == 3


def test_runs_are_listed_by_pages_and_status(
    client: SyncLangGraphClient, http: httpx.Client
) -> None:
    thread_id = new_thread(client)
    for tag in "abc":
        client.runs.wait(thread_id, "echo", input={"tag": tag})
    client.runs.wait(thread_id, "failing", input={}, raise_error=False)
    page = http.get(f"/threads/{thread_id}/runs", params={"limit": 2})
    assert (page.headers["x-pagination-total"], page.headers["x-pagination-next"]) == ("4", "2")
    assert page.json()[0]["status"] == "error"
    rest = client.runs.list(thread_id, offset=2)
    assert [run["kwargs"]["input"]["tag"] for run in rest] == ["b", "a"]  # type: ignore[typeddict-item]
    assert len(client.runs.list(thread_id, status="error")) == 1
    (row, *_) = client.runs.list(thread_id, select=["run_id", "status"])
    assert set(row) == {"run_id", "status"}


def test_a_run_is_only_found_on_its_own_thread(client: SyncLangGraphClient) -> None:
    run = client.runs.create(new_thread(client), "echo", input={})
    with pytest.raises(errors.NotFoundError):
        client.runs.get(new_thread(client), run["run_id"])


@pytest.mark.parametrize("is_waiting", [False, True])
def test_a_cancelled_run_frees_its_thread(client: SyncLangGraphClient, is_waiting: bool) -> None:
    thread_id = new_thread(client)
    run = client.runs.create(thread_id, "hanging", input={"tag": "a"})
    assert client.threads.get(thread_id)["status"] == "busy"
    client.runs.cancel(thread_id, run["run_id"], wait=is_waiting)
    if is_waiting:
        assert status(client, run) == "interrupted"
    until(lambda: status(client, run) == "interrupted")
    until(lambda: client.threads.get(thread_id)["status"] != "busy")
    client.runs.cancel(thread_id, run["run_id"])
    assert client.runs.wait(thread_id, "echo", input={"tag": "b"})["tag"] == "b"  # type: ignore[call-overload]


def test_cancelling_answers_as_langgraphs_server(
    client: SyncLangGraphClient, http: httpx.Client
) -> None:
    thread_id = new_thread(client)
    run = client.runs.create(thread_id, "hanging", input={})
    path = f"/threads/{thread_id}/runs/{run['run_id']}/cancel"
    assert http.post(path).status_code == 202
    assert http.post(path, params={"wait": "1"}).status_code == 204


def test_many_runs_are_cancelled_at_once(client: SyncLangGraphClient) -> None:
    thread_id = new_thread(client)
    runs = [client.runs.create(thread_id, "hanging", input={}) for _ in range(3)]
    client.runs.cancel_many(thread_id=thread_id, run_ids=[run["run_id"] for run in runs])
    until(lambda: all(status(client, run) == "interrupted" for run in runs))


def test_a_deleted_run_is_gone(client: SyncLangGraphClient) -> None:
    thread_id = new_thread(client)
    run = client.runs.create(thread_id, "hanging", input={})
    client.runs.delete(thread_id, run["run_id"])
    with pytest.raises(errors.NotFoundError):
        client.runs.get(thread_id, run["run_id"])
    assert client.threads.get(thread_id)["status"] != "busy"


def test_a_second_run_waits_for_the_first(client: SyncLangGraphClient) -> None:
    thread_id = new_thread(client)
    began_at = time.monotonic()
    runs = [client.runs.create(thread_id, "ticking", input={"steps": n}) for n in (3, 6, 9, 12)]
    answer: Any = client.runs.join(thread_id, runs[-1]["run_id"])
    assert answer["log"] == list(range(12))
    assert time.monotonic() - began_at < 2 * POLL_SECONDS, "each waited for a look, not its turn"


def test_a_second_run_is_rejected_where_it_says_so(client: SyncLangGraphClient) -> None:
    thread_id = new_thread(client)
    run = client.runs.create(thread_id, "hanging", input={})
    with pytest.raises(errors.ConflictError, match="busy"):
        client.runs.create(thread_id, "echo", input={}, multitask_strategy="reject")
    client.runs.cancel(thread_id, run["run_id"], wait=True)


def test_a_second_run_interrupts_the_first(client: SyncLangGraphClient) -> None:
    thread_id = new_thread(client)
    first = client.runs.create(thread_id, "hanging", input={})
    client.runs.wait(thread_id, "echo", input={"tag": "b"}, multitask_strategy="interrupt")
    assert status(client, first) == "interrupted"


def test_a_run_goes_back_to_a_checkpoint(client: SyncLangGraphClient) -> None:
    thread_id = new_thread(client)
    client.runs.wait(thread_id, "echo", input={"tag": "a"})
    first = client.threads.get_state(thread_id)["checkpoint"]
    client.runs.wait(thread_id, "echo", input={"tag": "b"})
    answer: Any = client.runs.wait(
        thread_id, "echo", input={"tag": "c"}, checkpoint_id=first["checkpoint_id"]
    )
    assert answer["log"] == ["echo:a", "echo:c"]


def test_a_run_stops_before_a_node(client: SyncLangGraphClient) -> None:
    thread_id = new_thread(client)
    client.runs.wait(thread_id, "asking", input={"tag": "a"}, interrupt_before=["ask"])
    assert client.threads.get(thread_id)["status"] == "interrupted"
    answer: Any = client.runs.wait(thread_id, "asking", input=None)
    assert "__interrupt__" in answer


def test_a_run_is_refused_on_a_thread_of_another_status(
    client: SyncLangGraphClient, http: httpx.Client
) -> None:
    thread_id = new_thread(client)
    body = {"assistant_id": "echo", "input": {}, "if_thread_status": ["interrupted", "error"]}
    response = http.post(f"/threads/{thread_id}/runs", json=body)
    assert (response.status_code, response.json()["code"]) == (409, "thread_status_mismatch")
    assert response.json()["details"] == {"status": "idle", "wanted": ["interrupted", "error"]}


def test_a_delayed_run_waits(client: SyncLangGraphClient) -> None:
    thread_id = new_thread(client)
    run = client.runs.create(thread_id, "echo", input={}, after_seconds=3600)
    assert status(client, run) == "pending"
    client.runs.cancel(thread_id, run["run_id"], wait=True)


def test_a_graph_uses_the_store_that_http_serves(client: SyncLangGraphClient) -> None:
    key = uuid4().hex
    client.runs.wait(None, "remembering", input={"tag": key})
    assert client.store.get_item(["memories"], key)["value"] == {"text": key}


def test_eight_megabytes_pass_through(client: SyncLangGraphClient) -> None:
    thread_id = new_thread(client)
    blob = "0123456789abcdef" * (512 * 1024)
    answer: Any = client.runs.wait(thread_id, "echo", input={"tag": "a", "blob": blob})
    assert answer["blob"] == blob
    state: Any = client.threads.get_state(thread_id)
    assert state["values"]["blob"] == blob


def test_a_slow_answer_is_announced_and_kept_alive(
    client: SyncLangGraphClient, http: httpx.Client
) -> None:
    thread_id = new_thread(client)
    body = {"assistant_id": "ticking", "input": {"steps": 60}}
    with http.stream("POST", f"/threads/{thread_id}/runs/wait", json=body) as response:
        place = response.headers["content-location"]
        assert http.get(place).json()["status"] == "running"
        content = b"".join(response.iter_bytes())
    assert content.startswith(b"\n")
    assert httpx.Response(200, content=content).json()["log"] == list(range(60))


@pytest.mark.parametrize(
    ("policy", "ends_as"), [("cancel", "interrupted"), ("continue", "success")]
)
def test_a_lost_waiter_ends_the_run_where_it_says_so(
    client: SyncLangGraphClient, http_url: str, policy: str, ends_as: str
) -> None:
    thread_id = new_thread(client)
    body = {"assistant_id": "ticking", "input": {"steps": 100}, "on_disconnect": policy}
    url = f"{http_url}/threads/{thread_id}/runs/wait"
    with httpx.Client() as leaving, leaving.stream("POST", url, json=body) as response:
        run_id = response.headers["content-location"].rsplit("/", 1)[1]
    until(lambda: client.runs.get(thread_id, run_id)["status"] == ends_as)
    until(lambda: client.threads.get(thread_id)["status"] == "idle")


def test_a_client_that_leaves_before_its_run_has_begun_harms_nobody(
    client: SyncLangGraphClient, http_url: str
) -> None:
    thread_id = new_thread(client)
    host, port = http_url.removeprefix("http://").split(":")
    body = b'{"assistant_id": "echo", "input": {}}'
    head = f"POST /threads/{thread_id}/runs/wait HTTP/1.1\r\nHost: x\r\n"
    for content in (body, body[:10]):
        with socket.create_connection((host, int(port))) as line:
            line.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + content)
    until(lambda: [run["status"] for run in client.runs.list(thread_id)] == ["success"])


@pytest.mark.anyio
async def test_the_awaiting_client_does_the_same(async_client: LangGraphClient) -> None:
    runs = async_client.runs
    thread_id = (await async_client.threads.create())["thread_id"]
    waited: Any = await runs.wait(thread_id, "echo", input={"tag": "a"})
    assert waited["log"] == ["echo:a"]
    run = await runs.create(thread_id, "ticking", input={"steps": 3})
    joined: Any = await runs.join(thread_id, run["run_id"])
    assert joined["log"] == ["echo:a", 1, 2]
    assert (await runs.get(thread_id, run["run_id"]))["status"] == "success"
    assert len(await runs.list(thread_id)) == 2
    hanging = await runs.create(thread_id, "hanging", input={})
    await runs.cancel(thread_id, hanging["run_id"], wait=True)
    await runs.delete(thread_id, hanging["run_id"])
    batch: Any = [{"assistant_id": "echo"}]
    assert len(await runs.create_batch(batch)) == 1
    answers: Any = await asyncio.gather(
        *(runs.wait(None, "echo", input={"tag": str(n)}) for n in range(20))
    )
    assert [answer["tag"] for answer in answers] == [str(n) for n in range(20)]


def test_a_checkpoint_that_the_thread_has_not_is_no_place_to_start(
    client: SyncLangGraphClient, http: httpx.Client
) -> None:
    other_id = client.threads.create()["thread_id"]
    client.runs.wait(other_id, "echo", input={"tag": "secret"})
    elsewhere = http.get(f"/threads/{other_id}/state").json()["checkpoint_id"]
    thread_id = client.threads.create()["thread_id"]
    before = client.runs.wait(thread_id, "echo", input={"tag": "here"})
    for named in (
        {"checkpoint_id": elsewhere},
        {"checkpoint": {"checkpoint_id": elsewhere, "checkpoint_ns": ""}},
        {"checkpoint_id": "nope"},
    ):
        asked = {"assistant_id": "echo", "input": {"tag": "again"}, **named}
        for path in (f"/threads/{thread_id}/runs/wait", f"/threads/{thread_id}/runs", "/runs/wait"):
            answer = http.post(path, json=asked)
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        update = http.post(f"/threads/{thread_id}/state", json={"values": {"tag": "x"}, **named})
        assert (update.status_code, update.json()["code"]) == (404, "not_found")
    row = client.threads.get(thread_id)
    assert (row["status"], row["values"]) == ("idle", before)
    assert client.runs.list(thread_id, limit=10) == client.runs.list(thread_id, limit=1)


def test_runs_of_any_thread_are_searched(
    client: SyncLangGraphClient, http: httpx.Client, label: dict[str, str]
) -> None:
    threads = [new_thread(client), new_thread(client)]
    made = [
        client.runs.wait(thread_id, graph, input={"tag": "a"}, metadata=label, raise_error=False)
        for thread_id in threads
        for graph in ("echo", "failing")
    ]
    assert len(made) == 4

    def found(**body: Any) -> list[tuple[str, str]]:
        page = http.post("/runs/search", json={"metadata": label, **body})
        assert page.headers["X-Pagination-Total"] == str(len(page.json()))
        return [(row["thread_id"], row["status"]) for row in page.json()]

    (one, other) = threads
    assert found() == [(other, "error"), (other, "success"), (one, "error"), (one, "success")]
    assert found(thread_id=one, status="error") == [(one, "error")]
    assert found(assistant_id="echo") == [(other, "success"), (one, "success")]
    assert found(status=["pending", "running"]) == []
    assert found(thread_id=str(uuid4())) == []
    page = http.post("/runs/search", json={"metadata": label, "limit": 1, "select": ["run_id"]})
    assert [set(row) for row in page.json()] == [{"run_id"}]
    assert page.headers["X-Pagination-Next"] == "1"


def test_a_run_is_reached_by_its_own_id(client: SyncLangGraphClient, http: httpx.Client) -> None:
    thread_id = new_thread(client)
    run_id = client.runs.create(thread_id, "ticking", input={"steps": 3})["run_id"]
    assert http.get(f"/runs/{run_id}/join").json()["log"] == [0, 1, 2]
    assert http.get(f"/runs/{run_id}").json() == client.runs.get(thread_id, run_id)
    hanging = client.runs.create(None, "hanging", input={})["run_id"]
    assert http.post(f"/runs/{hanging}/cancel", params={"wait": True}).status_code == 204
    assert http.delete(f"/runs/{run_id}").status_code == 204
    assert http.get(f"/runs/{run_id}").status_code == 404
    assert http.get(f"/runs/{run_id}/stream").status_code == 404
