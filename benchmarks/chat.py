"""The standard chat: one scripted conversation with a tool, the same bytes on every machine.

Each turn is a question, a tool call, the tool's result and an answer: five checkpoints and four
batches of pending writes. The text is drawn word by word from a seeded vocabulary that is about as
dense as English prose, so that neither a compressor nor a content address finds the same sentence
twice: what is saved here is saved on real conversations too.
"""

import base64
import random
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Annotated, Any, TypedDict

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph

SYSTEM_BYTES = 3000  # once, before the first question
QUESTION_BYTES = 260
QUERY_BYTES = 160  # the one long argument of the tool call
RESULT_BYTES = 1600
ANSWER_BYTES = 900
PUTS_PER_TURN = 5  # the input, then one checkpoint after each of start, model, tools, model
WRITES_PER_TURN = 4  # start, model, tools, model

_VOCABULARY_WORDS = 6000
_SENTENCE_WORDS = (5, 24)
_COMMON = (
    "the of and to a in is that it for was on are with as at be this by from or an not have has"
    " were which but they you one all their can there more will if no when out so what up about"
    " into than them only other some could time these may then do now also two like our over such"
    " after most made any where between because each through how before under should both while"
)
_SYLLABLES = (
    "ta ri mo ne sol ver in con tra pla der ist ark lum ba chi ent or per sta ment ble ous qui"
    " gra fen hul wex dro pi sy ket nal ome ough lea ry ish tow cl"
)


class State(TypedDict):
    """What the graph keeps: the conversation, and two small values beside it."""

    messages: Annotated[list[AnyMessage], add_messages]
    turn: int
    active_agent: str


ChatGraph = CompiledStateGraph[Any, None, Any, Any]
LARGE_TURN = 1_000_000  # a turn whose tool gives LARGE_BYTES that do not compress
LARGE_BYTES = 20_000_000


@lru_cache(maxsize=1)
def _vocabulary() -> tuple[Sequence[str], Sequence[float]]:
    """Return the words and their cumulated frequencies, which fall with rank as in English."""
    rng = random.Random("vocabulary")
    words = dict.fromkeys(_COMMON.split())
    syllables = _SYLLABLES.split()
    while len(words) < _VOCABULARY_WORDS:
        words["".join(rng.choices(syllables, k=rng.choice((1, 2, 2, 3, 3, 4))))] = None
    return tuple(words), tuple(accumulate(1 / (rank + 2.7) for rank in range(len(words))))


def prose(seed: str, size_bytes: int) -> str:
    """Write ASCII sentences of exactly ``size_bytes`` bytes; each seed has its own."""
    rng = random.Random(seed)
    words, weights = _vocabulary()
    sentences: list[str] = []
    length = 0
    while length <= size_bytes:
        chosen = rng.choices(words, cum_weights=weights, k=rng.randint(*_SENTENCE_WORDS))
        comma = rng.randrange(len(chosen))
        sentence = " ".join(chosen[:comma]) + ", " * (comma > 2) + " ".join(chosen[comma:])
        sentences.append(sentence.capitalize() + rng.choice(".......?;:") + " ")
        length += len(sentences[-1])
    return "".join(sentences)[:size_bytes]


def _about_the_model(output_tokens: int) -> dict[str, Any]:
    """Return what a provider says about each of its answers."""
    total = 1200 + output_tokens
    return {
        "response_metadata": {
            "model_name": "scripted-1",
            "finish_reason": "stop",
            "system_fingerprint": "fp_44709d6fcb",
            "token_usage": {
                "prompt_tokens": 1200,
                "completion_tokens": output_tokens,
                "total_tokens": total,
            },
        },
        "usage_metadata": {
            "input_tokens": 1200,
            "output_tokens": output_tokens,
            "total_tokens": total,
        },
    }


def _questions(turn: int) -> list[AnyMessage]:
    question = HumanMessage(prose(f"question {turn}", QUESTION_BYTES), id=f"h-{turn}")
    if turn:
        return [question]
    return [SystemMessage(prose("system", SYSTEM_BYTES), id="system"), question]


def _tool_call(turn: int) -> AIMessage:
    arguments = {"query": prose(f"query {turn}", QUERY_BYTES), "limit": 5}
    call = ToolCall(name="search", args=arguments, id=f"call_{turn:08d}")
    return AIMessage("", tool_calls=[call], id=f"c-{turn}", **_about_the_model(40))


@lru_cache(maxsize=1)
def _large_result() -> str:
    """Write LARGE_BYTES of base64, of which no compressor takes off more than its quarter."""
    drawn = random.Random("large").randbytes(LARGE_BYTES * 3 // 4)
    return base64.b64encode(drawn).decode("ascii")


def _tool_result(turn: int) -> ToolMessage:
    large = turn >= LARGE_TURN
    content = _large_result() if large else prose(f"result {turn}", RESULT_BYTES)
    return ToolMessage(content, tool_call_id=f"call_{turn:08d}", name="search", id=f"t-{turn}")


def _answer(turn: int) -> AIMessage:
    return AIMessage(prose(f"answer {turn}", ANSWER_BYTES), id=f"a-{turn}", **_about_the_model(220))


def turn_input(turn: int) -> State:
    """Return the graph's input for a turn; turns count from 0."""
    return {"messages": _questions(turn), "turn": turn, "active_agent": "assistant"}


def history(turns: int) -> list[AnyMessage]:
    """Return the messages of the first ``turns`` turns, equal to those the graph adds."""
    return [message for turn in range(turns) for message in one_turn(turn)]


def one_turn(turn: int) -> list[AnyMessage]:
    """Return the messages that a turn adds."""
    return [*_questions(turn), _tool_call(turn), _tool_result(turn), _answer(turn)]


def text_bytes(turns: int) -> int:
    """Count the text of the first ``turns`` turns: what was said, without any framing."""
    return SYSTEM_BYTES + turns * (QUESTION_BYTES + QUERY_BYTES + RESULT_BYTES + ANSWER_BYTES)


def _model(state: State) -> dict[str, Any]:
    if isinstance(state["messages"][-1], ToolMessage):
        return {"messages": [_answer(state["turn"])]}
    return {"messages": [_tool_call(state["turn"])], "active_agent": "searcher"}


def _tools(state: State) -> dict[str, Any]:
    return {"messages": [_tool_result(state["turn"])]}


def _route(state: Any) -> str:
    last: AnyMessage = state["messages"][-1]
    return "tools" if isinstance(last, AIMessage) and last.tool_calls else END


def _delta_state() -> type[Any]:
    """Make the same state, its conversation in a ``DeltaChannel``; older releases have none."""
    from langgraph.channels.delta import DeltaChannel  # noqa: PLC0415

    def append(state: Any, writes: Sequence[Any]) -> Any:
        for write in writes:
            state = add_messages(state, write)
        return state

    channel: Any = DeltaChannel(append, list)
    fields = {"messages": Annotated[list[AnyMessage], channel], "turn": int, "active_agent": str}
    return TypedDict("DeltaState", fields)  # type: ignore[operator, no-any-return]


def build(saver: BaseCheckpointSaver[Any], *, delta: bool = False) -> ChatGraph:
    """Compile the chat's graph on a saver, its conversation in a ``DeltaChannel`` if wanted."""
    state: type[Any] = _delta_state() if delta else State
    builder: Any = StateGraph(state)
    builder.add_node("model", _model, input_schema=state)
    builder.add_node("tools", _tools, input_schema=state)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", _route, {"tools": "tools", END: END})
    builder.add_edge("tools", "model")
    compiled: ChatGraph = builder.compile(checkpointer=saver)
    return compiled
