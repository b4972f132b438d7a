"""``threadkeep``: parse, call the command, tell an error in one line.

Exit codes: 0 done, 1 it failed, 2 wrong words or configuration, 3 the store contradicts itself.
"""

import importlib
import json
import sys
import traceback
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Any

from threadkeep import __version__
from threadkeep.cli.arguments import parse, parser
from threadkeep.errors import (
    ConfigError,
    CorruptionError,
    InvalidRequestError,
    ThreadkeepError,
)

EXIT_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (CorruptionError, 3),
    (ConfigError, 2),
    (InvalidRequestError, 2),
    (BaseException, 1),
)
INTERRUPTED = 130  # what a shell expects after Ctrl-C


def main(words: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = list(sys.argv[1:] if words is None else words)
    try:
        return _run(parse(given))
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # the last stop: told, never shown as a traceback unasked
        _tell(error, as_json="--json" in given, debug="--debug" in given)
        return exit_code(error)


def exit_code(error: BaseException) -> int:
    """Return the exit code of an error."""
    return next(code for kind, code in EXIT_CODES if isinstance(error, kind))


def _run(chosen: Namespace) -> int:
    if chosen.version:
        print(json.dumps({"version": __version__}) if chosen.json else f"threadkeep {__version__}")
        return 0
    if chosen.command is None:
        parser().print_help()
        return 2
    # Only the chosen command is imported: the others cost seconds.
    command: Callable[[Namespace], int] = _load(chosen.command).run
    return command(chosen)


def _load(name: str) -> Any:
    module = f"threadkeep.cli.{name}"
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("threadkeep"):
            raise
        raise ConfigError(
            f'`threadkeep {name}` needs the package {error.name!r}; install "threadkeep[server]"'
        ) from error


def _tell(error: BaseException, *, as_json: bool, debug: bool) -> None:
    if debug:
        traceback.print_exception(error)
    code = error.code if isinstance(error, ThreadkeepError) else "internal"
    message = str(error) if isinstance(error, ThreadkeepError) else _unexpected(error)
    if as_json:
        print(json.dumps({"error": code, "message": message}), file=sys.stderr)
    else:
        print(f"threadkeep: {' '.join(message.split())}", file=sys.stderr)


def _unexpected(error: BaseException) -> str:
    return f"unexpected {type(error).__name__}: {error}; run it again with --debug to see where"


if __name__ == "__main__":
    sys.exit(main())
