"""The same operations on memory and on each SQL driver: the same answers, the same refusals."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.postgres_resources import empty
from threadkeep.drivers.memory.resources import MemoryResourceStore
from threadkeep.drivers.postgres.address import parse
from threadkeep.drivers.postgres.database import PostgresDatabase
from threadkeep.drivers.postgres.resources import PostgresResourceStore
from threadkeep.drivers.sqlite.address import Address
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.resources import SqliteResourceStore
from threadkeep.errors import ThreadkeepError
from threadkeep.model.assistants import AssistantPatch, NewAssistant
from threadkeep.model.items import (
    DeleteItem,
    GetItem,
    ItemQuery,
    NamespaceQuery,
    PutItem,
)
from threadkeep.model.queries import (
    AssistantQuery,
    AssistantSort,
    Listing,
    RunQuery,
    ThreadQuery,
    ThreadSort,
    VersionQuery,
)
from threadkeep.model.runs import Claim, NewRun, Outcome
from threadkeep.model.threads import NewThread, ThreadState
from threadkeep.model.unset import UNSET
from threadkeep.ports.resources import ResourceStore
from threadkeep.testing.clock import ManualClock

PAGE_SIZE = 7


@dataclass(frozen=True)
class Step:
    """One call, printable when a difference is found."""

    words: str
    call: Callable[[ResourceStore], Awaitable[Any]]

    def __repr__(self) -> str:
        return self.words


Plan = list[tuple[float, Step]]


def step(words: str, call: Callable[[ResourceStore], Awaitable[Any]]) -> Step:
    return Step(words, call)


# Values: few keys and words, so that steps meet; odd ones among them.
KEYS = st.sampled_from(["a", "b", "a.b", "é", "", "\0", 'q"', "$k"])
WORDS = st.sampled_from(["", "x", "X", "x\0", "x\0y", "é", "\ud800", "1", "\U0001f642", "null"])
NUMBERS = st.one_of(
    st.integers(-2, 2),
    st.sampled_from([2**53, 2**53 + 1, 2**63, -(2**64), 10**30, 10**15, 10**15 - 1]),
    st.sampled_from([0.0, -0.0, 1.0, 1.5, 0.1, 1e300, float(2**53), 1e15]),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, WORDS)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=3)
ODD = st.sampled_from([float("nan"), {1: 2}, {"s": {1}}])

# Filters
OPERANDS = st.one_of(
    JSON,
    st.dictionaries(
        st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), JSON, max_size=2
    ),
    st.dictionaries(st.sampled_from(["$in", "$nin"]), st.lists(JSON, max_size=3), max_size=2),
    st.sampled_from([{"$near": 1}, {"$eq": 1, "plain": 2}, {"$in": 1}]),
)
FILTERS = st.dictionaries(KEYS, OPERANDS, max_size=2)

# Addresses
LABELS = st.sampled_from(["a", "b", "ab", "a-b", "*", "%", "\x01", "é", "\U0001f642"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
PREFIXES = st.lists(LABELS, max_size=3).map(tuple)
ITEM_KEYS = st.sampled_from(["k", "K", "k2", "%", "é"])
TTLS: st.SearchStrategy[Any] = st.sampled_from([None, None, 0.01, 0.5, 1, 1.5, 0])
LIMITS: st.SearchStrategy[Any] = st.sampled_from([None, None, 0, 1, 3, 100, -1])
OFFSETS: st.SearchStrategy[Any] = st.sampled_from([0, 0, 1, 3, 50, -1])

IDS = st.sampled_from(["1", "2", "3"])
RUN_IDS = st.sampled_from("pqrst")
CLAIMS = st.sampled_from([Claim("one", 5), Claim("two", 60)])
STATUSES: st.SearchStrategy[Any] = st.sampled_from(["idle", "busy", "interrupted", "error"])
RUN_STATUSES: st.SearchStrategy[Any] = st.sampled_from(
    ["pending", "running", "success", "error", "interrupted"]
)
ORDERS: st.SearchStrategy[Any] = st.sampled_from(["asc", "desc"])
ASSISTANT_SORTS: st.SearchStrategy[Any] = st.sampled_from(get_args(AssistantSort))
THREAD_SORTS: st.SearchStrategy[Any] = st.sampled_from(get_args(ThreadSort))
ACTIONS: st.SearchStrategy[Any] = st.sampled_from(["interrupt", "rollback"])


@st.composite
def assistant_steps(draw: st.DrawFn) -> Step:
    ident, value, number = draw(IDS), draw(OBJECTS), draw(st.integers(1, 4))
    limit, offset, order = draw(LIMITS), draw(OFFSETS), draw(ORDERS)
    key = draw(ASSISTANT_SORTS)
    word = draw(st.sampled_from(["g", "G", "é", "ß"]))
    new = NewAssistant(ident, word, f"name {word}", None, value, {}, value)
    patch = AssistantPatch(name=word, metadata=value)
    query = AssistantQuery(
        name=draw(st.sampled_from([None, word])),
        graph_id=draw(st.sampled_from([None, "g"])),
        metadata=draw(st.sampled_from([{}, value])),
        sort_by=key,
        sort_order=order,
        limit=limit,
        offset=offset,
    )
    history = VersionQuery(draw(st.sampled_from([{}, value])), limit, offset)
    return draw(
        st.sampled_from(
            [
                step(f"create {new}", lambda store: store.assistants.create(new)),
                step(f"ensure {new}", lambda store: store.assistants.ensure([new, new])),
                step(f"update {patch}", lambda store: store.assistants.update(ident, patch)),
                step(f"set {number}", lambda store: store.assistants.set_latest(ident, number)),
                step(f"delete {ident}", lambda store: store.assistants.delete(ident)),
                step(f"search {query}", lambda store: store.assistants.search(query)),
                step(
                    f"history {history}",
                    lambda store: store.assistants.list_versions(ident, history),
                ),
            ]
        )
    )


@st.composite
def thread_steps(draw: st.DrawFn) -> Step:
    ident, value, ttl = draw(IDS), draw(OBJECTS), draw(TTLS)
    left = draw(thread_states())
    query = ThreadQuery(
        metadata=draw(st.sampled_from([{}, {}, value])),
        enforced_metadata=draw(st.sampled_from([{}, {}, value])),
        values=draw(st.sampled_from([{}, {}, value])),
        status=draw(st.none() | STATUSES),
        ids=draw(st.none() | st.lists(IDS, max_size=2)),
        sort_by=draw(THREAD_SORTS),
        sort_order=draw(ORDERS),
        limit=draw(LIMITS),
        offset=draw(OFFSETS),
    )
    new = NewThread(ident, draw(st.just(value) | ODD.map(lambda odd: {"v": odd})), ttl)
    changed = draw(st.sampled_from([ttl, UNSET]))
    return draw(
        st.sampled_from(
            [
                step(f"create {new}", lambda store: store.threads.create(new)),
                step(f"create {new}", lambda store: store.threads.create(new)),
                step(
                    f"update {ident} {value} {changed}",
                    lambda store: store.threads.update(ident, metadata=value, ttl_minutes=changed),
                ),
                step(
                    f"record {ident} {left}",
                    lambda store: store.threads.record_state(ident, left),
                ),
                step(f"delete {ident}", lambda store: store.threads.delete(ident)),
                step(f"search {query}", lambda store: store.threads.search(query)),
                step("all", lambda store: store.threads.search(ThreadQuery())),
            ]
        )
    )


@st.composite
def thread_states(draw: st.DrawFn) -> ThreadState:
    small = draw(st.none() | OBJECTS)
    values = draw(st.sampled_from([small, {"large": "x" * 5000}, {"odd": float("nan")}]))
    interrupts = draw(st.sampled_from([{}, {"t": [1]}]))
    return ThreadState(draw(STATUSES), values, draw(st.none() | IDS), interrupts, draw(JSON))


@st.composite
def new_runs(draw: st.DrawFn) -> NewRun:
    value = draw(OBJECTS)
    return NewRun(
        draw(RUN_IDS),
        draw(IDS),
        draw(IDS),
        value,
        metadata=value,
        multitask_strategy=draw(
            st.sampled_from(["reject", "enqueue", "enqueue", "interrupt", "rollback"])
        ),
        after_seconds=draw(st.sampled_from([0, 0, 0, 3, -1])),
        thread_metadata=draw(st.sampled_from([{}, {"graph_id": "g"}])),
        thread_config=draw(st.sampled_from([None, {"c": 1}])),
    )


@st.composite
def run_queries(draw: st.DrawFn) -> RunQuery:
    return RunQuery(
        thread_id=draw(st.none() | IDS),
        assistant_id=draw(st.none() | IDS),
        statuses=draw(st.none() | st.lists(RUN_STATUSES, max_size=3)),
        metadata=draw(st.just({}) | OBJECTS),
        limit=draw(LIMITS),
        offset=draw(OFFSETS),
    )


@st.composite
def run_steps(draw: st.DrawFn) -> Step:
    new, run_id, thread_id, claim = draw(new_runs()), draw(RUN_IDS), draw(IDS), draw(CLAIMS)
    fence, action = draw(st.integers(0, 2)), draw(ACTIONS)
    guard = draw(st.none() | st.lists(STATUSES, max_size=2))
    claimed = draw(st.none() | CLAIMS)
    outcome = Outcome(draw(RUN_STATUSES), draw(st.sampled_from([None, "timeout"])), draw(JSON))
    left = draw(st.none() | thread_states())
    query = draw(run_queries())
    limit = draw(st.integers(-1, 3))
    return draw(
        st.sampled_from(
            [
                *[
                    step(
                        f"admit {new} {claimed} {guard}",
                        lambda store: store.runs.admit(new, claim=claimed, thread_status_in=guard),
                    )
                ]
                * 3,
                *[
                    step(
                        f"claim {claim} {limit}",
                        lambda store: store.runs.claim(claim, limit=limit),
                    )
                ]
                * 2,
                *[
                    step(
                        f"settle {run_id} {fence} {outcome} {left}",
                        lambda store: store.runs.settle(
                            run_id, fence=fence, outcome=outcome, state=left
                        ),
                    )
                ]
                * 2,
                step(f"extend {claim}", lambda store: store.runs.extend(claim, list("pqrstu"))),
                step(
                    f"cancel {run_id} {action}",
                    lambda store: store.runs.request_cancel(run_id, action),
                ),
                step("release", lambda store: store.runs.release_expired()),
                step("next", lambda store: store.runs.next_start()),
                step(f"delete {run_id}", lambda store: store.runs.delete(run_id)),
                step(
                    f"get {run_id} {thread_id}",
                    lambda store: store.runs.get(run_id, thread_id=thread_id),
                ),
                step(f"search {query}", lambda store: store.runs.search(query)),
                step("threads", lambda store: store.threads.search(ThreadQuery())),
            ]
        )
    )


@st.composite
def item_operations(draw: st.DrawFn) -> Any:
    namespace, key, refresh = draw(NAMESPACES), draw(ITEM_KEYS), draw(st.booleans())
    return draw(
        st.sampled_from(
            [
                PutItem(namespace, key, draw(OBJECTS), draw(TTLS)),
                PutItem(namespace, key, draw(OBJECTS), None),
                GetItem(namespace, key, refresh),
                DeleteItem(namespace, key),
                ItemQuery(draw(PREFIXES), draw(FILTERS), draw(LIMITS), draw(OFFSETS), refresh),
                NamespaceQuery(
                    draw(PREFIXES),
                    draw(PREFIXES),
                    draw(st.sampled_from([None, None, 1, 2, 0])),
                    draw(LIMITS),
                    draw(OFFSETS),
                ),
            ]
        )
    )


@st.composite
def item_steps(draw: st.DrawFn) -> Step:
    operations = draw(st.lists(item_operations(), min_size=1, max_size=4))
    put = PutItem(draw(NAMESPACES), draw(ITEM_KEYS), draw(OBJECTS), draw(TTLS))
    query = ItemQuery(draw(PREFIXES), draw(FILTERS), draw(LIMITS), draw(OFFSETS))
    limit = draw(st.integers(-1, 2))
    return draw(
        st.sampled_from(
            [
                *[step(f"apply {operations}", lambda store: store.items.apply(operations))] * 3,
                *[
                    step(
                        f"{put}",
                        lambda store: store.items.put(
                            put.namespace, put.key, put.value, ttl_minutes=put.ttl_minutes
                        ),
                    )
                ]
                * 3,
                step(f"{query}", lambda store: store.items.search(query)),
                step(f"sweep {limit}", lambda store: store.items.sweep(limit=limit)),
            ]
        )
    )


MOVES = st.sampled_from([0, 0, 0.000_001, 1, 4, 31, 70, -2])
PLANS = {
    "assistants": st.lists(st.tuples(MOVES, assistant_steps()), max_size=25),
    "runs": st.lists(st.tuples(MOVES, st.one_of(thread_steps(), run_steps())), max_size=40),
    "items": st.lists(st.tuples(MOVES, item_steps()), max_size=25),
}
SHORT = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


async def answer(store: ResourceStore, one: Step) -> str:
    """Return what a call answers, or refuses with, as text that tells types apart."""
    try:
        found = await one.call(store)
    except ThreadkeepError as refusal:
        return f"{type(refusal).__name__}: {refusal}"
    if isinstance(found, Listing):
        return f"{list(found.rows)!r} of {found.total}, next {found.next_offset}"
    return repr(list(found) if isinstance(found, tuple) else found)


@asynccontextmanager
async def on_sqlite(clock: ManualClock) -> AsyncIterator[ResourceStore]:
    with TemporaryDirectory() as folder:
        database = SqliteDatabase(Address(Path(folder) / "resources.db"))
        try:
            yield SqliteResourceStore(database, clock=clock, max_page_size=PAGE_SIZE)
        finally:
            await database.close_soon()


@asynccontextmanager
async def on_postgres(url: str, clock: ManualClock) -> AsyncIterator[ResourceStore]:
    database = PostgresDatabase(parse(url, {}))
    try:
        await database.asetup()
        await asyncio.to_thread(empty, url)
        yield PostgresResourceStore(database, clock=clock, max_page_size=PAGE_SIZE)
    finally:
        await database.aclose()


async def compare(plan: Plan, postgres_url: str | None) -> None:
    clock = ManualClock()
    memory = MemoryResourceStore(clock=clock, max_page_size=PAGE_SIZE)
    opened = on_sqlite(clock) if postgres_url is None else on_postgres(postgres_url, clock)
    async with opened as other:
        await other.setup()
        for ident in ("1", "2"):
            for store in (memory, other):
                await store.threads.create(NewThread(ident, {}))
        for seconds, one in plan:
            clock.advance(seconds)
            assert await answer(memory, one) == await answer(other, one), one


def run(plan: Plan, postgres_url: str | None = None) -> None:
    asyncio.run(compare(plan, postgres_url))


@seed(20_261_130)
@SHORT
@given(plan=PLANS["assistants"])
def test_assistants_answer_alike(plan: Plan) -> None:
    run(plan)


@seed(20_261_130)
@SHORT
@given(plan=PLANS["runs"])
def test_threads_and_runs_answer_alike(plan: Plan) -> None:
    run(plan)


@seed(20_261_130)
@SHORT
@given(plan=PLANS["items"])
def test_items_answer_alike(plan: Plan) -> None:
    run(plan)


@seed(20_261_130)
@SHORT
@given(plan=PLANS["assistants"])
def test_assistants_answer_alike_on_postgres(postgres_module_url: str, plan: Plan) -> None:
    run(plan, postgres_module_url)


@seed(20_261_130)
@SHORT
@given(plan=PLANS["runs"])
def test_threads_and_runs_answer_alike_on_postgres(postgres_module_url: str, plan: Plan) -> None:
    run(plan, postgres_module_url)


@seed(20_261_130)
@SHORT
@given(plan=PLANS["items"])
def test_items_answer_alike_on_postgres(postgres_module_url: str, plan: Plan) -> None:
    run(plan, postgres_module_url)


@pytest.mark.soak
@settings(SHORT, max_examples=3000)
@given(plan=st.one_of(*PLANS.values()))
def test_everything_answers_alike_for_long(plan: Plan) -> None:
    run(plan)


@pytest.mark.soak
@settings(SHORT, max_examples=1000)
@given(plan=st.one_of(*PLANS.values()))
def test_everything_answers_alike_on_postgres_for_long(
    postgres_module_url: str, plan: Plan
) -> None:
    run(plan, postgres_module_url)
