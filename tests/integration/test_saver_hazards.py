"""Savers while a thread is deleted, a list is changed, a file is damaged."""

import random
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from threadkeep import DocumentCheckpointSaver
from threadkeep.drivers import postgres
from threadkeep.errors import CorruptionError, NotFoundError, SchemaTooNewError
from threadkeep.ports.documents import DocumentStore, Fetched, Scope
from threadkeep.ports.drivers import DriverOptions, open_driver
from threadkeep.savers.serde import SafeSerializer
from threadkeep.testing.saver_steps import checkpoint, config, conversation


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgresql", marks=pytest.mark.servers)])
def documents(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DocumentStore]:
    if request.param == "postgresql":
        opened = postgres.open(request.getfixturevalue("postgres_url"), DriverOptions())
    else:
        opened = open_driver(
            "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/s.db"
        )
    with closing(opened) as driver:
        store = driver.documents()
        store.setup()
        yield store


class Interrupted:
    """A store in which something happens right before one of the fetches."""

    def __init__(self, store: DocumentStore, event: Callable[[], object]) -> None:
        self._store = store
        self._event: Callable[[], object] | None = event

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def fetch(
        self, scope: Scope, thread_id: str, refs: Sequence[bytes], *, nodes: bool = False
    ) -> Fetched:
        event, self._event = self._event, None
        if event is not None:
            event()
        return self._store.fetch(scope, thread_id, refs, nodes=nodes)


def interrupted(store: DocumentStore, event: Callable[[], object]) -> DocumentCheckpointSaver:
    return DocumentCheckpointSaver(Interrupted(store, event))


def fill(saver: DocumentCheckpointSaver, thread_id: str = "t", steps: int = 3) -> Any:
    at = config(thread_id)
    for step in range(steps):
        made = checkpoint({"m": conversation(9 + step), "n": step}, {"m": step + 1, "n": step + 1})
        at = saver.put(at, made, {"source": "loop", "step": step, "run_id": "r"}, {})
        saver.put_writes(at, [("m", conversation(1)), ("n", "w" * 60)], "task")
    return at


def test_a_thread_deleted_while_it_is_read_reads_as_absent(documents: DocumentStore) -> None:
    other = DocumentCheckpointSaver(documents)
    fill(other)
    reader = interrupted(documents, lambda: other.delete_thread("t"))
    assert reader.get_tuple(config("t")) is None


def test_a_thread_made_anew_while_it_is_read_is_read_as_it_is_then(
    documents: DocumentStore,
) -> None:
    other = DocumentCheckpointSaver(documents)
    fill(other)

    def anew() -> None:
        other.delete_thread("t")
        other.put(config("t"), checkpoint({"m": ["new"]}, {"m": 1}), {"source": "input"}, {})

    read = interrupted(documents, anew).get_tuple(config("t"))
    assert read is not None
    assert read.checkpoint["channel_values"] == {"m": ["new"]}


def test_a_thread_deleted_while_all_are_listed_is_left_out(documents: DocumentStore) -> None:
    other = DocumentCheckpointSaver(documents)
    fill(other, "a")
    fill(other, "b")
    reader = interrupted(documents, lambda: other.delete_thread("a"))
    listed = list(reader.list(None))
    assert [each.config["configurable"]["thread_id"] for each in listed] == ["b"] * 3


def test_a_put_after_a_parent_that_is_deleted_meanwhile_is_refused(
    documents: DocumentStore,
) -> None:
    other = DocumentCheckpointSaver(documents)
    head = fill(other)
    late = interrupted(documents, lambda: other.delete_thread("t"))
    with pytest.raises(NotFoundError):
        late.put(head, checkpoint({"m": ["late"]}, {"m": 9}), {"source": "loop"}, {})
    assert list(other.list(None)) == []


def test_a_saver_that_knows_nothing_goes_on_after_very_many_channels(
    documents: DocumentStore,
) -> None:
    chance = random.Random(1)
    names = ["".join(chance.choices("abcdefghijklmnop", k=80)) for _ in range(9_000)]
    values: dict[str, Any] = dict.fromkeys(names, 1)
    versions: Any = dict.fromkeys(names, 1)
    first = DocumentCheckpointSaver(documents).put(
        config("t"), checkpoint(values, versions), {"source": "input"}, versions
    )
    values[names[0]], versions[names[0]] = 2, 2
    saver = DocumentCheckpointSaver(documents)
    saver.put(first, checkpoint(values, versions), {"source": "loop"}, {names[0]: 2})
    read = saver.get_tuple(config("t"))
    assert read is not None
    assert read.checkpoint["channel_values"] == values


class Source(str, Enum):  # noqa: UP042 - unlike a StrEnum's, its text is not what it equals
    LOOP = "loop"


@pytest.mark.parametrize(
    ("question", "places"),
    [
        ({"source": "loop"}, [2, 1, 0]),
        ({"source": Source.LOOP}, [2, 1, 0]),
        ({"step": 1}, [1, 0]),
        ({"step": 1.0, "source": "loop"}, [1, 0]),
        ({"step": True}, [2]),
        ({"step": 2**70}, [3]),
    ],
)
def test_filters_on_source_and_step_mean_equality_whatever_the_type(
    documents: DocumentStore, question: dict[str, Any], places: list[int]
) -> None:
    said: list[Any] = [
        {"source": Source.LOOP, "step": 1.0},
        {"source": "loop", "step": 1},
        {"source": "loop", "step": True},
        {"source": "other", "step": 2**70},
    ]
    saver = DocumentCheckpointSaver(documents)
    for each in said:
        saver.put(config("t"), checkpoint({}, {}), each, {})
    steps: list[Any] = [one.metadata["step"] for one in saver.list(None, filter=question)]
    wanted = [said[place]["step"] for place in places]
    assert [(type(step), step) for step in steps] == [(type(step), step) for step in wanted]


class Meddling(SafeSerializer):
    """Does something while a value is serialized, once, as another thread may."""

    def __init__(self) -> None:
        super().__init__()
        self.event: Callable[[], object] | None = None

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        event, self.event = self.event, None
        if event is not None:
            event()
        return super().dumps_typed(obj)


def test_a_list_or_dict_that_grows_while_it_is_stored_is_stored_as_it_was(
    documents: DocumentStore,
) -> None:
    serde = Meddling()
    saver = DocumentCheckpointSaver(documents, serde=serde)
    messages = conversation(3)
    keyed: dict[str, Any] = {"one": conversation(2)}

    def change() -> None:
        messages.append(HumanMessage("late"))
        keyed["more"] = [1]

    at = config("t")
    for step in range(4):
        serde.event = change
        count = len(messages)
        versions: Any = {"m": step + 1, "d": step + 1}
        made = checkpoint({"d": keyed, "m": messages}, versions)
        at = saver.put(at, made, {"source": "loop"}, versions)
        for reader in (saver, DocumentCheckpointSaver(documents)):
            read = reader.get_tuple(at)
            assert read is not None
            stored = read.checkpoint["channel_values"]
            assert stored["m"] == messages[: len(stored["m"])]
            assert len(stored["m"]) >= count


DAMAGES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "a flipped bit": lambda body, chance: _flipped(body, chance),
    "a cut body": lambda body, chance: body[: chance.randrange(len(body))],
    "zeros": lambda body, _: bytes(len(body)),
}


def _flipped(body: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(body))
    return body[:at] + bytes((body[at] ^ 1 << chance.randrange(8),)) + body[at + 1 :]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("column", ["body", "refs"])
def test_a_damaged_document_is_told_and_never_read_as_another_value(
    tmp_path: Path, damage: str, column: str
) -> None:
    chance = random.Random(damage + column)
    file = tmp_path / "s.db"
    with DocumentCheckpointSaver.from_url(f"sqlite:///{file}") as saver:
        fill(saver, "thread-1", 12)
        whole = saver.get_tuple(config("thread-1"))
    seen = 0
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        query = f"SELECT rowid, {column} FROM documents WHERE {column} IS NOT NULL"
        for rowid, body in connection.execute(query).fetchall():
            change = f"UPDATE documents SET {column} = ? WHERE rowid = ?"
            connection.execute(change, (DAMAGES[damage](body, chance), rowid))
            with DocumentCheckpointSaver.from_url(f"sqlite:///{file}") as saver:
                try:
                    assert saver.get_tuple(config("thread-1")) == whole
                except (CorruptionError, SchemaTooNewError) as error:
                    assert "thread-1" in str(error)  # noqa: PT017 - or it is not needed
                    seen += 1
            connection.execute(change, (body, rowid))
    assert seen > 2


@pytest.mark.parametrize("column", ["source", "refs"])
def test_a_damaged_row_is_told_by_the_name_of_its_thread(tmp_path: Path, column: str) -> None:
    file = tmp_path / "s.db"
    with DocumentCheckpointSaver.from_url(f"sqlite:///{file}") as saver:
        fill(saver, "thread-1", 1)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(f"UPDATE checkpoint_documents SET {column} = x'ff00'")
    with (
        DocumentCheckpointSaver.from_url(f"sqlite:///{file}") as saver,
        pytest.raises(CorruptionError, match="thread-1"),
    ):
        saver.get_tuple(config("thread-1"))
