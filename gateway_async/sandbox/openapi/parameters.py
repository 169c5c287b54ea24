"""The parameters of paths and queries."""

from collections.abc import Iterable

from gateway_async.sandbox.openapi.values import FLAG_SCHEMA, Schema
from gateway_async.sandbox.request.expands import EXPANDS
from gateway_async.sandbox.request.listing import LARGEST_PAGE_SIZE
from gateway_async.sandbox.schema.fields import Field, Table
from gateway_async.sandbox.schema.kinds import Search

__all__ = ["describe_expand", "describe_list", "describe_path_id", "describe_record_query", "in_query"]


_FILTERS = {
    Search.SUBSTRING: "Text that the field contains.",
    Search.ANY_OF: "A value, or several with commas.",
    Search.AMOUNT: "An amount, or a range such as `1.00|5.00`.",
    Search.TIMESTAMP: "Unix seconds, a range such as `today`, or `custom` with `_from` and `_to`.",
}
_COUNT: Schema = {"type": "integer", "minimum": 1, "maximum": 10**15 - 1}
_TIME: Schema = {"type": "integer", "minimum": 0, "maximum": 10**15 - 1}


def in_query(name: str, schema: Schema, description: str = "", *, required: bool = False) -> Schema:
    """Return a parameter of the query."""
    parameter: Schema = {"name": name, "in": "query", "required": required, "schema": schema}
    return parameter | ({"description": description} if description else {})


def describe_path_id(path: str) -> list[Schema]:
    """Return the parameters of a path, such as `{id}`."""
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}} for name in names
    ]


def describe_expand(plural: str) -> list[Schema]:
    """Return the parameter `expand` of a record type, if it has relations."""
    names = sorted(EXPANDS.get(plural, {}))
    if not names:
        return []
    schema: Schema = {"type": "array", "items": {"enum": names}}
    expand = in_query("expand", schema, "The relations to include, with commas.")
    return [expand | {"style": "form", "explode": False, "allowEmptyValue": True}]


def describe_record_query(table: Table) -> list[Schema]:
    """Return the parameters with which a path may have an integrator id."""
    if not table.api_id:
        return []
    meaning = f"1 if the path has a `{table.api_id}` instead of the system id."
    return [
        in_query("api_id", FLAG_SCHEMA, meaning),
        in_query("location_id", {"type": "string"}, "The location of the integrator id; required with it."),
    ]


def describe_list(table: Table, *, as_file: bool = True) -> list[Schema]:
    """Return the parameters of a list: pages, order and a filter for each field."""
    pages = [
        in_query("page", _COUNT, "From 1."),
        in_query("page_size", _COUNT, f"{table.page_size} by default, {LARGEST_PAGE_SIZE} at most."),
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
