"""Account vaults: cards and bank accounts stored as reusable tokens (contract, *Account vault*)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar

import attrs

from gateway_async._secrets import AccountNumber, Secret
from gateway_async.models.codes import AccountType, AchSecCode, PaymentMethod
from gateway_async.models.record import Record
from gateway_async.models.request import (
    UNSET,
    ApiIdText,
    BankAccountType,
    CardOrAccountNumber,
    ExactlyOne,
    Expiry,
    FieldRule,
    FourDigits,
    HolderName,
    Id,
    Length,
    LicenseNumber,
    LicenseState,
    LocationId,
    NotBoth,
    Pattern,
    PaymentMethodCode,
    Request,
    RoutingNumber,
    SecCode,
    Ticket,
    Together,
    TrackData,
    Unset,
)

Title = Annotated[str, Length(1, 64)]
VaultApiId = Annotated[str, Length(0, 36), Pattern(r"\S*", "must contain no spaces")]
Street = Annotated[str, Length(1, 32)]
City = Annotated[str, Length(1, 36)]
State = Annotated[str, Length(2, 26)]
Zip = Annotated[str, Length(4, 12)]
Phone = Annotated[str, Length(1, 10)]
Custom = Annotated[str, Length(0, 128)]
CustomerId = Annotated[str, Length(1, 50)]
IpAddress = Annotated[str, Length(0, 15)]
Locale = Annotated[str, Length(5, 5)]


@attrs.frozen(kw_only=True, eq=False, repr=False)
class AccountVault(Record):
    """A stored card or bank account. It never contains the account number."""

    id: str
    """The gateway's id, 24 to 36 characters."""
    payment_method: PaymentMethod | None = None
    """`cc` for a card, `ach` for a bank account."""
    title: str | None = None
    """A label for people."""
    account_holder_name: str | None = None
    """The name on the card or account."""
    first_six: str | None = None
    """The first six digits of the card."""
    last_four: str | None = None
    """The last four digits of the account."""
    billing_address: str | None = None
    """The street of the billing address."""
    billing_city: str | None = None
    """The city of the billing address."""
    billing_state: str | None = None
    """The state of the billing address."""
    billing_zip: str | None = None
    """The zip code of the billing address."""
    billing_phone: str | None = None
    """The customer's phone number, 10 digits."""
    exp_date: str | None = None
    """The card's expiry, `MMYY`."""
    routing: str | None = None
    """Always null: the gateway does not return the routing number."""
    account_type: AccountType | None = None
    """The card's brand, or `checking` or `savings`."""
    is_company: bool | None = None
    """Whether the account belongs to a company."""
    ach_sec_code: AchSecCode | None = None
    """How the account holder agreed to payments: WEB, PPD, CCD, TEL, POP or C21."""
    location_id: str | None = None
    """The location of the vault."""
    contact_id: str | None = None
    """The customer."""
    account_vault_api_id: str | None = None
    """Your id for the vault, unique in its location."""
    accountvault_c1: str | None = None
    """Your first custom field."""
    accountvault_c2: str | None = None
    """Your second custom field."""
    accountvault_c3: str | None = None
    """Your third custom field."""
    customer_id: str | None = None
    """Your id for the customer."""
    dl_number: str | None = None
    """The account holder's driver's license. It is masked in the repr and in `to_dict()`."""
    dl_state: str | None = None
    """The state of the license."""
    ssn4: str | None = None
    """The last four digits of the social security number. They are masked in the repr and in `to_dict()`."""
    dob_year: str | None = None
    """The account holder's year of birth. It is masked in the repr and in `to_dict()`."""
    terms_agree: int | None = None
    """1 if the customer agreed to the terms."""
    terms_agree_ip: str | None = None
    """The IP address from which the customer agreed."""
    expiring_in_months: int | None = None
    """The number of months until the card expires."""
    has_recurring: bool | None = None
    """Whether a recurring payment uses the vault."""
    active: bool | None = None
    """Whether the vault can be charged."""
    cau_summary_status_id: int | None = None
    """The result of the card updater, as a code."""
    cau_last_updated_ts: datetime | None = None
    """The time of the card updater's last change, in UTC."""
    created_user_id: str | None = None
    """The user who created the vault."""
    created_ts: datetime | None = None
    """When it was created, in UTC."""
    modified_ts: datetime | None = None
    """When it was last changed, in UTC."""

    uncertain: ClassVar[frozenset[str]] = frozenset({"cau_summary_status_id"})


@attrs.frozen(kw_only=True, eq=False, repr=False)
class BinInfo(Record):
    """Properties of a card that its first digits identify (contract, *BIN info*)."""

    issuer_bank_name: str | None = None
    """The bank that issued the card."""
    country_code: str | None = None
    """The country of the bank, such as `USA`."""
    detail_card_product: str | None = None
    """The network: V visa, M mc, A amex, D disc, N PIN only."""
    detail_card_indicator: str | None = None
    """The kind of card: C, R and X are credit; E, H, J to P and S are debit."""
    fsa_indicator: str | None = None
    """Whether the card is for health expenses."""
    prepaid_indicator: str | None = None
    """Whether the card is prepaid."""
    product_id: str | None = None
    """The network's code of the card product."""
    regulator_indicator: str | None = None
    """B regulated, N not regulated, 1 regulated with fraud protection."""
    visa_product_sub_type: str | None = None
    """Visa's code of the product's variant."""
    visa_large_ticket_indicator: str | None = None
    """Whether Visa's rules for large amounts apply."""
    account_fund_source: str | None = None
    """C credit, D debit, P prepaid, H charge, R deferred debit."""
    card_class: str | None = None
    """B business, C consumer, P purchase, T corporate."""
    token_ind: str | None = None
    """Whether the number is a token instead of the card's."""
    issuing_network: str | None = None
    """00 disc, 01 diners, 02 jcb; null for other networks."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class VaultCreate(Request):
    """The fields that every way of storing an account takes."""

    location_id: LocationId | None = None
    """The location, at most 36 characters. Required, unless the client has one."""
    contact_id: Id | None = None
    """The customer, at most 36 characters."""
    contact_api_id: ApiIdText | None = None
    """Your id for the customer, at most 64 characters, instead of `contact_id`."""
    account_vault_api_id: VaultApiId | None = None
    """Your id for the vault, at most 36 characters without spaces, unique in the location."""
    title: Title | None = None
    """A label for people, at most 64 characters; the contract says 16."""
    account_holder_name: HolderName | None = None
    """The name on the card or account, at most 60 characters."""
    billing_address: Street | None = None
    """The street, at most 32 characters."""
    billing_city: City | None = None
    """The city, at most 36 characters."""
    billing_state: State | None = None
    """The state or province, 2 to 26 characters."""
    billing_zip: Zip | None = None
    """The zip code, 4 to 12 characters."""
    billing_phone: Phone | None = None
    """The phone number, 10 digits."""
    locale: Locale | None = None
    """The locale, 5 characters: Canadian merchants send `en_CA`."""
    accountvault_c1: Custom | None = None
    """Your first custom field, at most 128 characters."""
    accountvault_c2: Custom | None = None
    """Your second custom field, at most 128 characters."""
    accountvault_c3: Custom | None = None
    """Your third custom field, at most 128 characters."""
    customer_id: CustomerId | None = None
    """Your id for the customer, at most 50 characters. It replaces a driver's license where bank accounts need one."""
    dl_number: LicenseNumber | None = None
    """The account holder's driver's license, at most 50 characters. Only together with `dl_state`."""
    dl_state: LicenseState | None = None
    """The state of the license, 2 letters. Only together with `dl_number`."""
    ssn4: FourDigits | None = None
    """The last four digits of the account holder's social security number."""
    dob_year: FourDigits | None = None
    """The account holder's year of birth, 4 digits."""
    terms_agree: bool | int | None = None
    """Whether the customer agreed to the terms."""
    terms_agree_ip: IpAddress | None = None
    """The IP address from which the customer agreed, at most 15 characters."""
    run_avs: bool | None = None
    """Whether to check the address by an `avsonly` before storing; by default, the merchant account decides.

    If the check fails, the vault is not stored. Fees may apply.
    """

    rules: ClassVar[tuple[FieldRule, ...]] = (
        NotBoth(("contact_id", "contact_api_id")),
        Together(("dl_number", "dl_state")),
    )


@attrs.frozen(kw_only=True, eq=False, repr=False)
class CardVaultCreate(VaultCreate):
    """A new vault for a card, from its number and expiry (`MMYY`)."""

    account_number: CardOrAccountNumber = attrs.field(converter=AccountNumber)
    """The card or bank account number, 4 to 19 digits. Required. No response contains it."""
    exp_date: Expiry
    """The card's expiry, `MMYY`. Required."""

    implied: ClassVar[Mapping[str, Any]] = {"payment_method": "cc"}


@attrs.frozen(kw_only=True, eq=False, repr=False)
class SwipedVaultCreate(VaultCreate):
    """A new vault for a card, from the track data of its magnetic stripe."""

    track_data: TrackData = attrs.field(converter=Secret)
    """The data of the magnetic stripe, at most 256 characters. Required."""

    implied: ClassVar[Mapping[str, Any]] = {"payment_method": "cc"}


@attrs.frozen(kw_only=True, eq=False, repr=False)
class AchVaultCreate(VaultCreate):
    """A new vault for a bank account; `account_type` is `checking` or `savings`."""

    account_number: CardOrAccountNumber = attrs.field(converter=AccountNumber)
    """The card or bank account number, 4 to 19 digits. Required. No response contains it."""
    account_holder_name: HolderName  # pyright: ignore[reportGeneralTypeIssues]  required here; fields are keywords
    """The name on the card or account, at most 60 characters. Required."""
    account_type: BankAccountType
    """`checking` or `savings`. Required."""
    is_company: bool
    """Whether the account belongs to a company. Without `ach_sec_code`, this decides about the SEC code. Required."""
    routing: RoutingNumber = attrs.field(converter=AccountNumber)
    """The bank's routing number, 9 digits. Required."""
    ach_sec_code: SecCode | None = None
    """How the account holder agrees to payments: WEB, PPD, CCD, TEL, POP or C21. Without it, CCD or PPD."""

    implied: ClassVar[Mapping[str, Any]] = {"payment_method": "ach"}


@attrs.frozen(kw_only=True, eq=False, repr=False)
class TicketVaultCreate(VaultCreate):
    """A new vault for the account of a ticket (the Ticketing method is deprecated)."""

    ticket: Ticket = attrs.field(converter=Secret)
    """The ticket, at most 36 characters. Required."""
    payment_method: PaymentMethodCode = PaymentMethod.CARD
    """`cc` for a card (the default), `ach` for a bank account."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class TransactionVaultCreate(VaultCreate):
    """A new vault for the account of an earlier transaction."""

    previous_transaction_id: Id | None = None
    """The earlier transaction, at most 36 characters. Required, unless its api id is given."""
    previous_transaction_api_id: ApiIdText | None = None
    """Your id for the earlier transaction, at most 64 characters."""
    payment_method: PaymentMethodCode = PaymentMethod.CARD
    """`cc` for a card (the default), `ach` for a bank account."""

    rules: ClassVar[tuple[FieldRule, ...]] = (
        *VaultCreate.rules,
        ExactlyOne(("previous_transaction_id", "previous_transaction_api_id")),
    )


@attrs.frozen(kw_only=True, eq=False, repr=False)
class VaultCopyCreate(VaultCreate):
    """A new vault for the account of another vault, for example for another contact."""

    previous_account_vault_id: Id | None = None
    """The vault to copy, at most 36 characters. Required, unless its api id is given."""
    previous_account_vault_api_id: ApiIdText | None = None
    """Your id for the vault to copy, at most 64 characters."""
    payment_method: PaymentMethodCode = PaymentMethod.CARD
    """`cc` for a card (the default), `ach` for a bank account."""

    rules: ClassVar[tuple[FieldRule, ...]] = (
        *VaultCreate.rules,
        ExactlyOne(("previous_account_vault_id", "previous_account_vault_api_id")),
    )


@attrs.frozen(kw_only=True, eq=False, repr=False)
class AccountVaultUpdate(Request):
    """Changes to a vault. Omitted fields keep their values; None is sent as null."""

    title: Title | Unset | None = UNSET
    """A label for people, at most 64 characters; the contract says 16."""
    account_holder_name: HolderName | Unset | None = UNSET
    """The name on the card or account, at most 60 characters."""
    exp_date: Expiry | Unset | None = UNSET
    """The card's expiry, `MMYY`."""
    contact_id: Id | Unset | None = UNSET
    """The customer, at most 36 characters."""
    contact_api_id: ApiIdText | Unset | None = UNSET
    """Your id for the customer, at most 64 characters, instead of `contact_id`."""
    account_vault_api_id: VaultApiId | Unset | None = UNSET
    """Your id for the vault, at most 36 characters without spaces, unique in the location."""
    account_type: BankAccountType | Unset | None = UNSET
    """`checking` or `savings`."""
    is_company: bool | Unset | None = UNSET
    """Whether the account belongs to a company, which decides about the SEC code."""
    ach_sec_code: SecCode | Unset | None = UNSET
    """How the account holder agrees to payments: WEB, PPD, CCD, TEL, POP or C21."""
    billing_address: Street | Unset | None = UNSET
    """The street, at most 32 characters."""
    billing_city: City | Unset | None = UNSET
    """The city, at most 36 characters."""
    billing_state: State | Unset | None = UNSET
    """The state or province, 2 to 26 characters."""
    billing_zip: Zip | Unset | None = UNSET
    """The zip code, 4 to 12 characters."""
    billing_phone: Phone | Unset | None = UNSET
    """The phone number, 10 digits."""
    accountvault_c1: Custom | Unset | None = UNSET
    """Your first custom field, at most 128 characters."""
    accountvault_c2: Custom | Unset | None = UNSET
    """Your second custom field, at most 128 characters."""
    accountvault_c3: Custom | Unset | None = UNSET
    """Your third custom field, at most 128 characters."""
    customer_id: CustomerId | Unset | None = UNSET
    """Your id for the customer, at most 50 characters."""
    dl_number: LicenseNumber | Unset | None = UNSET
    """The account holder's driver's license, at most 50 characters. Only together with `dl_state`."""
    dl_state: LicenseState | Unset | None = UNSET
    """The state of the license, 2 letters. Only together with `dl_number`."""
    ssn4: FourDigits | Unset | None = UNSET
    """The last four digits of the account holder's social security number."""
    dob_year: FourDigits | Unset | None = UNSET
    """The account holder's year of birth, 4 digits."""
    terms_agree: bool | int | Unset | None = UNSET
    """Whether the customer agreed to the terms."""
    terms_agree_ip: IpAddress | Unset | None = UNSET
    """The IP address from which the customer agreed, at most 15 characters."""

    rules: ClassVar[tuple[FieldRule, ...]] = VaultCreate.rules


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RouterAccountVaultCreate(Request):
    """A new vault for the card that the customer presents at a terminal (contract, *Router account vaults*)."""

    terminal_id: Id
    """The terminal, at most 36 characters. Required."""
    contact_id: Id
    """The customer, at most 36 characters. Required."""
    location_id: LocationId | None = None
    """The location, at most 36 characters. Required, unless the client has one."""

    implied: ClassVar[Mapping[str, Any]] = {"payment_method": "cc", "action": "store"}
