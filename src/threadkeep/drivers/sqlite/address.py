"""What a ``sqlite://`` address says."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import parse_qsl, unquote

from threadkeep.errors import ConfigError

Synchronous = Literal["normal", "full"]

PREFIX = "sqlite://"


@dataclass(frozen=True, slots=True)
class Address:
    """An opened file.

    Attributes:
        path: The file; its folders are made when it is opened.
        synchronous: ``normal``: what was committed survives a crash of the process, and after a
            power cut the file is whole but may lack the last moments. ``full``: also these are
            there, and each commit waits for the disk.
    """

    path: Path
    synchronous: Synchronous = "normal"


def parse(url: str) -> Address:
    """Read an address: ``sqlite:///relative.db``, ``sqlite:////absolute.db``.

    Raises:
        ConfigError: It names no file, or has a setting that is not known.
    """
    location, _, query = url.removeprefix(PREFIX).partition("?")
    authority, slash, path = location.partition("/")
    path = unquote(path)
    if not path or authority or ":memory:" in (authority, path):
        raise ConfigError(_no_file(authority, has_path=bool(slash and path)))
    if not _can_be(path):
        raise ConfigError("a sqlite address names a file that cannot be: a name has no NUL")
    settings = dict(parse_qsl(query, keep_blank_values=True))
    synchronous = settings.pop("synchronous", "normal").lower()
    if settings:
        raise ConfigError(f"a sqlite address has no setting {', '.join(settings)}: synchronous")
    for known in get_args(Synchronous):
        if synchronous == known:
            return Address(Path(path), known)
    raise ConfigError(f"synchronous is normal or full, not {synchronous!r}")


def _can_be(path: str) -> bool:
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def _no_file(authority: str, *, has_path: bool) -> str:
    if authority and authority != ":memory:" and has_path:
        return (
            "a sqlite address has three slashes before a relative path, and four before an absolute"
        )
    return "a sqlite address names a file, e.g. sqlite:///agents.db; for memory alone use memory://"
