"""A request that the API reference sends, and its response as a page shows it."""

import hmac
from collections.abc import Mapping
from time import perf_counter
from urllib.parse import quote, urlencode

import attrs
from starlette.types import ASGIApp

from gateway_async.sandbox.http.in_process import InProcessResponse, send_in_process
from gateway_async.sandbox.http.responses import decode_json
from gateway_async.sandbox.openapi.examples import PASSWORD, make_body, make_path_values, make_query_values
from gateway_async.sandbox.openapi.lookup import DescribedOperation
from gateway_async.sandbox.pages.display.formats import show_json
from gateway_async.sandbox.pages.display.masking import mask_value
from gateway_async.sandbox.runtime.gateway import Gateway

__all__ = ["ReferenceRequest", "ShownReply", "fill_in", "read_request", "send_reference_request"]


_JSON = "application/json"


@attrs.frozen
class ReferenceRequest:
    """The values of the form: those of the path and the query by name, and the body."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    body: str = ""


@attrs.frozen
class ShownReply:
    """A response as a page shows it.

    Attributes:
        target: The path and query that were requested.
        text: The body, as indented JSON if it is JSON. Secrets are masked.
    """

    target: str
    status: int
    headers: dict[str, str]
    text: str
    milliseconds: float


def fill_in(gateway: Gateway, operation: DescribedOperation) -> ReferenceRequest:
    """Return a minimal valid request."""
    schema = operation.bodies.get(_JSON)
    body = "" if schema is None else show_json(make_body(gateway, operation.id, schema, operation.description))
    path, query = make_path_values(gateway, operation.path), make_query_values(gateway, operation.id)
    return ReferenceRequest(path, query, body)


def read_request(operation: DescribedOperation, form: Mapping[str, str]) -> ReferenceRequest:
    """Read a submitted form, in which empty parameters are left out."""
    names = {place: [each["name"] for each in operation.parameters(place)] for place in ("path", "query")}
    path = {name: form.get(f"path.{name}", "") for name in names["path"]}
    query = {name: form[f"query.{name}"] for name in names["query"] if form.get(f"query.{name}")}
    return ReferenceRequest(path, query, form.get("body", ""))


async def send_reference_request(
    gateway: Gateway, api: ASGIApp, operation: DescribedOperation, request: ReferenceRequest
) -> ShownReply:
    """Send a request with the credentials of this sandbox.

    Raises:
        ValueError: A part of the path is empty.
    """
    target = _make_target(operation, request)
    headers = _credentials(gateway, operation) | ({"content-type": _JSON} if request.body else {})
    body = request.body.replace(PASSWORD, gateway.info.password).encode()
    began = perf_counter()
    reply = await send_in_process(api, operation.method, target, headers, body)
    return ShownReply(target, reply.status_code, reply.headers, _show_body(reply), (perf_counter() - began) * 1000)


def _make_target(operation: DescribedOperation, request: ReferenceRequest) -> str:
    path = operation.path
    for name, value in request.path.items():
        if not value:
            raise ValueError(f"{name}: required.")
        path = path.replace(f"{{{name}}}", quote(value, safe=""))
    return f"{path}?{urlencode(request.query)}" if request.query else path


def _credentials(gateway: Gateway, operation: DescribedOperation) -> dict[str, str]:
    """Return the headers with the credentials of an operation."""
    info = gateway.info
    known = {
        "developerId": ("developer-id", info.developer_id),
        "userId": ("user-id", info.user_id),
        "userApiKey": ("user-api-key", info.user_api_key),
        "timestamp": ("timestamp", str(gateway.clock.timestamp())),
        "hashKey": ("hash-key", _hash_key(gateway)),
    }
    return dict(known[name] for name in next(iter(operation.content["security"]), ()))


def _hash_key(gateway: Gateway) -> str:
    info = gateway.info
    signed = f"{info.user_id}{gateway.clock.timestamp()}"
    return hmac.new(info.user_hash_key.encode(), signed.encode(), "sha256").hexdigest()


def _show_body(reply: InProcessResponse) -> str:
    if not reply.headers.get("content-type", "").startswith(_JSON):
        return reply.body.decode(errors="replace")
    return show_json(mask_value(decode_json(reply.body)))
