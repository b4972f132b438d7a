"""Documents as they are stored by a saver that has keys.

The algorithms of this package see documents in the clear; ``encrypted`` stands between them and the
store. It encrypts every body, and what is declared of metadata: a condition on it compares tokens,
keyed hashes, which tell equal entries apart from others and nothing else. Addresses are keyed by
``Codec``. A body that is not encrypted, or under a key that is not there, is refused.

The first key writes; all of them read. What is not in a body stays in the clear: ids, namespaces,
parents, steps, LangGraph's four sources, sizes and times.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

import ormsgpack

from threadkeep.checkpoints.bodies import ENCRYPTED
from threadkeep.checkpoints.codec import Codec, Serde
from threadkeep.checkpoints.metadata import equal_text
from threadkeep.checkpoints.steps import Fetch, Insert, Request, Resume, Steps
from threadkeep.errors import CorruptionError, WrongKeyError
from threadkeep.ports.documents import (
    BLOBS,
    CHECKPOINTS,
    PART_BYTES,
    Batch,
    Condition,
    Document,
    Fetched,
    Find,
    HasEntry,
    In,
    Is,
    Page,
    Scalar,
)

T = TypeVar("T")

IDENT_BYTES = 4  # of a key's name, which stands in each body
PLACE_BYTES = 8  # of the digest that binds a body to its row
TOKEN_BYTES = 16
OVERHEAD_BYTES = 256  # a body grows by less than this; the cipher's part is 40 with our own

SOURCES = frozenset(("input", "loop", "update", "fork"))  # LangGraph's, which tell nothing
_HIDDEN = {BLOBS: "metadata", CHECKPOINTS: "source"}


class Cipher(Protocol):
    """Encrypts, with a nonce of its own each time, and notices what was changed."""

    def encrypt(self, plain: bytes) -> bytes: ...  # noqa: D102

    def decrypt(self, data: bytes) -> bytes: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Key:
    """What is made of one secret.

    Attributes:
        ident: Its name in the store.
        addresses: The key of addresses.
        tokens: The key of metadata's tokens.
        cipher: Encrypts bodies.
    """

    ident: bytes
    addresses: bytes
    tokens: bytes
    cipher: Cipher


class Unopened(bytes):
    """Stands for the body of a document that cannot be decrypted, where that is to be told.

    Attributes:
        kind: What is wrong; see ``findings.KINDS``.
        says: In words.
    """

    kind: str
    says: str

    @classmethod
    def of(cls, body: bytes, error: Exception) -> "Unopened":
        """Say why a body could not be decrypted."""
        made = cls(body)
        if isinstance(error, WrongKeyError):
            made.kind = "wrong-key"
        else:
            is_encrypted = body[:1] == bytes((ENCRYPTED,))
            made.kind = "unreadable-body" if is_encrypted else "not-encrypted"
        made.says = str(error)
        return made


@dataclass(frozen=True, slots=True)
class Keyring:
    """The keys of a saver; the first one writes.

    Attributes:
        keys: They.
        tells: Whether a document that cannot be decrypted is given with a body that says so, for
            those who look a store over, and not refused.
    """

    keys: Sequence[Key]
    tells: bool = False

    def codec(self, serde: Serde) -> Codec:
        """Make the codec of a saver that has these keys."""
        key, *older = (key.addresses for key in self.keys)
        return Codec(serde, key, tuple(older), PART_BYTES - OVERHEAD_BYTES)

    def telling(self) -> "Keyring":
        """Return the same keys for those who look a store over; see ``tells``."""
        return replace(self, tells=True)

    def sealed(self, document: Document) -> Document:
        """Encrypt a document."""
        key = self.keys[0]
        name = _HIDDEN.get(document.collection, "")
        fields, hidden = document.fields, None
        text = fields.get(name)
        if isinstance(text, str) and not (name == "source" and text in SOURCES):
            hidden = text.encode("utf-8", "surrogatepass")
            token = _source(key, text) if name == "source" else _tokens(key, text)
            fields = {**fields, name: token}
        inside = _place(key, document) + ormsgpack.packb([document.body, hidden])
        body = bytes((ENCRYPTED,)) + key.ident + key.cipher.encrypt(inside)
        return replace(document, body=body, fields=fields)

    def opened(self, document: Document) -> Document:
        """Decrypt a document.

        Raises:
            WrongKeyError: It is encrypted under a key that is not among these.
            CorruptionError: It is not encrypted, or not what was stored in its place.
        """
        try:
            return self._opened(document)
        except (CorruptionError, WrongKeyError) as error:
            if not self.tells:
                raise
            return replace(document, body=Unopened.of(document.body, error))

    def _opened(self, document: Document) -> Document:
        body = document.body
        if body[:1] != bytes((ENCRYPTED,)):
            raise CorruptionError(
                f"{_named(document)} is not encrypted, and this saver has keys: it was written "
                "without them"
            )
        ident = body[1 : 1 + IDENT_BYTES]
        key = next((key for key in self.keys if key.ident == ident), None)
        if key is None:
            raise WrongKeyError(
                _named(document), ident.hex(), [key.ident.hex() for key in self.keys]
            )
        try:
            inside = key.cipher.decrypt(body[1 + IDENT_BYTES :])
            plain, hidden = ormsgpack.unpackb(inside[PLACE_BYTES:])
        except Exception as error:
            raise CorruptionError(
                f"{_named(document)} cannot be decrypted: it was changed, or the cipher has "
                "another key"
            ) from error
        if inside[:PLACE_BYTES] != _place(key, document):
            raise CorruptionError(f"{_named(document)} was stored as another one")
        fields: Mapping[str, Scalar] = document.fields
        if hidden is not None:
            name = _HIDDEN.get(document.collection, "")
            fields = {**fields, name: hidden.decode("utf-8", "surrogatepass")}
        return replace(document, body=plain, fields=fields)


def encrypted(steps: Steps[T], keyring: Keyring) -> Steps[T]:
    """Take steps whose documents are in the clear, and keep them encrypted in the store."""
    resume: Resume = partial(steps.send, None)
    while True:
        try:
            request = resume()
        except StopIteration as done:
            result: T = done.value
            return result
        try:
            resume = partial(steps.send, (yield from _answer(request, keyring)))
        except CorruptionError as error:
            resume = partial(steps.throw, error)


def _answer(request: Request, keyring: Keyring) -> Steps[Any]:
    """Put one request to the store, and give its answer in the clear."""
    match request:
        case Insert(batch):
            return (yield Insert(_sealed_batch(batch, keyring)))
        case Fetch():
            fetched: Fetched = yield request
            documents = fetched.documents.items()
            opened = {ref: keyring.opened(document) for ref, document in documents}
            return replace(fetched, documents=opened)
        case Find():
            page = yield from _find(request, keyring)
            return _opened_page(page, keyring) if request.bodies else page
    return (yield request)


def _sealed_batch(batch: Batch, keyring: Keyring) -> Batch:
    return replace(
        batch,
        documents=[keyring.sealed(document) for document in batch.documents],
        replacing=[keyring.sealed(document) for document in batch.replacing],
    )


def _opened_page(page: Page, keyring: Keyring) -> Page:
    return replace(
        page,
        documents=[keyring.opened(document) for document in page.documents],
        children=[keyring.opened(document) for document in page.children],
    )


def _find(find: Find, keyring: Keyring) -> Steps[Page]:
    """Find by tokens: those of each key in turn, where a condition is on metadata."""
    if not any(isinstance(condition, HasEntry) for condition in find.where):
        page: Page = yield replace(find, where=[_told(one, keyring.keys) for one in find.where])
        return page
    pages: list[Page] = []
    for key in keyring.keys:
        pages.append((yield replace(find, where=[_told(one, [key]) for one in find.where])))
    return _merged(pages, find.limit)


def _merged(pages: Sequence[Page], limit: int) -> Page:
    """Join pages that each begin at the same place; none goes beyond where another was cut."""
    found = sorted(
        (document for page in pages for document in page.documents),
        key=lambda document: (document.thread_id, document.key),
    )
    ends = [page.documents[-1] for page in pages if page.more and page.documents]
    if ends:
        end = min((one.thread_id, one.key) for one in ends)
        found = [one for one in found if (one.thread_id, one.key) <= end]
    more = any(page.more for page in pages) or len(found) > limit
    return Page(found[:limit], (), more)


def _told(condition: Condition, keys: Sequence[Key]) -> Condition:
    """Say a condition in the words that are stored."""
    match condition:
        case HasEntry(name, entry, value):
            (key,) = keys
            return HasEntry(name, _entry(key, entry), json.dumps(_value(key, entry, value)))
        case Is("source", str(text)) if text not in SOURCES:
            return In("source", [_source(key, text) for key in keys])
    return condition


def _source(key: Key, text: str) -> str:
    return _token(key, b"source", text.encode("utf-8", "surrogatepass"))


def _tokens(key: Key, text: str) -> str:
    """Turn the JSON text of an object into one of tokens."""
    entries: dict[str, Any] = json.loads(text)
    return json.dumps(
        {
            _entry(key, name): _value(key, name, json.dumps(value))
            for name, value in entries.items()
        },
        separators=(",", ":"),
    )


def _entry(key: Key, name: str) -> str:
    return _token(key, b"name", name.encode("utf-8", "surrogatepass"))


def _value(key: Key, name: str, text: str) -> str:
    """Make the token of an entry: the same for JSON-equal values."""
    equal = equal_text([name, json.loads(text)])
    return _token(key, b"value", equal.encode())


def _token(key: Key, kind: bytes, data: bytes) -> str:
    digest = hashlib.blake2b(data, digest_size=TOKEN_BYTES, key=key.tokens, person=kind)
    return digest.hexdigest()


def _place(key: Key, document: Document) -> bytes:
    """Bind a body to its row: the collection, the key and the addresses, not the thread."""
    parts = [_part(part) for part in (document.collection, *document.key, *document.refs)]
    place = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hashlib.blake2b(place, digest_size=PLACE_BYTES, key=key.tokens, person=b"place").digest()


def _part(part: Scalar) -> bytes:
    return part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")


def _named(document: Document) -> str:
    key = ", ".join(part.hex() if isinstance(part, bytes) else str(part) for part in document.key)
    return f"the document ({key}) in {document.collection} of thread {document.thread_id!r}"
