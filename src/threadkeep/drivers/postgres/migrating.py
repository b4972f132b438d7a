"""Units of work that bring a schema up to date, one step after another.

A migration runs in a transaction, under an advisory lock of that transaction. One whose file ends
in ``.online.sql`` makes one index, of the migration's own name and concurrently, beside others who
go on writing: that runs outside of any transaction, under a lock of its session. Where it was cut
off it left an index that is invalid; the next who migrates drops that one and builds it anew.
"""

import hashlib
from collections.abc import Mapping
from enum import Enum

from threadkeep.drivers.postgres.address import DIRECT_URL, Address
from threadkeep.drivers.postgres.queries import Query, Unit
from threadkeep.drivers.sql import migrate
from threadkeep.errors import ConfigError

MIGRATIONS = "threadkeep.drivers.postgres.migrations"


class Step(Enum):
    """How far one step came."""

    DONE = "nothing is left"
    BUSY = "another process migrates"
    ONLINE = "next comes what no transaction may hold"
    BUILT = "that was done"


class Migrating:
    """The units of one schema.

    Args:
        address: The database, and the schema in it.
        statements: By name.
        package: Where the migrations are.
    """

    def __init__(
        self, address: Address, statements: Mapping[str, str], *, package: str = MIGRATIONS
    ) -> None:
        self._address = address
        self._statements = statements
        self._migrations = migrate.load(package)

    def look(self) -> Unit[Step]:
        """Say whether there is nothing to migrate: what nearly every start finds."""
        ledger = f"{self._address.prefix}threadkeep_migrations"
        ((has_ledger,),) = yield Query(self._statements["has_ledger"], {"ledger": ledger})
        if not has_ledger:
            return Step.BUSY
        return Step.BUSY if (yield from self._pending()) else Step.DONE

    def advance(self) -> Unit[Step]:
        """Run what is pending, up to the first that no transaction may hold; to be run in one."""
        lock = {"lock": self._lock_number("migrations")}
        ((is_locked,),) = yield Query(self._statements["try_lock"], lock)
        if not is_locked:
            return Step.BUSY
        if self._address.schema is not None:
            yield from self._make_schema(self._address.schema)
        yield Query(self._statements["create_ledger"])
        for migration in (yield from self._pending()):
            if migration.is_online:
                return Step.ONLINE
            yield Query(self._text(migration), None)
            yield from self._record(migration)
        return Step.DONE

    def build(self, session: int) -> Unit[Step]:
        """Make the index that is pending first; to be run outside of any transaction.

        Args:
            session: The number of the server's process, as the connection was told it.

        Raises:
            ConfigError: A pooler stands before the database, so that sessions are not ours.
        """
        ((own,),) = yield Query(self._statements["session"])
        if own != session:
            raise ConfigError(
                "an index is built in a session of its own, which the pooler before this database"
                f" does not give: set {DIRECT_URL} to the address of the database itself"
            )
        lock = {"lock": self._lock_number("indexes")}
        ((is_locked,),) = yield Query(self._statements["try_session_lock"], lock)
        if not is_locked:
            return Step.BUSY
        pending = yield from self._pending()
        if pending and pending[0].is_online:
            yield from self._build(pending[0])
        yield Query(self._statements["unlock_session"], lock)
        return Step.BUILT

    def _build(self, migration: migrate.Migration) -> Unit[None]:
        index = f"{self._address.prefix}{migration.name}"
        ((is_invalid,),) = yield Query(self._statements["is_invalid"], {"index": index})
        if is_invalid:
            yield Query(self._statements["drop_index"].replace("{index}", index), None)
        yield Query(self._text(migration), None)
        yield from self._record(migration)

    def _text(self, migration: migrate.Migration) -> str:
        return migration.sql.replace("{schema}", self._address.prefix)

    def _record(self, migration: migrate.Migration) -> Unit[None]:
        done = {"number": migration.number, "name": migration.name}
        yield Query(self._statements["record_migration"], done)

    def _make_schema(self, name: str) -> Unit[None]:
        # Looked for first: who may not create schemas may use one that is there.
        ((is_there,),) = yield Query(self._statements["has_schema"], {"name": name})
        if not is_there:
            quoted = self._address.prefix.removesuffix(".")
            yield Query(self._statements["create_schema"].replace("{name}", quoted))

    def _pending(self) -> Unit[list[migrate.Migration]]:
        rows = yield Query(self._statements["list_migrations"])
        applied = [number for (number,) in rows]
        return list(migrate.pending(self._migrations, applied))

    def _lock_number(self, what: str) -> int:
        """Return an advisory lock's number: of each kind one per schema, within the database."""
        name = f"threadkeep {what} {self._address.schema}".encode()
        digest = hashlib.blake2b(name, digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)
