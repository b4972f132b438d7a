"""Which JSON comes back exactly, and which is refused, wherever a row holds JSON."""

from typing import Any

import pytest

from threadkeep.errors import InvalidRequestError, ValueNotStorableError
from threadkeep.model.queries import AssistantQuery, RunQuery, ThreadQuery
from threadkeep.model.runs import NewRun, Outcome
from threadkeep.ports.resources import ResourceStore
from threadkeep.rules.json_text import MAX_DEPTH
from threadkeep.testing.resources.builders import (
    add_thread,
    enqueue,
    new_assistant,
    new_run,
    start,
    state,
)
from threadkeep.testing.resources.suite import ResourceSuite


def nested(depth: int) -> dict[str, Any]:
    """Return so many objects, one inside another."""
    value: dict[str, Any] = {}
    for _ in range(depth - 1):
        value = {"v": value}
    return value


EXACT: list[dict[str, Any]] = [
    {"a": None, "b": True, "c": False, "d": 0, "e": "", "f": [], "g": {}},
    {"numbers": [0.1, 1e300, 5e-324, -0.0, 1.0, 2**53 + 1, 2**63, 2**64, -(2**200), 10**4000]},
    {"text": ["\0", "a\0b", "\x01\x1f\x7f\x80", '"\\/', "é", "e\u0301", "\u2028", "\U0001f642"]},
    {"surrogates": ["\ud800", "a\udfffb", "\udfff\ud800"], "\udc00": 1},
    {"\0": 1, "": 2, "a.b": 3, "$ref": 4, '"': 5, "é": 6},
    {"z": 1, "a": 2, "m": {"z": 1, "a": 2}},
    {"both": [2**70, "\ud800", 0.1, "é"]},
    nested(MAX_DEPTH - 2),
]
REFUSED: list[dict[Any, Any]] = [
    {"a": float("nan")},
    {"a": [float("inf")]},
    {"a": float("-inf")},
    {"a": {1, 2}},
    {"a": b"bytes"},
    {"a": object()},
    {"a": {1: "number as key"}},
    {None: "none as key"},
    {"a": "\ud83d\ude42"},
    {"\ud83d\ude42": 1},
    {"a": 10**5000},
    nested(MAX_DEPTH + 1),
]
_IDS = [str(place) for place in range(20)]


def same(left: Any, right: Any) -> bool:
    """Compare values with their types and the order of keys, which ``==`` ignores."""
    return repr(left) == repr(right)


class ValueSuite(ResourceSuite):
    """One case per row that holds JSON."""

    @pytest.mark.parametrize("value", EXACT, ids=_IDS[: len(EXACT)])
    async def test_json_comes_back_exactly(
        self, store: ResourceStore, value: dict[str, Any]
    ) -> None:
        await store.assistants.create(
            new_assistant(config=value, context=value, metadata=value, description="d")
        )
        await add_thread(store, metadata=value)
        new = NewRun("r1", "t1", "a1", value, metadata=value, thread_config=value)
        run = (await store.runs.admit(new, claim=None)).run
        assert same(run.kwargs, value)
        await store.threads.record_state("t1", state(interrupts={"t": [value]}, error=value))
        await store.items.put(("n",), "k", value)

        assistant = await store.assistants.get("a1")
        assert assistant is not None
        for held in (assistant.config, assistant.context, assistant.metadata):
            assert same(held, value)
        thread = await store.threads.get("t1")
        assert thread is not None
        for held in (thread.metadata, thread.config, thread.error):
            assert same(held, value)
        assert same(thread.interrupts["t"][0], value)
        again = await store.runs.get("r1")
        assert again is not None
        assert same(again.kwargs, value)
        assert same(again.metadata, value)
        item = await store.items.get(("n",), "k")
        assert item is not None
        assert same(item.value, value)

    @pytest.mark.parametrize("value", EXACT, ids=_IDS[: len(EXACT)])
    async def test_what_was_stored_is_found_by_itself(
        self, store: ResourceStore, value: dict[str, Any]
    ) -> None:
        await store.assistants.create(new_assistant(metadata=value))
        await add_thread(store, metadata=value)
        await enqueue(store, metadata=value)
        assert (await store.assistants.search(AssistantQuery(metadata=value))).total == 1
        assert (await store.threads.search(ThreadQuery(metadata=value))).total == 1
        assert (await store.threads.search(ThreadQuery(enforced_metadata=value))).total == 1
        assert (await store.runs.search(RunQuery(metadata=value))).total == 1

    async def test_small_values_of_a_thread_come_back_exactly(self, store: ResourceStore) -> None:
        await add_thread(store)
        for value in EXACT:
            thread = await store.threads.record_state("t1", state(values=value))
            small = len(repr(value)) < 2000
            assert thread.values is None or same(thread.values, value)
            assert (thread.values is not None) or not small
        run = await start(store)
        failure = Outcome("error", error={"error": "E", "message": "a\0b\ud800"})
        settled = await store.runs.settle("r1", fence=run.fence, outcome=failure, state=None)
        assert settled is not None
        assert settled.error == failure.error
        assert await store.runs.get("r1") == settled

    async def test_tuples_become_lists(self, store: ResourceStore) -> None:
        item = await store.items.put(("n",), "k", {"pair": (1, (2,))})
        assert same(item.value, {"pair": [1, [2]]})

    @pytest.mark.parametrize("value", REFUSED, ids=_IDS[: len(REFUSED)])
    async def test_what_is_no_json_is_refused_and_changes_nothing(
        self, store: ResourceStore, value: dict[str, Any]
    ) -> None:
        with pytest.raises(ValueNotStorableError):
            await store.assistants.create(new_assistant(config=value))
        with pytest.raises(ValueNotStorableError):
            await store.assistants.ensure([new_assistant(), new_assistant("a2", metadata=value)])
        with pytest.raises(ValueNotStorableError):
            await add_thread(store, metadata=value)
        thread = await add_thread(store)
        with pytest.raises(ValueNotStorableError):
            await store.threads.update("t1", metadata=value)
        with pytest.raises(ValueNotStorableError):
            await store.threads.record_state("t1", state(interrupts={"t": [value]}))
        for new in (new_run(kwargs=value), new_run(metadata=value)):
            with pytest.raises(ValueNotStorableError):
                await store.runs.admit(new, claim=None)
        with pytest.raises(ValueNotStorableError):
            await store.items.put(("n",), "k", value)
        assert (await store.assistants.search(AssistantQuery())).total == 0
        assert (await store.threads.search(ThreadQuery())).rows == [thread]
        assert (await store.runs.search(RunQuery())).total == 0
        assert await store.items.get(("n",), "k") is None

    async def test_a_refusal_names_where_the_value_stood(self, store: ResourceStore) -> None:
        await add_thread(store)
        with pytest.raises(ValueNotStorableError, match="kwargs"):
            await store.runs.admit(new_run(kwargs={"a": object()}), claim=None)

    async def test_a_refused_settle_leaves_the_run_running(self, store: ResourceStore) -> None:
        await add_thread(store)
        run = await start(store)
        odd = Outcome("error", error=float("nan"))
        with pytest.raises(ValueNotStorableError):
            await store.runs.settle("r1", fence=run.fence, outcome=odd, state=None)
        assert await store.runs.get("r1") == run

    @pytest.mark.parametrize("odd", ["", "a\0", "\ud800"], ids=ascii)
    async def test_identifiers_that_name_nothing_are_refused(
        self, store: ResourceStore, odd: str
    ) -> None:
        await add_thread(store)
        if odd:
            with pytest.raises(InvalidRequestError):
                await store.assistants.search(AssistantQuery(name=odd))
        refused = (
            lambda: store.assistants.create(new_assistant(odd)),
            lambda: store.assistants.get(odd),
            lambda: store.assistants.search(AssistantQuery(graph_id=odd)),
            lambda: add_thread(store, odd),
            lambda: store.threads.get(odd),
            lambda: store.threads.update(odd, metadata={}),
            lambda: store.threads.record_state(odd, state()),
            lambda: store.threads.delete(odd),
            lambda: store.threads.search(ThreadQuery(ids=["t1", odd])),
            lambda: enqueue(store, odd),
            lambda: enqueue(store, "r1", odd),
            lambda: store.runs.get(odd),
            lambda: store.runs.get("r1", thread_id=odd),
            lambda: store.runs.search(RunQuery(thread_id=odd)),
            lambda: store.runs.request_cancel(odd, "interrupt"),
            lambda: store.runs.delete(odd),
        )
        for attempt in refused:
            with pytest.raises(InvalidRequestError):
                await attempt()

    @pytest.mark.parametrize(
        "text", ["'; DROP TABLE threads; --", "%", "_", "*", "\\", "é", "\U0001f642", "\x01", "ﬀ"]
    )
    async def test_hostile_text_is_only_text(self, store: ResourceStore, text: str) -> None:
        await store.assistants.create(new_assistant(text, graph_id=text, name=text))
        await add_thread(store, text, metadata={text: text})
        await add_thread(store, "other")
        run = (await enqueue(store, text, text)).run
        assert (run.run_id, run.thread_id) == (text, text)
        assert (await store.assistants.search(AssistantQuery(name=text))).total == 1
        assert (await store.assistants.search(AssistantQuery(graph_id=text))).total == 1
        assert (await store.threads.search(ThreadQuery(metadata={text: text}))).total == 1
        assert (await store.threads.search(ThreadQuery(ids=[text]))).total == 1
        assert (await store.runs.search(RunQuery(thread_id=text))).total == 1
        assert [gone.run_id for gone in await store.threads.delete(text)] == [text]
        assert await store.threads.get("other") is not None
