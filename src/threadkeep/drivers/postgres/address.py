"""What a ``postgresql://`` address says, beside what libpq reads in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from threadkeep.errors import ConfigError

DIRECT_URL = "THREADKEEP_DATABASE_DIRECT_URL"
SETTINGS = ("schema", "pool_max_size", "prepared_statements")

POOL_MAX_SIZE = 10  # connections of blocking callers, and of each event loop, at most
MAX_NAME_BYTES = 63  # of a schema: PostgreSQL cuts longer names

_SWITCH = {"on": True, "off": False}


@dataclass(frozen=True, slots=True)
class Address:
    """An opened database.

    Attributes:
        conninfo: What libpq is given.
        direct: The same for migrations, which must reach the database itself and no pooler.
        schema: Where the tables are, which is made if it is not there; ``None`` is where the
            database's ``search_path`` leads.
        pool_max_size: Connections of blocking callers, and of each event loop, at most.
        prepared_statements: Whether statements are prepared: faster, but a pooler that lends
            connections by transaction must know about it (PgBouncer: ``max_prepared_statements``).
    """

    conninfo: str
    direct: str
    schema: str | None = None
    pool_max_size: int = POOL_MAX_SIZE
    prepared_statements: bool = False

    @property
    def prefix(self) -> str:
        """What stands before a table's name in statements."""
        if self.schema is None:
            return ""
        return '"' + self.schema.replace('"', '""') + '".'


def parse(url: str, environment: Mapping[str, str]) -> Address:
    """Read an address; settings of libpq may follow the question mark too.

    Raises:
        ConfigError: It is no address of a database, or has a setting with a wrong value. The
            message holds nothing of the address, for that may be a password.
    """
    conninfo, settings = _taken_apart(url)
    _check(conninfo, "the postgresql address")
    direct = environment.get(DIRECT_URL)
    if direct:
        direct, _ = _taken_apart(direct)
        _check(direct, DIRECT_URL)
    return Address(
        conninfo,
        direct or conninfo,
        _schema(settings.get("schema")),
        _size(settings.get("pool_max_size", str(POOL_MAX_SIZE))),
        _switch(settings.get("prepared_statements", "off")),
    )


def _taken_apart(url: str) -> tuple[str, dict[str, str]]:
    """Return an address without our settings, and those."""
    location, _, query = url.partition("?")
    ours: dict[str, str] = {}
    others = []
    for setting in filter(None, query.split("&")):
        name, _, value = setting.partition("=")
        if name in SETTINGS:
            ours[name] = unquote(value)
        else:
            others.append(setting)  # as it stands: libpq reads percents its own way
    return f"{location}?{'&'.join(others)}" if others else location, ours


def _check(conninfo: str, what: str) -> None:
    try:
        conninfo_to_dict(conninfo)
    except ProgrammingError as error:
        reason = str(error).partition('"')[0].strip(": \n")  # what is quoted may be a password
        raise ConfigError(f"{what} cannot be read: {reason}") from None


def _schema(name: str | None) -> str | None:
    if name is None:
        return None
    if not name or "\x00" in name or len(name.encode()) > MAX_NAME_BYTES:
        raise ConfigError(f"schema has 1 to {MAX_NAME_BYTES} bytes, not {name!r}")
    return name


def _size(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"pool_max_size is a number of connections from 1, not {text!r}")
    return int(text)


def _switch(text: str) -> bool:
    if text not in _SWITCH:
        raise ConfigError(f"prepared_statements is on or off, not {text!r}")
    return _SWITCH[text]
