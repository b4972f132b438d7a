"""Units of work that several repos share, and how a refusal leaves one.

An expected refusal is returned by a unit, and raised here: one that is raised inside would undo the
batch its unit is committed with, and make each unit of it run again.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from threadkeep.drivers.sql.database import All, Database, One, Work
from threadkeep.drivers.sql.rows import Bag, Row
from threadkeep.drivers.sql.where import Conditions
from threadkeep.errors import ThreadkeepError
from threadkeep.rules.containment import contains
from threadkeep.rules.json_text import decode_json
from threadkeep.rules.paging import Page

T = TypeVar("T")


async def write(database: Database, work: Callable[[], Work[T | ThreadkeepError]]) -> T:
    """Run a writing unit, and raise the refusal it returned, if it did."""
    result = await database.write(work)
    if isinstance(result, ThreadkeepError):
        raise result
    return result


def is_owned(row: Row | None, enforced: Mapping[str, Any]) -> bool:
    """Say whether there is a row, and its metadata contains what is enforced."""
    return row is not None and (not enforced or contains(decode_json(row["metadata"]), enforced))


def read_page(
    search: str, count: str | None, where: Conditions, page: Page, more: Bag | None = None
) -> Work[tuple[list[Row], int]]:
    """Read a page of rows and how many match in all; they are counted only where the page is cut.

    Args:
        search: The statement that reads.
        count: The statement that counts; ``None``: nobody asks how many match.
        more: What only the first one binds.
    """
    bound = where.parameters
    rows: list[Row] = []
    if page.limit:
        cut = {**bound, **(more or {}), "limit": page.limit, "offset": page.offset}
        rows = yield All(search, cut, where.ordered_text if where.order else where.text)
    is_last = len(rows) < page.limit and (rows or not page.offset)
    if is_last or count is None:
        return rows, page.offset + len(rows)
    total = yield from read_count(count, where)
    return rows, total


def read_count(count: str, where: Conditions) -> Work[int]:
    """Count what matches, whatever a page would hold."""
    plain = One(count, where.parameters, where.counted or where.text)
    counted = yield where.total or plain
    total: int = counted["total"]
    return total
