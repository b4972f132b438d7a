"""The fingerprint of a request: by it a repeat is told from another request under the same key.

Two requests have one fingerprint when method, path, query and body mean the same; the order of
object keys and of query parameters does not count. Credentials in a run's config and context do
not count either, and are not in what is hashed: a hash of a short secret would give it away, and a
client may renew its token between tries.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from threadkeep.rules.redaction import redact_kwargs


def fingerprint(method: str, path: str, query: Sequence[tuple[str, str]], body: Any) -> str:
    """Return the fingerprint as 64 hexadecimal digits.

    Args:
        method: In any case.
        path: As it was asked for, with its identifiers.
        query: Names and values, in any order.
        body: The JSON that was sent; ``None`` for none.
    """
    parts = [method.upper(), path, sorted(map(list, query)), _without_secrets(body)]
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _without_secrets(body: Any) -> Any:
    if isinstance(body, Mapping):
        return redact_kwargs(body)
    if isinstance(body, list):  # a batch of runs
        return [_without_secrets(each) for each in body]
    return body
