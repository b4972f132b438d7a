"""Documents of schema 1: one whole snapshot in each checkpoint, one value in each pending write.

A body is JSON in UTF-8, in which ``{"$t": "bytes", "$v": base64}`` and ``{"$t": "datetime", "$v":
text}`` stand for what JSON has not, and a key that begins with ``$`` has one more. A value is
``{"kind", "payload"}``: what LangGraph's serializer made. None is written any more.
"""

import json
from base64 import b64decode
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from threadkeep.checkpoints.codec import Codec
from threadkeep.errors import CorruptionError, SchemaTooNewError
from threadkeep.ports.documents import COLLECTIONS, Document

SCHEMA = 1
_TAG, _HELD = "$t", "$v"


def read_body(document: Document) -> dict[str, Any]:
    """Give back what a document of schema 1 says, its values as they were serialized.

    Raises:
        CorruptionError: Its body is damaged, or is that of another document.
        SchemaTooNewError: It says that it is of another schema.
    """
    said = parse(document.body)
    if said.get("_schema") != SCHEMA:
        raise SchemaTooNewError(
            f"a document of {document.collection} says that it is of schema "
            f"{said.get('_schema')!r}: upgrade threadkeep"
        )
    # The thread it names may be another: that of which this one is a copy.
    names = COLLECTIONS[document.collection].key
    for name, value in zip(names, document.key, strict=True):
        if said.get(name) != value or type(said.get(name)) is not type(value):
            raise CorruptionError(f"its body is that of {name} {said.get(name)!r}")
    return said


def parse(body: bytes | str) -> dict[str, Any]:
    """Parse a tagged JSON object.

    Raises:
        CorruptionError: It is none.
    """
    try:
        said = json.loads(body)
        if type(said) is not dict or _TAG in said:
            raise ValueError("no object")
        return {_name(key): _untagged(value) for key, value in said.items()}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CorruptionError(f"a body of schema 1 that cannot be read: {error}") from error


def typed(said: Mapping[str, Any], name: str) -> tuple[str, bytes]:
    """Find a value as the serializer made it: its type's name and its bytes.

    Raises:
        CorruptionError: There is none of that name.
    """
    value = said.get(name)
    if type(value) is dict and type(value.get("kind")) is str:
        payload = value.get("payload")
        if type(payload) is bytes:
            return value["kind"], payload
    raise CorruptionError(f"its {name!r} is no value")


def check_checkpoint(document: Document) -> dict[str, Any]:
    """Look over a checkpoint's document without making a value; see ``read_body``."""
    said = read_body(document)
    typed(said, "checkpoint")
    typed(said, "metadata")
    if said.get("parent_id") != document.fields.get("parent_id"):
        raise CorruptionError(f"its body names the parent {said.get('parent_id')!r}")
    return said


def check_write(document: Document) -> dict[str, Any]:
    """Look over a pending write's document without making a value; see ``read_body``."""
    said = read_body(document)
    typed(said, "value")
    if type(said.get("channel")) is not str:
        raise CorruptionError("it names no channel")
    return said


def make_checkpoint(document: Document, codec: Codec) -> tuple[dict[str, Any], dict[str, Any]]:
    """Make a checkpoint and its metadata.

    Raises:
        CorruptionError: See ``read_body``; or what is stored is no checkpoint.
    """
    said = check_checkpoint(document)
    checkpoint = codec.serde.loads_typed(typed(said, "checkpoint"))
    metadata = codec.serde.loads_typed(typed(said, "metadata"))
    if type(checkpoint) is not dict or checkpoint.get("id") != document.key[1]:
        raise CorruptionError("what it holds is no checkpoint, or another one")
    if type(checkpoint.get("channel_values")) is not dict or type(metadata) is not dict:
        raise CorruptionError("what it holds has no channels, or no metadata")
    return checkpoint, metadata


def _untagged(value: Any) -> Any:
    if type(value) is list:
        return [_untagged(each) for each in value]
    if type(value) is not dict:
        return value
    tag = value.get(_TAG)
    if tag == "bytes":
        return b64decode(value[_HELD], validate=True)
    if tag == "datetime":
        return datetime.fromisoformat(value[_HELD])
    return {_name(key): _untagged(each) for key, each in value.items()}


def _name(key: str) -> str:
    return key[1:] if key.startswith("$$") else key
