"""Conditions of a ``Find`` as SQL: the only place, beside the statements, where SQL stands.

Values are bound, never written into the text. In every statement ``d`` is the document's row and,
where no thread is given, ``t`` the thread's.
"""

from collections.abc import Mapping
from typing import Any

from threadkeep.drivers.postgres.document_rows import KIND_OF, pack_scope
from threadkeep.drivers.postgres.entry_digests import digest_of
from threadkeep.drivers.sql.keyed import LIES_WITH, NAMESPACE, pack_field, pack_key
from threadkeep.drivers.sql.packing import pack_text
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
    FieldType,
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
    BLOBS: {"ref": "d.ref", "metadata": "d.entries"},
    ITEMS: {"ref": "d.ref"},
    PARTS: {"ref": "d.ref"},
}

_TYPES: Mapping[FieldType, str] = {
    "text": "bytea",
    "id": "bytea",
    "bytes": "bytea",
    "integer": "bigint",
}


class Conditions:
    """What follows ``WHERE``, the order, and the values bound in both."""

    def __init__(self, scope: Scope, find: Find) -> None:
        self.parameters: dict[str, Any] = dict(pack_scope(scope, find.thread_id))
        self.thread = "t.thread_id" if find.thread_id is None else ":thread_id::bytea"
        self._find = find
        self._spec = COLLECTIONS[find.collection]
        self._columns = _COLUMNS[find.collection]
        self._parts: list[str] = []
        if find.collection in KIND_OF:
            self._parts.append(f"d.kind = {KIND_OF[find.collection]}")
        elif not any(isinstance(one, Is) and one.name == NAMESPACE for one in find.where):
            comes = ">=" if find.collection in LIES_WITH else "<"
            self._parts.append(f"d.ns {comes} '\\xff'::bytea")
        for condition in find.where:
            self._parts.append(self._fragment(condition))

    @property
    def text(self) -> str:
        """The conditions, to follow others."""
        return "".join(f" AND {part}" for part in self._parts)

    @property
    def order(self) -> str:
        """The order asked for; a thread that is given orders nothing."""
        names = [self._columns[name] for name in self._spec.key]
        threads = [] if self._find.thread_id is not None else ["t.thread_id"]
        if self._find.newest_first:
            return ", ".join([f"{names[-1]} DESC", *names[:-1], *threads])
        return ", ".join([*threads, *names])

    def follow(self) -> None:
        """Add that only what comes after ``find.after`` is wanted."""
        if self._find.after is None:
            return
        thread_id, key = self._find.after
        thread = self._bind(pack_text(thread_id), "bytea")
        names = [self._columns[name] for name in self._spec.key]
        kinds = self._spec.key.values()
        packed = pack_key(self._find.collection, key)
        values = [
            self._bind(value, _TYPES[kind]) for value, kind in zip(packed, kinds, strict=True)
        ]
        if self._find.newest_first:
            ties = f"({', '.join([*names[:-1], self.thread])})"
            tied = f"({', '.join([*values[:-1], thread])})"
            # The first part is implied by the second; it is what an index can seek.
            self._parts.append(f"{names[-1]} <= {values[-1]}")
            self._parts.append(f"({names[-1]} < {values[-1]} OR {ties} > {tied})")
            return
        self._parts.append(f"{self.thread} >= {thread}")
        same = f"({', '.join(names)}) > ({', '.join(values)})"
        if self._find.thread_id == thread_id:
            self._parts.append(same)
        else:
            self._parts.append(f"({self.thread} > {thread} OR {same})")

    def _bind(self, value: Any, type_name: str) -> str:
        name = f"p{len(self.parameters)}"
        self.parameters[name] = value
        return f":{name}::{type_name}"

    def _fragment(self, condition: Condition) -> str:
        column = self._columns[condition.name]
        match condition:
            case Is(_, None):
                return f"{column} IS NULL"
            case Is(name, value):
                return f"{column} = {self._packed(name, value)}"
            case In(name, values):
                packed = [self._pack(name, value) for value in values if value is not None]
                bound = self._bind(packed, f"{_TYPES[self._kind(name)]}[]")
                fragment = f"{column} = ANY ({bound})"
                return f"({fragment} OR {column} IS NULL)" if None in values else fragment
            case Below(name, value):
                return f"{column} < {self._packed(name, value)}"
            case HasEntry(_, entry, value):
                return f"{column} @> {self._bind([digest_of(entry, value)], 'uuid[]')}"

    def _kind(self, name: str) -> FieldType:
        return self._spec.key.get(name) or self._spec.fields[name]

    def _pack(self, name: str, value: Scalar) -> Any:
        return pack_field(self._find.collection, name, value)

    def _packed(self, name: str, value: Scalar) -> str:
        return self._bind(self._pack(name, value), _TYPES[self._kind(name)])
