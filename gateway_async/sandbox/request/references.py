"""Checks the ids in a request.

Each must name a record in the caller's location. A contact's integrator id is replaced by its system id. A new
integrator id must not be in use.
"""

from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import BY_PLURAL, CONTACT
from gateway_async.sandbox.schema.fields import Row, Table, label

__all__ = ["check_references"]


_MISSING = {"terminal_id": "Terminal not found"}


def check_references(
    gateway: Gateway, user: Row, table: Table, values: Row, problems: Problems, *, current: Row | None = None
) -> None:
    """Check every id among the values of a request, and translate `contact_api_id`.

    In `values`, `contact_id` is filled in and an empty integrator id is removed. `current` is the stored record that a
    PUT changes; None for a POST.
    """
    _translate_contact(gateway, user, table, values, problems)
    for name, value in values.items():
        target, known = table.by_name[name].references, (current or {}).get(name)
        if target and value not in {None, known} and not _exists(gateway, user, BY_PLURAL[target], value):
            problems.add(name, _MISSING.get(name, f"{name} provided is not valid"))
    _check_api_id(gateway, user, table, values, problems, current=current)


def _check_api_id(
    gateway: Gateway, user: Row, table: Table, values: Row, problems: Problems, *, current: Row | None = None
) -> None:
    api_id = table.api_id
    if values.get(api_id) == "":
        values[api_id] = None  # an empty id means that the record has none, which several records may share
    if values.get(api_id) is None:
        return
    except_id = current["id"] if current else None
    if gateway.is_taken(table, user["location_id"], values[api_id], except_id=except_id):
        problems.add(api_id, f"{api_id} already exists in this location")


def _translate_contact(gateway: Gateway, user: Row, table: Table, values: Row, problems: Problems) -> None:
    if table is CONTACT or (api_id := values.get("contact_api_id")) is None:
        return
    contact = gateway.store.find(CONTACT, location_id=user["location_id"], contact_api_id=api_id)
    if contact is None or contact["deleted_ts"] is not None:
        problems.add("contact_api_id", "contact_api_id provided is not valid")
    elif values.get("contact_id") not in {None, contact["id"]}:
        problems.add("contact_api_id", f"{label('contact_api_id')} and Contact Id name different contacts.")
    else:
        values["contact_id"] = contact["id"]


def _exists(gateway: Gateway, user: Row, table: Table, record_id: str) -> bool:
    record = gateway.store.find(table, id=record_id)
    if record is None or record["deleted_ts"] is not None:
        return False
    return bool(user["location_id"] == record.get("location_id", record["id"]))
