"""Units of work on a thread as a whole: copies, prunes, leases and what was erased."""

from collections.abc import Iterable

from threadkeep.drivers.sql.packing import pack_id, pack_text, unpack_refs
from threadkeep.drivers.sqlite.document_writes import Thread, ThreadKey, Threads
from threadkeep.drivers.sqlite.sessions import Session
from threadkeep.model.uuid_times import TICKS_PER_SECOND
from threadkeep.ports.documents import ERASURE_SECONDS, Key, Pruned, Pruning
from threadkeep.rules.document_life import reachable

GIVE_BACK_PAGES = 4096  # to the disk, by one prune: 16 MiB take some 50 ms

Rows = set[tuple[bytes, bytes]]


def copy(
    session: Session,
    threads: Threads,
    source: Thread,
    target: Thread,
    *,
    touched: int,
) -> int:
    """See ``DocumentStore.copy``."""
    origin = threads.find(session, source.key)
    if origin is None or source == target:
        return 0
    session.run("forget_erasure", (target.mark,))
    own = threads.find_or_add(session, target)
    session.run("forget_erasure_of_thread", (own,))
    names = {"source": origin, "target": own, "touched": touched}
    session.run("copy_metadata", names)
    return sum(
        session.run(name, names) for name in ("copy_documents", "copy_checkpoints", "copy_writes")
    )


def prune(session: Session, threads: Threads, thread: ThreadKey, pruning: Pruning) -> Pruned:
    """See ``DocumentStore.prune``."""
    tid = threads.find(session, thread)
    if tid is None:
        return Pruned()
    gone, orphans = _rows(pruning.gone), _rows(pruning.orphans)
    for ns, ident, parent in session.all("list_followers", (tid,)):
        if (ns, parent) in gone and (ns, ident) not in gone and (ns, ident) not in orphans:
            return Pruned(done=False)
    checkpoints = sum(session.run("remove_checkpoints", (tid, *row)) for row in gone)
    writes = sum(session.run("remove_writes_of_checkpoint", (tid, *row)) for row in gone)
    strays = _rows(pruning.strays)
    writes += sum(session.run("remove_stray_writes", (tid, *row)) for row in strays)
    session.run_many("cut_off_checkpoint", [(tid, *row) for row in orphans])
    documents = _sweep(session, tid)
    session.give_back(GIVE_BACK_PAGES)
    return Pruned(True, checkpoints, writes, documents)


def _rows(keys: Iterable[Key]) -> Rows:
    return {(pack_text(str(ns)), pack_id(str(ident))) for ns, ident in keys}


def _sweep(session: Session, tid: int) -> int:
    """Delete the documents that nothing names."""
    named = (
        ref for (refs,) in session.all("list_named", {"tid": tid}) for ref in unpack_refs(refs)
    )
    nodes = {ref: unpack_refs(refs) for ref, refs in session.all("list_all_nodes", (tid,))}
    live = reachable(named, nodes)
    dead = [(tid, ref) for (ref,) in session.all("list_documents", (tid,)) if ref not in live]
    session.run_many("remove_metadata", dead)
    return session.run_many("sweep_documents", dead) if dead else 0


def remember_erasure(session: Session, mark: bytes, now: int) -> None:
    """Take in that a thread was erased, and forget what was long ago."""
    session.run("forget_old_erasures", (now - ERASURE_SECONDS * TICKS_PER_SECOND,))
    session.run("remember_erasure", (mark, now))


def lease(session: Session, thread: ThreadKey, *, now: int, ends_at: int) -> int | None:
    """See ``DocumentStore.lease``; times are milliseconds since 1970."""
    session.run("remove_ended_lease", (*thread, now))
    if not session.run("add_lease", (*thread, ends_at)):
        return None
    (token,) = session.one("find_lease", thread)
    return int(token)


def extend_lease(session: Session, thread: ThreadKey, token: int, *, ends_at: int) -> bool:
    """See ``DocumentStore.extend_lease``."""
    return bool(session.run("extend_lease", (ends_at, *thread, token)))


def release_lease(session: Session, thread: ThreadKey, token: int) -> None:
    """See ``DocumentStore.release_lease``."""
    session.run("release_lease", (*thread, token))
