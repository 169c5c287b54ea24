"""Tags (contract, "Tags"): labels for transactions and invoices."""

from gateway_async.sandbox.request.records import make_create, make_delete, make_get, make_list, make_update
from gateway_async.sandbox.schema import TAG

__all__ = ["create", "delete", "get", "get_list", "update"]


create = make_create(TAG)
get = make_get(TAG)
get_list = make_list(TAG)
update = make_update(TAG)
delete = make_delete(TAG)
