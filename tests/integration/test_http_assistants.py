"""Assistants and the server itself over HTTP, as LangGraph's client sees them."""

from typing import Any
from uuid import UUID, uuid5

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

from tests.integration.http_graphs import graphs

GRAPHS = sorted(graphs())
NAMESPACE = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")  # LangGraph's server makes the same ids
ECHO = str(uuid5(NAMESPACE, "echo"))
SYSTEM: Any = {"created_by": "system"}
MESSAGE_KEYS = {"messages"}


def test_a_server_says_that_it_is_there_and_what_it_is(http: httpx.Client) -> None:
    assert http.get("/ok").json() == {"ok": True}
    info = http.get("/info").json()
    assert set(info) == {"version", "langgraph_py_version", "flags"}
    assert info["flags"] == {"assistants": True, "crons": True, "langsmith": False}


def test_each_graph_is_an_assistant(client: SyncLangGraphClient) -> None:
    found = client.assistants.search(
        metadata=SYSTEM, limit=100, sort_by="graph_id", sort_order="asc"
    )
    assert [row["graph_id"] for row in found] == GRAPHS
    echo = client.assistants.get(ECHO)
    assert echo in found
    assert (echo["name"], echo["version"]) == ("echo", 1)
    assert echo["metadata"] == SYSTEM
    assert client.assistants.count(metadata=SYSTEM) == len(GRAPHS)
    assert client.assistants.count(metadata=SYSTEM, graph_id="echo") == 1


def test_assistants_are_found_by_graph_name_and_label(client: SyncLangGraphClient) -> None:
    queries: list[Any] = [{"graph_id": "echo"}, {"name": "ECH"}]
    for query in queries:
        found: Any = client.assistants.search(metadata=SYSTEM, **query)
        assert [row["assistant_id"] for row in found] == [ECHO]
    assert client.assistants.search(metadata={"created_by": "nobody"}) == []


def test_a_page_of_assistants_says_where_to_go_on(client: SyncLangGraphClient) -> None:
    page: Any = client.assistants.search(limit=2, response_format="object")
    assert len(page["assistants"]) == 2
    assert page["next"] == "2"
    (row, *_) = client.assistants.search(limit=1, select=["name"])
    assert set(row) == {"name"}


@pytest.mark.parametrize("ident", ["echo", ECHO])
def test_a_graph_is_described(client: SyncLangGraphClient, ident: str) -> None:
    schemas: Any = client.assistants.get_schemas(ident)
    assert schemas["graph_id"] == "echo"
    for name in ("input_schema", "output_schema", "state_schema"):
        assert {"log", "tag"} <= set(schemas[name]["properties"])
    drawing: Any = client.assistants.get_graph(ident)
    assert {node["id"] for node in drawing["nodes"]} == {"__start__", "say", "__end__"}
    assert {"source": "__start__", "target": "say"} in drawing["edges"]


def test_messages_are_described(client: SyncLangGraphClient) -> None:
    schemas: Any = client.assistants.get_schemas("chat")
    assert set(schemas["state_schema"]["properties"]) == MESSAGE_KEYS


def test_subgraphs_are_described_and_drawn(client: SyncLangGraphClient) -> None:
    found: Any = client.assistants.get_subgraphs("nested")
    assert list(found) == ["child"]
    assert "log" in found["child"]["state_schema"]["properties"]
    assert list(client.assistants.get_subgraphs("nested", namespace="child")) == ["child"]
    assert client.assistants.get_subgraphs("echo", recurse=True) == {}
    flat: Any = client.assistants.get_graph("nested")
    deep: Any = client.assistants.get_graph("nested", xray=True)
    assert len(deep["nodes"]) > len(flat["nodes"])


@pytest.mark.anyio
async def test_the_awaiting_client_does_the_same(async_client: LangGraphClient) -> None:
    assistants = async_client.assistants
    assert (await assistants.get(ECHO))["graph_id"] == "echo"
    assert len(await assistants.search(metadata=SYSTEM)) == await assistants.count(metadata=SYSTEM)
    schemas: Any = await assistants.get_schemas(ECHO)
    assert schemas["graph_id"] == "echo"
    drawing: Any = await assistants.get_graph(ECHO, xray=1)
    assert drawing["nodes"]
    assert await assistants.get_subgraphs(ECHO) == {}
