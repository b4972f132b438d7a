"""One PostgreSQL database, by psycopg 3; needs the extra ``postgres``.

``postgresql://user@host/database`` · ``?schema=`` · ``?pool_max_size=`` ·
``?prepared_statements=on``.
"""

import importlib

from threadkeep.errors import ConfigError
from threadkeep.ports.drivers import Driver, DriverOptions


def open(url: str, options: DriverOptions) -> Driver:
    """Open a database; connections are made when they are needed.

    Raises:
        ConfigError: psycopg is not installed, or the address is no address of a database.
    """
    try:
        driver = importlib.import_module("threadkeep.drivers.postgres.driver")
    except ImportError as error:
        if (error.name or "psycopg").startswith("threadkeep"):
            raise
        raise ConfigError(
            'a postgresql address needs psycopg: pip install "threadkeep[postgres]"'
        ) from error
    opened: Driver = driver.open(url, options)
    return opened
