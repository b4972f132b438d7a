"""Reads any store of checkpoints, written from docs/storage-format.md alone: no code is shared.

Values stay what docs/values-format.md says they are on disk: msgpack's own types, and ``Ext``
for all else. Addresses and sums are checked, so what is answered is what was stored.
"""

import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import ormsgpack
import psycopg
import zstandard

DICTIONARY = (Path(__file__).parents[1] / "docs" / "storage-format.dictionary").read_bytes()
SERIALIZER_TYPES = ("null", "bytes", "bytearray", "msgpack", "json", "pickle")
TABLES_BYTES = 155
SPECIAL = {"__error__": -1, "__scheduled__": -2, "__interrupt__": -3, "__resume__": -4}


class Ext(NamedTuple):
    """A value that is not msgpack's own: its code and payload, unpacked where it is msgpack."""

    code: int
    payload: Any


class Document(NamedTuple):
    refs: list[bytes]
    body: bytes
    metadata: str | None


def text(raw: bytes | None) -> str | None:
    return None if raw is None else bytes(raw).decode("utf-8", "surrogatepass")


def ident(raw: bytes | None) -> str | None:
    if raw is None or raw[:1] == b"\xff":
        return text(raw and raw[1:])
    digits = bytes(raw).hex()
    return "-".join(digits[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))


def addresses(raw: bytes | None) -> list[bytes]:
    return [bytes(raw[at : at + 12]) for at in range(0, len(raw), 12)] if raw else []


def decompress(packed: bytes, dictionary: bytes, kind: int) -> bytes:
    made = zstandard.ZstdDecompressor(
        zstandard.ZstdCompressionDict(dictionary, dict_type=kind),
        format=zstandard.FORMAT_ZSTD1_MAGICLESS,
    )
    return made.decompress(packed)


def unpacked(body: bytes) -> bytes:
    match body[0]:
        case 0:
            return body[1:]
        case 1:
            return decompress(body[1:], DICTIONARY[TABLES_BYTES:], zstandard.DICT_TYPE_RAWCONTENT)
        case 4:
            return decompress(body[1:], DICTIONARY, zstandard.DICT_TYPE_FULLDICT)
    raise ValueError(f"a body of format {body[0]}")


def unpack(packed: bytes) -> Any:
    return ormsgpack.unpackb(packed, ext_hook=extension, option=ormsgpack.OPT_NON_STR_KEYS)


def extension(code: int, payload: bytes) -> Ext:
    return Ext(code, payload if code in (17, 18, 30) else unpack(payload))


def value_of(plain: bytes) -> Any:
    match plain[0] & 15:
        case 0:
            return None
        case 1 | 2:
            return plain[1:]
        case 3:
            return unpack(plain[1:])
        case 4:
            return json.loads(plain[1:])
    return plain


class Store:
    """One store: a path of a SQLite file, or the address of a PostgreSQL database."""

    def __init__(self, where: str) -> None:
        self.is_postgres = where.startswith("postgres")
        self.connection: Any = (
            psycopg.connect(where) if self.is_postgres else sqlite3.connect(where)
        )

    def rows(self, statement: str, *parameters: Any) -> list[Any]:
        marked = statement.replace("?", "%s") if self.is_postgres else statement
        return list(self.connection.execute(marked, parameters).fetchall())

    def threads(self) -> Iterator["Thread"]:
        named = "SELECT tid, namespace, agent_id, thread_id FROM document_threads"
        for tid, *names in self.rows(named):
            yield Thread(self, tid, *(text(name) for name in names))


class Thread:
    def __init__(self, store: Store, tid: int, namespace: Any, agent_id: Any, name: Any) -> None:
        self.store, self.tid = store, tid
        self.namespace, self.agent_id, self.name = namespace, agent_id, name
        table = "addressed_documents" if store.is_postgres else "documents"
        column = "metadata" if store.is_postgres else "NULL"
        found = store.rows(f"SELECT ref, refs, body, {column} FROM {table} WHERE tid = ?", tid)
        texts = {bytes(ref): meta for ref, _, _, meta in found}
        if not store.is_postgres:
            texts |= store.rows("SELECT ref, metadata FROM document_metadata WHERE tid = ?", tid)
        self.documents = {
            bytes(ref): Document(addresses(refs), bytes(body), text(texts[bytes(ref)]))
            for ref, refs, body, _ in found
        }

    def plain(self, ref: bytes) -> bytes:
        refs, body, metadata = self.documents[ref]
        named = refs
        if body == b"\x02":
            body, named = b"".join(self.plain(part)[1:] for part in refs), []
        plain = body[1:2] + str(metadata).encode() if body[0] == 3 else unpacked(body)
        key = b"threadkeep.documents.v2"
        assert blake2b(plain + b"".join(named), digest_size=12, key=key).digest() == ref
        return plain

    def marks(self, runs: list[Any], refs: Iterator[bytes]) -> Iterator[Any]:
        for run in runs:
            if isinstance(run, bytes):
                yield value_of(run)
            else:
                yield from (self.element(next(refs)) for _ in range(run))

    def element(self, ref: bytes) -> Any:
        plain = self.plain(ref)
        if plain[0] >> 4 != 7:
            return value_of(plain)
        node, entry = unpack(plain[1:])
        argument = self.value(entry, iter(self.documents[ref].refs))
        return Ext(27, ["langgraph.types", "Send", {"node": node, "arg": argument}])

    def items(self, ref: bytes) -> Iterator[tuple[Any, Any]]:
        """Iterate over what a leaf, node or root has below it: keys, ``None`` in a list; values."""
        payload, refs = self.plain(ref)[1:], iter(self.documents[ref].refs)
        tag = payload[0]
        told: Any = unpack(payload[1:]) if payload[1:] else None
        nodes = {0: 0, 0xFE: 0}.get(tag, len(self.documents[ref].refs))
        if tag == 0xFD:
            nodes = sum(told.pop(0))
        for _ in range(nodes):
            yield from self.items(next(refs))
        if tag in (0xFE, 0xFD):
            yield from zip(map(key_of, told[0]), self.marks(told[1:], refs), strict=True)
        elif tag == 0:
            yield from ((None, value) for value in self.marks(told, refs))

    def value(self, packed: Any, refs: Iterator[bytes]) -> Any:
        match packed:
            case bytes():
                return value_of(packed)
            case 0:
                return self.element(next(refs))
            case 1:
                return dict(self.items(next(refs)))
            case [form, *runs]:
                sealed = [value for _, value in self.items(next(refs))] if form & 1 else []
                elements = [*sealed, *self.marks(runs, refs)]
                if form & 4:
                    return type(elements[0])().join(elements)
                return Ext(7, elements) if form & 2 else elements
            case dict():
                return {key_of(key): self.value(inner, refs) for key, inner in packed.items()}
        raise ValueError(packed)

    def row(self, body: bytes, refs: list[bytes], name: tuple[Any, ...], sums: int) -> Any:
        if body[0] == 8:
            said = "".join(f"{part}\0" for part in name).encode("utf-8", "surrogatepass")
            inside = body[1 + sums :]
            assert crc32(said + b"".join(refs) + inside).to_bytes(4, "big") == body[1:5]
            body = inside
        return ormsgpack.unpackb(unpacked(body)[1:], option=ormsgpack.OPT_NON_STR_KEYS)

    def checkpoints(self) -> Iterator[dict[str, Any]]:
        columns = "ns, id, parent, source, step, refs, body"
        found = f"SELECT {columns} FROM checkpoint_documents WHERE tid = ? ORDER BY ns, id"
        for raw_ns, raw_id, parent, source, step, raw_refs, raw_body in self.store.rows(
            found, self.tid
        ):
            ns, name, refs, body = text(raw_ns), ident(raw_id), addresses(raw_refs), bytes(raw_body)
            told = self.row(body, refs, (ns, name, text(source), step), 6)
            if parent is not None and body[0] == 8:
                crc = crc32(str(ident(parent)).encode("utf-8", "surrogatepass"))
                assert (crc & 0xFFFF).to_bytes(2, "big") == body[5:7]
            fields = {"source": text(source), "step": step}
            made = self.checkpoint(told, refs, {k: v for k, v in fields.items() if v is not None})
            writes = self.writes(raw_ns, raw_id)
            yield {"ns": ns, "id": name, "parent": ident(parent), "writes": writes, **made}

    def checkpoint(self, told: Any, refs: list[bytes], fields: dict[str, Any]) -> dict[str, Any]:
        time, versions, updated, meta, entries, extras = told
        rest = iter(refs)
        v, names, count, seen, keys = unpack(self.plain(next(rest))[1:])
        metadata = dict(fields) | ({"parents": {}} if meta == 1 else {})
        if meta == 2:
            metadata |= value_of(self.plain(next(rest)))
        flat = iter(versions_of(versions))
        own = {name: next(flat) for name in names[:count]}
        by_node = {node: {names[at]: next(flat) for at in places} for node, places in seen}
        values = {
            name: self.value(entry, rest)
            for name, entry in zip(names[:count], entries, strict=True)
            if entry is not None
        }
        return {
            "v": v,
            "ts": time_of(time),
            "versions": {name: version for name, version in own.items() if version is not None},
            "seen": by_node,
            "updated": None if updated is None else [names[at] for at in updated],
            "values": values,
            "extras": {key: self.value(e, rest) for key, e in zip(keys, extras, strict=True)},
            "metadata": metadata,
        }

    def writes(self, raw_ns: bytes, raw_id: bytes) -> list[tuple[str, str, Any]]:
        found: dict[tuple[str, int], tuple[str, str, int, str, Any]] = {}
        where = (
            "SELECT task, part, refs, body FROM write_documents WHERE tid = ? AND ns = ? AND id = ?"
        )
        for raw_task, part, raw_refs, body in self.store.rows(
            where + " ORDER BY task, part", self.tid, raw_ns, raw_id
        ):
            task, refs = str(ident(raw_task)), addresses(raw_refs)
            named = text(raw_ns), ident(raw_id), task, part
            path, channels, entries, indexes = self.row(bytes(body), refs, named, 4)
            rest = iter(refs)
            places = indexes or range(part, part + len(entries))
            for at, channel, entry in zip(places, channels, entries, strict=True):
                value = None if entry is None else self.value(entry, rest)
                found.setdefault((task, at), (path, task, at, channel, value))
        ordered = sorted(found.values(), key=lambda one: one[:3])
        return [(task, channel, value) for _, task, _, channel, value in ordered]


def key_of(packed: Any) -> Any:
    return text(packed) if isinstance(packed, bytes) else packed


def time_of(packed: Any) -> Any:
    if isinstance(packed, list):
        return packed[0]
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=packed)).isoformat()


def versions_of(packed: list[Any]) -> list[Any]:
    top, *rest = packed
    if isinstance(top, int):
        return [None if distance is None else top - distance for distance in rest]
    table = [f"{one[0]:032}.{one[1]}" if isinstance(one, list) else one for one in top]
    return [None if at is None else table[at] for at in rest]
