"""``threads.stream`` and ``threads.join_stream`` of LangGraph's client, over SSE and websockets."""

import asyncio
import json
from typing import Any, Literal
from uuid import uuid4

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient
from websockets.asyncio.client import connect

pytestmark = pytest.mark.anyio
ALL = ["values", "updates", "messages", "tools", "lifecycle", "input", "checkpoints", "tasks"]
SECONDS = 20


@pytest.fixture(params=["sse", "websocket"])
def transport(request: pytest.FixtureRequest) -> Literal["sse", "websocket"]:
    found: Literal["sse", "websocket"] = request.param
    return found


async def collected(found: Any) -> list[Any]:
    async with asyncio.timeout(SECONDS):
        return [each async for each in found]


async def test_a_run_is_started_and_its_end_is_awaited(
    async_client: LangGraphClient, transport: Any
) -> None:
    stream = async_client.threads.stream(assistant_id="echo", transport=transport)
    async with stream as thread:
        started = await thread.run.start(input={"tag": "a"})
        async with asyncio.timeout(SECONDS):
            assert await thread.output == {"log": ["echo:a"], "tag": "a"}
        run = await async_client.runs.get(thread.thread_id, started["run_id"])
        assert run["status"] == "success"


async def test_values_are_told_as_they_change(
    async_client: LangGraphClient, transport: Any
) -> None:
    stream = async_client.threads.stream(assistant_id="ticking", transport=transport)
    async with stream as thread:
        await thread.run.start(input={"steps": 3})
        values = await collected(thread.values)
        assert values[-1]["log"] == [0, 1, 2]


async def test_messages_are_told_block_by_block(
    async_client: LangGraphClient, transport: Any
) -> None:
    stream = async_client.threads.stream(assistant_id="chat", transport=transport)
    async with stream as thread:
        await thread.run.start(input={"messages": [{"role": "user", "content": "hi"}]})
        (message,) = await collected(thread.messages)
        assert await message.text == "you said hi"


async def test_an_interrupt_is_told_and_answered_once(
    async_client: LangGraphClient, transport: Any
) -> None:
    stream = async_client.threads.stream(assistant_id="asking", transport=transport)
    async with stream as thread:
        await thread.run.start(input={"tag": "a"})
        async with asyncio.timeout(SECONDS):
            assert (await collected(thread.values))[-1]["log"] == ["echo:a"]
            assert thread.interrupted
        (waiting,) = thread.interrupts
        assert waiting["value"] == {"question": "ok?"}
        await thread.run.respond("yes")
        async with asyncio.timeout(SECONDS):
            assert (await thread.output)["log"] == ["echo:a", "answer:yes"]
        again = {"interrupt_id": waiting["interrupt_id"], "namespace": [], "response": "no"}
        path = f"/threads/{thread.thread_id}/commands"
        command = {"id": 7, "method": "input.respond", "params": again}
        answer = (await async_client.http.client.post(path, json=command)).json()
        assert (answer["type"], answer["error"]) == ("error", "no_such_interrupt")


async def test_a_failure_is_told(async_client: LangGraphClient, transport: Any) -> None:
    stream = async_client.threads.stream(assistant_id="failing", transport=transport)
    async with stream as thread:
        await thread.run.start(input={"tag": "a"})
        async with asyncio.timeout(SECONDS):
            with pytest.raises(RuntimeError, match="deliberate failure"):
                await thread.output


async def test_subgraphs_are_found(async_client: LangGraphClient, transport: Any) -> None:
    stream = async_client.threads.stream(assistant_id="nested", transport=transport)
    async with stream as thread:
        await thread.run.start(input={"tag": "a"})
        async with asyncio.timeout(SECONDS):
            names = [child.graph_name async for child in thread.subgraphs]
        assert names == ["child"]


def test_the_blocking_client_does_the_same(client: SyncLangGraphClient, transport: Any) -> None:
    with client.threads.stream(assistant_id="echo", transport=transport) as thread:
        thread.run.start(input={"tag": "a"})
        assert thread.output == {"log": ["echo:a"], "tag": "a"}


def numbered(http: httpx.Client, thread_id: str, **body: Any) -> list[tuple[int, str]]:
    """Read the stream of a thread until it is silent; return what came, by its numbers."""
    found = []
    path = f"/threads/{thread_id}/stream/events"
    with http.stream("POST", path, json={"channels": ALL, **body}) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        for line in response.iter_lines():
            if line.startswith("data:"):
                event = json.loads(line[5:])
                found.append((event["seq"], event["method"]))
            elif line.startswith(": heartbeat"):
                return found
    return found


def test_every_listener_sees_the_same_numbers_and_goes_on_behind_one(
    client: SyncLangGraphClient, http: httpx.Client
) -> None:
    thread_id = str(uuid4())
    for ident in (1, 2):
        start = {"assistant_id": "echo", "input": {"tag": "a"}}
        command = {"id": ident, "method": "run.start", "params": start}
        answer = http.post(f"/threads/{thread_id}/commands", json=command).json()
        assert answer["type"] == "success"
        client.runs.join(thread_id, answer["result"]["run_id"])
    whole = numbered(http, thread_id)
    numbers = [seq for seq, _ in whole]
    assert numbers == sorted(set(numbers))
    assert whole[0][1] == whole[-1][1] == "lifecycle"
    assert numbered(http, thread_id, since=numbers[3]) == whole[4:]
    only = numbered(http, thread_id, channels=["lifecycle"])
    assert only == [event for event in whole if event[1] == "lifecycle"]
    assert len(only) == 4
    assert numbered(http, thread_id, namespaces=[["nowhere"]]) == []


@pytest.mark.parametrize(
    ("method", "params", "error"),
    [
        ("unheard-of", {}, "unknown_command"),
        ("run.start", {"assistant_id": "unheard-of"}, "invalid_argument"),
        ("run.start", {}, "invalid_argument"),
        ("run.start", {"assistant_id": str(uuid4())}, "unknown_error"),
        ("input.respond", {"interrupt_id": "x", "response": 1}, "no_such_interrupt"),
        ("input.respond", {}, "invalid_argument"),
        ("agent.getTree", {}, "no_such_run"),
        ("subscription.subscribe", {"channels": ["values"]}, "not_supported"),
    ],
)
def test_a_command_that_cannot_be_done_says_why(
    http: httpx.Client, method: str, params: Any, error: str
) -> None:
    command = {"id": 3, "method": method, "params": params}
    answer = http.post(f"/threads/{uuid4()}/commands", json=command)
    assert answer.status_code == 200
    shown = answer.json()
    assert (shown["type"], shown["id"], shown["error"]) == ("error", 3, error)
    assert shown["message"]


@pytest.mark.parametrize("body", [{}, [], {"id": "1", "method": "x"}, {"id": True, "method": "x"}])
def test_what_is_no_command_is_refused(http: httpx.Client, body: Any) -> None:
    refused = http.post(f"/threads/{uuid4()}/commands", json=body)
    assert refused.status_code == 400
    assert refused.json()["error"] == "invalid_argument"


def test_what_is_no_channel_is_refused(http: httpx.Client) -> None:
    path = f"/threads/{uuid4()}/stream/events"
    bodies: list[Any] = [
        {},
        {"channels": []},
        {"channels": ["x"]},
        {"channels": ["input"], "since": -1},
    ]
    for body in bodies:
        assert http.post(path, json=body).status_code == 422


async def test_a_websocket_subscribes_and_unsubscribes(http_url: str, http: httpx.Client) -> None:
    thread_id = str(uuid4())
    address = f"{http_url.replace('http', 'ws')}/threads/{thread_id}/stream/events"
    async with connect(address) as line, asyncio.timeout(SECONDS):

        async def ask(message: Any) -> Any:
            await line.send(message if isinstance(message, str) else json.dumps(message))
            return json.loads(await line.recv())

        assert (await ask("no JSON"))["error"] == "invalid_argument"
        assert (await ask({"id": 1}))["error"] == "invalid_argument"
        refused = {"id": 1, "method": "subscription.subscribe", "params": {"channels": ["x"]}}
        assert (await ask(refused))["error"] == "invalid_argument"
        asked = {"id": 2, "method": "subscription.subscribe", "params": {"channels": ["values"]}}
        subscribed = await ask(asked)
        start = {"assistant_id": "echo", "input": {"tag": "a"}}
        started = await ask({"id": 3, "method": "run.start", "params": start})
        got = [started] + [json.loads(await line.recv()) for _ in range(2)]
        answers = [each for each in got if each["type"] != "event"]
        assert [each["id"] for each in answers] == [3]
        off = {"id": 4, "method": "subscription.unsubscribe", "params": subscribed["result"]}
        left = await ask(off)
        while left["type"] == "event":
            left = json.loads(await line.recv())
        assert left["type"] == "success"
        assert (await ask(off))["error"] == "no_such_subscription"


async def test_a_stream_of_a_thread_tells_runs_that_others_make(
    async_client: LangGraphClient,
) -> None:
    thread_id = (await async_client.threads.create())["thread_id"]
    found: list[Any] = []

    async def listen() -> None:
        async for part in await async_client.threads.join_stream(thread_id):
            found.append(part)
            if (part.data or {}).get("status") == "run_done":
                return

    task = asyncio.create_task(listen())
    await asyncio.sleep(0.3)
    run = await async_client.runs.create(
        thread_id, "echo", input={"tag": "a"}, stream_resumable=True
    )
    async with asyncio.timeout(SECONDS):
        await task
    assert found[0].event == "metadata"
    assert found[0].data["run_id"] == run["run_id"]
    assert found[-2].data == {"log": ["echo:a"], "tag": "a"}
    first = found[0].id
    assert first is not None
    rest = await async_client.threads.join_stream(thread_id, last_event_id=first)
    async with asyncio.timeout(SECONDS):
        assert (await anext(rest)).id == found[1].id


def test_nobody_listens_and_nothing_is_kept(
    client: SyncLangGraphClient, http: httpx.Client
) -> None:
    thread_id = client.threads.create()["thread_id"]
    client.runs.wait(thread_id, "echo", input={"tag": "a"})
    assert numbered(http, thread_id) == []
    assert http.get(f"/threads/{uuid4()}/stream").status_code == 404
