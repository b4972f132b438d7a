"""Assistants made, changed in versions and deleted, as LangGraph's client does it."""

from typing import Any
from uuid import uuid4

import httpx
import pytest
from langgraph_sdk import errors
from langgraph_sdk.client import SyncLangGraphClient

KEYS = {
    "assistant_id", "graph_id", "name", "description", "config", "context", "metadata", "version",
    "created_at", "updated_at",
}  # fmt: skip


def test_an_assistant_is_made_of_a_graph(
    client: SyncLangGraphClient, label: dict[str, str]
) -> None:
    made = client.assistants.create(
        "echo", config={"tags": ["t"]}, metadata=label, name="mine", description="says it"
    )
    assert set(made) == KEYS
    assert (made["version"], made["name"], made["description"]) == (1, "mine", "says it")
    assert client.assistants.get(made["assistant_id"]) == made
    assert client.assistants.search(metadata=label) == [made]
    answer = client.runs.wait(None, made["assistant_id"], input={"tag": "a"})
    assert answer == {"log": ["echo:a"], "tag": "a"}


def test_configurable_and_context_are_one_thing(client: SyncLangGraphClient) -> None:
    by_config = client.assistants.create("echo", config={"configurable": {"shown": 1}})
    assert by_config["context"] == {"shown": 1}
    by_context = client.assistants.create("echo", context={"shown": 1})
    assert by_context["config"]["configurable"] == {"shown": 1}
    changed = client.assistants.update(by_context["assistant_id"], context={"shown": 2})
    assert changed["config"]["configurable"] == changed["context"] == {"shown": 2}
    with pytest.raises(errors.UnprocessableEntityError, match="give context alone"):
        client.assistants.create("echo", config={"configurable": {"a": 1}}, context={"a": 2})


def test_the_id_of_an_assistant_is_taken_once(client: SyncLangGraphClient) -> None:
    assistant_id = str(uuid4())
    made = client.assistants.create("echo", assistant_id=assistant_id)
    with pytest.raises(errors.ConflictError):
        client.assistants.create("echo", assistant_id=assistant_id)
    again = client.assistants.create("chat", assistant_id=assistant_id, if_exists="do_nothing")
    assert again == made


def test_an_assistant_of_no_graph_is_refused(client: SyncLangGraphClient) -> None:
    with pytest.raises(errors.NotFoundError):
        client.assistants.create("unheard-of")
    made = client.assistants.create("echo")
    with pytest.raises(errors.NotFoundError):
        client.assistants.update(made["assistant_id"], graph_id="unheard-of")


def test_a_credential_is_not_kept_with_an_assistant(http: httpx.Client) -> None:
    body = {"graph_id": "echo", "config": {"configurable": {"api_key": "sk-1"}}}
    refused = http.post("/assistants", json=body)
    assert refused.status_code == 422
    assert "api_key" in refused.json()["detail"]
    assert "sk-1" not in refused.text


def test_versions_are_kept_and_come_back(client: SyncLangGraphClient) -> None:
    made = client.assistants.create("echo", context={"n": 1}, metadata={"a": 1})
    assistant_id = made["assistant_id"]
    second = client.assistants.update(assistant_id, context={"n": 2}, metadata={"b": 2}, name="b")
    assert (second["version"], second["name"]) == (2, "b")
    assert second["metadata"] == {"a": 1, "b": 2}
    versions: Any = client.assistants.get_versions(assistant_id)
    assert [row["version"] for row in versions] == [2, 1]
    assert set(versions[0]) == KEYS - {"updated_at"}
    (only,) = client.assistants.get_versions(assistant_id, metadata={"b": 2})
    assert only["version"] == 2
    first = client.assistants.set_latest(assistant_id, 1)
    assert (first["version"], first["context"], first["metadata"]) == (1, {"n": 1}, {"a": 1})
    assert client.assistants.update(assistant_id, name="c")["version"] == 3
    with pytest.raises(errors.NotFoundError):
        client.assistants.set_latest(assistant_id, 9)


def test_a_page_of_versions_says_where_to_go_on(
    client: SyncLangGraphClient, http: httpx.Client
) -> None:
    assistant_id = client.assistants.create("echo")["assistant_id"]
    client.assistants.update(assistant_id, name="b")
    page = http.post(f"/assistants/{assistant_id}/versions", json={"limit": 1})
    assert page.headers["X-Pagination-Total"] == "2"
    assert page.headers["X-Pagination-Next"] == "1"
    assert http.post(f"/assistants/{uuid4()}/versions", json={}).status_code == 404


def test_a_deleted_assistant_is_gone_with_its_threads_only_where_asked(
    client: SyncLangGraphClient,
) -> None:
    one, other = client.assistants.create("echo"), client.assistants.create("echo")
    threads = []
    for made in (one, other):
        thread_id = client.threads.create()["thread_id"]
        client.runs.wait(thread_id, made["assistant_id"], input={"tag": "a"})
        threads.append(thread_id)
    client.assistants.delete(one["assistant_id"])
    assert client.threads.get(threads[0])["status"] == "idle"
    client.assistants.delete(other["assistant_id"], delete_threads=True)
    with pytest.raises(errors.NotFoundError):
        client.threads.get(threads[1])
    for made in (one, other):
        with pytest.raises(errors.NotFoundError):
            client.assistants.get(made["assistant_id"])
        with pytest.raises(errors.NotFoundError):
            client.assistants.delete(made["assistant_id"])
        with pytest.raises(errors.NotFoundError):
            client.runs.create(None, made["assistant_id"], input={})
