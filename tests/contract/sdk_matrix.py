"""Compare the rows with the SDK's models: each function returns one line for each difference."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import attrs

import gateway_async
from gateway_async._secrets import Secret
from gateway_async._wire.validation import problems
from gateway_async.models.request import Request

from .field_table import Row
from .raw_client import FakeClient
from .record_type import CreateMode, Recipe, RecordType, resolved
from .values import accepted_values, out_of_bounds

_FITS: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "flag": (bool,),
    "money": (Decimal,),
    "date": (date,),
    "timestamp": (datetime,),
    "object": (Mapping,),
    "items": (Mapping,),
    "secret": (Secret, str),
    **dict.fromkeys(("list", "texts", "files", "tags", "amounts"), (Sequence,)),
}
"""The types of a record's field, by the row's; a text otherwise."""


def kinds(annotation: Any) -> set[type]:
    """Return the types in an annotation, without constraints and None."""
    if get_origin(annotation) is Annotated:
        return kinds(annotation.__origin__)
    if get_origin(annotation) not in (None, Mapping, Sequence, tuple) and get_args(annotation):
        return set().union(*map(kinds, get_args(annotation)))
    if hasattr(annotation, "__args__") and get_origin(annotation) is None:  # a union written with |
        return set().union(*map(kinds, get_args(annotation)))
    found = get_origin(annotation) or annotation
    return set() if found is NoneType else {found}


def record_problems(record_type: RecordType, row: Row) -> Iterator[str]:
    """Check that the record has the field, with a fitting type, unless it is never returned."""
    hints = get_type_hints(getattr(gateway_async, record_type.record))
    if row.name not in hints:
        if row.response != "no":
            yield f"{row}: {record_type.record} has no such field"
        return
    fitting = _FITS.get(row.type, (str,))
    if not all(issubclass(kind, fitting) for kind in kinds(hints[row.name])):
        yield f"{row}: {record_type.record} has it as {hints[row.name]}"


def request_problems(record_type: RecordType, row: Row) -> Iterator[str]:
    """Check that a create and an update have the field only if it can be set by them."""
    creates = [_class(create_mode) for create_mode in record_type.create_modes]
    if row.name not in record_type.arguments:
        yield from _offered(row, "POST", row.post != "no", any(_knows(kind, row.name) for kind in creates))
    if record_type.update:
        update = getattr(gateway_async, record_type.update)
        yield from _offered(row, "PUT", row.put != "no", _knows(update, row.name))


def limit_problems(record_type: RecordType, row: Row) -> Iterator[str]:
    """Check that values within the row's bounds are accepted before sending, and others named."""
    for recipe in record_type.recipes_of(row.name):
        create_mode = record_type.create_mode(recipe)
        if row.post != "no" and row.name in _fields(_class(create_mode)):
            request = make_request(
                _class(create_mode), create_mode.body(FakeClient()) | resolved(recipe.beside, FakeClient())
            )
            yield from _limits(row, recipe, request, recipe.values)
        update = getattr(gateway_async, record_type.update) if record_type.update else Request
        if row.put != "no" and recipe.put and row.name in _fields(update):
            body = {"action": "edit"} if "action" in _fields(update) else {}
            request = make_request(update, body | resolved(recipe.put_beside, FakeClient()))
            yield from _limits(row, recipe, request, recipe.put_values)


def required_problems(record_type: RecordType, create_mode: CreateMode) -> Iterator[str]:
    """Check that each field of a smallest body is required, and named if missing."""
    kind = _class(create_mode)
    body = {name: said for name, said in create_mode.body(FakeClient()).items() if name not in kind.implied}
    for name in body:
        default = attrs.fields_dict(kind)[name].default
        request = make_request(kind, body)
        object.__setattr__(request, name, None)
        if default not in (attrs.NOTHING, None):
            continue  # the default of the class
        names = create_mode.otherwise.get(name, {name})
        if not any(names_field(line, other) for line in problems(request) for other in names):
            yield f"{record_type}.{name}: {kind.__name__} does not miss it"


def extra_field_problems(record_type: RecordType) -> Iterator[str]:
    """Check that no model has a field without a row."""
    known = {*record_type.table.by_name, *record_type.expanded, "extra"}
    for name in (
        record_type.record,
        record_type.update,
        *(create_mode.request for create_mode in record_type.create_modes),
    ):
        kind = getattr(gateway_async, name, None)
        if kind:
            yield from (
                f"{name}.{field.name}: is in no table" for field in attrs.fields(kind) if field.name not in known
            )


def _class(create_mode: CreateMode) -> type[Request]:
    kind: type[Request] = getattr(gateway_async, create_mode.request)
    return kind


def _fields(kind: type[Any]) -> set[str]:
    return {field.name for field in attrs.fields(kind)}


def _knows(kind: type[Request], name: str) -> bool:
    return name in _fields(kind) or name in kind.implied


def _offered(row: Row, method: str, wanted: bool, offered: bool) -> Iterator[str]:
    if wanted != offered:
        yield f"{row}: no request can {method} it" if wanted else f"{row}: a request can {method} it"


def make_request(kind: type[Request], body: Mapping[str, Any]) -> Request:
    """Return a request of the SDK with the fields of a body."""
    hints = get_type_hints(kind)
    known = {name: said for name, said in body.items() if name not in kind.implied and said is not ...}
    return kind(**{name: _typed(said, hints[name]) for name, said in known.items()})


def _typed(value: Any, hint: Any) -> Any:
    return date.fromisoformat(value) if isinstance(value, str) and date in kinds(hint) else value


def _limits(row: Row, recipe: Recipe, request: Request, values: tuple[str, ...] | None) -> Iterator[str]:
    hint = get_type_hints(type(request))[row.name]
    taken = (True, False) if row.type == "flag" else accepted_values(row, recipe, FakeClient(), values)
    for value in taken:
        found = problems(attrs.evolve(request, **{row.name: _typed(value, hint)}))
        if found:
            yield f"{row}: {type(request).__name__} refuses {str(value)[:40]!r}: {found}"
    for value in out_of_bounds(row, recipe, FakeClient()):
        found = problems(attrs.evolve(request, **{row.name: value}))
        if not found or not all(names_field(line, row.name) for line in found):
            yield f"{row}: {type(request).__name__} takes {str(value)[:40]!r}: {found}"


def names_field(line: str, name: str) -> bool:
    """Return whether a problem names a field."""
    return name in line.partition(":")[0].split(", ")
