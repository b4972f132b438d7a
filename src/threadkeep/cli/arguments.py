"""What can be said on the command line: every command and its options, as a parser.

Building it imports none of the commands, so ``threadkeep --help`` answers at once.
"""

import argparse
from collections.abc import Mapping, Sequence
from typing import NoReturn

from threadkeep.config.settings import MAX_JOBS
from threadkeep.errors import ConfigError
from threadkeep.model.default_scope import AGENT_ID, NAMESPACE

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 2024  # as `langgraph dev`, so that clients find it
UP_PORT = 8123  # as `langgraph up`, which is where a client without an address looks
DRAIN_SECONDS = 30.0  # less than most process managers wait before they kill
MAX_DRAIN_SECONDS = 24 * 3600
LOG_LEVELS = ("CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG")
EPILOG = (
    "Exit codes: 0 done, 1 it failed, 2 wrong words or configuration, 3 the store contradicts "
    "itself."
)

# Options of `langgraph dev` that would mean something here if they were ignored in silence.
REFUSED: Mapping[str, tuple[str | None, str]] = {
    "--debug-port": (
        "PORT",
        "no debugger is bundled; start it yourself: "
        "`python -m debugpy --listen PORT -m threadkeep.cli.main dev`",
    ),
    "--wait-for-client": (
        None,
        "no debugger is bundled; use `python -m debugpy --listen PORT --wait-for-client "
        "-m threadkeep.cli.main dev`",
    ),
    "--studio-url": ("URL", "no Studio page is opened; point a client at the address printed"),
    "--tunnel": (None, "no tunnel is opened: it would publish a server without authentication"),
}


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage; ``main`` tells it and exits with 2."""
        raise ConfigError(f"{message}; see `{self.prog} --help`")


def parser() -> Parser:
    """Return the parser of every command; ``command`` is the module that runs the chosen one."""
    root = Parser(
        prog="threadkeep",
        description="Durable memory for LangGraph agents, and a server for their graphs.",
        epilog=EPILOG,
        allow_abbrev=False,
    )
    root.add_argument("--version", action="store_true", help="print the version and exit")
    _everywhere(root)
    commands = root.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    _dev(commands)
    _up(commands)
    _new(commands)
    _verify(commands)
    _reembed(commands)
    _snapshot(commands)
    _restore(commands)
    return root


def _everywhere(command: argparse.ArgumentParser) -> None:
    """Add the options that every command has, before and after its name."""
    suppressed = argparse.SUPPRESS
    command.add_argument(
        "--json", action="store_true", default=suppressed, help="answer, and fail, as JSON"
    )
    command.add_argument(
        "--debug", action="store_true", default=suppressed, help="show the traceback of an error"
    )


def _command(commands: "argparse._SubParsersAction[Parser]", name: str, does: str) -> Parser:
    made: Parser = commands.add_parser(name, help=does, description=does, allow_abbrev=False)
    _everywhere(made)
    return made


def _dev(commands: "argparse._SubParsersAction[Parser]") -> None:
    dev = _command(
        commands, "dev", "Serve the graphs of langgraph.json for development, with hot reload."
    )
    _served(dev, port=DEFAULT_PORT)
    dev.add_argument("--no-reload", action="store_true", help="do not watch the files")
    dev.add_argument("--no-browser", action="store_true", help="accepted: no browser is opened")
    dev.add_argument(
        "--allow-blocking",
        action="store_true",
        help="accepted: blocking calls are never refused",
    )
    for option, (metavar, reason) in REFUSED.items():
        kind = {"metavar": metavar} if metavar else {"action": "store_true"}
        dev.add_argument(option, help=f"refused: {reason}", **kind)  # type: ignore[arg-type]


def _up(commands: "argparse._SubParsersAction[Parser]") -> None:
    up = _command(
        commands,
        "up",
        "Serve the graphs of langgraph.json in production, as one process on the database that "
        "the environment names; several processes may serve one PostgreSQL database.",
    )
    _served(up, port=UP_PORT)
    up.add_argument(
        "--drain-seconds",
        type=_seconds,
        default=DRAIN_SECONDS,
        metavar="SECONDS",
        help="what runs get to end by themselves, once the server is told to stop (%(default)g)",
    )


def _served(command: Parser, *, port: int) -> None:
    """Add the options of a command that serves."""
    command.add_argument(
        "-c", "--config", default="langgraph.json", metavar="FILE", help="the file (%(default)s)"
    )
    command.add_argument("--host", default=DEFAULT_HOST, help="the address (%(default)s)")
    command.add_argument(
        "--port", type=_port, default=port, help="the port, 0 for any free (%(default)s)"
    )
    command.add_argument(
        "--n-jobs-per-worker",
        type=_jobs,
        metavar="N",
        help="runs at the same time (THREADKEEP_JOBS, else 10)",
    )
    command.add_argument(
        "--server-log-level",
        type=str.upper,
        choices=LOG_LEVELS,
        default="INFO",
        metavar="LEVEL",
        help="least level of what is logged (%(default)s)",
    )
    command.add_argument("--ssl-certfile", metavar="FILE", help="serve HTTPS with this certificate")
    command.add_argument("--ssl-keyfile", metavar="FILE", help="the certificate's key")


def _new(commands: "argparse._SubParsersAction[Parser]") -> None:
    new = _command(commands, "new", "Make a project that runs at once and needs no API key.")
    new.add_argument("path", metavar="NAME", help="the folder to make; an empty one may exist")


def _verify(commands: "argparse._SubParsersAction[Parser]") -> None:
    verify = _command(
        commands,
        "verify",
        "Check that every reference of the checkpoints resolves and every hash matches.",
    )
    verify.add_argument(
        "--repair", action="store_true", help="also print what would mend the damage, and its cost"
    )
    verify.add_argument("--apply", action="store_true", help="carry out the plan that is printed")
    verify.add_argument(
        "--namespace", default=NAMESPACE, help="whose checkpoints, with --agent-id (%(default)s)"
    )
    verify.add_argument(
        "--agent-id", default=AGENT_ID, metavar="ID", help="the agent (%(default)s)"
    )
    verify.add_argument(
        "--thread", action="append", metavar="ID", help="only this thread; may be given repeatedly"
    )


def _reembed(commands: "argparse._SubParsersAction[Parser]") -> None:
    reembed = _command(
        commands,
        "reembed",
        "Embed all items as store.index of the file says, while others go on with the old vectors. "
        "It goes on where it broke off. Run it again once the servers are restarted: it takes up "
        "what was put meanwhile, and deletes what no index needs.",
    )
    reembed.add_argument(
        "-c", "--config", default="langgraph.json", metavar="FILE", help="the file (%(default)s)"
    )


def _snapshot(commands: "argparse._SubParsersAction[Parser]") -> None:
    snapshot = _command(
        commands,
        "snapshot",
        "Write the whole store, checkpoints included, to a file, while others go on writing.",
    )
    snapshot.add_argument("file", metavar="FILE", help="where to; it must not be there")


def _restore(commands: "argparse._SubParsersAction[Parser]") -> None:
    restore = _command(
        commands,
        "restore",
        "Write what a snapshot holds into a store, of any kind of database, and compare each row.",
    )
    restore.add_argument("file", metavar="FILE", help="what `threadkeep snapshot` wrote")
    restore.add_argument("--apply", action="store_true", help="carry out the plan that is printed")
    restore.add_argument(
        "--merge",
        action="store_true",
        help="also into a store that has rows: those stay, and go on where a restore was cut off",
    )


def _port(text: str) -> int:
    return _whole(text, 0, 65535, "a port")


def _jobs(text: str) -> int:
    return _whole(text, 1, MAX_JOBS, "a number of runs")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= MAX_DRAIN_SECONDS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of seconds from 0 to {MAX_DRAIN_SECONDS}"
        )
    return seconds


def _whole(text: str, least: int, most: int, what: str) -> int:
    if not text.isdecimal() or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what} from {least} to {most}")
    return int(text)


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Return the chosen command and its options.

    Raises:
        ConfigError: The words make no sense.
        SystemExit: Help was asked for and printed.
    """
    chosen = parser().parse_args(words)
    chosen.json = getattr(chosen, "json", False)
    chosen.debug = getattr(chosen, "debug", False)
    return chosen
