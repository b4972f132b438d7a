"""Cases of the conditions of ``DocumentStore.find`` and ``count``."""

from threadkeep.ports.documents import (
    BLOBS,
    CHECKPOINTS,
    IN_LIMIT,
    ITEMS,
    PARTS,
    WRITES,
    AsyncDocumentStore,
    Batch,
    Below,
    Condition,
    Find,
    HasEntry,
    In,
    Is,
    Scope,
)
from threadkeep.testing.builders import (
    address,
    blob,
    checkpoint,
    checkpoint_id,
    item,
    part,
    write,
)
from threadkeep.testing.document_steps import page_of

# Conditions, and the numbers of the checkpoints below that meet all of them.
CONDITIONS: dict[str, tuple[list[Condition], list[int]]] = {
    "none": ([], [1, 2, 3, 4]),
    "text": ([Is("source", "loop")], [2, 3]),
    "case counts": ([Is("source", "LOOP")], []),
    "number": ([Is("step", -1)], [1]),
    "zero is not absent": ([Is("step", 0)], [2]),
    "bytes": ([Is("meta", b"\x00m")], [3]),
    "empty bytes are not absent": ([Is("meta", b"")], [2]),
    "id": ([Is("parent_id", checkpoint_id(1))], [2]),
    "id in capitals is another": ([Is("parent_id", checkpoint_id(1).upper())], []),
    "absent": ([Is("step", None)], [4]),
    "absent id": ([Is("parent_id", None)], [1, 4]),
    "key": ([Is("checkpoint_ns", "child")], [4]),
    "key and field": ([Is("checkpoint_ns", ""), Is("source", "loop")], [2, 3]),
    "one of": ([In("step", [-1, 0, 9])], [1, 2]),
    "one of, repeated": ([In("step", [0, 0])], [2]),
    "one of or absent": ([In("step", [0, None])], [2, 4]),
    "only absent": ([In("step", [None])], [4]),
    "one of none": ([In("step", [])], []),
    "one of many": ([In("step", range(IN_LIMIT))], [2, 3]),
    "one of keys": ([In("checkpoint_id", [checkpoint_id(n) for n in (1, 4, 9)])], [1, 4]),
    "below": ([Below("checkpoint_id", checkpoint_id(3))], [1, 2]),
    "below the first": ([Below("checkpoint_id", checkpoint_id(1))], []),
    "below another kind of id": ([Below("checkpoint_id", "a")], [1, 2, 3, 4]),
    "below a namespace": ([Below("checkpoint_ns", "child")], [1, 2, 3]),
    "twice": ([Is("source", "loop"), Is("source", "input")], []),
    "key never absent": ([Is("checkpoint_ns", None)], []),
}

METADATA = (
    '{"a": 1, "b": "text", "c": true, "d": null, "e": [1, 2], "f": {"x": 1, "y": [true]},'
    ' "g": 9007199254740993, "h": 5.0, "": "empty", "a.b": "dot", "a b": "space",'
    ' "q\\"uote": "quote", "back\\\\slash": "b", "n\\u0000l": "nul", "\\u00e9": "\\u00e9",'
    ' "i": "1", "j": -0.0, "k": "line\\nbreak", "$.a": "path", "l": 1e3, "m": 0.1, "emoji": "😀"}'
)

# An entry, JSON text, and whether the metadata above has that entry with an equal value.
ENTRIES: list[tuple[str, str, bool]] = [
    ("a", "1", True),
    ("a", "1.0", True),
    ("a", "1e0", True),
    ("a", "true", False),
    ("a", '"1"', False),
    ("a", "2", False),
    ("i", '"1"', True),
    ("i", "1", False),
    ("b", '"text"', True),
    ("b", '"\\u0074ext"', True),
    ("b", '"Text"', False),
    ("b", '"tex"', False),
    ("c", "true", True),
    ("c", "1", False),
    ("c", "false", False),
    ("d", "null", True),
    ("d", "0", False),
    ("d", "false", False),
    ("missing", "null", False),
    ("e", "[1, 2]", True),
    ("e", "[1.0,2.0]", True),
    ("e", "[2, 1]", False),
    ("e", "[1]", False),
    ("e", "1", False),
    ("f", '{"y": [true], "x": 1}', True),
    ("f", '{"x": 1}', False),
    ("f", '{"y": [1], "x": 1}', False),
    ("g", "9007199254740993", True),
    ("g", "9007199254740992", False),
    ("g", "9007199254740993.0", False),
    ("h", "5", True),
    ("h", "5.00", True),
    ("j", "0", True),
    ("l", "1000", True),
    ("m", "0.10", True),
    ("", '"empty"', True),
    ("a.b", '"dot"', True),
    ("a b", '"space"', True),
    ('q"uote', '"quote"', True),
    ("back\\slash", '"b"', True),
    ("n\x00l", '"nul"', True),
    ("n", '"nul"', False),
    ("é", '"é"', True),
    ("é", '"\\u00e9"', True),
    ("k", '"line\\nbreak"', True),
    ("$.a", '"path"', True),
    ("f.x", "1", False),
    ("x", "1", False),
    ("A", "1", False),
    ("emoji", '"\\ud83d\\ude00"', True),
]

# Metadata, an entry, JSON text, and whether the metadata has that entry with an equal value.
UNESCAPED: list[tuple[str, str, str, bool]] = [
    ('{"run_id":"r1"}', "run_id", '"r1"', True),
    ('{"run_id":"r1"}', "run_id", '"r"', False),
    ('{"run_id":"r1"}', "run", '"r1"', False),
    ('{"other":"run_id","x":"r1"}', "run_id", '"r1"', False),
    ('{"run_id":{"run_id":"r1"}}', "run_id", '"r1"', False),
    ('{"n":5.0}', "n", "5", True),
    ('{"n":true}', "n", "true", True),
    ('{"n":null}', "n", "null", True),
    ('{"n":"null"}', "n", "null", False),
    ('{"é":"ü"}', "é", '"\\u00fc"', True),
    ('{ "n" : [ 1 , 2 ] }', "n", "[1,2]", True),
    ('{"n":1,"n":2}', "n", "2", True),
    ('{"n":1,"n":2}', "n", "1", False),
]


class FilterCases:
    """What conditions mean."""

    async def test_conditions_on_keys_and_fields(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        checkpoints = [
            checkpoint(1, source="input", step=-1, meta=b"m"),
            checkpoint(2, source="loop", step=0, meta=b"", parent_id=checkpoint_id(1)),
            checkpoint(3, source="loop", step=1, meta=b"\x00m", parent_id=checkpoint_id(2)),
            checkpoint(4, ns="child"),
        ]
        await documents.insert(scope, Batch(checkpoints))
        thread_id = checkpoints[0].thread_id
        for what, (where, numbers) in CONDITIONS.items():
            wanted = [checkpoints[number - 1] for number in numbers]
            for find in (Find(CHECKPOINTS, None, where), Find(CHECKPOINTS, thread_id, where)):
                assert await page_of(documents, scope, find) == wanted, what
                assert await documents.count(scope, find) == len(wanted), what

    async def test_conditions_on_writes_and_addresses(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        writes = [write(1, index, task=task) for task in "tu" for index in (-1, 0, 1)]
        await documents.insert(scope, Batch([*writes, item(1), item(2), part(3)]))
        find = Find(WRITES, where=[Is("task_id", "u"), Below("part", 1)])
        assert await page_of(documents, scope, find) == writes[3:5]
        find = Find(ITEMS, where=[In("ref", [address(2), address(3)])])
        assert await page_of(documents, scope, find) == [item(2)]
        find = Find(PARTS, where=[Below("ref", address(4))])
        assert await page_of(documents, scope, find) == [part(3)]

    async def test_collections_are_apart(self, documents: AsyncDocumentStore, scope: Scope) -> None:
        await documents.insert(scope, Batch([blob(1), item(2), part(3), blob(4, metadata="{}")]))
        for collection, expected in (
            (BLOBS, [blob(1), blob(4, metadata="{}")]),
            (ITEMS, [item(2)]),
            (PARTS, [part(3)]),
        ):
            assert await page_of(documents, scope, Find(collection)) == expected
            assert await documents.count(scope, Find(collection)) == len(expected)

    async def test_an_entry_compares_as_json_and_its_name_is_literal(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        stored = [blob(1, metadata=METADATA), blob(2), blob(3, metadata='{"z": 0}')]
        await documents.insert(scope, Batch(stored))
        for entry, value, matches in ENTRIES:
            find = Find(BLOBS, where=[HasEntry("metadata", entry, value)])
            expected = stored[:1] if matches else []
            assert await page_of(documents, scope, find) == expected, (entry, value)
            assert await documents.count(scope, find) == len(expected), (entry, value)

    async def test_an_entry_is_found_in_text_without_escapes(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        for number, (metadata, entry, value, matches) in enumerate(UNESCAPED):
            thread_id = f"thread-{number}"
            batch = Batch([blob(1, metadata=metadata, thread_id=thread_id)])
            await documents.insert(scope, batch)
            find = Find(BLOBS, thread_id, [HasEntry("metadata", entry, value)])
            assert await documents.count(scope, find) == int(matches), (metadata, entry, value)

    async def test_entries_narrow_together_and_by_thread(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        for thread_id in ("a", "b"):
            batch = [
                blob(number, metadata=f'{{"run": {number}, "user": "u"}}', thread_id=thread_id)
                for number in range(3)
            ]
            await documents.insert(scope, Batch(batch))
        user, run = HasEntry("metadata", "user", '"u"'), HasEntry("metadata", "run", "2")
        assert await documents.count(scope, Find(BLOBS, where=[user])) == 6
        assert await documents.count(scope, Find(BLOBS, where=[user, run])) == 2
        (found,) = await page_of(documents, scope, Find(BLOBS, "b", [user, run]))
        assert (found.thread_id, found.key) == ("b", (address(2),))
        newest = Find(BLOBS, "b", [user], newest_first=True, limit=1)
        assert await page_of(documents, scope, newest) == [found]

    async def test_counting_leaves_out_the_page(
        self, documents: AsyncDocumentStore, scope: Scope
    ) -> None:
        await documents.insert(scope, Batch([item(number) for number in range(5)]))
        assert await documents.count(scope, Find(ITEMS, limit=2)) == 5
        after = ("thread-1", (address(3),))
        assert await documents.count(scope, Find(ITEMS, after=after, limit=0)) == 5
        assert await documents.count(scope, Find(ITEMS, "unknown")) == 0
