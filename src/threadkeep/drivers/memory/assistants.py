"""Assistants in memory."""

from collections.abc import Mapping, Sequence
from typing import Any

from threadkeep.drivers.memory.tables import Tables, copy_row, listing_of_copies, sorted_rows
from threadkeep.errors import AlreadyExistsError, NotFoundError
from threadkeep.model.assistants import Assistant, AssistantPatch, NewAssistant
from threadkeep.model.queries import AssistantQuery, Listing, VersionQuery
from threadkeep.rules.containment import contains
from threadkeep.rules.identifiers import check_identifier, has_part
from threadkeep.rules.inputs import (
    plain_assistant,
    plain_assistant_query,
    plain_enforced,
    plain_patch,
    plain_version_query,
)
from threadkeep.rules.versions import first_version, next_version, rolled_back, snapshot_of


class MemoryAssistantRepo:
    """Satisfies ``AssistantRepo``."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def create(self, new: NewAssistant) -> Assistant:
        """See ``AssistantRepo.create``."""
        plain = plain_assistant(new)
        with self._tables.lock:
            if plain.assistant_id in self._tables.assistants:
                raise AlreadyExistsError("assistant", plain.assistant_id)
            return copy_row(self._insert(plain))

    async def ensure(self, new: Sequence[NewAssistant]) -> None:
        """See ``AssistantRepo.ensure``."""
        plain = [plain_assistant(each) for each in new]
        with self._tables.lock:
            for each in plain:
                if each.assistant_id not in self._tables.assistants:
                    self._insert(each)

    async def get(
        self, assistant_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> Assistant | None:
        """See ``AssistantRepo.get``."""
        check_identifier("assistant_id", assistant_id)
        enforced = plain_enforced(enforced_metadata)
        with self._tables.lock:
            row = self._tables.assistants.get(assistant_id)
            return copy_row(row) if row and contains(row.metadata, enforced) else None

    async def search(self, query: AssistantQuery) -> Listing[Assistant]:
        """See ``AssistantRepo.search``."""
        plain = plain_assistant_query(query)
        page = self._tables.page(query.limit, query.offset)
        with self._tables.lock:
            found = sorted_rows(
                (row for row in self._tables.assistants.values() if _matches(row, plain)),
                sort_by=plain.sort_by,
                id_field="assistant_id",
                sort_order=plain.sort_order,
            )
            return listing_of_copies(found, page)

    async def count(self, query: AssistantQuery) -> int:
        """See ``AssistantRepo.count``."""
        plain = plain_assistant_query(query)
        with self._tables.lock:
            return sum(_matches(row, plain) for row in self._tables.assistants.values())

    async def update(
        self,
        assistant_id: str,
        patch: AssistantPatch,
        *,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Assistant:
        """See ``AssistantRepo.update``."""
        check_identifier("assistant_id", assistant_id)
        plain = plain_patch(patch)
        enforced = plain_enforced(enforced_metadata)
        with self._tables.lock:
            active = self._active(assistant_id, enforced)
            highest = max(self._tables.versions[assistant_id])
            changed = next_version(active, plain, highest=highest, now=self._tables.now())
            self._tables.assistants[assistant_id] = changed
            self._tables.versions[assistant_id][changed.version] = snapshot_of(changed)
            return copy_row(changed)

    async def list_versions(
        self,
        assistant_id: str,
        query: VersionQuery,
        *,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Listing[Assistant]:
        """See ``AssistantRepo.list_versions``."""
        check_identifier("assistant_id", assistant_id)
        plain = plain_version_query(query)
        enforced = plain_enforced(enforced_metadata)
        page = self._tables.page(query.limit, query.offset)
        with self._tables.lock:
            row = self._tables.assistants.get(assistant_id)
            is_shown = row is not None and contains(row.metadata, enforced)
            versions = self._tables.versions[assistant_id] if is_shown else {}
            found = [
                versions[version]
                for version in sorted(versions, reverse=True)
                if contains(versions[version].metadata, plain.metadata)
            ]
            return listing_of_copies(found, page)

    async def set_latest(
        self,
        assistant_id: str,
        version: int,
        *,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Assistant:
        """See ``AssistantRepo.set_latest``."""
        check_identifier("assistant_id", assistant_id)
        enforced = plain_enforced(enforced_metadata)
        with self._tables.lock:
            active = self._active(assistant_id, enforced)
            snapshot = self._tables.versions[assistant_id].get(version)
            if snapshot is None:
                raise NotFoundError("assistant version", f"{assistant_id}/{version}")
            changed = rolled_back(active, snapshot, self._tables.now())
            self._tables.assistants[assistant_id] = changed
            return copy_row(changed)

    async def delete(
        self, assistant_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> bool:
        """See ``AssistantRepo.delete``."""
        check_identifier("assistant_id", assistant_id)
        enforced = plain_enforced(enforced_metadata)
        with self._tables.lock:
            row = self._tables.assistants.get(assistant_id)
            if row is None or not contains(row.metadata, enforced):
                return False
            del self._tables.versions[assistant_id]
            del self._tables.assistants[assistant_id]
            return True

    def _insert(self, new: NewAssistant) -> Assistant:
        row = first_version(new, self._tables.now())
        self._tables.assistants[row.assistant_id] = row
        self._tables.versions[row.assistant_id] = {row.version: snapshot_of(row)}
        return row

    def _active(self, assistant_id: str, enforced: Mapping[str, Any]) -> Assistant:
        row = self._tables.assistants.get(assistant_id)
        if row is None or not contains(row.metadata, enforced):
            raise NotFoundError("assistant", assistant_id)
        return row


def _matches(row: Assistant, query: AssistantQuery) -> bool:
    return (
        query.graph_id in (None, row.graph_id)
        and (query.name is None or has_part(row.name, query.name))
        and contains(row.metadata, query.metadata)
        and contains(row.metadata, query.enforced_metadata)
    )
