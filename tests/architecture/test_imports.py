"""Who imports whom, and what starting threadkeep costs."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.architecture.tree import ROOT

LOADED = "import json, sys; print(json.dumps(sorted(sys.modules)))"
HELP = """
import sys
sys.argv = ["threadkeep", "--help"]
from threadkeep.cli.main import main
try:
    main()
except SystemExit:
    pass
"""


def modules_after(program: str) -> list[str]:
    """Run a program in a fresh interpreter and return what it left imported."""
    command = [sys.executable, "-c", f"{program}\n{LOADED}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    modules: list[str] = json.loads(done.stdout.splitlines()[-1])
    return modules


def test_the_floors_hold() -> None:
    lint_imports = Path(sysconfig.get_path("scripts")) / "lint-imports"
    command = [str(lint_imports), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_importing_threadkeep_does_not_load_the_graph_runtime() -> None:
    assert "langgraph.graph" not in modules_after("import threadkeep")


def test_asking_for_help_loads_nothing_of_langgraph() -> None:
    assert [name for name in modules_after(HELP) if name.split(".")[0] == "langgraph"] == []
