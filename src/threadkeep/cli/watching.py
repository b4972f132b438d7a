"""Watching a project's files, and loading its graphs again when they are saved.

The process, its port, its store and its running runs stay; only the project's code is replaced.
A run that began before goes on with the code it began with.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Protocol

from watchfiles import Change, DefaultFilter, awatch

from threadkeep.cli.announce import Announcer
from threadkeep.cli.environment import Environment
from threadkeep.config.langgraph_json import Project, read_project
from threadkeep.errors import ThreadkeepError

log = logging.getLogger(__name__)

QUIET_MILLISECONDS = 120  # without a further change before files count as saved
LONGEST_MILLISECONDS = 1000  # until changes are taken in that do not stop
IGNORED_FOLDERS = (*DefaultFilter.ignore_dirs, ".threadkeep", ".langgraph_api")


class Reloadable(Protocol):
    """A runtime whose graphs can be replaced."""

    async def reload(self, project: Project, changed: Sequence[Path]) -> None:
        """Load the graphs of a project in place of those there are."""
        ...


class Sources(DefaultFilter):
    """Which files are the project's: Python code, and what ``langgraph.json`` reads."""

    def __init__(self, files: Sequence[Path]) -> None:
        super().__init__(ignore_dirs=IGNORED_FOLDERS)
        self._files = {str(file) for file in files}

    def __call__(self, change: Change, path: str) -> bool:
        """Say whether a change counts."""
        return (path.endswith(".py") or path in self._files) and super().__call__(change, path)


async def keep_loaded(
    runtime: Reloadable, project: Project, *, environment: Environment, announcer: Announcer
) -> None:
    """Reload the graphs whenever the project's files are saved, until cancelled."""
    async for changed in _changes(project):
        announcer.reloading(changed)
        try:
            read = await asyncio.to_thread(read_project, project.file)
            environment.take(read.environment)
            await runtime.reload(read, changed)
        except ThreadkeepError as error:
            announcer.mistake(error)
        except Exception:
            log.exception("the files that changed could not be taken over; save again to retry")


async def _changes(project: Project) -> AsyncIterator[Sequence[Path]]:
    folders = [folder for folder in project.import_paths if folder.is_dir()]
    seen = awatch(
        *folders,
        watch_filter=Sources([project.file, *project.folder.glob(".env*")]),
        debounce=LONGEST_MILLISECONDS,
        step=QUIET_MILLISECONDS,
    )
    async for changes in seen:
        yield sorted({Path(path) for _, path in changes})
