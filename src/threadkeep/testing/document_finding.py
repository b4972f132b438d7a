"""Cases of ``DocumentStore.find``: order, pages, cursors and children."""

import pytest

from threadkeep.ports.documents import (
    CHECKPOINTS,
    ITEMS,
    PART_BYTES,
    PARTS,
    READ_BYTES,
    WRITES,
    AsyncDocumentStore,
    Batch,
    Below,
    Document,
    Find,
    Is,
    Scope,
)
from threadkeep.testing.builders import (
    THREAD,
    address,
    checkpoint,
    checkpoint_id,
    item,
    part,
    write,
)
from threadkeep.testing.document_steps import all_of

# In the order of ids: UUIDs before all others, each by code point.
ORDERED_IDS = [
    "00000000-0000-0000-0000-000000000000",
    "1ef4f797-8335-6428-8001-8a1503f9b875",
    "fe000000-0000-0000-0000-000000000000",
    "",
    "\x00",
    "00000000-0000-0000-0000-00000000000",
    "00000000000000000000000000000000",
    "1EF4F797-8335-6428-8001-8A1503F9B875",
    "a",
    "a\x00",
    "aa",
    "ff000000-0000-0000-0000-000000000000",
    "\x7f",
    "\x80",
    "\ud7ff",
    "\ud800",
    "\udfff",
    "\ue000",
    "\uffff",
    "\U00010000",
    "\U0010ffff",
]

ORDERED_TEXT = sorted(ORDERED_IDS)  # Python orders text by code point


async def stored(
    store: AsyncDocumentStore, scope: Scope, documents: list[Document]
) -> list[Document]:
    """Insert documents of any threads, in an order that is not theirs."""
    for document in documents[::2] + documents[1::2][::-1]:
        await store.insert(scope, Batch([document]))
    return documents


class FindingCases:
    """What ``find`` promises about order and pages."""

    @pytest.mark.parametrize("limit", [1, 2, 5, 1000])
    async def test_pages_order_by_thread_then_key_and_are_disjoint(
        self, documents: AsyncDocumentStore, scope: Scope, limit: int
    ) -> None:
        expected = await stored(
            documents,
            scope,
            [
                checkpoint(number, ns=ns, thread_id=thread_id)
                for thread_id in ("", "a", "b")
                for ns in ("", "child")
                for number in range(3)
            ],
        )
        assert await all_of(documents, scope, Find(CHECKPOINTS, limit=limit)) == expected
        of_thread = await all_of(documents, scope, Find(CHECKPOINTS, "a", limit=limit))
        assert of_thread == expected[6:12]

    @pytest.mark.parametrize("limit", [1, 2, 5, 1000])
    async def test_newest_first_crosses_namespaces_and_threads_with_ties_ascending(
        self, documents: AsyncDocumentStore, scope: Scope, limit: int
    ) -> None:
        expected = await stored(
            documents,
            scope,
            [
                checkpoint(number, b"%d" % number, ns=ns, thread_id=thread_id)
                for number in (2, 1, 0)
                for ns in ("", "child")
                for thread_id in ("a", "b")
            ],
        )
        newest = Find(CHECKPOINTS, newest_first=True, limit=limit)
        assert await all_of(documents, scope, newest) == expected
        of_thread = Find(CHECKPOINTS, "b", newest_first=True, limit=limit)
        assert await all_of(documents, scope, of_thread) == expected[1::2]
        of_namespace = Find(
            CHECKPOINTS, "b", [Is("checkpoint_ns", "child")], newest_first=True, limit=limit
        )
        assert await all_of(documents, scope, of_namespace) == expected[3::4]

    @pytest.mark.parametrize("limit", [1, 3, 1000])
    async def test_writes_and_items_page_like_checkpoints(
        self, documents: AsyncDocumentStore, scope: Scope, limit: int
    ) -> None:
        writes = [
            write(number, part_number, task=task, thread_id=thread_id)
            for thread_id in ("a", "b")
            for number in (0, 1)
            for task in ("t", "u")
            for part_number in (-2, -1, 0, 3)
        ]
        items = [item(number, thread_id=thread_id) for thread_id in "ab" for number in range(4)]
        await stored(documents, scope, [*writes, *items])
        assert await all_of(documents, scope, Find(WRITES, limit=limit)) == writes
        assert await all_of(documents, scope, Find(ITEMS, limit=limit)) == items
        newest_writes = await all_of(documents, scope, Find(WRITES, newest_first=True, limit=limit))
        assert newest_writes == sorted(
            writes, key=lambda each: (-int(each.key[3] or 0), each.key[:3], each.thread_id)
        )
        newest_items = await all_of(documents, scope, Find(ITEMS, newest_first=True, limit=limit))
        assert newest_items == [
            item(number, thread_id=thread_id) for number in (3, 2, 1, 0) for thread_id in "ab"
        ]

    async def test_ids_order_with_uuids_first(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        expected = await stored(documents, scope, [checkpoint(ident) for ident in ORDERED_IDS])
        assert await all_of(documents, scope, Find(CHECKPOINTS, limit=3)) == expected
        newest = Find(CHECKPOINTS, newest_first=True, limit=3)
        assert await all_of(documents, scope, newest) == expected[::-1]
        of_thread = Find(CHECKPOINTS, THREAD, [Is("checkpoint_ns", "")], newest_first=True, limit=3)
        assert await all_of(documents, scope, of_thread) == expected[::-1]
        for number, ident in enumerate(ORDERED_IDS):
            below = Find(CHECKPOINTS, where=[Below("checkpoint_id", ident)])
            assert await documents.count(scope, below) == number
        tasks = await stored(documents, scope, [write(1, task=ident) for ident in ORDERED_IDS])
        assert await all_of(documents, scope, Find(WRITES, limit=3)) == tasks

    async def test_text_orders_by_code_point(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        spaces = await stored(documents, scope, [checkpoint(1, ns=ns) for ns in ORDERED_TEXT])
        assert await all_of(documents, scope, Find(CHECKPOINTS, limit=3)) == spaces
        threads = await stored(
            documents, scope, [item(1, thread_id=thread_id) for thread_id in ORDERED_TEXT]
        )
        assert await all_of(documents, scope, Find(ITEMS, limit=3)) == threads
        for number, ns in enumerate(ORDERED_TEXT):
            below = Find(CHECKPOINTS, where=[Below("checkpoint_ns", ns)])
            assert await documents.count(scope, below) == number

    @pytest.mark.parametrize("newest_first", [False, True])
    async def test_a_page_goes_on_after_a_document_that_was_removed(
        self, documents: AsyncDocumentStore, scope: Scope, newest_first: bool
    ) -> None:
        written = await stored(documents, scope, [checkpoint(number) for number in range(5)])
        expected = written[::-1] if newest_first else written
        find = Find(CHECKPOINTS, newest_first=newest_first, limit=2)
        first = await documents.find(scope, find)
        anchor = first.documents[-1]
        await documents.remove(scope, THREAD, [(CHECKPOINTS, anchor.key)])
        after = (anchor.thread_id, anchor.key)
        rest = await documents.find(
            scope, Find(CHECKPOINTS, newest_first=newest_first, after=after)
        )
        assert [*first.documents, *rest.documents] == expected
        assert not rest.more

    async def test_a_cursor_of_another_thread_counts_by_its_place(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await stored(documents, scope, [item(number, thread_id="m") for number in range(3)])
        before, behind = ("a", (address(2),)), ("z", (address(0),))
        page = await documents.find(scope, Find(ITEMS, "m", after=before))
        assert len(page.documents) == 3
        page = await documents.find(scope, Find(ITEMS, "m", after=behind))
        assert not page.documents
        page = await documents.find(scope, Find(ITEMS, "m", newest_first=True, after=behind))
        assert [document.key for document in page.documents] == []
        after = ("a", (address(1),))
        page = await documents.find(scope, Find(ITEMS, "m", newest_first=True, after=after))
        assert [document.key for document in page.documents] == [(address(1),), (address(0),)]

    async def test_more_says_whether_a_page_was_cut(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await stored(documents, scope, [checkpoint(number) for number in range(3)])
        for limit, more in ((0, False), (1, True), (2, True), (3, False), (4, False)):
            page = await documents.find(scope, Find(CHECKPOINTS, limit=limit))
            assert (len(page.documents), page.more) == (min(limit, 3), more)

    @pytest.mark.parametrize("newest_first", [False, True])
    async def test_a_page_is_cut_at_the_budget(
        self, documents: AsyncDocumentStore, scope: Scope, newest_first: bool
    ) -> None:
        parts = [part(number, bytes([number]) * PART_BYTES) for number in range(20)]
        await documents.insert(scope, Batch(parts))
        find = Find(PARTS, newest_first=newest_first)
        page = await documents.find(scope, find)
        assert page.more
        assert 1 <= len(page.documents) <= READ_BYTES // PART_BYTES
        expected = parts[::-1] if newest_first else parts
        assert await all_of(documents, scope, find) == expected

    async def test_a_page_holds_a_document_however_large(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        body = b"x" * min(documents.max_body_bytes, READ_BYTES + 1)
        await documents.insert(scope, Batch([item(1, body)]))
        await documents.insert(scope, Batch([item(2, body)]))
        for newest_first in (False, True):
            found = await all_of(documents, scope, Find(ITEMS, newest_first=newest_first))
            assert len(found) == 2

    @pytest.mark.parametrize("newest_first", [False, True])
    async def test_without_bodies_a_page_has_empty_ones_and_holds_more(
        self, documents: AsyncDocumentStore, scope: Scope, newest_first: bool
    ) -> None:
        parts = [part(number, b"x" * PART_BYTES) for number in range(20)]
        await documents.insert(scope, Batch([*parts, checkpoint(1), write(1)]))
        page = await documents.find(scope, Find(PARTS, newest_first=newest_first, bodies=False))
        assert [document.body for document in page.documents] == [b""] * 20
        assert not page.more
        page = await documents.find(scope, Find(CHECKPOINTS, children=WRITES, bodies=False))
        assert [document.body for document in (*page.documents, *page.children)] == [b"", b""]

    @pytest.mark.parametrize("newest_first", [False, True])
    async def test_children_come_with_the_documents_of_the_page_only(
        self, documents: AsyncDocumentStore, scope: Scope, newest_first: bool
    ) -> None:
        await stored(
            documents,
            scope,
            [checkpoint(n, ns=ns, thread_id=t) for t in "ab" for ns in ("", "c") for n in range(3)],
        )
        children = await stored(
            documents,
            scope,
            [
                write(number, index, task=task, ns=ns, thread_id=thread_id)
                for thread_id in "ab"
                for ns in ("", "c")
                for number in (0, 1, 3)
                for task in "tu"
                for index in (-1, 0)
            ],
        )
        for limit in (1, 2, 7, 12):
            find = Find(CHECKPOINTS, newest_first=newest_first, limit=limit, children=WRITES)
            page = await documents.find(scope, find)
            parents = {(document.thread_id, document.key) for document in page.documents}
            assert list(page.children) == [
                child for child in children if (child.thread_id, child.key[:2]) in parents
            ]

    async def test_children_come_whether_or_not_they_fit_the_budget(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        count = READ_BYTES // PART_BYTES + 2
        large = [write(1, number, b"x" * PART_BYTES) for number in range(count)]
        await documents.insert(scope, Batch([checkpoint(1), *large]))
        page = await documents.find(scope, Find(CHECKPOINTS, children=WRITES))
        assert list(page.children) == large
        assert not page.more

    async def test_the_newest_of_a_namespace_is_found_among_thousands(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        many = [checkpoint(number) for number in range(3000)]
        await documents.insert(scope, Batch([*many, checkpoint(5000, ns="other")]))
        find = Find(CHECKPOINTS, THREAD, [Is("checkpoint_ns", "")], newest_first=True, limit=1)
        page = await documents.find(scope, find)
        assert list(page.documents) == [many[-1]]
        assert page.more
        before = Below("checkpoint_id", checkpoint_id(1000))
        page = await documents.find(
            scope,
            Find(
                CHECKPOINTS, THREAD, [Is("checkpoint_ns", ""), before], newest_first=True, limit=1
            ),
        )
        assert list(page.documents) == [many[999]]
