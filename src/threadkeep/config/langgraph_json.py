"""``langgraph.json``: read, checked whole, and explained where it is wrong."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from threadkeep.config import sections
from threadkeep.config.explain import mistake, nearest, refused
from threadkeep.config.item_index import ADAPTED, read_adapter, read_index, read_scope
from threadkeep.config.keys import KEYS, Key
from threadkeep.config.sections import Checkpointer, Headers
from threadkeep.errors import ConfigError

FILE = "langgraph.json"
GRAPH_KEYS = ("path", "description")
SWEEP_SECONDS = 3600.0  # expired items read as absent before they are deleted
SCRIPTS = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx")


@dataclass(frozen=True, slots=True)
class GraphEntry:
    """One graph as the file names it.

    Attributes:
        path: A Python file, relative to the project's folder, or a dotted module name.
        export: The name in that module.
    """

    graph_id: str
    path: str
    export: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Project:
    """A checked ``langgraph.json``.

    Attributes:
        file: Where it was read.
        folder: What its paths are relative to.
        graphs: In the file's order; at least one.
        import_paths: Folders that belong on the import path, the project's own first.
        environment: What its ``env`` gives; the process's environment wins over it.
        item_ttl: ``default_ttl`` and ``refresh_on_read`` of long-term items.
        store_scope: The labels of ``store.scope``; none without it.
        store_adapter: What ``store.adapter`` names, or ``None``.
        item_index: The settings of ``store.index``, or ``None``.
        sweep_seconds: How often expired items are deleted.
        cors: The settings of ``http.cors``, or ``None``.
        webhooks: The fields of a ``WebhookPolicy``.
        checkpointer: The memory of threads.
        auth: The address of an ``Auth`` object, or ``None``.
        disabled: The groups of routes that are not served.
        configurable_headers: The request headers that reach a graph.
        mount_prefix: Before every route; empty or ``/…`` without a slash at its end.
        warnings: What was accepted without effect, one sentence each.
    """

    file: Path
    folder: Path
    graphs: tuple[GraphEntry, ...]
    import_paths: tuple[Path, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    item_ttl: Mapping[str, Any] = field(default_factory=dict)
    store_scope: tuple[str, ...] = ()
    store_adapter: str | None = None
    item_index: Mapping[str, Any] | None = None
    sweep_seconds: float = SWEEP_SECONDS
    cors: Mapping[str, Any] | None = None
    webhooks: Mapping[str, Any] = field(default_factory=dict)
    checkpointer: Checkpointer = field(default_factory=Checkpointer)
    auth: str | None = None
    disabled: frozenset[str] = frozenset()
    configurable_headers: Headers = field(default_factory=Headers)
    mount_prefix: str = ""
    warnings: tuple[str, ...] = ()


def read_project(path: Path) -> Project:
    """Read and check a file.

    Raises:
        ConfigError: It is missing, is not JSON, or holds something that cannot be or must not be
            ignored; names file, key, what was found, what is expected and the remedy.
    """
    document = _document(path)
    name, folder = path.name, path.absolute().parent
    warnings = tuple(_standings(name, "", document))
    adapter = read_adapter(name, document.get("store") or {})
    if adapter is not None:
        warnings += (ADAPTED.format(file=name, adapter=adapter),)
    http = document.get("http") or {}
    ttl = (document.get("store") or {}).get("ttl") or {}
    return Project(
        file=path.absolute(),
        folder=folder,
        graphs=tuple(_graphs(name, document.get("graphs"))),
        import_paths=(folder, *_folders(name, folder, document.get("dependencies", []))),
        environment=_environment(name, folder, document.get("env", {})),
        item_ttl=_item_ttl(name, ttl),
        store_adapter=adapter,
        store_scope=read_scope(name, document),
        item_index=read_index(name, (document.get("store") or {}).get("index")),
        sweep_seconds=_minutes(name, "sweep_interval_minutes", ttl, SWEEP_SECONDS / 60) * 60,
        cors=_cors(name, http.get("cors")),
        webhooks=sections.webhooks(
            name, document.get("webhooks"), is_enabled=not http.get("disable_webhooks")
        ),
        checkpointer=sections.checkpointer(name, document.get("checkpointer")),
        auth=sections.auth_path(name, document.get("auth")),
        disabled=sections.disabled(name, http),
        configurable_headers=sections.headers(
            name, "http.configurable_headers", http.get("configurable_headers")
        ),
        mount_prefix=_mount_prefix(name, http.get("mount_prefix")),
        warnings=warnings,
    )


def _document(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(
            f"no {path}; run this in a project's folder, name the file with --config, or make a "
            "project with `threadkeep new NAME`"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ConfigError(f"{path.name}: not JSON: {error.msg} at {where}") from error
    if not isinstance(document, dict):
        raise mistake(path.name, "the whole file", document, 'an object, {"graphs": {…}}')
    return document


def _standings(file: str, prefix: str, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield a warning for each key without effect; raise for one that must not be neglected."""
    for name, value in values.items():
        path = f"{prefix}{name}"
        key = KEYS.get(path)
        if key is None:
            siblings = [k.removeprefix(prefix) for k in KEYS if k.startswith(prefix)]
            yield f"{file}: {path} is no key that LangGraph knows{nearest(name, siblings)}"
        elif value is None:
            continue
        elif key.standing == "refused" and value is not False:
            raise refused(file, path, key.says, key.remedy)
        elif key.standing == "later":
            yield f"{file}: {path} has no effect yet: {key.says}"
        elif key.holds:
            yield from _nested(file, path, key, value)


def _nested(file: str, path: str, key: Key, value: Any) -> Iterator[str]:
    if value == key.word:
        return
    if not isinstance(value, dict):
        expected = f'an object, or "{key.word}"' if key.word else "an object"
        raise mistake(file, path, value, expected)
    yield from _standings(file, f"{path}.", value)


def _graphs(file: str, value: Any) -> Iterator[GraphEntry]:
    if not isinstance(value, dict) or not value:
        example = '{"agent": "./agent.py:graph"}'
        raise mistake(file, "graphs", value, f"an object with at least one graph, {example}")
    for graph_id, entry in value.items():
        key = f"graphs.{graph_id}"
        if not graph_id:
            raise mistake(file, "graphs", graph_id, "a name for each graph")
        described = entry if isinstance(entry, dict) else {"path": entry}
        for name in described:
            if name not in GRAPH_KEYS:
                expected = "path and description only"
                raise mistake(file, f"{key}.{name}", described[name], expected)
        description = described.get("description")
        if description is not None and not isinstance(description, str):
            raise mistake(file, f"{key}.description", description, "a text")
        path, export = _address(file, key, described.get("path"))
        yield GraphEntry(graph_id, path, export, description)


def _address(file: str, key: str, value: Any) -> tuple[str, str]:
    """Split ``path:export`` at its last colon: a drive letter has one of its own."""
    path, _, export = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if not path or not export.isidentifier():
        raise mistake(file, key, value, 'a text like "./agent.py:graph" or "package.module:graph"')
    if path.endswith(SCRIPTS):
        remedy = "Serve it with a JavaScript server"
        raise mistake(file, key, value, "a Python file; other languages are not served", remedy)
    return path, export


def _folders(file: str, folder: Path, value: Any) -> Iterator[Path]:
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise mistake(file, "dependencies", value, 'a list of texts, e.g. ["."]')
    for entry in value:
        path = folder / entry
        if path.is_dir():
            yield path.resolve()
        elif entry.startswith((".", "/")):
            raise mistake(file, "dependencies", entry, f"a folder that exists in {folder.name}/")


def _environment(file: str, folder: Path, value: Any) -> Mapping[str, str]:
    if isinstance(value, str):
        path = folder / value
        if not value or not path.is_file():
            remedy = "Make it (it may be empty), or remove the key"
            raise mistake(file, "env", value, "a file that exists, or an object", remedy)
        return {name: text or "" for name, text in dotenv_values(path).items()}
    if not isinstance(value, dict):
        raise mistake(file, "env", value, 'a file, ".env", or an object, {"NAME": "value"}')
    for name, text in value.items():
        if not isinstance(text, str | int | float) or isinstance(text, bool):
            raise mistake(file, f"env.{name}", text, "a text")
    return {name: str(text) for name, text in value.items()}


def _item_ttl(file: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    refresh = value.get("refresh_on_read")
    if not isinstance(refresh, bool | None):
        raise mistake(file, "store.ttl.refresh_on_read", refresh, "true or false")
    minutes = _minutes(file, "default_ttl", value, math.inf)
    default = {} if minutes == math.inf else {"default_ttl": minutes}
    return default | ({} if refresh is None else {"refresh_on_read": refresh})


def _minutes(file: str, name: str, ttl: Mapping[str, Any], default: float) -> float:
    minutes = ttl.get(name)
    if minutes is None:
        return default
    wrong = isinstance(minutes, bool) or not isinstance(minutes, int | float)
    if wrong or not 0 < minutes < math.inf:
        raise mistake(file, f"store.ttl.{name}", minutes, "a number of minutes above 0")
    return float(minutes)


def _cors(file: str, value: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if value is None:
        return None
    for name, entry in value.items():
        key = f"http.cors.{name}"
        match name:
            case "allow_origins" | "allow_methods" | "allow_headers" | "expose_headers":
                texts = isinstance(entry, list) and all(isinstance(text, str) for text in entry)
                good, expected = texts, "a list of texts"
            case "allow_credentials":
                good, expected = isinstance(entry, bool), "true or false"
            case "max_age":
                whole = isinstance(entry, int) and not isinstance(entry, bool)
                good, expected = whole, "a whole number of seconds"
            case "allow_origin_regex":
                good, expected = _is_regex(entry), "a regular expression"
            case _:
                good, expected = isinstance(entry, str), "a text"
        if not good:
            raise mistake(file, key, entry, expected)
    return {name: entry for name, entry in value.items() if f"http.cors.{name}" in KEYS}


def _is_regex(value: Any) -> bool:
    try:
        re.compile(value)
    except (re.error, TypeError, RecursionError, OverflowError):
        return False
    return True


def _mount_prefix(file: str, value: Any) -> str:
    if value is None or value in ("", "/"):
        return ""
    if not isinstance(value, str) or not value.startswith("/"):
        raise mistake(file, "http.mount_prefix", value, 'a path, e.g. "/agents"')
    return value.rstrip("/")
