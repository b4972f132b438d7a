"""What the values of a write may go on from: those of its checkpoint, and of related ones.

A subgraph is given its supervisor's messages, and gives them back with its own. They are the same
documents in both namespaces, found by the name of the channel.
"""

from collections.abc import Sequence
from typing import Any

from threadkeep.checkpoints.known import Record
from threadkeep.checkpoints.values import Memories, Memory, Path
from threadkeep.ports.documents import Key


class Origins:
    """Finds what a value goes on from, and says which checkpoints were relied on for it.

    Args:
        own: Values of the checkpoint before; found by their path, whether or not they look alike.
        records: Related checkpoints. Their values, and those written to them, are found by the
            last name of the path, where they look more alike.

    Attributes:
        used: Keys of those checkpoints of which values were found.
    """

    def __init__(self, own: Memories, records: Sequence[Record] = ()) -> None:
        self.used: set[tuple[str, Key]] = set()
        self._own = own
        self._others: dict[str, list[tuple[Record, Memory]]] = {}
        for record in records:
            for memories in (record.lists, record.written):
                for path, memory in memories.items():
                    self._others.setdefault(path[-1], []).append((record, memory))

    def find(self, path: Path, value: Any) -> Memory | None:
        """Find what a value at a path goes on from."""
        best = self._own.get(path)
        others = [each for each in self._others.get(path[-1], ()) if each[1] is not best]
        if not others:
            return best
        likeness = best.likeness(value) if best else 0
        source: Record | None = None
        for record, memory in others:
            alike = memory.likeness(value)
            if alike > likeness:
                best, likeness, source = memory, alike, record
        if source is not None:
            self.used.add(source.key)
        return best


NOTHING = Origins({})
