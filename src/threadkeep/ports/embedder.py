"""What turns texts into vectors."""

from collections.abc import Sequence
from typing import Protocol

from threadkeep.model.item_index import Vector


class Embedder(Protocol):
    """Vectors of texts, all of one size.

    Attributes:
        name: What its vectors are known by; vectors of two names are never compared.
        dims: Numbers per vector.
    """

    @property
    def name(self) -> str:
        """See the class."""
        ...

    @property
    def dims(self) -> int:
        """See the class."""
        ...

    async def documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return a vector for each text that is to be found, in order.

        Raises:
            UnavailableError: The embedder failed, also after it was tried again.
            ConfigError: It answers with something else than vectors of ``dims`` numbers.
        """
        ...

    async def question(self, text: str) -> Vector:
        """Return the vector of a text that is searched by.

        Raises:
            UnavailableError: See ``documents``; also for ``ConfigError``.
        """
        ...
