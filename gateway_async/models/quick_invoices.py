"""Quick invoices: itemised invoices that customers pay online (contract, *Quick invoice*)."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar

import attrs
from annotated_types import Len

from gateway_async.models.codes import PaymentStatus, QuickInvoiceStatus
from gateway_async.models.files import QuickInvoiceFile
from gateway_async.models.record import Record
from gateway_async.models.request import (
    UNSET,
    ApiIdText,
    Cents,
    Days,
    FourDigits,
    Id,
    ItemList,
    LicenceNumber,
    LicenceState,
    LocationId,
    NotBoth,
    Request,
    RequiredWhen,
    Rule,
    Tags,
    Together,
    Unset,
)
from gateway_async.models.transactions import Transaction

__all__ = ["QuickInvoice", "QuickInvoiceCreate", "QuickInvoiceUpdate"]

_CLOSED = frozenset({0, 2})

Title = Annotated[str, Len(1, 64)]
InvoiceNumber = Annotated[str, Len(0, 64)]
Lines = Annotated[str, Len(0, 250)]
Note = Annotated[str, Len(0, 200)]
Email = Annotated[str, Len(5, 128)]
Phone = Annotated[str, Len(1, 10)]
PaymentAmount = Annotated[Decimal | int | str, Cents(11)]
CustomerId = Annotated[str, Len(0, 64)]


@attrs.frozen(kw_only=True, repr=False)
class QuickInvoice(Record):
    """A quick invoice.

    Attributes:
        item_list: name → amount.
        files, payment_url: None unless they are expanded.
        transactions: its payments, only in the results of `add_transaction` and `remove_transaction`.
        active, is_active: the same flag under two names. `is_active` is set from either name.
    """

    id: str
    location_id: str | None = None
    contact_id: str | None = None
    quick_invoice_api_id: str | None = None
    invoice_number: str | None = None
    title: str | None = None
    item_header: str | None = None
    item_footer: str | None = None
    item_list: Mapping[str, Decimal] | None = attrs.field(default=None, hash=False)
    amount_due: Decimal | None = None
    remaining_balance: Decimal | None = None
    single_payment_min_amount: Decimal | None = None
    single_payment_max_amount: Decimal | None = None
    due_date: date | None = None
    expire_date: date | None = None
    status_id: QuickInvoiceStatus | None = None
    payment_status_id: PaymentStatus | None = None
    allow_partial_pay: bool | None = None
    allow_overpayment: bool | None = None
    email: str | None = None
    cell_phone: str | None = None
    send_text_to_pay: bool | None = None
    send_email: bool | None = None
    notification_days_before_due_date: int | None = None
    notification_on_due_date: bool | None = None
    notification_days_after_due_date: int | None = None
    notification_email: str | None = None
    note: str | None = None
    attach_files_to_email: bool | None = None
    files: tuple[QuickInvoiceFile, ...] | None = None
    tags: Sequence[Any] | None = attrs.field(default=None, hash=False)
    transactions: tuple[Transaction, ...] | None = None
    payment_url: str | None = None
    cc_product_transaction_id: str | None = None
    ach_product_transaction_id: str | None = None
    customer_id: str | None = None
    dl_number: str | None = None
    dl_state: str | None = None
    ssn4: str | None = None
    dob_year: str | None = None
    active: bool | None = None
    is_active: bool | None = attrs.field(default=attrs.Factory(lambda self: self.active, takes_self=True))
    created_user_id: str | None = None
    modified_user_id: str | None = None
    created_ts: datetime | None = None
    modified_ts: datetime | None = None

    hidden: ClassVar[frozenset[str]] = frozenset({"ssn4", "dl_number", "dob_year"})

    @property
    def is_closed(self) -> bool:
        """Return whether the invoice is closed: it takes no payments until it is reopened."""
        return self.status_id in _CLOSED


@attrs.frozen(kw_only=True, repr=False)
class QuickInvoiceCreate(Request):
    """A new quick invoice for the sum of its items.

    Without product transaction ids, payments use the location's defaults. `send_email` sends the notification
    immediately. The `notification_…` fields are days before and after `due_date`, and whether to notify on that day.
    """

    title: Title
    due_date: date
    item_list: ItemList = attrs.field(hash=False)
    location_id: LocationId | None = None
    quick_invoice_api_id: ApiIdText | None = None
    contact_id: Id | None = None
    contact_api_id: ApiIdText | None = None
    invoice_number: InvoiceNumber | None = None
    item_header: Lines | None = None
    item_footer: Lines | None = None
    expire_date: date | None = None
    status_id: QuickInvoiceStatus | int | None = None
    allow_partial_pay: bool | None = None
    allow_overpayment: bool | None = None
    single_payment_min_amount: PaymentAmount | None = None
    single_payment_max_amount: PaymentAmount | None = None
    email: Email | None = None
    cell_phone: Phone | None = None
    send_text_to_pay: bool | None = None
    send_email: bool | None = None
    notification_days_before_due_date: Days | None = None
    notification_on_due_date: bool | None = None
    notification_days_after_due_date: Days | None = None
    note: Note | None = None
    attach_files_to_email: bool | None = None
    tags: Tags | None = attrs.field(default=None, hash=False)
    cc_product_transaction_id: Id | None = None
    ach_product_transaction_id: Id | None = None
    customer_id: CustomerId | None = None
    dl_number: LicenceNumber | None = attrs.field(default=None, repr=False)
    dl_state: LicenceState | None = None
    ssn4: FourDigits | None = attrs.field(default=None, repr=False)
    dob_year: FourDigits | None = attrs.field(default=None, repr=False)

    rules: ClassVar[tuple[Rule, ...]] = (
        NotBoth(("contact_id", "contact_api_id")),
        NotBoth(("ssn4", "dob_year")),
        Together(("dl_number", "dl_state")),
        RequiredWhen("cell_phone", "send_text_to_pay", (True,)),
    )


@attrs.frozen(kw_only=True, repr=False)
class QuickInvoiceUpdate(Request):
    """Changes to a quick invoice that is not closed. Omitted fields keep their values; None is sent as null.

    `status_id=QuickInvoiceStatus.CLOSED` closes it. The product transaction ids cannot be changed after a payment.
    """

    title: Title | Unset | None = UNSET
    due_date: date | Unset | None = UNSET
    item_list: ItemList | Unset | None = attrs.field(default=UNSET, hash=False)
    quick_invoice_api_id: ApiIdText | Unset | None = UNSET
    contact_id: Id | Unset | None = UNSET
    contact_api_id: ApiIdText | Unset | None = UNSET
    invoice_number: InvoiceNumber | Unset | None = UNSET
    item_header: Lines | Unset | None = UNSET
    item_footer: Lines | Unset | None = UNSET
    expire_date: date | Unset | None = UNSET
    status_id: QuickInvoiceStatus | int | Unset | None = UNSET
    allow_partial_pay: bool | Unset | None = UNSET
    allow_overpayment: bool | Unset | None = UNSET
    email: Email | Unset | None = UNSET
    cell_phone: Phone | Unset | None = UNSET
    send_text_to_pay: bool | Unset | None = UNSET
    notification_days_before_due_date: Days | Unset | None = UNSET
    notification_on_due_date: bool | Unset | None = UNSET
    notification_days_after_due_date: Days | Unset | None = UNSET
    note: Note | Unset | None = UNSET
    attach_files_to_email: bool | Unset | None = UNSET
    cc_product_transaction_id: Id | Unset | None = UNSET
    ach_product_transaction_id: Id | Unset | None = UNSET
    customer_id: CustomerId | Unset | None = UNSET
    dl_number: LicenceNumber | Unset | None = attrs.field(default=UNSET, repr=False)
    dl_state: LicenceState | Unset | None = UNSET
    ssn4: FourDigits | Unset | None = attrs.field(default=UNSET, repr=False)
    dob_year: FourDigits | Unset | None = attrs.field(default=UNSET, repr=False)

    rules: ClassVar[tuple[Rule, ...]] = (
        NotBoth(("contact_id", "contact_api_id")),
        NotBoth(("ssn4", "dob_year")),
        Together(("dl_number", "dl_state")),
    )
