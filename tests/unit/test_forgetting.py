"""Forgetting a project's modules: loading again runs what is on disk now."""

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from threadkeep.engine.forgetting import forget_modules


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("forgotten_")]:
        del sys.modules[name]


def test_a_module_saved_within_the_second_is_read_anew(project: Path) -> None:
    helper, main = project / "forgotten_helper.py", project / "forgotten_main.py"
    helper.write_text("ANSWER = 1\n")
    main.write_text("from forgotten_helper import ANSWER\n")
    dated = helper.stat()
    assert importlib.import_module("forgotten_main").ANSWER == 1
    helper.write_text("ANSWER = 2\n")
    os.utime(helper, ns=(dated.st_atime_ns, dated.st_mtime_ns))
    forget_modules([project], [helper])
    assert importlib.import_module("forgotten_main").ANSWER == 2


def test_what_is_installed_and_what_is_ours_stays(project: Path) -> None:
    installed = project / "site-packages"
    installed.mkdir()
    (installed / "forgotten_installed.py").write_text("")
    sys.path.insert(0, str(installed))
    try:
        importlib.import_module("forgotten_installed")
    finally:
        sys.path.remove(str(installed))
    source = Path(importlib.import_module("threadkeep").__file__ or "").parents[1]
    forget_modules([project, source], [])
    assert "forgotten_installed" in sys.modules
    assert "threadkeep.engine.forgetting" in sys.modules


def test_a_changed_file_that_was_never_imported_or_is_gone_is_no_error(project: Path) -> None:
    forget_modules([project], [project / "forgotten_gone.py", project / "langgraph.json"])
