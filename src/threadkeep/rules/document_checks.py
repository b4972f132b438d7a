"""What a document store refuses, whichever driver it is."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from threadkeep.errors import DocumentTooLargeError, InvalidRequestError
from threadkeep.ports.documents import (
    CHECKPOINTS,
    COLLECTIONS,
    FIND_LIMIT,
    IN_LIMIT,
    REF_BYTES,
    Batch,
    Below,
    Collection,
    Condition,
    Document,
    FieldType,
    Find,
    HasEntry,
    In,
    Is,
    Key,
    Pruning,
    Scope,
)

# Of one body, where no broker sets a limit; twice a reply, so that callers meet one that fills it
# alone.
MAX_BODY_BYTES = 4 * 1024 * 1024
INTEGER_MAX = 2**63 - 1  # what every database's largest integer holds


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_integer(value: Any) -> bool:
    return type(value) is int and -INTEGER_MAX - 1 <= value <= INTEGER_MAX


def _is_bytes(value: Any) -> bool:
    return type(value) is bytes


def _is_object(value: Any) -> bool:
    return isinstance(value, str) and isinstance(parse_json(value), dict)


_HOLDS: Mapping[FieldType, Callable[[Any], bool]] = {
    "text": _is_text,
    "id": _is_text,
    "integer": _is_integer,
    "bytes": _is_bytes,
    "json": _is_object,
}


def parse_json(text: str) -> Any:
    """Parse JSON text, integers exactly.

    Raises:
        InvalidRequestError: It is not JSON, or nested too deeply to be parsed.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidRequestError(f"not JSON: {text[:80]!r}") from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def check_scope(scope: Scope, thread_id: str | None) -> None:
    """Refuse a scope or thread id that is not text.

    Raises:
        InvalidRequestError: It is not.
    """
    for name, value in (("namespace", scope.namespace), ("agent id", scope.agent_id)):
        if not _is_text(value):
            raise InvalidRequestError(f"{name} {value!r} is not text")
    if thread_id is not None and not _is_text(thread_id):
        raise InvalidRequestError(f"thread id {thread_id!r} is not text")


def check_batch(batch: Batch, max_body_bytes: int) -> str | None:
    """Refuse a batch that no store writes.

    Returns:
        The thread of its documents, or ``None`` when there are none.

    Raises:
        InvalidRequestError: Documents of two threads, an unknown collection, a key or field of
            the wrong type or number, required documents without any to write.
        DocumentTooLargeError: A body is above ``max_body_bytes``.
    """
    threads = set()
    for document in (*batch.documents, *batch.replacing):
        _check_document(document, max_body_bytes)
        threads.add(document.thread_id)
    if len(threads) > 1:
        raise InvalidRequestError(f"documents of {len(threads)} threads in one batch")
    if batch.requires and not threads:
        raise InvalidRequestError("a batch that requires documents must write some")
    check_keys(batch.requires)
    check_keys((CHECKPOINTS, key) for key, _ in batch.after)
    return threads.pop() if threads else None


def check_keys(keys: Iterable[tuple[str, Key]]) -> None:
    """Refuse keys that cannot be keys of their collections.

    Raises:
        InvalidRequestError: An unknown collection, or values of the wrong type or number.
    """
    for collection, key in keys:
        _check_key(_collection(collection), key)


def check_pruning(pruning: Pruning) -> None:
    """Refuse keys that cannot be those of checkpoints.

    Raises:
        InvalidRequestError: Values of the wrong type or number.
    """
    check_keys((CHECKPOINTS, key) for key in (*pruning.gone, *pruning.orphans, *pruning.strays))


def check_refs(refs: Sequence[bytes]) -> None:
    """Refuse what cannot be an address.

    Raises:
        InvalidRequestError: One is not ``REF_BYTES`` bytes.
    """
    for ref in refs:
        if type(ref) is not bytes or len(ref) != REF_BYTES:
            raise InvalidRequestError(f"an address is {REF_BYTES} bytes, not {ref!r}")


def check_find(find: Find) -> None:
    """Refuse a question that no store answers.

    Raises:
        InvalidRequestError: An unknown collection or field, a condition that its field does not
            take, a limit out of bounds, children that are none.
    """
    spec = _collection(find.collection)
    if type(find.limit) is not int or not 0 <= find.limit <= FIND_LIMIT:
        raise InvalidRequestError(f"limit is from 0 to {FIND_LIMIT}, not {find.limit!r}")
    for condition in find.where:
        _check_condition(spec, condition)
    if find.after is not None:
        _check_key(spec, find.after[1])
    if find.children is not None:
        _check_children(spec, _collection(find.children))


def _collection(name: str) -> Collection:
    spec = COLLECTIONS.get(name)
    if spec is None:
        raise InvalidRequestError(f"no collection {name!r}; there are {', '.join(COLLECTIONS)}")
    return spec


def _check_document(document: Document, max_body_bytes: int) -> None:
    spec = _collection(document.collection)
    if not _is_text(document.thread_id):
        raise InvalidRequestError(f"thread id {document.thread_id!r} is not text")
    if type(document.body) is not bytes:
        raise InvalidRequestError(f"a body is bytes, not {type(document.body).__name__}")
    if len(document.body) > max_body_bytes:
        raise DocumentTooLargeError(len(document.body), max_body_bytes)
    _check_key(spec, document.key)
    check_refs(document.refs)
    if document.refs and not spec.names:
        raise InvalidRequestError(f"documents of {spec.name} name no others")
    for name, value in document.fields.items():
        if name not in spec.fields:
            raise InvalidRequestError(f"{spec.name} has no field {name!r} beside its key")
        if value is not None:
            _check_value(spec, name, spec.fields[name], value)


def _check_key(spec: Collection, key: Key) -> None:
    if type(key) is not tuple or len(key) != len(spec.key):
        raise InvalidRequestError(f"a key of {spec.name} is ({', '.join(spec.key)}), not {key!r}")
    for (name, kind), value in zip(spec.key.items(), key, strict=True):
        _check_value(spec, name, kind, value)
    if spec.addressed:
        check_refs(key)  # type: ignore[arg-type]


def _check_value(spec: Collection, name: str, kind: FieldType, value: Any) -> None:
    if not _HOLDS[kind](value):
        raise InvalidRequestError(f"{name} of {spec.name} is of type {kind}, not {value!r}")


def _check_condition(spec: Collection, condition: Condition) -> None:
    kind = spec.key.get(condition.name) or spec.fields.get(condition.name)
    if kind is None:
        raise InvalidRequestError(f"{spec.name} has no field {condition.name!r}")
    match condition:
        case HasEntry(name, entry, value):
            if kind != "json" or not _is_text(entry):
                raise InvalidRequestError(f"{name} of {spec.name} has no entry {entry!r}")
            parse_json(value)
        case Below(name, value):
            if name not in spec.key:
                raise InvalidRequestError(f"{name} of {spec.name} is no key field, so has no order")
            _check_value(spec, name, kind, value)
        case Is(name, value):
            _check_values(spec, name, kind, (value,))
        case In(name, values):
            _check_values(spec, name, kind, values)


def _check_values(spec: Collection, name: str, kind: FieldType, values: Sequence[Any]) -> None:
    if kind == "json":
        raise InvalidRequestError(f"{name} of {spec.name} is JSON: ask for its entries")
    if len(values) > IN_LIMIT:
        raise InvalidRequestError(f"{len(values)} values for {name}; at most {IN_LIMIT} are taken")
    for value in values:
        if value is not None:
            _check_value(spec, name, kind, value)


def _check_children(spec: Collection, children: Collection) -> None:
    if spec.children != children.name:
        raise InvalidRequestError(f"documents of {children.name} are no children of {spec.name}")
