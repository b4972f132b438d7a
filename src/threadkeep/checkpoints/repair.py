"""Steps that mend a thread: a plan of what is done and what is lost, then the plan carried out.

What is damaged is never guessed. A checkpoint that cannot be read is taken out, so that the thread
goes on from the newest one that can; where that is more than ``BACK_STEPS`` back, the newest of all
is kept with what is left of its values (``salvage``). Each step is a transaction of the store.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.findings import ThreadReport
from threadkeep.checkpoints.salvage import Salvaged, salvage
from threadkeep.checkpoints.steps import Fetch, Insert, Prune, Remove, Steps
from threadkeep.checkpoints.sums import add_sums, body_inside
from threadkeep.checkpoints.thread_check import Checkpoint, ThreadCheck
from threadkeep.checkpoints.verify import report_of, verify_thread
from threadkeep.errors import UnavailableError
from threadkeep.ports.documents import (
    CHECKPOINTS,
    CHECKPOINTS_V1,
    WRITES,
    WRITES_V1,
    Batch,
    Document,
    Fetched,
    Find,
    Inserted,
    Is,
    Key,
    Page,
    Pruned,
    Pruning,
)

BACK_STEPS = 5  # a thread goes back so far at most, a turn of an agent; else its newest is kept
MOVED_AT_ONCE = 1000  # documents in a wrong collection that one repair moves
# Damage that nothing here can mend.
_BEYOND = {
    "newer-format": "upgrade threadkeep and verify again; nothing of the thread is touched",
    "wrong-key": "give the key, or delete the thread; nothing of it is touched",
    "unreadable-row": "restore the row, or delete the thread; nothing of it is touched",
}


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that is to be done.

    Attributes:
        does: What.
        loses: What is lost by it; empty for nothing.
    """

    does: str
    loses: str = ""


@dataclass(slots=True)
class RepairPlan:
    """What is to be done to one thread.

    Attributes:
        thread_id: The thread.
        actions: In words, in the order in which they are done.
        beyond: What cannot be mended, in words.
        batches: Checkpoints written anew.
        removals: Keys of pending writes to remove.
        pruning: Checkpoints to take out or to cut off; ``None`` where nothing is to be swept.
    """

    thread_id: str
    actions: list[Action] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    removals: list[Key] = field(default_factory=list)
    pruning: Pruning | None = None


def plan_repair(check: ThreadCheck) -> Steps[RepairPlan]:
    """Plan to mend what a look at a thread found."""
    plan = RepairPlan(check.thread_id)
    plan.beyond = [
        f"{kind}: {says}" for kind, says in _BEYOND.items() if check.findings.counts[kind]
    ]
    if plan.beyond or not check.findings.counts:
        return plan
    plan.beyond += [
        f"{one.collection} {one.ident}: restore it, or delete the thread"
        for one in check.findings.shown
        if one.collection in (CHECKPOINTS_V1, WRITES_V1)
    ]
    gone, hopeless = yield from _take_out(check, plan)
    yield from _rewrite(check, plan, gone)
    yield from _put_back(check, plan)
    orphans = _cut_off(check, plan, gone, hopeless)
    _remove_writes(check, plan, gone)
    swept = check.findings.counts["orphan-document"]
    if swept:
        plan.actions.append(Action(f"delete {swept} documents that nothing names"))
    if gone or orphans or swept or plan.removals or plan.batches:
        plan.pruning = Pruning(sorted(gone, key=str), sorted(orphans, key=str))
    return plan


def carry_out(plan: RepairPlan, codec: Codec, now: int) -> Steps[ThreadReport]:
    """Do what a plan says, and look at the thread again.

    Raises:
        UnavailableError: The thread was written to since the plan was made; plan anew.
    """
    for batch in plan.batches:
        inserted: Inserted = yield Insert(batch)
        if not inserted.written:
            raise _changed(plan)
    if plan.removals:
        yield Remove(plan.thread_id, [(WRITES, key) for key in plan.removals])
    if plan.pruning is not None:
        pruned: Pruned = yield Prune(plan.thread_id, plan.pruning)
        if not pruned.done:
            raise _changed(plan)
    check = yield from verify_thread(plan.thread_id, codec, now)
    return report_of(check)


def _changed(plan: RepairPlan) -> UnavailableError:
    return UnavailableError(
        f"thread {plan.thread_id!r} was written to after its repair was planned; run it again"
    )


def _take_out(check: ThreadCheck, plan: RepairPlan) -> Steps[tuple[set[Key], set[Key]]]:
    """Plan that checkpoints which cannot be read go.

    Returns:
        Those, and those that nothing can be made of, which stay as they are.
    """
    gone: set[Key] = set()
    hopeless: set[Key] = set()
    for namespace, kept in _namespaces(check):
        broken = [one for one in kept if one.broken]
        whole = [one for one in kept if not one.broken]
        newer = [one for one in broken if not whole or one.document.key > whole[-1].document.key]
        saved: Salvaged | None = None
        if newer and (not whole or len(newer) > BACK_STEPS):
            saved = yield from _salvage(check, plan, newer)
            if saved is None and not whole:
                plan.beyond.append(
                    f"no checkpoint of {namespace!r} says anything: restore or delete the thread"
                )
                hopeless.update(one.document.key for one in broken)
                continue
        for one in broken:
            if saved is None or one.document.key != saved.document.key:
                gone.add(one.document.key)
                loses = f"that step of the history; {one.broken}"
                plan.actions.append(Action(f"take out checkpoint {_name(one)}", loses))
        if newer and saved is None:
            where = f" of {namespace!r}" if namespace else ""
            plan.actions.append(Action(f"the thread{where} goes on from {_name(whole[-1])}"))
    return gone, hopeless


def _salvage(
    check: ThreadCheck, plan: RepairPlan, broken: Sequence[Checkpoint]
) -> Steps[Salvaged | None]:
    """Plan that the newest checkpoint stays with what is left of it."""
    for one in reversed(broken):
        document = yield from _read(check.thread_id, one.document.key)
        saved = None if document is None else (yield from salvage(document, check))
        if saved is not None:
            plan.batches += saved.batches
            plan.actions.append(
                Action(f"keep checkpoint {_name(one)} with what is left of it", saved.loses)
            )
            return saved
    return None


def _rewrite(check: ThreadCheck, plan: RepairPlan, gone: set[Key]) -> Steps[None]:
    """Plan to write checkpoints anew whose fields are not those they were stored with."""
    wrong = {
        finding.key: finding.kind
        for finding in check.findings.shown
        if finding.kind in ("wrong-parent", "wrong-field") and finding.collection == CHECKPOINTS
    }
    for key in wrong:
        kept = check.checkpoints.get(key)
        document = yield from _read(check.thread_id, key)
        if kept is None or document is None or key in gone or kept.broken:
            continue
        fields = dict(document.fields)
        if any(one.key == key and one.kind == "wrong-parent" for one in check.findings.shown):
            fields["parent_id"] = kept.parent
            to = repr(kept.parent) if kept.parent else "none: the one it had is not stored"
            plan.actions.append(Action(f"set the parent of {_name(kept)} to {to}"))
        meta = document.refs[1] if kept.spans and kept.spans[0][1] == 2 else None
        if fields.get("meta") != meta:
            fields["meta"] = meta
            plan.actions.append(Action(f"set the field meta of {_name(kept)} as it names it"))
        inside = replace(document, fields=fields, body=body_inside(document))
        mended = replace(inside, body=add_sums(inside))
        required = [(CHECKPOINTS, document.key)]
        plan.batches.append(Batch(replacing=[mended], requires=required))


def _put_back(check: ThreadCheck, plan: RepairPlan) -> Steps[None]:
    """Plan to move documents into the collections they belong into."""
    found: dict[bytes, Document] = {}
    remaining: Sequence[bytes] = list(check.misplaced)[:MOVED_AT_ONCE]
    while remaining:
        fetched: Fetched = yield Fetch(check.thread_id, remaining)
        found |= fetched.documents
        remaining = fetched.remaining
    for ref, document in found.items():
        right = check.misplaced[ref]
        plan.batches.append(Batch(replacing=[replace(document, collection=right, fields={})]))
        plan.actions.append(Action(f"move {ref.hex()} from {document.collection} to {right}"))


def _cut_off(check: ThreadCheck, plan: RepairPlan, gone: set[Key], hopeless: set[Key]) -> set[Key]:
    """Plan that checkpoints whose parent is not stored, or goes, have none."""
    orphans: set[Key] = set()
    for key, kept in check.checkpoints.items():
        parent = kept.parent or kept.document.fields.get("parent_id")
        if key in gone or key in hopeless or parent is None:
            continue
        if (key[0], parent) in gone or not check.is_stored((key[0], parent)):
            orphans.add(key)
            loses = f"that it followed {parent!r}"
            plan.actions.append(Action(f"let {_name(kept)} have no parent", loses))
    return orphans


def _remove_writes(check: ThreadCheck, plan: RepairPlan, gone: set[Key]) -> None:
    """Plan to remove pending writes that cannot be read, or that belong to no checkpoint."""
    lonely = {one.key for one in check.findings.shown if one.kind == "orphan-write"}
    misplaced = {one.key for one in check.findings.shown if one.kind == "wrong-part"}
    for key, one in check.writes.items():
        if key[:2] in gone or not (one.broken or key in lonely or key in misplaced):
            continue
        plan.removals.append(key)
        why = one.broken or ("they lie under another part" if key in misplaced else "no checkpoint")
        what = f"remove the pending writes of task {key[2]!r} (part {key[3]!r}) for {key[1]!r}"
        plan.actions.append(Action(what, f"what the task wrote; {why}"))


def _namespaces(check: ThreadCheck) -> Iterator[tuple[str, list[Checkpoint]]]:
    by_name: dict[str, list[Checkpoint]] = {}
    for key, kept in check.checkpoints.items():
        by_name.setdefault(str(key[0]), []).append(kept)
    yield from by_name.items()


def _read(thread_id: str, key: Key) -> Steps[Document | None]:
    namespace, ident = key
    where = [Is("checkpoint_ns", namespace), Is("checkpoint_id", ident)]
    page: Page = yield Find(CHECKPOINTS, thread_id, where, limit=1)
    return page.documents[0] if page.documents else None


def _name(kept: Checkpoint) -> str:
    namespace, ident = kept.document.key
    step = kept.document.fields.get("step")
    return f"{ident!r}" + (f" of {namespace!r}" if namespace else "") + f" (step {step!r})"
