"""Which checkpoints of schema 1 a thread has, for those who delete some: keys, and few bodies."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.metadata import DELTA_COUNTERS
from threadkeep.checkpoints.schema1 import read_body, typed
from threadkeep.checkpoints.steps import Steps
from threadkeep.checkpoints.structure import Metadata, Structure
from threadkeep.ports.documents import (
    CHECKPOINTS_V1,
    WRITES_V1,
    Document,
    Find,
    Is,
    Key,
    Page,
)


@dataclass(frozen=True, slots=True)
class Earlier:
    """A thread's checkpoints of schema 1.

    Attributes:
        thread_id: The thread.
        writes: The keys of each one's pending writes, by its key, in the order of keys.
    """

    thread_id: str
    writes: Mapping[Key, Sequence[Key]]

    def namespaces_with(self, structure: Structure) -> dict[str, list[Key]]:
        """Sort the keys of both schemas by namespace, oldest first; schema 1 comes before."""
        by_name: dict[str, list[Key]] = {}
        for key in self.writes:
            if key not in structure.checkpoints:
                by_name.setdefault(str(key[0]), []).append(key)
        for namespace, keys in structure.namespaces().items():
            by_name.setdefault(namespace, []).extend(keys)
        return by_name

    def seeds(self, structure: Structure, metadata: Metadata, kept: Collection[Key]) -> set[Key]:
        """Name those that the delta channels of schema 2 may begin at: parents of kept ones."""
        return {
            parent
            for key, parent in self._links(structure)
            if key in kept and structure.metadata(key, metadata).get(DELTA_COUNTERS)
        }

    def followers(self, structure: Structure, kept: Collection[Key]) -> list[Key]:
        """Name the kept checkpoints of schema 2 whose parent goes."""
        return [key for key, parent in self._links(structure) if key in kept and parent not in kept]

    def documents(self, gone: Iterable[Key]) -> list[tuple[str, Key]]:
        """Name the documents of some checkpoints: their writes, then themselves."""
        keys = list(gone)
        writes = [(WRITES_V1, write) for key in keys for write in self.writes[key]]
        return [*writes, *((CHECKPOINTS_V1, key) for key in keys)]

    def calls_that_go(
        self, every: Mapping[str, Sequence[Key]], kept: Collection[Key], codec: Codec
    ) -> Steps[set[Key]]:
        """Find the namespaces of subgraph calls whose root checkpoint is stored and goes."""
        roots = set(every.get("", ()))
        going: set[Key] = set()
        for namespace, keys in every.items():
            if ":" in namespace and keys[-1] in self.writes:
                where = [Is("checkpoint_ns", namespace), Is("checkpoint_id", keys[-1][1])]
                page: Page = yield Find(CHECKPOINTS_V1, self.thread_id, where, limit=1)
                for document in page.documents:
                    parents = metadata_of(document, codec).get("parents")
                    root = ("", parents.get("")) if isinstance(parents, dict) else None
                    if root in roots and root not in kept:
                        going.update(keys)
        return going

    def _links(self, structure: Structure) -> list[tuple[Key, Key]]:
        """List the checkpoints of schema 2 that follow one of schema 1, with that one."""
        named = [
            (key, (key[0], document.fields.get("parent_id")))
            for key, document in structure.checkpoints.items()
        ]
        return [
            (key, parent)
            for key, parent in named
            if parent in self.writes and parent not in structure.checkpoints
        ]


def read_earlier(thread_id: str) -> Steps[Earlier]:
    """Read which checkpoints of schema 1 a thread has: keys alone."""
    writes: dict[Key, list[Key]] = {}
    after: tuple[str, Key] | None = None
    while True:
        page: Page = yield Find(
            CHECKPOINTS_V1, thread_id, after=after, children=WRITES_V1, bodies=False
        )
        for document in page.documents:
            writes[document.key] = []
        for child in page.children:
            writes[child.key[:2]].append(child.key)
        if not page.more or not page.documents:
            return Earlier(thread_id, writes)
        after = thread_id, page.documents[-1].key


def runs_of(run_ids: Collection[str], codec: Codec) -> Steps[dict[str, list[Key]]]:
    """Find the checkpoints of schema 1 that some runs made, by thread; every body is read."""
    wanted = set(run_ids)
    found: dict[str, list[Key]] = {}
    after: tuple[str, Key] | None = None
    while wanted:
        page: Page = yield Find(CHECKPOINTS_V1, after=after)
        for document in page.documents:
            if metadata_of(document, codec).get("run_id") in wanted:
                found.setdefault(document.thread_id, []).append(document.key)
        if not page.more or not page.documents:
            break
        after = page.documents[-1].thread_id, page.documents[-1].key
    return found


def metadata_of(document: Document, codec: Codec) -> Mapping[str, Any]:
    """Make the metadata of a checkpoint of schema 1.

    Raises:
        CorruptionError: Its document is damaged.
    """
    metadata = codec.serde.loads_typed(typed(read_body(document), "metadata"))
    return metadata if isinstance(metadata, dict) else {}
