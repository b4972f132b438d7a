"""The order of best matches: how rankings are fused, and how ties are broken.

Two rankings of the same items, by vectors and by words, have scores that cannot be compared. Their
places can: an item's fused score is the sum of ``1 / (FUSION + place)`` over the rankings that hold
it, places counted from 1 (reciprocal rank fusion). Only the first ``depth`` places count. By words
many items are nearly alike (all that hold a name): those whose scores are within ``ALIKE`` of the
best one share its place, so that what is chance does not outweigh the vectors.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from threadkeep.model.items import Namespace
from threadkeep.rules.vectors import SCORE_DIGITS

FUSION = 60  # flattens the first places; the usual choice, and 10 to 100 rank nearly alike
ALIKE = 0.25  # of a score by words; measured by benchmarks/memory.py, see docs/memory.md
DEPTH = 200  # places that are fused at least

IdT = TypeVar("IdT", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Match(Generic[IdT]):
    """One item of a ranking.

    Attributes:
        id: What the driver knows the item by.
        score: Higher is better.
    """

    id: IdT
    namespace: Namespace
    key: str
    score: float


def ranked(matches: Iterable[Match[IdT]]) -> list[Match[IdT]]:
    """Return matches best first; ties by namespace and key, by code point."""
    return sorted(matches, key=lambda match: (-_rounded(match), match.namespace, match.key))


def fused(by_vector: Sequence[Match[IdT]], by_words: Sequence[Match[IdT]]) -> list[Match[IdT]]:
    """Return two rankings, each best first, as one; see the module."""
    scores: dict[IdT, float] = {}
    held: dict[IdT, Match[IdT]] = {}
    placed = [*enumerate(by_vector, start=1), *_places(by_words)]
    for place, match in placed:
        scores[match.id] = scores.get(match.id, 0.0) + 1 / (FUSION + place)
        held.setdefault(match.id, match)
    return ranked(
        Match(match.id, match.namespace, match.key, scores[match.id]) for match in held.values()
    )


def _places(by_words: Sequence[Match[IdT]]) -> Iterator[tuple[int, Match[IdT]]]:
    """Yield the place of each match; those alike share the first one's."""
    first, shared = 0.0, 1
    for place, match in enumerate(by_words, start=1):
        if place == 1 or match.score < first * (1 - ALIKE):
            first, shared = match.score, place
        yield shared, match


def depth_of(end: int, *, is_fused: bool) -> int:
    """Return how many places of each ranking a page needs that ends at ``end``.

    What is fused is doubled until it holds the page, so that neighbouring pages see one ranking.
    """
    if not is_fused:
        return end
    depth = DEPTH
    while depth < end:
        depth *= 2
    return depth


def _rounded(match: Match[IdT]) -> float:
    return round(match.score, SCORE_DIGITS)
