"""What every store must do with text of every script, whatever its own collation is."""

from typing import Any

import pytest

from threadkeep.errors import InvalidRequestError
from threadkeep.model.queries import AssistantQuery, CronQuery, DeliveryQuery, RunQuery, ThreadQuery
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.resources.builders import add_thread, enqueue, new_assistant
from threadkeep.testing.resources.crons import add_cron
from threadkeep.testing.resources.deliveries import new_delivery
from threadkeep.testing.resources.suite import ResourceSuite

# In the order of code points, which is no language's.
ORDERED = ["!", "-a", "A", "B", "a", "a-b", "aB", "ab", "b", "\x7f", "Å", "é", "ﬁ", "\U0001f642"]
ALIKE = ["é", "e\u0301", "E", "e", "\u212a", "K", "ß", "ss", "İ", "i"]
ODD = ["\0", "a\0b", "\ud800", "\udfff\ud800"]


class UnicodeSuite(ResourceSuite):
    """One case per promise about text."""

    async def test_ids_are_ordered_by_code_point(self, store: ResourceStore) -> None:
        await add_thread(store, "thread")
        for name in reversed(ORDERED):
            await add_thread(store, name)
            await store.assistants.create(new_assistant(name, graph_id=name))
            await enqueue(store, name, "thread")
            await add_cron(store, name, assistant_id=name)
            await store.deliveries.add(new_delivery(name))
        threads = await store.threads.search(ThreadQuery(sort_order="asc"))
        assert [row.thread_id for row in threads.rows if row.thread_id != "thread"] == ORDERED
        by_graph = AssistantQuery(sort_by="graph_id", sort_order="asc")
        assistants = await store.assistants.search(by_graph)
        assert [row.assistant_id for row in assistants.rows] == ORDERED
        runs = await store.runs.search(RunQuery())
        assert [row.run_id for row in runs.rows] == ORDERED[::-1]
        crons = await store.crons.search(CronQuery(sort_by="assistant_id", sort_order="asc"))
        assert [row.cron_id for row in crons.rows] == ORDERED
        deliveries = await store.deliveries.search(DeliveryQuery())
        assert [row.delivery_id for row in deliveries.rows] == ORDERED[::-1]

    async def test_text_that_looks_alike_is_not_the_same(self, store: ResourceStore) -> None:
        for name in ALIKE:
            await add_thread(store, name, metadata={"name": name})
        for name in ALIKE:
            found = await store.threads.search(ThreadQuery(metadata={"name": name}))
            assert [row.thread_id for row in found.rows] == [name]
            found = await store.threads.search(ThreadQuery(ids=[name]))
            assert [row.thread_id for row in found.rows] == [name]

    async def test_part_of_a_name_is_found_in_either_case_of_every_script(
        self, store: ResourceStore
    ) -> None:
        await store.assistants.create(new_assistant("a1", name="Straße ÉCOLE İ"))
        for part, is_found in (("STRASSE", True), ("école", True), ("ecole", False), ("%", False)):
            page = await store.assistants.search(AssistantQuery(name=part))
            assert (page.total == 1) == is_found, part

    @pytest.mark.parametrize("odd", ODD, ids=ascii)
    async def test_what_not_every_database_can_hold_is_kept_in_values(
        self, store: ResourceStore, odd: str
    ) -> None:
        held: dict[str, Any] = {"v": odd, odd: {"deep": [odd]}}
        thread = await add_thread(store, metadata=held)
        assert await store.threads.get("t1") == thread
        assert thread.metadata == held
        page = await store.threads.search(ThreadQuery(metadata={"v": odd}))
        assert page.total == 1
        cut = await store.threads.search(ThreadQuery(metadata={"v": odd.rstrip("b\0") + "?"}))
        assert cut.total == 0
        cron = await add_cron(store, payload=held, metadata=held, principal=held)
        assert await store.crons.get("c1") == cron
        assert await store.crons.principal_of("c1") == held
        await enqueue(store, "r1", metadata=held)
        assert (await store.runs.search(RunQuery(metadata={odd: {}}))).total == 1

    @pytest.mark.parametrize("odd", ["", *ODD], ids=ascii)
    async def test_what_not_every_database_can_hold_is_refused_in_names(
        self, store: ResourceStore, odd: str
    ) -> None:
        await add_thread(store)
        for call in (
            add_thread(store, odd),
            enqueue(store, odd),
            add_cron(store, odd),
            add_cron(store, schedule=odd),
            store.assistants.create(new_assistant(odd)),
            store.threads.copy("t1", copy_id=odd),
            store.deliveries.add(new_delivery(odd)),
            store.idempotency.get("scope", odd),
            store.runs.latest_of(odd),
            store.runs.search(RunQuery(thread_id=odd)),
            store.crons.fire(odd, token=0, next_run_date=None, new=None),
        ):
            with pytest.raises(InvalidRequestError):
                await call
