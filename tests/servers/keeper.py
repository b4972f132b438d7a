"""Runs one server until standard input closes, then removes the server's folder.

The tests hold the other end of that pipe, so a server ends with its tests even when those were
killed.
"""

import json
import shutil
import signal
import subprocess
import sys
import threading

STOP_SECONDS = 10.0  # a server that has not stopped by then is killed


def main() -> int:
    """Start the server that the first argument describes, and return its exit code."""
    plan = json.loads(sys.argv[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        server = subprocess.Popen(
            plan["command"], cwd=plan["folder"], stdin=subprocess.DEVNULL, **plan["identity"]
        )
        stopper = threading.Thread(
            target=_stop_at_end_of_input, args=(server, plan["stop_signal"]), daemon=True
        )
        stopper.start()
        return server.wait()
    finally:
        shutil.rmtree(plan["folder"], ignore_errors=True)


def _stop_at_end_of_input(server: subprocess.Popen[bytes], stop_signal: int) -> None:
    sys.stdin.buffer.read()
    server.send_signal(stop_signal)
    try:
        server.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()


if __name__ == "__main__":
    sys.exit(main())
