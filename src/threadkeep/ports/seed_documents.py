"""The document database of naas-abi-core, read: what threads were kept in before they came here.

A document is JSON text, tagged as ``checkpoints.schema1`` reads it. Nothing is ever written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from threadkeep.ports.drivers import Driver

FIELDS = ("agent_id", "thread_id", "checkpoint_ns", "checkpoint_id")  # that a question may name
FETCH_LIMIT = 500  # documents by id, at most, of one call


@dataclass(frozen=True, slots=True)
class SeedFind:
    """A question for documents of one collection, newest checkpoint first, ties by document id.

    Attributes:
        namespace: Whose documents.
        collection: Which of them.
        fields: What each of ``FIELDS`` that is named equals.
        before: Only checkpoint ids that order strictly below it, by code point; or ``None``.
        after: The checkpoint id and the document id of the last one read, or ``None``.
        limit: Documents wanted.
    """

    namespace: str
    collection: str
    fields: Mapping[str, str] = field(default_factory=dict)
    before: str | None = None
    after: tuple[str, str] | None = None
    limit: int = 1


class SeedDocuments(Protocol):
    """Blocking; safe to call from several threads."""

    def find(self, find: SeedFind) -> Sequence[tuple[str, str]]:
        """Read the id and the text of documents.

        Raises:
            StorageError: The backend failed, or is no database of naas-abi-core.
        """
        ...

    def fetch(self, namespace: str, collection: str, ids: Sequence[str]) -> Sequence[str]:
        """Read documents by id, at most ``FETCH_LIMIT``, in any order; absent ones are left out.

        Raises:
            StorageError: See ``find``.
        """
        ...

    def threads(self, namespace: str, collection: str, agent_id: str) -> Sequence[str]:
        """List the threads that a collection has documents of, in the order of their ids.

        Raises:
            StorageError: See ``find``.
        """
        ...


@runtime_checkable
class SeedDriver(Driver, Protocol):
    """A driver that can read such a database."""

    def seed_documents(self) -> SeedDocuments:
        """Return what reads it."""
        ...
