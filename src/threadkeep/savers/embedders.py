"""An embedder that is asked in batches, asked again when it fails, and not asked twice."""

import asyncio
import hashlib
import inspect
import logging
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, TypeAlias

from threadkeep.errors import ConfigError, ThreadkeepError, UnavailableError
from threadkeep.model.item_index import Vector
from threadkeep.savers.embedding import Embed

BATCH = 96  # texts of one call: what every provider takes
ATTEMPTS = 4
FIRST_WAIT_SECONDS = 0.5  # before the second attempt; doubled before each further one
CACHE_BYTES = 32 * 1024 * 1024  # of vectors that are remembered

Numbers: TypeAlias = "array[float]"

log = logging.getLogger(__name__)


class CachingEmbedder:
    """Satisfies ``Embedder``; used from one event loop."""

    def __init__(
        self,
        name: str,
        dims: int,
        documents: Embed,
        question: Embed,
        *,
        first_wait_seconds: float = FIRST_WAIT_SECONDS,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self.name = name
        self.dims = dims
        self._documents = documents
        self._question = question
        self._first_wait_seconds = first_wait_seconds
        self._kept = max(1, cache_bytes // (4 * dims))
        self._cache: OrderedDict[tuple[str, bytes], Numbers] = OrderedDict()

    async def documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """See ``Embedder.documents``."""
        return await self._embed("document", self._documents, texts)

    async def question(self, text: str) -> Vector:
        """See ``Embedder.question``."""
        (vector,) = await self._embed("question", self._question, [text])
        return vector

    async def _embed(self, kind: str, embed: Embed, texts: Sequence[str]) -> Sequence[Vector]:
        keys = {text: (kind, _digest(text)) for text in texts}
        known = {text: self._cache[key] for text, key in keys.items() if key in self._cache}
        new = [text for text in keys if text not in known]
        for start in range(0, len(new), BATCH):
            batch = new[start : start + BATCH]
            known |= dict(zip(batch, await self._asked(embed, batch), strict=True))
        for text, key in keys.items():
            self._cache[key] = known[text]
            self._cache.move_to_end(key)
        while len(self._cache) > self._kept:
            self._cache.popitem(last=False)
        return [known[text] for text in texts]

    async def _asked(self, embed: Embed, batch: list[str]) -> list[Numbers]:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                answer = await _called(embed, batch)
            except ThreadkeepError:
                raise
            except Exception as error:
                if attempt == ATTEMPTS:
                    raise UnavailableError(
                        f"the embedder {self.name} failed {ATTEMPTS} times: "
                        f"{type(error).__name__}: {error}"
                    ) from error
                log.warning("the embedder %s failed, attempt %d: %r", self.name, attempt, error)
                await asyncio.sleep(self._first_wait_seconds * 2 ** (attempt - 1))
            else:
                return self._checked(answer, len(batch))
        raise AssertionError("unreachable")

    def _checked(self, answer: Any, count: int) -> list[Numbers]:
        try:
            vectors = [array("d", map(float, vector)) for vector in answer]
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"the embedder {self.name} answers with a {type(answer).__name__}; expected a list "
                "of numbers for each text"
            ) from error
        if len(vectors) != count:
            raise ConfigError(
                f"the embedder {self.name} answers {count} texts with {len(vectors)} vectors"
            )
        sizes = {len(vector) for vector in vectors} - {self.dims}
        if sizes:
            raise ConfigError(
                f"the embedder {self.name} makes vectors of {sizes.pop()} numbers, and "
                f"store.index.dims is {self.dims}; set dims to what it makes"
            )
        return vectors


async def _called(embed: Embed, batch: list[str]) -> Any:
    """Call what may block in a thread, and await what it gives if that is to be awaited."""
    if inspect.iscoroutinefunction(embed) or inspect.iscoroutinefunction(
        getattr(embed, "__call__", None)  # noqa: B004 - an object may be called as a coroutine
    ):
        return await embed(batch)
    answer = await asyncio.to_thread(embed, batch)
    return await answer if inspect.isawaitable(answer) else answer


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
