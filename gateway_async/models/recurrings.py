"""Recurrings: recurring payment plans, or subscriptions (contract, *Recurrings*)."""

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, ClassVar, Literal

import attrs

from gateway_async.models.codes import IntervalType, PaymentMethod, RecurringStatus, RecurringType
from gateway_async.models.record import Record
from gateway_async.models.request import (
    UNSET,
    ApiIdText,
    Between,
    Cents,
    Days,
    ExactlyOne,
    FieldRule,
    Id,
    Length,
    LocationId,
    NotBoth,
    OwnApiId,
    PaymentMethodCode,
    Request,
    Unset,
)

IntervalCode = Literal["d", "w", "m"] | IntervalType
ThreeDigits = Annotated[int, Between(0, 999)]
InstallmentCount = Annotated[int, Between(1, 999)]
RunAmount = Annotated[Decimal | int | str, Cents(12)]
Description = Annotated[str, Length(0, 36)]
CustomField = Annotated[str, Length(0, 128)]


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Recurring(Record):
    """A plan of charges. Each charge is a transaction with its id in `recurring_id`.

    A date that the gateway writes as `0000-00-00` is None.
    """

    id: str
    """The gateway's id."""
    location_id: str | None = None
    """The location that owns the recurring."""
    account_vault_id: str | None = None
    """The stored account that is charged. Its contact is the customer."""
    product_transaction_id: str | None = None
    """The merchant account that the charges go through."""
    interval: int | None = None
    """The time between two charges, in units of `interval_type`."""
    interval_type: IntervalType | None = None
    """The unit of `interval`: d days, w weeks, m months."""
    start_date: date | None = None
    """The date of the first charge."""
    end_date: date | None = None
    """The last day on which a charge may run; None for no end."""
    next_run_date: date | None = None
    """The date of the next charge; None if none is planned, for example while it is on hold."""
    transaction_amount: Decimal | None = None
    """The amount of each charge."""
    installment_total_count: int | None = None
    """The number of installments; None for an ongoing recurring."""
    installment_amount_total: Decimal | None = None
    """The sum of all installments: their number times the amount."""
    description: str | None = None
    """The merchant's own text."""
    notification_days: int | None = None
    """The customer is notified this number of days before each charge."""
    payment_method: PaymentMethod | None = None
    """The kind of account: cc a card, ach a bank account."""
    active: bool | None = None
    """Whether the recurring is switched on."""
    status: RecurringStatus | None = None
    """Whether it is active, on hold or ended."""
    recurring_type_id: RecurringType | None = None
    """Whether it is ongoing (o) or has installments (i). Installments count charges, approved or not."""
    recurring_c1: str | None = None
    """The first custom field."""
    recurring_c2: str | None = None
    """The second custom field."""
    recurring_c3: str | None = None
    """The third custom field."""
    recurring_api_id: str | None = None
    """Your own id. Only newer gateways have it."""
    created_ts: datetime | None = None
    """When it was created, in UTC."""
    modified_ts: datetime | None = None
    """When it was last changed, in UTC."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RecurringCreate(Request):
    """A new recurring. With `installment_total_count` it is an installment plan, otherwise it is ongoing."""

    transaction_amount: RunAmount
    """The amount of each charge, at most 12 characters. A later change is not possible."""
    interval: ThreeDigits
    """The time between two charges, in units of `interval_type`, at most three digits."""
    interval_type: IntervalCode
    """The unit of `interval`: d days, w weeks, m months."""
    start_date: date
    """The date of the first charge."""
    account_vault_id: Id | None = None
    """The stored account to charge. Required, unless `account_vault_api_id` is given."""
    account_vault_api_id: ApiIdText | None = None
    """The integrator id of the stored account, instead of `account_vault_id`."""
    location_id: LocationId | None = None
    """The location that owns the recurring. The client's own location is used when it is omitted."""
    product_transaction_id: Id | None = None
    """The merchant account for the charges. The location's default is used when it is omitted."""
    end_date: date | None = None
    """The last day on which a charge may run; omitted for no end. An installment plan ends after its installments."""
    installment_total_count: InstallmentCount | None = None
    """The number of installments, two digits (three in newer releases)."""
    description: Description | None = None
    """Your own text, at most 36 characters."""
    notification_days: Days | None = None
    """Notify the customer this number of days before each charge, at most two digits."""
    payment_method: PaymentMethodCode | None = None
    """The kind of account: cc a card, ach a bank account."""
    active: bool | None = None
    """Whether the recurring is switched on."""
    recurring_c1: CustomField | None = None
    """The first custom field, at most 128 characters. Only newer gateways take it."""
    recurring_c2: CustomField | None = None
    """The second custom field, at most 128 characters. Only newer gateways take it."""
    recurring_c3: CustomField | None = None
    """The third custom field, at most 128 characters. Only newer gateways take it."""
    recurring_api_id: OwnApiId | None = None
    """Your own id, at most 64 characters. Only newer gateways take it, so lost responses are not looked up by it."""

    rules: ClassVar[tuple[FieldRule, ...]] = (ExactlyOne(("account_vault_id", "account_vault_api_id")),)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RecurringUpdate(Request):
    """Changes to a recurring. Omitted fields keep their values; None is sent as null.

    The amount, the interval and the number of installments cannot be changed.
    """

    account_vault_id: Id | Unset | None = UNSET
    """The stored account to charge from now on."""
    account_vault_api_id: ApiIdText | Unset | None = UNSET
    """The integrator id of the stored account, instead of `account_vault_id`."""
    product_transaction_id: Id | Unset | None = UNSET
    """The merchant account for the charges."""
    end_date: date | Unset | None = UNSET
    """The last day on which a charge may run."""
    next_run_date: date | Unset | None = UNSET
    """The date of the next charge."""
    description: Description | Unset | None = UNSET
    """Your own text, at most 36 characters."""
    notification_days: Days | Unset | None = UNSET
    """Notify the customer this number of days before each charge, at most two digits."""
    active: bool | Unset | None = UNSET
    """Whether the recurring is switched on. The gateway ignores it for an installment plan."""
    recurring_c1: CustomField | Unset | None = UNSET
    """The first custom field, at most 128 characters. Only newer gateways take it."""
    recurring_c2: CustomField | Unset | None = UNSET
    """The second custom field, at most 128 characters. Only newer gateways take it."""
    recurring_c3: CustomField | Unset | None = UNSET
    """The third custom field, at most 128 characters. Only newer gateways take it."""
    recurring_api_id: OwnApiId | Unset | None = UNSET
    """Your own id, at most 64 characters. Only newer gateways take it."""

    rules: ClassVar[tuple[FieldRule, ...]] = (NotBoth(("account_vault_id", "account_vault_api_id")),)
