"""Steps of ``verify``: every document of a thread is read once, by the page, and held to the rest.

A thread in which something is wrong is read twice, and only what is wrong both times is told: a
store may be written to meanwhile. Requests and memory are bounded as ``thread_check`` says.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import zstandard

from threadkeep.checkpoints import bodies
from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.findings import SHOWN, Findings, ThreadReport
from threadkeep.checkpoints.inspection import DamageError, look_at
from threadkeep.checkpoints.steps import Fetch, Steps
from threadkeep.checkpoints.thread_check import ThreadCheck
from threadkeep.errors import DamagedRowError, SchemaTooNewError
from threadkeep.ports.documents import (
    BLOBS,
    CHECKPOINTS,
    CHECKPOINTS_V1,
    COLLECTIONS,
    FIND_LIMIT,
    ITEMS,
    PARTS,
    REF_BYTES,
    WRITES,
    WRITES_V1,
    Document,
    Fetched,
    Find,
    Key,
    Page,
    Scalar,
)

PARTS_AT_ONCE = 4  # of a large value: a megabyte
SLICE_BYTES = 1024  # of a frame that is decompressed at once: it makes 32 MiB at most
SHAPE_BYTES = 4 * 1024 * 1024  # kept of a large value that is looked into

_LAST: Mapping[str, Scalar] = {
    "text": "\U0010ffff" * 4,
    "id": "\U0010ffff" * 4,
    "integer": 2**63 - 1,
    "bytes": b"\xff" * REF_BYTES,
}


def next_thread(after: str | None) -> Steps[str | None]:
    """Find the thread that follows another, in the order of ids; ``None`` at the end.

    Any document makes a thread, also one that no checkpoint is left of.
    """
    found: set[str] = set()
    for name, collection in COLLECTIONS.items():
        last: Key = tuple(_LAST[kind] for kind in collection.key.values())
        place = None if after is None else (after, last)
        try:
            page: Page = yield Find(name, after=place, limit=1, bodies=False)
        except DamagedRowError as error:
            found.add(error.thread_id)
            continue
        found.update(document.thread_id for document in page.documents)
    return min((one for one in found if after is None or one > after), default=None)


def verify_thread(thread_id: str, codec: Codec, now: int) -> Steps[ThreadCheck]:
    """Look over a thread, twice where something is wrong the first time.

    Args:
        thread_id: The thread.
        codec: Its key is that of addresses; nothing is deserialized.
        now: The time, in ticks of a UUIDv6.
    """
    first = yield from _look_over(thread_id, codec, now)
    if not first.findings.counts:
        return first
    second = yield from _look_over(thread_id, codec, now)
    second.findings = _in_both(first.findings, second.findings)
    for key, kept in second.checkpoints.items():
        before = first.checkpoints.get(key)
        if before is None or before.broken is None:
            kept.broken = None
    for key, one in second.writes.items():
        earlier = first.writes.get(key)
        if earlier is None or earlier.broken is None:
            one.broken = None
    return second


def report_of(check: ThreadCheck) -> ThreadReport:
    """State what a look at a thread gave."""
    findings = check.findings
    shown, counts = tuple(findings.shown), dict(findings.counts)
    return ThreadReport(check.thread_id, check.documents, check.size_bytes, shown, counts)


def _in_both(first: Findings, second: Findings) -> Findings:
    shown = [one for one in second.shown if one in set(first.shown)]
    counts = Counter(one.kind for one in shown)
    for kind, count in second.counts.items():
        if count > SHOWN and first.counts[kind] > SHOWN:
            counts[kind] = min(count, first.counts[kind])
    return Findings(shown, counts)


def _look_over(thread_id: str, codec: Codec, now: int) -> Steps[ThreadCheck]:
    check = ThreadCheck(thread_id, codec, now)
    take = {
        CHECKPOINTS_V1: check.take_earlier,
        WRITES_V1: check.take_earlier,
        PARTS: check.take_addressed,
        ITEMS: check.take_addressed,
        BLOBS: check.take_addressed,
        CHECKPOINTS: check.take_checkpoint,
        WRITES: check.take_writes,
    }
    for collection, take_in in take.items():
        if collection == CHECKPOINTS:
            for manifest in list(check.manifests.values()):
                yield from _join(manifest, check)
        yield from _each(collection, take_in, check)
    check.finish()
    return check


def _each(collection: str, take_in: Callable[[Document], None], check: ThreadCheck) -> Steps[None]:
    """Read a thread's documents of a collection, passing over rows that cannot be read."""
    after: tuple[str, Key] | None = None
    limit = FIND_LIMIT
    while True:
        try:
            page: Page = yield Find(collection, check.thread_id, after=after, limit=limit)
        except DamagedRowError as error:
            if limit > 1:  # up to the damaged row, by ever smaller pages
                limit //= 2
                continue
            _tell_row(check, error)
            if error.key is None:
                return
            after, limit = (check.thread_id, error.key), FIND_LIMIT
            continue
        for document in page.documents:
            take_in(document)
        if not page.more or not page.documents:
            return
        after = check.thread_id, page.documents[-1].key


def _tell_row(check: ThreadCheck, error: DamagedRowError) -> None:
    key = error.key or ()
    says = str(error)
    if error.key is None:
        says += "; what comes after it in its collection was not looked at"
    check.findings.add("unreadable-row", check.thread_id, error.collection, key, says)


def _join(manifest: Document, check: ThreadCheck) -> Steps[None]:
    """Read the parts of a large value one after the other, and hold them to its address."""
    (ref,) = manifest.key
    assert isinstance(ref, bytes)
    missing = [part for part in manifest.refs if part not in check.looks]
    if missing or not manifest.refs:
        what = f"{missing[0].hex()} is not stored" if missing else "it names none"
        check.tell("missing-part", manifest, f"of {len(manifest.refs)} parts {what}")
        return
    if not all(check.is_whole(part) for part in manifest.refs):
        check.tell("wrong-parts", manifest, "one of its parts is damaged")
        return
    joined = _Joined((check.codec.key, *check.codec.older_keys))
    try:
        for start in range(0, len(manifest.refs), PARTS_AT_ONCE):
            yield from _feed(joined, manifest, manifest.refs[start : start + PARTS_AT_ONCE])
        plain = joined.close(ref)
        check.looks[ref] = look_at(plain, manifest)
    except DamageError as damage:
        check.tell(damage.kind, manifest, str(damage))


def _feed(joined: "_Joined", manifest: Document, refs: Sequence[bytes]) -> Steps[None]:
    found: dict[bytes, Document] = {}
    remaining: Sequence[bytes] = list(dict.fromkeys(refs))
    while remaining:
        fetched: Fetched = yield Fetch(manifest.thread_id, remaining)
        found |= fetched.documents
        remaining = fetched.remaining
    for part in refs:
        if part not in found or found[part].collection != PARTS:
            raise DamageError("missing-part", f"{part.hex()} is no part, or not stored any more")
        joined.feed(found[part].body[2:])


class _Joined:
    """The plain of a large value, hashed as it comes and not kept."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._digests = [hashlib.blake2b(digest_size=REF_BYTES, key=key) for key in keys]
        self._format: int | None = None
        self._frame = bodies.frame_reader(bodies.PLAIN)
        self._kept = b""

    def feed(self, piece: bytes) -> None:
        """Take in the next piece of the body."""
        if self._format is None:
            self._format, piece = piece[0] if piece else 255, piece[1:]
            self._frame = bodies.frame_reader(self._format)
            if self._frame is None and self._format != bodies.PLAIN:
                raise _format_damage(bytes((self._format,)))
        if self._frame is None:
            self._take(piece)
            return
        for start in range(0, len(piece), SLICE_BYTES):
            try:
                self._take(self._frame.decompress(piece[start : start + SLICE_BYTES]))
            except zstandard.ZstdError as error:
                raise DamageError("wrong-parts", "its joined parts are no frame") from error

    def close(self, ref: bytes) -> bytes:
        """Give the beginning of the plain, when all of it is in and has its address."""
        if all(digest.digest() != ref for digest in self._digests):
            raise DamageError("wrong-parts", "its parts, joined, have another address")
        return self._kept

    def _take(self, plain: bytes) -> None:
        for digest in self._digests:
            digest.update(plain)
        if len(self._kept) < SHAPE_BYTES:
            self._kept += plain[: SHAPE_BYTES - len(self._kept)]


def _format_damage(body: bytes) -> DamageError:
    error = bodies.unknown_format(body)
    newer = isinstance(error, SchemaTooNewError)
    return DamageError("newer-format" if newer else "wrong-parts", str(error))
