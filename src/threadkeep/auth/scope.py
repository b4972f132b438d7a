"""What the caller of the request being served may see; without a scope, everything."""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from threadkeep.auth.filters import enforced
from threadkeep.auth.rules import AuthRules
from threadkeep.errors import ConfigError


class Scope:
    """One authenticated request.

    Attributes:
        metadata: What the rule for the request added to the metadata of what is made.

    Args:
        rules: Whose word counts.
        user: Who is calling.
    """

    def __init__(self, rules: AuthRules, user: Mapping[str, Any]) -> None:
        self.metadata: Mapping[str, Any] = {}
        self._rules = rules
        self._user = user
        self._resource = ""
        self._known: dict[str, Mapping[str, Any]] = {}

    async def ask(self, resource: str, action: str, value: dict[str, Any]) -> None:
        """Ask the rule for what the request does itself; see ``AuthRules.authorize``."""
        found = await self._rules.authorize(self._user, resource, action, value)
        self._resource = resource
        self._known[resource] = enforced(found)
        metadata = value.get("metadata")
        self.metadata = dict(metadata) if isinstance(metadata, Mapping) else {}

    def added_to(self, resource: str) -> Mapping[str, Any]:
        """Return the metadata the rule left for what is made of a resource."""
        return self.metadata if resource == self._resource else {}

    async def enforced(self, resource: str) -> Mapping[str, Any]:
        """Return what the metadata of a resource must contain for this caller.

        For what the request only reads on its way, the rule for reading is asked, once.
        """
        if resource not in self._known:
            found = await self._rules.authorize(self._user, resource, "read", {})
            self._known[resource] = enforced(found)
        return self._known[resource]

    async def rewritten(self, action: str, value: dict[str, Any]) -> dict[str, Any]:
        """Ask the rule for long-term memory, and return what it made of the request.

        Raises:
            ForbiddenError: See ``AuthRules.authorize``.
            ConfigError: It made an address of it that is none.
        """
        await self._rules.authorize(self._user, "store", action, value)
        namespace = value.get("namespace")
        is_one = isinstance(namespace, tuple | list) and all(
            isinstance(label, str) for label in namespace
        )
        if namespace is not None and not is_one:
            raise ConfigError(
                f"auth: the rule for store {action} made {namespace!r} of the namespace; expected "
                "a tuple of texts"
            )
        return {**value, "namespace": None if namespace is None else tuple(namespace)}


current_scope: ContextVar[Scope | None] = ContextVar("threadkeep_scope", default=None)
