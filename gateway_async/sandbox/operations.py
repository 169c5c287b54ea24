"""Every operation that takes credentials: path, method, and what does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway_async.sandbox import account_vaults, adjustments, contacts, router, transactions
from gateway_async.sandbox.faults import is_path

if TYPE_CHECKING:
    from gateway_async.sandbox.records import Handler

OPERATIONS: dict[str, dict[str, Handler]] = {
    "/v2/contacts": {"GET": contacts.get_list, "POST": contacts.create},
    "/v2/contacts/{id}": {"GET": contacts.get, "PUT": contacts.update, "DELETE": contacts.delete},
    "/v2/accountvaults": {"GET": account_vaults.get_list, "POST": account_vaults.create},
    "/v2/accountvaults/{id}": {
        "GET": account_vaults.get,
        "PUT": account_vaults.update,
        "DELETE": account_vaults.delete,
    },
    "/v2/accountvaults/{id}/bininfo": {"GET": account_vaults.bin_info},
    "/v2/transactions": {"GET": transactions.get_list, "POST": transactions.create},
    "/v2/transactions/{id}": {"GET": transactions.get, "PUT": adjustments.update},
    "/v2/routertransactions": {"POST": router.create_transaction},
    "/v2/routeraccountvaults": {"POST": router.create_account_vault},
}


def is_operation(operation: str) -> bool:
    """Whether a method and a path, "PUT /v2/contacts/{id}", are an operation of the gateway."""
    method, _, path = operation.partition(" ")
    return any(is_path(pattern, path) and method in handlers for pattern, handlers in OPERATIONS.items())
