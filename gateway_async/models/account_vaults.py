"""Account vaults: cards and bank accounts stored as reusable tokens (contract, *Account vault*)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar

import attrs
from annotated_types import Len

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
    FourDigits,
    HolderName,
    Id,
    LicenceNumber,
    LicenceState,
    LocationId,
    NotBoth,
    Pattern,
    PaymentMethodCode,
    Request,
    RoutingNumber,
    Rule,
    SecCode,
    Ticket,
    Together,
    TrackData,
    Unset,
)

__all__ = [
    "AccountVault",
    "AccountVaultUpdate",
    "AchVaultCreate",
    "BinInfo",
    "CardVaultCreate",
    "RouterAccountVaultCreate",
    "SwipedVaultCreate",
    "TicketVaultCreate",
    "TransactionVaultCreate",
    "VaultCopyCreate",
    "VaultCreate",
]

Title = Annotated[str, Len(1, 64)]
VaultApiId = Annotated[str, Len(1, 36), Pattern(r"\S+", "must contain no spaces")]
Street = Annotated[str, Len(1, 32)]
City = Annotated[str, Len(1, 36)]
State = Annotated[str, Len(2, 26)]
Zip = Annotated[str, Len(4, 12)]
Phone = Annotated[str, Len(1, 10)]
Custom = Annotated[str, Len(0, 128)]
CustomerId = Annotated[str, Len(1, 50)]
IpAddress = Annotated[str, Len(0, 15)]


@attrs.frozen(kw_only=True, repr=False)
class AccountVault(Record):
    """A stored card or bank account. It never contains the account number."""

    id: str
    payment_method: PaymentMethod | None = None
    title: str | None = None
    account_holder_name: str | None = None
    first_six: str | None = None
    last_four: str | None = None
    billing_address: str | None = None
    billing_city: str | None = None
    billing_state: str | None = None
    billing_zip: str | None = None
    billing_phone: str | None = None
    exp_date: str | None = None
    routing: str | None = None
    account_type: AccountType | None = None
    is_company: bool | None = None
    ach_sec_code: AchSecCode | None = None
    location_id: str | None = None
    contact_id: str | None = None
    account_vault_api_id: str | None = None
    accountvault_c1: str | None = None
    accountvault_c2: str | None = None
    accountvault_c3: str | None = None
    customer_id: str | None = None
    dl_number: str | None = None
    dl_state: str | None = None
    ssn4: str | None = None
    dob_year: str | None = None
    terms_agree: int | None = None
    terms_agree_ip: str | None = None
    expiring_in_months: int | None = None
    has_recurring: bool | None = None
    active: bool | None = None
    created_ts: datetime | None = None
    modified_ts: datetime | None = None

    hidden: ClassVar[frozenset[str]] = frozenset({"routing", "ssn4", "dl_number", "dob_year"})


@attrs.frozen(kw_only=True, repr=False)
class BinInfo(Record):
    """Properties of a card that its first digits identify (contract, *BIN info*)."""

    issuer_bank_name: str | None = None
    country_code: str | None = None
    detail_card_product: str | None = None
    detail_card_indicator: str | None = None
    fsa_indicator: str | None = None
    prepaid_indicator: str | None = None
    product_id: str | None = None
    regulator_indicator: str | None = None
    visa_product_sub_type: str | None = None
    visa_large_ticket_indicator: str | None = None
    account_fund_source: str | None = None
    card_class: str | None = None
    token_ind: str | None = None
    issuing_network: str | None = None


@attrs.frozen(kw_only=True, repr=False)
class VaultCreate(Request):
    """The fields that every way of storing an account takes."""

    location_id: LocationId | None = None
    contact_id: Id | None = None
    contact_api_id: ApiIdText | None = None
    account_vault_api_id: VaultApiId | None = None
    title: Title | None = None
    account_holder_name: HolderName | None = None
    billing_address: Street | None = None
    billing_city: City | None = None
    billing_state: State | None = None
    billing_zip: Zip | None = None
    billing_phone: Phone | None = None
    accountvault_c1: Custom | None = None
    accountvault_c2: Custom | None = None
    accountvault_c3: Custom | None = None
    customer_id: CustomerId | None = None
    dl_number: LicenceNumber | None = attrs.field(default=None, repr=False)
    dl_state: LicenceState | None = None
    ssn4: FourDigits | None = attrs.field(default=None, repr=False)
    dob_year: FourDigits | None = attrs.field(default=None, repr=False)
    terms_agree: bool | int | None = None
    terms_agree_ip: IpAddress | None = None
    run_avs: bool | None = None

    rules: ClassVar[tuple[Rule, ...]] = (
        NotBoth(("contact_id", "contact_api_id")),
        Together(("dl_number", "dl_state")),
    )


@attrs.frozen(kw_only=True, repr=False)
class CardVaultCreate(VaultCreate):
    """A new vault for a card, from its number and expiry (`MMYY`)."""

    account_number: CardOrAccountNumber = attrs.field(converter=AccountNumber)
    exp_date: Expiry

    implied: ClassVar[Mapping[str, Any]] = {"payment_method": "cc"}


@attrs.frozen(kw_only=True, repr=False)
class SwipedVaultCreate(VaultCreate):
    """A new vault for a card, from the track data of its magnetic stripe."""

    track_data: TrackData = attrs.field(converter=Secret)

    implied: ClassVar[Mapping[str, Any]] = {"payment_method": "cc"}


@attrs.frozen(kw_only=True, repr=False)
class AchVaultCreate(VaultCreate):
    """A new vault for a bank account; `account_type` is `checking` or `savings`."""

    account_number: CardOrAccountNumber = attrs.field(converter=AccountNumber)
    account_holder_name: HolderName  # pyright: ignore[reportGeneralTypeIssues]  required here; fields are keywords
    account_type: BankAccountType
    is_company: bool
    routing: RoutingNumber = attrs.field(converter=AccountNumber)
    ach_sec_code: SecCode | None = None

    implied: ClassVar[Mapping[str, Any]] = {"payment_method": "ach"}


@attrs.frozen(kw_only=True, repr=False)
class TicketVaultCreate(VaultCreate):
    """A new vault for the account of a ticket (the Ticketing method is deprecated)."""

    ticket: Ticket = attrs.field(converter=Secret)
    payment_method: PaymentMethodCode = PaymentMethod.CARD


@attrs.frozen(kw_only=True, repr=False)
class TransactionVaultCreate(VaultCreate):
    """A new vault for the account of an earlier transaction."""

    previous_transaction_id: Id | None = None
    previous_transaction_api_id: ApiIdText | None = None
    payment_method: PaymentMethodCode = PaymentMethod.CARD

    rules: ClassVar[tuple[Rule, ...]] = (
        *VaultCreate.rules,
        ExactlyOne(("previous_transaction_id", "previous_transaction_api_id")),
    )


@attrs.frozen(kw_only=True, repr=False)
class VaultCopyCreate(VaultCreate):
    """A new vault for the account of another vault, for example for another contact."""

    previous_account_vault_id: Id | None = None
    previous_account_vault_api_id: ApiIdText | None = None
    payment_method: PaymentMethodCode = PaymentMethod.CARD

    rules: ClassVar[tuple[Rule, ...]] = (
        *VaultCreate.rules,
        ExactlyOne(("previous_account_vault_id", "previous_account_vault_api_id")),
    )


@attrs.frozen(kw_only=True, repr=False)
class AccountVaultUpdate(Request):
    """Changes to a vault. Omitted fields keep their values; None is sent as null."""

    title: Title | Unset | None = UNSET
    account_holder_name: HolderName | Unset | None = UNSET
    exp_date: Expiry | Unset | None = UNSET
    contact_id: Id | Unset | None = UNSET
    contact_api_id: ApiIdText | Unset | None = UNSET
    account_vault_api_id: VaultApiId | Unset | None = UNSET
    account_type: BankAccountType | Unset | None = UNSET
    is_company: bool | Unset | None = UNSET
    ach_sec_code: SecCode | Unset | None = UNSET
    billing_address: Street | Unset | None = UNSET
    billing_city: City | Unset | None = UNSET
    billing_state: State | Unset | None = UNSET
    billing_zip: Zip | Unset | None = UNSET
    billing_phone: Phone | Unset | None = UNSET
    accountvault_c1: Custom | Unset | None = UNSET
    accountvault_c2: Custom | Unset | None = UNSET
    accountvault_c3: Custom | Unset | None = UNSET
    customer_id: CustomerId | Unset | None = UNSET
    dl_number: LicenceNumber | Unset | None = attrs.field(default=UNSET, repr=False)
    dl_state: LicenceState | Unset | None = UNSET
    ssn4: FourDigits | Unset | None = attrs.field(default=UNSET, repr=False)
    dob_year: FourDigits | Unset | None = attrs.field(default=UNSET, repr=False)
    terms_agree: bool | int | Unset | None = UNSET
    terms_agree_ip: IpAddress | Unset | None = UNSET

    rules: ClassVar[tuple[Rule, ...]] = VaultCreate.rules


@attrs.frozen(kw_only=True, repr=False)
class RouterAccountVaultCreate(Request):
    """A new vault for the card that the customer presents at a terminal (contract, *Router account vaults*)."""

    terminal_id: Id
    contact_id: Id
    location_id: LocationId | None = None

    implied: ClassVar[Mapping[str, Any]] = {"payment_method": "cc", "action": "store"}
