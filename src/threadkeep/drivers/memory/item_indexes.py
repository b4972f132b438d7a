"""Indexes of items in memory: vectors in a matrix, words counted."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias

from threadkeep.drivers.vectors import VectorMatrix, best_owners, numpy
from threadkeep.errors import NotSupportedError
from threadkeep.model.item_index import IndexSpec, Passage
from threadkeep.model.items import ItemQuery, Namespace
from threadkeep.rules import words
from threadkeep.rules.item_indexes import (
    IndexState,
    StoredIndex,
    is_same,
    plain_passages,
    question_vector,
    state_to_use,
    used,
)
from threadkeep.rules.ranking import Match, depth_of, fused, ranked
from threadkeep.rules.vectors import packed

Address: TypeAlias = tuple[Namespace, str]


@dataclass(slots=True)
class Held:
    """What an index holds of an item."""

    owner: int
    vectors: list[int]
    words: Counter[str]


@dataclass(slots=True)
class ItemIndex:
    """One index."""

    spec: IndexSpec
    state: IndexState
    held: dict[Address, Held] = field(default_factory=dict)
    owners: dict[int, Address] = field(default_factory=dict)
    matrix: VectorMatrix = field(init=False)
    _ids: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.matrix = VectorMatrix(self.spec.dims)

    def put(self, address: Address, passages: Sequence[Passage]) -> None:
        """Hold passages of an item in place of those there are."""
        self.drop(address)
        owner = next(self._ids)
        vectors = [packed(each.vector) for each in passages if each.vector is not None]
        rows = [(next(self._ids), owner, vector) for vector in vectors]
        self.matrix.add(rows)
        text = words.joined([each.text for each in passages])
        self.held[address] = Held(owner, [row[0] for row in rows], words.counted([text]))
        self.owners[owner] = address

    def drop(self, address: Address) -> None:
        """Hold nothing of an item."""
        held = self.held.pop(address, None)
        if held is not None:
            del self.owners[held.owner]
            self.matrix.drop(held.vectors)


@dataclass(slots=True)
class ItemIndexes:
    """All indexes of a store, and the one in use; hold the tables' lock around each method."""

    all: list[ItemIndex] = field(default_factory=list)
    paths: dict[Address, Sequence[str] | None] = field(default_factory=dict)
    current: ItemIndex | None = None

    @property
    def used(self) -> ItemIndex:
        """The index in use.

        Raises:
            NotSupportedError: None is.
        """
        used(self.current.spec if self.current else None)
        assert self.current is not None
        return self.current

    def use(self, spec: IndexSpec, *, build: bool) -> None:
        """See ``ItemRepo.use_index``."""
        if spec.hnsw:
            raise NotSupportedError(
                "store.index.hnsw: this driver searches exactly and has no such index; PostgreSQL "
                "with pgvector has. Remove the key"
            )
        numpy()
        state = state_to_use(spec, [_stored(each) for each in self.all], build=build)
        mine = next((each for each in self.all if is_same(_stored(each), spec)), None)
        if mine is None:
            self.all.append(mine := ItemIndex(spec, state))
        mine.state = state
        self.current = mine
        if state == "ready":
            self._retire_others()

    def plain(self, passages: Sequence[Passage] | None) -> Sequence[Passage] | None:
        """Return passages as the index in use takes them; ``None`` where none is in use."""
        if passages is None or self.current is None:
            return None
        return plain_passages(passages, self.current.spec)

    def write(
        self, address: Address, passages: Sequence[Passage] | None, paths: Sequence[str] | None
    ) -> None:
        """Forget what every index holds of an item, and hold what is known in the one in use."""
        self.forget(address)
        if passages is not None and self.current is not None:
            self.current.put(address, passages)
            self.paths[address] = paths

    def forget(self, address: Address) -> None:
        """Hold nothing of an item in any index."""
        self.paths.pop(address, None)
        for each in self.all:
            each.drop(address)

    def finish(self) -> None:
        """Bring the one in use into force."""
        self.used.state = "ready"
        self._retire_others()

    def tidy(self) -> None:
        """Delete what is retired."""
        self.all = [each for each in self.all if each.state != "retired" or each is self.current]

    def rank(
        self, query: ItemQuery, among: Collection[Address], end: int
    ) -> tuple[list[Match[Address]], int]:
        """Return the best of some items for a query up to a place, and how many match in all."""
        index = self.used
        is_fused = query.vector is not None and query.text is not None
        depth = depth_of(end, is_fused=is_fused)
        rankings: list[list[Match[Address]]] = []
        totals: list[int] = []
        held = {each: index.held[each] for each in among if each in index.held}
        if query.vector is not None:
            question = question_vector(query, index.spec)
            rankings.append(_by_vector(index, question, held, depth))
            totals.append(sum(bool(each.vectors) for each in held.values()))
        if query.text is not None:
            found = _by_words(query.text, held)
            rankings.append(found[:depth])
            totals.append(len(found))
        if not is_fused:
            return rankings[0], totals[0]
        best = fused(*rankings)
        return best, len(best)

    def _retire_others(self) -> None:
        for each in self.all:
            if each is not self.current:
                each.state = "retired"


def _by_vector(
    index: ItemIndex, question: Sequence[float], among: Mapping[Address, Held], depth: int
) -> list[Match[Address]]:
    ids = sorted(vector for held in among.values() for vector in held.vectors)
    everything = len(among) == len(index.held)
    scores = index.matrix.scores(question, None if everything else numpy().asarray(ids, int))
    best = best_owners(*scores, depth)
    found = ((index.owners[owner], score) for _, owner, score in best)
    return ranked(Match(each, *each, score) for each, score in found)[:depth]


def _by_words(text: str, among: Mapping[Address, Held]) -> list[Match[Address]]:
    scores = words.scores(text, {each: held.words for each, held in among.items()})
    return ranked(Match(each, *each, score) for each, score in scores.items())


def _stored(index: ItemIndex) -> StoredIndex:
    return StoredIndex(index.spec.embedder, index.spec.dims, index.state, not index.held)
