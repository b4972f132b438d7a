"""A checkpoint's metadata: two declared fields and a document shared by the steps of a run.

``source`` and ``step`` are fields of the checkpoint. Everything else is one *meta* document, whose
declared field has those entries that JSON can state, so that they can be asked for. Where the JSON
text says all, it also is the document's content.
"""

import json
from collections.abc import Mapping
from typing import Any

from threadkeep.checkpoints import bodies
from threadkeep.checkpoints.codec import TYPES, Codec
from threadkeep.checkpoints.drafts import Draft
from threadkeep.ports.documents import Scalar

ONLY_PARENTS: Mapping[str, Any] = {"parents": {}}
DELTA_COUNTERS = "counters_since_delta_snapshot"  # LangGraph's: by channel, on delta threads only
INTEGERS = range(-(2**63), 2**63)  # what the declared field ``step`` holds

_EXCLUDED = frozenset(  # LangGraph's own EXCLUDED_METADATA_KEYS
    (
        "thread_id",
        "checkpoint_id",
        "checkpoint_ns",
        "checkpoint_map",
        "langgraph_step",
        "langgraph_node",
        "langgraph_triggers",
        "langgraph_path",
        "langgraph_checkpoint_ns",
    )
)
_JSON_TYPE = TYPES.index("json")


def merge(config: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Add the run's scalars to a checkpoint's metadata, as LangGraph's savers do.

    Source: ``langgraph.checkpoint.base.get_checkpoint_metadata``, except that text keeps its NULs.
    """
    merged = dict(metadata)
    for more in (config.get("metadata"), config.get("configurable")):
        for key, value in (more or {}).items():
            if key in merged or key in _EXCLUDED or key.startswith("__"):
                continue
            if isinstance(value, (str, int, float)):
                merged[key] = value
    return merged


def store(metadata: Mapping[str, Any], draft: Draft) -> tuple[dict[str, Scalar], bytes | bool]:
    """Take metadata into a draft.

    Returns:
        The checkpoint's declared fields, and ``Row.meta``.
    """
    rest: dict[Any, Any] = dict(metadata)
    fields: dict[str, Scalar] = {}
    # An entry equal to text or to an integer is found as such; of another type it is kept beside.
    if isinstance(rest.get("source"), str):
        fields["source"] = text_of(rest["source"])
        if type(rest["source"]) is str:
            del rest["source"]
    if is_integer(rest.get("step")):
        fields["step"] = int(rest["step"])
        if type(rest["step"]) is int:
            del rest["step"]
    if rest == ONLY_PARENTS:
        return fields, True
    if not rest:
        return fields, False
    text, plain = _plain(rest, draft.codec)
    ref = draft.meta(plain, text, in_field=plain[0] & 15 == _JSON_TYPE)
    fields["meta"] = ref
    return fields, ref


def text_of(value: str) -> str:
    """Give the text itself where it is a subclass's, such as an enum's."""
    return str.__str__(value)


def is_integer(value: Any) -> bool:
    """Tell whether a value is JSON-equal to an integer of 64 bits."""
    if isinstance(value, float):
        return value.is_integer() and int(value) in INTEGERS
    return isinstance(value, int) and not isinstance(value, bool) and value in INTEGERS


def load(plain: bytes, codec: Codec) -> dict[str, Any]:
    """Give back what a meta document holds."""
    if plain[0] & 15 == _JSON_TYPE:
        loaded: dict[str, Any] = json.loads(plain[1:])
        return loaded
    return dict(codec.load(plain))


def json_text(value: Any) -> str | None:
    """State a value as JSON text, or answer ``None`` when JSON has no such value."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode()
    except (TypeError, ValueError, RecursionError):
        return None
    return text


def equal_text(value: Any) -> str:
    """Give JSON-equal values one text: whole numbers are integers, keys are sorted."""
    return json.dumps(_equal(value), sort_keys=True)


def _equal(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _equal(inner) for name, inner in value.items()}
    return [_equal(inner) for inner in value] if isinstance(value, list) else value


def _plain(rest: dict[Any, Any], codec: Codec) -> tuple[str, bytes]:
    """Make the JSON text of what JSON can state, and the plain of everything."""
    texts = {
        name: text
        for key, value in rest.items()
        if (name := json_text(key)) is not None
        and isinstance(key, str)
        and (text := json_text(value)) is not None
    }
    whole = "{" + ",".join(f"{name}:{text}" for name, text in texts.items()) + "}"
    if len(texts) == len(rest) and _is_same(json.loads(whole), rest):
        return whole, bodies.flag(bodies.META, _JSON_TYPE) + whole.encode()
    return whole, codec.dump(rest, bodies.META)


def _is_same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal, and of the same types throughout."""
    if type(one) is not type(other):
        return False
    if type(one) is dict:
        return one.keys() == other.keys() and all(_is_same(one[k], other[k]) for k in one)
    if type(one) is list:
        return len(one) == len(other) and all(map(_is_same, one, other))
    return bool(one == other)
