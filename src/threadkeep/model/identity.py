"""Who is calling, where a deployment authenticates its callers.

While a request is served, and while a run executes that it made, ``current_user`` is what the
deployment's ``authenticate`` returned, as JSON. A graph finds it in its ``configurable`` under
``USER``; nothing a client sends can stand there.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

USER = "langgraph_auth_user"
USER_ID = "langgraph_auth_user_id"
PERMISSIONS = "langgraph_auth_permissions"

# ``identity`` is always there; ``None`` where nobody is authenticated.
current_user: ContextVar[Mapping[str, Any] | None] = ContextVar(
    "threadkeep_current_user", default=None
)

# Request headers that the deployment passes on to ``configurable``, by name in lower case.
passed_headers: ContextVar[Mapping[str, str] | None] = ContextVar(
    "threadkeep_passed_headers", default=None
)


def in_configurable(user: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a graph's ``configurable`` says of a user; empty for nobody."""
    if user is None:
        return {}
    return {
        USER: dict(user),
        USER_ID: user["identity"],
        PERMISSIONS: list(user.get("permissions") or ()),
    }


class User:
    """A user with the attributes and keys that LangGraph's ``BaseUser`` promises."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    @property
    def identity(self) -> str:
        """The unique name."""
        found: str = self._fields["identity"]
        return found

    @property
    def display_name(self) -> str:
        """The name for people; the identity where there is none."""
        return str(self._fields.get("display_name") or self.identity)

    @property
    def is_authenticated(self) -> bool:
        """Whether the caller has proved who it is."""
        return bool(self._fields.get("is_authenticated", True))

    @property
    def permissions(self) -> Sequence[str]:
        """What the user may do, in the deployment's own words."""
        return tuple(self._fields.get("permissions") or ())

    def __getattr__(self, name: str) -> Any:
        """Return another field that ``authenticate`` gave."""
        if name.startswith("_") or name not in self._fields:
            raise AttributeError(name)
        return self._fields[name]

    def __getitem__(self, key: str) -> Any:
        """Return a field."""
        return self._fields[key]

    def __contains__(self, key: str) -> bool:
        """Say whether there is such a field."""
        return key in self._fields

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the fields."""
        return iter(self._fields)
