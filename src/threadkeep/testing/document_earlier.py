"""Cases of the collections of schema 1: kept as they are, beside those of schema 2."""

from dataclasses import replace

import pytest

from threadkeep.errors import InvalidRequestError
from threadkeep.ports.documents import (
    CHECKPOINTS,
    CHECKPOINTS_V1,
    WRITES,
    WRITES_V1,
    AsyncDocumentStore,
    Batch,
    Below,
    Document,
    Find,
    In,
    Is,
    Pruning,
    Scope,
)
from threadkeep.rules.document_order import size_of
from threadkeep.testing.builders import (
    THREAD,
    address,
    checkpoint,
    checkpoint_id,
    earlier_checkpoint,
    earlier_write,
    write,
)
from threadkeep.testing.document_steps import page_of

EVERY = (CHECKPOINTS_V1, WRITES_V1, CHECKPOINTS, WRITES)


def both(thread_id: str = THREAD) -> list[Document]:
    """Build documents of both schemas under the same keys."""
    return [
        earlier_checkpoint(1, thread_id=thread_id, parent_id=checkpoint_id(0)),
        earlier_write(1, thread_id=thread_id),
        checkpoint(1, thread_id=thread_id, step=1),
        write(1, thread_id=thread_id),
    ]


async def contents(store: AsyncDocumentStore, scope: Scope, thread_id: str) -> list[Document]:
    """Read what a thread stores of both schemas."""
    return [
        document
        for collection in EVERY
        for document in await page_of(store, scope, Find(collection, thread_id))
    ]


class EarlierCases:
    """What a store keeps of schema 1."""

    async def test_documents_of_both_schemas_lie_apart_under_one_key(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        assert not (await documents.insert(scope, Batch(both()))).present
        assert await contents(documents, scope, THREAD) == both()
        met = await documents.insert(scope, Batch(both()))
        assert sorted(collection for collection, _ in met.present) == sorted(EVERY)
        changed = earlier_checkpoint(1, b"other")
        await documents.insert(scope, Batch(replacing=[changed]))
        assert await contents(documents, scope, THREAD) == [changed, *both()[1:]]
        for collection in EVERY:
            assert await documents.count(scope, Find(collection)) == 1

    async def test_documents_of_schema_1_are_found_in_order_with_their_writes(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        of_root = [earlier_checkpoint(number) for number in (1, 2, 3)]
        child = earlier_checkpoint(4, ns="child", thread_id="other")
        await documents.insert(scope, Batch([*both(), *of_root[1:], checkpoint(9)]))
        await documents.insert(scope, Batch([child]))
        newest = Find(CHECKPOINTS_V1, newest_first=True, children=WRITES_V1)
        page = await documents.find(scope, newest)
        assert page.documents == [child, *reversed(of_root[1:]), both()[0]]
        assert page.children == [both()[1]]
        of_one = replace(newest, thread_id=THREAD, where=[Is("checkpoint_ns", "")], limit=2)
        page = await documents.find(scope, of_one)
        assert (page.documents, page.children, page.more) == ([of_root[2], of_root[1]], [], True)
        page = await documents.find(scope, replace(of_one, after=(THREAD, of_root[1].key)))
        assert (page.documents, page.children, page.more) == ([both()[0]], [both()[1]], False)
        below = Find(CHECKPOINTS_V1, THREAD, [Below("checkpoint_ns", "b")])
        assert await page_of(documents, scope, below) == [both()[0], *of_root[1:]]
        named = Find(CHECKPOINTS_V1, None, [In("checkpoint_ns", ["child", "x"])])
        assert await page_of(documents, scope, named) == [child]
        parent = Find(CHECKPOINTS_V1, None, [Is("parent_id", checkpoint_id(0))])
        assert await page_of(documents, scope, parent) == [both()[0]]

    async def test_documents_of_schema_1_are_copied_counted_and_removed_with_their_thread(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await documents.insert(scope, Batch(both()))
        assert await documents.copy(scope, THREAD, "copy") == 4
        assert await contents(documents, scope, "copy") == both("copy")
        usage = await documents.measure(scope, THREAD)
        told = {name: (one.documents, one.size_bytes) for name, one in usage.items()}
        assert told == {document.collection: (1, size_of(document)) for document in both()}
        keys = [(document.collection, document.key) for document in both()]
        required = Batch([write(2)], requires=keys[:2])
        assert (await documents.insert(scope, required)).written
        assert await documents.remove(scope, THREAD, keys[:2]) == 2
        assert await contents(documents, scope, THREAD) == [*both()[2:], write(2)]
        assert not (await documents.insert(scope, required)).written
        assert await documents.erase(scope, "copy") == 4
        assert await contents(documents, scope, "copy") == []

    async def test_a_prune_of_schema_2_leaves_schema_1(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await documents.insert(scope, Batch(both()))
        pruned = await documents.prune(scope, THREAD, Pruning([checkpoint(1).key]))
        assert (pruned.checkpoints, pruned.writes) == (1, 1)
        assert await contents(documents, scope, THREAD) == both()[:2]

    async def test_what_schema_1_has_not_is_refused(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        naming = replace(earlier_checkpoint(1), refs=(address(1),))
        stepped = replace(earlier_checkpoint(1), fields={"step": 1})
        for document in (naming, stepped):
            with pytest.raises(InvalidRequestError):
                await documents.insert(scope, Batch([document]))
        for collection, children in ((CHECKPOINTS_V1, WRITES), (CHECKPOINTS, WRITES_V1)):
            with pytest.raises(InvalidRequestError, match="are no children of"):
                await documents.find(scope, Find(collection, children=children))
