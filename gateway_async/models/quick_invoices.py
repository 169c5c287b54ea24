"""Quick invoices: itemized invoices that customers pay online (contract, *Quick invoice*)."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar

import attrs

from gateway_async.models.codes import PaymentStatus, QuickInvoiceStatus
from gateway_async.models.files import QuickInvoiceFile
from gateway_async.models.record import Record
from gateway_async.models.request import (
    UNSET,
    ApiIdText,
    Cents,
    Days,
    FieldRule,
    FourDigits,
    Id,
    ItemList,
    Length,
    LicenseNumber,
    LicenseState,
    LocationId,
    NotBoth,
    OwnApiId,
    Request,
    RequiredWhen,
    TagNames,
    Together,
    Unset,
)
from gateway_async.models.transactions import Transaction

_CLOSED = frozenset({0, 2})

Title = Annotated[str, Length(1, 64)]
InvoiceNumber = Annotated[str, Length(0, 64)]
Lines = Annotated[str, Length(0, 250)]
InvoiceNote = Annotated[str, Length(0, 200)]
Email = Annotated[str, Length(5, 128)]
Phone = Annotated[str, Length(1, 10)]
PaymentAmount = Annotated[Decimal | int | str, Cents(11)]
CustomerId = Annotated[str, Length(0, 64)]


@attrs.frozen(kw_only=True, eq=False, repr=False)
class QuickInvoice(Record):
    """A quick invoice."""

    id: str
    """The gateway's id, 24 to 36 characters."""
    location_id: str | None = None
    """The location of the invoice."""
    contact_id: str | None = None
    """The customer."""
    quick_invoice_api_id: str | None = None
    """Your id for the invoice, unique in its location."""
    invoice_number: str | None = None
    """Your number for the invoice."""
    title: str | None = None
    """The title."""
    item_header: str | None = None
    """Text above the items."""
    item_footer: str | None = None
    """Text below the items."""
    item_list: Mapping[str, Decimal] | None = attrs.field(default=None, hash=False)
    """The items: name → amount."""
    amount_due: Decimal | None = None
    """The sum of the items."""
    remaining_balance: Decimal | None = None
    """The part of `amount_due` that is not paid."""
    single_payment_min_amount: Decimal | None = None
    """The smallest amount of one payment."""
    single_payment_max_amount: Decimal | None = None
    """The largest amount of one payment. Without overpayment it is the amount due; older answers have 9999999.99."""
    due_date: date | None = None
    """The day on which the payment is due."""
    expire_date: date | None = None
    """The day on which the invoice expires."""
    status_id: QuickInvoiceStatus | None = None
    """1 open, 0 closed; 2 is also read as closed."""
    payment_status_id: PaymentStatus | None = None
    """1 unpaid, 2 paid, 3 partially paid."""
    allow_partial_pay: bool | None = None
    """Whether the customer may pay a part of the amount."""
    allow_overpayment: bool | None = None
    """Whether payments are accepted after the amount is paid."""
    email: str | None = None
    """The email address for notifications."""
    cell_phone: str | None = None
    """The phone number for text messages."""
    send_text_to_pay: bool | None = None
    """Whether the customer is notified by text message."""
    send_email: bool | None = None
    """Whether the creation sent the notification email."""
    notification_days_before_due_date: int | None = None
    """The customer is notified this number of days before `due_date`."""
    notification_on_due_date: bool | None = None
    """Whether the customer is notified on `due_date`."""
    notification_days_after_due_date: int | None = None
    """The customer is notified this number of days after `due_date`."""
    notification_email: str | None = None
    """An email address; the contract does not say which."""
    note: str | None = None
    """A note that the customer sees."""
    attach_files_to_email: bool | None = None
    """Whether notification emails contain the attached files."""
    files: tuple[QuickInvoiceFile, ...] | None = None
    """The attached files; None unless they are expanded."""
    tags: Sequence[Any] | None = attrs.field(default=None, hash=False)
    """The invoice's tags; None unless they are expanded."""
    transactions: tuple[Transaction, ...] | None = None
    """The payments, only in the results of `add_transaction` and `remove_transaction`."""
    payment_url: str | None = None
    """The URL of the payment form; None unless it is expanded."""
    cc_product_transaction_id: str | None = None
    """The merchant account for cards."""
    ach_product_transaction_id: str | None = None
    """The merchant account for bank accounts."""
    customer_id: str | None = None
    """Your id for the customer."""
    dl_number: str | None = None
    """The customer's driver's license. It is masked in the repr and in `to_dict()`."""
    dl_state: str | None = None
    """The state of the license."""
    ssn4: str | None = None
    """The last four digits of the customer's social security number. They are masked in the repr and in `to_dict()`."""
    dob_year: str | None = None
    """The customer's year of birth. It is masked in the repr and in `to_dict()`."""
    active: bool | None = None
    """The same flag as `is_active`, under the name that some answers use."""
    is_active: bool | None = attrs.field(default=attrs.Factory(lambda self: self.active, takes_self=True))
    """Whether the invoice is active. It is set from either name."""
    created_user_id: str | None = None
    """The user who created it."""
    modified_user_id: str | None = None
    """The user who changed it last."""
    created_ts: datetime | None = None
    """When it was created, in UTC."""
    modified_ts: datetime | None = None
    """When it was last changed, in UTC."""

    @property
    def is_closed(self) -> bool:
        """Whether the invoice is closed: it takes no payments until it is reopened."""
        return self.status_id in _CLOSED


@attrs.frozen(kw_only=True, eq=False, repr=False)
class QuickInvoiceCreate(Request):
    """A new quick invoice for the sum of its items."""

    title: Title
    """The title, 1 to 64 characters. Required."""
    due_date: date
    """The day on which the payment is due. Required; notifications count from it."""
    item_list: ItemList = attrs.field(hash=False)
    """The items: name → amount. Required; 5 to 4000 characters as JSON. A discount is below 0, the sum is not."""
    location_id: LocationId | None = None
    """The location, at most 36 characters. Required, unless the client has one."""
    quick_invoice_api_id: OwnApiId | None = None
    """Your id for the invoice, at most 64 characters without spaces, unique in the location."""
    contact_id: Id | None = None
    """The customer, at most 36 characters."""
    contact_api_id: ApiIdText | None = None
    """Your id for the customer, at most 64 characters, instead of `contact_id`."""
    invoice_number: InvoiceNumber | None = None
    """Your number for the invoice, at most 64 characters."""
    item_header: Lines | None = None
    """Text above the items, at most 250 characters."""
    item_footer: Lines | None = None
    """Text below the items, at most 250 characters."""
    expire_date: date | None = None
    """The day on which the invoice expires."""
    status_id: QuickInvoiceStatus | int | None = None
    """1 open, 0 closed."""
    allow_partial_pay: bool | None = None
    """Whether the customer may pay a part of the amount."""
    allow_overpayment: bool | None = None
    """Whether payments are accepted after the amount is paid."""
    single_payment_min_amount: PaymentAmount | None = None
    """The smallest amount of one payment, with at most 11 characters."""
    single_payment_max_amount: PaymentAmount | None = None
    """The largest amount of one payment, with at most 11 characters. Settable with `allow_overpayment`."""
    email: Email | None = None
    """The email address for notifications, 5 to 128 characters. Without it, the contact's."""
    cell_phone: Phone | None = None
    """The phone number for text messages, at most 10 characters. Required with `send_text_to_pay`."""
    send_text_to_pay: bool | None = None
    """Whether to notify the customer by text message."""
    send_email: bool | None = None
    """Whether to send the notification email at once."""
    notification_days_before_due_date: Days | None = None
    """Notify the customer this number of days before `due_date`, 0 to 99."""
    notification_on_due_date: bool | None = None
    """Whether to notify the customer on `due_date`."""
    notification_days_after_due_date: Days | None = None
    """Notify the customer this number of days after `due_date`, 0 to 99."""
    note: InvoiceNote | None = None
    """A note that the customer sees, at most 200 characters."""
    attach_files_to_email: bool | None = None
    """Whether notification emails contain the attached files; no when omitted."""
    tags: TagNames | None = attrs.field(default=None, hash=False)
    """The invoice's tags."""
    cc_product_transaction_id: Id | None = None
    """The merchant account for cards, at most 36 characters. Without it, the location's default."""
    ach_product_transaction_id: Id | None = None
    """The merchant account for bank accounts, at most 36 characters. Without it, the location's default."""
    customer_id: CustomerId | None = None
    """Your id for the customer, at most 64 characters. It replaces a driver's license for bank accounts."""
    dl_number: LicenseNumber | None = None
    """The customer's driver's license, at most 50 characters. Only together with `dl_state`."""
    dl_state: LicenseState | None = None
    """The state of the license, 2 letters. Only together with `dl_number`."""
    ssn4: FourDigits | None = None
    """The last four digits of the customer's social security number. Not together with `dob_year`."""
    dob_year: FourDigits | None = None
    """The customer's year of birth, 4 digits. Not together with `ssn4`."""

    rules: ClassVar[tuple[FieldRule, ...]] = (
        NotBoth(("contact_id", "contact_api_id")),
        NotBoth(("ssn4", "dob_year")),
        Together(("dl_number", "dl_state")),
        RequiredWhen("cell_phone", "send_text_to_pay", (True,)),
    )


@attrs.frozen(kw_only=True, eq=False, repr=False)
class QuickInvoiceUpdate(Request):
    """Changes to a quick invoice that is not closed. Omitted fields keep their values; None is sent as null.

    Other fields are fixed when the invoice is created.
    """

    title: Title | Unset | None = UNSET
    """The title, 1 to 64 characters."""
    due_date: date | Unset | None = UNSET
    """The day on which the payment is due. Notifications count from it."""
    item_list: ItemList | Unset | None = attrs.field(default=UNSET, hash=False)
    """The items: name → amount. 5 to 4000 characters as JSON. A discount is below 0, the sum is not."""
    contact_id: Id | Unset | None = UNSET
    """The customer, at most 36 characters."""
    contact_api_id: ApiIdText | Unset | None = UNSET
    """Your id for the customer, at most 64 characters, instead of `contact_id`."""
    invoice_number: InvoiceNumber | Unset | None = UNSET
    """Your number for the invoice, at most 64 characters."""
    item_header: Lines | Unset | None = UNSET
    """Text above the items, at most 250 characters."""
    item_footer: Lines | Unset | None = UNSET
    """Text below the items, at most 250 characters."""
    expire_date: date | Unset | None = UNSET
    """The day on which the invoice expires."""
    status_id: QuickInvoiceStatus | int | Unset | None = UNSET
    """`QuickInvoiceStatus.CLOSED` (0) closes the invoice."""
    allow_partial_pay: bool | Unset | None = UNSET
    """Whether the customer may pay a part of the amount."""
    email: Email | Unset | None = UNSET
    """The email address for notifications, 5 to 128 characters."""
    notification_days_before_due_date: Days | Unset | None = UNSET
    """Notify the customer this number of days before `due_date`, 0 to 99; None for not at all."""
    notification_on_due_date: bool | Unset | None = UNSET
    """Whether to notify the customer on `due_date`."""
    notification_days_after_due_date: Days | Unset | None = UNSET
    """Notify the customer this number of days after `due_date`, 0 to 99; None for not at all."""
    note: InvoiceNote | Unset | None = UNSET
    """A note that the customer sees, at most 200 characters."""
    attach_files_to_email: bool | Unset | None = UNSET
    """Whether notification emails contain the attached files. It takes effect with the next `resend`."""
    cc_product_transaction_id: Id | Unset | None = UNSET
    """The merchant account for cards, at most 36 characters. Fixed after a payment."""
    ach_product_transaction_id: Id | Unset | None = UNSET
    """The merchant account for bank accounts, at most 36 characters. Fixed after a payment."""

    rules: ClassVar[tuple[FieldRule, ...]] = (NotBoth(("contact_id", "contact_api_id")),)
