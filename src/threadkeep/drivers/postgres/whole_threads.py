"""Units of work on a thread as a whole: erasures, copies, prunes and leases.

Each but those on leases locks the thread's row by a statement of its own: what follows sees all
that was committed while it waited.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from threadkeep.drivers.postgres.document_rows import columns, pack_scope
from threadkeep.drivers.postgres.queries import Query, Unit
from threadkeep.drivers.sql.keyed import pack_key
from threadkeep.errors import UnavailableError
from threadkeep.model.uuid_times import TICKS_PER_SECOND
from threadkeep.ports.documents import CHECKPOINTS, ERASURE_SECONDS, Key, Pruned, Pruning, Scope
from threadkeep.rules.document_life import erasure_mark

MEETINGS = 20  # times that another process erases the target of a copy at the same moment
FORGET = 100  # marks that are past their time, by one erasure: more than it adds

Statements = Mapping[str, str]


def erase(statements: Statements, scope: Scope, thread_id: str, *, now: int) -> Unit[int]:
    """Delete all of a thread; answer with how many documents there were."""
    tid = yield from _one(statements["lock_thread"], pack_scope(scope, thread_id))
    if tid is None:
        return 0
    given = {
        "tid": tid,
        "mark": erasure_mark(scope, thread_id),
        "now": now,
        "forget_before": now - ERASURE_SECONDS * TICKS_PER_SECOND,
        "forget": FORGET,
    }
    ((gone,),) = yield Query(statements["erase"], given)
    return int(gone)


def copy(
    statements: Statements, scope: Scope, source: str, target: str, *, touched: int
) -> Unit[int]:
    """See ``DocumentStore.copy``."""
    if source == target:
        return 0
    origin = yield from _one(statements["find_thread"], pack_scope(scope, source))
    if origin is None:
        return 0
    # In the order of their names, so that two copies never wait for each other.
    if source < target:
        origin = yield from _one(statements["share_thread"], pack_scope(scope, source))
        own = yield from _found_or_made(statements, scope, target)
    else:
        own = yield from _found_or_made(statements, scope, target)
        origin = yield from _one(statements["share_thread"], pack_scope(scope, source))
    if origin is None:
        return 0
    given = {"source": origin, "target": own, "touched": touched}
    mark = erasure_mark(scope, target)
    ((copied,),) = yield Query(statements["copy"], {**given, "mark": mark})
    return int(copied)


def prune(statements: Statements, scope: Scope, thread_id: str, pruning: Pruning) -> Unit[Pruned]:
    """See ``DocumentStore.prune``."""
    tid = yield from _one(statements["lock_thread"], pack_scope(scope, thread_id))
    if tid is None:
        return Pruned()
    given = {
        "tid": tid,
        **_arrays(pruning.gone, "gone"),
        **_arrays((*pruning.gone, *pruning.orphans), "planned"),
        **_arrays(pruning.orphans, "orphan"),
        **_arrays(pruning.strays, "stray"),
    }
    ((is_done, checkpoints, writes),) = yield Query(statements["prune_checkpoints"], given)
    if not is_done:
        return Pruned(done=False)
    if pruning.strays:
        ((strays,),) = yield Query(statements["remove_stray_writes"], given)
        writes += strays
    if pruning.orphans:
        yield Query(statements["cut_off_checkpoints"], given)
    ((documents,),) = yield Query(statements["sweep"], given)
    return Pruned(True, checkpoints, writes, documents)


def lease(
    statements: Statements, scope: Scope, thread_id: str, given: Mapping[str, Any]
) -> Unit[int | None]:
    """See ``DocumentStore.lease``; times are milliseconds since 1970."""
    names = pack_scope(scope, thread_id)
    yield Query(statements["claim_lease"], names)
    return (yield from _one(statements["take_lease"], {**names, **given}))


def extend_lease(
    statements: Statements, scope: Scope, thread_id: str, given: Mapping[str, Any]
) -> Unit[bool]:
    """See ``DocumentStore.extend_lease``."""
    names = pack_scope(scope, thread_id)
    rows = yield Query(statements["extend_lease"], {**names, **given})
    return bool(rows)


def release_lease(statements: Statements, scope: Scope, thread_id: str, token: int) -> Unit[None]:
    """See ``DocumentStore.release_lease``."""
    names = pack_scope(scope, thread_id)
    yield Query(statements["release_lease"], {**names, "token": token})


def _one(text: str, given: Mapping[str, Any]) -> Unit[int | None]:
    """Return the number that a statement answers with, if it has a row."""
    rows = yield Query(text, given)
    return int(rows[0][0]) if rows else None


def _found_or_made(statements: Statements, scope: Scope, thread_id: str) -> Unit[int]:
    names = pack_scope(scope, thread_id)
    for _ in range(MEETINGS):
        tid = yield from _one(statements["lock_thread"], names)
        if tid is not None:
            return tid
        yield Query(statements["make_thread"], names)
    raise UnavailableError("postgresql: others erase the target of a copy all the time")


def _arrays(keys: Iterable[Key], name: str) -> Mapping[str, Any]:
    packed = [pack_key(CHECKPOINTS, key) for key in keys]
    return columns(packed, (f"{name}_ns", f"{name}_ids"))
