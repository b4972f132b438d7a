"""The documents of naas-abi-core on PostgreSQL: in the schema that the address names."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from threadkeep.drivers.postgres.database import PostgresDatabase
from threadkeep.drivers.postgres.queries import Operation, Query, Row, Unit
from threadkeep.ports.seed_documents import SeedFind


class PostgresSeedDocuments:
    """Satisfies ``SeedDocuments``."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._statements = database.load("seed_documents.sql")

    def find(self, find: SeedFind) -> Sequence[tuple[str, str]]:
        """See ``SeedDocuments.find``."""
        after, after_id = find.after or (None, None)
        given = {"namespace": find.namespace, "collection": find.collection}
        more = {"before": find.before, "after": after, "after_id": after_id, "limit": find.limit}
        rows = self._rows(
            "find_seed_documents", {**given, **more, "fields": json.dumps(dict(find.fields))}
        )
        return [(ident, text) for ident, text in rows]

    def fetch(self, namespace: str, collection: str, ids: Sequence[str]) -> Sequence[str]:
        """See ``SeedDocuments.fetch``."""
        given = {"namespace": namespace, "collection": collection, "ids": [*ids]}
        return [text for (text,) in self._rows("fetch_seed_documents", given)]

    def threads(self, namespace: str, collection: str, agent_id: str) -> Sequence[str]:
        """See ``SeedDocuments.threads``."""
        fields = json.dumps({"agent_id": agent_id})
        given = {"namespace": namespace, "collection": collection, "fields": fields}
        return [thread_id for (thread_id,) in self._rows("list_seed_threads", given)]

    def _rows(self, name: str, given: Mapping[str, Any]) -> Sequence[Row]:
        def unit() -> Unit[Sequence[Row]]:
            rows: Sequence[Row] = yield Query(self._statements[name], given)
            return rows

        return self._database.run(Operation(name, unit))
