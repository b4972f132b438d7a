"""Cases of ``stage``: what every store must do that takes a batch now and commits it soon.

A driver's test file subclasses ``StagingSuite`` and overrides ``store``, as in
``DocumentStoreSuite``; a store that cannot stage is not asked.
"""

import asyncio

import pytest

from threadkeep.errors import DocumentTooLargeError, InvalidRequestError
from threadkeep.ports.documents import (
    CHECKPOINTS,
    ITEMS,
    Batch,
    Find,
    Scope,
)
from threadkeep.ports.staging import StagingDocumentStore
from threadkeep.testing.builders import THREAD, address, checkpoint, item
from threadkeep.testing.document_steps import StoreFixtures, is_new, page_of

SOON_SECONDS = 0.01
NEVER_SECONDS = 3600.0  # longer than any case: what commits does so for another reason


class StagingSuite(StoreFixtures):
    """Subclass in a driver's tests."""

    async def test_a_staged_batch_commits_within_its_time(
        self, documents: StagingDocumentStore, scope: Scope
    ) -> None:
        staged = documents.stage(scope, Batch([item(1)]), within_seconds=SOON_SECONDS)
        assert is_new(await staged.committed())
        assert staged.so_far() == await staged.committed()

    async def test_what_became_of_a_staged_batch_is_told(
        self, documents: StagingDocumentStore, scope: Scope
    ) -> None:
        absent = (CHECKPOINTS, checkpoint(1).key)
        for batch in (Batch([item(1)]), Batch([item(2)], requires=[absent])):
            staged = documents.stage(scope, batch, within_seconds=SOON_SECONDS)
            known = asyncio.Event()
            staged.when_known(known.set)
            await known.wait()
            assert staged.so_far() == await staged.committed()

    async def test_every_read_sees_what_was_staged_before_it(
        self, documents: StagingDocumentStore, scope: Scope
    ) -> None:
        documents.stage(scope, Batch([item(1)]), within_seconds=NEVER_SECONDS)
        assert await page_of(documents, scope, Find(ITEMS, THREAD)) == [item(1)]
        documents.stage(scope, Batch([item(2)]), within_seconds=NEVER_SECONDS)
        fetched = await documents.fetch(scope, THREAD, [address(1), address(2)])
        assert set(fetched.documents) == {address(1), address(2)}
        documents.stage(scope, Batch([item(3)]), within_seconds=NEVER_SECONDS)
        assert await documents.count(scope, Find(ITEMS, THREAD)) == 3

    async def test_what_is_handed_over_later_commits_later(
        self, documents: StagingDocumentStore, scope: Scope
    ) -> None:
        first, last = checkpoint(1, b"first"), checkpoint(1, b"last")
        staged = documents.stage(scope, Batch(replacing=[first]), within_seconds=NEVER_SECONDS)
        await documents.insert(scope, Batch(replacing=[last]))
        assert (await staged.committed()).written
        assert await page_of(documents, scope, Find(CHECKPOINTS, THREAD)) == [last]

    async def test_an_erasure_takes_what_was_staged_before_it_and_no_more(
        self, documents: StagingDocumentStore, scope: Scope
    ) -> None:
        documents.stage(scope, Batch([item(1)]), within_seconds=NEVER_SECONDS)
        assert await documents.erase(scope, THREAD) == 1
        documents.stage(scope, Batch([item(2)]), within_seconds=NEVER_SECONDS)
        assert await page_of(documents, scope, Find(ITEMS, THREAD)) == [item(2)]

    async def test_a_staged_batch_is_all_or_nothing(
        self, documents: StagingDocumentStore, scope: Scope
    ) -> None:
        absent = (CHECKPOINTS, checkpoint(1).key)
        refused = documents.stage(
            scope, Batch([item(1)], requires=[absent]), within_seconds=SOON_SECONDS
        )
        assert not (await refused.committed()).written
        assert await page_of(documents, scope, Find(ITEMS, THREAD)) == []

    async def test_a_batch_that_relies_on_one_that_is_not_written_is_not_written(
        self, documents: StagingDocumentStore, scope: Scope
    ) -> None:
        absent = (CHECKPOINTS, checkpoint(1).key)
        lost = documents.stage(
            scope, Batch([item(1)], requires=[absent]), within_seconds=SOON_SECONDS
        )
        relying = documents.stage(scope, Batch([item(2)]), within_seconds=SOON_SECONDS, after=lost)
        further = documents.stage(
            scope, Batch([item(3)]), within_seconds=SOON_SECONDS, after=relying
        )
        other = documents.stage(scope, Batch([item(4)]), within_seconds=SOON_SECONDS)
        last = documents.stage(scope, Batch([item(5)]), within_seconds=SOON_SECONDS, after=other)
        assert (await last.committed()).written
        assert not (await relying.committed()).written
        assert not (await further.committed()).written
        assert await page_of(documents, scope, Find(ITEMS, THREAD)) == [item(4), item(5)]

    async def test_what_insert_refuses_is_not_taken(
        self, documents: StagingDocumentStore, scope: Scope
    ) -> None:
        two_threads = Batch([item(1), item(2, thread_id="another")])
        with pytest.raises(InvalidRequestError):
            documents.stage(scope, two_threads, within_seconds=SOON_SECONDS)
        large = item(1, b"x" * (documents.max_body_bytes + 1))
        with pytest.raises(DocumentTooLargeError):
            documents.stage(scope, Batch([large]), within_seconds=SOON_SECONDS)
        assert await documents.count(scope, Find(ITEMS)) == 0
