"""An assistant: a graph plus configuration, in versions."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Assistant:
    """The active version of an assistant.

    Attributes:
        assistant_id: A UUID as text.
        graph_id: A key of ``graphs`` in ``langgraph.json``.
        version: The active version, from 1.
        name: For people; the graph id when none was given.
        config: Merged under a run's config.
        context: Merged under a run's context.
        metadata: The owner's own labels, for search.
    """

    assistant_id: str
    graph_id: str
    version: int
    name: str
    description: str | None
    config: Mapping[str, Any]
    context: Mapping[str, Any]
    metadata: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class NewAssistant:
    """What a caller gives to create one."""

    assistant_id: str
    graph_id: str
    name: str
    description: str | None
    config: Mapping[str, Any]
    context: Mapping[str, Any]
    metadata: Mapping[str, Any]
