"""The order of best matches, vectors of length 1, and words."""

import math

import pytest

from threadkeep.errors import InvalidRequestError
from threadkeep.rules import words
from threadkeep.rules.ranking import ALIKE, DEPTH, FUSION, Match, depth_of, fused, ranked
from threadkeep.rules.vectors import packed, unit_vector


def match(key: str, score: float) -> Match[str]:
    return Match(key, ("n",), key, score)


def keys(found: list[Match[str]]) -> list[str]:
    return [each.key for each in found]


def test_scores_that_differ_beyond_their_digits_are_ties() -> None:
    assert keys(ranked([match("b", 0.5), match("a", 0.5 - 1e-9), match("c", 0.9)])) == [
        "c",
        "a",
        "b",
    ]


def test_places_are_fused_and_not_scores() -> None:
    found = fused([match("a", 0.9), match("b", 0.1)], [match("b", 900.0), match("c", 1.0)])
    assert keys(found) == ["b", "a", "c"]
    assert found[0].score == pytest.approx(1 / (FUSION + 2) + 1 / (FUSION + 1))
    assert fused([], []) == []


def test_words_that_say_nearly_the_same_share_a_place() -> None:
    near = 1 - ALIKE / 2
    by_words = [match("a", 8.0), match("b", 8.0 * near), match("c", 2.0)]
    found = {each.key: each.score for each in fused([], by_words)}
    assert found["a"] == found["b"] == pytest.approx(1 / (FUSION + 1))
    assert found["c"] == pytest.approx(1 / (FUSION + 3))


@pytest.mark.parametrize(
    ("end", "is_fused", "depth"),
    [(10, False, 10), (10, True, DEPTH), (DEPTH + 1, True, 2 * DEPTH), (0, True, DEPTH)],
)
def test_neighbouring_pages_see_one_depth(end: int, is_fused: bool, depth: int) -> None:
    assert depth_of(end, is_fused=is_fused) == depth


def test_a_vector_is_brought_to_length_1_whatever_its_size() -> None:
    for factor in (1, 1e300, 5e-324 * 2**60):
        assert unit_vector([3 * factor, 4 * factor], dims=2) == pytest.approx((0.6, 0.8))
    assert unit_vector([0.0, 0.0], dims=2) is None
    assert len(packed([1.0, 2.0, 3.0])) == 12


@pytest.mark.parametrize("vector", [[1.0], [1.0, math.nan], [math.inf, 1.0], [math.nan, 0.0]])
def test_a_vector_that_does_not_fit_is_refused(vector: list[float]) -> None:
    with pytest.raises(InvalidRequestError):
        unit_vector(vector, dims=2)


def test_words_have_no_case_accent_or_plural() -> None:
    assert words.words("Café CAFÉS, 2 ponies; glass bus") == [
        "cafe",
        "cafe",
        "2",
        "pony",
        "glass",
        "bus",
    ]
    assert words.words("") == words.words("?!") == []


def test_a_question_is_asked_by_what_tells_in_it() -> None:
    assert words.question_words("What does Ada drink, and what not?") == ["Ada", "drink", "not"]
    assert words.question_words("who are you") == ["who", "are", "you"]
    assert len(words.question_words(" ".join(map(str, range(500))))) == words.MAX_QUESTION


def test_a_rare_word_counts_more_and_a_long_text_less() -> None:
    texts = {
        "rare": words.counted(["samovar cup"]),
        "long": words.counted(["samovar " + "other " * 50]),
        "common": words.counted(["cup"]),
        "none": words.counted(["saucer"]),
    }
    found = words.scores("samovar cup", texts)
    assert found["rare"] > found["common"] > 0
    assert found["rare"] > found["long"] > 0
    assert "none" not in found
    assert words.scores("samovar", {}) == {}
