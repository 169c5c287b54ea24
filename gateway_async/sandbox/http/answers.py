"""What goes back: records in their wrapper, refusals and validation problems, all as JSON."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response

encode = msgspec.json.Encoder(decimal_format="number").encode
"""From a record to JSON."""


def answer(body: Any, status: int = 200) -> Response:
    """A JSON answer."""
    return Response(encode(body), status, media_type="application/json")


def no_body() -> Response:
    """The answer to a deletion."""
    return Response(status_code=204)


def refusal(status: int, message: str) -> Response:
    """The answer to a request that is refused as a whole."""
    body = {"name": HTTPStatus(status).phrase, "message": message, "code": 0, "status": status}
    return answer(body, status)
