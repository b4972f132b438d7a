"""The marks of a list's elements, in runs that later lists share.

Each step of a chat appends to a list of thousands. What is kept of it is a copy of the runs before
the last one, so that neither remembering a list nor forgetting one looks at each mark.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import overload

from threadkeep.checkpoints.entries import Mark

RUN_LEN = 64


class Marks(Sequence[Mark]):
    """A value; made by ``joined``."""

    __slots__ = ("_runs",)

    def __init__(self, runs: Sequence[Sequence[Mark]] = ()) -> None:
        self._runs = runs

    @classmethod
    def joined(cls, marks: Sequence[Mark], kept: int, others: Sequence[Mark]) -> "Marks":
        """Give the first ``kept`` of some marks, and others after them."""
        at = kept - kept % RUN_LEN
        runs = marks._runs[: at // RUN_LEN] if isinstance(marks, Marks) else _runs(marks[:at])
        return cls((*runs, *_runs([*marks[at:kept], *others])))

    def __len__(self) -> int:
        """Count them."""
        return (len(self._runs) - 1) * RUN_LEN + len(self._runs[-1]) if self._runs else 0

    def __iter__(self) -> Iterator[Mark]:
        """Iterate over them in order."""
        return chain.from_iterable(self._runs)

    @overload
    def __getitem__(self, index: int) -> Mark: ...

    @overload
    def __getitem__(self, index: slice) -> list[Mark]: ...

    def __getitem__(self, index: int | slice) -> Mark | list[Mark]:
        """Give one, or a list of some."""
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return [*self][index]
            first = start // RUN_LEN
            runs = self._runs[first : -(-stop // RUN_LEN)]
            return [*chain.from_iterable(runs)][start % RUN_LEN : max(stop - first * RUN_LEN, 0)]
        place = range(len(self))[index]
        return self._runs[place // RUN_LEN][place % RUN_LEN]


def _runs(marks: Sequence[Mark]) -> list[tuple[Mark, ...]]:
    return [tuple(marks[at : at + RUN_LEN]) for at in range(0, len(marks), RUN_LEN)]
