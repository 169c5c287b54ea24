"""Requirements on every response: in time, no 5xx, JSON or empty, and readable by the SDK."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import httpx

from gateway_async import GatewayError, StatusError
from gateway_async._wire.auth import log_in
from gateway_async._wire.call import Call, HttpRequest
from gateway_async._wire.pagination import read_page
from gateway_async._wire.record_reader import read_undocumented
from gateway_async._wire.reply import Reply, read_reply
from gateway_async._wire.rows import structure
from gateway_async._wire.untyped import UntypedSpec
from gateway_async.models.files import QuickInvoiceFile
from gateway_async.models.untyped import UntypedRecord
from gateway_async.resources import RESOURCES
from gateway_async.resources.account_vaults import VAULT_BIN_INFO
from gateway_async.resources.locations import LOCATION_INFO

from .untyped_records import SPECS

AUTH_ROLE_USER = UntypedSpec(name="authroleuser", plural="authroleusers")
HOSTED_PAGE = UntypedSpec(name="hostedpaymentpage", plural="hostedpaymentpages")
JSON = "application/json"
FILES = {"GET /custom/tsvtransactions": "text/tab-separated-values; charset=utf-8"}
"""Operations that respond with a file, and its content type."""

BY_PATH = (
    {spec.path: spec for spec in (LOCATION_INFO, AUTH_ROLE_USER, HOSTED_PAGE)}
    | SPECS
    | {spec.path: spec for kind in RESOURCES.values() if (spec := kind.spec)}
)
"""The specs of all resources by path."""

ERRORS = {400: "BadRequest", 401: "Authentication", 403: "PermissionDenied", 404: "NotFound", 405: "MethodNotAllowed"}
ERRORS |= {409: "RecordDeleted", 422: "Validation", 429: "RateLimit"}
"""The SDK's error of each status, without the word; any other 4xx is a `StatusError`."""

Reader = Callable[[Any], Any]


def reader(operation: str) -> Reader:
    """Return the function with which the SDK reads the response to an operation."""
    method, _, path = operation.partition(" ")
    if method == "DELETE" or path.endswith("/resend"):
        return _nothing
    if path == "/v2/token":
        return log_in("user", "password", "domain").read
    if path.endswith("/generateuserapikey"):
        return partial(read_undocumented, UntypedRecord, ("user",))
    if path.endswith("/files"):
        return partial(read_undocumented, QuickInvoiceFile, ("file",))
    noun = VAULT_BIN_INFO if path.endswith("/bininfo") else BY_PATH["/".join(path.split("/")[:3])]
    if method == "GET" and path == noun.path:
        return lambda content: read_page(content, noun.plural, 1, partial(structure, noun.record))
    return lambda content: structure(noun.record, noun.unwrap(content))


def _nothing(content: Any) -> None:
    assert content is None, f"the contract shows no body here: {content!r}"


def judge(operation: str, response: httpx.Response) -> None:
    """Check the response to an operation."""
    asked = response.request
    said = f"{asked.method} {asked.url} {_sent(asked)} is answered with {response.status_code} {response.text[:300]}"
    assert response.status_code < 500, said
    expected = FILES.get(operation, JSON) if response.is_success else JSON
    assert not response.content or response.headers["content-type"] == expected, said
    if asked.method not in ("HEAD", "OPTIONS"):
        _judge_reading(operation, response, said)


def _judge_reading(operation: str, response: httpx.Response, said: str) -> None:
    refused = StatusError if response.is_error else ()
    try:
        _read(operation, response)
    except refused as error:
        _judge_refusal(response, error, said)
    except GatewayError as error:
        raise AssertionError(f"{said}: {error}") from error


def _judge_refusal(response: httpx.Response, error: StatusError, said: str) -> None:
    assert type(error).__name__ == ERRORS.get(response.status_code, "Status") + "Error", said
    assert error.fields or response.status_code != 422, said


def judge_faulty(operation: str, response: httpx.Response) -> None:
    """Check a damaged response: the SDK reads it, or raises its own error."""
    with suppress(GatewayError):
        _read(operation, response)


def _read(operation: str, response: httpx.Response) -> None:
    if response.is_success and operation in FILES:
        return
    method, _, path = operation.partition(" ")
    read = reader(operation) if response.is_success else _nothing
    call: Call[Any] = Call(request=HttpRequest(method=method, path=path), read=read)
    read_reply(call, Reply(response.status_code, response.headers, response.content, at=0.0))


def _sent(request: httpx.Request) -> str:
    try:
        return repr(request.content[:500])
    except httpx.RequestNotRead:
        return "a stream"
