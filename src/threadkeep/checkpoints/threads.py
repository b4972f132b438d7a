"""Steps that concern a thread as a whole."""

from threadkeep.checkpoints.steps import Copy, Erase, Steps
from threadkeep.ports.documents import CHECKPOINTS, CHECKPOINTS_V1, Find, Page


def delete_thread(thread_id: str) -> Steps[None]:
    """Delete all documents of a thread; an unknown thread is no error."""
    yield Erase(thread_id)


def copy_thread(source: str, target: str) -> Steps[None]:
    """Copy all documents of a thread, bodies unread; what the target has stays as it is."""
    yield Copy(source, target)


def thread_is_stored(thread_id: str) -> Steps[bool]:
    """Tell whether a thread has a checkpoint, of either schema."""
    for collection in (CHECKPOINTS, CHECKPOINTS_V1):
        page: Page = yield Find(collection, thread_id, limit=1, bodies=False)
        if page.documents:
            return True
    return False
