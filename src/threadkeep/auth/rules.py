"""A deployment's ``Auth`` object: who is calling, and whether they may do what they ask.

Source: the lookups and parameters are those of ``langgraph_sdk.Auth``.
"""

import dataclasses
import importlib
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from threadkeep.errors import (
    ConfigError,
    ForbiddenError,
    RefusedByRuleError,
    ThreadkeepError,
    UnauthenticatedError,
    ValueNotStorableError,
)
from threadkeep.model.identity import User
from threadkeep.rules.json_text import normal_json

log = logging.getLogger(__name__)

PARAMETERS = frozenset(
    (
        *("request", "body", "path", "method", "path_params", "query_params", "headers"),
        *("authorization", "scope"),
    )
)
FIELDS = ("identity", "display_name", "is_authenticated", "permissions")

Handler = Callable[..., Awaitable[Any]]


class AuthRules:
    """See the module.

    Args:
        auth: An ``Auth`` object of ``langgraph_sdk``.

    Raises:
        ConfigError: It is none, or has no ``authenticate``, or one with unknown parameters.
    """

    def __init__(self, auth: Any) -> None:
        sdk = importlib.import_module("langgraph_sdk.auth")
        if not isinstance(auth, sdk.Auth):
            raise ConfigError(
                f"auth: found a {type(auth).__name__}; expected an Auth object of langgraph_sdk"
            )
        authenticate = auth._authenticate_handler
        if authenticate is None:
            raise ConfigError("auth: the Auth object has no @auth.authenticate function; add one")
        self._authenticate = authenticate
        self._wanted = _wanted(authenticate)
        self._handlers: Mapping[tuple[str, str], list[Handler]] = auth._handlers
        self._global: list[Handler] = auth._global_handlers
        self._context: Any = sdk.types.AuthContext
        self._refusal: type[Exception] = sdk.exceptions.HTTPException

    @property
    def needs_body(self) -> bool:
        """Whether ``authenticate`` asks for the request's body."""
        return "body" in self._wanted

    async def authenticate(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Ask who is calling.

        Args:
            given: What is known of the request, by ``PARAMETERS``.

        Returns:
            The user as JSON; ``identity`` is always there.

        Raises:
            UnauthenticatedError: The function failed, or named nobody.
            RefusedByRuleError: It refused, with a status of its own.
        """
        try:
            found = self._authenticate(**{name: given[name] for name in self._wanted})
            if inspect.isawaitable(found):
                found = await found
        except self._refusal as error:
            raise _refused(error) from error
        except ThreadkeepError:
            raise
        except Exception as error:
            log.warning("authenticate failed: %s: %s", type(error).__name__, error)
            raise UnauthenticatedError("the credentials could not be checked") from error
        return _as_json(found)

    async def authorize(
        self, user: Mapping[str, Any], resource: str, action: str, value: dict[str, Any]
    ) -> Mapping[str, Any]:
        """Ask whether a user may do something; the most specific rule answers.

        Args:
            value: What is asked for; the rule may change it.

        Returns:
            The filters that what is found must pass; empty for none.

        Raises:
            ForbiddenError: The rule said no.
            RefusedByRuleError: It refused, with a status of its own.
            ConfigError: It answered something else.
        """
        handler = self._handler(resource, action)
        if handler is None:
            return {}
        permissions = list(user.get("permissions") or ())
        context = self._context(
            permissions=permissions, user=User(user), resource=resource, action=action
        )
        try:
            answer = await handler(ctx=context, value=value)
        except self._refusal as error:
            raise _refused(error) from error
        except AssertionError as error:
            raise ForbiddenError(f"not allowed: {resource} {action}") from error
        if answer is None or answer is True:
            return {}
        if answer is False:
            raise ForbiddenError(f"not allowed: {resource} {action}")
        if not isinstance(answer, Mapping):
            raise ConfigError(
                f"auth: the rule for {resource} {action} answered a {type(answer).__name__}; "
                "expected true, false, None or a filter"
            )
        return answer

    def _handler(self, resource: str, action: str) -> Handler | None:
        for key in ((resource, action), (resource, "*"), ("*", action)):
            if found := self._handlers.get(key):
                return found[-1]
        return self._global[-1] if self._global else None


def _wanted(authenticate: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters to fill."""
    wanted = []
    for name, parameter in inspect.signature(authenticate).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if name in PARAMETERS and parameter.kind is not parameter.POSITIONAL_ONLY:
            wanted.append(name)
        elif parameter.default is parameter.empty:
            raise ConfigError(
                f"auth: authenticate takes {name!r}; "
                f"expected some of {', '.join(sorted(PARAMETERS))}"
            )
    return wanted


def _refused(error: Any) -> RefusedByRuleError:
    return RefusedByRuleError(str(error.detail), error.status_code, dict(error.headers or {}))


def _as_json(found: Any) -> dict[str, Any]:
    """Return what ``authenticate`` answered as JSON; fields that are none are left out."""
    user: dict[str, Any] = {}
    for name, value in _fields(found).items():
        entry = list(value) if isinstance(value, tuple | set | frozenset) else value
        try:
            user[str(name)] = normal_json(entry, f"user.{name}")
        except ValueNotStorableError:
            log.debug("the user's %s is no JSON and is left out", name)
    identity = user.get("identity")
    if not isinstance(identity, str) or not identity:
        raise UnauthenticatedError("authenticate named nobody: the user has no identity")
    return user


def _fields(found: Any) -> Mapping[Any, Any]:
    if isinstance(found, str):
        return {"identity": found}
    if isinstance(found, Mapping):
        return found
    if dataclasses.is_dataclass(found) and not isinstance(found, type):
        return {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
    if callable(getattr(found, "model_dump", None)):
        fields: Mapping[Any, Any] = found.model_dump()
        return fields
    return {name: getattr(found, name) for name in FIELDS if hasattr(found, name)}
