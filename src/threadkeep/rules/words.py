"""Words of a text, and how well they answer those of a question, for what has no such search.

The score is BM25: a word counts more the fewer items hold it, and a long text less.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

MAX_TEXT = 128 * 1024  # characters whose words are indexed; PostgreSQL bounds what it holds of one
MAX_QUESTION = 64  # words of a question that count
# Left out of a question that has other words: nearly every text holds them.
_COMMON = """
a an and are as at be been but by can did do does for from had has have he her him his
how i if in is it its me my of on or our she so that the their them they this to was we
were what when where which who whom why will with you your
"""
COMMON = frozenset(_COMMON.split())

_SATURATION, _LENGTH = 1.2, 0.75  # of BM25, as SQLite's
_WORD = re.compile(r"\w+")

IdT = TypeVar("IdT")


def words(text: str) -> list[str]:
    """Return the words of a text: without case, accents and the ``s`` of a plural."""
    plain = unicodedata.normalize("NFKD", text[:MAX_TEXT]).casefold()
    if not plain.isascii():
        plain = "".join(c for c in plain if not unicodedata.combining(c))
    return [_stem(word) for word in _WORD.findall(plain)]


def question_words(text: str) -> list[str]:
    """Return the words a question is searched by, as they stand in it; none when it has none."""
    found = list(dict.fromkeys(_WORD.findall(text[:MAX_TEXT])))
    telling = [word for word in found if word.casefold() not in COMMON]
    return (telling or found)[:MAX_QUESTION]


def scores(question: str, texts: Mapping[IdT, Counter[str]]) -> dict[IdT, float]:
    """Return how well each text answers; what holds none of the words is left out."""
    asked = set(words(" ".join(question_words(question))))
    holding = {word: sum(word in held for held in texts.values()) for word in asked}
    mean = sum(held.total() for held in texts.values()) / max(len(texts), 1)
    weights = {
        word: math.log(1 + (len(texts) - count + 0.5) / (count + 0.5))
        for word, count in holding.items()
    }
    found = {each: _score(held, weights, mean) for each, held in texts.items()}
    return {each: score for each, score in found.items() if score > 0}


def counted(passages: Iterable[str]) -> Counter[str]:
    """Return how often each word stands in some passages."""
    return Counter(words("\n".join(passages)))


def joined(passages: Sequence[str]) -> str:
    """Return the passages of an item as the one text whose words are indexed."""
    return "\n".join(passages)[:MAX_TEXT]


def _score(held: Counter[str], weights: Mapping[str, float], mean: float) -> float:
    damping = _SATURATION * (1 - _LENGTH + _LENGTH * held.total() / (mean or 1))
    present = ((weights[word], held[word]) for word in weights if word in held)
    return sum(w * count * (_SATURATION + 1) / (count + damping) for w, count in present)


def _stem(word: str) -> str:
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word[:-1]
    return word
