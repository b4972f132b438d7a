"""Bodies: parsed within bounds, and the tables of what each may hold."""

from typing import Any

import pytest

from threadkeep.errors import MalformedBodyError
from threadkeep.server import bodies
from threadkeep.server.bodies import parse_json
from threadkeep.server.checks import Field, InvalidFieldError, read_fields

UUID = "0192f0c1-2d3e-7abc-8def-0123456789ab"
CHECKPOINT = "1ef663ba-28fe-6528-8002-5a559208592c"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"a": 1,}', "line 1, column 8"),
        (b'{"a":\n nope}', "line 2, column 2"),
        (b"\xff", "the body is not JSON"),
        (b'{"a": NaN}', "the body is not JSON"),
        (b'{"a": "\\ud800"}', "the body is not JSON"),
        (b"1e999", "the body is not JSON"),
        (b"[" * 100_000, "the body is not JSON"),
        (b"[" * 500 + b"]" * 500, "nested deeper than 200 levels"),
        (b'{"a":' * 300 + b"1" + b"}" * 300, "nested deeper than 200 levels"),
    ],
)
def test_what_is_no_json_or_too_deep_is_refused_with_its_place(body: bytes, says: str) -> None:
    with pytest.raises(MalformedBodyError) as caught:
        parse_json(body)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b'{"a": "x\\u0000y"}', {"a": "x\0y"}),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b"[" * 200 + b"]" * 200, None),
        (b"[]", []),
    ],
)
def test_what_is_json_comes_back(body: bytes, found: Any) -> None:
    parsed = parse_json(body)
    assert found is None or parsed == found


@pytest.mark.parametrize("ttl", [5, 0.5, {"ttl": 5}, {"ttl": 5, "strategy": "delete"}])
def test_a_lifetime_is_minutes_or_an_object_of_them(ttl: Any) -> None:
    found = read_fields({"ttl": ttl}, bodies.THREAD_CREATE)["ttl"]
    assert found == (ttl["ttl"] if isinstance(ttl, dict) else ttl)


@pytest.mark.parametrize(
    "before",
    [
        CHECKPOINT,
        {"checkpoint_id": CHECKPOINT, "thread_id": UUID, "checkpoint_ns": ""},
        {"configurable": {"checkpoint_id": CHECKPOINT}},
    ],
)
def test_a_history_goes_on_before_an_id_an_address_or_a_config(before: Any) -> None:
    found = read_fields({"before": before}, bodies.HISTORY)["before"]
    assert found["checkpoint_id"] == CHECKPOINT


BAD: list[tuple[tuple[Field, ...], dict[str, Any], str]] = [
    (bodies.THREAD_CREATE, {"thread_id": "x"}, "thread_id"),
    (bodies.THREAD_CREATE, {"metadata": []}, "metadata"),
    (bodies.THREAD_CREATE, {"if_exists": "maybe"}, "if_exists"),
    (bodies.THREAD_CREATE, {"ttl": 0}, "ttl"),
    (bodies.THREAD_CREATE, {"ttl": {"ttl": 5, "strategy": "keep_latest"}}, "ttl.strategy"),
    (bodies.THREAD_CREATE, {"supersteps": [{}]}, "supersteps[0].updates"),
    (bodies.THREAD_SEARCH, {"limit": 1001}, "limit"),
    (bodies.THREAD_SEARCH, {"offset": -1}, "offset"),
    (bodies.THREAD_SEARCH, {"status": "sleeping"}, "status"),
    (bodies.THREAD_SEARCH, {"sort_by": "metadata"}, "sort_by"),
    (bodies.THREAD_SEARCH, {"sort_order": "up"}, "sort_order"),
    (bodies.THREAD_SEARCH, {"select": ["secret"]}, "select[0]"),
    (bodies.THREAD_SEARCH, {"ids": ["x"]}, "ids[0]"),
    (bodies.THREAD_SEARCH, {"extract": {"a": "thread_id"}}, "extract"),
    (bodies.HISTORY, {"limit": "10"}, "limit"),
    (bodies.HISTORY, {"before": {}}, "before"),
    (bodies.HISTORY, {"before": 5}, "before"),
    (bodies.STATE_AT, {}, "checkpoint"),
    (bodies.STATE_AT, {"checkpoint": {"checkpoint_id": 5}}, "checkpoint.checkpoint_id"),
    (bodies.STATE_UPDATE, {"as_node": 5}, "as_node"),
    (bodies.RUN_CREATE, {}, "assistant_id"),
    (bodies.RUN_CREATE, {"assistant_id": "a", "config": {"tags": "x"}}, "config.tags"),
    (bodies.RUN_CREATE, {"assistant_id": "a", "config": []}, "config"),
    (bodies.RUN_CREATE, {"assistant_id": "a", "command": {}}, "command"),
    (bodies.RUN_CREATE, {"assistant_id": "a", "command": {"resume": None}}, "command"),
    (bodies.RUN_CREATE, {"assistant_id": "a", "command": {"goto": 5}}, "command.goto"),
    (bodies.RUN_CREATE, {"assistant_id": "a", "command": {"goto": {"x": 1}}}, "command.goto.node"),
    (bodies.RUN_CREATE, {"assistant_id": "a", "command": {"goto": ["n", 5]}}, "command.goto[1]"),
    (bodies.RUN_CREATE, {"assistant_id": "a", "stream_mode": "loud"}, "stream_mode"),
    (bodies.RUN_CREATE, {"assistant_id": "a", "stream_mode": ["values", 1]}, "stream_mode[1]"),
    (bodies.RUN_CREATE, {"assistant_id": "a", "interrupt_before": "x"}, "interrupt_before"),
    (bodies.RUN_CREATE, {"assistant_id": "a", "multitask_strategy": "x"}, "multitask_strategy"),
    (bodies.RUN_CREATE, {"assistant_id": "a", "webhook": ""}, "webhook"),
    (bodies.RUN_CREATE, {"assistant_id": "a", "after_seconds": -1}, "after_seconds"),
    (bodies.RUN_CREATE, {"assistant_id": "a", "durability": "never"}, "durability"),
    (bodies.RUN_CREATE, {"assistant_id": "a", "on_disconnect": "x"}, "on_disconnect"),
    (bodies.ITEM_PUT, {"namespace": [], "key": "k", "value": {}}, "namespace"),
    (bodies.ITEM_PUT, {"namespace": ["a"], "key": "", "value": {}}, "key"),
    (bodies.ITEM_PUT, {"namespace": ["a"], "key": "k", "value": 5}, "value"),
    (bodies.ITEM_PUT, {"namespace": ["a"], "key": "k", "value": {}, "index": True}, "index"),
    (bodies.ITEM_PUT, {"namespace": ["a"], "key": "k", "value": {}, "ttl": 0}, "ttl"),
    (bodies.NAMESPACE_LISTING, {"max_depth": 0}, "max_depth"),
    (bodies.RUNS_CANCEL, {"run_ids": ["x"]}, "run_ids[0]"),
]


@pytest.mark.parametrize(("fields", "body", "field"), BAD)
def test_each_wrong_field_is_named(
    fields: tuple[Field, ...], body: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidFieldError) as caught:
        read_fields(body, fields)
    assert caught.value.field == field


def test_what_a_run_is_made_of_without_saying_is_what_langgraphs_server_takes() -> None:
    found = read_fields({"assistant_id": "a"}, bodies.RUN_CREATE)
    assert found["multitask_strategy"] == "enqueue"
    assert found["if_not_exists"] == "reject"
    assert found["on_completion"] == "delete"
    assert found["on_disconnect"] == "continue"
    assert found["stream_mode"] == []
