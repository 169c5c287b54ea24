"""Transactions: money charged, returned or reserved (contract, *Records carried in postbacks*, transaction)."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

import attrs
from annotated_types import Len

from gateway_async._secrets import AccountNumber, Secret
from gateway_async.errors import DeclinedError
from gateway_async.models.codes import (
    AccountType,
    AchSecCode,
    EntryMode,
    PaymentMethod,
    ReasonCode,
    TransactionAction,
    TransactionSource,
    TransactionStatus,
    TransactionType,
)
from gateway_async.models.record import Record
from gateway_async.models.request import (
    UNSET,
    Amount,
    AnyAccountType,
    ApiIdText,
    CardOrAccountNumber,
    ExactlyOne,
    Expiry,
    FourDigits,
    HolderName,
    Id,
    LicenceNumber,
    LicenceState,
    NotBoth,
    Pattern,
    PaymentMethodCode,
    Request,
    RequiredWhen,
    RoutingNumber,
    Rule,
    SecCode,
    Ticket,
    Together,
    TrackData,
    Unset,
)

__all__ = [
    "RouterTransactionCreate",
    "Transaction",
    "TransactionCreate",
    "TransactionUpdate",
]

Cvv = Annotated[Secret, Pattern("[0-9]{3,4}", "must be three or four digits")]
Text = Annotated[str, Len(0, 250)]
Description = Annotated[str, Len(0, 64)]
OrderNumber = Annotated[str, Len(0, 32)]
Street = Annotated[str, Len(0, 64)]
City = Annotated[str, Len(0, 36)]
State = Annotated[str, Len(0, 26)]
Zip = Annotated[str, Len(0, 12)]
Phone = Annotated[str, Len(0, 10)]
Email = Annotated[str, Len(0, 128)]
Custom = Annotated[str, Len(0, 128)]

CreateAction = Literal["sale", "authonly", "avsonly", "force", "refund", "debit", "credit"] | TransactionAction
UpdateAction = (
    Literal["void", "authcomplete", "authincrement", "partialreversal", "tipadjust", "edit"] | TransactionAction
)
TerminalAction = Literal["sale", "authonly", "avsonly", "force", "refund", "settle"] | TransactionAction
"""Documented actions, as text. Pass any other action as `TransactionAction("new")`; it is sent unchanged."""

SOURCES = (
    "account_number",
    "account_vault_id",
    "account_vault_api_id",
    "previous_transaction_id",
    "previous_transaction_api_id",
    "track_data",
    "ticket",
)
"""The fields that can identify the account to charge. Each transaction has exactly one of them."""


@attrs.frozen(kw_only=True, repr=False)
class Transaction(Record):
    """A transaction as the gateway stores it. A decline is a normal result: check `.approved`."""

    id: str
    payment_method: PaymentMethod | None = None
    status_id: TransactionStatus | None = None
    type_id: TransactionType | None = None
    reason_code_id: ReasonCode | None = None
    transaction_amount: Decimal | None = None
    auth_amount: Decimal | None = None
    subtotal_amount: Decimal | None = None
    tax: Decimal | None = None
    tip_amount: Decimal | None = None
    additional_amounts: Sequence[Any] | None = attrs.field(default=None, hash=False)
    auth_code: str | None = None
    verbiage: str | None = None
    response_message: str | None = None
    transaction_api_id: str | None = None
    location_id: str | None = None
    product_transaction_id: str | None = None
    contact_id: str | None = None
    account_vault_id: str | None = None
    recurring_id: str | None = None
    quick_invoice_id: str | None = None
    paylink_id: str | None = None
    hosted_payment_page_id: str | None = None
    previous_transaction_id: str | None = None
    transaction_batch_id: str | None = None
    terminal_id: str | None = None
    terminal_serial_number: str | None = None
    entry_mode_id: EntryMode | None = None
    trx_source_id: TransactionSource | None = None
    account_type: AccountType | None = None
    account_holder_name: str | None = None
    first_six: str | None = None
    last_four: str | None = None
    routing: str | None = None
    ach_sec_code: AchSecCode | None = None
    ach_identifier: str | None = None
    check_number: str | None = None
    avs: str | None = None
    avs_enhanced: str | None = None
    cvv_response: str | None = None
    billing_street: str | None = None
    billing_city: str | None = None
    billing_state: str | None = None
    billing_zip: str | None = None
    billing_phone: str | None = None
    batch: str | None = None
    order_num: str | None = None
    po_number: str | None = None
    clerk_number: str | None = None
    customer_id: str | None = None
    customer_ip: str | None = None
    description: str | None = None
    transaction_code: str | None = None
    transaction_settlement_status: str | None = None
    notification_email_address: str | None = None
    notification_email_sent: bool | None = None
    terms_agree: bool | None = None
    is_recurring: bool | None = None
    is_accountvault: bool | None = None
    transaction_c1: str | None = None
    transaction_c2: str | None = None
    transaction_c3: str | None = None
    custom_data: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    emv_receipt_data: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    effective_date: date | None = None
    settle_date: date | None = None
    return_date: date | None = None
    charge_back_date: date | None = None
    void_date: datetime | date | None = None
    checkin_date: date | None = None
    checkout_date: date | None = None
    room_num: str | None = None
    room_rate: Decimal | None = None
    advance_deposit: bool | None = None
    no_show: bool | None = None
    created_user_id: str | None = None
    modified_user_id: str | None = None
    created_ts: datetime | None = None
    modified_ts: datetime | None = None

    hidden: ClassVar[frozenset[str]] = frozenset({"routing"})

    @property
    def approved(self) -> bool:
        """Return whether the payment was approved, fully or partially.

        An ACH payment counts as approved once it is accepted.
        """
        return self.status_id is not None and self.status_id.is_approved

    @property
    def declined(self) -> bool:
        """Return whether the issuer, the terminal or the bank declined."""
        return self.status_id in (TransactionStatus.REJECTED, TransactionStatus.DECLINED)

    @property
    def voided(self) -> bool:
        """Return whether the transaction was voided before it settled."""
        return self.status_id == TransactionStatus.VOIDED

    @property
    def partially_approved(self) -> bool:
        """Return whether less than the requested amount was approved; `auth_amount` is the approved amount."""
        return self.approved and self.reason_code_id == ReasonCode.PARTIALLY_APPROVED

    def raise_for_decline(self) -> "Transaction":
        """Return this transaction unless it was declined.

        Raises:
            DeclinedError: the transaction was declined.
        """
        if self.declined:
            raise DeclinedError(
                self, reason_code_id=self.reason_code_id, message=self.response_message or self.verbiage
            )
        return self


@attrs.frozen(kw_only=True, repr=False)
class TransactionCreate(Request):
    """A transaction without a terminal: `sale`, `authonly`, `avsonly`, `force`, `refund`, `debit` or `credit`.

    One field identifies the account: `account_number` with `exp_date`, a vault, an earlier transaction, track data or a
    ticket. `transaction_api_id` is generated when omitted, so that the transaction can be looked up if the response is
    lost. Without a `location_id` here and on the client, the gateway uses the user's primary location. Give one if the
    same `transaction_api_id` may exist in several locations that the user sees.
    """

    action: CreateAction
    payment_method: PaymentMethodCode = PaymentMethod.CARD
    transaction_amount: Amount | None = None
    location_id: Id | None = None
    transaction_api_id: ApiIdText | None = None
    product_transaction_id: Id | None = None
    contact_id: Id | None = None
    contact_api_id: ApiIdText | None = None

    account_number: CardOrAccountNumber | None = attrs.field(
        default=None, converter=attrs.converters.optional(AccountNumber)
    )
    exp_date: Expiry | None = None
    cvv: Cvv | None = attrs.field(default=None, converter=attrs.converters.optional(Secret))
    account_vault_id: Id | None = None
    account_vault_api_id: ApiIdText | None = None
    previous_transaction_id: Id | None = None
    previous_transaction_api_id: ApiIdText | None = None
    track_data: TrackData | None = attrs.field(default=None, converter=attrs.converters.optional(Secret))
    ticket: Ticket | None = attrs.field(default=None, converter=attrs.converters.optional(Secret))

    account_holder_name: HolderName | None = None
    account_type: AnyAccountType | None = None
    routing: RoutingNumber | None = attrs.field(default=None, converter=attrs.converters.optional(AccountNumber))
    ach_sec_code: SecCode | None = None
    check_number: Text | None = None
    dl_number: LicenceNumber | None = attrs.field(default=None, repr=False)
    dl_state: LicenceState | None = None
    ssn4: FourDigits | None = attrs.field(default=None, repr=False)
    dob_year: FourDigits | None = attrs.field(default=None, repr=False)

    billing_street: Street | None = None
    billing_city: City | None = None
    billing_state: State | None = None
    billing_zip: Zip | None = None
    billing_phone: Phone | None = None
    tax: Amount | None = None
    tip_amount: Amount | None = None
    subtotal_amount: Amount | None = None
    auth_code: Text | None = None
    order_num: OrderNumber | None = None
    po_number: Text | None = None
    clerk_number: Text | None = None
    customer_id: Text | None = None
    customer_ip: Annotated[str, Len(0, 45)] | None = None
    description: Description | None = None
    notification_email_address: Email | None = None
    effective_date: date | None = None
    save_account: bool | None = None
    terms_agree: bool | None = None
    transaction_c1: Custom | None = None
    transaction_c2: Custom | None = None
    transaction_c3: Custom | None = None
    custom_data: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    checkin_date: date | None = None
    checkout_date: date | None = None
    room_num: Text | None = None
    room_rate: Amount | None = None
    advance_deposit: bool | None = None
    no_show: bool | None = None

    rules: ClassVar[tuple[Rule, ...]] = (
        ExactlyOne(SOURCES),
        NotBoth(("contact_id", "contact_api_id")),
        Together(("dl_number", "dl_state")),
        RequiredWhen("transaction_amount", "action", ("sale", "authonly", "force", "debit", "credit")),
        RequiredWhen("exp_date", "payment_method", ("cc",), given="account_number"),
        *(
            RequiredWhen(field, "payment_method", ("ach",), given="account_number")
            for field in ("ach_sec_code", "account_type", "routing", "account_holder_name")
        ),
    )


@attrs.frozen(kw_only=True, repr=False)
class TransactionUpdate(Request):
    """A change to a transaction: `void`, `authcomplete`, `authincrement`, `partialreversal`, `tipadjust` or `edit`.

    Omitted fields keep their values; None is sent as null.
    """

    action: UpdateAction
    transaction_amount: Amount | Unset | None = UNSET
    tip_amount: Amount | Unset | None = UNSET
    tax: Amount | Unset | None = UNSET
    subtotal_amount: Amount | Unset | None = UNSET
    order_num: OrderNumber | Unset | None = UNSET
    po_number: Text | Unset | None = UNSET
    clerk_number: Text | Unset | None = UNSET
    customer_id: Text | Unset | None = UNSET
    description: Description | Unset | None = UNSET
    contact_id: Id | Unset | None = UNSET
    contact_api_id: ApiIdText | Unset | None = UNSET
    billing_street: Street | Unset | None = UNSET
    billing_city: City | Unset | None = UNSET
    billing_state: State | Unset | None = UNSET
    billing_zip: Zip | Unset | None = UNSET
    billing_phone: Phone | Unset | None = UNSET
    notification_email_address: Email | Unset | None = UNSET
    transaction_c1: Custom | Unset | None = UNSET
    transaction_c2: Custom | Unset | None = UNSET
    transaction_c3: Custom | Unset | None = UNSET
    custom_data: Mapping[str, Any] | Unset | None = attrs.field(default=UNSET, hash=False)
    checkin_date: date | Unset | None = UNSET
    checkout_date: date | Unset | None = UNSET
    room_num: Text | Unset | None = UNSET
    room_rate: Amount | Unset | None = UNSET
    advance_deposit: bool | Unset | None = UNSET
    no_show: bool | Unset | None = UNSET

    rules: ClassVar[tuple[Rule, ...]] = (
        NotBoth(("contact_id", "contact_api_id")),
        RequiredWhen("transaction_amount", "action", ("authincrement", "partialreversal")),
        RequiredWhen("tip_amount", "action", ("tipadjust",)),
    )


@attrs.frozen(kw_only=True, repr=False)
class RouterTransactionCreate(Request):
    """A transaction at a terminal. The request stays open until the terminal has finished.

    Without a `location_id` here and on the client, the gateway uses the user's primary location.
    """

    action: TerminalAction
    terminal_id: Id
    transaction_amount: Amount
    payment_method: PaymentMethodCode = PaymentMethod.CARD
    location_id: Id | None = None
    transaction_api_id: ApiIdText | None = None
    product_transaction_id: Id | None = None
    contact_id: Id | None = None
    contact_api_id: ApiIdText | None = None
    order_num: OrderNumber | None = None
    description: Description | None = None
    tax: Amount | None = None
    save_account: bool | None = None
    billing_street: Street | None = None
    billing_zip: Zip | None = None
    po_number: Text | None = None
    clerk_number: Text | None = None

    rules: ClassVar[tuple[Rule, ...]] = (NotBoth(("contact_id", "contact_api_id")),)
