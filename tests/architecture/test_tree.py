"""What may be in the repository at all."""

import re
import tomllib
from importlib.metadata import EntryPoint

from tests.architecture.tree import ROOT, relative, tracked_files

# Written so that this file does not match itself.
FOREIGN = {
    "a path of one machine": rb"(?<![\w.-])/(work|root|opt)/\w",
    "a package registry": rb"\b(pypi|pythonhosted|npmjs|crates)\x2e(org|com|io)\b",
    "a folder outside the repository": rb"\bshared/(design|reference|cases|measure|seeds)\b",
}
FRAGMENT = re.compile(r"\d+\.(added|changed|fixed|removed)(\.\d+)?\.md")
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)")
BASE_DEPENDENCIES = {"langgraph-checkpoint", "orjson", "xxhash", "zstandard"}


def test_no_file_names_what_only_one_machine_has() -> None:
    found = [
        f"{relative(file)}: {what}"
        for file in tracked_files()
        for what, pattern in FOREIGN.items()
        if re.search(pattern, file.read_bytes())
    ]
    assert found == []


def test_the_lock_that_records_download_addresses_is_not_kept() -> None:
    assert [relative(file) for file in tracked_files() if file.name == "uv.lock"] == []


def test_requirements_are_hashed_and_name_no_index() -> None:
    lines = (ROOT / "requirements" / "dev.txt").read_text().splitlines()
    pins = [line for line in lines if re.match(r"[a-z0-9]", line)]
    assert [line for line in pins if "==" not in line or not line.endswith("\\")] == []
    assert [line for line in lines if line.lstrip().startswith(("--index", "--extra", "-i"))] == []


def test_change_fragments_have_a_name_that_a_release_understands() -> None:
    names = [path.name for path in (ROOT / "changes").iterdir()]
    assert [n for n in names if n != "README.md" and not FRAGMENT.fullmatch(n)] == []


def test_the_base_install_brings_only_what_saving_a_thread_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.match(r"[\w-]+", line)[0] for line in project["dependencies"]}  # type: ignore[index]
    assert names == BASE_DEPENDENCIES


def test_every_driver_that_is_registered_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    drivers = project["entry-points"]["threadkeep.drivers"]
    assert {"memory", "sqlite", "postgresql", "postgres"} <= drivers.keys()
    for scheme, place in drivers.items():
        entry = EntryPoint(scheme, place, "threadkeep.drivers")
        assert callable(entry.load()), scheme


def test_every_link_between_pages_leads_somewhere() -> None:
    pages = [file for file in tracked_files() if file.suffix == ".md"]
    broken = [
        f"{relative(page)} -> {target}"
        for page in pages
        for target in LINK.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert broken == []
