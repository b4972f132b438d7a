"""What ``threadkeep dev`` says: to people in lines, to programs (``--json``) in JSON lines."""

import contextlib
import json
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from threadkeep import __version__
from threadkeep.errors import ThreadkeepError

FRAME_WIDTH = 78  # characters; fits a terminal of 80
INSTALLED = "site-packages"


class Announcer:
    """Writes what happens while a server runs."""

    def __init__(self, out: TextIO, *, as_json: bool, folder: Path) -> None:
        self._out = out
        self._as_json = as_json
        self._folder = folder.resolve()

    def listening(self, url: str, *, database: str, graph_ids: Sequence[str]) -> None:
        """Say where the server listens, before anything is loaded."""
        if self._as_json:
            return self._event("listening", url=url, database=database, graphs=list(graph_ids))
        return self._lines(
            f"threadkeep {__version__}",
            "",
            f"  API       {url}",
            f"  Alive     {url}/ok",
            f"  Database  {database}",
            "",
        )

    def warning(self, text: str) -> None:
        """Say what was accepted without effect."""
        if self._as_json:
            return self._event("warning", message=text)
        return self._lines(f"  ! {text}")

    def graph(self, graph_id: str, seconds: float, error: ThreadkeepError | None) -> None:
        """Say that a graph is ready, or in a frame why it is not."""
        if self._as_json:
            message = None if error is None else str(error)
            return self._event("graph", graph_id=graph_id, seconds=round(seconds, 3), error=message)
        if error is None:
            return self._lines(f"  {graph_id:<20} ready in {seconds:.2f} s")
        told = framed(f"graph {graph_id!r} is not served", explained(error, self._folder))
        return self._lines(*told)

    def reloading(self, changed: Sequence[Path]) -> None:
        """Say that files changed and the graphs are loaded again."""
        names = [_short(path, self._folder) for path in changed]
        if self._as_json:
            return self._event("reloading", files=names)
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return self._lines(f"  {', '.join(names[:3])}{more} changed: loading again")

    def mistake(self, error: ThreadkeepError) -> None:
        """Say why what was saved cannot be served; what was served before still is."""
        if self._as_json:
            return self._event("mistake", message=str(error))
        told = framed("the configuration was not taken over", [str(error)])
        return self._lines(*told)

    def stopping(self) -> None:
        """Say that the server takes no more requests and waits for what runs."""
        if self._as_json:
            return self._event("stopping")
        return self._lines("", "Stopping; Ctrl-C again to stop at once.")

    def _event(self, name: str, **fields: Any) -> None:
        self._lines(json.dumps({"event": name} | fields))

    def _lines(self, *lines: str) -> None:
        text = "\n".join(lines) + "\n"
        if (encoding := getattr(self._out, "encoding", None)) is not None:
            text = text.encode(encoding, "backslashreplace").decode(encoding)
        # Nobody reads it, or there is no room for it: that is no reason not to serve.
        with contextlib.suppress(OSError, ValueError):
            print(text, end="", file=self._out, flush=True)


def framed(title: str, lines: Sequence[str]) -> Sequence[str]:
    """Return lines in a frame that is open to the right, so that no line is cut."""
    head = f"┌─ {title} "
    return [head + "─" * max(0, FRAME_WIDTH - len(head)), *(f"│ {line}" for line in lines), "└─"]


def explained(error: ThreadkeepError, folder: Path) -> Sequence[str]:
    """Return what went wrong and, where it happened in the project, file, line and code."""
    cause = error.__cause__
    if cause is None:
        return str(error).splitlines()
    if isinstance(cause, SyntaxError) and cause.filename:
        where = f"{_short(Path(cause.filename), folder)}, line {cause.lineno}"
        return [where, f"  {(cause.text or '').strip()}", f"SyntaxError: {cause.msg}"]
    frames = traceback.extract_tb(cause.__traceback__)
    inside = [frame for frame in frames if _is_inside(Path(frame.filename), folder)]
    if not inside:
        return str(error).splitlines()
    last = inside[-1]
    where = f"{_short(Path(last.filename), folder)}, line {last.lineno}, in {last.name}"
    return [where, f"  {last.line}", *f"{type(cause).__name__}: {cause}".splitlines()]


def _is_inside(path: Path, folder: Path) -> bool:
    return path.is_relative_to(folder) and INSTALLED not in path.parts


def console(*, as_json: bool, folder: Path) -> Announcer:
    """Return an announcer on the standard output."""
    return Announcer(sys.stdout, as_json=as_json, folder=folder)


def _short(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)
