"""The serializer of those who only look: it makes no value, so no class is imported."""

from typing import Any

from threadkeep.checkpoints import bodies
from threadkeep.checkpoints.codec import Codec


class OpaqueSerde:
    """Stands in for LangGraph's serializer where values are never made."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Refuse.

        Raises:
            TypeError: Always.
        """
        raise TypeError(f"an inspection serializes nothing, and was asked for a {type(obj)}")

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Refuse.

        Raises:
            TypeError: Always.
        """
        raise TypeError(f"an inspection makes no value, and was asked for one of {data[0]!r}")


def opaque_codec(key: bytes = bodies.PUBLIC_KEY, older_keys: tuple[bytes, ...] = ()) -> Codec:
    """Return a codec that names documents and makes no values."""
    return Codec(OpaqueSerde(), key, older_keys)
