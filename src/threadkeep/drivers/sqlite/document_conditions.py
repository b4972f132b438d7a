"""Conditions of a ``Find`` as SQL: the only place, beside the statements, where SQL stands.

Values are bound, never written into the text. In every statement ``t`` is the thread's row and
``d`` the document's.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from threadkeep.drivers.sql.keyed import LIES_WITH, NAMESPACE, pack_field, pack_key
from threadkeep.drivers.sql.packing import pack_text
from threadkeep.drivers.sqlite.document_rows import KIND_OF, kinds_of
from threadkeep.ports.documents import (
    BLOBS,
    CHECKPOINTS,
    CHECKPOINTS_V1,
    COLLECTIONS,
    ITEMS,
    PARTS,
    WRITES,
    WRITES_V1,
    Below,
    Condition,
    Find,
    HasEntry,
    In,
    Is,
    Scalar,
    Scope,
)

_COLUMNS: Mapping[str, Mapping[str, str]] = {
    CHECKPOINTS: {
        "checkpoint_ns": "d.ns",
        "checkpoint_id": "d.id",
        "parent_id": "d.parent",
        "source": "d.source",
        "step": "d.step",
        "meta": "d.meta",
    },
    WRITES: {
        "checkpoint_ns": "d.ns",
        "checkpoint_id": "d.id",
        "task_id": "d.task",
        "part": "d.part",
    },
    CHECKPOINTS_V1: {"checkpoint_ns": "d.ns", "checkpoint_id": "d.id", "parent_id": "d.parent"},
    WRITES_V1: {
        "checkpoint_ns": "d.ns",
        "checkpoint_id": "d.id",
        "task_id": "d.task",
        "index": "d.part",
    },
    BLOBS: {"ref": "d.ref"},
    ITEMS: {"ref": "d.ref"},
    PARTS: {"ref": "d.ref"},
}

# ``m`` is the document's metadata, in the statements for entries. The entry is looked for as plain
# bytes first: in a text without a backslash nothing is escaped.
_HAS_ENTRY = (
    "(instr(m.metadata, x'5c') OR (instr(m.metadata, {name}) AND instr(m.metadata, {hint})))"
    " AND has_entry(m.metadata, {entry}, {value})"
)


class Conditions:
    """What ``{where}`` stands for, and the values bound in it."""

    def __init__(self, scope: Scope, find: Find) -> None:
        self.parameters: dict[str, Any] = {
            "namespace": pack_text(scope.namespace),
            "agent_id": pack_text(scope.agent_id),
            "bodies": find.bodies,
            "limit": find.limit + 1,  # one more tells whether the page was cut
        }
        self._find = find
        self._columns = _COLUMNS[find.collection]
        self._parts: list[str] = []
        if find.thread_id is not None:
            self.parameters["thread_id"] = pack_text(find.thread_id)
            self._parts.append("t.thread_id = :thread_id")
        if find.collection in KIND_OF:
            kinds = ", ".join(map(str, kinds_of(find.collection)))
            self._parts.append(f"d.kind IN ({kinds})")
        elif not any(isinstance(one, Is) and one.name == NAMESPACE for one in find.where):
            self._parts.append(f"d.ns {'>=' if find.collection in LIES_WITH else '<'} x'ff'")
        for condition in find.where:
            self._parts.append(self._fragment(condition))

    @property
    def text(self) -> str:
        """The conditions, to follow others."""
        return "".join(f" AND {part}" for part in self._parts)

    def follow(self) -> None:
        """Add that only what comes after ``find.after`` is wanted."""
        if self._find.after is None:
            return
        thread_id, key = self._find.after
        thread = self._bind(pack_text(thread_id))
        names = COLLECTIONS[self._find.collection].key
        columns = [self._columns[name] for name in names]
        values = [self._bind(value) for value in pack_key(self._find.collection, key)]
        if self._find.newest_first:
            ties = f"({', '.join([*columns[:-1], 't.thread_id'])})"
            tied = f"({', '.join([*values[:-1], thread])})"
            # The first part is implied by the second; it is what an index can seek.
            self._parts.append(f"{columns[-1]} <= {values[-1]}")
            self._parts.append(f"({columns[-1]} < {values[-1]} OR {ties} > {tied})")
        else:
            self._parts.append(f"t.thread_id >= {thread}")
            same = f"({', '.join(columns)}) > ({', '.join(values)})"
            if self._find.thread_id == thread_id:
                self._parts.append(same)
            else:
                self._parts.append(f"(t.thread_id > {thread} OR {same})")

    def _bind(self, value: Any) -> str:
        name = f"p{len(self.parameters)}"
        self.parameters[name] = value
        return f":{name}"

    def _fragment(self, condition: Condition) -> str:
        match condition:
            case Is(name, None):
                return f"{self._column(name)} IS NULL"
            case Is(name, value):
                return f"{self._column(name)} = {self._packed(name, value)}"
            case In(name, values):
                return self._any_of(name, values)
            case Below(name, value):
                return f"{self._column(name)} < {self._packed(name, value)}"
            case HasEntry():
                return self._has_entry(condition)

    def _any_of(self, name: str, values: Sequence[Scalar]) -> str:
        column = self._column(name)
        bound = [self._packed(name, value) for value in values if value is not None]
        fragment = f"{column} IN ({', '.join(bound)})"
        return f"({fragment} OR {column} IS NULL)" if None in values else fragment

    def _has_entry(self, condition: HasEntry) -> str:
        return _HAS_ENTRY.format(
            name=self._bind(pack_text(f'"{condition.entry}"')),
            hint=self._bind(pack_text(_hint(condition.value))),
            entry=self._bind(pack_text(condition.entry)),
            value=self._bind(pack_text(condition.value)),
        )

    def _column(self, name: str) -> str:
        return self._columns[name]

    def _packed(self, name: str, value: Scalar) -> str:
        return self._bind(pack_field(self._find.collection, name, value))


def _hint(value: str) -> str:
    """Return what stands in every unescaped JSON text that holds a value; nothing always does."""
    wanted = json.loads(value)
    if isinstance(wanted, str):
        return f'"{wanted}"'
    if wanted is None or isinstance(wanted, bool):
        return json.dumps(wanted)
    return ""
