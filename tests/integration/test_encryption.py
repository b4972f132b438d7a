"""With keys nothing that a graph keeps stands in the store, and only the keys read it."""

import itertools
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.base import CipherProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from tests.kept_values import VALUES, Mode, is_same
from threadkeep import DocumentCheckpointSaver
from threadkeep.checkpoints.opaque import opaque_codec
from threadkeep.cli.main import main
from threadkeep.drivers import postgres
from threadkeep.errors import ConfigError, CorruptionError, ThreadkeepError, WrongKeyError
from threadkeep.ports.documents import (
    BLOBS,
    CHECKPOINTS,
    COLLECTIONS,
    ITEMS,
    PARTS,
    WRITES,
    Batch,
    Document,
    DocumentStore,
    Find,
    Scope,
)
from threadkeep.ports.drivers import Driver, DriverOptions, open_driver
from threadkeep.savers.keys import keys_and_serde
from threadkeep.services.verification import Verification
from threadkeep.testing.saver_steps import checkpoint, config, conversation

NEW, OLD = "the new key of 16 bytes", b"the old key of 16 bytes"


class Opener:
    """Opens savers on one store."""

    def __init__(self, driver: Driver) -> None:
        self.documents: DocumentStore = driver.documents()
        self.documents.setup()
        self.scope = Scope(f"tests.{uuid.uuid4()}", "a")

    def __call__(self, *keys: str | bytes, serde: Any = None) -> DocumentCheckpointSaver:
        return DocumentCheckpointSaver(
            self.documents,
            namespace=self.scope.namespace,
            agent_id=self.scope.agent_id,
            serde=serde,
            encryption_keys=keys,
        )

    def stored(self, *collections: str) -> list[Document]:
        return [
            document
            for collection in collections or COLLECTIONS
            for document in self.documents.find(self.scope, Find(collection)).documents
        ]

    def bytes(self) -> bytes:
        return b"\n".join(
            part
            for one in self.stored()
            for part in (one.body, repr((one.key, one.fields)).encode(), *one.refs)
        )


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Opener]:
    if request.param == "postgres":
        driver = postgres.open(request.getfixturevalue("postgres_module_url"), DriverOptions())
    else:
        url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/s.db"
        driver = open_driver(url)
    try:
        yield Opener(driver)
    finally:
        driver.close()


_versions = itertools.count(1)


def put(saver: DocumentCheckpointSaver, values: Any, at: Any = None, **said: Any) -> Any:
    made = checkpoint(values, dict.fromkeys(values, next(_versions)))
    stated: Any = {"source": "loop", "step": 0, "parents": {}, **said}
    return saver.put(at or config(), made, stated, {})


def values_of(saver: DocumentCheckpointSaver, at: Any = None) -> Any:
    found = saver.get_tuple(at or config())
    assert found is not None
    return found.checkpoint["channel_values"]


CANARY = "canary-of-this-test"
KEPT = {
    "text": CANARY,
    "long": CANARY * 100,
    "messages": [HumanMessage(f"{CANARY} {n}" + "x" * 90) for n in range(40)],
    "keyed": {"a": [CANARY], "b": CANARY * 20},
    "large": "".join(f"{CANARY}{n}" for n in range(50_000)),
    "table": {f"{CANARY}{n}": [n] for n in range(60)},
    "typed": (Mode.FAST, VALUES["model"], CANARY.encode()),
}


def test_no_plaintext_is_stored_and_no_address_is_that_of_the_open(opened: Opener) -> None:
    said = {"user": CANARY, "nested": {CANARY: [CANARY]}, CANARY: 1, "run_id": CANARY}
    saver = opened(NEW)
    head = put(saver, KEPT, source=CANARY, **said)
    saver.put_writes(head, [("text", CANARY), ("__interrupt__", [CANARY])], "task", CANARY)
    assert CANARY.encode() not in opened.bytes()
    assert all(one.body[0] == 9 for one in opened.stored())
    reader = opened(NEW)
    found = reader.get_tuple(config())
    assert found is not None
    assert is_same(found.checkpoint["channel_values"], KEPT)
    assert found.metadata == {"source": CANARY, "step": 0, "parents": {}, **said}
    assert [write[2] for write in found.pending_writes or []] == [[CANARY], CANARY]
    closed = {one.key[0] for one in opened.stored(PARTS, ITEMS, BLOBS)}
    saver.delete_thread("t1")
    opened.scope = Scope(f"tests.{uuid.uuid4()}", "a")
    put(opened(), KEPT, source=CANARY, **said)
    open_ = {one.key[0] for one in opened.stored(PARTS, ITEMS, BLOBS)}
    assert closed
    assert open_
    assert not closed & open_


def test_equal_values_are_stored_once_under_a_key(opened: Opener) -> None:
    saver = opened(NEW)
    head = put(saver, {"a": CANARY * 100, "m": conversation(20)})
    count = len(opened.stored(ITEMS, BLOBS))
    put(opened(NEW), {"a": CANARY * 100, "m": conversation(20)}, head)
    assert len(opened.stored(ITEMS, BLOBS)) == count


def test_a_filter_compares_tokens(opened: Opener) -> None:
    saver = opened(NEW)
    put(saver, {"v": 1}, config("a"), user="ada", n=5, o={"x": [1.0, {"b": 1, "a": 2}]})
    put(saver, {"v": 2}, config("b"), source="mine", user="bob", n=True)
    for asked, wanted in (
        ({"user": "ada"}, ["a"]),
        ({"n": 5.0}, ["a"]),
        ({"n": 1}, []),
        ({"n": True}, ["b"]),
        ({"o": {"x": [1, {"a": 2, "b": 1}]}}, ["a"]),
        ({"source": "mine"}, ["b"]),
        ({"source": "loop", "user": "ada"}, ["a"]),
        ({"missing": None}, []),
    ):
        found = [one.config["configurable"]["thread_id"] for one in saver.list(None, filter=asked)]
        assert found == wanted, asked


def test_a_row_in_the_clear_is_refused(opened: Opener) -> None:
    head = put(opened(), {"v": CANARY * 10})
    with pytest.raises(CorruptionError, match="is not encrypted, and this saver has keys"):
        opened(NEW).get_tuple(config())
    with pytest.raises(CorruptionError, match="is not encrypted"):
        list(opened(NEW).list(None))
    with pytest.raises(CorruptionError, match="is not encrypted"):
        put(opened(NEW), {"v": 1}, head)


def test_another_key_and_no_key_are_refused_by_name(opened: Opener) -> None:
    put(opened(OLD), {"v": CANARY})
    with pytest.raises(WrongKeyError, match=r"none of those given .*; add the older key at the"):
        opened(NEW).get_tuple(config())
    with pytest.raises(ThreadkeepError, match="give the saver its encryption_keys"):
        opened().get_tuple(config())


def test_a_key_is_replaced_while_the_older_one_reads(opened: Opener) -> None:
    messages = conversation(30)
    head = put(opened(OLD), {"m": messages[:25], "v": CANARY}, run_id="r1", user="ada")
    opened(OLD).put_writes(head, [("v", CANARY)], "task")
    both = opened(NEW, OLD)
    assert is_same(values_of(both), {"m": messages[:25], "v": CANARY})
    head = put(both, {"m": messages, "v": CANARY}, head, run_id="r2", user="ada")
    assert is_same(values_of(opened(NEW, OLD)), {"m": messages, "v": CANARY})
    found = [one.metadata["run_id"] for one in both.list(config(), filter={"user": "ada"})]
    assert found == ["r2", "r1"]
    found = [one.metadata["run_id"] for one in both.list(config(), filter={"run_id": "r1"})]
    assert found == ["r1"]
    put(opened(OLD), {"large": KEPT["large"]}, config("large"))
    assert [finding for report in both.verify() for finding in report.findings] == []
    both.delete_for_runs(["r1"])
    assert [one.metadata["run_id"] for one in both.list(config())] == ["r2"]
    with pytest.raises(WrongKeyError):
        list(opened(OLD).list(config()))
    put(opened(NEW), {"m": messages}, config("fresh"))
    assert is_same(values_of(opened(NEW), config("fresh")), {"m": messages})


def test_what_was_changed_or_moved_is_refused(opened: Opener) -> None:
    saver = opened(NEW)
    put(saver, {"v": "one"})
    put(saver, {"v": "two"})
    one, two = opened.stored(CHECKPOINTS)
    for body in (two.body, one.body[:-1] + bytes((one.body[-1] ^ 1,)), one.body[:7], b"\x09"):
        changed = Document(one.thread_id, CHECKPOINTS, one.key, body, one.refs, one.fields)
        opened.documents.insert(opened.scope, Batch(replacing=[changed]))
        with pytest.raises(ThreadkeepError, match=r"stored as another|cannot be decr|none of"):
            list(opened(NEW).list(config()))


class Reversing(CipherProtocol):
    """A cipher that anybody can read, to see that it is used."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "reverse", plaintext[::-1]

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        assert ciphername == "reverse"
        return ciphertext[::-1]


def test_the_cipher_of_langgraphs_serializer_is_used(opened: Opener) -> None:
    saver = opened(NEW, serde=EncryptedSerializer(Reversing()))
    head = put(saver, KEPT)
    saver.put_writes(head, [("text", CANARY)], "task")
    assert all(b"reverse" in one.body for one in opened.stored(CHECKPOINTS, WRITES, ITEMS))
    assert is_same(values_of(opened(NEW, serde=EncryptedSerializer(Reversing()))), KEPT)
    aes = EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 32)
    put(opened(NEW, serde=aes), KEPT, config("aes"))
    assert is_same(values_of(opened(NEW, serde=aes), config("aes")), KEPT)
    other = EncryptedSerializer.from_pycryptodome_aes(key=b"x" * 32)
    with pytest.raises(CorruptionError, match="or the cipher has another key"):
        values_of(opened(NEW, serde=other), config("aes"))


def test_keys_that_protect_nothing_are_refused(opened: Opener) -> None:
    with pytest.raises(ConfigError, match="at least 16 bytes"):
        opened("short")
    with pytest.raises(ConfigError, match="needs encryption_keys"):
        opened(serde=EncryptedSerializer(Reversing()))
    with pytest.raises(ConfigError, match="a sequence of keys"):
        DocumentCheckpointSaver(opened.documents, encryption_keys="one key of 16 bytes")


def kinds(saver: DocumentCheckpointSaver) -> dict[str, int]:
    (report,) = saver.verify()
    return dict(report.counts)


def test_verify_tells_what_the_keys_do_not_open(opened: Opener) -> None:
    first = opened(OLD).put(config(), checkpoint({"m": conversation(3)}, {"m": 1}), {}, {})
    opened(NEW, OLD).put(first, checkpoint({"m": conversation(4)}, {"m": 2}), {}, {})
    assert kinds(opened(NEW, OLD)) == {}
    one_missing = kinds(opened(NEW))
    assert one_missing["wrong-key"] > 0
    assert "not-encrypted" not in one_missing
    assert set(kinds(opened())) <= {"unreadable-body", "unreadable-checkpoint", "missing-document"}
    kept = next(one for one in opened.stored(CHECKPOINTS) if one.fields["parent_id"])
    opened.documents.insert(opened.scope, Batch(replacing=[replace(kept, body=b"\0clear")]))
    assert kinds(opened(NEW, OLD))["not-encrypted"] == 1
    opened.documents.insert(opened.scope, Batch(replacing=[replace(kept, body=kept.body[:-1])]))
    assert kinds(opened(NEW, OLD))["unreadable-body"] == 1


def test_an_encrypted_thread_is_mended_with_its_keys(opened: Opener) -> None:
    saver = opened(NEW, OLD)
    first = opened(OLD).put(config(), checkpoint({"m": conversation(3)}, {"m": 1}), {}, {})
    saver.put(first, checkpoint({"m": conversation(4)}, {"m": 2}), {}, {})
    kept = next(one for one in opened.stored(CHECKPOINTS) if one.fields["parent_id"])
    opened.documents.insert(opened.scope, Batch(replacing=[replace(kept, body=kept.body[:-1])]))
    lacking = Verification(opened.documents, opened.scope, opaque_codec(), keyring(NEW))
    (untouched,) = lacking.verify(plans=True, apply=lambda report, plan: True)
    assert untouched.plan is not None
    assert untouched.plan.actions == []
    assert "give the key" in untouched.plan.beyond[0]
    able = Verification(opened.documents, opened.scope, opaque_codec(), keyring(NEW, OLD))
    (mended,) = able.verify(plans=True, apply=lambda report, plan: True)
    assert mended.is_whole
    assert kinds(saver) == {}
    (left,) = saver.list(None)
    assert left.checkpoint["channel_values"]["m"] == conversation(3)


def keyring(*keys: str | bytes) -> Any:
    return keys_and_serde(keys, None)[0]


def test_the_command_verifies_with_the_keys_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/e.db"
    with DocumentCheckpointSaver.from_url(url, encryption_keys=[NEW]) as saver:
        saver.put(config(), checkpoint({"m": conversation(3)}, {"m": 1}), {}, {})
    monkeypatch.setenv("THREADKEEP_DATABASE_URL", url)
    assert main(["verify"]) == 3
    monkeypatch.setenv("THREADKEEP_ENCRYPTION_KEYS", f"another key of 16 bytes, {NEW}")
    assert main(["verify"]) == 0
    monkeypatch.setenv("THREADKEEP_ENCRYPTION_KEYS", "another key of 16 bytes")
    assert main(["verify"]) == 3
    assert "wrong-key: thread" in capsys.readouterr().out
    monkeypatch.setenv("THREADKEEP_ENCRYPTION_KEYS", "short")
    assert main(["verify"]) == 2
    assert "at least 16 bytes" in capsys.readouterr().err
