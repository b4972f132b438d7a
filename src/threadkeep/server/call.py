"""One request in the hands of its handler: its identifiers, query and body, checked."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp

from threadkeep.rules.paging import MAX_OFFSET
from threadkeep.server import checks
from threadkeep.server.bodies import read_body
from threadkeep.server.checks import Check, Field, InvalidFieldError
from threadkeep.server.options import ServerOptions
from threadkeep.services.context import Services

TRUE = frozenset({"true", "1", "yes", "on"})
FALSE = frozenset({"false", "0", "no", "off", ""})


@dataclass(frozen=True, slots=True)
class Call:
    """What a handler works with.

    Attributes:
        request: The request itself; handlers take from it what has no check here.
        services: Who does the work.
        options: How this server answers.
    """

    request: Request
    services: Services
    options: ServerOptions

    def ident(self, name: str) -> str:
        """Return a UUID of the path in its usual spelling.

        Raises:
            InvalidFieldError: It is none.
        """
        return checks.identifier(self.request.path_params[name], name)

    def assistant(self) -> str:
        """Return the assistant's id of the path: where that names a graph, its default one's.

        Raises:
            InvalidFieldError: It is neither a graph's name nor a UUID.
        """
        given = self.text("assistant_id")
        return self.services.assistants.default_id(given) or self.ident("assistant_id")

    def assistant_of(self, given: str, path: str) -> str:
        """Return the assistant's id that a body gives, likewise.

        Raises:
            InvalidFieldError: It is neither a graph's name nor a UUID.
        """
        found = self.services.assistants.default_id(given) or checks.as_uuid(given)
        if found is None:
            raise InvalidFieldError(
                path,
                f"no graph is named {checks.shown(given)}; expected the UUID of an assistant or "
                "the name of a graph of this server",
            )
        return found

    def text(self, name: str) -> str:
        """Return a text of the path.

        Raises:
            InvalidFieldError: It is longer than any identifier.
        """
        found: str = checks.text()(self.request.path_params[name], name)
        return found

    async def body(self, fields: Sequence[Field]) -> dict[str, Any]:
        """Read the body as an object with these fields.

        Raises:
            BodyTooLargeError: It is above the limit.
            MalformedBodyError: It is not JSON.
            InvalidFieldError: It does not fit the table.
        """
        return checks.read_fields(await read_body(self.request), fields)

    def flag(self, name: str) -> bool:
        """Return a yes or no of the query; absent means no.

        Raises:
            InvalidFieldError: It is neither.
        """
        given = self.request.query_params.get(name, "").lower()
        if given in TRUE:
            return True
        if given in FALSE:
            return False
        raise checks.wrong(given, name, '"true" or "false"')

    def query(self, name: str, check: Check, *, default: Any = None) -> Any:
        """Return one text of the query through a check.

        Raises:
            InvalidFieldError: It does not pass.
        """
        given = self.request.query_params.get(name)
        return default if given is None else check(given, name)

    def query_list(self, name: str, check: Check) -> list[Any] | None:
        """Return every text of the query under one name, also separated by commas.

        Raises:
            InvalidFieldError: One does not pass.
        """
        given = self.request.query_params.getlist(name)
        parts = [part for text in given for part in text.split(",") if part]
        return [check(part, name) for part in parts] if parts else None

    def page(self, *, limit: int) -> tuple[int, int]:
        """Return limit and offset of the query.

        Raises:
            InvalidFieldError: One is no integer in bounds.
        """
        return (
            self._integer("limit", checks.LIMIT, limit),
            self._integer("offset", checks.OFFSET, 0),
        )

    def _integer(self, name: str, check: Check, default: int) -> int:
        given = self.request.query_params.get(name)
        if given is None:
            return default
        if not given.isascii() or not given.isdecimal() or len(given) > len(str(MAX_OFFSET)):
            raise InvalidFieldError(name, f"expected a whole number, got {checks.shown(given)}")
        number: int = check(int(given), name)
        return number


Handler = Callable[[Call], Awaitable[ASGIApp]]
