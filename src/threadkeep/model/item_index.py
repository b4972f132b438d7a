"""What an index of items holds: passages of text, and vectors of some embedder."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

Vector: TypeAlias = Sequence[float]


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """Which index: vectors of one embedder. Another name or size is another index.

    Attributes:
        embedder: The name the embedder goes by; vectors of two are never compared.
        dims: Numbers per vector.
        hnsw: Search approximately where the driver can; else exactly.
    """

    embedder: str
    dims: int
    hnsw: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """One text of an item, and its vector.

    Attributes:
        vector: ``None``: the passage is found by its words only.
    """

    text: str
    vector: Vector | None = None


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What an index is to hold of an item, as it stood at ``updated_at``."""

    namespace: tuple[str, ...]
    key: str
    updated_at: datetime
    passages: Sequence[Passage]


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """How far an index is.

    Attributes:
        indexed: Live items it holds, those without a passage included.
        total: Live items there are.
    """

    indexed: int
    total: int
