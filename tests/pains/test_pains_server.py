"""Faults that users of other servers met, held against a real ``threadkeep dev`` process."""

import json
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from tests.acceptance.dev import dev_server

APP = Path(__file__).parent / "app"
POLL_SECONDS = 0.05


class Server:
    """The process under test, and the ledger its graphs write."""

    def __init__(self, url: str, ledger: Path) -> None:
        self.http = httpx.Client(base_url=url, timeout=60)
        self.sdk: SyncLangGraphClient = get_sync_client(url=url, api_key=None)
        self._ledger = ledger

    def thread(self) -> str:
        response = self.http.post("/threads", json={})
        assert response.status_code == 200, response.text
        thread_id: str = response.json()["thread_id"]
        return thread_id

    def status(self, thread_id: str, run_id: str | None = None) -> str:
        path = f"/threads/{thread_id}" + (f"/runs/{run_id}" if run_id else "")
        found: str = self.http.get(path).json()["status"]
        return found

    def values(self, thread_id: str) -> Any:
        return self.http.get(f"/threads/{thread_id}/state").json()["values"]

    def done(self, tag: str, *words: str) -> list[list[str]]:
        """Return the lines of the ledger under a tag, only those that begin with a word."""
        if not self._ledger.exists():
            return []
        lines = [line.split() for line in self._ledger.read_text().splitlines()]
        return [line for line in lines if line[1] == tag and (not words or line[0] in words)]


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.servers)]
)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    environment = {}
    if request.param == "postgres":
        environment["THREADKEEP_DATABASE_URL"] = request.getfixturevalue("postgres_module_url")
    folder = tmp_path_factory.mktemp("pains")
    shutil.copytree(APP, folder, dirs_exist_ok=True)
    ledger = folder / "ledger.txt"
    with dev_server(folder, "--no-reload", PAINS_LEDGER=str(ledger), **environment) as process:
        yield Server(process.url, ledger)


@pytest.fixture
def tag() -> str:
    return "t" + uuid.uuid4().hex


def until(look: Callable[[], Any], *, within_seconds: float = 30.0) -> Any:
    """Look until there is something to see, and return it."""
    deadline = time.monotonic() + within_seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"still {found!r}"
        time.sleep(POLL_SECONDS)
    return found


def events(response: httpx.Response) -> Iterator[dict[str, Any]]:
    found: dict[str, Any] = {}
    for line in response.iter_lines():
        if not line and "data" in found:
            yield found
            found = {}
        elif line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            found[name] = json.loads(value) if name == "data" else value


def test_p03_history_pages_are_bounded_and_complete(server: Server) -> None:
    thread_id = server.thread()
    for turn in range(4):
        server.sdk.runs.wait(thread_id, "ticking", input={"steps": 3 * (turn + 1)})
    path, seen = f"/threads/{thread_id}/history", []
    before: dict[str, Any] = {}
    while page := server.http.post(path, json={"limit": 5} | before).json():
        assert len(page) <= 5
        seen += [state["checkpoint"]["checkpoint_id"] for state in page]
        before = {"before": page[-1]["checkpoint"]}
    every = server.http.post(path, json={"limit": 1000}).json()
    assert seen == [state["checkpoint"]["checkpoint_id"] for state in every]
    assert len(seen) == len(set(seen)) > 12


def test_p05_a_nul_in_input_state_and_error(server: Server, tag: str) -> None:
    thread_id = server.thread()
    answer: Any = server.sdk.runs.wait(thread_id, "echo", input={"tag": tag, "blob": "a\x00b"})
    assert answer["blob"] == "a\x00b"
    assert server.values(thread_id)["blob"] == "a\x00b"
    assert server.http.get(f"/threads/{thread_id}/runs").json()[0]["status"] == "success"
    failed = server.thread()
    run = server.sdk.runs.create(failed, "failing", input={"tag": tag})
    until(lambda: server.status(failed, run["run_id"]) == "error")


def test_p19_two_runs_never_work_on_one_thread_at_once(server: Server, tag: str) -> None:
    thread_id = server.thread()
    given: Any = {"tag": tag, "seconds": 0.6}
    runs = [server.sdk.runs.create(thread_id, "slow", input=given) for _ in range(3)]
    until(lambda: all(server.status(thread_id, run["run_id"]) == "success" for run in runs))
    lines = sorted(server.done(tag), key=lambda line: float(line[2]))
    assert [line[0] for line in lines] == ["start", "end"] * 3
    assert len(server.values(thread_id)["log"]) == 6


def test_p19_reject_refuses_the_second_run(server: Server, tag: str) -> None:
    thread_id = server.thread()
    server.sdk.runs.create(thread_id, "slow", input={"tag": tag, "seconds": 1.5})
    body = {"assistant_id": "slow", "input": {"tag": tag}, "multitask_strategy": "reject"}
    assert server.http.post(f"/threads/{thread_id}/runs", json=body).status_code == 409
    until(lambda: server.status(thread_id) != "busy")
    assert len(server.done(tag, "start")) == 1


def test_p23_deleting_a_thread_with_a_run_in_flight(server: Server, tag: str) -> None:
    thread_id, other = server.thread(), server.thread()
    run = server.sdk.runs.create(thread_id, "slow", input={"tag": tag, "seconds": 1.5})
    until(lambda: server.done(tag))
    assert server.http.delete(f"/threads/{thread_id}").status_code == 204
    server.sdk.runs.wait(other, "slow", input={"tag": f"{tag}-other", "seconds": 2})
    for path in ("", f"/runs/{run['run_id']}", "/state"):
        assert server.http.get(f"/threads/{thread_id}{path}").status_code == 404
    assert server.done(tag, "end") == [], "the deleted thread's run went on"


def test_p31_two_resumes_at_once_answer_once(server: Server, tag: str) -> None:
    thread_id = server.thread()
    server.sdk.runs.wait(thread_id, "interrupting", input={"tag": tag})
    assert server.status(thread_id) == "interrupted"
    body = {
        "assistant_id": "interrupting",
        "command": {"resume": "yes"},
        "multitask_strategy": "reject",
    }
    path = f"/threads/{thread_id}/runs/wait"
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: server.http.post(path, json=body), range(2)))
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    assert len(server.done(tag, "answered")) == 1
    assert len(server.done(tag, "before")) == 1
    assert server.values(thread_id)["log"] == ["before", "answer:yes"]


def test_p33_a_cancelled_run_frees_its_thread(server: Server, tag: str) -> None:
    thread_id = server.thread()
    run = server.sdk.runs.create(thread_id, "slow", input={"tag": tag, "seconds": 20})
    until(lambda: server.done(tag))
    path = f"/threads/{thread_id}/runs/{run['run_id']}/cancel"
    assert server.http.post(path).status_code == 202
    until(lambda: server.status(thread_id) != "busy", within_seconds=5)
    assert server.status(thread_id, run["run_id"]) == "interrupted"
    server.sdk.runs.wait(thread_id, "echo", input={"tag": "after"})
    assert server.values(thread_id)["log"][-1] == "echo:after"
    assert server.http.post(path).status_code == 202


def test_p33_a_failed_run_says_why_and_frees_its_thread(server: Server, tag: str) -> None:
    thread_id = server.thread()
    run = server.sdk.runs.create(thread_id, "failing", input={"tag": tag})
    until(lambda: server.status(thread_id, run["run_id"]) == "error")
    assert server.status(thread_id) == "error"
    thread = server.http.get(f"/threads/{thread_id}").json()
    assert "deliberate failure" in thread["error"]["message"]
    assert len(server.done(tag)) == 1, "a failing node was tried again without being asked"
    server.sdk.runs.wait(thread_id, "echo", input={"tag": "after"})
    assert server.status(thread_id) == "idle"


@pytest.mark.parametrize("is_over", [False, True], ids=["while-running", "after-the-end"])
def test_p35_a_dropped_stream_resumes_without_gap_or_repeat(server: Server, is_over: bool) -> None:
    thread_id = server.thread()
    body = {
        "assistant_id": "ticking",
        "input": {"steps": 15},
        "stream_mode": ["updates"],
        "stream_resumable": True,
        "on_disconnect": "continue",
    }
    first: list[dict[str, Any]] = []
    with server.http.stream("POST", f"/threads/{thread_id}/runs/stream", json=body) as response:
        for event in events(response):
            first.append(event)
            if len(first) == 5:
                break
    path = response.headers["content-location"]
    if is_over:
        until(lambda: server.http.get(path).json()["status"] == "success")
    with server.http.stream(
        "GET",
        f"{path}/stream",
        headers={"Last-Event-ID": first[-1]["id"]},
        params={"stream_mode": "updates"},
    ) as again:
        rest = list(events(again))
    numbers = [
        event["data"]["tick"]["log"][0] for event in first + rest if event["event"] == "updates"
    ]
    assert numbers == list(range(15))


@pytest.mark.parametrize(("policy", "finishes"), [("continue", True), ("cancel", False)])
def test_p35_leaving_a_stream_follows_on_disconnect(
    server: Server, tag: str, policy: str, finishes: bool
) -> None:
    thread_id = server.thread()
    body = {
        "assistant_id": "slow",
        "input": {"tag": tag, "seconds": 1},
        "stream_mode": ["values"],
        "on_disconnect": policy,
    }
    with server.http.stream("POST", f"/threads/{thread_id}/runs/stream", json=body) as response:
        until(lambda: server.done(tag))
    path = response.headers["content-location"]
    until(lambda: server.http.get(path).json()["status"] in {"success", "interrupted"})
    assert bool(server.done(tag, "end")) is finishes
    until(lambda: server.status(thread_id) != "busy")


def test_p39_a_large_tool_result_over_http(server: Server, tag: str) -> None:
    thread_id = server.thread()
    text = "0123456789abcdef" * (8 * 1024 * 1024 // 16)
    body = {"assistant_id": "echo", "input": {"tag": tag, "blob": text}}
    response = server.http.post(f"/threads/{thread_id}/runs/wait", json=body)
    assert response.status_code == 200
    assert response.json()["blob"] == text
    assert server.values(thread_id)["blob"] == text
