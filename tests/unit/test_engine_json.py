"""State as JSON: messages as pydantic dumps them, and nothing that makes it fail."""

import json
from collections import namedtuple
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import pytest
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.tool import tool_call_chunk
from langgraph.types import Interrupt, Send
from pydantic import BaseModel

from threadkeep.engine.json import encode, error_of, interrupts_json, mirrored
from threadkeep.model.threads import MIRRORED_VALUES_BYTES

Point = namedtuple("Point", "x y")


class Color(Enum):
    RED = "red"


class Model(BaseModel):
    name: str
    when: datetime


@dataclass
class Data:
    items: set[int]


class Plain:
    def __str__(self) -> str:
        return "a plain object"


class Silent:
    def __str__(self) -> str:
        raise ValueError("no words")


def decoded(value: Any) -> Any:
    return orjson.loads(encode(value))


MESSAGES: list[BaseMessage] = [
    HumanMessage("hi", id="1", name="Ann"),
    HumanMessage([{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": "x"}]),
    AIMessage(
        "hello",
        id="2",
        tool_calls=[{"name": "f", "args": {"a": [1]}, "id": "c", "type": "tool_call"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        response_metadata={"model": "m"},
        additional_kwargs={"k": {"v": None}},
    ),
    AIMessageChunk(
        content="he",
        id="3",
        tool_call_chunks=[tool_call_chunk(name="f", args="{", id="c", index=0)],
    ),
    AIMessageChunk(content="", id="4", chunk_position="last"),
    HumanMessageChunk(content="chunk"),
    SystemMessage("be kind"),
    ToolMessage("done", tool_call_id="c", artifact={"rows": [1]}, status="error"),
    FunctionMessage(content="done", name="f"),
    RemoveMessage("5"),
    AIMessage("with more", extra_field={"kept": True}),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_is_what_its_model_dump_is(message: BaseMessage) -> None:
    assert encode(message) == orjson.dumps(message.model_dump())


def test_messages_stay_messages_deep_inside() -> None:
    [message] = MESSAGES[:1]
    assert decoded({"a": [{"b": (message,)}]}) == {"a": [{"b": [message.model_dump()]}]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({1, 2}, [1, 2]),
        (frozenset({"a"}), ["a"]),
        (b"\x00\xff", "AP8="),
        (Point(1, {2}), {"x": 1, "y": [2]}),
        (Color.RED, "red"),
        (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        (timedelta(minutes=1), 60.0),
        (Decimal("1.50"), "1.50"),
        (Path("a/b"), "a/b"),
        (float("nan"), None),
        (Data({3}), {"items": [3]}),
        (ValueError("bad"), {"error": "ValueError", "message": "bad"}),
        ({1: "a", None: "b", 2.5: "c"}, {"1": "a", "null": "b", "2.5": "c"}),
        (2**70, 2**70),
        ("nul\0", "nul\0"),
        (Plain(), "a plain object"),
        (Silent(), "<Silent without text: ValueError>"),
        (Interrupt("why", "i"), {"value": "why", "id": "i", "response_schema": None}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_json_has_no_word_for_becomes_the_nearest(value: Any, expected: Any) -> None:
    assert json.loads(encode(value)) == expected
    assert json.loads(encode({"in": [value]})) == {"in": [expected]}


def test_pydantic_models_and_documents_are_objects() -> None:
    shown = decoded([Model(name="a", when=datetime(2026, 1, 1, tzinfo=UTC)), Document("text")])
    assert shown[0] == {"name": "a", "when": "2026-01-01T00:00:00+00:00"}
    assert shown[1]["page_content"] == "text"


def test_lone_surrogates_are_replaced_and_pairs_joined() -> None:
    assert decoded({"a": "\ud83d\ude00", "b": "x\ud800"}) == {"a": "\U0001f600", "b": "x\ufffd"}
    assert decoded({"\ud800": MESSAGES[0]})["\ufffd"]["content"] == "hi"


def test_a_cycle_ends_in_words() -> None:
    cycle: dict[str, Any] = {"name": "a"}
    cycle["self"] = cycle
    assert decoded(cycle) == {"name": "a", "self": "<dict nested too deeply>"}


def test_great_depth_ends_in_words() -> None:
    value: Any = "bottom"
    for _ in range(400):
        value = [value]
    assert b"nested too deeply" in encode(value)


def test_an_object_no_one_knows_shows_its_text() -> None:
    assert "Send" in decoded(Send("node", {"a": 1}))


def test_an_error_shows_its_class_and_words_only() -> None:
    assert error_of(KeyError("k\0")) == {"error": "KeyError", "message": "'k\\x00'"}
    assert error_of(ValueError("a\ud800")) == {"error": "ValueError", "message": "a\ufffd"}
    assert error_of(Exception()) == {"error": "Exception", "message": ""}


def test_an_interrupt_has_a_schema_only_where_it_was_given_one() -> None:
    plain, asking = (
        Interrupt("go on?", "1"),
        Interrupt("how many?", "2", response_schema={"type": "integer"}),
    )
    assert interrupts_json([plain, asking]) == [
        {"value": "go on?", "id": "1"},
        {"value": "how many?", "id": "2", "response_schema": {"type": "integer"}},
    ]


def test_only_small_objects_are_mirrored() -> None:
    assert mirrored(b'{"log": [1]}') == {"log": [1]}
    assert mirrored(b"[1]") is None
    assert mirrored(encode({"log": "x" * MIRRORED_VALUES_BYTES})) is None
