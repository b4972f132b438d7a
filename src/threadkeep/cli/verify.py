"""``threadkeep verify``: check a store, and mend it where asked to.

What is found is told thread by thread, as it is found. A repair prints its plan for a thread first;
with ``--apply`` it is that plan which is carried out.
"""

import importlib
import json
import os
import sys
from argparse import Namespace
from collections import Counter
from contextlib import closing
from pathlib import Path

from threadkeep.checkpoints.encryption import Keyring
from threadkeep.checkpoints.findings import ThreadReport
from threadkeep.checkpoints.opaque import opaque_codec
from threadkeep.checkpoints.repair import RepairPlan
from threadkeep.config.settings import read_settings
from threadkeep.errors import ConfigError
from threadkeep.ports.documents import Scope
from threadkeep.ports.drivers import open_driver
from threadkeep.services.verification import Verification, Verified

WHOLE, DAMAGED = 0, 3  # exit codes; 3 is that of ``CorruptionError``
TOLD_EVERY = 100  # threads between two words of progress


def run(chosen: Namespace) -> int:
    """Verify the threads of a scope, and say what is wrong with which document.

    Raises:
        ConfigError: ``--apply`` without ``--repair``, the database's address is wrong, or an
            encryption key is too short.
        StorageError: The database cannot be opened, or is of a newer release.
    """
    if chosen.apply and not chosen.repair:
        raise ConfigError("--apply carries out what --repair plans; give both")
    settings = read_settings(os.environ, folder=Path.cwd())
    scope = Scope(chosen.namespace, chosen.agent_id)
    keyring: Keyring | None = None
    if settings.encryption_keys:  # without keys nothing is imported that makes values
        keys = importlib.import_module("threadkeep.savers.keys")
        keyring, _ = keys.keys_and_serde(settings.encryption_keys, None)
    teller = _JsonTeller(chosen) if chosen.json else _Teller(chosen)
    with closing(open_driver(settings.database_url)) as driver:
        documents = driver.documents()
        documents.setup()
        verification = Verification(documents, scope, opaque_codec(), keyring)
        for verified in verification.verify(
            chosen.thread or (), plans=chosen.repair, apply=teller.show
        ):
            teller.tell(verified)
    return teller.sum_up()


class _Teller:
    """Tells in lines of text."""

    def __init__(self, chosen: Namespace) -> None:
        self._applies = chosen.apply
        self._repairs = chosen.repair
        self.threads = self.documents = self.size_bytes = self.damaged = 0
        self.counts: Counter[str] = Counter()

    def show(self, report: ThreadReport, plan: RepairPlan) -> bool:
        """Tell what was found and what would mend it; say whether it is to be carried out."""
        self._show(report, plan)
        return bool(self._applies)

    def tell(self, verified: Verified) -> None:
        """Tell what became of one thread."""
        report = verified.report
        self.threads += 1
        self.documents += report.documents
        self.size_bytes += report.size_bytes
        self.damaged += not verified.is_whole
        self.counts.update((verified.after or report).counts)
        self._tell(verified)
        if self.threads % TOLD_EVERY == 0 and sys.stderr.isatty():
            print(f"{self.threads} threads ...", file=sys.stderr)

    def sum_up(self) -> int:
        """Tell the sum, and return the exit code."""
        self._sum_up()
        return DAMAGED if self.damaged else WHOLE

    def _show(self, report: ThreadReport, plan: RepairPlan) -> None:
        _print_findings(report)
        print(f"{plan.thread_id}: plan")
        for action in plan.actions:
            loses = f"; lost: {action.loses}" if action.loses else ""
            print(f"  {action.does}{loses}")

    def _tell(self, verified: Verified) -> None:
        if verified.plan is None or not verified.plan.actions:
            _print_findings(verified.report)
        if verified.plan is not None:
            for line in verified.plan.beyond:
                print(f"{verified.report.thread_id}: cannot be mended: {line}")
        if verified.after is not None:
            print(f"{verified.report.thread_id}: repaired")
            _print_findings(verified.after)

    def _sum_up(self) -> None:
        looked = f"{self.threads} threads, {self.documents} documents, {self.size_bytes} bytes"
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.counts.items()))
        if not self.damaged:
            print(f"{looked}: whole" + (f", but for {kinds}" if kinds else ""))
            return
        print(f"{looked}: {self.damaged} threads damaged: {kinds}")
        if not self._repairs:
            print("See what would mend them: threadkeep verify --repair")
        elif not self._applies:
            print("Nothing was changed. Carry the plan out: threadkeep verify --repair --apply")


def _print_findings(report: ThreadReport) -> None:
    shown: Counter[str] = Counter()
    for one in report.findings:
        shown[one.kind] += 1
        print(f"{one.kind}: thread {one.thread_id}, {one.collection} {one.ident}: {one.says}")
    for kind, count in report.counts.items():
        if count > shown[kind]:
            print(f"{kind}: thread {report.thread_id}: {count - shown[kind]} more")


class _JsonTeller(_Teller):
    """Tells in lines of JSON: one for each damaged thread, and a last one with the sum."""

    def _show(self, report: ThreadReport, plan: RepairPlan) -> None:
        """Say nothing yet: the plan comes with its thread."""

    def _tell(self, verified: Verified) -> None:
        if not verified.report.counts:
            return
        told = {"thread": verified.report.thread_id, **_report(verified.report)}
        if verified.plan is not None:
            told["plan"] = [{"does": one.does, "loses": one.loses} for one in verified.plan.actions]
            told["beyond"] = verified.plan.beyond
        if verified.after is not None:
            told["after"] = _report(verified.after)
        print(json.dumps(told))

    def _sum_up(self) -> None:
        told = {
            "threads": self.threads,
            "documents": self.documents,
            "bytes": self.size_bytes,
            "damaged": self.damaged,
            "counts": dict(self.counts),
        }
        print(json.dumps(told))


def _report(report: ThreadReport) -> dict[str, object]:
    findings = [
        {"kind": one.kind, "collection": one.collection, "id": one.ident, "says": one.says}
        for one in report.findings
    ]
    return {"findings": findings, "counts": dict(report.counts)}
