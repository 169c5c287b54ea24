"""Notes (contract, "Notes"): texts about a contact."""

from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.request.records import make_create, make_delete, make_get, make_list, make_update
from gateway_async.sandbox.schema import NOTE
from gateway_async.sandbox.schema.fields import Row

__all__ = ["create", "delete", "get", "get_list", "update"]


_RESOURCES = ("Contact",)


def _check_resource(_row: Row, values: Row, problems: Problems) -> None:
    if values.get("resource") not in {None, *_RESOURCES} and "resource" not in problems:
        problems.add("resource", f"Resource must be {' or '.join(_RESOURCES)}.")


create = make_create(NOTE, _check_resource)
get = make_get(NOTE)
get_list = make_list(NOTE)
update = make_update(NOTE)
delete = make_delete(NOTE)
