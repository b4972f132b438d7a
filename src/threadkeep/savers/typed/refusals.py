"""Why a value is not stored, and where in the value."""


class Refused(TypeError):
    """A value would not come back as it is.

    Args:
        reason: Why, and what to do about it.
        path: Where in the value, as Python would say it.
    """

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"at {path}: {reason}" if path else reason)
        self.reason = reason
        self.path = path

    def under(self, step: str) -> "Refused":
        """Make the same refusal, seen from one level above."""
        return Refused(self.reason, step + self.path)
