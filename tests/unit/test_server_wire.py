"""Rows and states as clients read them."""

from datetime import UTC, datetime
from typing import Any

import langgraph_sdk.schema as sdk
import orjson
from langgraph.types import Interrupt, PregelTask, StateSnapshot

from threadkeep.model.assistants import Assistant
from threadkeep.model.queries import Listing
from threadkeep.model.runs import Run
from threadkeep.model.threads import Thread
from threadkeep.server import wire

NOW = datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
ADDRESS = {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "c2"}


def thread(**changes: Any) -> Thread:
    row: dict[str, Any] = {
        "thread_id": "t",
        "status": "idle",
        "metadata": {},
        "config": {"configurable": {"user_id": "u", "openai_api_key": "sk"}},
        "values": None,
        "head_checkpoint_id": "c2",
        "interrupts": {},
        "error": None,
        "created_at": NOW,
        "updated_at": NOW,
        "state_updated_at": NOW,
    }
    return Thread(**row | changes)


def run() -> Run:
    return Run(
        run_id="r",
        thread_id="t",
        assistant_id="a",
        status="success",
        metadata={},
        kwargs={"config": {"configurable": {"token": "x", "a": 1}}, "context": {"password": "x"}},
        multitask_strategy="enqueue",
        created_at=NOW,
        updated_at=NOW,
        start_at=NOW,
    )


def snapshot(**changes: Any) -> StateSnapshot:
    parts: dict[str, Any] = {
        "values": {"a": 1},
        "next": ("node",),
        "config": {"configurable": ADDRESS},
        "metadata": {"source": "loop", "api_key": "sk"},
        "created_at": "2026-01-02T03:04:05+00:00",
        "parent_config": {"configurable": {**ADDRESS, "checkpoint_id": "c1"}},
        "tasks": (),
        "interrupts": (Interrupt("ok?", id="i"),),
    }
    return StateSnapshot(**parts | changes)


def keys(shape: Any) -> set[str]:
    return set(shape.__annotations__)


def test_rows_have_every_key_that_the_client_library_knows() -> None:
    row = Assistant("a", "g", 1, "g", None, {}, {}, {}, NOW, NOW)
    assert keys(sdk.AssistantBase) | {"updated_at"} == set(wire.assistant(row))
    assert keys(sdk.Thread) - {"extracted"} <= set(wire.thread(thread()))
    assert keys(sdk.Run) - {"cancel_reason"} <= set(wire.run(run()))


def test_a_state_has_every_key_that_the_client_library_knows() -> None:
    shown = wire.state(snapshot())
    assert keys(sdk.ThreadState) <= set(shown)
    assert set(wire.no_state("t")) == set(shown)


def test_a_task_has_every_key_that_the_client_library_knows() -> None:
    task = PregelTask("id", "node", ("__pregel_pull", "node"), ValueError("bad"))
    (shown,) = wire.state(snapshot(tasks=(task,)))["tasks"]
    assert keys(sdk.ThreadTask) | {"path"} == set(shown)
    assert shown["error"] == "ValueError('bad')"


def test_a_state_names_its_checkpoint_and_the_one_before() -> None:
    shown = wire.state(snapshot())
    assert shown["checkpoint"] == ADDRESS
    assert shown["checkpoint_id"] == "c2"
    assert shown["parent_checkpoint"]["checkpoint_id"] == "c1"
    assert shown["parent_checkpoint_id"] == "c1"
    assert shown["interrupts"] == [{"value": "ok?", "id": "i"}]


def test_the_first_state_has_no_parent() -> None:
    shown = wire.state(snapshot(parent_config=None))
    assert shown["parent_checkpoint"] is None
    assert shown["parent_checkpoint_id"] is None


def test_a_subgraph_is_shown_as_its_address_or_as_its_state() -> None:
    place = {"configurable": {**ADDRESS, "checkpoint_ns": "node:1"}}
    addressed = PregelTask("id", "node", (), state=place)  # type: ignore[arg-type]
    unfolded = PregelTask("id", "node", (), state=snapshot(config=place))
    tasks = wire.state(snapshot(tasks=(addressed, unfolded)))["tasks"]
    assert tasks[0]["checkpoint"]["checkpoint_ns"] == "node:1"
    assert tasks[0]["state"] is None
    assert tasks[1]["checkpoint"] is None
    assert tasks[1]["state"]["checkpoint"]["checkpoint_ns"] == "node:1"


def test_credentials_do_not_come_back() -> None:
    assert wire.thread(thread())["config"] == {"configurable": {"user_id": "u"}}
    kwargs = wire.run(run())["kwargs"]
    assert kwargs == {"config": {"configurable": {"a": 1}}, "context": {}}
    assert wire.state(snapshot())["metadata"] == {"source": "loop"}


def test_times_are_iso_8601_with_their_offset() -> None:
    body = orjson.loads(wire.json_response(wire.thread(thread())).body)
    assert body["created_at"] == "2026-01-02T03:04:05.000006+00:00"


def test_a_cut_page_says_where_it_goes_on() -> None:
    response = wire.page_response([1], Listing([1], total=3, next_offset=1))
    assert response.headers["X-Pagination-Total"] == "3"
    assert response.headers["X-Pagination-Next"] == "1"


def test_a_last_page_names_no_next_one() -> None:
    response = wire.page_response([1], Listing([1], total=1, next_offset=None))
    assert response.headers["X-Pagination-Total"] == "1"
    assert "X-Pagination-Next" not in response.headers


def test_a_selection_keeps_what_was_selected() -> None:
    assert wire.pick({"a": 1, "b": 2}, ["b", "c"]) == {"b": 2}
    assert wire.pick({"a": 1, "b": 2}, None) == {"a": 1, "b": 2}
