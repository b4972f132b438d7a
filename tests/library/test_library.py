"""LangGraph's own tests on our savers, at the newest and the oldest release that is supported."""

import os
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.environments import ROOT
from tests.library.archive import NEWEST, OLDEST, environment, unpacked, wheel
from tests.library.our_savers import POSTGRES_URL, TALLY

HERE = Path(__file__).parent
ENDS = pytest.mark.parametrize("version", [NEWEST, OLDEST])
SHORT = ("tests/test_interruption.py", "tests/test_large_cases.py", "-k", "sqlite or memory")
ALL = ("tests", "-n", "2", "-k", "sqlite or memory")

# A package index on a slow line is part of these tests.
pytestmark = [pytest.mark.timeout(1800), pytest.mark.servers]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel(tmp_path_factory.mktemp("dist"))


def run(python: Path, words: Sequence[str], cwd: Path, **variables: str) -> None:
    command: list[str | Path] = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    inherited = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=cwd, env=inherited | variables, capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr[-3000:]


def outcomes(report: Path) -> dict[str, str]:
    """Read what became of each test."""
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        found[name] = next((each.tag for each in case if each.tag != "properties"), "passed")
    return found


def check(version: str, words: Sequence[str], built: Path, url: str, folder: Path) -> None:
    """Run tests of the library; with our savers they must do as with LangGraph's in memory."""
    python, tally = environment(version, built), folder / "tally"
    variables = {"PYTHONPATH": f"{HERE}:.", POSTGRES_URL: url, TALLY: str(tally)}

    def outcomes_of(words: Sequence[str]) -> dict[str, str]:
        report = folder / "report.xml"
        options = ["-p", "our_savers", "-o", "addopts=", f"--junitxml={report}"]
        run(python, [*options, *words], unpacked(version), NO_DOCKER="true", **variables)
        return outcomes(report)

    found = outcomes_of(words)
    bad = {name for name, outcome in found.items() if outcome in ("failure", "error")}
    in_memory = {name.partition("[")[0] for name in bad if "sqlite" not in name}
    ours = [name for name in bad if name.partition("[")[0] not in in_memory]
    if ours:  # some of them tell steps apart by 10 ms: on a busy machine they are tried again alone
        places = (name.partition("::") for name in ours)
        again = [f"{module.replace('.', '/')}.py::{case}" for module, _, case in places]
        found |= outcomes_of(again)
    assert {name: found[name] for name in ours if found[name] != "passed"} == {}
    opened = tally.stat().st_size
    passed = sum(outcome == "passed" for outcome in found.values())
    print(f"langgraph {version}: {passed} of {len(found)} passed, {opened} on our savers")
    assert opened > 40
    assert passed > 0.85 * len(found)


@ENDS
def test_the_librarys_tests_of_long_runs_and_interrupts_pass(
    version: str, built: Path, postgres_url: str, tmp_path: Path
) -> None:
    check(version, SHORT, built, postgres_url, tmp_path)


@ENDS
@pytest.mark.soak
def test_all_parametrised_unpacked_the_library_pass(
    version: str, built: Path, postgres_url: str, tmp_path: Path
) -> None:
    check(version, ALL, built, postgres_url, tmp_path)


def test_the_shipped_suite_passes_at_the_oldest_release(
    built: Path, postgres_url: str, tmp_path: Path
) -> None:
    report = tmp_path / "report.xml"
    words = [f"--junitxml={report}", "-o", "addopts=--import-mode=importlib -m 'not soak'"]
    words += ["-p", "no:cacheprovider", "tests/conformance/test_savers.py"]
    run(environment(OLDEST, built), words, ROOT, **{POSTGRES_URL: postgres_url})
    found = outcomes(report)
    assert {name: outcome for name, outcome in found.items() if outcome != "passed"} == {}
    assert len(found) > 500
