"""Writes documents of schema 1, as the releases that wrote them did: LangGraph's own serializer."""

import json
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from threadkeep.ports.documents import (
    CHECKPOINTS_V1,
    WRITES_V1,
    Batch,
    Document,
    DocumentStore,
    Scope,
)


def tagged(value: tuple[str, bytes]) -> dict[str, Any]:
    """State what the serializer made as tagged JSON."""
    kind, payload = value
    return {"kind": kind, "payload": {"$t": "bytes", "$v": b64encode(payload).decode()}}


class Schema1Saver(InMemorySaver):
    """LangGraph's saver in memory, which also stores what it is given as schema 1."""

    def __init__(self, documents: DocumentStore, scope: Scope) -> None:
        super().__init__()
        self._documents, self._scope = documents, scope
        self._dump = JsonPlusSerializer().dumps_typed

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: Any,
    ) -> RunnableConfig:
        """Store a snapshot."""
        at = config["configurable"]
        parent = at.get("checkpoint_id")
        more = {
            "parent_id": parent,
            "checkpoint": tagged(self._dump(checkpoint)),
            "metadata": tagged(self._dump({**metadata, "run_id": at.get("run_id")})),
        }
        key = at.get("checkpoint_ns", ""), checkpoint["id"]
        self._insert(CHECKPOINTS_V1, at["thread_id"], key, more, parent_id=parent)
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store each write."""
        at = config["configurable"]
        for position, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, position)
            more = {
                "task_id": task_id,
                "task_path": task_path,
                "index": index,
                "channel": channel,
                "value": tagged(self._dump(value)),
            }
            key = at.get("checkpoint_ns", ""), at["checkpoint_id"], task_id, index
            self._insert(WRITES_V1, at["thread_id"], key, more)
        super().put_writes(config, writes, task_id, task_path)

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Count in integers."""
        return 1 if current is None else current + 1

    def _insert(
        self, collection: str, thread_id: str, key: tuple[Any, ...], more: Any, **fields: Any
    ) -> None:
        said = {
            "_schema": 1,
            "agent_id": self._scope.agent_id,
            "thread_id": thread_id,
            "checkpoint_ns": key[0],
            "checkpoint_id": key[1],
            **more,
        }
        document = Document(thread_id, collection, key, json.dumps(said).encode(), (), fields)
        self._documents.insert(self._scope, Batch(replacing=[document]))
