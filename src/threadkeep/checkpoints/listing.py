"""Steps of ``list``: which checkpoints, newest first, one page at a time."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.get import Loaded, load_page
from threadkeep.checkpoints.known import Known
from threadkeep.checkpoints.metadata import is_integer, json_text, text_of
from threadkeep.checkpoints.steps import Steps
from threadkeep.errors import InvalidFilterError
from threadkeep.ports.documents import (
    BLOBS,
    CHECKPOINTS,
    FIND_LIMIT,
    IN_LIMIT,
    WRITES,
    Below,
    Condition,
    Document,
    Find,
    HasEntry,
    In,
    Is,
    Key,
    Page,
)

PAGE_CHECKPOINTS = 100  # read at once: their values are made together, and held until handed out

Metas = frozenset[tuple[str, bytes]]  # thread and address of metadata documents


@dataclass(frozen=True, slots=True)
class Listing:
    """A question for checkpoints.

    Attributes:
        thread_id: One thread, or ``None`` for all.
        namespace: One namespace, or ``None`` for all.
        checkpoint_id: One id, or ``None`` for all.
        before: Only ids that order strictly below it, or ``None``.
        filter: Metadata entries, each JSON-equal to the value given.
        limit: At most so many, or ``None`` for all.
    """

    thread_id: str | None = None
    namespace: str | None = None
    checkpoint_id: str | None = None
    before: str | None = None
    filter: Mapping[str, Any] | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Position:
    """How far a listing has come.

    Attributes:
        after: The last checkpoint looked at.
        left: How many more are wanted.
        metas: The metadata documents that match, once they are known.
        earlier: Whether it has come to what is stored in schema 1.
    """

    after: tuple[str, Key] | None
    left: int | None
    metas: Metas | None = None
    earlier: bool = False


def start(listing: Listing) -> Position | None:
    """Begin a listing; ``None`` when nothing is wanted."""
    if listing.limit is not None and listing.limit <= 0:
        return None
    return Position(None, listing.limit)


def next_page(
    listing: Listing, position: Position, codec: Codec, known: Known
) -> Steps[tuple[list[Loaded], Position | None]]:
    """Read one page of a listing.

    Returns:
        The checkpoints, newest first, and where to go on, or ``None`` at the end.

    Raises:
        InvalidFilterError: A filter's value is none that JSON can state.
        CorruptionError: A document a checkpoint names is missing.
    """
    fields, entries = _split(listing.filter or {})
    if entries and position.metas is None:
        metas = yield from matching_metadata(listing.thread_id, entries)
        position = replace(position, metas=metas)
    where = _where(listing, fields)
    limit = PAGE_CHECKPOINTS if position.left is None else min(position.left, PAGE_CHECKPOINTS)
    if position.metas is not None:
        refs = {ref for _, ref in position.metas}
        if len(refs) <= IN_LIMIT:
            where.append(In("meta", sorted(refs)))
        else:
            limit = PAGE_CHECKPOINTS
    page: Page = yield Find(
        CHECKPOINTS,
        listing.thread_id,
        where,
        newest_first=True,
        after=position.after,
        limit=limit,
        children=WRITES,
    )
    found = [document for document in page.documents if _has_meta(document, position.metas)]
    loaded = yield from load_page(found, page.children, codec, known)
    if _asks_for_no_parents(listing):
        loaded = [one for one in loaded if one.metadata.get("parents") == {}]
    loaded = loaded[: position.left]
    left = None if position.left is None else position.left - len(loaded)
    if not page.more or not page.documents or left == 0:
        return loaded, None
    last = page.documents[-1]
    return loaded, Position((last.thread_id, last.key), left, position.metas)


def _where(listing: Listing, fields: list[Condition]) -> list[Condition]:
    where = list(fields)
    if listing.namespace is not None:
        where.append(Is("checkpoint_ns", listing.namespace))
    if listing.checkpoint_id:
        where.append(Is("checkpoint_id", listing.checkpoint_id))
    if listing.before:
        where.append(Below("checkpoint_id", listing.before))
    return where


def _split(filter_: Mapping[str, Any]) -> tuple[list[Condition], list[HasEntry]]:
    """Tell which conditions are on the checkpoint and which on its metadata document."""
    fields: list[Condition] = []
    entries: list[HasEntry] = []
    for key, value in filter_.items():
        text = json_text(value)
        if text is None:
            raise InvalidFilterError(f"metadata filter {key!r}: {value!r} is no JSON value")
        if key == "source" and isinstance(value, str):
            fields.append(Is("source", text_of(value)))
        elif key == "step" and is_integer(value):
            fields.append(Is("step", int(value)))
        elif not (key == "parents" and value == {}):
            entries.append(HasEntry("metadata", key, text))
    return fields, entries


def matching_metadata(thread_id: str | None, entries: list[HasEntry]) -> Steps[Metas]:
    """Find the metadata documents that have all entries."""
    metas: set[tuple[str, bytes]] = set()
    after = None
    while True:
        page: Page = yield Find(
            BLOBS, thread_id, entries, after=after, limit=FIND_LIMIT, bodies=False
        )
        for document in page.documents:
            (ref,) = document.key
            if isinstance(ref, bytes):
                metas.add((document.thread_id, ref))
        if not page.more or not page.documents:
            return frozenset(metas)
        after = page.documents[-1].thread_id, page.documents[-1].key


def _has_meta(document: Document, metas: Metas | None) -> bool:
    return metas is None or (document.thread_id, document.fields.get("meta")) in metas


def _asks_for_no_parents(listing: Listing) -> bool:
    """Tell whether the filter asks for what no metadata document states: see ``ONLY_PARENTS``."""
    return "parents" in (listing.filter or {}) and (listing.filter or {})["parents"] == {}
