"""Which classes values are restored as, and how they are found: never by an import.

A class is looked up in modules that are imported already, by its qualified name, reading the
dictionaries of modules and classes only, so that no ``__getattr__`` runs. Classes of functions are
found where they were given, as ``for_graph`` does.
"""

import sys
from collections.abc import Iterable, Mapping
from typing import Any, Literal

Allowed = frozenset[tuple[str, ...]] | Literal[True]

# What LangGraph restores unasked. Its oldest supported release has no such list, so it stands here.
LANGGRAPHS_OWN = frozenset(
    {
        ("builtins", "frozenset"),
        ("builtins", "set"),
        ("collections", "deque"),
        *(("datetime", name) for name in ("date", "datetime", "time", "timedelta", "timezone")),
        ("decimal", "Decimal"),
        *(
            ("ipaddress", f"IPv{version}{name}")
            for version in (4, 6)
            for name in ("Address", "Interface", "Network")
        ),
        ("langchain_core.documents.base", "Document"),
        *(
            (f"langchain_core.messages.{module}", f"{name}{suffix}")
            for module, name in (
                ("ai", "AIMessage"),
                ("base", "BaseMessage"),
                ("chat", "ChatMessage"),
                ("function", "FunctionMessage"),
                ("human", "HumanMessage"),
                ("system", "SystemMessage"),
                ("tool", "ToolMessage"),
            )
            for suffix in ("", "Chunk")
        ),
        ("langchain_core.messages.base", "TextAccessor"),
        ("langchain_core.messages.modifier", "RemoveMessage"),
        *(("langgraph.store.base", name) for name in ("GetOp", "Item", "SearchItem")),
        *(
            ("langgraph.types", name)
            for name in (
                *("Command", "Interrupt", "Overwrite", "PregelTask", "Send", "StateSnapshot"),
                "TimeoutPolicy",
            )
        ),
        *(
            (module, name)
            for module in ("pathlib", "pathlib._local")
            for name in ("Path", "PosixPath", "WindowsPath")
        ),
        ("re", "compile"),
        ("uuid", "UUID"),
        ("zoneinfo", "ZoneInfo"),
    }
)
# Subclasses of builtin types that graphs come by without having asked for them.
SUBCLASSES = frozenset(
    (
        ("langchain_core.messages.base", "TextAccessor"),
        ("langchain_core.runnables.utils", "AddableDict"),
        ("langgraph.pregel.io", "AddableUpdatesDict"),
        ("langgraph.pregel.io", "AddableValuesDict"),
        ("langgraph.pregel._io", "AddableUpdatesDict"),
        ("langgraph.pregel._io", "AddableValuesDict"),
    )
)
SLOTTED = frozenset(
    (
        ("langgraph.types", "Send"),
        ("langgraph.store.base", "Item"),
        ("langgraph.store.base", "SearchItem"),
    )
)


class Unknown(Exception):
    """A stored value cannot be restored; the message says why."""


class Classes:
    """The classes one serializer restores.

    Args:
        allowed: ``True`` for every class that is imported; else module and name of each.
        given: Classes that are found whether a module has them or not, by module and qualname.
    """

    def __init__(
        self, allowed: Allowed, given: Mapping[tuple[str, str], type[Any]] | None = None
    ) -> None:
        self.allowed = allowed
        self.given = dict(given or {})
        self.named: dict[type[Any], tuple[str, str]] = {}  # those that were found by their names

    def restorable(self, module: Any, qualname: Any) -> type[Any]:
        """Find a class that a stored value names.

        Raises:
            Unknown: It is not there, or is not allowed.
        """
        if not self._is_allowed(module, qualname):
            raise Unknown("its class is not on the allow-list")
        found = self.given.get((module, qualname)) or find(module, qualname)
        if found is None:
            raise Unknown("its class is not in a module that is imported")
        return found

    def name(self, kind: type[Any]) -> tuple[str, str]:
        """Name a class so that it will be found again.

        Raises:
            Unknown: It would not be.
        """
        known = self.named.get(kind)
        if known is not None:
            return known
        name = kind.__module__, kind.__qualname__
        if (self.given.get(name) or find(*name)) is not kind:
            raise Unknown(
                f"its class {name[0]}.{name[1]} is not found by that name, so it could not be "
                "restored; define it in a module, or use the saver of saver.for_graph(graph)"
            )
        self.named[kind] = name
        return name

    def is_listed(self, kind: type[Any]) -> bool:
        """Tell whether a class was allowed by its name, and not only because it is imported."""
        name = kind.__module__, kind.__qualname__
        return name in self.given or (self.allowed is not True and name in self.allowed)

    def with_allowed(self, extra: Iterable[tuple[str, ...]]) -> "Classes":
        """Allow further classes by module and name."""
        if self.allowed is True:
            return self
        allowed = self.allowed | frozenset(extra)
        return self if allowed == self.allowed else Classes(allowed, self.given)

    def with_given(self, classes: Iterable[type[Any]]) -> "Classes":
        """Allow further classes, found or not."""
        more = {(each.__module__, each.__qualname__): each for each in classes}
        if more.items() <= self.given.items():
            return self
        return Classes(self.allowed, {**self.given, **more})

    def _is_allowed(self, module: Any, qualname: Any) -> bool:
        if self.allowed is True or (module, qualname) in self.given:
            return True
        names = ((module, qualname), (module, str(qualname).rpartition(".")[2]))
        return any(name in LANGGRAPHS_OWN or name in self.allowed for name in names)


def find(module: Any, qualname: Any) -> type[Any] | None:
    """Find a class in a module that is imported; ``None`` where there is none."""
    if not isinstance(module, str) or not isinstance(qualname, str):
        return None
    found: Any = sys.modules.get(module)
    if found is None:
        return None
    for part in qualname.split("."):
        try:
            found = vars(found).get(part)
        except TypeError:
            return None
    return found if isinstance(found, type) else None
