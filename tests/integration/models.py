"""A chat model that follows a script, for graphs in tests."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult


def call(name: str, ident: str = "call-1", **arguments: Any) -> AIMessage:
    """Return a message that calls a tool."""
    return AIMessage(
        "", tool_calls=[{"name": name, "args": arguments, "id": ident, "type": "tool_call"}]
    )


class ScriptedModel(BaseChatModel):
    """Answers with the message of the script that follows those it has said since the human's."""

    script: Sequence[AIMessage]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _next(self, messages: Sequence[BaseMessage]) -> AIMessage:
        humans = [at for at, message in enumerate(messages) if isinstance(message, HumanMessage)]
        since = messages[humans[-1] + 1 :] if humans else messages
        said = sum(isinstance(message, AIMessage) for message in since)
        return self.script[min(said, len(self.script) - 1)].model_copy(update={"id": None})

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        message = self._next(messages)
        for token in str(message.content).split():
            yield ChatGenerationChunk(message=AIMessageChunk(content=token + " "))
        calls = [
            tool_call_chunk(
                name=made["name"], args=json.dumps(made["args"]), id=made["id"], index=at
            )
            for at, made in enumerate(message.tool_calls)
        ]
        yield ChatGenerationChunk(
            message=AIMessageChunk(content="", tool_call_chunks=calls, chunk_position="last")
        )
