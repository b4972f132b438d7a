"""Every error this package raises on purpose.

    ThreadkeepError                  .code: stable string sent to clients
      InvalidRequestError            the caller's words are wrong; also a ValueError
        MalformedBodyError           a request body that is not JSON
        InvalidFilterError           an unknown operator, or an operand it does not take
        InvalidNamespaceError        an item's namespace that cannot be an address
        InvalidScheduleError         a cron's schedule or time zone that cannot be read
        BodyTooLargeError            a request body above the configured size
        ValueNotStorableError        a value that would not come back as it was; names its place
      UnauthenticatedError           no credentials, or bad ones
      ForbiddenError                 known, not allowed
      NotFoundError                  the named thing does not exist
      ConflictError                  the named thing exists already, or is busy
        AlreadyExistsError           a create met its own id
        ThreadBusyError              the thread has a run and the caller asked not to wait
        ThreadStatusError            the thread's status is none of those the caller asked for
        LeaseHeldError               another holds the thread's lease
        LeaseLostError               the thread's lease has passed to another
      NotSupportedError              this deployment's driver cannot do it
      ConfigError                    langgraph.json or the environment is wrong
        GraphLoadError               a graph of langgraph.json cannot be loaded
      StorageError                   a backend failed; its own error is ``__cause__``
        UnavailableError             a retry may help
        DocumentTooLargeError        a document is above the backend's size limit
        SchemaTooNewError            the store was written by a newer release
        WrongKeyError                a document is encrypted under a key that was not given
      CorruptionError                stored documents contradict each other
        MissingDocumentError         a document is named and not stored
        DamagedRowError              the backend has a row that cannot be read
      SecretNotStoredError           a restored secret is asked for: it was never stored
      RunError                       a run did not end well
        GraphError                   the graph raised
        RunTimeoutError              the run outlived its time limit
        SecretsLostError             what the run was to be given in secret is not here any more
        RunCancelledError            somebody cancelled the run

No class here knows HTTP or exit codes: ``server.errors`` and ``cli.main`` hold those tables.
"""

from collections.abc import Mapping
from typing import Any


class ThreadkeepError(Exception):
    """Base of every error raised on purpose."""

    code = "internal"


class InvalidRequestError(ThreadkeepError, ValueError):
    """The caller's words are wrong; the message names the field, the value and the remedy."""

    code = "invalid_request"


class MalformedBodyError(InvalidRequestError):
    """A request body is not JSON."""

    code = "malformed_body"


class InvalidFilterError(InvalidRequestError):
    """A filter has an unknown operator, or an operand the operator does not take."""

    code = "invalid_filter"


class InvalidNamespaceError(InvalidRequestError):
    """An item's namespace or key cannot be an address."""

    code = "invalid_namespace"


class InvalidScheduleError(InvalidRequestError):
    """A cron's schedule or time zone cannot be read, or names a date that never comes."""

    code = "invalid_schedule"


class BodyTooLargeError(InvalidRequestError):
    """A request body is above the configured size."""

    code = "body_too_large"

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(
            f"the request body is above {limit_bytes} bytes; send less, or raise "
            "THREADKEEP_MAX_BODY_BYTES"
        )
        self.limit_bytes = limit_bytes


class ValueNotStorableError(InvalidRequestError):
    """A value cannot be stored so that it comes back as it was; names where it stood."""

    code = "value_not_storable"


class UnauthenticatedError(ThreadkeepError):
    """No credentials, or bad ones."""

    code = "unauthenticated"


class ForbiddenError(ThreadkeepError):
    """The caller is known, and not allowed."""

    code = "forbidden"


class RefusedByRuleError(ForbiddenError):
    """A rule of the deployment refused, in words and with a status of its own.

    Attributes:
        status: As the rule gave it.
        headers: For the answer.
    """

    code = "refused_by_rule"

    def __init__(self, detail: str, status: int, headers: Mapping[str, str]) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = headers


class NotFoundError(ThreadkeepError):
    """The named thing does not exist.

    Attributes:
        kind: What was looked for, e.g. ``"thread"``.
        ident: The identifier it was looked for under.
    """

    code = "not_found"

    def __init__(self, kind: str, ident: str) -> None:
        super().__init__(f"no {kind} {ident!r}")
        self.kind = kind
        self.ident = ident


class ConflictError(ThreadkeepError):
    """The named thing exists already, or is busy."""

    code = "conflict"


class AlreadyExistsError(ConflictError):
    """A create met its own id; the present row is untouched."""

    code = "already_exists"

    def __init__(self, kind: str, ident: str) -> None:
        super().__init__(f"{kind} {ident!r} exists already")
        self.kind = kind
        self.ident = ident


class ThreadBusyError(ConflictError):
    """The thread has a run that is pending or running, and the caller asked not to wait."""

    code = "thread_busy"

    def __init__(self, thread_id: str) -> None:
        super().__init__(
            f"thread {thread_id!r} is busy with another run; wait for it, cancel it, or choose "
            "another multitask_strategy"
        )
        self.thread_id = thread_id


class ThreadStatusError(ConflictError):
    """The thread's status is none of those the caller asked for."""

    code = "thread_status_mismatch"

    def __init__(self, thread_id: str, status: str, wanted: tuple[str, ...]) -> None:
        super().__init__(f"thread {thread_id!r} is {status}, not {' or '.join(wanted)}")
        self.thread_id = thread_id
        self.status = status
        self.wanted = wanted


class LeaseHeldError(ConflictError):
    """Another holds the lease on the thread, and its time is not over."""

    code = "lease_held"

    def __init__(self, thread_id: str) -> None:
        super().__init__(f"thread {thread_id!r} is leased to another; try again later")
        self.thread_id = thread_id


class LeaseLostError(ConflictError):
    """The lease a write was made under is not the thread's any more; nothing was written."""

    code = "lease_lost"

    def __init__(self, thread_id: str) -> None:
        super().__init__(
            f"the lease on thread {thread_id!r} was given back, or has passed to another; "
            "take it again, and read the thread anew"
        )
        self.thread_id = thread_id


class NotSupportedError(ThreadkeepError):
    """This deployment's driver cannot do it."""

    code = "not_supported"


class ConfigError(ThreadkeepError):
    """``langgraph.json`` or the environment is wrong; the message names file and key."""

    code = "config"


class GraphLoadError(ConfigError):
    """A graph of ``langgraph.json`` cannot be loaded; the graph's own error is ``__cause__``."""

    code = "graph_load_failed"


class StorageError(ThreadkeepError):
    """A backend failed; its own error is the ``__cause__``. Never carries an address."""

    code = "storage"


class UnavailableError(StorageError):
    """The backend cannot be reached or is overloaded; a retry may help."""

    code = "unavailable"


class DocumentTooLargeError(StorageError):
    """A document is above the backend's size limit."""

    code = "document_too_large"

    def __init__(self, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(f"document of {size_bytes} bytes; this backend accepts {limit_bytes}")
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class SchemaTooNewError(StorageError):
    """The store was written by a newer release; upgrade this one."""

    code = "schema_too_new"


class WrongKeyError(StorageError):
    """A document is encrypted under a key that is none of those the saver was given.

    Attributes:
        wanted: The key's name in the store: not the key itself.
    """

    code = "wrong_key"

    def __init__(self, document: str, wanted: str, given: list[str]) -> None:
        super().__init__(
            f"{document} is encrypted under the key {wanted}, which is none of those given "
            f"({', '.join(given)}); add the older key at the end of encryption_keys"
        )
        self.wanted = wanted


class CorruptionError(ThreadkeepError):
    """Stored documents contradict each other: a reference without its document, a wrong digest."""

    code = "corruption"


class MissingDocumentError(CorruptionError):
    """A document is named and not stored.

    Attributes:
        ref: Its address.
        read: The documents that were read with it, by address.
    """

    def __init__(self, thread_id: str, ref: bytes, read: Mapping[bytes, Any]) -> None:
        super().__init__(f"thread {thread_id!r} lacks the document {ref.hex()}")
        self.ref = ref
        self.read = read


class DamagedRowError(CorruptionError):
    """The backend has a row that cannot be read as a document.

    Attributes:
        thread_id: Its thread.
        collection: Its collection.
        key: Its key, or ``None`` where that cannot be read either.
    """

    def __init__(
        self, says: str, *, thread_id: str, collection: str, key: tuple[Any, ...] | None
    ) -> None:
        super().__init__(says)
        self.thread_id = thread_id
        self.collection = collection
        self.key = key


class SecretNotStoredError(ThreadkeepError):
    """A secret is asked for that was never stored; give it with the config of the new run."""

    code = "secret_not_stored"

    def __init__(self) -> None:
        super().__init__(
            "this secret was not stored with the checkpoint; give it with the new run's config"
        )


class RunError(ThreadkeepError):
    """A run did not end well."""

    code = "run_failed"


class GraphError(RunError):
    """The graph raised; its own error is ``__cause__``."""

    code = "graph_error"


class RunTimeoutError(RunError):
    """The run outlived its time limit."""

    code = "run_timeout"


class SecretsLostError(RunError):
    """What the run was to be given in secret is not here any more; it was not begun."""

    code = "secrets_lost"


class RunCancelledError(RunError):
    """Somebody cancelled the run."""

    code = "run_cancelled"
