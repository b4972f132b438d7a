"""Assistants and their versions."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from threadkeep.model.assistants import Assistant, AssistantPatch, NewAssistant
from threadkeep.model.queries import AssistantQuery, Listing, VersionQuery


class AssistantRepo(Protocol):
    """Assistants and their versions."""

    async def create(self, new: NewAssistant) -> Assistant:
        """Insert version 1 and its snapshot in one transaction.

        Raises:
            AlreadyExistsError: The id is taken; the present row is untouched.
        """
        ...

    async def ensure(self, new: Sequence[NewAssistant]) -> None:
        """Insert those whose id is absent, in one transaction; present ones stay as they are."""
        ...

    async def get(
        self, assistant_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> Assistant | None:
        """Read one, or ``None``; with enforced metadata, only one that contains it."""
        ...

    async def search(self, query: AssistantQuery) -> Listing[Assistant]:
        """Read a page, ties broken by id in the same direction."""
        ...

    async def count(self, query: AssistantQuery) -> int:
        """Count all that match, whatever the page."""
        ...

    async def update(
        self,
        assistant_id: str,
        patch: AssistantPatch,
        *,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Assistant:
        """Make a new version, one above the highest there ever was, and make it active.

        What is enforced is compared with the metadata as it was, and never merged.

        Raises:
            NotFoundError: No such assistant, or none whose metadata contains what is enforced.
        """
        ...

    async def list_versions(
        self,
        assistant_id: str,
        query: VersionQuery,
        *,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Listing[Assistant]:
        """Read a page of snapshots, highest version first; none for an unknown assistant.

        With enforced metadata, only where the active version's contains it.
        """
        ...

    async def set_latest(
        self,
        assistant_id: str,
        version: int,
        *,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Assistant:
        """Make a snapshot active again; no version is made.

        Raises:
            NotFoundError: No such assistant, no such version of it, or its active metadata does
                not contain what is enforced.
        """
        ...

    async def delete(
        self, assistant_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> bool:
        """Delete an assistant and its snapshots in one transaction; false when there is none.

        With enforced metadata, only one whose metadata contains it.
        """
        ...
