"""Values made of documents: many at once, the damaged one named, nothing shared."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from threadkeep.checkpoints import bodies
from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.entries import Blob, Inline
from threadkeep.checkpoints.gathering import Documents
from threadkeep.checkpoints.prints import take
from threadkeep.checkpoints.reading import TOGETHER, Reader
from threadkeep.checkpoints.shelf import KEPT_BYTES, Held, Shelf, size_of
from threadkeep.errors import CorruptionError, SchemaTooNewError
from threadkeep.ports.documents import ITEMS, PARTS, Document
from threadkeep.savers.serde import SafeSerializer

CODEC = Codec(SafeSerializer())


def stored(*values: Any) -> Documents:
    """Store values as documents, by address."""
    return documents_of(*(CODEC.dump(value) for value in values))


def documents_of(*plains: bytes) -> Documents:
    """Make documents of plains, by address."""
    refs = [CODEC.address(plain) for plain in plains]
    return {
        ref: Document("t", ITEMS, (ref,), bodies.seal(plain))
        for ref, plain in zip(refs, plains, strict=True)
    }


def reader_of(documents: Documents, *, share: bool = False) -> Reader:
    """Read documents that nobody has checked."""
    return Reader(CODEC, dict(documents), documents.keys(), share=share)


def conversation(count: int) -> list[AnyMessage]:
    """Make messages, some of which the serializer cannot sketch."""
    return [
        AIMessage(f"a {n}", id=str(n), tool_calls=[{"name": "f", "args": {"n": n}, "id": str(n)}])
        if n % 3
        else HumanMessage([{"type": "text", "text": f"q {n}"}], id=str(n), more=n)
        if n % 2
        else ToolMessage(f"r {n}", tool_call_id=str(n), artifact={"parts": (n, {n})})
        for n in range(count)
    ]


@pytest.mark.parametrize("count", [0, 1, TOGETHER, 3 * TOGETHER + 1])
@pytest.mark.parametrize("share", [False, True])
def test_elements_of_any_kind_and_number_come_back_in_order(count: int, share: bool) -> None:
    values = [*conversation(count), *({"n": n} for n in range(5)), "text", None, b"bytes"]
    documents = stored(*values)
    marks = [CODEC.address(CODEC.dump(value)) for value in values]
    want = [CODEC.load(CODEC.dump(value)) for value in values]
    reader = reader_of(documents, share=share)
    for _ in range(2):
        made = reader.made([*marks, Inline(CODEC.dump(7))])
        assert made == [*want, 7]
        assert [*map(type, made)] == [*map(type, want), int]


def test_elements_are_made_anew_each_time_and_have_their_prints() -> None:
    values = conversation(9)
    marks = [*stored(*values)]
    reader = reader_of(stored(*values))
    first, prints = reader.printed(marks)
    assert [each and each[:2] for each in prints] == [take(value) for value in first]
    for message in first:
        message.additional_kwargs["mine"] = True
    again = Reader(CODEC, dict(reader.kept), set()).made(marks)
    assert not any("mine" in message.additional_kwargs for message in again)


def test_messages_only_are_shared_by_the_lists_of_a_page() -> None:
    documents = stored(AIMessage("a"), {"k": 1})
    reader = reader_of(documents, share=True)
    (message, container), (again, other) = reader.made([*documents]), reader.made([*documents])
    assert message is again
    assert container == other == {"k": 1}
    assert container is not other


@pytest.mark.parametrize("share", [False, True])
def test_the_element_that_is_damaged_is_named(share: bool) -> None:
    documents = stored(*conversation(2 * TOGETHER))
    marks = [*documents]
    documents[marks[70]] = Document("t", ITEMS, (marks[70],), documents[marks[71]].body)  # type: ignore[union-attr]
    with pytest.raises(CorruptionError, match=f"^element 70: .*{marks[70].hex()}.* not what its"):
        reader_of(documents, share=share).made(marks)
    del documents[marks[70]]
    with pytest.raises(CorruptionError, match=f"^element 70: .*{marks[70].hex()} is missing"):
        reader_of(documents, share=share).printed(marks)


def test_an_element_that_comes_again_is_made_again() -> None:
    short, long, message = "x" * 50, "x" * 200, HumanMessage("hi")
    documents = stored(short, long, message)
    assert [document.body[0] for document in documents.values()][:2] == [0, bodies.TABLED]  # type: ignore[union-attr]
    marks = [*documents] * 3
    assert reader_of(documents).made(marks) == [short, long, message] * 3
    del documents[marks[0]]
    with pytest.raises(CorruptionError, match=r"^element 0: .* is missing"):
        reader_of(documents).made(marks)


@pytest.mark.parametrize("at", [0, 70, 2 * TOGETHER - 1])
def test_a_body_that_cannot_be_unpacked_is_named(at: int) -> None:
    documents = stored(*({"n": n, "text": "x" * 100} for n in range(2 * TOGETHER)))
    mark = [*documents][at]
    body = documents[mark].body  # type: ignore[union-attr]
    assert body[0] == bodies.TABLED
    for broken in (body[:1], body[:-1], body + b"\0", body[:1] + bytes(len(body) - 1)):
        documents[mark] = Document("t", ITEMS, (mark,), broken)
        with pytest.raises(CorruptionError, match=f"^element {at}: a compressed body"):
            reader_of(documents).made([*documents])


def test_plains_that_are_nothing_are_named() -> None:
    plains = [CODEC.dump("text"), b""]
    marks = [Inline(plain) for plain in plains]
    with pytest.raises(CorruptionError, match=r"^element 1: "):
        reader_of({}).made(marks)
    with pytest.raises(CorruptionError, match=r"^element 1: "):
        reader_of(documents_of(*plains)).made([*documents_of(*plains)])


def test_an_element_under_an_older_key_is_read_with_the_others() -> None:
    plains = [CODEC.dump({"n": n, "text": "x" * 100}) for n in range(5)]
    older = b"an older key"
    refs = [bodies.address(older if n == 3 else CODEC.key, plain) for n, plain in enumerate(plains)]
    documents: Documents = {
        ref: Document("t", ITEMS, (ref,), bodies.seal(plain))
        for ref, plain in zip(refs, plains, strict=True)
    }
    codec = Codec(CODEC.serde, CODEC.key, (b"another", older))
    made = Reader(codec, dict(documents), documents.keys()).made(refs)
    assert made == [CODEC.load(plain) for plain in plains]
    with pytest.raises(CorruptionError, match=r"^element 3: "):
        reader_of(documents).made(refs)


def test_the_element_that_cannot_be_decoded_is_named() -> None:
    whole = CODEC.dump(HumanMessage("hi", id="1"))
    broken = whole.replace(b"\xa2id", b"\xc1id")  # a byte that msgpack never begins with
    assert broken != whole
    plains = [*(CODEC.dump(HumanMessage(f"{n}")) for n in range(5)), b"\x03\xc1", whole]
    marks = [*documents_of(*plains)]
    with pytest.raises(CorruptionError, match=r"^element 5: "):
        reader_of(documents_of(*plains)).made(marks)
    marks = [*documents_of(whole, broken)]
    with pytest.raises(CorruptionError, match=r"^element 1: "):
        reader_of(documents_of(whole, broken)).printed(marks)


def test_a_value_is_named_by_what_asks_for_it() -> None:
    (ref,) = documents = documents_of(b"\x03\xc1")
    with pytest.raises(CorruptionError, match=r"^channel 'x': "):
        reader_of(documents).channel("channel 'x'", Blob(ref))


def test_a_document_of_a_later_format_is_told_so() -> None:
    documents = stored("a" * 100)
    (ref,) = documents
    documents[ref] = Document("t", ITEMS, (ref,), b"\x0aabc")
    with pytest.raises(SchemaTooNewError, match="format 10"):
        reader_of(documents).made([ref])


def test_an_element_where_a_node_should_be_is_corruption() -> None:
    documents = stored(HumanMessage("hi"))
    reader = reader_of(documents)
    reader.made([*documents])
    with pytest.raises(CorruptionError, match="an element where a node"):
        reader.plain(next(iter(documents)))


def test_a_serializer_without_sketches_reads_the_same() -> None:
    class Other:
        def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
            return CODEC.serde.dumps_typed(obj)

        def loads_typed(self, data: tuple[str, bytes]) -> Any:
            return CODEC.serde.loads_typed(data)

    values = conversation(70)
    documents = stored(*values)
    reader = Reader(Codec(Other()), dict(documents), documents.keys())
    assert reader.made([*documents]) == reader_of(documents).made([*documents])
    assert all(isinstance(one, Held) for one in reader.kept.values())


def test_parts_and_large_values_are_not_kept() -> None:
    documents = stored("x" * (KEPT_BYTES + 1))
    (ref,) = documents
    part = bodies.flag(bodies.PART) + b"abc"
    named = CODEC.address(part)
    documents[named] = Document("t", PARTS, (named,), bodies.seal(part))
    reader = reader_of(documents)
    assert reader.plain(named) == part
    assert reader.made([ref]) == ["x" * (KEPT_BYTES + 1)]
    assert not reader.kept


def test_a_shelf_is_bounded_and_lets_go_of_the_thread_unused_for_longest() -> None:
    shelf = Shelf(10_000)

    def keep(thread_id: str, found: dict[bytes, Held]) -> None:
        shelf.keep(thread_id, {**found}, sum(map(size_of, found.values())))

    for thread_id in ("one", "two"):
        keep(thread_id, {bytes((n,)): Held((), bytes(800)) for n in range(4)})
    assert len(shelf.find("one", [b"\0", b"\1", b"\2", b"\3"])) == 4
    keep("three", {bytes((n,)): Held((), bytes(800)) for n in range(4)})
    assert len(shelf.find("one", [b"\0", b"\1", b"\2", b"\3"])) == 4
    assert len(shelf.find("two", [b"\0", b"\1", b"\2", b"\3"])) == 2
    keep("four", {b"\0": Held((), bytes(20_000))})
    assert not shelf.find("four", [b"\0"])
    keep("four", {b"\0": Held((), bytes(9_000))})
    assert shelf.find("four", [b"\0"])
    assert not shelf.find("one", [b"\0"])
    shelf.forget("four")
    assert not shelf.find("four", [b"\0"])
    keep("five", {bytes((n,)): Held((), bytes(800)) for n in range(10)})
    assert len(shelf.find("five", [bytes((n,)) for n in range(10)])) == 10


def test_what_was_read_replaces_what_was_written() -> None:
    shelf = Shelf(10_000)
    ref = bytes(12)
    document = Document("t", ITEMS, (ref,), bytes(100))
    shelf.keep_documents([document])
    assert shelf.find("t", [ref]) == {ref: document}
    held = Held((), bytes(200))
    shelf.keep("t", {ref: held}, size_of(held))
    shelf.keep_documents([document])
    assert shelf.find("t", [ref]) == {ref: held}
