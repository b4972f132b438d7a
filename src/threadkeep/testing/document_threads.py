"""Cases of ``copy``, ``prune``, leases, and of what an erasure leaves known."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from threadkeep.model.uuid_times import ticks_of
from threadkeep.ports.documents import (
    CHECKPOINTS,
    ITEMS,
    WRITES,
    AsyncDocumentStore,
    Batch,
    Find,
    HasEntry,
    Key,
    Pruned,
    Pruning,
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
from threadkeep.testing.document_removing import contents, one_of_each
from threadkeep.testing.document_steps import page_of

LONG_SECONDS = 60.0


def key(number: int, ns: str = "") -> Key:
    """Name a checkpoint by its number."""
    return ns, checkpoint_id(number)


async def addresses(store: AsyncDocumentStore, scope: Scope) -> Sequence[int]:
    """Read which addressed documents the thread has, by their numbers."""
    everything = await contents(store, scope, THREAD)
    refs = [document.key[0] for document in everything if len(document.key) == 1]
    return sorted(int.from_bytes(ref, "big") for ref in refs if isinstance(ref, bytes))


class CopyingCases:
    """What a copy holds."""

    async def test_a_copy_holds_every_document_and_the_source_too(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await documents.insert(scope, Batch(one_of_each("a")))
        assert await documents.copy(scope, "a", "b") == 5
        assert await contents(documents, scope, "b") == one_of_each("b")
        assert await contents(documents, scope, "a") == one_of_each("a")
        find = Find("langgraph_blobs_v2", "b", [HasEntry("metadata", "a", "1")])
        assert await documents.count(scope, find) == 1
        await documents.erase(scope, "a")
        assert await contents(documents, scope, "b") == one_of_each("b")

    async def test_a_copy_leaves_what_the_target_has(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        own = [checkpoint(1, b"own", thread_id="b"), checkpoint(7, thread_id="b")]
        await documents.insert(scope, Batch(own))
        await documents.insert(scope, Batch(one_of_each("a")))
        assert await documents.copy(scope, "a", "b") == 4
        assert await contents(documents, scope, "b") == [*own, *one_of_each("b")[1:]]
        assert await documents.copy(scope, "a", "b") == 0

    async def test_a_copy_of_nothing_and_onto_itself_changes_nothing(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await documents.insert(scope, Batch(one_of_each("a")))
        assert await documents.copy(scope, "unknown", "a") == 0
        assert await documents.copy(scope, "a", "a") == 0
        assert await documents.copy(Scope(scope.namespace, "other"), "a", "b") == 0
        assert await contents(documents, scope, "a") == one_of_each("a")
        assert not await documents.measure(scope, "b")


class PruningCases:
    """What goes with a checkpoint, and what does not."""

    async def test_a_pruned_checkpoint_takes_its_writes_and_what_only_they_name(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        stored = [
            checkpoint(1, refs=[address(1), address(2)]),
            checkpoint(2, refs=[address(2)], parent_id=checkpoint_id(1)),
            checkpoint(1, ns="child", refs=[address(3)]),
            write(1, refs=[address(4)]),
            write(1, ns="child", refs=[address(5)]),
            write(2, refs=[address(6)]),
            write(9, refs=[address(7)]),
            *map(item, range(1, 9)),
        ]
        await documents.insert(scope, Batch(stored))
        pruned = await documents.prune(scope, THREAD, Pruning([key(1), key(8)], [key(2)]))
        assert pruned == Pruned(True, 1, 1, 3)
        left = await page_of(documents, scope, Find(CHECKPOINTS, THREAD))
        assert [one.key for one in left] == [key(2), key(1, "child")]
        assert left[0] == checkpoint(2, refs=[address(2)])
        writes = await page_of(documents, scope, Find(WRITES, THREAD))
        assert [one.key[:2] for one in writes] == [key(2), key(9), key(1, "child")]
        assert await addresses(documents, scope) == [2, 3, 5, 6, 7]

    async def test_what_is_named_through_other_documents_stays(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        stored = [
            checkpoint(1, refs=[address(1)]),
            checkpoint(2, refs=[address(2)]),
            blob(1, refs=[address(3)]),
            blob(2, refs=[address(4), address(5)], metadata='{"a": 1}'),
            item(3, refs=[address(6), address(7)]),
            item(4, refs=[address(7), address(99)]),
            part(5),
            item(6),
            item(7),
        ]
        await documents.insert(scope, Batch(stored))
        assert await documents.prune(scope, THREAD, Pruning([key(1)])) == Pruned(True, 1, 0, 3)
        assert await addresses(documents, scope) == [2, 4, 5, 7]

    async def test_a_large_thread_is_pruned_whole(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        for number in range(60):
            refs = [address(100 * number + at) for at in range(40)]
            stored = [checkpoint(number, refs=refs), *(item(100 * number + at) for at in range(40))]
            await documents.insert(scope, Batch(stored))
        gone = [key(number) for number in range(59)]
        assert await documents.prune(scope, THREAD, Pruning(gone)) == Pruned(True, 59, 0, 59 * 40)
        assert len(await addresses(documents, scope)) == 40

    async def test_nothing_is_pruned_where_a_checkpoint_follows_that_was_not_planned_for(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        stored = [
            checkpoint(1, refs=[address(1)]),
            checkpoint(2, parent_id=checkpoint_id(1)),
            checkpoint(3, parent_id=checkpoint_id(1), ns="other"),
            item(1),
        ]
        await documents.insert(scope, Batch(stored))
        refused = await documents.prune(scope, THREAD, Pruning([key(1)]))
        assert not refused.done
        assert len(await contents(documents, scope, THREAD)) == 4
        assert (await documents.prune(scope, THREAD, Pruning([key(1)], [key(2)]))).done
        left = await page_of(documents, scope, Find(CHECKPOINTS, THREAD))
        assert [one.fields["parent_id"] for one in left] == [None, checkpoint_id(1)]

    async def test_an_orphan_whose_parent_stays_keeps_it(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        stored = [checkpoint(1), checkpoint(2, parent_id=checkpoint_id(1))]
        await documents.insert(scope, Batch(stored))
        await documents.prune(scope, THREAD, Pruning([], [key(1), key(2), key(5)]))
        assert await contents(documents, scope, THREAD) == stored

    async def test_writes_without_a_checkpoint_go_where_it_has_not_come(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        waiting = [write(1, refs=[address(1)]), write(2, refs=[address(2)]), item(1), item(2)]
        await documents.insert(scope, Batch([*waiting, write(3, refs=[address(2)])]))
        await documents.insert(scope, Batch([checkpoint(2)]))
        strays = [key(1), key(2), key(9)]
        assert await documents.prune(scope, THREAD, Pruning((), strays=strays)) == Pruned(
            True, 0, 1, 1
        )
        left = await page_of(documents, scope, Find(WRITES, THREAD))
        assert [one.key[:2] for one in left] == [key(2), key(3)]
        left = await page_of(documents, scope, Find(ITEMS, THREAD))
        assert [one.key for one in left] == [(address(2),)]

    async def test_a_prune_leaves_other_threads_and_scopes(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        other = Scope(scope.namespace, "other")
        for each in (scope, other):
            for thread_id in ("a", "b"):
                await documents.insert(each, Batch(one_of_each(thread_id)))
        assert await documents.prune(scope, "a", Pruning([key(1)])) == Pruned(True, 1, 1, 3)
        assert await documents.prune(scope, "unknown", Pruning([key(1)])) == Pruned()
        assert await contents(documents, scope, "a") == []
        assert await contents(documents, scope, "b") == one_of_each("b")
        assert await contents(documents, other, "a") == one_of_each("a")
        assert (await documents.insert(scope, Batch(one_of_each("a")))).written
        assert await contents(documents, scope, "a") == one_of_each("a")

    async def test_an_insert_beside_a_prune_comes_before_it_or_after(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        shared = [item(number) for number in range(40)]
        refs = [one.key[0] for one in shared if isinstance(one.key[0], bytes)]
        for number in range(1, 25):
            await documents.insert(scope, Batch([checkpoint(number, refs=refs), *shared]))
            new = checkpoint(number + 100, refs=refs)
            rely = documents.insert(scope, Batch([new], requires=[(CHECKPOINTS, key(number))]))
            inserted, pruned = await asyncio.gather(
                rely, documents.prune(scope, THREAD, Pruning([key(number)]))
            )
            assert pruned.done
            left = await page_of(documents, scope, Find(CHECKPOINTS, THREAD))
            assert [one.key for one in left] == [new.key] * inserted.written
            expected = list(range(40)) if inserted.written else []
            assert await addresses(documents, scope) == expected
            await documents.remove(scope, THREAD, [(CHECKPOINTS, new.key)])


class ErasureCases:
    """What belongs to an erased thread."""

    async def test_what_belongs_to_an_erased_thread_is_not_written(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        before, later = ticks_of(datetime.now(UTC) - timedelta(hours=1)), 1 << 60
        first = Batch([item(1)], after=[(key(1), before)])
        assert (await documents.insert(scope, first)).written
        await documents.erase(scope, THREAD)
        for after in ([(key(1), before)], [(key(1), 0)], [(key(1), later), (key(2), before)]):
            refused = await documents.insert(scope, Batch([checkpoint(3)], after=after))
            assert (refused.written, refused.erased) == (False, True)
        assert not await documents.measure(scope, THREAD)
        anew = Batch([checkpoint(4)], after=[(key(1), later)])
        assert (await documents.insert(scope, anew)).written
        present = Batch([item(3)], after=[(key(4), before), (key(9), later)])
        assert (await documents.insert(scope, present)).written
        assert (await documents.insert(scope, Batch([item(5)]))).written
        refused = await documents.insert(scope, Batch([item(6)], after=[(key(1), before)]))
        assert refused.erased
        assert await addresses(documents, scope) == [3, 5]

    async def test_an_erasure_is_known_of_that_thread_only(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await documents.insert(scope, Batch([item(1)]))
        await documents.erase(scope, THREAD)
        other = Scope(scope.namespace, "other")
        after = [(key(1), 0)]
        assert (await documents.insert(other, Batch([item(1)], after=after))).written
        away = item(1, thread_id="elsewhere")
        assert (await documents.insert(scope, Batch([away], after=after))).written

    async def test_a_copy_onto_an_erased_thread_can_be_gone_on_with(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await documents.insert(scope, Batch([item(1)]))
        await documents.insert(scope, Batch([item(1, thread_id="source")]))
        await documents.erase(scope, THREAD)
        await documents.copy(scope, "source", THREAD)
        assert (await documents.insert(scope, Batch([item(2)], after=[(key(1), 0)]))).written


class LeaseCases:
    """Who may write while a thread has a lease."""

    async def test_a_thread_has_one_lease(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        token = await documents.lease(scope, THREAD, LONG_SECONDS)
        assert token is not None
        assert await documents.lease(scope, THREAD, LONG_SECONDS) is None
        assert await documents.lease(scope, "elsewhere", LONG_SECONDS) is not None
        other = Scope(scope.namespace, "other")
        assert await documents.lease(other, THREAD, LONG_SECONDS) is not None
        await documents.release_lease(scope, THREAD, token)
        await documents.release_lease(scope, THREAD, token)
        again = await documents.lease(scope, THREAD, LONG_SECONDS)
        assert again is not None
        assert again > token

    async def test_only_the_last_to_take_a_lease_writes_under_it(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        first = await documents.lease(scope, THREAD, 0)
        assert (await documents.insert(scope, Batch([item(1)], lease=first))).written
        second = await documents.lease(scope, THREAD, LONG_SECONDS)
        refused = await documents.insert(scope, Batch([item(2)], [checkpoint(1)], lease=first))
        assert (refused.written, refused.stale) == (False, True)
        assert (await documents.insert(scope, Batch([item(3)], lease=second))).written
        assert (await documents.insert(scope, Batch([item(4)]))).written
        assert second is not None
        await documents.release_lease(scope, THREAD, second)
        assert (await documents.insert(scope, Batch([item(5)], lease=second))).stale
        assert (await documents.insert(scope, Batch([item(5)], lease=0))).stale
        assert await addresses(documents, scope) == [1, 3, 4]

    async def test_a_lease_is_extended_while_it_is_the_threads(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        first = await documents.lease(scope, THREAD, 0)
        assert first is not None
        assert await documents.extend_lease(scope, THREAD, first, LONG_SECONDS)
        assert await documents.lease(scope, THREAD, LONG_SECONDS) is None
        assert await documents.extend_lease(scope, THREAD, first, 0)
        second = await documents.lease(scope, THREAD, LONG_SECONDS)
        assert second is not None
        assert not await documents.extend_lease(scope, THREAD, first, LONG_SECONDS)
        await documents.release_lease(scope, THREAD, first)
        assert await documents.extend_lease(scope, THREAD, second, LONG_SECONDS)

    async def test_erasing_a_thread_leaves_its_lease(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        token = await documents.lease(scope, THREAD, LONG_SECONDS)
        await documents.insert(scope, Batch([item(1)], lease=token))
        await documents.erase(scope, THREAD)
        assert (await documents.insert(scope, Batch([item(2)], lease=token))).written
        assert not (
            await documents.insert(
                scope, Batch([item(3)], requires=[(ITEMS, (address(1),))], lease=token)
            )
        ).stale
