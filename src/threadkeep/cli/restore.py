"""``threadkeep restore``: a snapshot into a store.

The plan is printed first: the file is read to its end, so a damaged one is told before anything is
written. With ``--apply`` the rows are written, and each is then compared with the file's.
"""

import json
import os
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from threadkeep.cli.rows import counted, progress
from threadkeep.config.settings import read_settings
from threadkeep.errors import ConfigError, CorruptionError
from threadkeep.ports.drivers import open_driver
from threadkeep.ports.transfer import Transfer, transfer_of
from threadkeep.services import snapshots


def run(chosen: Namespace) -> int:
    """Tell the plan, and carry it out where that is asked.

    Raises:
        ConfigError: There is no such file, the store has rows and ``--merge`` is not given, or
            the database's address is wrong.
        NotSupportedError: The store cannot be moved.
        CorruptionError: The file is damaged, or the store is not what the file says.
        StorageError: The store failed; what is written stays.
    """
    settings = read_settings(os.environ, folder=Path.cwd())
    with _opened(Path(chosen.file)) as file:
        contents = snapshots.check(file)
        with closing(open_driver(settings.database_url)) as driver:
            transfer = transfer_of(driver)
            driver.documents().setup()
            filled = snapshots.filled(transfer)
            _tell_plan(chosen, contents, filled)
            if filled and not chosen.merge:
                raise ConfigError(
                    f"the store has {', '.join(filled)} already; name an empty database, or add "
                    "--merge: what is there stays, and what it has not is added"
                )
            if not chosen.apply:
                return 0
            return _carry_out(chosen, transfer, file)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    with file:
        yield file


def _tell_plan(chosen: Namespace, contents: snapshots.Contents, filled: Any) -> None:
    header = contents.header
    if chosen.json:
        told = {"made_at": header["made_at"], "made_by": header["made_by"], "store_has": filled}
        print(json.dumps({"plan": {**told, "rows": contents.rows}}))
        return
    print(f"{chosen.file}: made {header['made_at']} by threadkeep {header['made_by']}")
    print(f"plan: write {counted(contents.rows)}")
    for kind, rows in contents.rows.items():
        if rows:
            print(f"  {kind}: {rows:,}")
    if filled:
        print(f"the store has {', '.join(filled)}; rows with the same key stay as they are")
    if not chosen.apply:
        print("Nothing was written. Carry the plan out: threadkeep restore FILE --apply")


def _carry_out(chosen: Namespace, transfer: Transfer, file: BinaryIO) -> int:
    added = snapshots.restore(transfer, file, progress)
    compared = snapshots.compare(transfer, file)
    told: dict[str, Mapping[str, int]] = {
        "written": added,
        "same": compared.same,
        "different": compared.different,
        "missing": compared.missing,
    }
    if chosen.json:
        print(json.dumps(told))
    else:
        print(f"{counted(added)} written; compared with the file: {counted(compared.same)} equal")
        if compared.different:
            print(f"otherwise in the store before, and kept: {counted(compared.different)}")
    if compared.missing or (compared.different and not chosen.merge):
        raise CorruptionError(
            f"the store is not what the snapshot says: {counted(compared.missing)} missing, "
            f"{counted(compared.different)} different; does something else write to it?"
        )
    return 0
