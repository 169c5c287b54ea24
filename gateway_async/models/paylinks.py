"""Paylinks: payment links for one amount (contract, *Paylink*)."""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

import attrs

from gateway_async.models.codes import DeliveryMethod, PaylinkAction, PaylinkStatus
from gateway_async.models.record import Record
from gateway_async.models.request import (
    UNSET,
    ApiIdText,
    FieldRule,
    Id,
    Length,
    LocationId,
    NotBoth,
    OwnApiId,
    Request,
    RequiredWhen,
    Sum,
    Unset,
)

Phone = Annotated[str, Length(1, 10)]
Email = Annotated[str, Length(5, 128)]
Action = Annotated[Literal["sale", "auth-only", "authonly"] | PaylinkAction, Length(1, 10)]


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Paylink(Record):
    """A paylink."""

    id: str
    """The gateway's id, 24 to 36 characters."""
    location_id: str | None = None
    """The location of the paylink."""
    cc_product_transaction_id: str | None = None
    """The merchant account for cards."""
    ach_product_transaction_id: str | None = None
    """The merchant account for bank accounts."""
    paylink_api_id: str | None = None
    """Your id for the paylink, unique in its location."""
    contact_id: str | None = None
    """The customer."""
    amount_due: Decimal | None = None
    """The amount to pay."""
    cell_phone: str | None = None
    """The phone number for text messages."""
    email: str | None = None
    """The email address for the notification."""
    description: str | None = None
    """A description of the payment."""
    expire_date: date | None = None
    """The day on which the paylink expires."""
    delivery_method: DeliveryMethod | None = None
    """How the gateway sends the link: 0 not at all, 1 email, 2 text message, 3 both."""
    paylink_action: PaylinkAction | None = None
    """The effect of the payment: `sale` or `auth-only`, which some responses write as `authonly`."""
    display_product_transaction_receipt_details: bool | None = None
    """Whether the customer sees the receipt's details after the payment."""
    display_billing_fields: bool | None = None
    """Whether the payment form asks for the billing address."""
    status_id: PaylinkStatus | None = None
    """0 unpaid, 1 paid."""
    active: bool | None = None
    """Whether the paylink is active."""
    tags: Sequence[Any] | None = attrs.field(default=None, hash=False)
    """The paylink's tags; None unless they are expanded."""
    payment_url: str | None = None
    """The URL of the payment form; None unless it is expanded."""
    created_user_id: str | None = None
    """The user who created it."""
    modified_user_id: str | None = None
    """The user who changed it last."""
    created_ts: datetime | None = None
    """When it was created, in UTC."""
    modified_ts: datetime | None = None
    """When it was last changed, in UTC."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class PaylinkCreate(Request):
    """A new paylink."""

    amount_due: Sum
    """The amount to pay, with at most two decimals and 11 characters. Required."""
    location_id: LocationId | None = None
    """The location, at most 36 characters. Required, unless the client has one."""
    paylink_api_id: OwnApiId | None = None
    """Your id for the paylink, at most 64 characters without spaces, unique in the location."""
    cc_product_transaction_id: Id | None = None
    """The merchant account for cards, at most 36 characters. Without it, the location's default."""
    ach_product_transaction_id: Id | None = None
    """The merchant account for bank accounts, at most 36 characters. Without it, the location's default."""
    contact_id: Id | None = None
    """The customer, at most 36 characters."""
    contact_api_id: ApiIdText | None = None
    """Your id for the customer, at most 64 characters, instead of `contact_id`."""
    cell_phone: Phone | None = None
    """The phone number for text messages, at most 10 characters. Required when `delivery_method` is 2 or 3."""
    email: Email | None = None
    """The email address for the notification, 5 to 128 characters."""
    description: str | None = None
    """A description of the payment."""
    expire_date: date | None = None
    """The day on which the paylink expires."""
    delivery_method: DeliveryMethod | int | None = None
    """How the gateway sends the link: 0 not at all, 1 email, 2 text message, 3 both."""
    paylink_action: Action | None = None
    """The effect of the payment: `sale` or `auth-only`."""
    display_product_transaction_receipt_details: bool | None = None
    """Whether the customer sees the receipt's details after the payment."""
    display_billing_fields: bool | None = None
    """Whether the payment form asks for the billing address."""

    rules: ClassVar[tuple[FieldRule, ...]] = (
        NotBoth(("contact_id", "contact_api_id")),
        RequiredWhen("cell_phone", "delivery_method", (2, 3)),
    )


@attrs.frozen(kw_only=True, eq=False, repr=False)
class PaylinkUpdate(Request):
    """Changes to a paylink that is not closed. Omitted fields keep their values; None is sent as null.

    `amount_due` cannot be changed.
    """

    paylink_api_id: OwnApiId | Unset | None = UNSET
    """Your id for the paylink, at most 64 characters without spaces, unique in the location."""
    cc_product_transaction_id: Id | Unset | None = UNSET
    """The merchant account for cards, at most 36 characters. Fixed after a payment."""
    ach_product_transaction_id: Id | Unset | None = UNSET
    """The merchant account for bank accounts, at most 36 characters. Fixed after a payment."""
    contact_id: Id | Unset | None = UNSET
    """The customer, at most 36 characters."""
    contact_api_id: ApiIdText | Unset | None = UNSET
    """Your id for the customer, at most 64 characters, instead of `contact_id`."""
    cell_phone: Phone | Unset | None = UNSET
    """The phone number for text messages, at most 10 characters."""
    email: Email | Unset | None = UNSET
    """The email address for the notification, 5 to 128 characters."""
    description: str | Unset | None = UNSET
    """A description of the payment."""
    expire_date: date | Unset | None = UNSET
    """The day on which the paylink expires."""
    delivery_method: DeliveryMethod | int | Unset | None = UNSET
    """How the gateway sends the link: 0 not at all, 1 email, 2 text message, 3 both."""
    paylink_action: Action | Unset | None = UNSET
    """The effect of the payment: `sale` or `auth-only`."""
    display_product_transaction_receipt_details: bool | Unset | None = UNSET
    """Whether the customer sees the receipt's details after the payment."""
    display_billing_fields: bool | Unset | None = UNSET
    """Whether the payment form asks for the billing address."""

    rules: ClassVar[tuple[FieldRule, ...]] = (NotBoth(("contact_id", "contact_api_id")),)
