"""An assistant: a graph plus configuration, in versions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from threadkeep.model.unset import UNSET, Unset


@dataclass(frozen=True, slots=True)
class Assistant:
    """The active version of an assistant, or a snapshot of one.

    Attributes:
        assistant_id: A UUID as text.
        graph_id: A key of ``graphs`` in ``langgraph.json``.
        version: The active version, from 1.
        name: For people; the graph id when none was given.
        config: Merged under a run's config.
        context: Merged under a run's context.
        metadata: The owner's own labels, for search.
        created_at: When the assistant was created; of a snapshot, when that version was.
        updated_at: When its active version last changed; of a snapshot, as ``created_at``.
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


@dataclass(frozen=True, slots=True)
class AssistantPatch:
    """What a caller changes; what is left out stays.

    Attributes:
        metadata: Merged by top-level key. Config and context are replaced whole.
    """

    graph_id: str | None = None
    name: str | None = None
    description: str | Unset | None = UNSET
    config: Mapping[str, Any] | None = None
    context: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
