"""Names of processes, and what can be known of another from its name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from threadkeep.background.owners import is_gone, owner_name

PROGRAM = "from threadkeep.background.owners import owner_name; print(owner_name(), flush=True)"
LINUX = Path("/proc/self/stat").exists()


def start(program: str) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_this_process_is_not_gone() -> None:
    assert owner_name() == owner_name()
    assert not is_gone(owner_name())


def test_a_process_is_gone_once_it_has_ended() -> None:
    process, name = start(f"{PROGRAM}\ninput()")
    assert name != owner_name()
    assert not is_gone(name)
    process.kill()
    process.wait(10)
    assert is_gone(name)


@pytest.mark.skipif(not LINUX, reason="other systems do not tell when a process began")
def test_a_process_that_nobody_waited_for_is_gone_and_a_reused_pid_is_another() -> None:
    process, name = start(PROGRAM)
    assert process.stdout is not None
    assert process.stdout.read() == ""  # it ends, and stays uncollected
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert is_gone(name)
    process.wait(10)
    host, space, _, start_time = name.rsplit(":", 3)
    assert is_gone(f"{host}:{space}:{os.getpid()}:{start_time}")


@pytest.mark.parametrize(
    "owner",
    ["", "another", "elsewhere:x:1:1", f"{owner_name().split(':')[0]}:other-space:999999999:1"],
)
def test_what_cannot_be_known_is_not_gone(owner: str) -> None:
    assert not is_gone(owner)
