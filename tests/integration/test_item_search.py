"""Semantic, text and hybrid search through ``ItemStore``, on each driver."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langgraph.store.base import GetOp, PutOp, SearchOp

from tests.integration.embed import aembed, embed
from threadkeep.errors import ConfigError, InvalidRequestError, UnavailableError
from threadkeep.savers.embedders import ATTEMPTS, BATCH, CachingEmbedder
from threadkeep.savers.store import ItemStore

FOLDER = Path(__file__).parent
INDEX: dict[str, Any] = {"embed": embed, "dims": 3, "fields": ["text"]}


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.servers)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        found: str = request.getfixturevalue("postgres_url")
        return found
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'items.db'}"


@pytest.fixture
def store(url: str) -> Iterator[ItemStore]:
    with ItemStore.from_url(url, index=INDEX) as store:
        yield store


def keys(found: Any) -> list[str]:
    return [item.key for item in found]


def fill(store: ItemStore) -> None:
    store.put(("n",), "tea", {"text": "likes tea", "n": 1})
    store.put(("n",), "dog", {"text": "has a dog", "n": 2})
    store.put(("n",), "train", {"text": "goes by train", "n": 3})


def test_a_query_ranks_by_meaning(store: ItemStore) -> None:
    fill(store)
    found = store.search(("n",), query="which drink?")
    assert keys(found)[0] == "tea"
    assert found[0].score == pytest.approx(1, abs=0.01)
    assert keys(store.search(("n",), query="animal", filter={"n": {"$gt": 2}})) == ["train"]
    assert keys(store.search(("n",), query="animal", limit=1)) == ["dog"]
    assert store.search(("n",))[0].score is None
    assert len(store.search(("n",), query="")) == 3


def test_modes_rank_by_words_by_meaning_or_by_both(store: ItemStore) -> None:
    fill(store)
    assert keys(store.search(("n",), query="dog", mode="text")) == ["dog"]
    assert keys(store.search(("n",), query="cat", mode="text")) == []
    assert len(store.search(("n",), query="dog", mode="hybrid")) == 3
    assert keys(store.search(("n",), query="dog", mode="auto"))[0] == "dog"
    assert keys(store.search(("n",), query="?", mode="auto")) == keys(
        store.search(("n",), query="?", mode="vector")
    )
    with pytest.raises(InvalidRequestError, match="'meaning'"):
        store.search(("n",), query="dog", mode="meaning")  # type: ignore[arg-type]


def test_a_put_says_what_of_it_is_indexed(store: ItemStore) -> None:
    store.put(("n",), "no", {"text": "tea"}, index=False)
    store.put(
        ("n",),
        "other",
        {"text": "dog", "more": {"about": ["tea", "train"]}},
        index=["more.about[*]"],
    )
    store.put(("n",), "none", {"more": "tea"})
    assert keys(store.search(("n",), query="tea")) == ["other"]
    store.put(("n",), "other", {"text": "dog"})
    store.put(("n",), "no", {"text": "tea"})
    assert keys(store.search(("n",), query="tea")) == ["no", "other"]
    store.put(("n",), "no", {"text": "tea"}, index=False)
    assert keys(store.search(("n",), query="tea")) == ["other"]
    with pytest.raises(InvalidRequestError, match="no path"):
        store.put(("n",), "odd", {"text": "tea"}, index=["a["])


def test_a_batch_embeds_together_and_reads_the_state_before_it(store: ItemStore) -> None:
    store.put(("n",), "old", {"text": "tea"})
    put = PutOp(("n",), "new", {"text": "coffee"})
    search: Any = store.batch([put, SearchOp(("n",), query="drink"), GetOp(("n",), "new")])
    assert keys(search[1]) == ["old"]
    assert search[2] is None
    assert keys(store.search(("n",), query="drink")) == ["new", "old"]


def test_search_goes_on_beyond_a_page_of_the_store(url: str) -> None:
    with ItemStore.from_url(url, index=INDEX) as store:
        store.batch([PutOp(("n",), f"{n:04}", {"text": "tea"}) for n in range(1100)])
        found = store.search(("n",), query="tea", limit=1050, offset=20)
        assert keys(found) == [f"{n:04}" for n in range(20, 1070)]


@pytest.mark.anyio
async def test_nodes_of_any_kind_search(url: str) -> None:
    async with ItemStore.from_url(url, index={**INDEX, "embed": aembed}) as store:
        await store.aput(("n",), "tea", {"text": "tea"})
        found = await store.asearch(("n",), query="drink", mode="hybrid")
        assert keys(found) == ["tea"]
        found = await asyncio.to_thread(store.search, ("n",), query="drink")
        assert keys(found) == ["tea"]


def test_the_index_outlives_the_process(url: str) -> None:
    if url == "memory://":
        return
    with ItemStore.from_url(url, index=INDEX) as store:
        fill(store)
    with ItemStore.from_url(url, index=INDEX) as store:
        assert keys(store.search(("n",), query="drink"))[0] == "tea"


def test_a_store_without_the_index_leaves_nothing_stale(url: str, tmp_path: Path) -> None:
    if url == "memory://":
        return
    with ItemStore.from_url(url, index=INDEX) as store, ItemStore.from_url(url) as plain:
        fill(store)
        plain.put(("n",), "tea", {"text": "has a dog"})
        plain.delete(("n",), "train")
        assert keys(store.search(("n",), query="drink")) == ["dog"]


def test_another_embedder_is_named_and_reembed_changes_over(url: str) -> None:
    if url == "memory://":
        return
    other = {**INDEX, "embed": DeterministicFakeEmbedding(size=8), "dims": 8}
    with ItemStore.from_url(url, index=INDEX) as old:
        fill(old)
        old.put(("n",), "no", {"text": "tea"}, index=False)
        old.put(("n",), "other", {"text": "", "about": "dog"}, index=["about"])
        with pytest.raises(
            ConfigError, match=r"embed:embed with 3.*Fake.* with 8.*threadkeep reembed"
        ):
            ItemStore.from_url(url, index=other).setup()
        seen: list[tuple[int, int]] = []
        new = ItemStore.from_url(url, index=other)
        was = asyncio.run(new.reembed(lambda p: seen.append((p.indexed, p.total))))
        assert (was, seen[-1]) == (False, (5, 5))
        assert sorted(keys(new.search(("n",), query="dog", mode="vector"))) == [
            "dog",
            "other",
            "tea",
            "train",
        ]
        assert keys(old.search(("n",), query="drink"))[0] == "tea"  # goes on until it is restarted
        old.put(("n",), "late", {"text": "coffee"})
        assert "late" not in keys(new.search(("n",), query="coffee"))
        assert asyncio.run(new.reembed()) is True
        assert keys(new.search(("n",), query="coffee"))[0] == "late"
        assert old.search(("n",), query="drink") == []
        new.close()


def test_reembedding_goes_on_where_it_broke_off(url: str) -> None:
    if url == "memory://":
        return
    with ItemStore.from_url(url, index=INDEX) as old:
        old.batch([PutOp(("n",), f"{n:03}", {"text": f"tea {n}"}) for n in range(200)])
    calls: list[int] = []

    def breaks(texts: list[str]) -> Any:
        calls.append(len(texts))
        if len(calls) == 3:
            raise ConfigError("broken off")
        return embed(texts)

    new = ItemStore.from_url(url, index={**INDEX, "embed": breaks})
    with pytest.raises(ConfigError, match="broken off"):
        asyncio.run(new.reembed())
    with ItemStore.from_url(url, index=INDEX) as old:  # still in force
        assert len(old.search(("n",), query="tea", limit=300)) == 200
    assert asyncio.run(new.reembed()) is False
    assert sum(calls) - calls[2] == 200
    new.close()


@pytest.mark.anyio
async def test_what_fails_for_good_leaves_nothing_behind(url: str) -> None:
    def fails(texts: list[str]) -> Any:
        raise OSError("no network")

    async with ItemStore.from_url(url, index={**INDEX, "embed": fails}) as store:
        store._indexing._embedder._first_wait_seconds = 0  # type: ignore[union-attr]
        with pytest.raises(UnavailableError, match=r"fails failed 4 times: OSError: no network"):
            await store.aput(("n",), "k", {"text": "tea"})
        assert await store.aget(("n",), "k") is None
        await store.aput(("n",), "k", {"text": "tea"}, index=False)
        assert keys(await store.asearch(("n",))) == ["k"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"embed": None}, "embed is missing"),
        ({"embed": "nothing"}, "'nothing'; expected"),
        ({"embed": "./absent.py:embed"}, "no file absent.py"),
        ({"embed": "./embed.py:absent"}, "has no absent"),
        ({"embed": "tests.integration.absent:embed"}, "cannot be imported"),
        ({"embed": "nobody:model"}, "nobody:model"),
        ({"embed": 5}, "is a int"),
        ({"dims": None}, "dims is None"),
        ({"dims": 0}, "dims is 0"),
        ({"fields": "text"}, "fields is 'text'"),
        ({"fields": ["a["]}, "no path"),
        ({"hnsw": "yes"}, "hnsw is 'yes'"),
        ({"mode": "best"}, "mode is 'best'"),
        ({"distance": "l2"}, "store.index.distance is no key"),
    ],
)
def test_a_wrong_index_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        ItemStore(url="memory://", index={**INDEX, **change}, folder=FOLDER)


def test_hnsw_is_refused_where_there_is_none(tmp_path: Path) -> None:
    for url in ("memory://", f"sqlite:///{tmp_path / 'items.db'}"):
        with pytest.raises(Exception, match="hnsw"):
            ItemStore.from_url(url, index={**INDEX, "hnsw": True}).setup()


@pytest.mark.parametrize(
    "named", ["./embed.py:embed", "embed.py:aembed", "tests.integration.embed:embed"]
)
def test_a_function_is_named_by_its_place(named: str) -> None:
    store = ItemStore(url="memory://", index={**INDEX, "embed": named}, folder=FOLDER)
    store.put(("n",), "tea", {"text": "tea"})
    assert keys(store.search(("n",), query="coffee")) == ["tea"]
    store.close()


@pytest.mark.parametrize(
    ("answer", "words"),
    [([[1.0]], "1 numbers.*dims is 2"), ([[1.0, 2.0]] * 2, "1 texts with 2"), (5, "a int")],
)
def test_an_answer_that_is_none_is_named(answer: Any, words: str) -> None:
    embedder = CachingEmbedder("it", 2, lambda texts: answer, embed)
    with pytest.raises(ConfigError, match=words):
        asyncio.run(embedder.documents(["text"]))


def test_texts_are_embedded_in_batches_and_once() -> None:
    calls: list[list[str]] = []

    def counting(texts: list[str]) -> Any:
        calls.append(texts)
        return [[float(len(text)), 1.0] for text in texts]

    async def work() -> None:
        embedder = CachingEmbedder("it", 2, counting, counting, cache_bytes=8 * 300)
        texts = [f"text {n}" for n in range(2 * BATCH + 1)]
        vectors = await embedder.documents([*texts, *texts])
        assert [list(v) for v in vectors[:2]] == [[6.0, 1.0], [6.0, 1.0]]
        assert [len(call) for call in calls] == [BATCH, BATCH, 1]
        await embedder.documents(texts[:5])
        assert len(calls) == 3
        assert list(await embedder.question("text 0")) == [6.0, 1.0]
        assert len(calls) == 4  # a question may be embedded otherwise

    asyncio.run(work())


def test_a_failing_embedder_is_asked_again() -> None:
    calls: list[int] = []

    async def flaky(texts: list[str]) -> Any:
        calls.append(threading.get_ident())
        if len(calls) < ATTEMPTS:
            raise OSError("busy")
        return [[1.0, 1.0] for _ in texts]

    embedder = CachingEmbedder("it", 2, flaky, flaky, first_wait_seconds=0)
    assert [list(v) for v in asyncio.run(embedder.documents(["a"]))] == [[1.0, 1.0]]
    assert len(calls) == ATTEMPTS


def test_the_model_that_comes_along_finds_paraphrases() -> None:
    with ItemStore.from_url("memory://", index={"embed": "threadkeep:default"}) as store:
        for key, text in {
            "drink": "She prefers green tea in the morning",
            "pet": "Her dog is called Rex",
            "work": "He is an engineer at a bridge company",
        }.items():
            store.put(("facts",), key, {"text": text})
        assert keys(store.search((), query="What does she like to drink?"))[0] == "drink"
        assert keys(store.search((), query="¿Cómo se llama su perro?"))[0] == "pet"
        store.put(("facts",), "long", {"text": "word " * 100_000})
