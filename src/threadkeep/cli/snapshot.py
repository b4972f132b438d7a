"""``threadkeep snapshot``: the whole store as a file, as it is at one moment.

The file gets its name when it is whole: what a run that was cut off left behind is written anew.
"""

import json
import os
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from threadkeep.cli.rows import counted, progress
from threadkeep.config.settings import read_settings
from threadkeep.errors import ConfigError, StorageError
from threadkeep.ports.drivers import open_driver
from threadkeep.ports.transfer import transfer_of
from threadkeep.services import snapshots

READABLE = 0o600  # by its owner alone: it holds all that was said


def run(chosen: Namespace) -> int:
    """Write the snapshot.

    Raises:
        ConfigError: The file is there, or cannot be made; or the database's address is wrong.
        NotSupportedError: The store cannot be moved.
        StorageError: The store failed, or the file could not be written; no file is left.
    """
    settings = read_settings(os.environ, folder=Path.cwd())
    path = Path(chosen.file)
    if path.exists():
        raise ConfigError(f"{path} is there already; name another file, or remove it")
    with closing(open_driver(settings.database_url)) as driver:
        transfer = transfer_of(driver)
        driver.documents().setup()
        with _new(path) as out:
            contents = snapshots.write(transfer, out, progress)
    if chosen.json:
        print(json.dumps({"file": str(path), **contents.header, "rows": contents.rows}))
    else:
        print(f"{path}: {counted(contents.rows)}, {path.stat().st_size:,} bytes")
    return 0


@contextmanager
def _new(path: Path) -> Iterator[BinaryIO]:
    """Lend a file beside a path; it is moved there once it is whole and on the disk."""
    partial = path.with_name(path.name + ".partial")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, READABLE)
    except OSError as error:
        raise ConfigError(f"{partial} cannot be written: {error.strerror}") from error
    try:
        with open(descriptor, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        os.link(partial, path)  # fails where another made the file meanwhile
    except OSError as error:
        raise StorageError(f"{path} could not be written: {error.strerror}") from error
    finally:
        with suppress(FileNotFoundError):
            partial.unlink()
