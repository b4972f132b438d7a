"""Steps of ``prune`` and ``delete_for_runs``: which checkpoints go, then that they go.

A plan reads structure only: no value, and no more than a page of keys where nothing can go. It is
carried out in one transaction, in which the store looks again whether a checkpoint has come that
the plan knows nothing of and that follows one of those to go; then it is planned anew.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.earlier_structure import Earlier, read_earlier, runs_of
from threadkeep.checkpoints.listing import matching_metadata
from threadkeep.checkpoints.metadata import json_text
from threadkeep.checkpoints.steps import Prune, Remove, Steps
from threadkeep.checkpoints.structure import (
    Metadata,
    Structure,
    read_metadata,
    read_structure,
    with_ancestors,
)
from threadkeep.errors import CorruptionError, UnavailableError
from threadkeep.model.uuid_times import made_at
from threadkeep.ports.documents import CHECKPOINTS_V1, HasEntry, Key, Pruned, Pruning

ATTEMPTS = 10  # plans made before a thread counts as too busy; each needs a fork from a past step


@dataclass(frozen=True, slots=True)
class Retention:
    """What a prune keeps.

    Attributes:
        keep_last: Checkpoints of each namespace, the newest ones; at least 1.
        before: Keep also what was not made before this time, in ticks of a UUIDv6; ``None`` for
            nothing more. An id that tells no time is kept.
    """

    keep_last: int = 1
    before: int | None = None


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """What is to go of one thread.

    Attributes:
        thread_id: The thread.
        pruning: Its checkpoints that go, and those that lose their parent.
        kept: How many checkpoints stay.
        earlier: What goes of schema 1, as (collection, key).
    """

    thread_id: str
    pruning: Pruning
    kept: int
    earlier: Sequence[tuple[str, Key]] = ()


def prune(thread_id: str, retention: Retention, codec: Codec) -> Steps[Pruned]:
    """Delete what a retention does not keep.

    Raises:
        UnavailableError: New checkpoints followed pruned ones at each of ``ATTEMPTS``.
        CorruptionError: A document that a checkpoint names is missing.
    """
    return (yield from _until_done(thread_id, partial(plan_prune, thread_id, retention, codec)))


def plan_prune(thread_id: str, retention: Retention, codec: Codec) -> Steps[PrunePlan]:
    """Find out what a prune is to delete.

    Of each namespace the newest checkpoints stay, and every ancestor that the value of one of
    them is made from. The namespace of a subgraph's call goes with the root checkpoint that it
    ran under, as soon as that one is stored and does not stay.
    """
    structure = yield from read_structure(thread_id)
    earlier = yield from read_earlier(thread_id)
    every = earlier.namespaces_with(structure)
    kept = _newest(every, retention)
    if len(kept) == sum(map(len, every.values())):
        return PrunePlan(thread_id, Pruning(()), len(kept))
    metadata = yield from read_metadata(structure)
    later = kept.intersection(structure.checkpoints)
    kept |= yield from with_ancestors(structure, metadata, later, codec)
    kept |= earlier.seeds(structure, metadata, kept)
    for keys in _calls_that_go(structure, metadata, kept, every.get("", ())):
        kept.difference_update(keys)
    kept.difference_update((yield from earlier.calls_that_go(every, kept, codec)))
    return _plan(structure, kept, earlier)


def delete_for_runs(run_ids: Collection[str], codec: Codec) -> Steps[None]:
    """Delete the checkpoints of some runs, with their writes, in all threads.

    What the value of another checkpoint is made from stays.

    Raises:
        UnavailableError: See ``prune``.
        CorruptionError: See ``prune``.
    """
    metas: set[tuple[str, bytes]] = set()
    for run_id in run_ids:
        has_run = HasEntry("metadata", "run_id", json_text(run_id) or "null")
        metas |= yield from matching_metadata(None, [has_run])
    for thread_id in sorted({thread_id for thread_id, _ in metas}):
        own = {ref for each, ref in metas if each == thread_id}
        yield from _until_done(thread_id, partial(_plan_without, thread_id, own, codec))
    for thread_id, keys in (yield from runs_of(run_ids, codec)).items():
        yield from _until_done(thread_id, partial(_plan_without_earlier, thread_id, keys))


def execute(plan: PrunePlan) -> Steps[Pruned]:
    """Carry out a plan, if it still holds; nothing is asked where nothing is to go."""
    if not plan.pruning.gone and not plan.earlier:
        return Pruned()
    pruned: Pruned = yield Prune(plan.thread_id, plan.pruning)
    if not pruned.done or not plan.earlier:
        return pruned
    yield Remove(plan.thread_id, plan.earlier)
    checkpoints = sum(collection == CHECKPOINTS_V1 for collection, _ in plan.earlier)
    writes = len(plan.earlier) - checkpoints
    return replace(
        pruned,
        checkpoints=pruned.checkpoints + checkpoints,
        writes=pruned.writes + writes,
    )


def _until_done(thread_id: str, plan: Callable[[], Steps[PrunePlan]]) -> Steps[Pruned]:
    """Plan and carry out, anew where something came between: a checkpoint, or another prune."""
    for attempt in range(ATTEMPTS):
        try:
            pruned = yield from execute((yield from plan()))
        except CorruptionError:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        if pruned.done:
            return pruned
    raise UnavailableError(f"thread {thread_id!r} is written to while it is pruned; try again")


def _plan_without(thread_id: str, metas: Collection[bytes], codec: Codec) -> Steps[PrunePlan]:
    """Plan to delete the checkpoints with some metadata."""
    structure = yield from read_structure(thread_id)
    every = structure.checkpoints
    kept = {key for key, one in every.items() if one.fields.get("meta") not in metas}
    if len(kept) < len(every):
        metadata = yield from read_metadata(structure)
        kept = yield from with_ancestors(structure, metadata, kept, codec)
    return _plan(structure, kept)


def _plan_without_earlier(thread_id: str, gone: Collection[Key]) -> Steps[PrunePlan]:
    """Plan to delete some checkpoints of schema 1, but those a later value is made from."""
    structure = yield from read_structure(thread_id)
    earlier = yield from read_earlier(thread_id)
    metadata = yield from read_metadata(structure)
    kept = {*structure.checkpoints, *earlier.writes.keys() - set(gone)}
    kept |= earlier.seeds(structure, metadata, kept)
    return _plan(structure, kept, earlier)


def _newest(namespaces: Mapping[str, Sequence[Key]], retention: Retention) -> set[Key]:
    kept: set[Key] = set()
    for keys in namespaces.values():
        kept.update(keys[-retention.keep_last :])
        if retention.before is not None:
            kept.update(key for key in keys if not 0 < made_at(str(key[1])) < retention.before)
    return kept


def _calls_that_go(
    structure: Structure, metadata: Metadata, kept: Collection[Key], roots: Collection[Key]
) -> Iterable[list[Key]]:
    """Find the namespaces of subgraph calls whose root checkpoint is stored and does not stay.

    A call's namespace has its task after a colon; one without is a subgraph's that keeps its own
    history.
    """
    stored = set(roots)
    for namespace, keys in structure.namespaces().items():
        if ":" not in namespace:
            continue
        parents = structure.metadata(keys[-1], metadata).get("parents")
        root = ("", parents.get("")) if isinstance(parents, dict) else None
        if root in stored and root not in kept:
            yield keys


def _plan(structure: Structure, kept: Collection[Key], earlier: Earlier | None = None) -> PrunePlan:
    gone = [key for key in structure.checkpoints if key not in kept]
    orphans = [
        key
        for key in structure.checkpoints
        if key in kept and (parent := structure.parent(key)) is not None and parent not in kept
    ]
    if earlier is None:
        return PrunePlan(structure.thread_id, Pruning(gone, sorted(orphans, key=str)), len(kept))
    before = [key for key in earlier.writes if key not in kept]
    orphans += earlier.followers(structure, kept)
    return PrunePlan(
        structure.thread_id,
        Pruning(gone, sorted(orphans, key=str), before),
        len(kept),
        earlier.documents(before),
    )
