"""The sections of ``langgraph.json`` that say how runs are kept, told of and guarded."""

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from threadkeep.config.explain import mistake, refused

ENV_PREFIX = "LG_WEBHOOK_"
TEMPLATE = re.compile(r"\$\{\{\s*env\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
NEVER_PASSED_ON = ("x-api-key", "x-tenant-id", "x-service-key", "authorization", "cookie")
THREAD_SWEEP_SECONDS = 60.0  # between two looks for threads whose lifetime is over
THREADS_AT_ONCE = 100  # of one sweep
MAX_TTL_MINUTES = 5_256_000.0  # ten years
GROUPS = ("assistants", "threads", "runs", "store", "crons", "meta")  # of routes, by ``disable_…``

Strategy = Literal["delete", "keep_latest"]


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long threads live that say nothing themselves, and what then becomes of them.

    Attributes:
        default_minutes: ``None`` for ever.
        strategy: ``delete``: everything; ``keep_latest``: all checkpoints but the latest.
        sweep_seconds: Between two looks.
        at_once: Threads of one sweep.
    """

    default_minutes: float | None = None
    strategy: Strategy = "delete"
    sweep_seconds: float = THREAD_SWEEP_SECONDS
    at_once: int = THREADS_AT_ONCE


@dataclass(frozen=True, slots=True)
class Checkpointer:
    """The memory of threads.

    Attributes:
        path: ``file.py:name`` of a saver, or of what opens one; ``None`` for ours.
        types: Further types that are restored, each module path and name.
        lifetimes: Of threads.
    """

    path: str | None = None
    types: tuple[tuple[str, ...], ...] = ()
    lifetimes: Lifetimes = field(default_factory=Lifetimes)


@dataclass(frozen=True, slots=True)
class Headers:
    """Which request headers a graph finds in its ``configurable``; patterns with ``*``."""

    includes: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()

    def passed_on(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the headers that are passed on, by their names in lower case."""
        if not self.includes:
            return {}
        named = {name.lower(): value for name, value in given.items()}
        return {
            name: value
            for name, value in named.items()
            if _matches(name, self.includes) and not _matches(name, self.excludes)
        }


def checkpointer(file: str, value: Any) -> Checkpointer:
    """Read ``checkpointer``: absent or ``"default"`` is ours.

    Raises:
        ConfigError: It is neither, or holds something wrong; so for every function here.
    """
    if value is None or value == "default":
        return Checkpointer()
    if not isinstance(value, dict):
        raise mistake(file, "checkpointer", value, '"default" or an object, {"path", "ttl"}')
    path = value.get("path")
    return Checkpointer(
        path=None if path is None else address(file, "checkpointer.path", path),
        types=_types(file, value.get("serde")),
        lifetimes=_lifetimes(file, value.get("ttl")),
    )


def address(file: str, key: str, value: Any) -> str:
    """Read ``path/file.py:name`` or ``package.module:name``."""
    path, _, export = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if not path or not export.isidentifier():
        raise mistake(file, key, value, 'a text like "./file.py:name" or "package.module:name"')
    return str(value)


def webhooks(file: str, value: Any, *, is_enabled: bool) -> dict[str, Any]:
    """Read ``webhooks`` as the fields of a ``WebhookPolicy``."""
    given = _object(file, "webhooks", value)
    policy: dict[str, Any] = {"is_enabled": is_enabled}
    for name, entry in _object(file, "webhooks.url", given.get("url")).items():
        policy |= _policy_entry(file, name, entry)
    prefix = given.get("env_prefix", ENV_PREFIX)
    if not isinstance(prefix, str) or not prefix:
        raise mistake(file, "webhooks.env_prefix", prefix, "a text that is not empty")
    headers = _object(file, "webhooks.headers", given.get("headers"))
    policy["headers"] = {
        name: _header(file, name, text, prefix=prefix) for name, text in headers.items()
    }
    return policy


def auth_path(file: str, value: Any) -> str | None:
    """Read ``auth`` as the address of an ``Auth`` object; ``None`` without the section."""
    if value is None:
        return None
    given = _object(file, "auth", value)
    if not isinstance(given.get("disable_studio_auth", False), bool):
        raise mistake(
            file, "auth.disable_studio_auth", given["disable_studio_auth"], "true or false"
        )
    return address(file, "auth.path", given.get("path"))


def disabled(file: str, http: Mapping[str, Any]) -> frozenset[str]:
    """Read which groups of routes are not served."""
    for name, entry in http.items():
        if name.startswith(("disable_", "enable_")) and not isinstance(entry, bool):
            raise mistake(file, f"http.{name}", entry, "true or false")
    return frozenset(group for group in GROUPS if http.get(f"disable_{group}"))


def headers(file: str, key: str, value: Any) -> Headers:
    """Read ``http.configurable_headers``."""
    given = _object(file, key, value)
    lists: dict[str, tuple[str, ...]] = {}
    for name in ("includes", "excludes"):
        found = given.get(name) or []
        if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
            raise mistake(file, f"{key}.{name}", found, 'a list of texts, e.g. ["x-tenant-*"]')
        lists[name] = tuple(text.lower() for text in found)
    excludes = lists["excludes"] if given.get("excludes") is not None else NEVER_PASSED_ON
    return Headers(lists["includes"], excludes)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _object(file: str, key: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise mistake(file, key, value, "an object")
    return value


def _policy_entry(file: str, name: str, entry: Any) -> dict[str, Any]:
    key = f"webhooks.url.{name}"
    match name:
        case "require_https" | "disable_loopback":
            _require(file, key, entry, isinstance(entry, bool), "true or false")
            return {name: entry}
        case "allowed_domains":
            is_good = isinstance(entry, list) and all(isinstance(text, str) for text in entry)
            _require(file, key, entry, is_good, 'a list of hosts, e.g. ["*.example.com"]')
            return {name: tuple(entry)}
        case "allowed_ports":
            is_good = isinstance(entry, list) and all(_is_whole(port, 65535) for port in entry)
            _require(file, key, entry, is_good, "a list of numbers from 1 to 65535")
            return {name: tuple(entry)}
        case "max_url_length":
            _require(file, key, entry, _is_whole(entry, 10**6), "a whole number above 0")
            return {name: entry}
    return {}


def _header(file: str, name: str, text: Any, *, prefix: str) -> str:
    key = f"webhooks.headers.{name}"
    _require(file, key, name, HEADER_NAME.fullmatch(name) is not None, "the name of a header")
    _require(file, key, text, isinstance(text, str), "a text")

    def value(found: re.Match[str]) -> str:
        variable = found[1]
        if not variable.startswith(prefix):
            raise refused(
                file,
                key,
                f"names the variable {variable}, which does not begin with {prefix!r}",
                "Rename the variable, or set webhooks.env_prefix",
            )
        if variable not in os.environ:
            raise refused(file, key, f"names the variable {variable}, which is not set", "Set it")
        return os.environ[variable]

    filled = TEMPLATE.sub(value, text)
    is_line = filled.isascii() and filled.isprintable()
    _require(file, key, text, is_line, "one line of ASCII")
    return filled


def _lifetimes(file: str, value: Any) -> Lifetimes:
    given = _object(file, "checkpointer.ttl", value)
    key = "checkpointer.ttl"
    strategy = given.get("strategy", "delete")
    is_known = strategy in ("delete", "keep_latest")
    _require(file, f"{key}.strategy", strategy, is_known, '"delete" or "keep_latest"')
    minutes = given.get("default_ttl")
    expected = f"a number of minutes above 0, at most {MAX_TTL_MINUTES:,.0f}"
    is_good = minutes is None or _is_number(minutes, MAX_TTL_MINUTES)
    _require(file, f"{key}.default_ttl", minutes, is_good, expected)
    every = given.get("sweep_interval_minutes")
    is_good = every is None or _is_number(every, MAX_TTL_MINUTES)
    _require(file, f"{key}.sweep_interval_minutes", every, is_good, expected)
    limit = given.get("sweep_limit")
    is_good = limit is None or _is_whole(limit, 10**6)
    _require(file, f"{key}.sweep_limit", limit, is_good, "a whole number above 0")
    return Lifetimes(
        default_minutes=minutes,
        strategy=strategy,
        sweep_seconds=THREAD_SWEEP_SECONDS if every is None else every * 60.0,
        at_once=min(limit or THREADS_AT_ONCE, THREADS_AT_ONCE),
    )


def _types(file: str, value: Any) -> tuple[tuple[str, ...], ...]:
    given = _object(file, "checkpointer.serde", value)
    if given.get("pickle_fallback"):
        raise refused(
            file,
            "checkpointer.serde.pickle_fallback",
            "nothing is ever unpickled: whoever can write to the database could run code",
            "Set it to false",
        )
    found: list[tuple[str, ...]] = []
    for name in ("allowed_json_modules", "allowed_msgpack_modules"):
        entries = given.get(name) or []
        is_good = isinstance(entries, list) and all(
            isinstance(entry, list) and len(entry) > 1 and all(isinstance(p, str) for p in entry)
            for entry in entries
        )
        expected = 'a list of types, e.g. [["my_agent.models", "State"]]; never all of them'
        _require(file, f"checkpointer.serde.{name}", entries, is_good, expected)
        found += [tuple(entry) for entry in entries]
    return tuple(dict.fromkeys(found))


def _require(file: str, key: str, value: Any, is_good: bool, expected: str) -> None:  # noqa: FBT001
    if not is_good:
        raise mistake(file, key, value, expected)


def _is_whole(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= most


def _is_number(value: Any, most: float) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and 0 < value <= most
