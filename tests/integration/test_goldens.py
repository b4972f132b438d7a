"""Golden files of every format are read for ever, and the present code writes the newest one."""

import json
from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.goldens import __main__ as golden
from tests.goldens.contents import (
    SCOPE,
    STEPS,
    SUBGRAPH,
    THREAD,
    ident,
    metadata,
    subgraph,
    values,
    versions,
)
from threadkeep import DocumentCheckpointSaver
from threadkeep.checkpoints import bodies
from threadkeep.checkpoints.boilerplate import MESSAGES, TABLES
from threadkeep.checkpoints.sums import unseal_row
from threadkeep.errors import CorruptionError
from threadkeep.ports.documents import COLLECTIONS, Batch, Document, DocumentStore
from threadkeep.ports.drivers import open_driver

FOLDER = Path(golden.__file__).parent
FILES = sorted(FOLDER.glob("*.jsonl"))
NEWEST = FOLDER / "sums.jsonl"


def documents_of(file: Path) -> list[Document]:
    made = []
    for line in file.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        spec = COLLECTIONS[told["collection"]]
        kinds = {**spec.key, **spec.fields}
        key = [
            _value(kind, part) for kind, part in zip(spec.key.values(), told["key"], strict=True)
        ]
        fields = {name: _value(kinds[name], value) for name, value in told["fields"].items()}
        refs = tuple(bytes.fromhex(ref) for ref in told["refs"])
        body = b64decode(told["body"])
        made.append(Document(THREAD, told["collection"], tuple(key), body, refs, fields))
    return made


def _value(kind: str, told: Any) -> Any:
    return bytes.fromhex(told) if kind == "bytes" and told is not None else told


@contextmanager
def loaded(file: Path, url: str) -> Iterator[DocumentStore]:
    with closing(open_driver(url)) as driver:
        store = driver.documents()
        store.setup()
        store.insert(SCOPE, Batch(replacing=documents_of(file)))
        yield store


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.parametrize("storage", ["memory", "sqlite"])
def test_a_golden_file_is_read_whole(file: Path, storage: str, tmp_path: Path) -> None:
    url = "memory://" if storage == "memory" else f"sqlite:///{tmp_path}/g.db"
    with loaded(file, url) as store:
        saver = DocumentCheckpointSaver(store)
        for step in range(STEPS):
            at: Any = {"configurable": {"thread_id": THREAD, "checkpoint_id": ident(step)}}
            read = saver.get_tuple(at)
            assert read is not None
            assert read.checkpoint["channel_values"] == values(step)
            assert read.checkpoint["channel_versions"] == versions(step)
            assert read.checkpoint["ts"] == f"2026-01-02T03:04:0{step}.678901+00:00"
            assert read.metadata == metadata(step)
            assert read.pending_writes == [
                (f"task {step}", "__resume__", ["go on " * 12]),
                (f"task {step}", "list", ["w" * 70, step]),
                (f"task {step}", "small", step),
            ]
        odd = saver.get_tuple(SUBGRAPH)
        assert odd is not None
        assert odd.checkpoint == subgraph()
        assert [report.counts for report in saver.verify()] == [{}]
        found = saver.list(None, filter={"run_id": "run 1"})
        assert [one.checkpoint["id"] for one in found] == [ident(3), ident(2)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_golden_thread_goes_on(file: Path) -> None:
    with loaded(file, "memory://") as store:
        saver = DocumentCheckpointSaver(store)
        at: Any = {
            "configurable": {"thread_id": THREAD, "checkpoint_ns": "", "checkpoint_id": ident(4)}
        }
        made: Any = {
            "v": 4,
            "id": ident(9),
            "ts": "2026-01-02T03:04:05.678901+00:00",
            "channel_values": {**values(4), "small": 9},
            "channel_versions": {**versions(4), "small": 9},
            "versions_seen": {},
            "updated_channels": None,
        }
        saver.put(at, made, metadata(4), {"small": 9})
        read = DocumentCheckpointSaver(store).get_tuple(
            at | {"configurable": {"thread_id": THREAD}}
        )
        assert read is not None
        assert read.checkpoint["channel_values"] == {**values(4), "small": 9}
        assert [report.counts for report in saver.verify()] == [{}]


def test_the_present_code_writes_the_newest_golden_file() -> None:
    """Addresses, references, fields and plains: a frame may differ with the release of zstd."""
    assert [_told(one) for one in golden.written()] == [_told(one) for one in documents_of(NEWEST)]


def _told(document: Document) -> Any:
    try:
        plain = unseal_row(document)
    except CorruptionError:
        plain = document.body
    fields = dict(document.fields)
    return document.collection, document.key, fields, document.refs, document.body[:1], plain


def test_the_golden_files_have_every_format() -> None:
    formats = {document.body[0] for file in FILES for document in documents_of(file)}
    known = {
        bodies.PLAIN,
        bodies.ZSTD,
        bodies.MANIFEST,
        bodies.FIELD,
        bodies.TABLED,
        bodies.CHECKED,
    }
    assert formats == known


def test_the_dictionary_beside_the_page_is_the_one_of_the_code() -> None:
    page = Path(__file__).parents[2] / "docs" / "storage-format.dictionary"
    assert page.read_bytes() == TABLES + MESSAGES
