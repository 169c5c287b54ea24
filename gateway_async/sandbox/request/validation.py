"""Validates a request body against a field table.

It reports every problem at once. A field that the caller may not set is a problem. There are two exceptions: a field
that has the stored value already (null for a new record), and a field that is computed for each response. Therefore a
client can read a record, change it and send it back whole. Null clears a field or restores its default. An unknown
field is ignored and logged, or a problem in a strict sandbox.

Each id must name a record in the caller's location. A contact's integrator id is replaced by its system id, and an
empty one by none. A location's integrator id must be that of the caller's location. A new integrator id must not be in
use.
"""

import logging
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from gateway_async.sandbox.http.responses import Problems
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.schema import BY_PLURAL, CONTACT, LOCATION
from gateway_async.sandbox.schema.fields import Field, Row, Table, label

_logger = logging.getLogger("gateway_async.sandbox.ignored_fields")

_logger.setLevel(logging.WARNING)

_PLAIN_NAME = re.compile(r"(?!\w*[0-9]{4})[A-Za-z_]\w{0,63}", re.ASCII)
_MISSING = {"terminal_id": "Terminal not found"}


def log_ignored_parameters(operation: str, names: Sequence[str]) -> None:
    """Log the names of ignored parameters of an operation, such as `GET /v2/contacts/{id}`."""
    if names:
        _logger.warning("ignored unknown parameters operation=%s parameters=%s", operation, _show(names))


def _show(names: Iterable[str]) -> str:
    """Return names as text; one that may contain a number or a secret is hidden."""
    return ", ".join(name if _PLAIN_NAME.fullmatch(name) else "(hidden)" for name in sorted(names))


def read_fields(
    context: RequestContext, table: Table, body: Row, problems: Problems, *, current: Row | None = None
) -> Row:
    """Read the valid fields of a body in stored form.

    `current` is the stored record that a PUT changes; None for a POST. A strict gateway refuses an unknown field.
    """
    method = "POST" if current is None else "PUT"
    values: Row = {}
    unknown = [name for name in body if name not in table.by_name and not (current and name == "_links")]
    known = [(table.by_name[name], value) for name, value in body.items() if name in table.by_name]
    for field, value in known:
        if method in field.settable:
            _read_field(field, value, values, problems)
        elif not _is_unchanged(table, field, value, current):
            problems.add(field.name, f"{field.label} cannot be set.")
    if context.gateway.strict:
        for name in unknown:
            problems.add(name, f"{label(name)} is not a known field.")
    elif unknown:
        _logger.warning("ignored unknown fields record=%s fields=%s", table.singular, _show(unknown))
    for field in table.fields:
        if field.required and _is_blank(field, values, problems, current):
            problems.add_blank(field.name)
    return values


def _read_field(field: Field, value: Any, values: Row, problems: Problems) -> None:
    try:
        values[field.name] = field.default if value is None else field.read(value)
    except ValueError as problem:
        problems.add(field.name, str(problem))


def _is_unchanged(table: Table, field: Field, value: Any, current: Row | None) -> bool:
    """Whether a field that cannot be set is harmless.

    It has the stored value, or is computed for each response.
    """
    if current is None:
        return value is None
    if not field.stored:
        return not field.settable
    shown = table.show(current).get(field.name)
    return (value is None and current[field.name] is None) or _equals_shown(field, value, shown)


def _equals_shown(field: Field, value: Any, shown: Any) -> bool:
    if isinstance(shown, msgspec.Raw):
        return bool(value == msgspec.json.decode(bytes(shown)))
    try:
        return value == shown or field.kind.read(value) == field.kind.read(shown)
    except ValueError:
        return False


def _is_blank(field: Field, values: Row, problems: Problems, current: Row | None) -> bool:
    left_out = field.name not in values and current is None
    emptied = field.name in values and values[field.name] in {None, ""}
    return (left_out or emptied) and field.name not in problems


def require(names: Iterable[str], values: Row, problems: Problems) -> None:
    """Report the fields that a request lacks."""
    for name in names:
        if not values.get(name):
            problems.add_blank(name)


def check_references(
    context: RequestContext, table: Table, values: Row, problems: Problems, *, current: Row | None
) -> None:
    """Check every id among the values of a request, and translate `contact_api_id`.

    In `values`, `contact_id` is filled in and an empty integrator id is removed. `current` is the stored record that a
    PUT changes; None for a POST.
    """
    _translate_contact(context, table, values, problems)
    if table is not LOCATION:
        _check_location(context, table, values, problems)
    for name, value in values.items():
        target, known = table.by_name[name].references, (current or {}).get(name)
        if target and value not in {None, known} and not _exists(context, BY_PLURAL[target], value):
            problems.add(name, _MISSING.get(name, f"{name} provided is not valid"))
    _check_api_id(context, table, values, problems, current=current)


def _check_api_id(
    context: RequestContext, table: Table, values: Row, problems: Problems, *, current: Row | None
) -> None:
    api_id = table.api_id
    if values.get(api_id) == "":
        values[api_id] = None  # an empty id means that the record has none, which several records may share
    if values.get(api_id) is None:
        return
    except_id = current["id"] if current else None
    if context.gateway.is_taken(table, context.user["location_id"], values[api_id], except_id=except_id):
        problems.add(api_id, f"{api_id} already exists in this location")


def _translate_contact(context: RequestContext, table: Table, values: Row, problems: Problems) -> None:
    if values.get("contact_id") == "":
        values["contact_id"] = None
    if table is CONTACT or (api_id := values.get("contact_api_id")) is None:
        return
    where = {"location_id": context.user["location_id"], "contact_api_id": api_id}
    contact = context.gateway.store.find_alive(CONTACT, **where)
    if contact is None:
        problems.add_invalid("contact_api_id")
    elif values.get("contact_id") not in {None, contact["id"]}:
        problems.add("contact_api_id", f"{label('contact_api_id')} and Contact Id name different contacts.")
    else:
        values["contact_id"] = contact["id"]


def _check_location(context: RequestContext, table: Table, values: Row, problems: Problems) -> None:
    if (api_id := values.get("location_api_id")) is None:
        return
    location = context.gateway.store.find(LOCATION, id=context.user["location_id"])
    if location is None or location["location_api_id"] != api_id:
        problems.add_invalid("location_api_id")
    elif values.get("location_id") is not None and not table.by_name["location_id"].required:
        problems.add("location_api_id", "Only one of Location Id and Location Api Id can be given.")


def _exists(context: RequestContext, table: Table, record_id: str) -> bool:
    record = context.gateway.store.find_alive(table, id=record_id)
    return record is not None and bool(context.user["location_id"] == record.get("location_id", record["id"]))
