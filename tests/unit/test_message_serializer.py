"""The short way to read messages gives what LangGraph's own way gives."""

from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from threadkeep.checkpoints.prints import take
from threadkeep.savers import serde

OURS, LANGGRAPHS = serde.SafeSerializer(), JsonPlusSerializer()

VALUES: list[Any] = [
    HumanMessage("hi"),
    HumanMessage([{"type": "text", "text": "x"}, "y"], id="1", name="ada"),
    HumanMessage("extra", more=1),
    AIMessage(
        "",
        tool_calls=[{"name": "f", "args": {"q": [1, None]}, "id": "c"}],
        invalid_tool_calls=[{"name": "f", "args": "{", "id": "d", "error": "e"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        response_metadata={"model": "m", "usage": {"n": 1.5}},
    ),
    SystemMessage("be kind"),
    ToolMessage("r", tool_call_id="c", artifact={"when": 1}, status="error"),
    ToolMessage("r", tool_call_id="c", artifact={"when": datetime(2026, 1, 1, tzinfo=UTC)}),
    ToolMessage("r" * 70_000, tool_call_id="c"),
    ToolMessage("é" * 2000, tool_call_id="c"),
    ToolMessage("é" * 3000, tool_call_id="c"),
    ToolMessage("r" * 300, tool_call_id="c"),
    AIMessageChunk(content="part"),
    FunctionMessage(content="r", name="f"),
    RemoveMessage(id="1"),
    [HumanMessage("in a list")],
    {"k": AIMessage("in a dict")},
    datetime(2026, 1, 1, tzinfo=UTC),
    None,
    b"",
    "text",
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_comes_back_as_langgraph_gives_it_back(value: Any) -> None:
    stored = LANGGRAPHS.dumps_typed(value)
    if b"fromisoformat" not in stored[1]:  # a time is stored with its zone
        assert OURS.dumps_typed(value) == stored
    ours, theirs = OURS.loads_typed(stored), LANGGRAPHS.loads_typed(stored)
    assert (type(ours), ours, repr(ours)) == (type(theirs), theirs, repr(theirs))
    assert OURS.loads_typed(OURS.dumps_typed(value)) == ours
    if hasattr(theirs, "model_fields_set"):
        assert ours.model_fields_set == theirs.model_fields_set
        assert ours.model_copy(update={"id": "9"}) == theirs.model_copy(update={"id": "9"})
        assert ours.model_extra == theirs.model_extra


def sketch_of(stored: bytes) -> Any:
    (sketch,) = OURS.sketch([stored], 0)
    assert OURS.sketch([b"." + stored, b"", stored], 1)[0] == sketch
    return sketch


def test_messages_are_read_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = OURS.dumps_typed(VALUES[3])

    def unwanted(*_arguments: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(serde, "decode", unwanted)
    assert OURS.loads_typed(stored) == VALUES[3]


def test_a_message_with_other_fields_goes_the_long_way() -> None:
    _, stored = OURS.dumps_typed(HumanMessage("hi"))
    sketch = sketch_of(stored)
    assert sketch is not None
    assert OURS.compose([sketch]) == [HumanMessage("hi")]
    assert sketch_of(stored.replace(b"content", b"contend")) is None
    assert sketch_of(stored.replace(b"HumanMessage", b"HumanMessagf")) is None
    assert sketch_of(stored[:-9]) is None
    assert sketch_of(b"") is None
    renamed = sketch_of(stored.replace(b"additional_kwargs", b"additional_kwargz"))
    assert renamed is not None
    with pytest.raises(ValueError, match="other fields"):
        OURS.compose([renamed])


SKETCHED = [value for value in VALUES if sketch_of(OURS.dumps_typed(value)[1])]


def test_what_is_sketched_has_the_print_and_the_payload_of_the_value() -> None:
    assert len(SKETCHED) == 10
    for value in SKETCHED:
        _, stored = OURS.dumps_typed(value)
        sketch = sketch_of(stored)
        assert sketch is not None
        assert OURS.payload(sketch) == stored
        try:
            (made,) = OURS.compose([sketch])
        except ValueError:
            continue  # it holds an object: its print is taken of the value
        assert take(made) == sketch[:2]


def test_messages_made_of_one_sketch_share_no_container() -> None:
    sketch = sketch_of(OURS.dumps_typed(VALUES[3])[1])
    assert sketch is not None
    one, other = OURS.compose([sketch, sketch])
    one.tool_calls[0]["args"]["q"].append(2)
    one.response_metadata["model"] = "other"
    one.model_fields_set.clear()
    assert other == VALUES[3]
    assert OURS.compose([sketch]) == [VALUES[3]]


def test_values_without_objects_are_made_by_one_call() -> None:
    values = [{"a": [1, {"b": None}]}, "text", 5, [], {}, 2.5, True]
    stored = [b"." + OURS.dumps_typed(value)[1] for value in values]
    made = OURS.load(stored, 1)
    assert made == values
    assert [*map(type, made)] == [*map(type, values)]
    made[0]["a"][1]["b"] = 1
    assert OURS.load(stored, 1) == values
    for other in (HumanMessage("hi"), (1, 2), {"a": {1}}, "\ud800"):
        with pytest.raises(ValueError, match="ext_hook"):
            OURS.load([*stored, b"." + OURS.dumps_typed(other)[1]], 1)
    with pytest.raises(ValueError, match="unexpected end"):
        OURS.load([*stored, b"."], 1)


def test_a_serializer_that_reads_in_its_own_way_is_asked_for_each_value() -> None:
    class Own(serde.SafeSerializer):
        def loads_typed(self, data: tuple[str, bytes]) -> Any:
            return super().loads_typed(data)

    assert OURS.sketches
    assert not Own().sketches


def test_an_allowlist_keeps_the_short_way() -> None:
    strict = serde.SafeSerializer(allowed_msgpack_modules=[("a", "B")])
    assert isinstance(strict.with_msgpack_allowlist([("c", "D")]), serde.SafeSerializer)
