"""Names that people search by."""


def has_part(name: str, part: str) -> bool:
    """Say whether a name holds a text somewhere, in either case."""
    return part.casefold() in name.casefold()
