"""A chat agent with a memory: it keeps facts about you across threads, and asks before it sends.

The model is scripted, so nothing here needs an API key. To use a real one, put
``init_chat_model("provider:model")`` where ``ScriptedModel()`` stands; nothing else changes.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.config import get_store
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt

PROMPT = SystemMessage("Remember what the user tells you about themselves. Ask before sending.")
HELP = (
    'Try "remember that I like tea", "what do you know about me?" (in any thread), or '
    '"send Ada: hello", which asks you first.'
)


# The tools. Facts are kept per user, so every thread of a user finds them.


def facts_of(config: RunnableConfig) -> tuple[str, str]:
    """Where a user's facts are kept; a label of a namespace has no dots."""
    user = str(config.get("configurable", {}).get("user_id", "you"))
    return ("facts", user.replace(".", "%2E"))


@tool
def remember_fact(fact: str, config: RunnableConfig) -> str:
    """Remember a fact about the user, for every later conversation."""
    key = hashlib.sha256(fact.lower().encode()).hexdigest()[:16]
    get_store().put(facts_of(config), key, {"fact": fact})
    return f"I will remember that {fact}."


@tool
def recall_facts(config: RunnableConfig) -> str:
    """Recall what is known about the user."""
    found = [item.value["fact"] for item in get_store().search(facts_of(config), limit=50)]
    return (
        f"I know that {'; '.join(reversed(found))}." if found else "I know nothing about you yet."
    )


@tool
def send_message(to: str, text: str) -> str:
    """Send a message to somebody, once the user has approved it."""
    answer = interrupt({"question": f"Send this to {to}?", "to": to, "text": text})
    approved = answer.get("approved") if isinstance(answer, dict) else answer
    if approved is True or str(approved).lower() in ("yes", "y", "true"):
        return f"Sent to {to}: {text}"
    return f"Not sent to {to}."


TOOLS = [remember_fact, recall_facts, send_message]


# The model: a few patterns instead of a language model, with tool calls and tokens as from one.


class ScriptedModel(BaseChatModel):
    """Answers by pattern, word by word."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> "ScriptedModel":
        """The script knows its tools already."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=reply_to(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        reply = reply_to(messages)
        calls = [
            tool_call_chunk(
                name=made["name"], args=json.dumps(made["args"]), id=made["id"], index=place
            )
            for place, made in enumerate(reply.tool_calls)
        ]
        words = re.findall(r"\S+\s*", str(reply.content)) or [""]
        for word in words:
            chunk = ChatGenerationChunk(
                message=AIMessageChunk(content=word, tool_call_chunks=calls)
            )
            if run_manager:
                run_manager.on_llm_new_token(word, chunk=chunk)
            yield chunk


def reply_to(messages: Sequence[BaseMessage]) -> AIMessage:
    """The script."""
    last = messages[-1]
    if isinstance(last, ToolMessage):
        return AIMessage(last.text)
    said = last.text.strip()
    if found := re.match(r"(?:please )?(?:remember|note)(?: that)? (.+)", said, re.I):
        return call("remember_fact", len(messages), fact=found[1].rstrip("."))
    if re.search(r"know about me|remember about me|who am i", said, re.I):
        return call("recall_facts", len(messages))
    if found := re.match(r"(?:please )?send (?:a message to )?(\w+): *(.+)", said, re.I):
        return call("send_message", len(messages), to=found[1], text=found[2])
    turn = sum(message.type == "human" for message in messages)
    return AIMessage(f"You said: {said} (message {turn} of this thread). {HELP}")


def call(name: str, place: int, **arguments: str) -> AIMessage:
    """A message that calls one tool; the place in the conversation makes its id unique."""
    return AIMessage(
        "",
        tool_calls=[{"name": name, "args": arguments, "id": f"call_{place}", "type": "tool_call"}],
    )


# The graph: the model, its tools, and back, until it answers in words.

MODEL = ScriptedModel().bind_tools(TOOLS)


def answer(state: MessagesState) -> dict[str, list[BaseMessage]]:
    """Ask the model for the next message."""
    return {"messages": [MODEL.invoke([PROMPT, *state["messages"]])]}


builder = StateGraph(MessagesState)
builder.add_node("answer", answer)
builder.add_node("tools", ToolNode(TOOLS))
builder.add_edge(START, "answer")
builder.add_conditional_edges("answer", tools_condition)
builder.add_edge("tools", "answer")

# No checkpointer and no store here: the server gives the graph both.
graph = builder.compile()
