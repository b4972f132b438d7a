"""Which index of the items is in force, and what is refused beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from threadkeep.errors import ConfigError, InvalidRequestError, NotSupportedError
from threadkeep.model.item_index import IndexSpec, Passage
from threadkeep.model.items import ItemQuery
from threadkeep.rules.vectors import unit_vector

IndexState = Literal["ready", "building", "retired"]


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """An index that there is.

    Attributes:
        state: One at most is ``ready``: in force.
        is_empty: Whether it holds nothing of any item.
    """

    embedder: str
    dims: int
    state: IndexState
    is_empty: bool


def state_to_use(spec: IndexSpec, stored: Sequence[StoredIndex], *, build: bool) -> IndexState:
    """Return the state that an index about to be used is in from now on.

    Raises:
        ConfigError: Another one is in force, and this one is not to be built beside it.
    """
    check_dims(spec.dims)
    others = [each for each in stored if not is_same(each, spec)]
    force = next((each for each in others if each.state == "ready" and not each.is_empty), None)
    mine = next((each for each in stored if is_same(each, spec)), None)
    if mine is not None and mine.state == "ready":
        return "ready"
    if force is None:
        return "ready"
    if build:
        return "building"
    raise ConfigError(
        f"the items of this store are indexed by {force.embedder} with {force.dims} dims, not by "
        f"{spec.embedder} with {spec.dims}; run `threadkeep reembed` to index them anew, or name "
        "the old embedder"
    )


def is_same(stored: StoredIndex, spec: IndexSpec) -> bool:
    """Say whether a stored index is the one that is meant."""
    return (stored.embedder, stored.dims) == (spec.embedder, spec.dims)


def check_dims(dims: object) -> None:
    """Refuse a size that no vector has.

    Raises:
        ConfigError: It is no whole number from 1.
    """
    if isinstance(dims, bool) or not isinstance(dims, int) or dims < 1:
        raise ConfigError(f"store.index.dims is {dims!r}; expected a whole number from 1")


def used(spec: IndexSpec | None) -> IndexSpec:
    """Return the index in use.

    Raises:
        NotSupportedError: None is.
    """
    if spec is None:
        raise NotSupportedError(
            "this store has no index, so it cannot rank; configure store.index, or search without "
            "a query"
        )
    return spec


def plain_passages(passages: Sequence[Passage], spec: IndexSpec) -> list[Passage]:
    """Return passages with vectors of length 1.

    Raises:
        InvalidRequestError: A vector does not fit the index.
    """
    return [
        Passage(
            each.text, None if each.vector is None else unit_vector(each.vector, dims=spec.dims)
        )
        for each in passages
    ]


def question_vector(query: ItemQuery, spec: IndexSpec) -> tuple[float, ...]:
    """Return the vector of a query at length 1.

    Raises:
        InvalidRequestError: It does not fit the index, or has no direction.
    """
    assert query.vector is not None
    vector = unit_vector(query.vector, dims=spec.dims)
    if vector is None:
        raise InvalidRequestError("the vector to search by is zero, so nothing is like it")
    return vector
