"""Cases of ``DocumentStore.insert``, of what it stores exactly, and of opening and closing."""

import asyncio

import pytest

from threadkeep.errors import StorageError
from threadkeep.ports.documents import (
    BLOBS,
    CHECKPOINTS,
    ITEMS,
    PART_BYTES,
    WRITES,
    AsyncDocumentStore,
    Batch,
    Document,
    Find,
    Key,
    Scope,
)
from threadkeep.testing.builders import (
    THREAD,
    address,
    blob,
    checkpoint,
    checkpoint_id,
    item,
    part,
    write,
)
from threadkeep.testing.document_steps import all_of, is_new, page_of

UUID = "1ef4f797-8335-6428-8001-8a1503f9b875"

# Text that a careless store truncates, folds, rejects, or takes for something else.
HOSTILE = [
    "",
    "\x00",
    "a\x00b",
    "a",
    "A",
    "é",
    "e\u0301",
    "\ud800",
    "\U0001f600",
    "' OR 1=1 --",
    '"; DROP TABLE documents',
    "%",
    "_",
    "*",
    ".",
    ":p0",
    "?",
    "{where}",
    "\\",
    " ",
    "null",
    UUID,
    UUID.upper(),
    "{" + UUID + "}",
    UUID.replace("-", ""),
    "ff" + UUID[2:],
    UUID + "\n",
    "\xff" + UUID,
    "fifteen letters",
    "x" * 10_240,
]


class InsertingCases:
    """What ``insert`` promises."""

    async def test_documents_of_every_collection_read_back_as_written(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        written = [
            checkpoint(
                2,
                b"\x00\xff" * 40,
                ns="child:1",
                refs=[address(9), address(7)],
                parent_id=checkpoint_id(1),
                source="loop",
                step=-1,
                meta=b"\x00\xff",
            ),
            write(2, -3, b"", task=UUID, ns="child:1", refs=[address(7)]),
            blob(7, b"", refs=[address(9), address(9)], metadata='{"a": [1, null]}'),
            item(8, b"item"),
            part(9, b"p" * PART_BYTES),
        ]
        await documents.insert(scope, Batch(written))
        found = [
            document
            for collection in (CHECKPOINTS, WRITES)
            for document in await page_of(documents, scope, Find(collection))
        ]
        fetched = await documents.fetch(scope, THREAD, [address(n) for n in (7, 8, 9)])
        assert [*found, *fetched.documents.values()] == written

    async def test_fields_left_out_read_as_none(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        bare = [
            Document(THREAD, CHECKPOINTS, ("", checkpoint_id(1)), b"x"),
            Document(THREAD, BLOBS, (address(2),), b"x"),
        ]
        await documents.insert(scope, Batch(bare))
        (found,) = await page_of(documents, scope, Find(CHECKPOINTS))
        assert found.fields == {"parent_id": None, "source": None, "step": None, "meta": None}
        fetched = await documents.fetch(scope, THREAD, [address(2)])
        assert fetched.documents[address(2)].fields == {"metadata": None}

    async def test_what_a_caller_holds_is_not_shared_with_the_store(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        fields = {"step": 1}
        given = Document(THREAD, CHECKPOINTS, ("", checkpoint_id(1)), b"x", (), fields)
        await documents.insert(scope, Batch([given]))
        fields["step"] = 2
        (found,) = await page_of(documents, scope, Find(CHECKPOINTS))
        assert isinstance(found.fields, dict)
        found.fields["step"] = 3
        (again,) = await page_of(documents, scope, Find(CHECKPOINTS))
        assert again.fields["step"] == 1

    async def test_a_present_document_is_kept_and_reported(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        first = [checkpoint(1, b"first", step=1), item(1, b"first"), write(1, 0, b"first")]
        second = [
            checkpoint(1, b"second", step=2),
            item(1, b"second"),
            write(1, 0, b"second"),
            write(1, 1, b"new"),
        ]
        assert is_new(await documents.insert(scope, Batch(first)))
        inserted = await documents.insert(scope, Batch(second))
        assert inserted.written
        assert sorted(inserted.present) == sorted(
            (document.collection, document.key) for document in (first[0], first[2])
        )
        (found,) = await page_of(documents, scope, Find(CHECKPOINTS))
        assert (found.body, found.fields["step"]) == (b"first", 1)
        fetched = await documents.fetch(scope, THREAD, [address(1)])
        assert fetched.documents[address(1)].body == b"first"
        writes = await page_of(documents, scope, Find(WRITES))
        assert [document.body for document in writes] == [b"first", b"new"]

    async def test_of_two_documents_with_one_key_in_a_batch_the_first_is_kept(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        tagged = blob(2, b"first", metadata='{"a": 1}')
        first = [write(1, 0, b"first"), item(1, b"first"), tagged]
        last = [write(1, 0, b"last"), blob(1, b"last", metadata='{"a": 1}'), item(2, b"last")]
        inserted = await documents.insert(scope, Batch([*first, *last]))
        assert list(inserted.present) == [(WRITES, write(1).key)]
        assert await page_of(documents, scope, Find(WRITES)) == first[:1]
        fetched = await documents.fetch(scope, THREAD, [address(1), address(2)])
        assert fetched.documents == {address(1): first[1], address(2): tagged}

    async def test_of_two_replacing_documents_with_one_key_the_last_is_kept(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        tagged = blob(2, b"last", metadata='{"a": 1}')
        first = [write(1, 0, b"first"), blob(1, b"first", metadata='{"a": 1}'), item(2, b"first")]
        last = [write(1, 0, b"last"), item(1, b"last"), tagged]
        await documents.insert(scope, Batch(replacing=[*first, *last]))
        assert await page_of(documents, scope, Find(WRITES)) == last[:1]
        fetched = await documents.fetch(scope, THREAD, [address(1), address(2)])
        assert fetched.documents == {address(1): last[1], address(2): tagged}

    async def test_replacing_writes_whether_or_not_one_is_present(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        old = [
            checkpoint(1, b"old", refs=[address(1)], step=1, source="loop"),
            write(1, 0, b"old", refs=[address(1)]),
            blob(1, b"old", metadata='{"a": 1}'),
        ]
        new = [checkpoint(1, b"new", step=2), write(1, 0, b"new"), blob(1, b"new")]
        await documents.insert(scope, Batch(old))
        inserted = await documents.insert(scope, Batch(replacing=[*new, checkpoint(2, b"new")]))
        assert is_new(inserted)
        found = await page_of(documents, scope, Find(CHECKPOINTS))
        assert [(each.body, each.refs) for each in found] == [(b"new", ()), (b"new", ())]
        assert found[0].fields == {"parent_id": None, "source": None, "step": 2, "meta": None}
        assert await page_of(documents, scope, Find(WRITES)) == [new[1]]
        fetched = await documents.fetch(scope, THREAD, [address(1)])
        assert fetched.documents == {address(1): new[2]}

    async def test_replacing_wins_over_a_document_of_the_same_batch(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        batch = Batch([item(1, b"kept where absent")], [item(1, b"replacing")])
        await documents.insert(scope, batch)
        fetched = await documents.fetch(scope, THREAD, [address(1)])
        assert fetched.documents[address(1)].body == b"replacing"

    async def test_addressed_collections_share_one_space_of_addresses(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await documents.insert(scope, Batch([blob(1, b"first", metadata='{"a": 1}')]))
        await documents.insert(scope, Batch([item(1, b"second"), part(1, b"third")]))
        fetched = await documents.fetch(scope, THREAD, [address(1)])
        assert fetched.documents == {address(1): blob(1, b"first", metadata='{"a": 1}')}
        await documents.insert(scope, Batch(replacing=[part(1, b"fourth")]))
        fetched = await documents.fetch(scope, THREAD, [address(1)])
        assert fetched.documents == {address(1): part(1, b"fourth")}
        counts = [await documents.count(scope, Find(name)) for name in (BLOBS, ITEMS)]
        assert counts == [0, 0]

    async def test_a_kept_document_does_not_take_on_the_fields_of_the_one_refused(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await documents.insert(scope, Batch([blob(1)]))
        await documents.insert(scope, Batch([blob(1, metadata='{"a": 1}')]))
        fetched = await documents.fetch(scope, THREAD, [address(1)])
        assert fetched.documents[address(1)].fields == {"metadata": None}

    async def test_nothing_is_written_where_a_required_document_is_absent(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await documents.insert(scope, Batch([checkpoint(1), item(1)]))
        required = (CHECKPOINTS, checkpoint(1).key)
        elsewhere = checkpoint(1, thread_id="thread-2")
        absent: list[tuple[Document, list[tuple[str, Key]]]] = [
            (checkpoint(2), [required, (CHECKPOINTS, checkpoint(3).key)]),
            (checkpoint(2), [(WRITES, write(1).key)]),
            (checkpoint(2), [(BLOBS, (address(1),))]),
            (checkpoint(2), [(ITEMS, (address(2),))]),
            (elsewhere, [required]),
        ]
        for document, requires in absent:
            batch = Batch([document, item(2, thread_id=document.thread_id)], [], requires)
            assert not (await documents.insert(scope, batch)).written
        other = Scope(scope.namespace, "another agent")
        assert not (await documents.insert(other, Batch([item(2)], [], [required]))).written
        assert await documents.count(scope, Find(CHECKPOINTS)) == 1
        assert await documents.count(scope, Find(ITEMS)) == 1
        assert await documents.count(other, Find(ITEMS)) == 0

    async def test_a_batch_is_written_where_what_it_requires_is_present(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await documents.insert(scope, Batch([checkpoint(1), item(1), write(1), blob(2)]))
        requires = [
            (CHECKPOINTS, checkpoint(1).key),
            (ITEMS, (address(1),)),
            (WRITES, write(1).key),
            (BLOBS, (address(2),)),
        ]
        inserted = await documents.insert(scope, Batch([checkpoint(2)], [], requires))
        assert inserted.written
        assert await documents.count(scope, Find(CHECKPOINTS)) == 2

    async def test_an_empty_batch_writes_nothing(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        assert is_new(await documents.insert(scope, Batch()))
        assert await documents.count(scope, Find(CHECKPOINTS)) == 0

    async def test_a_batch_of_five_megabytes_is_written_whole(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        parts = [part(number, bytes([number]) * PART_BYTES) for number in range(20)]
        assert (await documents.insert(scope, Batch(parts, [checkpoint(1)]))).written
        found = await all_of(documents, scope, Find(parts[0].collection))
        assert found == parts

    async def test_threads_and_scopes_are_apart(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        scopes = [
            scope,
            Scope(scope.namespace, "agent.v2"),
            Scope(scope.namespace + "x", scope.agent_id),
            Scope(scope.namespace[:-1], scope.namespace[-1] + scope.agent_id),
        ]
        for number, each in enumerate(scopes):
            for thread_id in ("a", "b"):
                body = f"{number} {thread_id}".encode()
                await documents.insert(each, Batch([item(1, body, thread_id=thread_id)]))
        for number, each in enumerate(scopes):
            for thread_id in ("a", "b"):
                fetched = await documents.fetch(each, thread_id, [address(1)])
                assert fetched.documents[address(1)].body == f"{number} {thread_id}".encode()
            assert await documents.count(each, Find(ITEMS)) == 2
        assert not (await documents.fetch(scope, "c", [address(1)])).documents

    async def test_any_text_is_an_id_and_only_equal_text_is_the_same(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        for ident in HOSTILE:
            batch = [
                checkpoint(ident, ident.encode("utf-8", "surrogatepass"), ns=ident),
                write(ident, task=ident, ns=ident),
            ]
            assert is_new(await documents.insert(scope, Batch(batch)))
        found = await page_of(documents, scope, Find(CHECKPOINTS, children=WRITES))
        assert {document.key for document in found} == {(ident, ident) for ident in HOSTILE}
        for document in found:
            assert document.body == str(document.key[0]).encode("utf-8", "surrogatepass")
        writes = await page_of(documents, scope, Find(WRITES))
        assert {document.key[2] for document in writes} == set(HOSTILE)

    async def test_any_text_is_a_thread_and_only_equal_text_is_the_same(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        for number, thread_id in enumerate(HOSTILE):
            await documents.insert(scope, Batch([item(number, thread_id=thread_id)]))
        for number, thread_id in enumerate(HOSTILE):
            found = await page_of(documents, scope, Find(ITEMS, thread_id))
            assert found == [item(number, thread_id=thread_id)]

    async def test_any_text_is_a_scope_and_only_equal_text_is_the_same(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        scopes = [Scope(scope.namespace + ident, ident) for ident in HOSTILE]
        for number, each in enumerate(scopes):
            await documents.insert(each, Batch([item(number)]))
        for number, each in enumerate(scopes):
            assert await page_of(documents, each, Find(ITEMS)) == [item(number)]

    async def test_any_text_is_a_field_and_comes_back_exactly(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        for number, text in enumerate(HOSTILE):
            given = checkpoint(number, parent_id=text, source=text)
            await documents.insert(scope, Batch([given]))
        found = await page_of(documents, scope, Find(CHECKPOINTS))
        assert [document.fields["parent_id"] for document in found] == HOSTILE
        assert [document.fields["source"] for document in found] == HOSTILE

    @pytest.mark.parametrize("number", [0, 1, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)])
    async def test_integers_of_64_bits_are_exact(
        self, documents: AsyncDocumentStore, scope: Scope, number: int
    ) -> None:
        await documents.insert(scope, Batch([checkpoint(1, step=number), write(1, number)]))
        page = await documents.find(scope, Find(CHECKPOINTS, children=WRITES))
        assert page.documents[0].fields["step"] == number
        assert page.children[0].key[-1] == number

    async def test_of_eight_concurrent_inserts_of_one_document_one_writes(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        batches = [
            Batch([write(1, 0, b"%d" % number), item(1), item(10 + number)]) for number in range(8)
        ]
        inserted = await asyncio.gather(*(documents.insert(scope, batch) for batch in batches))
        assert sorted(len(each.present) for each in inserted) == [0] + [1] * 7
        assert await documents.count(scope, Find(ITEMS)) == 9
        (found,) = await page_of(documents, scope, Find(WRITES))
        winner = next(number for number, each in enumerate(inserted) if not each.present)
        assert found.body == b"%d" % winner

    async def test_setting_up_four_times_at_once_changes_nothing(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await documents.insert(scope, Batch([item(1)]))
        await asyncio.gather(*(documents.setup() for _ in range(4)))
        assert await documents.count(scope, Find(ITEMS)) == 1

    async def test_a_closed_store_says_so(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await documents.insert(scope, Batch([item(1)]))
        await documents.close()
        await documents.close()
        with pytest.raises(StorageError, match="closed"):
            await documents.insert(scope, Batch([item(2)]))
        with pytest.raises(StorageError, match="closed"):
            await documents.find(scope, Find(ITEMS))
