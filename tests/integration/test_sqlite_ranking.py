"""What only SQLite has: a matrix of vectors that follows the file."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from threadkeep.drivers.sqlite import item_ranking
from threadkeep.drivers.sqlite.address import Address
from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.resources import SqliteResourceStore
from threadkeep.errors import StorageError
from threadkeep.model.item_index import IndexSpec, Passage
from threadkeep.model.items import ItemQuery, PutItem

SPEC = IndexSpec("it", 2)

pytestmark = pytest.mark.anyio


def put(key: str, x: float, y: float) -> PutItem:
    return PutItem(("n",), key, {"even": len(key) % 2 == 0}, passages=[Passage(key, (x, y))])


async def opened(path: Path) -> tuple[SqliteDatabase, SqliteResourceStore]:
    database = SqliteDatabase(Address(path))
    store = SqliteResourceStore(database)
    await store.setup()
    await store.items.use_index(SPEC)
    return database, store


async def keys(store: SqliteResourceStore, **query: Any) -> list[str]:
    rows = (await store.items.search(ItemQuery(vector=(1.0, 0.0), **query))).rows
    return [item.key for item in rows]


async def test_what_another_process_writes_is_found(tmp_path: Path) -> None:
    first, mine = await opened(tmp_path / "items.db")
    second, other = await opened(tmp_path / "items.db")
    await mine.items.apply([put("a", 1, 0), put("b", 1, 1)])
    assert await keys(mine) == await keys(other) == ["a", "b"]
    await other.items.apply([put("a", 0, 1), put("c", 2, 1)])
    assert await keys(mine) == ["c", "b", "a"]
    await other.items.delete(("n",), "c")
    assert await keys(mine) == ["b", "a"]
    first.close()
    second.close()


async def test_ids_of_an_undone_transaction_are_not_believed(tmp_path: Path) -> None:
    database, store = await opened(tmp_path / "items.db")
    await store.items.apply([put("a", 1, 0)])
    assert await keys(store) == ["a"]

    async def fails() -> None:
        def work() -> Any:
            yield from store.items._ranking.store(put("x", 0, 1), [], store.items._clock.now())
            raise StorageError("undone")

        with pytest.raises(StorageError):
            await database.write(work)

    puts = [store.items.apply([put(f"k{n}", n, 1), ItemQuery(vector=(1.0, 0.0))]) for n in range(9)]
    await asyncio.gather(*puts, fails(), fails())
    await store.items.apply([put("best", 1, 0)])
    assert (await keys(store))[:3] == ["a", "best", "k8"]
    assert len(await keys(store)) == 11
    database.close()


@pytest.mark.parametrize("few", [0, item_ranking.FEW])
@pytest.mark.parametrize("matrix_bytes", [0, item_ranking.MATRIX_BYTES])
async def test_many_vectors_are_compared_alike_in_memory_and_read_anew(
    tmp_path: Path, matrix_bytes: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_ranking, "BLOCK", 7)
    monkeypatch.setattr(item_ranking, "FEW", few)
    database, store = await opened(tmp_path / "items.db")
    ranker: Any = store.items._ranking._ranker
    ranker._matrix_bytes = matrix_bytes
    for turn in (0, 1):
        puts = [put("k" * (n + 1), 1, (n + turn) % 40) for n in range(40)]
        await store.items.apply(puts)
        best = [(n - turn) % 40 for n in range(40)]
        assert [len(key) - 1 for key in await keys(store)] == best
        even = [n for n in best if n % 2]
        assert [len(key) - 1 for key in await keys(store, filter={"even": True})] == even
    assert (ranker._matrix is None) == (matrix_bytes == 0)
    database.close()
