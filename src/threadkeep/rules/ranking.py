"""The order of best matches: how rankings are fused, and how ties are broken.

Two rankings of the same items, by vectors and by words, have scores that cannot be compared. Their
places can: an item's fused score is the sum of ``1 / (FUSION + place)`` over the rankings that hold
it, places counted from 1 (reciprocal rank fusion). Only the first ``depth`` places count.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from threadkeep.model.items import Namespace
from threadkeep.rules.vectors import SCORE_DIGITS

FUSION = 60  # flattens the first places; the usual choice, and 10 to 100 rank nearly alike
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


def fused(rankings: Sequence[Sequence[Match[IdT]]]) -> list[Match[IdT]]:
    """Return several rankings as one, see the module; one alone stays as it is."""
    if len(rankings) == 1:
        return list(rankings[0])
    scores: dict[IdT, float] = {}
    first: dict[IdT, Match[IdT]] = {}
    for ranking in rankings:
        for place, match in enumerate(ranking, start=1):
            scores[match.id] = scores.get(match.id, 0.0) + 1 / (FUSION + place)
            first.setdefault(match.id, match)
    return ranked(
        Match(match.id, match.namespace, match.key, scores[match.id]) for match in first.values()
    )


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
