"""Named SQL statements read from a ``.sql`` file beside the driver.

Each statement stands under a line ``-- name --``; ``{where}`` in it is where conditions go, and
``{schema}`` stands before a table's name where a database may have several of that name.
"""

import re
from importlib import resources

_NAME = re.compile(r"^-- ([a-z0-9_]+) --$", re.MULTILINE)


def load(package: str, filename: str, *, schema: str = "") -> dict[str, str]:
    """Read the statements of a file in a package.

    Args:
        schema: What takes the place of ``{schema}``, with its period.

    Raises:
        ValueError: Two statements have one name.
    """
    text = (resources.files(package) / filename).read_text(encoding="utf-8")
    _, *pieces = _NAME.split(text)
    names = pieces[::2]
    if len(set(names)) < len(names):
        raise ValueError(f"{filename} names a statement twice")
    texts = (sql.strip().replace("{schema}", schema) for sql in pieces[1::2])
    return dict(zip(names, texts, strict=True))
