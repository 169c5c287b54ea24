"""The `edit` of a transaction that moves it to another contact, with its vault and the vault's transactions.

An empty `contact_id` detaches the transaction from its contact.
"""

from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import update_record
from gateway_async.sandbox.schema import ACCOUNT_VAULT, TRANSACTION
from gateway_async.sandbox.schema.fields import Row, label

__all__ = ["check_moves", "move_contact"]


_MOVES = ("move_account_vault", "move_account_vault_transactions")


def check_moves(action: str, values: Row, problems: Problems) -> None:
    """Check the flags that move a vault: they need an `edit` and a contact."""
    for name in _MOVES:
        if not values.get(name) or name in problems:
            continue
        if action != "edit":
            problems.add(name, f"{label(name)} is not allowed with {action}.")
        elif values.get("contact_id") is None and "contact_id" not in problems:
            problems.add("contact_id", f"Contact Id cannot be blank when {label(name)} is 1.")


def move_contact(context: RequestContext, transaction: Row, values: Row) -> None:
    """Give the vault, and the vault's transactions, the transaction's contact as requested."""
    store, vault_id = context.gateway.store, transaction["account_vault_id"]
    if vault_id is None:
        return
    contact = {"contact_id": transaction["contact_id"]}
    vault = store.find(ACCOUNT_VAULT, id=vault_id)
    if vault and values.get("move_account_vault"):
        update_record(context, ACCOUNT_VAULT, vault, contact)
    if values.get("move_account_vault_transactions"):
        for row in store.filter(TRANSACTION, account_vault_id=vault_id):
            update_record(context, TRANSACTION, row, contact)
