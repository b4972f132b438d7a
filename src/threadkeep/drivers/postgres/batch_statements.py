"""The statement of a batch, put together of the parts that it needs."""

from collections.abc import Mapping, Sequence

# The arrays of each part of a statement, in the order of the rows' columns.
ARRAYS = {
    "add_documents": ("add_kinds", "add_refs", "add_named", "add_bodies"),
    "add_documents_with_metadata": (
        "add_kinds", "add_refs", "add_named", "add_bodies", "add_metadata", "add_entries",
    ),
    "put_documents": (
        "put_kinds", "put_refs", "put_named", "put_bodies", "put_metadata", "put_entries",
    ),
    "add_checkpoints": (
        "add_ns", "add_ids", "add_parents", "add_sources", "add_steps", "add_metas",
        "add_checkpoint_refs", "add_checkpoint_bodies",
    ),
    "put_checkpoints": (
        "put_ns", "put_ids", "put_parents", "put_sources", "put_steps", "put_metas",
        "put_checkpoint_refs", "put_checkpoint_bodies",
    ),
    "add_writes": (
        "add_write_ns", "add_write_ids", "add_tasks", "add_parts", "add_write_refs",
        "add_write_bodies",
    ),
    "put_writes": (
        "put_write_ns", "put_write_ids", "put_tasks", "put_parts", "put_write_refs",
        "put_write_bodies",
    ),
    "required_checkpoints": ("required_ns", "required_ids"),
    "required_writes": (
        "required_write_ns", "required_write_ids", "required_tasks", "required_parts",
    ),
    "required_documents": ("required_refs", "required_kinds"),
    "after": ("after_ns", "after_ids", "after_made"),
}  # fmt: skip

LEASE = "lease"
AFTER = "after"
_REQUIRED = "required_"
_NEEDED = (LEASE, AFTER, _REQUIRED)
_ANSWERS = {"{checkpoints}": "checkpoints", "{writes}": "writes"}


class BatchStatements:
    """Puts statements together, and keeps them: there are some dozens of forms.

    Args:
        texts: The statements of ``document_writes.sql``.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._made: dict[tuple[str, tuple[str, ...]], str] = {}

    @property
    def make_thread(self) -> str:
        """The statement that makes a thread's row where there is none."""
        return self._texts["make_thread"]

    def text(self, thread: str, parts: tuple[str, ...]) -> str:
        """Return the statement.

        Args:
            thread: The part that finds the thread.
            parts: What it needs, and those that write documents.
        """
        made = self._made.get((thread, parts))
        if made is None:
            made = self._made[thread, parts] = self._make(thread, parts)
        return made

    def _make(self, thread: str, parts: tuple[str, ...]) -> str:
        needed = [part for part in parts if part.startswith(_NEEDED)]
        written = [part for part in parts if not part.startswith(_NEEDED)]
        expressions = [
            *(self._texts[part] for part in (thread, *needed)),
            self._texts["target"].replace("{conditions}", self._conditions(needed)),
            *(self._texts[part] for part in written),
        ]
        answer = self._texts["answer"]
        for place, table in _ANSWERS.items():
            is_added = f"add_{table}" in written
            answer = answer.replace(place, self._texts[f"answer_{table}"] if is_added else "NULL")
        answer = answer.replace("{stale}", self._texts["is_stale"] if LEASE in needed else "false")
        answer = answer.replace(
            "{erased}", self._texts["is_erased"] if AFTER in needed else "false"
        )
        return f"WITH {', '.join(expressions)} {answer}"

    def _conditions(self, needed: Sequence[str]) -> str:
        conditions = []
        if LEASE in needed:
            conditions.append(f"NOT ({self._texts['is_stale']})")
        if AFTER in needed:
            conditions.append(f"NOT ({self._texts['is_erased']})")
        required = [part for part in needed if part.startswith(_REQUIRED)]
        if required:
            count = self._texts["count_of_required"]
            counts = " + ".join(count.replace("{part}", part) for part in required)
            conditions.append(self._texts["has_required"].replace("{counts}", counts))
        return " AND ".join(conditions) or "true"
