"""Steps that concern a thread as a whole."""

from threadkeep.checkpoints.steps import Erase, Steps
from threadkeep.ports.documents import CHECKPOINTS, Find, Page

_UUID6_EPOCH_TICKS = 0x01B21DD213814000  # 1970-01-01 in ticks of 100 ns since 1582-10-15


def delete_thread(thread_id: str) -> Steps[None]:
    """Delete all documents of a thread; an unknown thread is no error."""
    yield Erase(thread_id)


def thread_is_stored(thread_id: str) -> Steps[bool]:
    """Tell whether a thread has a checkpoint."""
    page: Page = yield Find(CHECKPOINTS, thread_id, limit=1, bodies=False)
    return bool(page.documents)


def ticks(nanoseconds: int) -> int:
    """State a Unix time as a UUIDv6 does."""
    return nanoseconds // 100 + _UUID6_EPOCH_TICKS


def is_later(checkpoint_id: str, than: int) -> bool:
    """Tell whether a checkpoint id is a UUIDv6 made after a time given as ``ticks``."""
    digits = checkpoint_id.replace("-", "")
    try:
        value = int(digits, 16)
    except ValueError:
        return False
    if len(digits) != 32 or digits[12] != "6":
        return False
    return ((value >> 80) << 12 | (value >> 64 & 0xFFF)) > than
