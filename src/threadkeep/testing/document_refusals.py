"""Cases of what every document store refuses, and that a refusal writes nothing."""

from collections.abc import Awaitable, Mapping
from typing import Any

import pytest

from threadkeep.errors import DocumentTooLargeError, InvalidRequestError
from threadkeep.ports.documents import (
    BLOBS,
    CHECKPOINTS,
    FIND_LIMIT,
    IN_LIMIT,
    ITEMS,
    WRITES,
    AsyncDocumentStore,
    Batch,
    Below,
    Condition,
    Document,
    Find,
    HasEntry,
    In,
    Is,
    Key,
    Scope,
)
from threadkeep.testing.builders import THREAD, address, checkpoint, checkpoint_id, item
from threadkeep.testing.document_steps import page_of


def document(
    collection: str = CHECKPOINTS,
    key: Any = ("", "id"),
    body: Any = b"",
    refs: Any = (),
    fields: Mapping[str, Any] | None = None,
    thread_id: Any = THREAD,
) -> Document:
    """Build a document as wrong as a caller's could be."""
    return Document(thread_id, collection, key, body, refs, fields or {})


WRONG_DOCUMENTS: dict[str, Document] = {
    "unknown collection": document("langgraph_checkpoints_v9"),
    "key too short": document(key=("",)),
    "key too long": document(key=("", "id", "more")),
    "key is a list": document(key=["", "id"]),
    "number for text": document(key=("", 1)),
    "bytes for text": document(key=("", b"id")),
    "none for text": document(key=("", None)),
    "text for a number": document(WRITES, ("", "id", "task", "0")),
    "true for a number": document(WRITES, ("", "id", "task", True)),
    "float for a number": document(WRITES, ("", "id", "task", 1.0)),
    "number above 64 bits": document(WRITES, ("", "id", "task", 2**63)),
    "number below 64 bits": document(WRITES, ("", "id", "task", -(2**63) - 1)),
    "text for an address": document(ITEMS, ("x" * 12,)),
    "short address": document(ITEMS, (b"x" * 11,)),
    "long address": document(ITEMS, (b"x" * 13,)),
    "unknown field": document(fields={"color": "red"}),
    "key field as a field": document(fields={"checkpoint_ns": ""}),
    "text for a number field": document(fields={"step": "1"}),
    "number above 64 bits in a field": document(fields={"step": 2**63}),
    "text for a bytes field": document(fields={"meta": "x"}),
    "bytes for a text field": document(fields={"source": b"loop"}),
    "array for a JSON object": document(BLOBS, (address(1),), fields={"metadata": "[1]"}),
    "no JSON": document(BLOBS, (address(1),), fields={"metadata": "{a: 1}"}),
    "NaN in JSON": document(BLOBS, (address(1),), fields={"metadata": '{"a": NaN}'}),
    "endless JSON": document(
        BLOBS, (address(1),), fields={"metadata": '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"}
    ),
    "object for JSON text": document(BLOBS, (address(1),), fields={"metadata": {"a": 1}}),
    "text for a body": document(body="text"),
    "bytearray for a body": document(body=bytearray(b"x")),
    "short reference": document(refs=(b"x" * 11,)),
    "text for a reference": document(refs=("x" * 12,)),
    "number for a thread": document(thread_id=1),
}

WRONG_FINDS: dict[str, Find] = {
    "unknown collection": Find("langgraph_checkpoints_v9"),
    "unknown children": Find(CHECKPOINTS, children="langgraph_writes_v9"),
    "children that are none": Find(CHECKPOINTS, children=BLOBS),
    "children of itself": Find(CHECKPOINTS, children=CHECKPOINTS),
    "children upwards": Find(WRITES, children=CHECKPOINTS),
    "limit below zero": Find(CHECKPOINTS, limit=-1),
    "limit above the bound": Find(CHECKPOINTS, limit=FIND_LIMIT + 1),
    "limit that is true": Find(CHECKPOINTS, limit=True),
    "cursor of another collection": Find(CHECKPOINTS, after=(THREAD, (address(1),))),
}

WRONG_CONDITIONS: dict[str, tuple[str, Condition]] = {
    "unknown field": (CHECKPOINTS, Is("color", "red")),
    "field of another collection": (WRITES, Is("source", "loop")),
    "SQL for a field": (CHECKPOINTS, Is("step OR 1=1", 1)),
    "text for a number": (CHECKPOINTS, Is("step", "1")),
    "true for a number": (CHECKPOINTS, Is("step", True)),
    "number for text": (CHECKPOINTS, Is("source", 1)),
    "one wrong of many": (CHECKPOINTS, In("step", [1, "2"])),
    "too many values": (CHECKPOINTS, In("step", range(IN_LIMIT + 1))),
    "order of a plain field": (CHECKPOINTS, Below("step", 1)),
    "order below nothing": (CHECKPOINTS, Below("checkpoint_id", None)),
    "equality of JSON": (BLOBS, Is("metadata", "{}")),
    "entries of text": (CHECKPOINTS, HasEntry("source", "a", "1")),
    "entry that is no JSON": (BLOBS, HasEntry("metadata", "a", "one")),
}

WRONG_KEYS: dict[str, tuple[str, Key]] = {
    "unknown collection": ("langgraph_checkpoints_v9", ("", "id")),
    "key too short": (CHECKPOINTS, ("",)),
    "number for text": (CHECKPOINTS, ("", 1)),
    "short address": (ITEMS, (b"x",)),
}


async def is_refused(call: Awaitable[object]) -> bool:
    """Say whether a call is refused as wrong."""
    try:
        await call
    except InvalidRequestError:
        return True
    return False


class RefusalCases:
    """What every method refuses."""

    async def test_a_wrong_document_is_refused_with_its_batch(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        for what, wrong in WRONG_DOCUMENTS.items():
            right = item(1, thread_id=wrong.thread_id)
            for batch in (Batch([right, wrong]), Batch([right], [wrong])):
                assert await is_refused(documents.insert(scope, batch)), what
        assert await documents.count(scope, Find(ITEMS)) == 0

    async def test_documents_of_two_threads_are_refused_in_one_batch(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        for batch in (
            Batch([item(1), item(2, thread_id="thread-2")]),
            Batch([item(1)], [checkpoint(1, thread_id="thread-2")]),
        ):
            assert await is_refused(documents.insert(scope, batch))
        assert await documents.count(scope, Find(ITEMS)) == 0

    async def test_requirements_of_a_batch_without_documents_are_refused(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        lone = Batch(requires=[(CHECKPOINTS, checkpoint(1).key)])
        assert await is_refused(documents.insert(scope, lone))

    async def test_a_body_above_the_limit_is_refused_with_its_batch(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        large = item(2, b"x" * (documents.max_body_bytes + 1))
        for batch in (Batch([item(1), large]), Batch([item(1)], [large])):
            with pytest.raises(DocumentTooLargeError) as raised:
                await documents.insert(scope, batch)
            assert raised.value.limit_bytes == documents.max_body_bytes
        assert await documents.count(scope, Find(ITEMS)) == 0

    async def test_a_body_at_the_limit_is_written(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        large = item(2, b"x" * documents.max_body_bytes)
        await documents.insert(scope, Batch([large]))
        fetched = await documents.fetch(scope, THREAD, [address(2)])
        assert fetched.documents == {address(2): large}

    async def test_a_wrong_question_is_refused(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        for what, wrong in WRONG_FINDS.items():
            assert await is_refused(documents.find(scope, wrong)), what
            assert await is_refused(documents.count(scope, wrong)), what

    async def test_a_wrong_condition_is_refused(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        for what, (collection, condition) in WRONG_CONDITIONS.items():
            find = Find(collection, where=[condition])
            assert await is_refused(documents.find(scope, find)), what

    async def test_a_wrong_key_is_refused(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await documents.insert(scope, Batch([item(1)]))
        for what, wrong in WRONG_KEYS.items():
            keys = [(ITEMS, item(1).key), wrong]
            assert await is_refused(documents.remove(scope, THREAD, keys)), what
            assert await is_refused(documents.insert(scope, Batch([item(2)], [], [wrong]))), what
        assert await documents.count(scope, Find(ITEMS)) == 1

    async def test_a_wrong_address_is_refused(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        for wrong in (b"short", b"x" * 13):
            assert await is_refused(documents.fetch(scope, THREAD, [address(1), wrong]))

    async def test_text_in_a_question_is_never_taken_for_a_command(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await documents.insert(scope, Batch([checkpoint(1, source="loop"), item(1)]))
        for text in ("' OR '1'='1", "x'; DELETE FROM documents; --", "loop' --", "%", "lo_p"):
            for condition in (Is("source", text), In("source", [text]), Is("checkpoint_ns", text)):
                page = await documents.find(scope, Find(CHECKPOINTS, where=[condition]))
                assert not page.documents
            assert not await page_of(documents, scope, Find(CHECKPOINTS, text))
            assert await documents.erase(scope, text) == 0
        assert await documents.count(scope, Find(CHECKPOINTS)) == 1
        below = Find(CHECKPOINTS, where=[Below("checkpoint_id", checkpoint_id(2))])
        assert await documents.count(scope, below) == 1
