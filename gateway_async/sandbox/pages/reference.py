"""The API reference: Swagger UI with the OpenAPI document, examples and credentials of this sandbox."""

from starlette.responses import Response

from gateway_async.sandbox.http.responses import encode_json
from gateway_async.sandbox.openapi.document import encode_document
from gateway_async.sandbox.openapi.examples import make_document_with_examples
from gateway_async.sandbox.pages.page_request import PageRequest
from gateway_async.sandbox.request.credentials import hash_key_for
from gateway_async.sandbox.runtime.gateway import Gateway

__all__ = ["show", "show_document", "show_example_document"]


async def show_document(_request: PageRequest) -> Response:
    """Handle GET /openapi.json."""
    return Response(encode_document(), media_type="application/json")


async def show_example_document(request: PageRequest) -> Response:
    """Handle GET /reference/openapi.json: the document with requests that this sandbox accepts."""
    content = encode_json(make_document_with_examples(request.gateway))
    return Response(content, media_type="application/json", headers={"cache-control": "no-store"})


async def show(request: PageRequest) -> Response:
    """Handle GET /reference."""
    return request.render("reference.html", credentials=_credentials(request.gateway))


def _credentials(gateway: Gateway) -> dict[str, str]:
    """Return the credentials of this sandbox, by the names of the security schemes."""
    info, timestamp = gateway.info, str(gateway.clock.timestamp())
    return {
        "developerId": info.developer_id,
        "userId": info.user_id,
        "userApiKey": info.user_api_key,
        "timestamp": timestamp,
        "hashKey": hash_key_for(info.user_hash_key, info.user_id, timestamp),
    }
