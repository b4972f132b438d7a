"""Mutated bodies, references and rows: what is read is right, or damage is told; nothing is called.

Seeded; ``make soak`` mutates 100,000 of them.
"""

import random
import resource
import sys
from collections import Counter
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from tests.damage import SCOPE, THREAD, fill, stored
from threadkeep import DocumentCheckpointSaver
from threadkeep.errors import CorruptionError, SchemaTooNewError
from threadkeep.ports.documents import CHECKPOINTS, WRITES, Batch, Document
from threadkeep.ports.drivers import open_driver
from threadkeep.testing.saver_steps import config

MEMORY_KIB = 256 * 1024  # more than the process had before: one bomb would need gigabytes


def mutated(document: Document, other: Document, chance: random.Random) -> Document:
    """Change a document's body, references or fields in one of many ways."""
    body, at = document.body, chance.randrange(max(1, len(document.body)))
    match chance.randrange(9):
        case 0 | 1 | 2:
            flipped = body[at : at + 1] and bytes((body[at] ^ 1 << chance.randrange(8),))
            return replace(document, body=body[:at] + flipped + body[at + 1 :])
        case 3:
            return replace(document, body=body[:at])
        case 4:
            return replace(document, body=body[:at] + chance.randbytes(chance.randrange(1, 40)))
        case 5:
            return replace(document, body=other.body)
        case 6:
            refs = [*document.refs, *other.refs, chance.randbytes(12)]
            chance.shuffle(refs)
            return replace(document, refs=tuple(refs[: chance.randrange(len(refs) + 1)]))
        case 7:
            return replace(document, body=body[:1] + chance.randbytes(max(1, len(body) - 1)))
    if document.collection != CHECKPOINTS:
        return replace(document, refs=document.refs[::-1], body=body + b"\x00")
    change: Any = {"step": chance.randrange(99), "source": "fuzz", "parent_id": str(at)}
    name = chance.choice([*change])
    return replace(document, fields={**document.fields, name: change[name]})


def fuzz(seed: int, count: int) -> Counter[str]:
    """Mutate one document at a time, read the thread by a saver that knows nothing, and undo it."""
    chance = random.Random(seed)
    outcomes: Counter[str] = Counter()
    with closing(open_driver("memory://")) as driver:
        store = driver.documents()
        store.setup()
        fill(DocumentCheckpointSaver(store), steps=4)
        whole = DocumentCheckpointSaver(store).get_tuple(config(THREAD))
        assert whole is not None
        newest = str(stored(store).newest().key[1])
        documents = [
            document
            for each in stored(store).documents.values()
            for document in each
            if document.collection not in (CHECKPOINTS, WRITES) or document.key[1] == newest
        ]
        modules = {*sys.modules}
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(count):
            document = chance.choice(documents)
            damaged = mutated(document, chance.choice(documents), chance)
            store.insert(SCOPE, Batch(replacing=[damaged]))
            try:
                read = DocumentCheckpointSaver(store).get_tuple(config(THREAD))
            except CorruptionError as error:
                assert THREAD in str(error)  # noqa: PT017 - or the value is right
                outcomes["told"] += 1
            except SchemaTooNewError:
                outcomes["newer"] += 1
            else:
                assert read == whole
                outcomes["right"] += 1
            store.insert(SCOPE, Batch(replacing=[document]))
        assert {*sys.modules} == modules
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY_KIB
    assert outcomes.total() == count
    return outcomes


def test_what_was_mutated_is_read_right_or_told() -> None:
    outcomes = fuzz(1, 1500)
    assert outcomes["told"] > 500
    assert outcomes["right"] > 20


@pytest.mark.soak
def test_a_hundred_thousand_mutations_are_read_right_or_told() -> None:
    total: Counter[str] = Counter()
    for seed in range(20):
        total += fuzz(seed, 5000)
    print(dict(total))
    assert total.total() == 100_000
