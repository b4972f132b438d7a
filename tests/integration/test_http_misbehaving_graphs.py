"""Graphs that do what no graph should: each hurts its own runs only, and the server goes on."""

import operator
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import httpx
import pytest
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from tests.integration.http_server import serve


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    raised: str
    picky: Annotated[Any, lambda old, new: sys.exit(4) if new == "exit" else new]


RAISED: dict[str, Any] = {
    "exit": SystemExit(3),
    "interrupt": KeyboardInterrupt("now"),
    "stop": StopIteration(5),
    "stop_async": StopAsyncIteration(5),
    "base": BaseException("base"),
    "generator_exit": GeneratorExit("gone"),
    "group": ExceptionGroup("several", [ValueError("one")]),
    "memory": MemoryError(),
}


def raise_it(state: State) -> State:
    if state.get("raised"):
        raise RAISED[state["raised"]]
    return {"log": ["fine"]}


async def raise_it_soon(state: State) -> State:
    return raise_it(state)


def one_node(node: Any) -> Any:
    return StateGraph(State).add_node("node", node).add_edge(START, "node").compile()


def leaves() -> Any:
    sys.exit(5)


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    graphs = {
        "no_graph": int,
        "sync": one_node(raise_it),
        "async": one_node(raise_it_soon),
        "leaves": leaves,
    }
    path = tmp_path_factory.mktemp("misbehaving") / "t.db"
    with (
        serve(graphs, f"sqlite:///{path}") as url,
        httpx.Client(base_url=url, timeout=20) as client,
    ):
        yield client


def new_thread(http: httpx.Client, **metadata: Any) -> str:
    made: str = http.post("/threads", json={"metadata": metadata}).json()["thread_id"]
    return made


def wait(http: httpx.Client, thread_id: str, graph_id: str, given: Any) -> Any:
    asked = {"assistant_id": graph_id, "input": given}
    answer = http.post(f"/threads/{thread_id}/runs/wait", json=asked)
    assert answer.status_code == 200
    return answer.json()


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("graph_id", ["sync", "async"])
def test_whatever_a_node_raises_is_the_end_of_its_run_only(
    http: httpx.Client, graph_id: str, raised: str
) -> None:
    thread_id = new_thread(http)
    answer = wait(http, thread_id, graph_id, {"raised": raised})
    assert set(answer) == {"__error__"}
    row = http.get(f"/threads/{thread_id}").json()
    assert (row["status"], row["error"]) == ("error", answer["__error__"])
    after = wait(http, thread_id, graph_id, {"raised": "", "log": []})
    assert after["log"] == ["fine"]
    assert http.get(f"/threads/{thread_id}").json()["status"] == "idle"


def test_an_exit_says_what_it_was(http: httpx.Client) -> None:
    answer = wait(http, new_thread(http), "async", {"raised": "exit"})
    assert answer["__error__"] == {
        "error": "GraphError",
        "message": "the graph raised SystemExit(3)",
    }


def test_an_update_whose_reducer_leaves_is_refused_and_the_server_stays(http: httpx.Client) -> None:
    thread_id = new_thread(http, graph_id="async")
    first = http.post(f"/threads/{thread_id}/state", json={"values": {"picky": "stay"}})
    assert first.status_code == 200
    path = f"/threads/{thread_id}/state"
    left = http.post(path, json={"values": {"picky": "exit"}, "as_node": "node"})
    assert (left.status_code, left.json()["code"]) == (500, "graph_error")
    assert http.get("/ok").status_code == 200


def test_a_factory_that_leaves_fails_its_run_and_every_read(http: httpx.Client) -> None:
    thread_id = new_thread(http, graph_id="leaves")
    assert wait(http, thread_id, "leaves", {})["__error__"]["error"] == "GraphError"
    for path in (f"/threads/{thread_id}/state", f"/threads/{thread_id}/history"):
        answer = http.get(path)
        assert (answer.status_code, answer.json()["code"]) == (500, "graph_error")
    assert http.get("/assistants/leaves/schemas").json()["code"] == "graph_error"


def test_what_is_no_graph_does_not_keep_the_others_from_loading(http: httpx.Client) -> None:
    answer = wait(http, new_thread(http), "no_graph", {})
    assert answer["__error__"]["error"] == "GraphLoadError"


def test_a_state_that_its_graph_cannot_read_hides_neither_its_thread_nor_others(
    http: httpx.Client,
) -> None:
    thread_id = new_thread(http, owner="me")
    other_id = new_thread(http, owner="me")
    wait(http, other_id, "sync", {"log": ["x" * 5000]})
    assert "__error__" in wait(http, thread_id, "sync", {"log": 5})
    row = http.get(f"/threads/{thread_id}").json()
    assert (row["status"], row["values"]) == ("error", None)
    found = http.post("/threads/search", json={"metadata": {"owner": "me"}}).json()
    assert {each["thread_id"] for each in found} == {thread_id, other_id}
    state = http.get(f"/threads/{thread_id}/state").json()
    assert (state["status"], state["code"]) == (500, "graph_error")
    assert "TypeError" in state["detail"]
