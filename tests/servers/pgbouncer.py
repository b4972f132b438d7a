"""A PgBouncer in transaction mode before a PostgreSQL server, from the system's own package."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from urllib.parse import urlsplit

from tests.servers.process import HOST, free_port, new_folder, running, unprivileged

SERVER_CONNECTIONS = 3  # fewer than clients, so that sessions are lent to others all the time

_SETTINGS = """
[databases]
* = host={server} port={server_port} user={user}
[pgbouncer]
listen_addr = {host}
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 500
ignore_startup_parameters = extra_float_digits
"""


def is_installed() -> bool:
    """Tell whether this machine has a PgBouncer."""
    return _binary() is not None


@contextlib.contextmanager
def pooled(url: str) -> Iterator[str]:
    """Yield the URL of the same database behind a PgBouncer."""
    parts = urlsplit(url)
    port = free_port()
    folder = new_folder("pgbouncer")
    file = folder / "pgbouncer.ini"
    file.write_text(
        _SETTINGS.format(
            server=parts.hostname,
            server_port=parts.port,
            user=parts.username,
            host=HOST,
            port=port,
            size=SERVER_CONNECTIONS,
        )
    )
    identity = unprivileged()
    if identity:
        os.chown(folder, identity["user"], identity["group"])
        os.chown(file, identity["user"], identity["group"])
    command = [str(_binary()), str(file)]
    with running(command, port=port, folder=folder, identity=identity):
        yield parts._replace(netloc=f"{parts.username}@{HOST}:{port}").geturl()


def _binary() -> str | None:
    places = os.environ.get("PATH", "") + os.pathsep + "/usr/sbin"
    return shutil.which("pgbouncer", path=places)
