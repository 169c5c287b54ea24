"""Contacts: the customers of a location (contract, *Records carried in postbacks*, contact)."""

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, ClassVar

import attrs
from annotated_types import Len

from gateway_async.models.record import Record
from gateway_async.models.request import UNSET, Amount, ApiIdText, LocationId, NotBoth, Request, Rule, Unset

__all__ = ["Contact", "ContactCreate", "ContactUpdate"]

Name = Annotated[str, Len(1, 64)]
Text = Annotated[str, Len(0, 250)]
Phone = Annotated[str, Len(0, 10)]
Email = Annotated[str, Len(0, 128)]


@attrs.frozen(kw_only=True, repr=False)
class Contact(Record):
    """A customer."""

    id: str
    location_id: str | None = None
    account_number: str | None = None
    contact_api_id: str | None = None
    company_name: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    address: str | None = None
    city: str | None = None
    state: str | None = None
    zip: str | None = None
    home_phone: str | None = None
    cell_phone: str | None = None
    office_phone: str | None = None
    office_ext_phone: str | None = None
    email_trx_receipt: bool | None = None
    date_of_birth: date | None = None
    header_message: str | None = None
    header_message_type: int | None = None
    header_message_type_id: int | None = None
    contact_c1: str | None = None
    contact_c2: str | None = None
    contact_c3: str | None = None
    contact_balance: Decimal | None = None
    created_ts: datetime | None = None
    modified_ts: datetime | None = None


@attrs.frozen(kw_only=True, repr=False)
class ContactCreate(Request):
    """A new contact. With `update_if_exists`, one with the same `contact_api_id` is updated instead of refused."""

    last_name: Name
    location_id: LocationId | None = None
    contact_api_id: ApiIdText | None = None
    account_number: Text | None = None
    company_name: Text | None = None
    first_name: Text | None = None
    email: Email | None = None
    address: Text | None = None
    city: Text | None = None
    state: Text | None = None
    zip: Text | None = None
    home_phone: Phone | None = None
    cell_phone: Phone | None = None
    office_phone: Phone | None = None
    office_ext_phone: Phone | None = None
    email_trx_receipt: bool | None = None
    date_of_birth: date | None = None
    header_message: Text | None = None
    header_message_type: int | None = None
    header_message_type_id: int | None = None
    contact_c1: Text | None = None
    contact_c2: Text | None = None
    contact_c3: Text | None = None
    contact_balance: Amount | None = None
    update_if_exists: bool | None = None

    rules: ClassVar[tuple[Rule, ...]] = (NotBoth(("header_message_type", "header_message_type_id")),)


@attrs.frozen(kw_only=True, repr=False)
class ContactUpdate(Request):
    """Changes to a contact. Omitted fields keep their values; None is sent as null."""

    last_name: Name | Unset | None = UNSET
    contact_api_id: ApiIdText | Unset | None = UNSET
    account_number: Text | Unset | None = UNSET
    company_name: Text | Unset | None = UNSET
    first_name: Text | Unset | None = UNSET
    email: Email | Unset | None = UNSET
    address: Text | Unset | None = UNSET
    city: Text | Unset | None = UNSET
    state: Text | Unset | None = UNSET
    zip: Text | Unset | None = UNSET
    home_phone: Phone | Unset | None = UNSET
    cell_phone: Phone | Unset | None = UNSET
    office_phone: Phone | Unset | None = UNSET
    office_ext_phone: Phone | Unset | None = UNSET
    email_trx_receipt: bool | Unset | None = UNSET
    date_of_birth: date | Unset | None = UNSET
    header_message: Text | Unset | None = UNSET
    header_message_type: int | Unset | None = UNSET
    header_message_type_id: int | Unset | None = UNSET
    contact_c1: Text | Unset | None = UNSET
    contact_c2: Text | Unset | None = UNSET
    contact_c3: Text | Unset | None = UNSET
    contact_balance: Amount | Unset | None = UNSET

    rules: ClassVar[tuple[Rule, ...]] = (NotBoth(("header_message_type", "header_message_type_id")),)
