"""What long-term memory costs, and how well it finds: ``python -m benchmarks.memory``.

Puts the same sentences into each store, with the bundled model's vectors, which are made before and
not measured; then puts, gets and searches one after the other, each store in turn. Afterwards
``--quality`` asks labelled questions (``memory_corpus.py``) in each mode. Prints one raw line for
each figure.
"""

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langgraph.store.base import BaseStore, PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres import PostgresStore

from benchmarks.conditions import load, of_this_run
from benchmarks.memory_corpus import corpus, sentences
from tests.servers.postgres import DURABLE, postgres_server
from threadkeep import ItemStore
from threadkeep.savers.embedding import DEFAULT, DEFAULT_DIMS, BundledModel
from threadkeep.savers.indexing import Mode

BATCH = 500  # items of one batch, and texts of one call of the model
SHELF = 1000  # items below the prefix that is searched
TOP = 10
MODES: tuple[Mode, ...] = ("vector", "text", "hybrid")

Vectors = Mapping[str, Sequence[float]]


def embedded(texts: Sequence[str]) -> Vectors:
    """Return the bundled model's vectors."""
    model = BundledModel()
    found: dict[str, Sequence[float]] = {}
    for start in range(0, len(texts), BATCH):
        part = list(texts[start : start + BATCH])
        found |= dict(zip(part, model(part), strict=True))
    return found


def stores(
    stack: ExitStack, index: Mapping[str, Any], folder: Path, address: Callable[[], str]
) -> Iterator[tuple[str, BaseStore]]:
    """Open each store on storage of its own."""
    given: Any = dict(index)
    yield "threadkeep memory", stack.enter_context(ItemStore.from_url("memory://", index=index))
    file = f"sqlite:///{folder / 'items.db'}"
    yield "threadkeep SQLite", stack.enter_context(ItemStore.from_url(file, index=index))
    url = address()
    yield "threadkeep PostgreSQL", stack.enter_context(ItemStore.from_url(url, index=index))
    yield "InMemoryStore", InMemoryStore(index=given)
    flat: Any = {**given, "ann_index_config": {"kind": "flat", "vector_type": "vector"}}
    theirs = stack.enter_context(PostgresStore.from_conn_string(address(), index=flat))
    theirs.setup()
    yield "PostgresStore", theirs


def shelf(number: int, count: int) -> tuple[str, ...]:
    """Return the namespace of an item: shelves of ``SHELF`` items, two at least."""
    return ("notes", f"shelf{number % max(count // SHELF, 2)}")


def fill(store: BaseStore, texts: Sequence[str]) -> None:
    """Put every text."""
    for start in range(0, len(texts), BATCH):
        part = texts[start : start + BATCH]
        numbers = range(start, start + len(part))
        store.batch(
            [
                PutOp(shelf(n, len(texts)), f"{n}", {"text": text, "n": n})
                for n, text in zip(numbers, part, strict=True)
            ]
        )


def questions(store: BaseStore, texts: Sequence[str]) -> Mapping[str, Callable[[int], Any]]:
    """Return what is measured, each asked with the number of the call."""
    count = len(texts)
    return {
        "put": lambda n: store.put(shelf(n, count), f"{n}", {"text": texts[n], "n": -n}),
        "get": lambda n: store.get(shelf(n, count), f"{n}"),
        "search below a prefix": lambda n: store.search(shelf(n, count), query=texts[n], limit=TOP),
        "search without a prefix": lambda n: store.search(("notes",), query=texts[n], limit=TOP),
    }


def measure(names: Mapping[str, BaseStore], texts: Sequence[str], calls: int) -> Iterator[Any]:
    """Ask each store in turn, and yield the median of each question."""
    asked = {name: questions(store, texts) for name, store in names.items()}
    for question in next(iter(asked.values())):
        times: dict[str, list[float]] = {name: [] for name in asked}
        for number in range(calls + 1):
            for name, each in asked.items():
                began = time.perf_counter()
                each[question](number * 7 % len(texts))
                times[name].append((time.perf_counter() - began) * 1000)
        for name, taken in times.items():
            kept = taken[1:]  # the first call fills what is kept in memory
            figures = {"p50_ms": round(statistics.median(kept), 3), "min_ms": round(min(kept), 3)}
            yield {"store": name, "items": len(texts), "question": question, **figures}


def quality(names: Mapping[str, BaseStore]) -> Iterator[Any]:
    """Yield nDCG@10 of each mode over the labelled questions."""
    facts, asked = corpus()
    for name, store in names.items():
        if not isinstance(store, ItemStore):
            continue
        store.batch([PutOp(("facts",), each.key, {"text": each.text}) for each in facts])
        for mode in MODES:
            gains = []
            for each in asked:
                found = store.search(("facts",), query=each.text, limit=TOP, mode=mode)
                gains.append(gain([item.key for item in found], each.answers))
            figure = round(statistics.fmean(gains), 4)
            yield {"store": name, "mode": mode, "questions": len(asked), "ndcg_at_10": figure}


def gain(found: Sequence[str], answers: frozenset[str]) -> float:
    """Return nDCG of a ranking: 1 where the answers come first."""
    got = sum(1 / math.log2(place + 2) for place, key in enumerate(found) if key in answers)
    best = sum(1 / math.log2(place + 2) for place in range(min(len(answers), TOP)))
    return got / best


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="items (%(default)s)")
    parser.add_argument("--calls", type=int, default=20, help="of each question (%(default)s)")
    parser.add_argument("--without", action="append", default=[], help="a store to leave out")
    chosen = parser.parse_args()
    texts = list(sentences(chosen.count))
    facts, asked = corpus()
    vectors = embedded([*texts, *(f.text for f in facts), *(q.text for q in asked)])
    index = {
        "embed": lambda given: [vectors[text] for text in given],
        "dims": DEFAULT_DIMS,
        "fields": ["text"],
    }
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        databases = stack.enter_context(postgres_server(DURABLE))
        address = lambda: stack.enter_context(databases.new())  # noqa: E731
        opened = dict(stores(stack, index, folder, address))
        kept = {name: store for name, store in opened.items() if name not in chosen.without}
        conditions = {**of_this_run(folder, databases.server_url), "model": DEFAULT}
        for store in kept.values():
            fill(store, texts)
        for line in (*measure(kept, texts, chosen.calls), *quality(kept)):
            print(json.dumps({**line, "load": load(), "conditions": conditions}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
