"""Assistants in a SQL database."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from threadkeep.drivers.sql.database import Database, One, Run, Work
from threadkeep.drivers.sql.rows import assistant_bag, assistant_of
from threadkeep.drivers.sql.units import is_owned, read_count, read_page, write
from threadkeep.drivers.sql.where import Dialect, assistants_where, versions_where
from threadkeep.errors import AlreadyExistsError, NotFoundError
from threadkeep.model.assistants import Assistant, AssistantPatch, NewAssistant
from threadkeep.model.queries import AssistantQuery, Listing, VersionQuery
from threadkeep.ports.clock import Clock
from threadkeep.rules.containment import contains
from threadkeep.rules.identifiers import check_identifier
from threadkeep.rules.inputs import (
    plain_assistant,
    plain_assistant_query,
    plain_enforced,
    plain_patch,
    plain_version_query,
)
from threadkeep.rules.paging import MAX_OFFSET, listing_of, page_of
from threadkeep.rules.versions import first_version, next_version, rolled_back, snapshot_of


class SqlAssistantRepo:
    """Satisfies ``AssistantRepo``."""

    def __init__(
        self, database: Database, dialect: Dialect, *, clock: Clock, max_page_size: int
    ) -> None:
        self._database = database
        self._dialect = dialect
        self._clock = clock
        self._max_page_size = max_page_size

    async def create(self, new: NewAssistant) -> Assistant:
        """See ``AssistantRepo.create``."""
        plain = plain_assistant(new)

        def work() -> Work[Assistant | AlreadyExistsError]:
            row = yield from _insert(plain, self._clock.now())
            return row or AlreadyExistsError("assistant", plain.assistant_id)

        return await write(self._database, work)

    async def ensure(self, new: Sequence[NewAssistant]) -> None:
        """See ``AssistantRepo.ensure``."""
        plain = [plain_assistant(each) for each in new]

        def work() -> Work[None]:
            for each in plain:
                yield from _insert(each, self._clock.now())

        await self._database.write(work)

    async def get(
        self, assistant_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> Assistant | None:
        """See ``AssistantRepo.get``."""
        check_identifier("assistant_id", assistant_id)
        enforced = plain_enforced(enforced_metadata)

        def work() -> Work[Assistant | None]:
            row = yield One("get_assistant", {"assistant_id": assistant_id})
            found = assistant_of(row) if row else None
            return found if found and contains(found.metadata, enforced) else None

        return await self._database.read(work)

    async def search(self, query: AssistantQuery) -> Listing[Assistant]:
        """See ``AssistantRepo.search``."""
        where = assistants_where(plain_assistant_query(query), self._dialect)
        page = page_of(limit=query.limit, offset=query.offset, max_page_size=self._max_page_size)

        def work() -> Work[Listing[Assistant]]:
            rows, total = yield from read_page("search_assistants", "count_assistants", where, page)
            return listing_of([assistant_of(row) for row in rows], page=page, total=total)

        return await self._database.read(work)

    async def count(self, query: AssistantQuery) -> int:
        """See ``AssistantRepo.count``."""
        where = assistants_where(plain_assistant_query(query), self._dialect)
        return await self._database.read(lambda: read_count("count_assistants", where))

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
        key = {"assistant_id": assistant_id}

        def work() -> Work[Assistant | NotFoundError]:
            row = yield One("lock_assistant", key)
            if not is_owned(row, enforced):
                return NotFoundError("assistant", assistant_id)
            newest = yield One("highest_assistant_version", key)
            active = assistant_of(row)
            changed = next_version(active, plain, highest=newest["version"], now=self._clock.now())
            yield Run("change_assistant", assistant_bag(changed))
            yield Run("add_assistant_version", assistant_bag(snapshot_of(changed)))
            return changed

        return await write(self._database, work)

    async def list_versions(
        self,
        assistant_id: str,
        query: VersionQuery,
        *,
        enforced_metadata: Mapping[str, Any] | None = None,
    ) -> Listing[Assistant]:
        """See ``AssistantRepo.list_versions``."""
        check_identifier("assistant_id", assistant_id)
        enforced = plain_enforced(enforced_metadata)
        where = versions_where(assistant_id, plain_version_query(query), self._dialect)
        page = page_of(limit=query.limit, offset=query.offset, max_page_size=self._max_page_size)

        def work() -> Work[Listing[Assistant]]:
            row = yield One("get_assistant", {"assistant_id": assistant_id})
            if not is_owned(row, enforced):
                return listing_of([], page=page, total=0)
            rows, total = yield from read_page(
                "search_assistant_versions", "count_assistant_versions", where, page
            )
            return listing_of([assistant_of(row) for row in rows], page=page, total=total)

        return await self._database.read(work)

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

        def work() -> Work[Assistant | NotFoundError]:
            row = yield One("lock_assistant", {"assistant_id": assistant_id})
            if not is_owned(row, enforced):
                return NotFoundError("assistant", assistant_id)
            key = {"assistant_id": assistant_id, "version": max(0, min(version, MAX_OFFSET))}
            snapshot = yield One("get_assistant_version", key)
            if snapshot is None:
                return NotFoundError("assistant version", f"{assistant_id}/{version}")
            changed = rolled_back(assistant_of(row), assistant_of(snapshot), self._clock.now())
            yield Run("change_assistant", assistant_bag(changed))
            return changed

        return await write(self._database, work)

    async def delete(
        self, assistant_id: str, *, enforced_metadata: Mapping[str, Any] | None = None
    ) -> bool:
        """See ``AssistantRepo.delete``."""
        check_identifier("assistant_id", assistant_id)
        enforced = plain_enforced(enforced_metadata)

        def work() -> Work[bool]:
            key = {"assistant_id": assistant_id}
            row = yield One("lock_assistant", key)
            if not is_owned(row, enforced):
                return False
            removed = yield Run("remove_assistant", key)
            return bool(removed)

        return await self._database.write(work)


def _insert(new: NewAssistant, now: datetime) -> Work[Assistant | None]:
    row = first_version(new, now)
    added = yield Run("add_assistant", assistant_bag(row))
    if not added:
        return None
    yield Run("add_assistant_version", assistant_bag(snapshot_of(row)))
    return row
