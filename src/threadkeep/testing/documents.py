"""What every document store must do: one case per promise of ``ports.documents``.

A driver's test file subclasses ``DocumentStoreSuite`` and overrides the ``store`` fixture; a
blocking store passes through ``testing.faces.Awaited``. No case asks which driver it has, and
none is skipped.
"""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from threadkeep.ports.documents import AsyncDocumentStore, Scope
from threadkeep.testing.document_fetching import FetchingCases
from threadkeep.testing.document_filters import FilterCases
from threadkeep.testing.document_finding import FindingCases
from threadkeep.testing.document_inserting import InsertingCases
from threadkeep.testing.document_refusals import RefusalCases
from threadkeep.testing.document_removing import RemovingCases
from threadkeep.testing.document_threads import (
    CopyingCases,
    ErasureCases,
    LeaseCases,
    PruningCases,
)


class DocumentStoreSuite(
    InsertingCases,
    RefusalCases,
    FetchingCases,
    FindingCases,
    FilterCases,
    RemovingCases,
    CopyingCases,
    PruningCases,
    ErasureCases,
    LeaseCases,
):
    """Subclass in a driver's tests."""

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
