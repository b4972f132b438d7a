"""The collections that a document store hosts, and what their documents declare."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Scalar = str | int | bytes | None
Key = tuple[Scalar, ...]

REF_BYTES = 12  # an address: 10^6 threads of 10^5 documents collide with odds of 6e-14

CHECKPOINTS = "langgraph_checkpoints_v2"
WRITES = "langgraph_writes_v2"
BLOBS = "langgraph_blobs_v2"
ITEMS = "langgraph_items_v2"
PARTS = "langgraph_parts_v2"
# Of schema 1, one whole snapshot in a document: read, copied and deleted, never written any more.
CHECKPOINTS_V1 = "langgraph_checkpoints_v1"
WRITES_V1 = "langgraph_writes_v1"

FieldType = Literal["text", "id", "integer", "bytes", "json"]


@dataclass(frozen=True, slots=True)
class Collection:
    """What the documents of one collection declare.

    Attributes:
        key: The key fields in order, each with its type; together they are the document's key,
            unique within (scope, thread). Keys order as tuples: ``text`` by code point, ``bytes``
            and ``integer`` (64 bits, signed) naturally. An ``id`` is text too; lowercase UUIDs
            order by code point before all other ids, which order by code point, so that a driver
            may keep a UUID as 16 bytes. (One that begins with ``ff`` counts as another id.)
        fields: The other declared fields. A value is of the field's type, or ``None``. ``json``
            holds the text of a JSON object, for ``HasEntry`` conditions.
        addressed: Documents are content-addressed: the key is the one field ``ref``, of
            ``REF_BYTES`` bytes, and documents of all addressed collections of a thread share one
            space of addresses.
        names: Whether documents may name others, in ``refs``.
        children: The collection whose documents belong to documents of this one: its key begins
            with this one's.
    """

    name: str
    key: Mapping[str, FieldType]
    fields: Mapping[str, FieldType] = field(default_factory=dict)
    addressed: bool = False
    names: bool = True
    children: str | None = None


# LangGraph's checkpoint ids are UUIDv6, so they order by time.
COLLECTIONS: Mapping[str, Collection] = {
    spec.name: spec
    for spec in (
        Collection(
            CHECKPOINTS,
            {"checkpoint_ns": "text", "checkpoint_id": "id"},
            {"parent_id": "id", "source": "text", "step": "integer", "meta": "bytes"},
            children=WRITES,
        ),
        Collection(
            WRITES,
            {
                "checkpoint_ns": "text",
                "checkpoint_id": "id",
                "task_id": "id",
                "part": "integer",
            },
        ),
        Collection(BLOBS, {"ref": "bytes"}, {"metadata": "json"}, addressed=True),
        Collection(ITEMS, {"ref": "bytes"}, addressed=True),
        Collection(PARTS, {"ref": "bytes"}, addressed=True),
        Collection(
            CHECKPOINTS_V1,
            {"checkpoint_ns": "text", "checkpoint_id": "id"},
            {"parent_id": "id"},
            names=False,
            children=WRITES_V1,
        ),
        Collection(
            WRITES_V1,
            {
                "checkpoint_ns": "text",
                "checkpoint_id": "id",
                "task_id": "id",
                "index": "integer",
            },
            names=False,
        ),
    )
}
