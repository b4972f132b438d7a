"""What cases of the document suites do again and again, and the fixtures they share."""

from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import uuid4

import pytest

from threadkeep.ports.documents import AsyncDocumentStore, Document, Find, Inserted, Scope


async def page_of(store: AsyncDocumentStore, scope: Scope, find: Find) -> list[Document]:
    """Read one page."""
    return list((await store.find(scope, find)).documents)


async def all_of(store: AsyncDocumentStore, scope: Scope, find: Find) -> list[Document]:
    """Read every page, each after the last document of the one before."""
    documents: list[Document] = []
    while True:
        after = (documents[-1].thread_id, documents[-1].key) if documents else None
        page = await store.find(scope, replace(find, after=after))
        documents.extend(page.documents)
        if not page.more:
            return documents
        assert page.documents, "a cut page holds at least one document"


def is_new(inserted: Inserted) -> bool:
    """Say whether a batch was written and met nothing."""
    return inserted.written and not inserted.present


class StoreFixtures:
    """Base of the suites for document stores."""

    pytestmark = pytest.mark.anyio

    @pytest.fixture
    def store(self) -> AsyncDocumentStore:
        """Return a store; the cases set it up, use scopes of their own, and close it."""
        raise NotImplementedError

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    async def documents(self, store: AsyncDocumentStore) -> AsyncIterator[AsyncDocumentStore]:
        await store.setup()
        yield store
        await store.close()

    @pytest.fixture
    def scope(self) -> Scope:
        return Scope(f"suite-{uuid4()}", "agent.v1")
