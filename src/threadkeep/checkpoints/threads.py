"""Steps that concern a thread as a whole."""

from threadkeep.checkpoints.steps import Copy, Erase, Steps
from threadkeep.ports.documents import CHECKPOINTS, Find, Page


def delete_thread(thread_id: str) -> Steps[None]:
    """Delete all documents of a thread; an unknown thread is no error."""
    yield Erase(thread_id)


def copy_thread(source: str, target: str) -> Steps[None]:
    """Copy all documents of a thread, bodies unread; what the target has stays as it is."""
    yield Copy(source, target)


def thread_is_stored(thread_id: str) -> Steps[bool]:
    """Tell whether a thread has a checkpoint."""
    page: Page = yield Find(CHECKPOINTS, thread_id, limit=1, bodies=False)
    return bool(page.documents)
