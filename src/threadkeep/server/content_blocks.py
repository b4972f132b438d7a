"""Messages as the thread protocol tells them: started, block by block, finished.

Made from what LangGraph streams: whole messages, and chunks of those that a model is writing.
Source: ``langchain_protocol``, the events of ``langgraph_sdk``'s ``threads.stream``.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

ROLES = {"ai": "ai", "AIMessageChunk": "ai", "human": "human", "system": "system"}
CHUNK = "Chunk"  # how the type of a chunk ends
LAST = "last"  # what the last chunk of a message says of its position


class ContentBlocks:
    """The messages of one namespace of a run."""

    def __init__(self) -> None:
        self._open: dict[str, _Message] = {}
        self._done: set[str] = set()

    def take(self, message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Take a message or a chunk of one, as JSON; yield what is new about it."""
        ident, kind = str(message.get("id") or ""), str(message.get("type"))
        if kind not in ROLES or ident in self._done:
            return
        is_chunk = kind.endswith(CHUNK)
        growing = self._open.get(ident)
        if growing is None:
            growing = self._open[ident] = _Message()
            yield {"event": "message-start", "role": ROLES[kind], "id": ident}
        elif not is_chunk:  # the whole of what was told in chunks
            yield from self._finish(ident, growing, message)
            return
        for block in _blocks(message, is_chunk=is_chunk):
            for event in growing.add(block):
                yield {**event, "id": ident} if len(self._open) > 1 else event
        if not is_chunk or message.get("chunk_position") == LAST:
            yield from self._finish(ident, growing, message)

    def _finish(
        self, ident: str, growing: "_Message", message: Mapping[str, Any]
    ) -> Iterator[dict[str, Any]]:
        named = {"id": ident} if len(self._open) > 1 else {}
        for event in growing.finish():
            yield event | named
        usage = message.get("usage_metadata")
        yield {"event": "message-finish"} | ({"usage": usage} if usage else {}) | named
        del self._open[ident]
        if ident:
            self._done.add(ident)


class _Message:
    """The blocks of one message that is being told; one of them grows."""

    def __init__(self) -> None:
        self._count = 0
        self._key: Any = None
        self._block: dict[str, Any] = {}

    def add(self, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Add to the block that grows, or begin the next one."""
        key = (block["type"], block.get("index"))
        if self._count == 0 or key != self._key:
            yield from self.finish()
            self._key, self._block, self._count = key, _empty(block), self._count + 1
            yield {
                "event": "content-block-start",
                "index": self._count - 1,
                "content": dict(self._block),
            }
        delta = _grown(self._block, block)
        if delta is not None:
            yield {"event": "content-block-delta", "index": self._count - 1, "delta": delta}

    def finish(self) -> Iterator[dict[str, Any]]:
        """End the block that grows."""
        if self._block:
            finished, self._block, self._key = self._block, {}, None
            yield {
                "event": "content-block-finish",
                "index": self._count - 1,
                "content": _whole(finished),
            }


def _blocks(message: Mapping[str, Any], *, is_chunk: bool) -> Iterator[dict[str, Any]]:
    """Yield the parts of a message's content, then its tool calls."""
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}] if content else []
    for part in content or ():
        block = {"type": "text", "text": part} if isinstance(part, str) else part
        if isinstance(block, dict) and isinstance(block.get("type"), str):
            yield block
    if is_chunk:
        for call in message.get("tool_call_chunks") or ():
            yield {**call, "type": "tool_call_chunk"}
        return
    for call in message.get("tool_calls") or ():
        yield {**call, "type": "tool_call"}


# Blocks that grow by a text: its key, and the delta that tells of it.
_GROWING = {
    "text": ("text", "text-delta"),
    "reasoning": ("reasoning", "reasoning-delta"),
    "tool_call_chunk": ("args", "tool-call-delta"),
}


def _empty(block: dict[str, Any]) -> dict[str, Any]:
    key = _GROWING.get(block["type"], ("", ""))[0]
    shown = {name: value for name, value in block.items() if name != "index"}
    return {**shown, key: ""} if key else shown


def _grown(block: dict[str, Any], part: dict[str, Any]) -> dict[str, Any] | None:
    """Add a part to a block, and return the delta that says so."""
    key, kind = _GROWING.get(block["type"], ("", ""))
    more = part.get(key) if key else None
    if not more:
        return None
    block[key] += str(more)
    for name in ("id", "name"):
        if part.get(name) and not block.get(name):
            block[name] = part[name]
    return {"type": kind, key: str(more)}


def _whole(block: dict[str, Any]) -> dict[str, Any]:
    """Return a block as it is when it has ended: the chunks of a tool call are a call."""
    if block["type"] != "tool_call_chunk":
        return block
    named = {"id": block.get("id"), "name": block.get("name")}
    try:
        args = orjson.loads(block["args"] or "{}")
    except orjson.JSONDecodeError:
        return {"type": "invalid_tool_call", **named, "args": block["args"], "error": None}
    return {"type": "tool_call", **named, "args": args}
