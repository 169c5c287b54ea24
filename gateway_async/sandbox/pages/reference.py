"""The API reference, and requests that are sent from it."""

from starlette.responses import Response

from gateway_async.sandbox.openapi.document import encode_document
from gateway_async.sandbox.pages.visit import Visit

__all__ = ["show_document"]


async def show_document(_visit: Visit) -> Response:
    """Handle GET /openapi.json."""
    return Response(encode_document(), media_type="application/json")
