"""Threads and their states, as LangGraph's client sees them."""

from typing import Any
from uuid import uuid4

import httpx
import pytest
from langgraph_sdk import errors
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

from tests.integration.http_graphs import graphs
from tests.integration.http_server import serve

KEYS = {
    "thread_id", "created_at", "updated_at", "state_updated_at", "metadata", "status", "config",
    "values", "error", "interrupts",
}  # fmt: skip


def test_a_new_thread_is_idle_and_empty(client: SyncLangGraphClient) -> None:
    made = client.threads.create(metadata={"a": 1})
    assert set(made) == KEYS
    assert (made["status"], made["values"], made["metadata"]) == ("idle", None, {"a": 1})
    assert client.threads.get(made["thread_id"]) == made


def test_a_thread_may_bring_its_id(client: SyncLangGraphClient) -> None:
    thread_id = str(uuid4())
    made = client.threads.create(thread_id=thread_id, metadata={"a": 1})
    assert made["thread_id"] == thread_id
    with pytest.raises(errors.ConflictError):
        client.threads.create(thread_id=thread_id)
    again = client.threads.create(thread_id=thread_id, if_exists="do_nothing", metadata={"b": 2})
    assert again == made


def test_an_update_merges_metadata(client: SyncLangGraphClient) -> None:
    made = client.threads.create(metadata={"a": 1, "b": 1})
    updated = client.threads.update(made["thread_id"], metadata={"b": 2, "c": 3})
    assert updated["metadata"] == {"a": 1, "b": 2, "c": 3}
    answer = client.threads.update(made["thread_id"], metadata={}, return_minimal=True)
    assert answer is None


def test_a_lifetime_is_shown_when_asked_for(
    client: SyncLangGraphClient, http: httpx.Client
) -> None:
    made = client.threads.create(ttl=5)
    assert "ttl" not in made
    path = f"/threads/{made['thread_id']}"
    shown = http.get(path, params={"include": "ttl"}).json()["ttl"]
    assert (shown["strategy"], shown["ttl_minutes"]) == ("delete", 5)
    http.patch(path, json={"metadata": {}})
    assert http.get(path, params={"include": "ttl"}).json()["ttl"] is not None
    http.patch(path, json={"ttl": None})
    assert http.get(path, params={"include": "ttl"}).json()["ttl"] is None


def test_a_deleted_thread_is_gone_and_its_id_starts_empty(client: SyncLangGraphClient) -> None:
    thread_id = str(uuid4())
    client.runs.wait(thread_id, "echo", input={"tag": "a"}, if_not_exists="create")
    client.threads.delete(thread_id)
    with pytest.raises(errors.NotFoundError):
        client.threads.get(thread_id)
    with pytest.raises(errors.NotFoundError):
        client.threads.get_state(thread_id)
    client.threads.create(thread_id=thread_id)
    assert (client.threads.get_state(thread_id))["values"] == {}
    assert client.runs.wait(thread_id, "echo", input={"tag": "b"}) == {
        "log": ["echo:b"],
        "tag": "b",
    }


def test_deleting_a_thread_stops_its_run(client: SyncLangGraphClient) -> None:
    thread = client.threads.create()
    run = client.runs.create(thread["thread_id"], "hanging", input={})
    client.threads.delete(thread["thread_id"])
    with pytest.raises(errors.NotFoundError):
        client.runs.get(thread["thread_id"], run["run_id"])


def test_a_search_finds_by_labels_values_status_and_ids(
    client: SyncLangGraphClient, label: dict[str, str]
) -> None:
    made = [client.threads.create(metadata=label | {"n": n}) for n in range(3)]
    ids = [thread["thread_id"] for thread in made]
    client.runs.wait(ids[0], "echo", input={"tag": label["label"]})
    client.runs.wait(ids[1], "asking", input={})

    def found(**criteria: Any) -> list[str]:
        return [row["thread_id"] for row in client.threads.search(**criteria)]

    assert found(metadata=label) == ids[::-1]
    assert found(metadata=label, sort_by="created_at", sort_order="asc") == ids
    assert found(metadata=label | {"n": 1}) == [ids[1]]
    assert found(values={"tag": label["label"]}) == [ids[0]]
    assert found(metadata=label, status="interrupted") == [ids[1]]
    assert found(ids=ids[:2], sort_by="thread_id", sort_order="asc") == sorted(ids[:2])
    assert client.threads.count(metadata=label) == 3
    assert client.threads.count(metadata=label, status="idle") == 2


def test_a_search_answers_only_the_selected_fields(
    client: SyncLangGraphClient, label: dict[str, str]
) -> None:
    client.threads.create(metadata=label)
    (row,) = client.threads.search(metadata=label, select=["thread_id", "status"])
    assert set(row) == {"thread_id", "status"}


def test_a_cut_page_says_how_many_and_where_to_go_on(
    http: httpx.Client, label: dict[str, str]
) -> None:
    for _ in range(5):
        http.post("/threads", json={"metadata": label})
    seen: list[str] = []
    offset: str | None = "0"
    while offset is not None:
        query = {"metadata": label, "limit": 2, "offset": int(offset)}
        page = http.post("/threads/search", json=query)
        assert page.headers["x-pagination-total"] == "5"
        seen += [row["thread_id"] for row in page.json()]
        offset = page.headers.get("x-pagination-next")
    assert len(set(seen)) == len(seen) == 5


def test_a_lower_bound_of_the_server_cuts_and_says_so(label: dict[str, str]) -> None:
    with serve(graphs(), "memory://", max_page_size=3) as url:
        for _ in range(5):
            httpx.post(f"{url}/threads", json={"metadata": label})
        page = httpx.post(f"{url}/threads/search", json={"limit": 1000})
        assert len(page.json()) == 3
        assert page.headers["x-pagination-next"] == "3"
        assert httpx.post(f"{url}/threads/search", json={"limit": 1001}).status_code == 422


def test_values_too_large_for_the_row_are_read_from_the_head(
    client: SyncLangGraphClient, label: dict[str, str]
) -> None:
    thread = client.threads.create(metadata=label)
    blob = "x" * 10_000
    client.runs.wait(thread["thread_id"], "echo", input={"tag": "a", "blob": blob})
    assert (client.threads.get(thread["thread_id"]))["values"]["blob"] == blob  # type: ignore[index]
    (found,) = client.threads.search(metadata=label, select=["values"])
    assert found["values"]["blob"] == blob  # type: ignore[index]
    (found,) = client.threads.search(metadata=label, select=["thread_id"])
    assert set(found) == {"thread_id"}


def test_the_state_of_a_thread_without_a_run_is_empty(client: SyncLangGraphClient) -> None:
    thread = client.threads.create()
    state = client.threads.get_state(thread["thread_id"])
    assert (state["values"], state["next"], state["tasks"]) == ({}, [], [])
    assert state["checkpoint"]["thread_id"] == thread["thread_id"]
    assert client.threads.get_history(thread["thread_id"]) == []


def test_a_state_is_read_now_and_at_each_of_its_checkpoints(client: SyncLangGraphClient) -> None:
    thread_id = (client.threads.create())["thread_id"]
    client.runs.wait(thread_id, "ticking", input={"steps": 3})
    history = client.threads.get_history(thread_id)
    newest = client.threads.get_state(thread_id)
    assert newest["values"]["log"] == [0, 1, 2]  # type: ignore[call-overload]
    assert history[0]["checkpoint"] == newest["checkpoint"]
    for state in history:
        place = state["checkpoint"]
        by_id = client.threads.get_state(thread_id, checkpoint_id=place["checkpoint_id"])
        by_place = client.threads.get_state(thread_id, checkpoint=place)
        assert by_id["values"] == by_place["values"] == state["values"]
        assert by_id["checkpoint"] == by_place["checkpoint"] == place
    with pytest.raises(errors.NotFoundError):
        client.threads.get_state(thread_id, checkpoint_id=str(uuid4()))


def test_a_history_is_read_by_pages_without_gap_or_repeat(client: SyncLangGraphClient) -> None:
    thread_id = (client.threads.create())["thread_id"]
    client.runs.wait(thread_id, "ticking", input={"steps": 9})
    whole = [s["checkpoint"] for s in client.threads.get_history(thread_id, limit=1000)]
    assert len(whole) == 11
    seen: list[Any] = []
    before: Any = None
    while page := client.threads.get_history(thread_id, limit=4, before=before):
        assert len(page) <= 4
        seen += [state["checkpoint"] for state in page]
        before = page[-1]["checkpoint"]
    assert seen == whole


def test_a_history_goes_on_before_an_id_and_is_filtered_by_metadata(
    client: SyncLangGraphClient, http: httpx.Client
) -> None:
    thread_id = (client.threads.create())["thread_id"]
    client.runs.wait(thread_id, "ticking", input={"steps": 2})
    whole = client.threads.get_history(thread_id)
    path, second = f"/threads/{thread_id}/history", whole[1]["checkpoint"]["checkpoint_id"]
    expected = [state["checkpoint"] for state in whole[2:]]
    for before in (second, {"configurable": {"checkpoint_id": second}}):
        found = http.post(path, json={"before": before}).json()
        assert [state["checkpoint"] for state in found] == expected
    assert [s["checkpoint"] for s in http.get(path, params={"before": second}).json()] == expected
    assert len(http.get(path, params={"limit": 2}).json()) == 2
    assert http.post(path, json={"limit": 0}).json() == []
    inputs = client.threads.get_history(thread_id, metadata={"source": "input"})
    assert [state["metadata"]["source"] for state in inputs] == ["input"]  # type: ignore[index]


def test_an_update_changes_the_state_and_the_row(client: SyncLangGraphClient) -> None:
    thread_id = (client.threads.create())["thread_id"]
    client.runs.wait(thread_id, "echo", input={"tag": "a"})
    before = client.threads.get_state(thread_id)
    written = client.threads.update_state(thread_id, {"log": ["by hand"]}, as_node="say")
    after = client.threads.get_state(thread_id)
    assert after["checkpoint"]["checkpoint_id"] == written["checkpoint"]["checkpoint_id"]
    assert after["parent_checkpoint"] == before["checkpoint"]
    assert after["values"]["log"] == ["echo:a", "by hand"]  # type: ignore[call-overload]
    assert (client.threads.get(thread_id))["values"] == after["values"]


def test_an_update_forks_from_an_older_state(client: SyncLangGraphClient) -> None:
    thread_id = (client.threads.create())["thread_id"]
    client.runs.wait(thread_id, "ticking", input={"steps": 3})
    older = (client.threads.get_history(thread_id))[2]
    place = older["checkpoint"]
    client.threads.update_state(
        thread_id, {"log": ["fork"]}, as_node="tick", checkpoint_id=place["checkpoint_id"]
    )
    head = client.threads.get_state(thread_id)
    assert head["parent_checkpoint"]["checkpoint_id"] == place["checkpoint_id"]  # type: ignore[index]
    assert head["values"]["log"] == [*older["values"]["log"], "fork"]  # type: ignore[call-overload]


def test_an_update_before_any_run_needs_the_name_of_the_graph(
    client: SyncLangGraphClient,
) -> None:
    bare = (client.threads.create())["thread_id"]
    with pytest.raises(errors.UnprocessableEntityError, match=r"metadata\.graph_id"):
        client.threads.update_state(bare, {"log": ["a"]})
    named = (client.threads.create(graph_id="echo"))["thread_id"]
    client.threads.update_state(named, {"log": ["a"]}, as_node="say")
    assert (client.threads.get_state(named))["values"] == {"log": ["a"]}


@pytest.mark.parametrize(
    ("values", "as_node"), [({"log": "text"}, "nobody"), ({"log": 5}, "say"), (5, "say")]
)
def test_an_update_that_does_not_fit_is_refused(
    client: SyncLangGraphClient, values: Any, as_node: str
) -> None:
    thread_id = (client.threads.create(graph_id="echo"))["thread_id"]
    with pytest.raises(errors.UnprocessableEntityError, match="refuses the update"):
        client.threads.update_state(thread_id, values, as_node=as_node)


def test_an_update_during_a_run_is_refused(client: SyncLangGraphClient) -> None:
    thread_id = (client.threads.create())["thread_id"]
    run = client.runs.create(thread_id, "hanging", input={})
    with pytest.raises(errors.ConflictError, match="busy"):
        client.threads.update_state(thread_id, {"log": ["a"]}, as_node="hang")
    client.runs.cancel(thread_id, run["run_id"], wait=True)


def test_the_state_of_a_subgraph_is_read(client: SyncLangGraphClient) -> None:
    thread_id = (client.threads.create())["thread_id"]
    client.runs.wait(thread_id, "nested", input={"tag": "a"})
    (task,) = (client.threads.get_state(thread_id))["tasks"]
    assert task["interrupts"][0]["value"] == {"question": "ok?"}
    assert task["state"] is None
    place: Any = task["checkpoint"]
    inner = client.threads.get_state(thread_id, checkpoint=place)
    assert inner["values"]["log"] == ["echo:a"]  # type: ignore[call-overload]
    (unfolded,) = (client.threads.get_state(thread_id, subgraphs=True))["tasks"]
    assert unfolded["state"]["values"] == inner["values"]  # type: ignore[index]
    states = client.threads.get_history(thread_id, checkpoint=place)
    assert states[0]["checkpoint"]["checkpoint_ns"] == place["checkpoint_ns"]


def test_messages_come_back_as_their_fields(client: SyncLangGraphClient) -> None:
    thread_id = (client.threads.create())["thread_id"]
    message: Any = {"role": "user", "content": "hi"}
    client.runs.wait(thread_id, "chat", input={"messages": [message]})
    state: Any = client.threads.get_state(thread_id)
    assert [m["type"] for m in state["values"]["messages"]] == ["human", "ai"]
    assert state["values"]["messages"][1]["content"] == "you said hi"


def test_credentials_of_a_config_do_not_come_back(
    client: SyncLangGraphClient, http: httpx.Client
) -> None:
    thread_id = (client.threads.create())["thread_id"]
    secrets = {"openai_api_key": "sk-secret", "user_id": "u"}
    client.runs.wait(thread_id, "echo", input={}, config={"configurable": secrets})
    paths = ("", "/state", "/history", "/runs")
    texts = [http.get(f"/threads/{thread_id}{path}").text for path in paths]
    assert not any("sk-secret" in text for text in texts)
    assert '"user_id":"u"' in texts[0]


@pytest.mark.anyio
async def test_the_awaiting_client_does_the_same(
    async_client: LangGraphClient, label: dict[str, str]
) -> None:
    threads = async_client.threads
    made = await threads.create(metadata=label, graph_id="echo")
    thread_id = made["thread_id"]
    assert (await threads.update(thread_id, metadata={"b": 2}))["metadata"]["b"] == 2  # type: ignore[index]
    await threads.update_state(thread_id, {"log": ["a"]}, as_node="say")
    assert (await threads.get_state(thread_id))["values"] == {"log": ["a"]}
    assert len(await threads.get_history(thread_id)) == 1
    assert [row["thread_id"] for row in await threads.search(ids=[thread_id])] == [thread_id]
    assert await threads.count(metadata=label | {"b": 2}) == 1
    assert (await threads.get(thread_id))["status"] == "idle"
    await threads.delete(thread_id)
    with pytest.raises(errors.NotFoundError):
        await threads.get(thread_id)
