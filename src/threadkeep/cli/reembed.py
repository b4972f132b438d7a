"""``threadkeep reembed``: new vectors for a changed embedder, while the old ones are searched."""

import asyncio
import json
import os
import sys
from argparse import Namespace
from contextlib import closing
from pathlib import Path

from threadkeep.cli.environment import Environment
from threadkeep.config.langgraph_json import read_project
from threadkeep.config.settings import read_settings
from threadkeep.errors import ConfigError
from threadkeep.model.item_index import IndexProgress
from threadkeep.savers.store import ItemStore


def run(chosen: Namespace) -> int:
    """Bring every item into the index of the file, and say what is to be done next.

    Raises:
        ConfigError: The file is wrong or has no ``store.index``.
        StorageError: The database cannot be opened, or the embedder failed; what is done stays.
    """
    project = read_project(Path(chosen.config))
    if project.item_index is None:
        raise ConfigError(f"{project.file.name}: store.index is not set, so nothing is embedded")
    Environment().take(project.environment)
    settings = read_settings(os.environ, folder=project.folder)
    teller = _Teller(is_shown=not chosen.json and sys.stderr.isatty())
    store = ItemStore(url=settings.database_url, index=project.item_index, folder=project.folder)
    with closing(store):
        was_in_force = asyncio.run(store.reembed(teller.tell))
    if chosen.json:
        print(json.dumps({"items": teller.total, "was_in_force": was_in_force}))
        return 0
    print(f"{teller.total} items are indexed by {project.item_index['embed']}.")
    if not was_in_force:
        print("Restart the servers with this file, then run threadkeep reembed once more.")
    return 0


class _Teller:
    """Keeps the latest progress, and shows it on a terminal."""

    def __init__(self, *, is_shown: bool) -> None:
        self._is_shown = is_shown
        self.total = 0

    def tell(self, progress: IndexProgress) -> None:
        self.total = progress.total
        if self._is_shown:
            print(f"\r{progress.indexed} of {progress.total} items", end="", file=sys.stderr)
            if progress.indexed >= progress.total:
                print(file=sys.stderr)
