"""Which documents of a thread are still named, and how an erasure is remembered."""

from collections.abc import Iterable, Mapping
from hashlib import blake2b

from threadkeep.ports.documents import Scope
from threadkeep.rules.document_order import text_bytes

ERASURE_BYTES = 16  # of a hash: 10^9 erased threads are told apart with odds of 1 in 10^20


def reachable(named: Iterable[bytes], refs: Mapping[bytes, Iterable[bytes]]) -> set[bytes]:
    """Follow addresses through documents.

    Args:
        named: The addresses to begin with.
        refs: What documents name; one that names nothing may be absent.

    Returns:
        All addresses that were met.
    """
    met = set(named)
    waiting = [ref for ref in met if ref in refs]
    while waiting:
        for ref in refs[waiting.pop()]:
            if ref not in met:
                met.add(ref)
                if ref in refs:
                    waiting.append(ref)
    return met


def erasure_mark(scope: Scope, thread_id: str) -> bytes:
    """Name an erased thread without telling its name."""
    digest = blake2b(digest_size=ERASURE_BYTES, key=b"threadkeep.erasures")
    for text in (scope.namespace, scope.agent_id, thread_id):
        packed = text_bytes(text)
        digest.update(len(packed).to_bytes(8, "big") + packed)
    return digest.digest()
