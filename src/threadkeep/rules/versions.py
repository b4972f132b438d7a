"""An assistant's versions: immutable snapshots, one of them active and mirrored on its row."""

from dataclasses import replace
from datetime import datetime

from threadkeep.model.assistants import Assistant, AssistantPatch, NewAssistant
from threadkeep.model.unset import Unset
from threadkeep.rules.metadata import merged


def first_version(new: NewAssistant, now: datetime) -> Assistant:
    """Return the row a new assistant starts with; it is its first snapshot, too."""
    return Assistant(
        assistant_id=new.assistant_id,
        graph_id=new.graph_id,
        version=1,
        name=new.name,
        description=new.description,
        config=new.config,
        context=new.context,
        metadata=new.metadata,
        created_at=now,
        updated_at=now,
    )


def next_version(
    active: Assistant, patch: AssistantPatch, *, highest: int, now: datetime
) -> Assistant:
    """Return the row an update leaves: the version above the highest there ever was."""
    described = active.description if isinstance(patch.description, Unset) else patch.description
    return replace(
        active,
        version=highest + 1,
        graph_id=active.graph_id if patch.graph_id is None else patch.graph_id,
        name=active.name if patch.name is None else patch.name,
        description=described,
        config=active.config if patch.config is None else patch.config,
        context=active.context if patch.context is None else patch.context,
        metadata=merged(active.metadata, patch.metadata),
        updated_at=now,
    )


def snapshot_of(active: Assistant) -> Assistant:
    """Return the snapshot that is kept of a version just made active."""
    return replace(active, created_at=active.updated_at)


def rolled_back(active: Assistant, snapshot: Assistant, now: datetime) -> Assistant:
    """Return the row that mirrors a snapshot again; no version is made."""
    return replace(snapshot, created_at=active.created_at, updated_at=now)
