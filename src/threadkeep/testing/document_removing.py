"""Cases of ``remove``, ``erase`` and ``measure``."""

from threadkeep.ports.documents import (
    BLOBS,
    CHECKPOINTS,
    ITEMS,
    PARTS,
    REF_BYTES,
    WRITES,
    AsyncDocumentStore,
    Batch,
    Document,
    Find,
    HasEntry,
    Scope,
    Usage,
)
from threadkeep.testing.builders import THREAD, address, blob, checkpoint, item, part, write
from threadkeep.testing.document_steps import page_of


def one_of_each(thread_id: str = THREAD) -> list[Document]:
    """Build a document of every collection."""
    return [
        checkpoint(1, thread_id=thread_id),
        write(1, thread_id=thread_id),
        blob(1, thread_id=thread_id, metadata='{"a": 1}'),
        item(2, thread_id=thread_id),
        part(3, thread_id=thread_id),
    ]


async def contents(store: AsyncDocumentStore, scope: Scope, thread_id: str) -> list[Document]:
    """Read all that a thread stores."""
    return [
        document
        for collection in (CHECKPOINTS, WRITES, BLOBS, ITEMS, PARTS)
        for document in await page_of(store, scope, Find(collection, thread_id))
    ]


class RemovingCases:
    """What removal leaves."""

    async def test_removal_counts_what_was_there(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await documents.insert(scope, Batch(one_of_each()))
        keys = [(document.collection, document.key) for document in one_of_each()]
        absent = [(CHECKPOINTS, checkpoint(2).key), (ITEMS, (address(1),)), keys[0]]
        assert await documents.remove(scope, THREAD, [*keys[:3], *absent]) == 3
        assert await contents(documents, scope, THREAD) == one_of_each()[3:]
        assert await documents.remove(scope, THREAD, keys) == 2
        assert await documents.remove(scope, THREAD, keys) == 0
        assert await documents.remove(scope, "unknown", keys) == 0
        assert await documents.remove(scope, THREAD, []) == 0

    async def test_removal_leaves_other_threads_and_scopes(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        other = Scope(scope.namespace, "other")
        for each in (scope, other):
            for thread_id in ("a", "b"):
                await documents.insert(each, Batch(one_of_each(thread_id)))
        keys = [(document.collection, document.key) for document in one_of_each()]
        assert await documents.remove(scope, "a", keys) == 5
        assert await contents(documents, scope, "a") == []
        assert await contents(documents, scope, "b") == one_of_each("b")
        assert await contents(documents, other, "a") == one_of_each("a")

    async def test_a_removed_document_can_be_written_again(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        keys = [(document.collection, document.key) for document in one_of_each()]
        await documents.insert(scope, Batch(one_of_each()))
        await documents.remove(scope, THREAD, keys)
        again = [*one_of_each()[:2], blob(1, b"again"), item(2, b"again"), part(3, b"again")]
        assert not (await documents.insert(scope, Batch(again))).present
        assert await contents(documents, scope, THREAD) == again
        find = Find(BLOBS, where=[HasEntry("metadata", "a", "1")])
        assert await documents.count(scope, find) == 0

    async def test_erasing_leaves_nothing_of_the_thread_and_all_of_the_others(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        other = Scope(scope.namespace, "other")
        for each in (scope, other):
            for thread_id in ("a", "b"):
                await documents.insert(each, Batch(one_of_each(thread_id)))
        assert await documents.erase(scope, "a") == 5
        assert await contents(documents, scope, "a") == []
        assert not await documents.measure(scope, "a")
        assert await contents(documents, scope, "b") == one_of_each("b")
        assert await contents(documents, other, "a") == one_of_each("a")
        find = Find(BLOBS, where=[HasEntry("metadata", "a", "1")])
        assert await documents.count(scope, find) == 1
        assert await documents.erase(scope, "a") == 0
        assert await documents.erase(scope, "unknown") == 0

    async def test_an_erased_thread_can_be_written_again_and_again(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        for number in range(3):
            assert (await documents.insert(scope, Batch([item(number)]))).written
            assert await contents(documents, scope, THREAD) == [item(number)]
            requires = [(ITEMS, (address(number),))]
            assert await documents.erase(scope, THREAD) == 1
            inserted = await documents.insert(scope, Batch([item(9)], [], requires))
            assert not inserted.written
            assert await contents(documents, scope, THREAD) == []

    async def test_usage_counts_documents_and_their_bytes_by_collection(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        written = [
            checkpoint(1, b"12345", ns="é", refs=[address(1)], source="loop", step=3, meta=b"123"),
            checkpoint("short", b"", parent_id="other", step=0),
            checkpoint(2, b"", parent_id=checkpoint(1).key[1]),
            write(1, 7, b"123", task="tasks", refs=[address(1), address(2)]),
            blob(1, b"1234", metadata='{"a": 1}'),
            blob(2, b"1", refs=[address(1)]),
            item(3, b"123"),
        ]
        await documents.insert(scope, Batch(written))
        await documents.insert(scope, Batch([item(9, b"elsewhere", thread_id="thread-2")]))
        assert await documents.measure(scope, THREAD) == {
            CHECKPOINTS: Usage(3, (5 + 2 + 36 + 12 + 4 + 8 + 3) + (5 + 5 + 8) + (36 + 36)),
            WRITES: Usage(1, 3 + 36 + 5 + 8 + 2 * REF_BYTES),
            BLOBS: Usage(2, (12 + 4 + 8) + (12 + 1 + 12)),
            ITEMS: Usage(1, 12 + 3),
        }
        assert not await documents.measure(scope, "unknown")
