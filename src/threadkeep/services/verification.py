"""What it means to verify and to repair a store: one scope, thread by thread, blocking."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from threadkeep.checkpoints.codec import Codec
from threadkeep.checkpoints.encryption import Keyring, encrypted
from threadkeep.checkpoints.findings import ThreadReport
from threadkeep.checkpoints.repair import RepairPlan, carry_out, plan_repair
from threadkeep.checkpoints.steps import Steps, run
from threadkeep.checkpoints.verify import next_thread, report_of, verify_thread
from threadkeep.model.uuid_times import ticks
from threadkeep.ports.documents import DocumentStore, Scope

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Verified:
    """What became of one thread.

    Attributes:
        report: What was found.
        plan: What would mend it, where that was asked for and something was found.
        after: What was found after the plan was carried out, where it was.
    """

    report: ThreadReport
    plan: RepairPlan | None = None
    after: ThreadReport | None = None

    @property
    def is_whole(self) -> bool:
        """Tell whether all of the thread can be read as it was stored, now."""
        return (self.after or self.report).is_whole


class Verification:
    """Verifies and repairs the threads of one scope.

    Args:
        documents: An open document store.
        scope: Whose threads.
        codec: Its key is that of addresses; its serializer is not used.
        keyring: The keys of a store that is encrypted; see ``savers.keys``.
    """

    def __init__(
        self,
        documents: DocumentStore,
        scope: Scope,
        codec: Codec,
        keyring: Keyring | None = None,
    ) -> None:
        self._documents = documents
        self._scope = scope
        self._codec = codec if keyring is None else keyring.codec(codec.serde)
        self._keyring = None if keyring is None else keyring.telling()

    def verify(
        self,
        thread_ids: Sequence[str] = (),
        *,
        plans: bool = False,
        apply: Callable[[ThreadReport, RepairPlan], bool] = lambda report, plan: False,
    ) -> Iterator[Verified]:
        """Look at some threads, or at all of the scope.

        Args:
            thread_ids: The threads; all where none are given.
            plans: Whether a plan is made for what is found.
            apply: Shown what was found, and each plan that does something about it; says whether
                it is carried out.

        Raises:
            UnavailableError: A thread was written to between its plan and its repair.
        """
        for thread_id in dict.fromkeys(thread_ids) or self._threads():
            check = self._run(verify_thread(thread_id, self._codec, _now()))
            report = report_of(check)
            if not (plans and report.counts):
                yield Verified(report)
                continue
            plan = self._run(plan_repair(check))
            after = None
            if plan.actions and apply(report, plan):
                after = self._run(carry_out(plan, self._codec, _now()))
            yield Verified(report, plan, after)

    def _threads(self) -> Iterator[str]:
        thread_id = self._run(next_thread(None))
        while thread_id is not None:
            yield thread_id
            thread_id = self._run(next_thread(thread_id))

    def _run(self, steps: Steps[T]) -> T:
        if self._keyring is not None:
            steps = encrypted(steps, self._keyring)
        return run(steps, self._documents, self._scope)


def _now() -> int:
    return ticks(time.time_ns())
