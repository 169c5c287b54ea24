"""Paylinks: links by which a customer pays one amount (contract, *Paylink*)."""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

import attrs
from annotated_types import Len

from gateway_async.models.codes import DeliveryMethod, PaylinkAction, PaylinkStatus
from gateway_async.models.record import Record
from gateway_async.models.request import (
    UNSET,
    ApiIdText,
    Id,
    LocationId,
    NotBoth,
    Request,
    RequiredWhen,
    Rule,
    Sum,
    Unset,
)

__all__ = ["Paylink", "PaylinkCreate", "PaylinkUpdate"]

Phone = Annotated[str, Len(1, 10)]
Email = Annotated[str, Len(5, 128)]
Action = Annotated[Literal["sale", "auth-only", "authonly"] | PaylinkAction, Len(1, 10)]


@attrs.frozen(kw_only=True, repr=False)
class Paylink(Record):
    """A paylink; `payment_url` and `tags` are None unless they are expanded."""

    id: str
    location_id: str | None = None
    cc_product_transaction_id: str | None = None
    ach_product_transaction_id: str | None = None
    paylink_api_id: str | None = None
    contact_id: str | None = None
    amount_due: Decimal | None = None
    cell_phone: str | None = None
    email: str | None = None
    description: str | None = None
    expire_date: date | None = None
    delivery_method: DeliveryMethod | None = None
    paylink_action: PaylinkAction | None = None
    display_product_transaction_receipt_details: bool | None = None
    display_billing_fields: bool | None = None
    status_id: PaylinkStatus | None = None
    active: bool | None = None
    tags: Sequence[Any] | None = attrs.field(default=None, hash=False)
    payment_url: str | None = None
    created_user_id: str | None = None
    modified_user_id: str | None = None
    created_ts: datetime | None = None
    modified_ts: datetime | None = None


@attrs.frozen(kw_only=True, repr=False)
class PaylinkCreate(Request):
    """A new paylink. Without product transaction ids, payments use the location's defaults."""

    amount_due: Sum
    location_id: LocationId | None = None
    paylink_api_id: ApiIdText | None = None
    cc_product_transaction_id: Id | None = None
    ach_product_transaction_id: Id | None = None
    contact_id: Id | None = None
    contact_api_id: ApiIdText | None = None
    cell_phone: Phone | None = None
    email: Email | None = None
    description: str | None = None
    expire_date: date | None = None
    delivery_method: DeliveryMethod | int | None = None
    paylink_action: Action | None = None
    display_product_transaction_receipt_details: bool | None = None
    display_billing_fields: bool | None = None

    rules: ClassVar[tuple[Rule, ...]] = (
        NotBoth(("contact_id", "contact_api_id")),
        RequiredWhen("cell_phone", "delivery_method", (2, 3)),
    )


@attrs.frozen(kw_only=True, repr=False)
class PaylinkUpdate(Request):
    """Changes to a paylink that is not closed. Omitted fields keep their values; None is sent as null.

    `amount_due` cannot be changed. The product transaction ids cannot be changed after a payment.
    """

    paylink_api_id: ApiIdText | Unset | None = UNSET
    cc_product_transaction_id: Id | Unset | None = UNSET
    ach_product_transaction_id: Id | Unset | None = UNSET
    contact_id: Id | Unset | None = UNSET
    contact_api_id: ApiIdText | Unset | None = UNSET
    cell_phone: Phone | Unset | None = UNSET
    email: Email | Unset | None = UNSET
    description: str | Unset | None = UNSET
    expire_date: date | Unset | None = UNSET
    delivery_method: DeliveryMethod | int | Unset | None = UNSET
    paylink_action: Action | Unset | None = UNSET
    display_product_transaction_receipt_details: bool | Unset | None = UNSET
    display_billing_fields: bool | Unset | None = UNSET

    rules: ClassVar[tuple[Rule, ...]] = (NotBoth(("contact_id", "contact_api_id")),)
