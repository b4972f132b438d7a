"""Checkpoints as naas-abi-core keeps them, schema 1 and 2: what documents say and name.

Schema 2 has a checkpoint without its values; each is stated inline, or is a blob, which has it or
names chunks of elements. What is large is in parts. All is addressed by text, whose first letter
says in which collection.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from threadkeep.checkpoints.codec import Serde
from threadkeep.checkpoints.schema1 import typed
from threadkeep.errors import CorruptionError

NAMESPACE, AGENT_ID = "naas_abi_core.services.agent", "engine.v1"  # of the engine's own agents
CHECKPOINTS, WRITES = "langgraph_checkpoints_v2", "langgraph_writes_v2"
_COLLECTION = {
    "b": "langgraph_blobs_v2",
    "c": "langgraph_items_v2",
    "e": "langgraph_items_v2",
    "p": "langgraph_parts_v2",
}

Said = Mapping[str, Any]
Documents = Mapping[str, Said]  # by reference


def document_id(agent_id: str, *parts: Any) -> str:
    """Name a document, as naas-abi-core does: by what it is of."""
    return hashlib.sha256(json.dumps([agent_id, *parts]).encode()).hexdigest()


def collection_of(ref: str) -> str:
    """Tell in which collection a reference leads.

    Raises:
        CorruptionError: In none.
    """
    if type(ref) is not str or ref[:1] not in _COLLECTION:
        raise CorruptionError(f"{ref!r} is no reference")
    return _COLLECTION[ref[0]]


def references(said: Said) -> Iterator[str]:
    """Iterate over what a document of schema 2 names."""
    for name in ("checkpoint", "metadata", "value"):
        yield from _parts(said.get(name))
    for entry in (said.get("channels") or {}).values():
        yield from [entry["blob"]] if "blob" in entry else _parts(entry.get("value"))
    yield from said.get("chunks") or ()
    yield from (ref for ref, _ in said.get("elements") or ())


def value(said: Said, name: str, found: Documents, serde: Serde) -> Any:
    """Make a value that a document states, whole or in parts.

    Raises:
        CorruptionError: It states none, or its parts do not make it up.
    """
    stored = said.get(name)
    if type(stored) is dict and "parts" in stored:
        pieces = [_of(ref, found).get("payload") for ref in stored["parts"]]
        payload = b"".join(piece for piece in pieces if type(piece) is bytes)
        if len(payload) != stored.get("size"):
            raise CorruptionError(f"the parts of its {name!r} do not make it up")
        return serde.loads_typed((stored["kind"], payload))
    return serde.loads_typed(typed(said, name))


def checkpoint(said: Said, found: Documents, serde: Serde) -> dict[str, Any]:
    """Make a checkpoint of either schema, values and all.

    Raises:
        CorruptionError: Something in it is not what it should be.
    """
    made = value(said, "checkpoint", found, serde)
    if type(made) is not dict or made.get("id") != said.get("checkpoint_id"):
        raise CorruptionError("what it holds is no checkpoint, or another one")
    if said["_schema"] == 1:
        return made
    values = {
        name: _channel(entry, found, serde) for name, entry in (said.get("channels") or {}).items()
    }
    return {**made, "channel_values": values}


def _channel(entry: Said, found: Documents, serde: Serde) -> Any:
    if "blob" not in entry:
        return value(entry, "value", found, serde)
    blob = _of(entry["blob"], found)
    if "chunks" not in blob:
        return value(blob, "value", found, serde)
    refs: Iterable[str] = (
        ref for chunk in blob["chunks"] for ref, _ in _of(chunk, found)["elements"]
    )
    return [value(_of(ref, found), "value", found, serde) for ref in refs]


def _parts(stored: Any) -> Iterable[str]:
    return stored["parts"] if type(stored) is dict and "parts" in stored else ()


def _of(ref: str, found: Documents) -> Said:
    if ref not in found:
        raise CorruptionError(f"the document {ref!r} is not stored")
    return found[ref]
