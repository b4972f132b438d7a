"""Errors as answers: the table of statuses, and what an unexpected error does not say."""

import logging
from typing import Any

import orjson
import pytest
from starlette.exceptions import HTTPException

from threadkeep import errors
from threadkeep.server.checks import InvalidFieldError
from threadkeep.server.errors import error_response


def body(error: Exception) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(error_response(error, "id-1").body)
    return found


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.InvalidRequestError("x"), 422, "invalid_request"),
        (InvalidFieldError("a", "x"), 422, "invalid_field"),
        (errors.InvalidNamespaceError("x"), 422, "invalid_namespace"),
        (errors.ValueNotStorableError("x"), 422, "value_not_storable"),
        (errors.InvalidFilterError("x"), 400, "invalid_filter"),
        (errors.MalformedBodyError("x"), 400, "malformed_body"),
        (errors.BodyTooLargeError(5), 413, "body_too_large"),
        (errors.UnauthenticatedError("x"), 401, "unauthenticated"),
        (errors.ForbiddenError("x"), 403, "forbidden"),
        (errors.NotFoundError("run", "r"), 404, "not_found"),
        (errors.AlreadyExistsError("thread", "t"), 409, "already_exists"),
        (errors.ThreadBusyError("t"), 409, "thread_busy"),
        (errors.ThreadStatusError("t", "idle", ("busy",)), 409, "thread_status_mismatch"),
        (errors.NotSupportedError("x"), 501, "not_supported"),
        (errors.GraphLoadError("x"), 500, "graph_load_failed"),
        (errors.UnavailableError("x"), 503, "unavailable"),
        (errors.DocumentTooLargeError(2, 1), 413, "document_too_large"),
        (errors.CorruptionError("x"), 500, "corruption"),
        (errors.SecretNotStoredError(), 422, "secret_not_stored"),
        (errors.WrongKeyError("x", "a", ["b"]), 500, "wrong_key"),
        (HTTPException(404, "no"), 404, "not_found"),
        (HTTPException(405, "no"), 405, "method_not_allowed"),
        (RuntimeError("secret"), 500, "internal"),
    ],
)
def test_each_error_has_its_status_and_code(error: Exception, status: int, code: str) -> None:
    response = error_response(error, "id-1")
    found = orjson.loads(response.body)
    assert (response.status_code, found["status"], found["code"]) == (status, status, code)
    assert response.media_type == "application/json"


def test_an_unexpected_error_is_logged_under_its_id_and_says_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        found = body(RuntimeError("secret"))
    assert found == {
        "detail": "internal error",
        "code": "internal",
        "status": 500,
        "details": {"request_id": "id-1"},
    }
    assert "id-1" in caplog.text
    assert "secret" in caplog.text


def test_an_error_of_the_caller_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    body(errors.NotFoundError("run", "r"))
    assert caplog.text == ""


def test_details_are_for_programs() -> None:
    assert body(InvalidFieldError("a.b", "x"))["details"] == {"field": "a.b"}
    assert body(errors.NotFoundError("run", "r"))["details"] == {"kind": "run"}
    assert "details" not in body(errors.InvalidRequestError("x"))
