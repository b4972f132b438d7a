"""``threadkeep up``: serve a project in production, as one process.

Several may serve one PostgreSQL database: a run executes in one of them, and another settles it
when that one is gone. Nothing is watched, and what is served is kept: the database must be named.
"""

import os
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from threadkeep.cli.environment import Environment
from threadkeep.cli.serving import Service, serve
from threadkeep.config.langgraph_json import read_project
from threadkeep.config.settings import read_settings
from threadkeep.errors import ConfigError
from threadkeep.ports.drivers import DATABASE_VARIABLES, configured_database

FORGETFUL = "memory://"


def run(chosen: Namespace) -> int:
    """Serve until a signal ends it.

    Raises:
        ConfigError: An option, the file, the environment, the host or the port is wrong, or no
            database is named that keeps anything.
        StorageError: The database cannot be opened.
    """
    environment = Environment()
    project = read_project(Path(chosen.config))
    environment.take(project.environment)
    settings = read_settings(os.environ, folder=project.folder, database=_database())
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
            drain_seconds=chosen.drain_seconds,
            is_watched=False,
            as_json=chosen.json,
        )
    )
    return 0


def _database() -> str:
    found = configured_database(os.environ)
    if found is None:
        raise ConfigError(
            f"no database is named; set {DATABASE_VARIABLES[0]}, e.g. to "
            "postgresql://user:password@host/database"
        )
    name, url = found
    if url.startswith(FORGETFUL):
        raise ConfigError(f"{name} is {FORGETFUL}, which keeps nothing; `threadkeep dev` serves it")
    return url
