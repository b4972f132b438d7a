"""Named statements of the resources on PostgreSQL: units of work as operations.

A unit that reads once is one statement of its own. One that reads more is begun anew in a
transaction that sees one state; one that writes is a transaction, in which each statement sees what
was committed before it: what a unit must not lose sight of it locks first.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Any, TypeVar

from threadkeep.drivers.postgres.database import PostgresDatabase
from threadkeep.drivers.postgres.entry_digests import digest_list
from threadkeep.drivers.postgres.queries import Operation, Query, Unit
from threadkeep.drivers.postgres.search_forms import odd_form, searchable
from threadkeep.drivers.sql.database import All, One, Run, Work
from threadkeep.drivers.sql.rows import labels_of
from threadkeep.drivers.sql.store import SHARED, SHARED_STATEMENTS
from threadkeep.rules.json_text import decode_json

T = TypeVar("T")

LOCKS = 256  # numbers that addresses share: bounds the locks of one transaction
LOCK_CLASS = 0x7468_6B70  # "thkp": the upper half of these numbers


class _More(Enum):
    """What is answered for a unit that reads more than once."""

    MORE = "more"


def _optional_searchable(text: str | None) -> str | None:
    return None if text is None else searchable(text)


def _locks(addresses: list[tuple[bytes, str]]) -> list[int]:
    return sorted({_lock(path + key.encode()) for path, key in addresses})


def _lock(address: bytes) -> int:
    digest = hashlib.blake2b(address, digest_size=2).digest()
    return LOCK_CLASS << 32 | int.from_bytes(digest, "big") % LOCKS


# What statements bind beside what the repos give: of what, and how it is made of it.
DERIVED: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "metadata_search": ("metadata", searchable),
    "values_search": ("values", _optional_searchable),
    "value_search": ("value", odd_form),
    "entries": ("value", digest_list),
    "labels": ("path", lambda path: list(labels_of(path))),
    "name_folded": ("name", str.casefold),
    "run_ids_listed": ("run_ids", decode_json),
    "item_ids_listed": ("item_ids", decode_json),
    "address_locks": ("addresses", _locks),
}


class _Bound(dict[str, Any]):
    """Parameters, and what is derived of them when a statement names it."""

    def __missing__(self, name: str) -> Any:
        source, derive = DERIVED[name]
        return derive(self[source])


def derived(bag: Mapping[str, Any], columns: Sequence[str]) -> list[Any]:
    """Return the values of columns, made of a bag of the repos."""
    known = bound(bag)
    return [known[column] for column in columns]


def bound(bag: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what statements bind: a bag of the repos, and what is derived of it."""
    return _Bound(bag)


class PostgresResourceDatabase:
    """Satisfies ``Database``."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._statements = dict(database.load("resources.sql"))
        for filename in SHARED_STATEMENTS:
            self._statements.update(database.load(filename, package=SHARED))
        for filename in ("item_ranking.sql", "item_vectors.sql"):
            self._statements.update(database.load(filename))

    def define(self, name: str, text: str) -> None:
        """Make a statement known that is made of another one."""
        self._statements[name] = text

    def text(self, name: str) -> str:
        """Return a statement."""
        return self._statements[name]

    async def read(self, work: Callable[[], Work[T]]) -> T:
        """See ``Database.read``."""
        if isinstance(next(work(), None), One):
            found = await self._database.arun(Operation("read", partial(self._once, work)))
            if found is not _More.MORE:
                return found
        unit = partial(self._unit, work)
        return await self._database.arun(Operation("read", unit, atomic=True, is_snapshot=True))

    async def write(self, work: Callable[[], Work[T]]) -> T:
        """See ``Database.write``; a connection lost at the very end is an error, see ``Raises``.

        Raises:
            UnavailableError: Also where it is not known whether the transaction was committed.
        """
        unit = partial(self._unit, work)
        operation = Operation("write", unit, atomic=True, is_repeatable=False)
        return await self._database.write(operation)

    def _unit(self, work: Callable[[], Work[T]]) -> Unit[T]:
        steps = work()
        answer: Any = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as done:
                result: T = done.value
                return result
            answer = yield from self._step(step)

    def _once(self, work: Callable[[], Work[T]]) -> Unit[T | _More]:
        steps = work()
        answer = yield from self._step(next(steps))
        try:
            steps.send(answer)
        except StopIteration as done:
            result: T = done.value
            return result
        steps.close()
        return _More.MORE

    def _step(self, step: One | All | Run) -> Unit[Any]:
        where = step.where.replace("{schema}", self._database.prefix)
        text = self._statements[step.statement].replace("{where}", where)
        if isinstance(step, Run):
            bags = [step.parameters] if isinstance(step.parameters, Mapping) else step.parameters
            changed = 0
            for bag in bags:
                changed += yield Query(text, _Bound(bag), "count")
            return changed
        rows = yield Query(text, _Bound(step.parameters), "named")
        if isinstance(step, All):
            return rows
        return rows[0] if rows else None
