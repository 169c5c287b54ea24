"""Contacts: the customers of a location (contract, *Records carried in postbacks*, contact)."""

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, ClassVar

import attrs

from gateway_async.models.record import Record
from gateway_async.models.request import UNSET, Cents, FieldRule, Length, LocationId, NotBoth, OwnApiId, Request, Unset

Name = Annotated[str, Length(1, 64)]
Text = Annotated[str, Length(0, 250)]
Street = Annotated[str, Length(0, 255)]
Balance = Annotated[Decimal | int | str, Cents(12)]
Phone = Annotated[str, Length(0, 10)]
Email = Annotated[str, Length(0, 128)]


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Contact(Record):
    """A customer."""

    id: str
    """The gateway's id, 24 to 36 characters."""
    location_id: str | None = None
    """The location of the contact."""
    account_number: str | None = None
    """Your number for the customer; not a card number."""
    contact_api_id: str | None = None
    """Your id for the contact, unique in its location."""
    company_name: str | None = None
    """The company."""
    first_name: str | None = None
    """The first name."""
    last_name: str | None = None
    """The family name."""
    email: str | None = None
    """The email address."""
    address: str | None = None
    """The street."""
    city: str | None = None
    """The city."""
    state: str | None = None
    """The state."""
    zip: str | None = None
    """The zip code."""
    home_phone: str | None = None
    """The private phone number."""
    cell_phone: str | None = None
    """The mobile phone number."""
    office_phone: str | None = None
    """The office's phone number."""
    office_ext_phone: str | None = None
    """The extension of the office's phone number."""
    email_trx_receipt: bool | None = None
    """Whether the contact gets a receipt of each transaction by email."""
    date_of_birth: date | None = None
    """The date of birth. It is masked in the repr and in `to_dict()`."""
    header_message: str | None = None
    """A message that the gateway shows with the contact."""
    header_message_type: int | None = None
    """How the message is shown: 0 a pop-up, 1 to 4 a colored bar."""
    header_message_type_id: int | None = None
    """The other name of `header_message_type`; a gateway sends either."""
    contact_c1: str | None = None
    """Your first custom field."""
    contact_c2: str | None = None
    """Your second custom field."""
    contact_c3: str | None = None
    """Your third custom field."""
    contact_balance: Decimal | None = None
    """The balance."""
    created_ts: datetime | None = None
    """When it was created, in UTC."""
    modified_ts: datetime | None = None
    """When it was last changed, in UTC."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ContactCreate(Request):
    """A new contact."""

    last_name: Name
    """The family name, 1 to 64 characters. Required."""
    location_id: LocationId | None = None
    """The location, at most 36 characters. Required, unless the client has one."""
    contact_api_id: OwnApiId | None = None
    """Your id for the contact, unique in the location: at most 64 characters, no spaces; the contract says 36."""
    account_number: Text | None = None
    """Your number for the customer, at most 250 characters (the contract says 32); not a card number."""
    company_name: Text | None = None
    """The company, at most 250 characters; the contract says 64."""
    first_name: Text | None = None
    """The first name, at most 250 characters; the contract says 64."""
    email: Email | None = None
    """The email address, at most 128 characters; the contract says 64."""
    address: Street | None = None
    """The street, at most 255 characters."""
    city: Text | None = None
    """The city, at most 250 characters; the contract says 100."""
    state: Text | None = None
    """The state, at most 250 characters; the contract says 2."""
    zip: Text | None = None
    """The zip code, at most 250 characters; the contract says 4 to 12."""
    home_phone: Phone | None = None
    """The private phone number, at most 10 characters."""
    cell_phone: Phone | None = None
    """The mobile phone number, at most 10 characters."""
    office_phone: Phone | None = None
    """The office's phone number, at most 10 characters."""
    office_ext_phone: Phone | None = None
    """The extension of the office's phone number, at most 10 characters."""
    email_trx_receipt: bool | None = None
    """Whether the contact gets a receipt of each transaction by email."""
    date_of_birth: date | None = None
    """The date of birth."""
    header_message: Text | None = None
    """A message that the gateway shows with the contact, at most 250 characters."""
    header_message_type: int | None = None
    """How the message is shown: 0 a pop-up, 1 to 4 a colored bar. The documented name of the field."""
    header_message_type_id: int | None = None
    """The other name of `header_message_type`. Only one of the two may be sent."""
    contact_c1: Text | None = None
    """Your first custom field, at most 250 characters; the contract says 128."""
    contact_c2: Text | None = None
    """Your second custom field, at most 250 characters; the contract says 128."""
    contact_c3: Text | None = None
    """Your third custom field, at most 250 characters; the contract says 128."""
    contact_balance: Balance | None = None
    """The balance, with at most two decimals and 12 characters."""
    update_if_exists: bool | None = None
    """Whether a contact with the same `contact_api_id` is updated instead of refused. It needs that id."""

    rules: ClassVar[tuple[FieldRule, ...]] = (NotBoth(("header_message_type", "header_message_type_id")),)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ContactUpdate(Request):
    """Changes to a contact. Omitted fields keep their values; None is sent as null."""

    last_name: Name | Unset | None = UNSET
    """The family name, 1 to 64 characters."""
    contact_api_id: OwnApiId | Unset | None = UNSET
    """Your id for the contact, unique in the location: at most 64 characters, no spaces; the contract says 36."""
    account_number: Text | Unset | None = UNSET
    """Your number for the customer, at most 250 characters (the contract says 32); not a card number."""
    company_name: Text | Unset | None = UNSET
    """The company, at most 250 characters; the contract says 64."""
    first_name: Text | Unset | None = UNSET
    """The first name, at most 250 characters; the contract says 64."""
    email: Email | Unset | None = UNSET
    """The email address, at most 128 characters; the contract says 64."""
    address: Street | Unset | None = UNSET
    """The street, at most 255 characters."""
    city: Text | Unset | None = UNSET
    """The city, at most 250 characters; the contract says 100."""
    state: Text | Unset | None = UNSET
    """The state, at most 250 characters; the contract says 2."""
    zip: Text | Unset | None = UNSET
    """The zip code, at most 250 characters; the contract says 4 to 12."""
    home_phone: Phone | Unset | None = UNSET
    """The private phone number, at most 10 characters."""
    cell_phone: Phone | Unset | None = UNSET
    """The mobile phone number, at most 10 characters."""
    office_phone: Phone | Unset | None = UNSET
    """The office's phone number, at most 10 characters."""
    office_ext_phone: Phone | Unset | None = UNSET
    """The extension of the office's phone number, at most 10 characters."""
    email_trx_receipt: bool | Unset | None = UNSET
    """Whether the contact gets a receipt of each transaction by email."""
    date_of_birth: date | Unset | None = UNSET
    """The date of birth."""
    header_message: Text | Unset | None = UNSET
    """A message that the gateway shows with the contact, at most 250 characters."""
    header_message_type: int | Unset | None = UNSET
    """How the message is shown: 0 a pop-up, 1 to 4 a colored bar. The documented name of the field."""
    header_message_type_id: int | Unset | None = UNSET
    """The other name of `header_message_type`. Only one of the two may be sent."""
    contact_c1: Text | Unset | None = UNSET
    """Your first custom field, at most 250 characters; the contract says 128."""
    contact_c2: Text | Unset | None = UNSET
    """Your second custom field, at most 250 characters; the contract says 128."""
    contact_c3: Text | Unset | None = UNSET
    """Your third custom field, at most 250 characters; the contract says 128."""
    contact_balance: Balance | Unset | None = UNSET
    """The balance, with at most two decimals and 12 characters."""

    rules: ClassVar[tuple[FieldRule, ...]] = (NotBoth(("header_message_type", "header_message_type_id")),)
