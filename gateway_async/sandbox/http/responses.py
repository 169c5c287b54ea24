"""The JSON responses, and the errors that become responses: refusals and invalid fields (422)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from difflib import get_close_matches
from http import HTTPStatus
from typing import Any, TypeVar

import attrs
import msgspec
from starlette.responses import Response

from gateway_async.sandbox.schema.fields import label

encode_json = msgspec.json.Encoder(decimal_format="number").encode
"""Encodes a record as JSON."""

decode_json = msgspec.json.Decoder(float_hook=Decimal).decode
"""Decodes JSON, and keeps the decimals of numbers."""

_T = TypeVar("_T")


def parse_json(body: bytes) -> Any:
    """Parse the JSON value of a body; None if it is not JSON, or was cut off."""
    try:
        return decode_json(body)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return None


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


@attrs.define
class RefusedError(Exception):
    """A request that is refused with a status and a message.

    Attributes:
        status_code: The HTTP status of the response.
        message: One sentence for the caller.
    """

    status_code: int
    message: str


@attrs.define
class RefusedFieldsError(Exception):
    """A request with invalid fields.

    The response is a 422 that lists every problem.

    Attributes:
        problems: Messages by field name.
    """

    problems: dict[str, list[str]]


class UnknownRecordError(ValueError):
    """A control call that names an unknown record."""

    def __init__(self, name: str, record_id: str) -> None:
        super().__init__(f"{name} {record_id}: not found.")


def unknown_name(field: str, name: str, known: Iterable[str], expected: str) -> ValueError:
    """Make the error for an unknown name in a control call.

    It suggests the nearest known name. If none is near, it says what is `expected`.
    """
    near = get_close_matches(name, known, n=1)
    return ValueError(f"{field}: unknown, did you mean {near[0]}?" if near else f"{field}: {expected}.")


class Problems:
    """Collects the problems of a request for one response."""

    def __init__(self) -> None:
        self._by_field: defaultdict[str, list[str]] = defaultdict(list)

    def __contains__(self, field: str) -> bool:
        return field in self._by_field

    def __bool__(self) -> bool:
        return bool(self._by_field)

    def add(self, field: str, message: str) -> None:
        """Add one problem of a field."""
        self._by_field[field].append(message)

    def check(self, holds: bool, field: str, message: str, *others: str) -> None:
        """Add a problem unless a condition holds, or one of the fields that it compares has a problem already."""
        if not holds and not any(name in self._by_field for name in (field, *others)):
            self.add(field, message)

    def add_blank(self, field: str) -> None:
        """Add the problem of a missing value, unless the field has another one."""
        if field not in self._by_field:
            self.add(field, f"{label(field)} cannot be blank.")

    def add_invalid(self, field: str) -> None:
        """Add the problem of an id that names no record."""
        self.add(field, f"{field} provided is not valid")

    def add_all(self, path: str, problems: Mapping[str, list[str]]) -> None:
        """Add the problems of the object in the field `path`."""
        for field, messages in problems.items():
            self._by_field[f"{path}.{field}"] += messages

    def by_field(self) -> dict[str, list[str]]:
        """The messages by field name."""
        return dict(self._by_field)

    def raise_if_any(self) -> None:
        """Raise an error if problems were found."""
        if self._by_field:
            raise RefusedFieldsError(dict(self._by_field))

    def require(self, found: _T | None) -> _T:
        """Raise an error if problems were found, else return the value."""
        if self._by_field or found is None:
            raise RefusedFieldsError(dict(self._by_field))
        return found
