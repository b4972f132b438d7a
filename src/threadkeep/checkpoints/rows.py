"""A checkpoint's own document, and the shape that many of them share.

The shape has the names: channels, nodes and the channels each node has seen, further keys. The
checkpoint has what differs from step to step, by position: versions as distances from the newest,
entries, and everything's addresses in ``refs``: shape, metadata, entries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import ormsgpack

from threadkeep.checkpoints import bodies
from threadkeep.checkpoints.entries import Entry, no_more, pack, unpack
from threadkeep.errors import CorruptionError

OWN_KEYS = frozenset(
    ("v", "id", "ts", "channel_values", "channel_versions", "versions_seen", "updated_channels")
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Row:
    """A checkpoint, its values as entries.

    Attributes:
        v: LangGraph's version of the checkpoint's form.
        ts: Its time, as given.
        versions: Version by channel.
        seen: Version by channel, by node.
        updated: The channels updated in this step, or ``None``.
        entries: Entry by channel; channels with a version and no value are left out.
        extras: Entries of the checkpoint's further keys.
        meta: The address of the metadata document; else whether metadata beyond ``source`` and
            ``step`` is ``{"parents": {}}`` (true) or nothing (false).
    """

    v: Any
    ts: Any
    versions: Mapping[str, Any]
    seen: Mapping[str, Mapping[str, Any]]
    updated: Sequence[str] | None
    entries: Mapping[str, Entry]
    extras: Mapping[str, Entry]
    meta: bytes | bool


def shape_plain(row: Row) -> bytes:
    """Make the plain of a row's shape."""
    channels = _channels(row)
    names = dict.fromkeys(channels)
    for versions in row.seen.values():
        names |= dict.fromkeys(versions)
    names |= dict.fromkeys(row.updated or ())
    at = {name: position for position, name in enumerate(names)}
    seen = [[node, [at[name] for name in versions]] for node, versions in row.seen.items()]
    return bodies.flag(bodies.SHAPE) + ormsgpack.packb(
        [row.v, list(names), len(channels), seen, list(row.extras)]
    )


def row_plain(row: Row, shape: bytes, shape_ref: bytes) -> tuple[bytes, tuple[bytes, ...]]:
    """Make the plain of a row, and the addresses that stand beside it.

    Args:
        row: The checkpoint.
        shape: The plain of its shape.
        shape_ref: The shape's address.
    """
    _, names, count, _, _ = ormsgpack.unpackb(shape[1:])
    channels = names[:count]
    at = {name: position for position, name in enumerate(names)}
    flat = [row.versions.get(name) for name in channels]
    for versions in row.seen.values():
        flat += versions.values()
    refs = [shape_ref]
    if isinstance(row.meta, bytes):
        refs.append(row.meta)
    packed = [
        _pack_time(row.ts),
        _pack_versions(flat),
        None if row.updated is None else [at[name] for name in row.updated],
        2 if isinstance(row.meta, bytes) else int(row.meta),
        [pack(row.entries.get(name), refs) for name in channels],
        [pack(entry, refs) for entry in row.extras.values()],
    ]
    body = ormsgpack.packb(packed, option=ormsgpack.OPT_NON_STR_KEYS)
    return bodies.flag(bodies.CHECKPOINT) + body, tuple(refs)


def read_row(plain: bytes, refs: Sequence[bytes], shape: bytes) -> Row:
    """Give back a row from its plain, its addresses and its shape's plain.

    Raises:
        CorruptionError: The three do not fit together.
    """
    try:
        if plain[:1] != bodies.flag(bodies.CHECKPOINT) or shape[:1] != bodies.flag(bodies.SHAPE):
            raise CorruptionError("a checkpoint, or its shape, is another kind of document")
        v, names, count, nodes, extra_names = ormsgpack.unpackb(shape[1:])
        time, versions, updated, meta, entries, extras = ormsgpack.unpackb(
            plain[1:], option=ormsgpack.OPT_NON_STR_KEYS
        )
        rest = iter(refs[1:])
        flat = _unpack_versions(versions)
        channels = names[:count]
        seen = _seen(nodes, names, flat[count:])
        row = Row(
            v,
            _unpack_time(time),
            {n: v for n, v in zip(channels, flat[:count], strict=True) if v is not None},
            seen,
            None if updated is None else [names[position] for position in updated],
            meta=next(rest) if meta == 2 else bool(meta),
            entries={
                name: unpack(entry, rest)
                for name, entry in zip(channels, entries, strict=True)
                if entry is not None
            },
            extras={
                name: unpack(entry, rest) for name, entry in zip(extra_names, extras, strict=True)
            },
        )
        no_more(rest)
        if sum(map(len, seen.values())) != len(flat) - count:
            raise CorruptionError("a checkpoint has other versions than its shape names")
        return row
    except (ValueError, TypeError, LookupError, OverflowError, StopIteration) as error:
        raise CorruptionError("a checkpoint does not fit its shape") from error


def _channels(row: Row) -> list[str]:
    return list(dict.fromkeys((*row.versions, *row.entries)))


def _seen(
    nodes: Sequence[Any], names: Sequence[str], versions: Sequence[Any]
) -> dict[str, dict[str, Any]]:
    rest = iter(versions)
    return {node: {names[at]: next(rest) for at in positions} for node, positions in nodes}


def _pack_time(ts: Any) -> Any:
    """Pack an ISO time in UTC as microseconds, any other as it is."""
    try:
        moment = datetime.fromisoformat(ts)
        if moment.tzinfo is not None and moment.isoformat() == ts and ts.endswith("+00:00"):
            return (moment - _EPOCH) // _MICROSECOND
    except (TypeError, ValueError):
        pass
    return [ts]


def _unpack_time(packed: Any) -> Any:
    if isinstance(packed, int):
        return (_EPOCH + timedelta(microseconds=packed)).isoformat()
    return packed[0]


def _pack_versions(versions: Sequence[Any]) -> list[Any]:
    """Pack versions: integers as distances from the largest, others as a table and positions."""
    if all(version is None or type(version) is int for version in versions):
        top = max((version for version in versions if version is not None), default=0)
        return [top, *(None if version is None else top - version for version in versions)]
    table: dict[tuple[type, Any], int] = {}
    positions = [
        None if version is None else table.setdefault((type(version), version), len(table))
        for version in versions
    ]
    return [[_pack_version(version) for _, version in table], *positions]


def _unpack_versions(packed: Sequence[Any]) -> list[Any]:
    top, *rest = packed
    if isinstance(top, int):
        return [None if distance is None else top - distance for distance in rest]
    table = [_unpack_version(version) for version in top]
    return [None if position is None else table[position] for position in rest]


def _pack_version(version: Any) -> Any:
    """Pack LangGraph's ``{number:032}.{suffix}`` as a number and a suffix."""
    if isinstance(version, str):
        number, dot, suffix = version.partition(".")
        if dot and len(number) == 32 and number.isascii() and number.isdigit():
            return [int(number), suffix] if int(number) < 2**63 else version
    return version


def _unpack_version(packed: Any) -> Any:
    return f"{packed[0]:032}.{packed[1]}" if isinstance(packed, list) else packed
