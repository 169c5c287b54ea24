"""How a program reaches this sandbox: its credentials as lines to paste, a reset, and the API reference."""

import shlex

from starlette.responses import Response

from gateway_async.sandbox.controls import simulators
from gateway_async.sandbox.http.responses import encode_json
from gateway_async.sandbox.openapi.document import encode_document
from gateway_async.sandbox.openapi.examples import make_document_with_examples
from gateway_async.sandbox.pages.control_forms import make_forms, run_control
from gateway_async.sandbox.pages.page_request import PageRequest
from gateway_async.sandbox.request.credentials import hash_key_for
from gateway_async.sandbox.runtime.gateway import Gateway


async def show(request: PageRequest) -> Response:
    """Handle GET /connect."""
    variables = request.gateway.info.environment()
    exports = "\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items())
    return request.render("connect.html", exports=exports, forms=make_forms(request, [simulators.reset]))


async def reset(request: PageRequest) -> Response:
    """Handle POST /connect: delete all records."""
    await run_control(request, [simulators.reset])
    return request.redirect("/connect")


async def show_reference(request: PageRequest) -> Response:
    """Handle GET /reference: Swagger UI with the OpenAPI document, examples and credentials of this sandbox."""
    return request.render("reference.html", credentials=_credentials(request.gateway))


async def show_document(_request: PageRequest) -> Response:
    """Handle GET /openapi.json."""
    return Response(encode_document(), media_type="application/json")


async def show_example_document(request: PageRequest) -> Response:
    """Handle GET /reference/openapi.json: the document with requests that this sandbox accepts."""
    content = encode_json(make_document_with_examples(request.gateway))
    return Response(content, media_type="application/json", headers={"cache-control": "no-store"})


def _credentials(gateway: Gateway) -> dict[str, str]:
    """The credentials of this sandbox, by the names of the security schemes."""
    info, timestamp = gateway.info, str(gateway.clock.timestamp())
    return {
        "developerId": info.developer_id,
        "userId": info.user_id,
        "userApiKey": info.user_api_key,
        "timestamp": timestamp,
        "hashKey": hash_key_for(info.user_hash_key, info.user_id, timestamp),
    }
