"""The index of an ``ItemStore``: which texts of an item are embedded, and how a query is asked."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Protocol

from threadkeep.errors import ConfigError, InvalidRequestError
from threadkeep.model.item_index import IndexEntry, IndexProgress, IndexSpec, Passage
from threadkeep.model.items import ItemOperation, ItemQuery, PutItem
from threadkeep.ports.embedder import Embedder
from threadkeep.ports.resources import ItemRepo
from threadkeep.rules.item_indexes import check_dims
from threadkeep.rules.item_texts import WHOLE, check_fields, item_texts
from threadkeep.rules.words import question_words
from threadkeep.savers.embedders import CachingEmbedder
from threadkeep.savers.embedding import DEFAULT, DEFAULT_DIMS, embed_of

Mode = Literal["vector", "text", "hybrid", "auto"]

MODES = ("vector", "text", "hybrid", "auto")
KEYS = ("embed", "dims", "fields", "hnsw", "mode")
PAGE = 64  # items that are embedded together while an index is built


class Ranks(Protocol):
    """What an ``ItemStore`` asks of its index."""

    async def use(self, items: ItemRepo) -> None:
        """Have a repo use the index; again is no error."""
        ...

    async def indexed(
        self, operations: Sequence[ItemOperation], chosen: Mapping[int, Any]
    ) -> list[ItemOperation]:
        """Return operations with what the index is to hold in the puts; see ``Indexing``."""
        ...

    async def ranked(self, query: ItemQuery, text: str, mode: Mode | None) -> ItemQuery:
        """Return a query that ranks by a text."""
        ...


class Indexing:
    """One index, as it is configured."""

    def __init__(
        self, embedder: Embedder, fields: Sequence[str], *, hnsw: bool, mode: Mode
    ) -> None:
        self.spec = IndexSpec(embedder.name, embedder.dims, hnsw=hnsw)
        self.mode: Mode = mode
        self._embedder = embedder
        self._fields = fields
        self._lock = asyncio.Lock()
        self._is_used = False

    async def use(self, items: ItemRepo) -> None:
        """Have a repo use the index; once.

        Raises:
            ConfigError: See ``ItemRepo.use_index``, also for ``NotSupportedError``.
        """
        if self._is_used:
            return
        async with self._lock:
            if not self._is_used:
                await items.use_index(self.spec)
                self._is_used = True

    async def indexed(
        self, operations: Sequence[ItemOperation], chosen: Mapping[int, Any]
    ) -> list[ItemOperation]:
        """Return operations with passages in the puts.

        Args:
            operations: Searches among them are left as they are.
            chosen: What puts say of their fields, by their place: ``False`` or a list of paths.

        Raises:
            InvalidRequestError: A put chooses no fields.
            UnavailableError: The embedder failed.
        """
        puts: dict[int, tuple[PutItem, list[str]]] = {}
        for place, operation in enumerate(operations):
            if isinstance(operation, PutItem):
                paths = chosen_paths(chosen.get(place))
                fields = self._fields if paths is None else paths
                texts = item_texts(operation.value, fields) if _is_object(operation.value) else []
                puts[place] = replace(operation, paths=paths), texts
        wanted = [text for _, texts in puts.values() for text in texts]
        vectors = dict(zip(wanted, await self._embedder.documents(wanted), strict=True))
        found = list(operations)
        for place, (put, texts) in puts.items():
            passages = [Passage(text, vectors[text]) for text in texts]
            found[place] = replace(put, passages=passages)
        return found

    async def ranked(self, query: ItemQuery, text: str, mode: Mode | None) -> ItemQuery:
        """Return a query that ranks by a text, in a mode or in the index's own.

        Raises:
            UnavailableError: The embedder failed.
        """
        mode = check_mode(mode or self.mode)
        if mode == "auto":
            mode = "hybrid" if question_words(text) else "vector"
        by_words = text if mode in ("text", "hybrid") else None
        if mode == "text":
            return replace(query, text=by_words)
        return replace(query, text=by_words, vector=await self._embedder.question(text))

    async def catch_up(self, items: ItemRepo) -> IndexProgress:
        """Index the next items that the index lacks; return how far it is then.

        Raises:
            UnavailableError: The embedder failed; what was indexed stays.
        """
        lacking = await items.unindexed(limit=PAGE)
        texts = [
            item_texts(each.item.value, self._fields if each.paths is None else each.paths)
            for each in lacking
        ]
        wanted = [text for several in texts for text in several]
        vectors = dict(zip(wanted, await self._embedder.documents(wanted), strict=True))
        entries = [
            IndexEntry(
                each.item.namespace,
                each.item.key,
                each.item.updated_at,
                [Passage(text, vectors[text]) for text in several],
            )
            for each, several in zip(lacking, texts, strict=True)
        ]
        if entries:
            await items.index_items(entries)
        return await items.index_progress()


async def reembed(
    items: ItemRepo, indexing: Indexing, on_progress: Callable[[IndexProgress], None] | None
) -> bool:
    """See ``ItemStore.reembed``."""
    was_in_force = True
    try:
        await items.use_index(indexing.spec)
    except ConfigError:
        was_in_force = False
        await items.use_index(indexing.spec, build=True)
    while True:
        progress = await indexing.catch_up(items)
        if on_progress is not None:
            on_progress(progress)
        if progress.indexed >= progress.total and await items.finish_index():
            break
    if was_in_force:
        await items.tidy_index()
    return was_in_force


def indexing_of(index: Mapping[str, Any] | None, *, folder: Path | None = None) -> Indexing | None:
    """Return the index that a configuration describes, ``None`` without one.

    Raises:
        ConfigError: Names the key, what it is, and what is expected.
    """
    if index is None:
        return None
    for key in index:
        if key not in KEYS:
            raise ConfigError(
                f"store.index.{key} is no key of an index; known are {', '.join(KEYS)}"
            )
    if index.get("embed") is None:
        raise ConfigError(
            f"store.index.embed is missing; the model that comes along is {DEFAULT!r}"
        )
    hnsw = index.get("hnsw", False)
    if not isinstance(hnsw, bool):
        raise ConfigError(f"store.index.hnsw is {hnsw!r}; expected true or false")
    dims = index.get("dims", DEFAULT_DIMS if index["embed"] == DEFAULT else None)
    check_dims(dims)
    try:
        fields = check_fields(index.get("fields") or [WHOLE])
        mode = check_mode(index.get("mode", "vector"))
    except InvalidRequestError as error:
        raise ConfigError(f"store.index: {error}") from error
    name, documents, question = embed_of(index["embed"], folder=folder)
    embedder = CachingEmbedder(name, dims, documents, question)
    return Indexing(embedder, fields, hnsw=hnsw, mode=mode)


def check_mode(mode: Any) -> Mode:
    """Return a mode of search.

    Raises:
        InvalidRequestError: It is none.
    """
    if mode not in MODES:
        raise InvalidRequestError(f"mode is {mode!r}; expected one of {', '.join(MODES)}")
    found: Mode = mode
    return found


def chosen_paths(chosen: Any) -> Sequence[str] | None:
    """Return the fields a put chooses: none for ``False``, ``None`` where it leaves the choice.

    Raises:
        InvalidRequestError: They are no paths.
    """
    if chosen is None:
        return None
    return () if chosen is False else check_fields(chosen)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)
