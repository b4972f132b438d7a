"""``threadkeep dev``: serve a project for development.

Saved files are taken over in place (see ``watching``), so the port, the store and the runs that are
under way stay.
"""

import os
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from threadkeep.cli.arguments import REFUSED
from threadkeep.cli.environment import Environment
from threadkeep.cli.serving import Service, serve
from threadkeep.config.langgraph_json import read_project
from threadkeep.config.settings import read_settings
from threadkeep.errors import ConfigError

DRAIN_SECONDS = 5.0  # nobody waits longer for a server to start anew


def run(chosen: Namespace) -> int:
    """Serve until a signal ends it.

    Raises:
        ConfigError: An option, the file, the environment, the host or the port is wrong.
        StorageError: The database cannot be opened.
    """
    _refuse(chosen)
    environment = Environment()
    project = read_project(Path(chosen.config))
    environment.take(project.environment)
    settings = read_settings(os.environ, folder=project.folder)
    if chosen.n_jobs_per_worker is not None:
        settings = replace(settings, jobs=chosen.n_jobs_per_worker)
    serve(
        Service(
            project=project,
            settings=settings,
            environment=environment,
            host=chosen.host,
            port=chosen.port,
            certificate=chosen.ssl_certfile,
            key=chosen.ssl_keyfile,
            log_level=chosen.server_log_level,
            drain_seconds=DRAIN_SECONDS,
            is_watched=not chosen.no_reload,
            as_json=chosen.json,
        )
    )
    return 0


def _refuse(chosen: Namespace) -> None:
    for option, (_, reason) in REFUSED.items():
        if getattr(chosen, option.removeprefix("--").replace("-", "_")):
            raise ConfigError(f"{option} is refused: {reason}")
