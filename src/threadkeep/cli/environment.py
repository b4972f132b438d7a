"""The process's environment with the project's ``env`` below it."""

import os
from collections.abc import Mapping


class Environment:
    """Sets the variables of a project that the process was not started with."""

    def __init__(self) -> None:
        self._given = frozenset(os.environ)
        self._taken: frozenset[str] = frozenset()

    def take(self, variables: Mapping[str, str]) -> None:
        """Set a project's variables in place of those it gave before."""
        wanted = {name: text for name, text in variables.items() if name not in self._given}
        for name in self._taken - wanted.keys():
            os.environ.pop(name, None)
        os.environ.update(wanted)
        self._taken = frozenset(wanted)
