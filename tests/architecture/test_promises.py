"""What a port promises is called by the suite that is shipped for it; what SQL is named is run."""

import re

import pytest

from tests.architecture.tree import SOURCE
from threadkeep.model.snapshots import KINDS
from threadkeep.ports import bus, documents, resources, staging

REPOS = {
    "assistants": resources.AssistantRepo,
    "threads": resources.ThreadRepo,
    "runs": resources.RunRepo,
    "crons": resources.CronRepo,
    "idempotency": resources.IdempotencyRepo,
    "deliveries": resources.DeliveryRepo,
    "items": resources.ItemRepo,
}


@pytest.mark.parametrize(
    ("port", "suites"),
    [
        (documents.AsyncDocumentStore, "document*.py"),
        (staging.StagingDocumentStore, "document_staging.py"),
        (staging.Staged, "document_staging.py"),
        (bus.EventBus, "bus.py"),
        (bus.Subscription, "bus.py"),
    ],
)
def test_every_method_of_a_port_has_a_case(port: type, suites: str) -> None:
    text = "".join(suite.read_text() for suite in (SOURCE / "testing").glob(suites))
    methods = [name for name in vars(port) if not name.startswith("_")]
    assert methods
    assert [name for name in methods if not re.search(rf"\.{name}\b", text)] == []


@pytest.mark.parametrize("repo", REPOS)
def test_every_method_of_a_repo_has_a_case(repo: str) -> None:
    suites = sorted((SOURCE / "testing" / "resources").glob("*.py"))
    text = "".join(suite.read_text() for suite in suites)
    methods = [name for name in vars(REPOS[repo]) if not name.startswith("_")]
    assert [name for name in methods if f"store.{repo}.{name}(" not in text] == []


def test_every_statement_of_the_resources_is_run() -> None:
    files = [SOURCE / "drivers" / "sqlite" / "resources.sql"]
    files += (SOURCE / "drivers" / "sql").glob("*.sql")
    sql = "".join(file.read_text() for file in files)
    names = re.findall(r"^-- ([a-z0-9_]+) --$", sql, re.MULTILINE)
    text = "".join(file.read_text() for file in (SOURCE / "drivers" / "sql").glob("*.py"))
    named = {f"{verb}_{kind}" for verb in ("export", "restore") for kind in KINDS}
    assert [name for name in names if f'"{name}"' not in text and name not in named] == []
