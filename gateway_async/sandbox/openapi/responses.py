"""The responses: records, pages of lists, and the bodies of errors."""

from http import HTTPStatus

from gateway_async.sandbox.openapi.records import close, refer, wrap
from gateway_async.sandbox.openapi.values import Schema

__all__ = ["ERRORS", "ERROR_SCHEMAS", "as_json", "describe_errors", "describe_page", "empty"]


_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_LINK = close({"href": _TEXT})
_LINKS = close({"self": _LINK, "next": _LINK, "last": _LINK}, "next", "last")
_PAGINATION = close(
    {
        "links": _LINKS,
        "totalCount": _COUNT,
        "pageCount": _COUNT,
        "currentPage": _COUNT | {"description": "From 0."},
        "perPage": _COUNT,
    }
)
_ORDER: Schema = {"type": "object", "additionalProperties": {"enum": ["asc", "desc"]}}

ERROR_SCHEMAS: dict[str, Schema] = {
    "Meta": close({"pagination": _PAGINATION, "sort": close({"attributes": _ORDER})}),
    "Refusal": close({"name": _TEXT, "message": _TEXT, "code": {"const": 0}, "status": {"type": "integer"}}),
    "Problems": wrap(
        "errors",
        {
            "type": "object",
            "description": "Messages by field.",
            "additionalProperties": {"type": "array", "items": _TEXT},
        },
    ),
}
"""The schemas of what is not a record."""

ERRORS = {
    400: "The body or the query cannot be read.",
    401: "The credentials are missing or not valid.",
    403: "The credentials are not accepted here, the user has no role, or a control call comes from a foreign page.",
    404: "The record does not exist.",
    409: "The record was deleted, or no call waits at the terminal.",
    413: "The body is too large.",
    421: "The Host header names another host.",
    422: "A value is not valid, or not in the state of the record.",
}
"""The statuses of errors."""


def as_json(schema: Schema, description: str) -> Schema:
    """Return a response with a JSON body."""
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def empty() -> Schema:
    """Return the response without a body."""
    return {"description": HTTPStatus.NO_CONTENT.phrase}


def describe_page(plural: str, record: str) -> Schema:
    """Return the schema of a page of a list."""
    return close({plural: {"type": "array", "items": refer(record)}, "meta": refer("Meta")})


def describe_errors(*statuses: int) -> dict[str, Schema]:
    """Return references to the responses of errors."""
    return {str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(statuses)}
