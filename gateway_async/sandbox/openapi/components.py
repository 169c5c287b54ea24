"""The parameters, responses and credentials of an operation."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from gateway_async.sandbox.openapi.schemas import FLAG_SCHEMA, Schema, close, refer, segment_of, wrap
from gateway_async.sandbox.request.credentials import FOR_ANYONE, SCHEMES, WITHOUT_CREDENTIALS
from gateway_async.sandbox.request.expands import EXPANDS
from gateway_async.sandbox.request.listing import LARGEST_PAGE_SIZE
from gateway_async.sandbox.schema.fields import Field, Table
from gateway_async.sandbox.schema.kinds import Search

_FILTERS = {
    Search.SUBSTRING: "Text that the field contains.",
    Search.ANY_OF: "A value, or several with commas.",
    Search.AMOUNT: "An amount, or a range such as `1.00|5.00`.",
    Search.TIMESTAMP: "Unix seconds, a range such as `today`, or `custom` with `_from` and `_to`.",
}

_POSITIVE: Schema = {"type": "integer", "minimum": 1, "maximum": 10**15 - 1}
_TIME: Schema = {"type": "integer", "minimum": 0, "maximum": 10**15 - 1}
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

_BY_KEY = ("developerId", "userId", "userApiKey")
_BY_HASH_KEY = ("developerId", "userId", "timestamp", "hashKey")
_EVERYWHERE = (_BY_KEY, ("developerId", "accessToken"), ("developerId", "basic"), ("developerId", "bearer"))
_HASH_KEY_SEGMENTS = frozenset[str]().union(*(scheme.path_segments for scheme in SCHEMES))
_HOSTED_FORMS = frozenset({"accountform", "payform"})


def in_query(name: str, schema: Schema, description: str = "", *, required: bool = False) -> Schema:
    """A parameter of the query."""
    parameter: Schema = {"name": name, "in": "query", "required": required, "schema": schema}
    return parameter | ({"description": description} if description else {})


def describe_path_id(path: str) -> list[Schema]:
    """Describe the parameters of a path, such as `{id}`."""
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}} for name in names
    ]


def describe_expand(plural: str) -> list[Schema]:
    """Describe the parameter `expand` of a record type, if it has relations."""
    names = sorted(EXPANDS.get(plural, {}))
    if not names:
        return []
    schema: Schema = {"type": "array", "items": {"enum": names}}
    expand = in_query("expand", schema, "The relations to include, with commas.")
    return [expand | {"style": "form", "explode": False, "allowEmptyValue": True}]


def describe_record_query(table: Table) -> list[Schema]:
    """Describe the parameters with which a path may have an integrator id."""
    if not table.api_id:
        return []
    meaning = f"1 if the path has a `{table.api_id}` instead of the system id."
    return [
        in_query("api_id", FLAG_SCHEMA, meaning),
        in_query("location_id", {"type": "string"}, "The location of the integrator id; required with it."),
    ]


def describe_list(table: Table, *, as_file: bool = True) -> list[Schema]:
    """Describe the parameters of a list: pages, order and a filter for each field."""
    pages = [
        in_query("page", _POSITIVE, "From 1."),
        in_query("page_size", _POSITIVE, f"{table.page_size} by default, {LARGEST_PAGE_SIZE} at most."),
        _describe_sort(table),
    ]
    file = [in_query("_format", {"enum": ["csv", "tsv"]}, "Return the page as a file.")] if as_file else []
    return pages + file + [parameter for field in table.filterable.values() for parameter in _describe_filter(field)]


def _describe_sort(table: Table) -> Schema:
    names = [*table.sortable, *(f"-{name}" for name in table.sortable)]
    meaning = f"The order, with a minus for descending; `{table.sort}` by default."
    schema: Schema = {"title": "names of fields, with commas", "type": "array", "minItems": 1, "items": {"enum": names}}
    return in_query("sort", schema, meaning) | {"style": "form", "explode": False}


def _describe_filter(field: Field) -> Iterable[Schema]:
    search = field.kind.search
    yield in_query(field.name, {"type": "string"}, _FILTERS[search])
    if search is Search.TIMESTAMP:
        yield in_query(f"{field.name}_from", _TIME, f"Only with `{field.name}=custom`.")
        yield in_query(f"{field.name}_to", _TIME, f"Only with `{field.name}=custom`.")


def as_json(schema: Schema, description: str) -> Schema:
    """A response with a JSON body."""
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def empty() -> Schema:
    """The response without a body."""
    return {"description": HTTPStatus.NO_CONTENT.phrase}


def describe_page(plural: str, record: str) -> Schema:
    """Describe the schema of a page of a list."""
    return close({plural: {"type": "array", "items": refer(record)}, "meta": refer("Meta")})


def describe_errors(*statuses: int) -> dict[str, Schema]:
    """Describe references to the responses of errors."""
    return {str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(statuses)}


def _header(name: str, description: str = "") -> dict[str, Any]:
    scheme = {"type": "apiKey", "in": "header", "name": name}
    return scheme | ({"description": description} if description else {})


SECURITY_SCHEMES: dict[str, dict[str, Any]] = {
    "developerId": _header("developer-id", "Every header of credentials may be a parameter of the query instead."),
    "userId": _header("user-id"),
    "userApiKey": _header("user-api-key"),
    "accessToken": _header("access-token", "A token of `POST /v2/token`."),
    "timestamp": _header("timestamp", "Unix seconds, at most 15 minutes away from the sandbox's clock."),
    "hashKey": _header("hash-key", "HMAC-SHA-256 of user id and timestamp with the user's hash key, in hex."),
    "basic": {"type": "http", "scheme": "basic", "description": "The user id and the user API key."},
    "bearer": {"type": "http", "scheme": "bearer", "description": "A token of `POST /v2/token`."},
}
"""The security schemes by name."""


def describe_security(operation: str) -> list[dict[str, list[str]]]:
    """Describe the combinations of credentials that an operation accepts."""
    segment = segment_of(operation.split()[1])
    if operation == FOR_ANYONE:
        return _requirements((), ("developerId",))
    if operation in WITHOUT_CREDENTIALS:
        return _requirements(("developerId",))
    if segment in _HOSTED_FORMS:
        return _requirements(_BY_HASH_KEY)
    return _requirements(*_EVERYWHERE, *([_BY_HASH_KEY] if segment in _HASH_KEY_SEGMENTS else []))


def _requirements(*combinations: tuple[str, ...]) -> list[dict[str, list[str]]]:
    return [{name: [] for name in combination} for combination in combinations]
