"""What the gateway tells customers, by e-mail and text message: each notice goes to the outbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway_async.sandbox.fields import Row
    from gateway_async.sandbox.gateway import Gateway


def tell_of_invoice(gateway: Gateway, invoice: Row, occasion: str, *, email: bool = True, sms: bool = True) -> None:
    """Tell the customer of an invoice, where there is an address to tell."""


def tell_of_paylink(gateway: Gateway, paylink: Row, occasion: str) -> None:
    """Tell the customer of a paylink, by its `delivery_method` and where there is an address to tell."""
