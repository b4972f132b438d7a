"""How many statements an operation on PostgreSQL takes, and what they leave behind: nothing."""

import re
from collections.abc import Iterator
from importlib import resources
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.base import empty_checkpoint

from benchmarks import chat
from tests.postgres_savers import opened_saver
from threadkeep import DocumentCheckpointSaver
from threadkeep.drivers.postgres import document_reads, driving, whole_threads
from threadkeep.drivers.postgres.address import parse
from threadkeep.drivers.postgres.database import PACKAGE, PostgresDatabase
from threadkeep.drivers.postgres.documents import PostgresDocumentStore
from threadkeep.drivers.postgres.queries import Query, numbered
from threadkeep.ports.documents import (
    BLOBS,
    CHECKPOINTS,
    ITEMS,
    PART_BYTES,
    READ_BYTES,
    WRITES,
    Batch,
    Below,
    Find,
    HasEntry,
    Is,
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

SCOPE = Scope("tests", "agent.v1")

# What would outlive a transaction in its session: a pooler lends the session to others. A sequence
# is the database's: what a session keeps of it shows in currval and lastval only.
SESSION_STATE = re.compile(
    r"\b(SET(?! LOCAL\b)|RESET|LISTEN|UNLISTEN|NOTIFY|PREPARE|EXECUTE(?! FUNCTION\b)|DEALLOCATE"
    r"|DISCARD|LOAD"
    r"|DECLARE|TEMP|TEMPORARY|set_config|pg_advisory_lock\w*|pg_try_advisory_lock\w*"
    r"|pg_advisory_unlock\w*|currval|lastval)\b",
    re.IGNORECASE,
)
_ASSIGNS = re.compile(
    r"\bDO UPDATE\s+SET\b|^\s*UPDATE \S+\s+SET\b|\bALTER COLUMN \w+ SET STORAGE\b",
    re.IGNORECASE | re.MULTILINE,
)
_OF_THE_TRANSACTION = re.compile(r"\bset_config\('[\w.]+', [^,()]+, TRUE\)", re.IGNORECASE)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the text of every statement that is sent."""
    texts: list[str] = []

    def noting(query: Query) -> Any:
        texts.append(query.text)
        return numbered(query)

    monkeypatch.setattr(driving, "numbered", noting)
    return texts


@pytest.fixture
def saver(postgres_module_url: str) -> Iterator[DocumentCheckpointSaver]:
    with opened_saver(postgres_module_url) as opened:
        yield opened


@pytest.fixture
def store(postgres_module_url: str) -> Iterator[PostgresDocumentStore]:
    opened = PostgresDocumentStore(PostgresDatabase(parse(postgres_module_url, {})))
    opened.setup()
    opened.erase(SCOPE, THREAD)
    yield opened
    opened.close()


def session_state(text: str) -> list[str]:
    """Return the words of a statement that would change its session."""
    without_comments = re.sub(r"--[^\n]*", "", text)
    lasting = _OF_THE_TRANSACTION.sub("", _ASSIGNS.sub("", without_comments))
    return SESSION_STATE.findall(lasting)


def statements_written() -> dict[str, str]:
    folders = (PACKAGE, f"{PACKAGE}.migrations")
    return {
        file.name: file.read_text(encoding="utf-8")
        for folder in folders
        for file in resources.files(folder).iterdir()
        if file.name.endswith(".sql")
    }


def test_no_statement_changes_the_session_it_runs_in() -> None:
    written = statements_written()
    del written["direct.sql"]  # of a connection that no pool has and no pooler may stand before
    assert len(written) >= 5
    assert {
        name: session_state(text) for name, text in written.items() if session_state(text)
    } == {}


@pytest.mark.parametrize(
    "text",
    [
        *("SET search_path TO x", "LISTEN c", "SELECT pg_advisory_lock(1)", "EXECUTE p"),
        *("CREATE TEMP TABLE t ()", "SELECT set_config('search_path', 'x', FALSE)"),
    ],
)
def test_what_changes_a_session_is_noticed(text: str) -> None:
    assert session_state(text)


def test_a_session_is_as_it_was_after_every_operation(
    store: PostgresDocumentStore, sent: list[str]
) -> None:
    store.setup()
    store.insert(SCOPE, Batch([item(1), blob(2, metadata='{"a": 1}')], [checkpoint(1)]))
    store.insert(SCOPE, Batch([item(1)], [item(1), checkpoint(1)]))
    store.find(SCOPE, Find(CHECKPOINTS, children=WRITES))
    store.fetch(SCOPE, THREAD, [address(1)], nodes=True)
    store.count(SCOPE, Find(BLOBS, where=[HasEntry("metadata", "a", "1")]))
    store.measure(SCOPE, THREAD)
    store.remove(SCOPE, THREAD, [(ITEMS, (address(1),))])
    token = store.lease(SCOPE, THREAD, 60)
    assert token is not None
    after = [(checkpoint(1).key, 0)]
    store.insert(SCOPE, Batch([checkpoint(2)], after=after, lease=token))
    store.extend_lease(SCOPE, THREAD, token, 60)
    store.copy(SCOPE, THREAD, "copy")
    store.prune(SCOPE, THREAD, Pruning([checkpoint(1).key], [checkpoint(2).key]))
    store.erase(SCOPE, THREAD)
    store.release_lease(SCOPE, THREAD, token)
    assert len(sent) > 20
    assert [text for text in sent if session_state(text)] == []
    with store._database._pools.blocking().connection() as connection:
        left = connection.execute(
            b"select (select count(*) from pg_prepared_statements),"
            b" (select count(*) from pg_settings where source = 'session'"
            b"  and name <> 'application_name'),"
            b" (select count(*) from pg_locks where locktype = 'advisory'),"
            b" (select count(*) from pg_listening_channels())"
        ).fetchone()
    assert left == (0, 0, 0, 0)


def test_a_put_is_one_statement_and_a_read_at_most_three(
    saver: DocumentCheckpointSaver, sent: list[str]
) -> None:
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    for number in range(3):
        stored = {**empty_checkpoint(), "channel_values": {"a": ["x" * 100] * number}}
        stored["channel_versions"] = {"a": number + 1}
        sent.clear()
        config = saver.put(config, stored, {"source": "loop", "step": number}, {"a": number + 1})  # type: ignore[arg-type]
        assert len(sent) == 1
        sent.clear()
        saver.put_writes(config, [("a", ["y" * 100])], f"task-{number}")
        assert len(sent) == 1


def test_a_chat_of_forty_turns_is_read_by_three_statements(
    saver: DocumentCheckpointSaver, postgres_module_url: str, sent: list[str]
) -> None:
    graph = chat.build(saver)
    config: Any = {"configurable": {"thread_id": "chat"}}
    for turn in range(40):
        sent.clear()
        graph.invoke(chat.turn_input(turn), config, durability="sync")
        assert len(sent) <= 9 + 3 + 1
    cold = DocumentCheckpointSaver(saver._documents, namespace=saver._scope.namespace)
    sent.clear()
    assert cold.get_tuple(config) is not None
    assert len(sent) <= 3
    sent.clear()
    cold.get_tuple(config)
    assert len(sent) == 1


def test_a_reply_is_cut_by_the_server(
    store: PostgresDocumentStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [part(number, bytes([number]) * PART_BYTES) for number in range(20)]
    linked = [item(100 + n, b"x" * PART_BYTES, refs=[address(101 + n)]) for n in range(20)]
    store.insert(SCOPE, Batch([*parts, *linked]))
    replies: list[int] = []
    drive = driving.drive

    def measuring(connection: Any, unit: Any) -> Any:
        execute = connection.execute

        def noting(*arguments: Any, **options: Any) -> Any:
            cursor = execute(*arguments, **options)
            replies.append(
                sum(
                    len(cursor.pgresult.get_value(row, column) or b"")
                    for row in range(cursor.rowcount)
                    for column in range(cursor.pgresult.nfields)
                )
            )
            return cursor

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(connection, "execute", noting)
            return drive(connection, unit)

    monkeypatch.setattr(driving, "drive", measuring)
    store.fetch(SCOPE, THREAD, [address(number) for number in range(20)])
    store.fetch(SCOPE, THREAD, [address(100)], nodes=True)
    store.find(SCOPE, Find(parts[0].collection))
    store.find(SCOPE, Find(parts[0].collection, THREAD, newest_first=True))
    assert len(replies) == 4
    assert all(READ_BYTES // 2 < each < READ_BYTES + 10_000 for each in replies)


SEEKS = {
    "newest of a namespace": Find(
        CHECKPOINTS, THREAD, [Is("checkpoint_ns", "")], newest_first=True, limit=1
    ),
    "newest before another": Find(
        CHECKPOINTS,
        THREAD,
        [Is("checkpoint_ns", ""), Below("checkpoint_id", checkpoint_id(900))],
        newest_first=True,
        limit=1,
    ),
    "next page of a namespace": Find(
        CHECKPOINTS,
        THREAD,
        [Is("checkpoint_ns", "")],
        newest_first=True,
        after=(THREAD, ("", checkpoint_id(900))),
        limit=10,
    ),
    "a thread's next page": Find(
        CHECKPOINTS, THREAD, after=(THREAD, ("", checkpoint_id(100))), limit=10
    ),
    "a thread's next writes": Find(
        WRITES, THREAD, after=(THREAD, ("", checkpoint_id(100), "task", 0)), limit=10
    ),
}


@pytest.mark.parametrize("find", SEEKS.values(), ids=SEEKS)
def test_an_index_finds_it_and_has_its_order(
    store: PostgresDocumentStore, postgres_module_url: str, find: Find
) -> None:
    rows = [d for n in range(1000) for d in (checkpoint(n), write(n, task="task"))]
    store.insert(SCOPE, Batch(rows))
    plan = plan_of(postgres_module_url, query_of(store, find))
    assert "Index Cond" in plan
    assert "Sort" not in plan
    assert "Seq Scan on checkpoint_documents" not in plan
    assert "Seq Scan on write_documents" not in plan


JIT_ABOVE_COST = 100_000  # where PostgreSQL by default begins to compile a statement, in 100 ms


@pytest.mark.parametrize("nodes", [False, True])
@pytest.mark.parametrize("count", [1, 400, 20_000])
def test_addresses_are_looked_up_one_by_one_and_never_compiled(
    store: PostgresDocumentStore, postgres_module_url: str, count: int, nodes: bool
) -> None:
    store.insert(SCOPE, Batch([item(number, refs=[address(0)]) for number in range(2_000)]))
    refs = [address(number) for number in range(count)]
    unit = document_reads.fetch(store._documents._reads, SCOPE, THREAD, refs, nodes=nodes)
    plan = plan_of(postgres_module_url, next(unit))
    cost = re.search(r"\.\.(\d+)", plan)
    assert cost is not None
    assert int(cost[1]) < JIT_ABOVE_COST
    documents = re.findall(r"(\w+ \w+)[\w ]* on addressed_documents", plan)
    assert set(documents) == {"Index Scan"}


def test_a_prune_finds_rows_in_indexes_and_deletes_them_by_their_place(
    store: PostgresDocumentStore, postgres_module_url: str
) -> None:
    rows = [d for n in range(500) for d in (checkpoint(n, refs=[address(n)]), write(n), item(n))]
    store.insert(SCOPE, Batch(rows))
    for number in range(20):
        store.copy(SCOPE, THREAD, f"copy {number}")
    pruning = Pruning([checkpoint(n).key for n in range(400)], [checkpoint(400).key])
    unit = whole_threads.prune(store._documents._wholes, SCOPE, THREAD, pruning)
    next(unit)
    with psycopg.connect(postgres_module_url) as connection:
        (tid,) = connection.execute("select max(tid) from write_documents").fetchone() or ()
    plans = [plan_of(postgres_module_url, unit.send([(tid,)]))]
    plans += [plan_of(postgres_module_url, unit.send(answer)) for answer in ([(True, 0, 0)], [])]
    for plan, changes in zip(plans, (2, 1, 1), strict=True):
        assert plan.count("Tid Scan") == changes
        assert not re.search(r"Seq Scan on (checkpoint|write|addressed)_documents", plan)


def test_a_whole_thread_takes_few_statements(store: PostgresDocumentStore, sent: list[str]) -> None:
    store.insert(SCOPE, Batch([checkpoint(1), checkpoint(2, parent_id=checkpoint_id(1)), item(1)]))
    pruning = Pruning([checkpoint(1).key], [checkpoint(2).key])
    counts = []
    for call in (
        lambda: store.copy(SCOPE, THREAD, "copied"),
        lambda: store.prune(SCOPE, THREAD, pruning),
        lambda: store.lease(SCOPE, THREAD, 0),
        lambda: store.erase(SCOPE, THREAD),
        lambda: store.erase(SCOPE, "copied"),
    ):
        sent.clear()
        call()
        counts.append(len(sent))
    assert counts == [6, 4, 2, 2, 2]


def test_a_batch_with_everything_it_may_need_is_one_statement(
    store: PostgresDocumentStore, sent: list[str]
) -> None:
    store.insert(SCOPE, Batch([checkpoint(1)]))
    token, parent = store.lease(SCOPE, THREAD, 60), checkpoint(1).key
    for number in range(2, 5):
        sent.clear()
        batch = Batch(
            [item(number), write(number)],
            [checkpoint(number)],
            [(CHECKPOINTS, parent)],
            after=[(parent, 0)],
            lease=token,
        )
        assert store.insert(SCOPE, batch).written
        assert len(sent) == 1
    assert token is not None
    store.release_lease(SCOPE, THREAD, token)


def plan_of(url: str, query: Query) -> str:
    text, values = numbered(query)
    with psycopg.connect(url, autocommit=True, cursor_factory=psycopg.RawCursor) as connection:
        connection.execute(b"analyze")
        rows = connection.execute(b"explain " + text, values).fetchall()
    return "\n".join(row[0] for row in rows)


def query_of(store: PostgresDocumentStore, find: Find) -> Query:
    return next(document_reads.find(store._documents._reads, SCOPE, find))
