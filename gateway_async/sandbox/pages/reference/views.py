"""The API reference: operations by family, and each with its fields and a form that sends it."""

from starlette.responses import Response

from gateway_async.sandbox.http.errors import RefusedError
from gateway_async.sandbox.openapi.document import encode_document
from gateway_async.sandbox.openapi.lookup import DescribedOperation, find_operation, list_operations
from gateway_async.sandbox.pages.page_request import PageRequest
from gateway_async.sandbox.pages.reference.request import (
    ReferenceRequest,
    fill_in,
    read_request,
    send_reference_request,
)
from gateway_async.sandbox.pages.reference.schema_rows import describe_type, list_rows

__all__ = ["send_operation", "show", "show_document", "show_operation"]


async def show_document(_visit: PageRequest) -> Response:
    """Handle GET /openapi.json."""
    return Response(encode_document(), media_type="application/json")


async def show(request: PageRequest) -> Response:
    """Handle GET /reference; `?q=` selects operations by words in their path or summary."""
    words = request.query("q").lower().split()
    found = [each for each in list_operations() if all(word in _searched_text(each) for word in words)]
    families: dict[str, list[DescribedOperation]] = {}
    for each in found:
        families.setdefault(each.family, []).append(each)
    return request.render("reference.html", families=families, count=len(found), q=request.query("q"))


def _searched_text(operation: DescribedOperation) -> str:
    return f"{operation.method} {operation.path} {operation.summary} {operation.family}".lower()


async def show_operation(request: PageRequest) -> Response:
    """Handle GET /reference/{operation}."""
    operation = _find(request)
    return _render(request, operation, fill_in(request.gateway, operation))


async def send_operation(request: PageRequest) -> Response:
    """Handle POST /reference/{operation}: send the request and show its response."""
    operation = _find(request)
    reference_request = read_request(operation, request.form)
    try:
        reply = await send_reference_request(request.gateway, request.api, operation, reference_request)
    except ValueError as problem:
        return _render(request, operation, reference_request, status=422, problem=str(problem))
    return _render(request, operation, reference_request, reply=reply)


def _find(request: PageRequest) -> DescribedOperation:
    operation = find_operation(request.parameter("operation"))
    if operation is None:
        raise RefusedError(404, "The API has no such operation.")
    return operation


def _render(
    request: PageRequest,
    operation: DescribedOperation,
    reference_request: ReferenceRequest,
    *,
    status: int = 200,
    **values: object,
) -> Response:
    bodies = {name: list(list_rows(schema)) for name, schema in operation.bodies.items()}
    known: dict[str, object] = {"reply": None, "problem": ""}
    return request.render(
        "operation.html",
        status,
        operation=operation,
        sent=reference_request,
        bodies=bodies,
        responses=_list_responses(operation),
        describe_type=describe_type,
        **(known | values),
    )


def _list_responses(operation: DescribedOperation) -> list[dict[str, object]]:
    """Return each status of a response, with the rows of its body."""
    return [
        {
            "status": int(status),
            "description": response["description"],
            "types": [*response.get("content", {})],
            "rows": list(list_rows(response.get("content", {}).get("application/json", {}).get("schema", {}))),
        }
        for status, response in operation.content["responses"].items()
    ]
