"""Which migrations a store still needs; how they run is the driver's business.

A driver keeps its migrations as files ``0001_name.sql`` in a package, numbered from 1 without
gaps, and records the numbers it has run in a ledger: one for everything the database holds. A
file that was released is never changed.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib import resources

from threadkeep.errors import SchemaTooNewError

_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)(\.online)?\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from a schema to the next.

    Attributes:
        number: Its place in the order.
        name: What it makes.
        sql: Its statements.
        is_online: Whether it runs outside of a transaction, beside others that write: its file
            ends in ``.online.sql``.
    """

    number: int
    name: str
    sql: str
    is_online: bool = False


def load(package: str) -> Sequence[Migration]:
    """Read a driver's migrations, in order.

    Raises:
        ValueError: The numbers are not 1, 2, 3 and so on.
    """
    found = [
        Migration(int(match[1]), match[2], file.read_text(encoding="utf-8"), bool(match[3]))
        for file in resources.files(package).iterdir()
        if (match := _FILE.fullmatch(file.name))
    ]
    found.sort(key=lambda migration: migration.number)
    if [migration.number for migration in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"the migrations of {package} are not numbered 1, 2, 3 and so on")
    return found


def pending(migrations: Sequence[Migration], applied: Collection[int]) -> Sequence[Migration]:
    """Return the migrations that have not run, in order.

    Raises:
        SchemaTooNewError: The ledger has one that is not known here.
    """
    newest = len(migrations)
    unknown = [number for number in applied if number > newest]
    if unknown:
        raise SchemaTooNewError(
            f"the store has schema {max(unknown)}, this release knows up to {newest}: upgrade "
            "threadkeep"
        )
    return [migration for migration in migrations if migration.number not in applied]
