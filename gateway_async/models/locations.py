"""Locations: the merchants whose records a user sees (contract, *Locations*), and what a client must know about them.

These records contain no money: a value that does not fit its field is in `extra`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import attrs

from gateway_async._secrets import Secret
from gateway_async.models.record import Record, lenient
from gateway_async.models.terminals import Terminal


@lenient
@attrs.frozen(kw_only=True, eq=False, repr=False)
class Location(Record):
    """A location: one merchant, or one of a merchant's places."""

    id: str
    """The gateway's id, as `location_id` of other records."""
    parent_id: str | None = None
    """The location or company above it."""
    location_api_id: str | None = None
    """The integrator's own id, at most 64 characters."""
    name: str | None = None
    """The name of the location, 1 to 64 characters."""
    account_number: str | None = None
    """The integrator's number for the location, at most 32 characters. A bank account is in `dda`."""
    address1: str | None = None
    """The first line of the address, at most 32 characters."""
    address2: str | None = None
    """The second line of the address, at most 32 characters."""
    city: str | None = None
    """At most 100 characters."""
    state: str | None = None
    """At most 100 characters."""
    zip_code: str | None = None
    """5 to 10 characters. A location info calls it `zip`."""
    office_phone: str | None = None
    """10 digits."""
    office_ext_phone: str | None = None
    """The extension of the office, at most 10 digits."""
    fax: str | None = None
    """10 digits."""
    tz: str | None = None
    """The time zone, at most 24 characters, such as `America/New_York`."""
    aba: str | None = None
    """The routing number of the merchant's own bank account, 9 digits. The repr leaves it out."""
    dda: str | None = None
    """The number of the merchant's own bank account, 3 to 32 characters. The repr leaves it out."""
    default_cc: str | None = None
    """Default merchant account for cards."""
    default_ach: str | None = None
    """Default merchant account for bank payments."""
    branding_domain_id: str | None = None
    """The id of the location's web address."""
    branding_domain_url: str | None = None
    """The location's web address of the hosted interface."""
    developer_company_id: str | None = None
    """The company that develops for the location."""
    location_api_key: Secret | None = None
    """A key of the location, 36 characters, masked."""
    ticket_hash_key: Secret | None = None
    """The key that signs the location's tickets, 36 characters, masked."""
    email_reply_to: str | None = None
    """The address to which customers reply, at most 60 characters."""
    receipt_logo: str | None = None
    """The picture on receipts, at most 256 characters."""
    location_c1: str | None = None
    """The first custom field, at most 128 characters."""
    location_c2: str | None = None
    """The second custom field, at most 128 characters."""
    location_c3: str | None = None
    """The third custom field, at most 128 characters."""
    contact_email_trx_receipt_default: bool | None = None
    """Whether a new contact gets receipts by e-mail."""
    show_contact_files: bool | None = None
    """Whether the hosted interface shows the files of contacts."""
    show_contact_notes: bool | None = None
    """Whether the hosted interface shows the notes of contacts."""
    recurring_notification_days_default: int | None = None
    """The days of notice before a recurring payment, unless the recurring says otherwise."""
    created_ts: datetime | None = None
    """When it was created, in UTC."""
    modified_ts: datetime | None = None
    """When it was last changed, in UTC."""


@lenient
@attrs.frozen(kw_only=True, eq=False, repr=False)
class ProductTransaction(Record):
    """A merchant account of a location. Its receipt and terminal settings (`receipt_*`, `vt_*`) are in `extra`."""

    id: str
    """The gateway's id, as `product_transaction_id` of a payment."""
    payment_method: str | None = None
    """The kind of payments that it takes: `cc` or `ach`."""
    processor: str | None = None
    """The processor behind it."""
    title: str | None = None
    """The name of the account."""
    industry_type: str | None = None
    """The merchant's trade, such as `retail`, `lodging` or `ecommerce`."""
    default_transaction_type: str | None = None
    """The action that the hosted interface offers first."""
    active: bool | None = None
    """Whether it can be used."""
    current_batch: str | None = None
    """The number of the open batch."""
    partner: str | None = None
    """The partner who sold the account."""
    display_avs: bool | None = None
    """Whether the hosted interface shows the result of the address check."""
    auto_decline_cvv: bool | None = None
    """Whether a wrong CVV declines a payment."""
    auto_decline_street: bool | None = None
    """Whether a wrong street declines a payment."""
    auto_decline_zip: bool | None = None
    """Whether a wrong postal code declines a payment."""
    allow_partial_authorization: bool | None = None
    """Whether a payment may be approved in part."""
    quick_invoice_allow: bool | None = None
    """Whether quick invoices can use it."""
    hosted_payment_page_allow: bool | None = None
    """Whether hosted payment pages can use it."""
    hosted_payment_page_max_allowed: int | None = None
    """The maximum number of hosted payment pages."""
    level3_allow: bool | None = None
    """Whether it accepts level 3 data."""
    level3_default: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    """The level 3 data of payments that bring none."""
    velocity_settings: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    """The limits on number and amount of payments."""
    surcharge: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    """The settings of the surcharge, if it has one."""
    tax_surcharge_config: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    """How the surcharge treats tax."""
    processor_data: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    """Of a bank account: `terminals`, each with its `sec_code`, `actions` and `required` fields."""
    location_id: str | None = None
    """The location that owns the account."""
    created_ts: datetime | None = None
    """When it was created, in UTC."""


@lenient
@attrs.frozen(kw_only=True, eq=False, repr=False)
class LocationInfo(Record):
    """The merchant accounts, terminals and settings of a location in one record."""

    id: str
    """The id of the location."""
    name: str | None = None
    """The name of the location."""
    address1: str | None = None
    """The first line of the address."""
    address2: str | None = None
    """The second line of the address."""
    city: str | None = None
    """The city."""
    state: str | None = None
    """The state."""
    zip: str | None = None
    """The postal code. A location calls it `zip_code`."""
    office_phone: str | None = None
    """10 digits."""
    office_ext_phone: str | None = None
    """The extension of the office."""
    fax: str | None = None
    """10 digits."""
    tz: str | None = None
    """The time zone, such as `America/New_York`."""
    branding_domain_url: str | None = None
    """The location's web address of the hosted interface."""
    branding_domain: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    """The look of the hosted interface."""
    default_cc: str | None = None
    """Default merchant account for cards."""
    default_ach: str | None = None
    """Default merchant account for bank payments."""
    contact_email_trx_receipt_default: bool | None = None
    """Whether a new contact gets receipts by e-mail."""
    show_contact_files: bool | None = None
    """Whether the hosted interface shows the files of contacts."""
    show_contact_notes: bool | None = None
    """Whether the hosted interface shows the notes of contacts."""
    product_transactions: tuple[ProductTransaction, ...] | None = None
    """The merchant accounts."""
    product_file: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    """The file storage, if it is on."""
    product_accountvault: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    """The settings of account vaults."""
    product_recurring: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    """The settings of recurrings, such as `send_declined_notifications` and `require_full_payment`."""
    terminals: tuple[Terminal, ...] | None = None
    """The terminals, with `id`, `title`, `local_ip_address` and `port`."""
    tags: Sequence[Any] | None = attrs.field(default=None, hash=False)
    """The tags of the location."""
