"""Vectors of an index: of length 1, so that likeness is a sum of products on every driver."""

import math
from array import array

from threadkeep.errors import InvalidRequestError
from threadkeep.model.item_index import Vector

SCORE_DIGITS = 6  # decimals of a score: what drivers compute alike, and all that an order rests on


def unit_vector(vector: Vector, *, dims: int) -> tuple[float, ...] | None:
    """Return a vector at length 1, or ``None`` for one without direction.

    Raises:
        InvalidRequestError: It has not ``dims`` numbers, or one that is not finite.
    """
    numbers = tuple(map(float, vector))
    if len(numbers) != dims:
        raise InvalidRequestError(f"a vector of {len(numbers)} numbers, but the index has {dims}")
    largest = max(map(abs, numbers), default=0.0)
    if not math.isfinite(largest) or any(map(math.isnan, numbers)):
        raise InvalidRequestError("a vector holds a number that is not finite")
    if largest == 0.0:
        return None
    scaled = [number / largest for number in numbers]  # squares neither vanish nor overflow
    length = math.sqrt(math.fsum(number * number for number in scaled))
    return tuple(number / length for number in scaled)


def packed(vector: Vector) -> bytes:
    """Return a vector as 32-bit floats in this machine's order."""
    return array("f", vector).tobytes()
