"""A field left as it is, where ``None`` is a value."""


class Unset:
    """The type of ``UNSET``."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset()
