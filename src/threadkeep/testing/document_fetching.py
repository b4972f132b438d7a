"""Cases of ``DocumentStore.fetch``."""

from collections.abc import Mapping

from threadkeep.ports.documents import (
    PART_BYTES,
    READ_BYTES,
    AsyncDocumentStore,
    Batch,
    Document,
    Scope,
)
from threadkeep.testing.builders import THREAD, address, blob, item, part


async def closure_of(
    store: AsyncDocumentStore, scope: Scope, refs: list[bytes]
) -> Mapping[bytes, Document]:
    """Fetch nodes until nothing remains; every reply is within the budget."""
    found: dict[bytes, Document] = {}
    remaining = refs
    while remaining:
        fetched = await store.fetch(scope, THREAD, remaining, nodes=True)
        bodies = sum(len(document.body) for document in fetched.documents.values())
        assert len(fetched.documents) == 1 or bodies <= READ_BYTES
        assert fetched.documents, "each call reads at least one"
        found.update(fetched.documents)
        remaining = list(fetched.remaining)
    return found


class FetchingCases:
    """What ``fetch`` promises."""

    async def test_absent_addresses_are_absent(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await documents.insert(scope, Batch([item(1)]))
        fetched = await documents.fetch(scope, THREAD, [address(2), address(1), address(3)])
        assert fetched.documents == {address(1): item(1)}
        assert not fetched.remaining
        assert not (await documents.fetch(scope, THREAD, [])).documents
        nothing = await documents.fetch(scope, "unknown", [address(1)], nodes=True)
        assert not nothing.documents
        assert not nothing.remaining

    async def test_repeated_addresses_are_read_once(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        large = part(1, b"x" * PART_BYTES)
        await documents.insert(scope, Batch([large]))
        refs = [address(1)] * (READ_BYTES // PART_BYTES + 2)
        fetched = await documents.fetch(scope, THREAD, refs)
        assert fetched.documents == {address(1): large}
        assert not fetched.remaining

    async def test_ten_thousand_addresses_are_read_by_one_call(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        items = [item(number, b"%d" % number) for number in range(10_000)]
        await documents.insert(scope, Batch(items))
        wanted = [address(number) for number in range(20_000)]
        fetched = await documents.fetch(scope, THREAD, wanted)
        assert len(fetched.documents) == 10_000
        assert not fetched.remaining

    async def test_a_reply_is_cut_at_the_budget_and_says_what_remains(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        parts = {
            address(number): part(number, bytes([number]) * PART_BYTES) for number in range(20)
        }
        await documents.insert(scope, Batch([*parts.values()]))
        asked = [address(number) for number in (3, 99, *range(20), 98)]
        found: dict[bytes, Document] = {}
        remaining = asked
        while remaining:
            fetched = await documents.fetch(scope, THREAD, remaining)
            assert 1 <= len(fetched.documents) <= READ_BYTES // PART_BYTES
            assert not found.keys() & fetched.documents.keys()
            assert list(fetched.remaining) == [ref for ref in asked if ref in fetched.remaining]
            found.update(fetched.documents)
            remaining = list(fetched.remaining)
        assert found == parts

    async def test_one_document_is_read_however_large(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        large = item(1, b"x" * min(documents.max_body_bytes, READ_BYTES + 1))
        await documents.insert(scope, Batch([large, item(2, b"y" * PART_BYTES)]))
        fetched = await documents.fetch(scope, THREAD, [address(1)])
        assert fetched.documents == {address(1): large}
        assert not fetched.remaining

    async def test_nodes_are_read_however_deep_and_leaves_only_where_asked_for(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        depth = 200
        chain = [item(number, refs=[address(number + 1)]) for number in range(depth)]
        await documents.insert(scope, Batch([*chain, item(depth), item(depth + 1)]))
        fetched = await documents.fetch(scope, THREAD, [address(0), address(depth + 1)], nodes=True)
        expected = {address(number): chain[number] for number in range(depth)}
        assert fetched.documents == {**expected, address(depth + 1): item(depth + 1)}
        assert not fetched.remaining
        plain = await documents.fetch(scope, THREAD, [address(0)])
        assert plain.documents == {address(0): chain[0]}

    async def test_nodes_are_found_in_every_addressed_collection(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        tree = [
            blob(1, refs=[address(9), address(2)], metadata='{"a": 1}'),
            item(2, refs=[address(3)]),
            Document(THREAD, part(3).collection, (address(3),), b"", (address(4),)),
        ]
        await documents.insert(scope, Batch([*tree, item(4)]))
        fetched = await documents.fetch(scope, THREAD, [address(1)], nodes=True)
        assert [*fetched.documents.values()] == tree

    async def test_wide_nodes_are_followed_to_their_last_address(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        for width in (15, 16, 17, 33, 500):
            base = width * 1000
            nodes = [item(base + 1 + n, refs=[address(base)]) for n in range(width)]
            root = item(base + 999, refs=[address(base + 1 + n) for n in range(width)])
            await documents.insert(scope, Batch([root, *nodes]))
            fetched = await documents.fetch(scope, THREAD, [address(base + 999)], nodes=True)
            assert len(fetched.documents) == width + 1

    async def test_shared_and_circular_nodes_are_read_once(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        circle = [
            item(1, refs=[address(2), address(3), address(2)]),
            item(2, refs=[address(3), address(1)]),
            item(3, refs=[address(3)]),
        ]
        await documents.insert(scope, Batch(circle))
        fetched = await documents.fetch(scope, THREAD, [address(1)], nodes=True)
        assert fetched.documents == {document.key[0]: document for document in circle}
        assert not fetched.remaining

    async def test_nodes_above_the_budget_are_read_by_several_calls(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        children = {
            number: [address(2 * number + 1), address(2 * number + 2)] for number in range(15)
        }
        nodes = [item(n, bytes([n]) * PART_BYTES, refs=refs) for n, refs in children.items()]
        await documents.insert(scope, Batch([*nodes, *(item(15 + n) for n in range(16))]))
        found = await closure_of(documents, scope, [address(0), address(99), address(30)])
        expected = {address(number): nodes[number] for number in range(15)}
        assert found == {**expected, address(30): item(30)}

    async def test_nodes_of_another_thread_are_not_followed(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await documents.insert(scope, Batch([item(1, refs=[address(2)])]))
        await documents.insert(scope, Batch([item(2, refs=[address(3)], thread_id="thread-2")]))
        fetched = await documents.fetch(scope, THREAD, [address(1)], nodes=True)
        assert fetched.documents == {address(1): item(1, refs=[address(2)])}
