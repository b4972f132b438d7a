"""The documents of naas-abi-core in a SQLite file."""

import json
from collections.abc import Sequence
from functools import partial

from threadkeep.drivers.sqlite.database import SqliteDatabase
from threadkeep.drivers.sqlite.sessions import Session
from threadkeep.ports.seed_documents import FIELDS, SeedFind


class SqliteSeedDocuments:
    """Satisfies ``SeedDocuments``. No index of the file is ours to use: a question reads it all."""

    def __init__(self, database: SqliteDatabase) -> None:
        database.load("threadkeep.drivers.sqlite", "seed_documents.sql")
        self._database = database

    def find(self, find: SeedFind) -> Sequence[tuple[str, str]]:
        """See ``SeedDocuments.find``."""
        after, after_id = find.after or (None, None)
        given = {name: find.fields.get(name) for name in FIELDS}
        given |= {"namespace": find.namespace, "collection": find.collection}
        given |= {"before": find.before, "after": after, "after_id": after_id}
        return self._database.read_now(
            partial(
                Session.all, name="find_seed_documents", parameters={**given, "limit": find.limit}
            )
        )

    def fetch(self, namespace: str, collection: str, ids: Sequence[str]) -> Sequence[str]:
        """See ``SeedDocuments.fetch``."""
        given = {"namespace": namespace, "collection": collection, "ids": json.dumps([*ids])}
        read = partial(Session.all, name="fetch_seed_documents", parameters=given)
        return [text for (text,) in self._database.read_now(read)]

    def threads(self, namespace: str, collection: str, agent_id: str) -> Sequence[str]:
        """See ``SeedDocuments.threads``."""
        given = {"namespace": namespace, "collection": collection, "agent_id": agent_id}
        read = partial(Session.all, name="list_seed_threads", parameters=given)
        return [thread_id for (thread_id,) in self._database.read_now(read)]
