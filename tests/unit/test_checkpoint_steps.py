"""The steps of put and put_writes, driven by hand: what is sent, in which order, on what terms."""

import random
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from threadkeep.checkpoints import drafts
from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.get import get
from threadkeep.checkpoints.known import HEADS, Known, Record, enclosing, task_of
from threadkeep.checkpoints.put import Put, put
from threadkeep.checkpoints.steps import Insert, Pause, Steps
from threadkeep.checkpoints.writes import PutWrites, put_writes
from threadkeep.errors import CorruptionError, NotFoundError
from threadkeep.model.uuid_times import made_at, ticks, ticks_of
from threadkeep.ports.documents import (
    CHECKPOINTS,
    ITEMS,
    PARTS,
    WRITES,
    Batch,
    Document,
    Fetched,
    Find,
    Inserted,
    Page,
)

CODEC = Codec(JsonPlusSerializer())
PARENT = ("t", "", "1")


def known() -> Known:
    return Known(nullcontext())


def request(
    ident: str, values: dict[str, Any], version: Any, parent: str | None = None, **more: Any
) -> Put:
    checkpoint = {
        "v": 4,
        "ts": "2026-01-01T00:00:00+00:00",
        "channel_values": values,
        "channel_versions": dict.fromkeys(values, version),
        "versions_seen": {},
    }
    return Put(("t", "", ident), parent, checkpoint, {"source": "loop", "step": 1}, **more)


def drive(steps: Steps[Any], replies: Sequence[Any]) -> list[Any]:
    """Start steps and answer their requests in turn; return the requests."""
    return [steps.send(None), *drive_on(steps, [*replies, *[Inserted()] * 20])]


def drive_on(steps: Steps[Any], replies: Sequence[Any]) -> list[Any]:
    """Answer requests in turn, to the end; return the further requests."""
    asked: list[Any] = []
    for reply in replies:
        try:
            asked.append(steps.send(reply))
        except StopIteration:
            break
    return asked


def batches(asked: Sequence[Any]) -> list[Batch]:
    return [one.batch for one in asked if isinstance(one, Insert)]


def messages(count: int) -> list[HumanMessage]:
    return [HumanMessage(f"{n} " + "x" * 60, id=str(n)) for n in range(count)]


def test_a_put_is_one_batch_and_the_checkpoint_is_in_what_is_written_last() -> None:
    (batch,) = batches(drive(put(request("1", {"m": messages(30)}, 1), CODEC, known()), []))
    assert [one.collection for one in batch.replacing] == [CHECKPOINTS]
    assert batch.requires == ()
    named: set[bytes] = set()
    for document in (*batch.documents, *batch.replacing):
        assert set(document.refs) <= named  # no document before those it names
        named.add(document.key[0])  # type: ignore[arg-type]


def test_large_values_go_ahead_in_batches_of_two_megabytes() -> None:
    text = random.Random(7).randbytes(5_000_000).hex()
    sent = batches(drive(put(request("1", {"m": text}, 1), CODEC, known()), []))
    assert len(sent) > 2
    assert all(one.collection == PARTS for batch in sent[:-1] for one in batch.documents)
    assert [bool(batch.replacing) for batch in sent] == [False] * (len(sent) - 1) + [True]


def test_what_the_parent_keeps_is_left_out_and_the_parent_is_required() -> None:
    memory = known()
    drive(put(request("1", {"m": messages(30)}, 1), CODEC, memory), [])
    more = [*messages(30), HumanMessage("new " + "y" * 60)]
    (batch,) = batches(drive(put(request("2", {"m": more}, 2, "1"), CODEC, memory), []))
    assert batch.requires == ((CHECKPOINTS, ("", "1")),)
    assert len(batch.documents) == 1


def test_where_the_parent_is_gone_everything_is_written() -> None:
    memory = known()
    drive(put(request("1", {"m": messages(9)}, 1), CODEC, memory), [])
    other = Page([Document("t", CHECKPOINTS, ("", "0"), b"")])
    asked = drive(
        put(request("2", {"m": messages(9)}, 1, "1"), CODEC, memory),
        [Inserted(written=False), other],
    )
    first, last = batches(asked)
    assert (len(first.documents), len(last.documents)) == (0, 12)  # with a leaf, a root, a shape
    assert last.requires == ()


def test_where_the_thread_is_gone_nothing_is_written() -> None:
    memory = known()
    drive(put(request("1", {"m": messages(9)}, 1), CODEC, memory), [])
    steps = put(request("2", {"m": messages(9)}, 1, "1"), CODEC, memory)
    with pytest.raises(NotFoundError, match="'t'"):
        drive(steps, [Inserted(written=False), Page(()), Page(())])


def test_values_are_serialized_before_the_first_request() -> None:
    values: dict[str, Any] = {"m": messages(3), "text": ["a" * 50]}
    steps = put(request("2", values, 2, "1"), CODEC, known())
    first = steps.send(None)
    assert isinstance(first, Find)  # the parent is not known
    values["m"][0].content = "edited meanwhile"
    values["text"][0] = "edited meanwhile"
    sent = steps.send(Page(()))
    assert isinstance(sent, Insert)
    assert not any(b"meanwhile" in one.body for one in sent.batch.documents)


def test_a_put_waits_for_its_parents_writes_and_leaves_their_values_out() -> None:
    class UnderWay:
        def wait(self) -> None: ...
        async def await_(self) -> None: ...

    memory = known()
    drive(put(request("1", {"n": 1}, 1), CODEC, memory), [])
    written = messages(2)
    steps = put(request("2", {"m": written}, 2, "1", under_way=UnderWay()), CODEC, memory)
    assert isinstance(steps.send(None), Pause)
    drive(put_writes(PutWrites(PARENT, [("m", written)], "task", ""), CODEC, memory), [])
    sent = steps.send(None)
    assert isinstance(sent, Insert)
    assert len(sent.batch.documents) == 1  # the shape


def test_writes_are_one_batch_of_their_values_and_one_document() -> None:
    writes = [("__resume__", 1), ("m", messages(1)), ("n", 2)]
    (batch,) = batches(
        drive(put_writes(PutWrites(PARENT, writes, "task", "p"), CODEC, known()), [])
    )
    assert [one.key for one in batch.documents if one.collection == WRITES] == [
        ("", "1", "task", 0)
    ]
    assert [one.key for one in batch.replacing] == [("", "1", "task", -4)]
    assert not batch.requires  # they may come before their checkpoint


@pytest.mark.parametrize("gone_on_from", ["dict", "list"])
def test_writes_that_go_on_from_a_checkpoint_that_is_gone_are_written_whole(
    gone_on_from: str,
) -> None:
    memory = known()
    value: Any = {f"key {number}": "x" * 60 for number in range(100)}
    value = value if gone_on_from == "dict" else messages(100)
    drive(put(request("1", {"v": value}, 1), CODEC, memory), [])
    other = Page([Document("t", CHECKPOINTS, ("", "0"), b"")])
    asked = drive(
        put_writes(PutWrites(PARENT, [("v", value)], "task", ""), CODEC, memory),
        [Inserted(written=False), other],
    )
    first, last = batches(asked)
    assert first.requires == ((CHECKPOINTS, ("", "1")),)
    assert [one.collection for one in first.documents] == [WRITES]
    assert last.requires == ()
    assert len(last.documents) > 10
    named: set[bytes] = set()
    for document in last.documents:
        assert set(document.refs) <= named
        named.add(document.key[0])  # type: ignore[arg-type]


def test_a_subgraph_whose_supervisors_checkpoint_is_gone_is_written_whole() -> None:
    memory = known()
    drive(put(request("1", {"m": messages(100)}, 1), CODEC, memory), [])
    checkpoint = dict(request("2", {"m": messages(100)}, 1).checkpoint)
    inside = Put(("t", "agent:task", "2"), None, checkpoint, {"parents": {"": "1"}})
    other = Page([Document("t", CHECKPOINTS, ("", "0"), b"")])
    first, last = batches(drive(put(inside, CODEC, memory), [Inserted(written=False), other]))
    assert first.requires == ((CHECKPOINTS, ("", "1")),)
    assert len(first.documents) <= 1
    assert last.requires == ()
    assert len(last.documents) > 100


@pytest.mark.parametrize(("task", "new"), [("other", 11), ("task", 1)])
def test_a_task_hands_over_what_its_subgraph_did_not(task: str, new: int) -> None:
    memory = known()
    drive(put(request("1", {"m": messages(100)}, 1), CODEC, memory), [])
    checkpoint = dict(request("2", {"m": messages(110)}, 1).checkpoint)
    inside = Put(("t", "agent:task|1", "2"), None, checkpoint, {"parents": {"": "1"}})
    drive(put(inside, CODEC, memory), [])
    writes = PutWrites(PARENT, [("m", messages(111))], task, "")
    (batch,) = batches(drive(put_writes(writes, CODEC, memory), []))
    items = [one for one in batch.documents if one.collection == ITEMS]
    assert new <= len(items) <= new + 3  # with leaves and a root
    inner = (CHECKPOINTS, ("agent:task|1", "2"))
    assert (inner in batch.requires) == (task == "task")


def test_writes_before_their_checkpoint_share_with_the_one_around() -> None:
    memory = known()
    drive(put(request("1", {"m": messages(100)}, 1), CODEC, memory), [])
    writes = PutWrites(("t", "agent:task", "2"), [("m", messages(100))], "start", "")
    (batch,) = batches(drive(put_writes(writes, CODEC, memory), []))
    assert batch.requires == ((CHECKPOINTS, ("", "1")),)
    assert len(batch.documents) == 1
    assert [key for key, _ in batch.after] == [("agent:task", "2")]


@pytest.mark.parametrize(
    ("namespace", "task", "around"),
    [
        ("", "", ""),
        ("agent", "", ""),
        ("agent:1f-2", "1f-2", ""),
        ("agent:1f|tool:2e", "2e", "agent:1f"),
        ("agent:1f|3", "1f", ""),
        ("agent:1f|tool:2e|3", "2e", "agent:1f"),
        ("1|2", "", ""),
    ],
)
def test_the_task_of_a_namespace_is_told(namespace: str, task: str, around: str) -> None:
    assert (task_of(namespace), enclosing(namespace)) == (task, around)


def test_a_missing_document_is_corruption() -> None:
    memory = known()
    (batch,) = batches(drive(put(request("1", {"m": messages(9)}, 1), CODEC, memory), []))
    (head,) = batch.replacing
    steps = get("t", "", None, CODEC, known())
    steps.send(None)
    steps.send(Page([head]))
    present = {one.key[0]: one for one in batch.documents[1:]}
    with pytest.raises(CorruptionError, match=r"checkpoint '1' of thread 't'.*lacks the"):
        drive_on(steps, [Fetched(present), Fetched({}), Page([head])])  # type: ignore[arg-type]


def test_a_document_missing_because_its_checkpoint_was_deleted_is_no_corruption() -> None:
    (batch,) = batches(drive(put(request("1", {"m": messages(9)}, 1), CODEC, known()), []))
    steps = get("t", "", None, CODEC, known())
    steps.send(None)
    steps.send(Page([*batch.replacing]))
    asked = drive_on(steps, [Fetched({}), Page(()), Page(())])
    assert all(isinstance(one, Find) for one in asked)


def test_memory_is_bounded_by_bytes_and_by_heads() -> None:
    memory = Known(nullcontext(), capacity_bytes=10_000)
    for n in range(100):
        memory.remember(Record(("t", "", str(n)), {}, {}, {}, ()))
    kept = [n for n in range(100) if memory.record(("t", "", str(n)))]
    assert kept == list(range(100))[-HEADS:]
    for n in range(100):
        memory.remember(Record((f"t{n}", "", "1"), {}, {}, {}, ()))
    kept = [n for n in range(100) if memory.record((f"t{n}", "", "1"))]
    assert kept == list(range(100))[-9:]
    documents = [Document("t", "items", (b"%12d" % n,), b"x" * 1000) for n in range(50)]
    memory.keep_documents(documents)
    assert len(memory.documents("t", [one.key[0] for one in documents])) == 8  # type: ignore[misc]


def test_a_forgotten_thread_is_gone_from_memory() -> None:
    memory = known()
    drive(put(request("1", {"m": messages(9)}, 1), CODEC, memory), [])
    drive(put_writes(PutWrites(PARENT, [("m", 1)], "task", ""), CODEC, memory), [])
    memory.forget("t", 5)
    memory.forget("t", 3)
    assert memory.record(PARENT) is None
    assert not memory.has_writes(PARENT, "task")
    assert memory.gone_at("t") == 5


def test_the_time_of_an_id_is_told() -> None:
    ident = "1f1ecf86-ed03-64f4-8000-232f14ba3429"
    made = 0x1F1ECF86ED03 << 12 | 0x4F4
    assert made_at(ident) == made
    assert made_at("1f1ecf86-ed03-44f4-8000-232f14ba3429") == 0  # another version of UUID
    assert made_at("g" * 12 + "6" + "g" * 19) == made_at("no uuid") == 0
    assert ticks(0) == ticks_of(datetime(1970, 1, 1, tzinfo=UTC)) == 0x01B21DD213814000
    assert ticks(1_700_000_000_123_456_000) == ticks_of(
        datetime.fromtimestamp(1_700_000_000, UTC) + timedelta(microseconds=123_456)
    )


def test_a_document_is_inline_up_to_its_limit() -> None:
    draft = drafts.Draft("t", CODEC)
    draft.value(b"x" * drafts.INLINE_BYTES)
    assert list(draft.refs()) == []
    draft.value(b"x" * (drafts.INLINE_BYTES + 1))
    assert len(list(draft.refs())) == 1
