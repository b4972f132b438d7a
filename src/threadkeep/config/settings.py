"""The environment: one frozen ``Settings``, each field with its variable, unit and default."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import quote

from threadkeep.config.explain import nearest
from threadkeep.errors import ConfigError
from threadkeep.model.deliveries import DELIVERY_KEPT_SECONDS
from threadkeep.model.queries import MAX_PAGE_SIZE
from threadkeep.ports.bus import EVENTS_KEPT_SECONDS, EVENTS_PER_RUN, FINISHED_RUNS_KEPT
from threadkeep.ports.drivers import DATABASE_VARIABLES, configured_database

PREFIX = "THREADKEEP_"
SECRET_KEY = "THREADKEEP_SECRET_KEY"
ENCRYPTION_KEYS = "THREADKEEP_ENCRYPTION_KEYS"
WEBHOOK_SECRET = "THREADKEEP_WEBHOOK_SECRET"
MAX_JOBS = 10_000  # runs; a look for pending ones takes as many slots as there are
MOST = 10**9  # of anything that is counted
MOST_SECONDS = 366 * 24 * 3600  # a year; clocks and timers have an end
DATABASE_FILE = ".threadkeep/threadkeep.db"

# Variables of this project that mean a protection or a source of data: neglecting one would
# mislead, so a value is refused as long as nothing honours it.
REFUSED = {
    "THREADKEEP_READ_THROUGH_URL": "reading through to an older saver is not served yet, so its "
    "threads would look empty",
}
# Accepted, and named once in a warning.
NOT_SERVED = ("THREADKEEP_REDIS_URL", "THREADKEEP_ADMINS")
# Read by the driver of the database, where it has a use for it.
OF_DRIVERS = ("THREADKEEP_DATABASE_DIRECT_URL",)


def _whole(text: str) -> int:
    return int(text)


def _positive(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


@dataclass(frozen=True, slots=True)
class Variable:
    """How one setting is read.

    Attributes:
        name: The environment variable.
        expected: What may stand there, in words.
        parse: Text to value; raises ``ValueError``.
        least: The smallest value accepted.
        most: The largest.
        unit: Of the number; empty for a count.
        says: What the setting does, for the reference page.
    """

    name: str
    expected: str
    parse: Callable[[str], Any]
    least: float
    most: float
    unit: str
    says: str


def _count(name: str, default: int, unit: str, says: str, *, most: int = MOST) -> Any:
    expected = f"a whole number from 1 to {most}"
    variable = Variable(PREFIX + name, expected, _whole, 1, most, unit, says)
    return field(default=default, metadata={"variable": variable})


def _seconds(name: str, default: float | None, says: str, *, least: float) -> Any:
    expected = f"a number of seconds from {least:g} to {MOST_SECONDS}"
    variable = Variable(PREFIX + name, expected, _positive, least, MOST_SECONDS, "seconds", says)
    return field(default=default, metadata={"variable": variable})


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment decides.

    Attributes:
        database_url: Where everything is kept; see ``DATABASE_VARIABLES`` for who decides.
        secret_key: Encrypts the secrets of runs that wait; ``None`` keeps them in memory.
        encryption_keys: Those of savers that encrypt, for `verify`; the first one writes.
        webhook_secret: Signs webhooks; ``None`` leaves them unsigned.
        warnings: What was found and is not honoured, one sentence each.
    """

    database_url: str
    max_page_size: int = _count(
        "MAX_PAGE_SIZE",
        MAX_PAGE_SIZE,
        "rows",
        "The largest page of any list or search; a request may name 1,000 at most.",
    )
    max_body_bytes: int = _count(
        "MAX_BODY_BYTES", 32 * 1024 * 1024, "bytes", "The largest request body."
    )
    events_per_run: int = _count(
        "EVENTS_PER_RUN",
        EVENTS_PER_RUN,
        "events",
        "Events kept for readers that come back, per run.",
    )
    finished_runs_kept: int = _count(
        "FINISHED_RUNS_KEPT",
        FINISHED_RUNS_KEPT,
        "runs",
        "Finished runs whose events are still kept.",
    )
    events_kept_seconds: float = _seconds(
        "EVENTS_KEPT_SECONDS",
        EVENTS_KEPT_SECONDS,
        "How long the events of a finished run are kept for readers that come back.",
        least=1,
    )
    deliveries_kept_seconds: float = _seconds(
        "DELIVERIES_KEPT_SECONDS",
        DELIVERY_KEPT_SECONDS,
        "How long a webhook that arrived or was given up is kept, to be looked up or sent anew.",
        least=1,
    )
    heartbeat_seconds: float = _seconds(
        "HEARTBEAT_SECONDS", 15.0, "Silence on a stream after which a comment is sent.", least=0.1
    )
    lease_seconds: float = _seconds(
        "LEASE_SECONDS",
        30.0,
        "How long a process that says nothing still owns its runs; after it, the runs of a "
        "process that is gone fail and their threads are free.",
        least=0.5,
    )
    run_timeout_seconds: float | None = _seconds(
        "RUN_TIMEOUT_SECONDS", None, "A run that takes longer ends with `timeout`.", least=0.001
    )
    jobs: int = _count(
        "JOBS", 10, "runs", "Runs that one process executes at the same time.", most=MAX_JOBS
    )
    secret_key: str | None = field(default=None, repr=False)
    encryption_keys: tuple[str, ...] = field(default=(), repr=False)
    webhook_secret: str | None = field(default=None, repr=False)
    warnings: tuple[str, ...] = ()


def variables() -> Mapping[str, tuple[Variable, Any]]:
    """Return each field that one variable decides, with its variable and default."""
    return {
        item.name: (item.metadata["variable"], item.default)
        for item in fields(Settings)
        if "variable" in item.metadata
    }


def read_settings(
    environment: Mapping[str, str], *, folder: Path, database: str | None = None
) -> Settings:
    """Read the settings; an empty variable counts as absent.

    Args:
        environment: ``os.environ`` with the project's ``env`` below it.
        folder: Where the database file lies when no variable names a database.
        database: A storage address that wins over the variables, which are not read then.

    Raises:
        ConfigError: A value is wrong, or a variable asks for what is not served; names the
            variable, the value and what is expected. A database address is never shown.
    """
    _refuse(environment)
    values = {
        name: _value(variable, environment)
        for name, (variable, _) in variables().items()
        if environment.get(variable.name)
    }
    return Settings(
        database_url=database or database_url(environment, folder=folder),
        secret_key=environment.get(SECRET_KEY) or None,
        encryption_keys=_keys(environment.get(ENCRYPTION_KEYS, "")),
        webhook_secret=environment.get(WEBHOOK_SECRET) or None,
        warnings=_warnings(environment),
        **values,
    )


def database_url(environment: Mapping[str, str], *, folder: Path) -> str:
    """Return the storage address: the first of ``DATABASE_VARIABLES``, else a file in ``folder``.

    Raises:
        ConfigError: No installed driver serves the variable's address.
    """
    found = configured_database(environment)
    if found is not None:
        return found[1]
    return f"sqlite:///{quote(str(folder.absolute() / DATABASE_FILE))}"


def _value(variable: Variable, environment: Mapping[str, str]) -> Any:
    text = environment[variable.name]
    try:
        value = variable.parse(text)
    except ValueError:
        value = None
    if value is None or not variable.least <= value <= variable.most:
        raise ConfigError(f"{variable.name}: found {text!r}; expected {variable.expected}")
    return value


def _keys(text: str) -> tuple[str, ...]:
    return tuple(key for part in text.split(",") if (key := part.strip()))


def _refuse(environment: Mapping[str, str]) -> None:
    for name, reason in REFUSED.items():
        if environment.get(name):
            raise ConfigError(f"{name}: {reason}. Unset it to go on without it")


def _warnings(environment: Mapping[str, str]) -> tuple[str, ...]:
    known = {variable.name for variable, _ in variables().values()}
    known |= {
        SECRET_KEY,
        ENCRYPTION_KEYS,
        WEBHOOK_SECRET,
        *DATABASE_VARIABLES,
        *OF_DRIVERS,
        *REFUSED,
        *NOT_SERVED,
    }
    ours = sorted(name for name in environment if name.startswith(PREFIX))
    unknown = [n for n in ours if n not in known and not n.startswith(PREFIX + "TEST_")]
    return (
        *(f"{name} is not served yet and has no effect" for name in ours if name in NOT_SERVED),
        *(f"{name} is no setting of threadkeep{nearest(name, known)}" for name in unknown),
    )
