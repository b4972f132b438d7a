"""``store.index``, ``store.adapter`` and ``store.scope`` of ``langgraph.json``."""

from collections.abc import Callable, Mapping
from typing import Any

from threadkeep.config.explain import mistake
from threadkeep.errors import ConfigError
from threadkeep.rules.scoping import check_scope, names_caller

BUNDLED = "threadkeep:default"
MODES = ("vector", "text", "hybrid", "auto")


ADAPTED = (
    "{file}: store.adapter: {adapter} keeps the items, not the database: imports write into it, "
    "and snapshots leave them out"
)


def read_adapter(file: str, store: Mapping[str, Any]) -> str | None:
    """Return what ``store.adapter`` names, or ``None`` without it.

    Raises:
        ConfigError: It names nothing, or ``store.index`` stands beside it.
    """
    value = store.get("adapter")
    if value is None:
        return None
    place, _, export = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if not place or not export.isidentifier():
        raise mistake(file, "store.adapter", value, 'a text like "./my_store.py:store"')
    if store.get("index") is not None:
        expected = "no index beside store.adapter: it would have no effect"
        raise mistake(file, "store.index", store["index"], expected, "Configure the store's own")
    return str(value)


def read_scope(file: str, document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the labels of ``store.scope``; none without it.

    Raises:
        ConfigError: It is no scope, or it names the caller where nobody is authenticated.
    """
    value = (document.get("store") or {}).get("scope")
    if value is None:
        return ()
    if not _are_texts(value):
        raise mistake(file, "store.scope", value, 'a list of labels, ["users", "{identity}"]')
    try:
        scope = check_scope(value)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error
    if names_caller(scope) and not document.get("auth"):
        expected = "auth beside it: without, nobody is known and every call would be refused"
        raise mistake(file, "store.scope", value, expected)
    return scope


def read_index(file: str, value: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the settings of an index that are set, or ``None`` without one.

    Raises:
        ConfigError: Names file, key, what was found and what is expected.
    """
    if value is None:
        return None
    index = {
        name: entry for name, entry in value.items() if name in _EXPECTED and entry is not None
    }
    if "embed" not in index:
        raise mistake(file, "store.index.embed", None, _EXPECTED["embed"][1])
    if "dims" not in index and index["embed"] != BUNDLED:
        raise mistake(file, "store.index.dims", None, _EXPECTED["dims"][1])
    for name, entry in index.items():
        is_good, expected = _EXPECTED[name]
        if not is_good(entry):
            raise mistake(file, f"store.index.{name}", entry, expected)
    return index


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)


_EXPECTED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "embed": (
        lambda value: isinstance(value, str) and ":" in value,
        f'"{BUNDLED}", a model such as "openai:text-embedding-3-small", or "./embed.py:embed"',
    ),
    "dims": (_is_size, "how many numbers its vectors have, e.g. 1536"),
    "fields": (_are_texts, 'a list of paths, e.g. ["$"] or ["text"]'),
    "hnsw": (lambda value: isinstance(value, bool), "true or false"),
    "mode": (lambda value: value in MODES, f"one of {', '.join(MODES)}"),
}
