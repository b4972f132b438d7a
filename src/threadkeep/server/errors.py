"""The status and the body of each error: the only place where an error meets HTTP.

Every error answer is ``{"detail", "code", "status"}`` and, where there is more to say, ``details``.
"""

import http
import logging
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from threadkeep.errors import (
    BodyTooLargeError,
    ConfigError,
    ConflictError,
    CorruptionError,
    DocumentTooLargeError,
    ForbiddenError,
    InvalidFilterError,
    InvalidRequestError,
    MalformedBodyError,
    NotFoundError,
    NotSupportedError,
    RefusedByRuleError,
    RunError,
    SecretNotStoredError,
    StorageError,
    ThreadkeepError,
    ThreadStatusError,
    UnauthenticatedError,
    WrongKeyError,
)
from threadkeep.server.checks import InvalidFieldError
from threadkeep.server.wire import json_response

log = logging.getLogger("threadkeep.server")

STATUS: dict[type[ThreadkeepError], int] = {
    ThreadkeepError: 500,
    InvalidRequestError: 422,
    MalformedBodyError: 400,
    InvalidFilterError: 400,
    BodyTooLargeError: 413,
    UnauthenticatedError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    ConflictError: 409,
    NotSupportedError: 501,
    ConfigError: 500,
    StorageError: 503,
    DocumentTooLargeError: 413,
    WrongKeyError: 500,
    CorruptionError: 500,
    SecretNotStoredError: 422,
    RunError: 500,
}

INTERNAL = ("internal error", "internal")
CLIENT_CLOSED_REQUEST = 499  # nobody reads it; the access log should not call it our failure


def status_of(error: ThreadkeepError) -> int:
    """Return the status of the nearest class of an error that has one."""
    if isinstance(error, RefusedByRuleError):
        return error.status
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def error_response(error: Exception, request_id: str) -> Response:
    """Answer an error; one nobody raised on purpose is logged and says nothing about itself."""
    match error:
        case ThreadkeepError():
            return _own(error, request_id)
        case HTTPException():
            return _from_router(error)
        case ClientDisconnect():
            return _answer("the client went away", "client_closed", CLIENT_CLOSED_REQUEST)
    log.error("request %s failed", request_id, exc_info=error)
    return _answer(*INTERNAL, 500, {"request_id": request_id})


def _own(error: ThreadkeepError, request_id: str) -> Response:
    status = status_of(error)
    if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR and not isinstance(error, NotSupportedError):
        log.error("request %s failed: %s", request_id, error, exc_info=error)
    response = _answer(str(error), error.code, status, details_of(error))
    if isinstance(error, RefusedByRuleError):
        response.headers.update(error.headers)
    return response


def details_of(error: ThreadkeepError) -> Mapping[str, Any] | None:
    """Return what a program may want to read of an error, if anything."""
    match error:
        case InvalidFieldError():
            return {"field": error.field}
        case NotFoundError():
            return {"kind": error.kind}
        case ThreadStatusError():
            return {"status": error.status, "wanted": list(error.wanted)}
        case BodyTooLargeError():
            return {"limit_bytes": error.limit_bytes}
    return None


def _from_router(error: HTTPException) -> Response:
    phrase = http.HTTPStatus(error.status_code).phrase
    code = phrase.lower().replace(" ", "_")
    response = _answer(error.detail, code, error.status_code)
    for name, value in (error.headers or {}).items():
        response.headers[name] = value
    return response


def _answer(
    detail: str, code: str, status: int, details: Mapping[str, Any] | None = None
) -> Response:
    body: dict[str, Any] = {"detail": detail, "code": code, "status": status}
    if details is not None:
        body["details"] = details
    return json_response(body, status=status)
