"""What a text like ``./file.py:name`` or ``package.module:name`` leads to."""

import hashlib
import sys
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import Any

from threadkeep.errors import ConfigError


def exported(named: str, key: str, *, folder: Path | None = None) -> Any:
    """Return what a file or module exports under a name.

    Args:
        named: ``path.py:name``, or ``package.module:name``.
        key: Where it is configured, for a message.
        folder: What a path is relative to; else the working directory.

    Raises:
        ConfigError: There is no such file, it cannot be loaded, or has no such name.
    """
    place, _, export = named.rpartition(":")
    if not place or not export:
        raise ConfigError(f'{key} is {named!r}; expected "./file.py:name" or "package.module:name"')
    module = _module_of(folder, place, key) if place.endswith(".py") else _imported(place, key)
    try:
        return getattr(module, export)
    except AttributeError:
        raise ConfigError(f"{key} is {named!r}, and {place} has no {export}") from None


def _module_of(folder: Path | None, place: str, key: str) -> ModuleType:
    path = ((folder or Path.cwd()) / place).resolve()
    if not path.is_file():
        raise ConfigError(f"{key} names {place!r}, and there is no file {path.name} there")
    digest = hashlib.blake2b(str(path).encode(), digest_size=8).hexdigest()
    name = f"threadkeep_export_{digest}"
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
        raise ConfigError(f"{key}: {place} cannot be loaded: {error!r}") from error
    return module


def _imported(name: str, key: str) -> ModuleType:
    try:
        return import_module(name)
    except Exception as error:
        raise ConfigError(f"{key}: {name} cannot be imported: {error!r}") from error
