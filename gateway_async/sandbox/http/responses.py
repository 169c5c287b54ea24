"""The JSON responses: wrapped records, refusals and validation problems."""

from decimal import Decimal
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response

__all__ = ["decode_json", "empty_response", "encode_json", "error_response", "json_response"]


encode_json = msgspec.json.Encoder(decimal_format="number").encode
"""Encodes a record as JSON."""
decode_json = msgspec.json.Decoder(float_hook=Decimal).decode
"""Decodes JSON, and keeps the decimals of numbers."""


def json_response(body: Any, status: int = 200) -> Response:
    """Create a JSON response."""
    return Response(encode_json(body), status, media_type="application/json")


def empty_response() -> Response:
    """Create the empty response to a deletion."""
    return Response(status_code=204)


def error_response(status: int, message: str) -> Response:
    """Create the response to a request that is refused as a whole."""
    body = {"name": HTTPStatus(status).phrase, "message": message, "code": 0, "status": status}
    return json_response(body, status)
