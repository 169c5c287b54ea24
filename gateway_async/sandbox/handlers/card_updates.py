"""The card updater: replaces the number or the expiry of a stored card, as its issuer says."""

from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import ACCOUNT_VAULT
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.cards import check_expiry, read_card

__all__ = ["update_card"]


_UPDATED = 1
"""The `cau_summary_status_id` of a changed card. The contract has no list of these codes."""


def update_card(gateway: Gateway, vault: Row, card: str | None, exp_date: str | None) -> Row:
    """Change the card of an account vault, and return the changed vault.

    Raises:
        ValueError: It is a bank account or deleted, nothing is given, or a value is invalid.
    """
    if vault["payment_method"] != "cc" or vault["deleted_ts"] is not None:
        raise ValueError(f"accountvault {vault['id']}: it is a bank account or deleted (expected a card).")
    changes = _read_number(card) | _read_expiry(exp_date)
    if not changes:
        raise ValueError("card: required (or exp_date).")
    now = gateway.clock.timestamp()
    changes |= {"cau_summary_status_id": _UPDATED, "cau_last_updated_ts": now, "modified_ts": now}
    gateway.store.update(ACCOUNT_VAULT, vault["id"], changes)
    return vault | changes


def _read_number(card: str | None) -> Row:
    if card is None:
        return {}
    try:
        account = read_card(card)
    except ValueError as reason:
        raise ValueError(f"card: {reason}") from None
    return {name: getattr(account, name) for name in ("account_type", "first_six", "last_four")}


def _read_expiry(exp_date: str | None) -> Row:
    if exp_date is None:
        return {}
    try:
        return {"exp_date": check_expiry(exp_date)}
    except ValueError as reason:
        raise ValueError(f"exp_date: {reason}") from None
