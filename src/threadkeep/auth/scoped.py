"""The resource store as the caller of a request may see it.

What a caller may not see does not exist for it: it is not found, not counted and not changed. The
filters go into the statements themselves. Outside a request, as in the background, all is seen.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from threadkeep.auth.filters import stamped
from threadkeep.auth.scope import current_scope
from threadkeep.errors import NotFoundError
from threadkeep.ports.resources import ResourceStore

SYSTEM = "system"  # what a deployment made itself may be read by all of its callers


async def _enforced(resource: str) -> Mapping[str, Any]:
    scope = current_scope.get()
    return {} if scope is None else await scope.enforced(resource)


async def _made(resource: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of something new."""
    scope = current_scope.get()
    if scope is None:
        return dict(metadata)
    return stamped({**metadata, **scope.added_to(resource)}, await scope.enforced(resource))


async def _changed(resource: str, metadata: Mapping[str, Any] | None) -> Any:
    """Return metadata that is merged into what is there; it stays the caller's."""
    scope = current_scope.get()
    if scope is None or metadata is None:
        return metadata
    wanted = await scope.enforced(resource)
    return {**metadata, **{key: value for key, value in wanted.items() if key in metadata}}


class _Scoped:
    """A repo whose reads are narrowed; what is not named here is passed on."""

    resource = ""

    def __init__(self, repo: Any) -> None:
        self._repo = repo

    def __getattr__(self, name: str) -> Any:
        return getattr(self._repo, name)

    async def search(self, query: Any) -> Any:
        """Search what the caller may see."""
        return await self._repo.search(await self._narrowed(query))

    async def count(self, query: Any) -> Any:
        """Count what the caller may see."""
        return await self._repo.count(await self._narrowed(query))

    async def _narrowed(self, query: Any) -> Any:
        wanted = await _enforced(self.resource)
        return replace(query, enforced_metadata=wanted) if wanted else query

    async def _sees(self, ident: str) -> bool:
        wanted = await _enforced(self.resource)
        return not wanted or await self._repo.get(ident, enforced_metadata=wanted) is not None


class ScopedThreads(_Scoped):
    """Threads."""

    resource = "threads"

    async def get(self, thread_id: str, **_: Any) -> Any:
        """See ``ThreadRepo``; so for the others."""
        wanted = await _enforced(self.resource)
        return await self._repo.get(thread_id, enforced_metadata=wanted or None)

    async def create(self, new: Any) -> Any:
        """Make one that is the caller's."""
        return await self._repo.create(
            replace(new, metadata=await _made(self.resource, new.metadata))
        )

    async def copy(self, thread_id: str, **given: Any) -> Any:
        """Copy one the caller may see."""
        await self._require(thread_id)
        return await self._repo.copy(thread_id, **given)

    async def update(self, thread_id: str, **given: Any) -> Any:
        """Change one the caller may see; it stays the caller's."""
        await self._require(thread_id)
        metadata = await _changed(self.resource, given.pop("metadata", None))
        return await self._repo.update(thread_id, metadata=metadata, **given)

    async def delete(self, thread_id: str, **given: Any) -> Any:
        """Delete one the caller may see."""
        await self._require(thread_id)
        return await self._repo.delete(thread_id, **given)

    async def _require(self, thread_id: str) -> None:
        if not await self._sees(thread_id):
            raise NotFoundError("thread", thread_id)


class ScopedRuns(_Scoped):
    """Runs: each is its thread's owner's."""

    resource = "threads"

    def __init__(self, repo: Any, threads: ScopedThreads) -> None:
        super().__init__(repo)
        self._threads = threads

    async def get(self, run_id: str, *, thread_id: str | None = None, **_: Any) -> Any:
        """See ``RunRepo``; so for the others."""
        wanted = await _enforced(self.resource)
        return await self._repo.get(run_id, thread_id=thread_id, enforced_metadata=wanted or None)

    async def latest_of(self, thread_id: str) -> Any:
        """Read the newest of a thread the caller may see."""
        return (
            await self._repo.latest_of(thread_id) if await self._threads._sees(thread_id) else None
        )

    async def admit(self, new: Any, **given: Any) -> Any:
        """Admit one to a thread the caller may see."""
        await self._threads._require(new.thread_id)
        scope = current_scope.get()
        if scope is not None:
            new = replace(new, metadata={**new.metadata, **scope.added_to(self.resource)})
        return await self._repo.admit(new, **given)

    async def request_cancel(self, run_id: str, action: Any) -> Any:
        """Stop one the caller may see."""
        return await self._repo.request_cancel(run_id, action) if await self._sees(run_id) else None

    async def delete(self, run_id: str) -> Any:
        """Delete one the caller may see."""
        return await self._sees(run_id) and await self._repo.delete(run_id)


class ScopedAssistants(_Scoped):
    """Assistants. Those the deployment made itself may be read by all."""

    resource = "assistants"

    async def get(self, assistant_id: str, **_: Any) -> Any:
        """See ``AssistantRepo``; so for the others."""
        found = await self._repo.get(assistant_id)
        if found is None or found.metadata.get("created_by") == SYSTEM:
            return found
        return found if await self._sees(assistant_id) else None

    async def create(self, new: Any) -> Any:
        """Make one that is the caller's."""
        return await self._repo.create(
            replace(new, metadata=await _made(self.resource, new.metadata))
        )

    async def update(self, assistant_id: str, patch: Any) -> Any:
        """Change one the caller may see; it stays the caller's."""
        await self._require(assistant_id)
        metadata = await _changed(self.resource, patch.metadata)
        return await self._repo.update(assistant_id, replace(patch, metadata=metadata))

    async def list_versions(self, assistant_id: str, query: Any) -> Any:
        """List those of one the caller may see."""
        if await self.get(assistant_id) is None:
            raise NotFoundError("assistant", assistant_id)
        return await self._repo.list_versions(assistant_id, query)

    async def set_latest(self, assistant_id: str, version: int) -> Any:
        """Choose a version of one the caller may see."""
        await self._require(assistant_id)
        return await self._repo.set_latest(assistant_id, version)

    async def delete(self, assistant_id: str) -> Any:
        """Delete one the caller may see."""
        return await self._sees(assistant_id) and await self._repo.delete(assistant_id)

    async def _require(self, assistant_id: str) -> None:
        if not await self._sees(assistant_id):
            raise NotFoundError("assistant", assistant_id)


class ScopedCrons(_Scoped):
    """Crons."""

    resource = "crons"

    def __init__(self, repo: Any, threads: ScopedThreads) -> None:
        super().__init__(repo)
        self._threads = threads

    async def get(self, cron_id: str, **_: Any) -> Any:
        """See ``CronRepo``; so for the others."""
        wanted = await _enforced(self.resource)
        return await self._repo.get(cron_id, enforced_metadata=wanted or None)

    async def create(self, new: Any) -> Any:
        """Make one that is the caller's, of a thread the caller may see."""
        if new.thread_id is not None:
            await self._threads._require(new.thread_id)
        return await self._repo.create(
            replace(new, metadata=await _made(self.resource, new.metadata))
        )

    async def update(self, cron_id: str, patch: Any) -> Any:
        """Change one the caller may see; it stays the caller's."""
        if not await self._sees(cron_id):
            raise NotFoundError("cron", cron_id)
        metadata = await _changed(self.resource, patch.metadata)
        return await self._repo.update(cron_id, replace(patch, metadata=metadata))

    async def delete(self, cron_id: str) -> Any:
        """Delete one the caller may see."""
        return await self._sees(cron_id) and await self._repo.delete(cron_id)


class ScopedResources:
    """A resource store as callers may see it; what has no owner is passed on."""

    def __init__(self, resources: ResourceStore) -> None:
        self._resources = resources
        self.threads = ScopedThreads(resources.threads)
        self.runs = ScopedRuns(resources.runs, self.threads)
        self.assistants = ScopedAssistants(resources.assistants)
        self.crons = ScopedCrons(resources.crons, self.threads)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._resources, name)


def scoped(resources: ResourceStore) -> ResourceStore:
    """Return a store as the caller of each request may see it."""
    seen: Any = ScopedResources(resources)
    found: ResourceStore = seen
    return found
