"""Transactions: money charged, returned or reserved (contract, *Records carried in postbacks*, transaction)."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

import attrs

from gateway_async._secrets import AccountNumber, Secret, seal
from gateway_async.errors import DeclinedError
from gateway_async.models.codes import (
    AccountType,
    AchSecCode,
    EncryptedFormat,
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
    AmountList,
    AnyAccountType,
    ApiIdText,
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
    NotBoth,
    NotWhen,
    OwnApiId,
    Pattern,
    PaymentMethodCode,
    Request,
    RequiredWhen,
    RoutingNumber,
    SecCode,
    TagNames,
    Ticket,
    Together,
    TrackData,
    Unset,
)

Cvv = Annotated[Secret, Pattern("[0-9]{3,4}", "must be three or four digits")]
Text = Annotated[str, Length(0, 250)]
Description = Annotated[str, Length(0, 64)]
OrderNumber = Annotated[str, Length(0, 32)]
Street = Annotated[str, Length(0, 64)]
City = Annotated[str, Length(0, 36)]
State = Annotated[str, Length(0, 26)]
Zip = Annotated[str, Length(0, 12)]
Phone = Annotated[str, Length(0, 10)]
Email = Annotated[str, Length(0, 128)]
Custom = Annotated[str, Length(0, 128)]
LocationApiId = Annotated[str, Length(1, 36), Pattern(r"\S+", "must contain no spaces")]
ContactOrNone = Annotated[str, Length(0, 36)]
SerialNumber = Annotated[str, Length(0, 24)]
Locale = Annotated[str, Length(5, 5)]
AccountTitle = Annotated[str, Length(0, 16)]
ServiceStreet = Annotated[str, Length(0, 32)]
ServiceCity = Annotated[str, Length(0, 36)]
ServiceZip = Annotated[str, Length(4, 12)]
Country = Annotated[str, Pattern("[0-9]{3}", "must be three digits, such as 840")]
Cryptogram = Annotated[Secret, Length(0, 40)]
ThreeDSecureId = Annotated[str, Length(0, 40)]
WalletId = Annotated[str, Length(0, 3)]
CheckImage = Annotated[Secret, Length(1, 65535)]
HexData = Annotated[Secret, Pattern("([0-9a-fA-F]{2})+", "must be hexadecimal digits, two for each byte")]
KeySerialNumber = Annotated[str, Length(1, 20), Pattern("[0-9a-fA-F]+", "must be hexadecimal digits")]
AchIdentifier = Annotated[str, Length(1, 1)]
TerminalRoom = Annotated[str, Length(0, 12)]
TerminalAuthCode = Annotated[str, Length(0, 6)]
BatchNumber = Annotated[str, Length(0, 36)]
SwipeFormat = Literal["ksn", "ksnpin", "idtech", "magnesafe"] | EncryptedFormat

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
    "e_track_data",
    "ticket",
)
"""The fields that can identify the account to charge.

Each transaction has exactly one of them, except that a check (`C21`) has both its track data and its account number.
"""

_MOVING_ACTIONS = ("void", "authcomplete", "authincrement", "partialreversal", "tipadjust")
"""The actions of a PUT that change the amount: all except `edit`."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Transaction(Record):
    """A transaction as the gateway stores it. A decline is a normal result: check `.approved`."""

    id: str
    """The gateway's id, 24 to 36 characters."""
    payment_method: PaymentMethod | None = None
    """`cc` for a card, `ach` for a bank account."""
    status_id: TransactionStatus | None = None
    """The state of the payment: 101 approved, 301 declined and so on."""
    type_id: TransactionType | None = None
    """The kind of payment: 20 sale, 30 refund, 50 bank debit and so on."""
    reason_code_id: ReasonCode | None = None
    """The reason for the status: 1000 approved, 1616 insufficient funds and so on."""
    transaction_amount: Decimal | None = None
    """The amount that is settled. A void sets it to 0; a capture or an increment sets the new amount."""
    auth_amount: Decimal | None = None
    """The amount that the issuer approved. A capture or an increment does not change it."""
    subtotal_amount: Decimal | None = None
    """The amount without tax and surcharge."""
    tax: Decimal | None = None
    """The tax within `transaction_amount`."""
    tip_amount: Decimal | None = None
    """The tip within `transaction_amount`."""
    surcharge_amount: Decimal | None = None
    """The surcharge within `transaction_amount`. The gateway removes it for debit cards."""
    is_surcharge: bool | None = None
    """Whether the transaction is the surcharge of another one."""
    auth_surcharge_rate: Decimal | None = None
    """Shown on authorizations and captures. The vendor says to ignore it."""
    auth_surcharge_fee: Decimal | None = None
    """Shown on authorizations and captures. The vendor says to ignore it."""
    additional_amounts: Sequence[Any] | None = attrs.field(default=None, hash=False)
    """Healthcare amounts: a list of `{type, amount}`."""
    auth: str | None = None
    """The old name of `auth_code`, which only old records have."""
    auth_code: str | None = attrs.field(default=attrs.Factory(lambda self: self.auth, takes_self=True))
    """The issuer's approval code, 6 characters.

    It is empty for refunds and address checks. It is read from `auth` if the record has no `auth_code`.
    """
    verbiage: str | None = None
    """The result as text for people. Decide by `status_id`, never by this text."""
    response_message: str | None = None
    """The processor's own code or text, such as the reason for a decline."""
    transaction_api_id: str | None = None
    """Your id for the transaction, unique in its location."""
    location_id: str | None = None
    """The location that took the payment."""
    product_transaction_id: str | None = None
    """The merchant account that gets the money."""
    contact_id: str | None = None
    """The customer."""
    account_vault_id: str | None = None
    """The vault that was charged, or that `save_account` made."""
    recurring_id: str | None = None
    """The recurring payment that made the transaction."""
    quick_invoice_id: str | None = None
    """The quick invoice that the transaction pays."""
    paylink_id: str | None = None
    """The paylink that the transaction pays."""
    hosted_payment_page_id: str | None = None
    """The hosted payment page that the customer used."""
    previous_transaction_id: str | None = None
    """The earlier transaction whose account was used, such as the sale of a refund."""
    transaction_batch_id: str | None = None
    """The batch that settles the transaction."""
    terminal_id: str | None = None
    """The terminal that read the card."""
    terminal_serial_number: str | None = None
    """The serial number of the terminal, at most 24 characters."""
    entry_mode_id: EntryMode | None = None
    """How the card was read: K keyed, C chip, P contactless, S swiped."""
    trx_source_id: TransactionSource | None = None
    """The channel: 12 integration, 8 quick invoice and so on."""
    account_type: AccountType | None = None
    """The card's brand, or `checking` or `savings`."""
    account_holder_name: str | None = None
    """The name on the card or bank account."""
    exp_date: str | None = None
    """The card's expiry, `MMYY`. Only the response of a terminal that stored the card has it."""
    first_six: str | None = None
    """The first six digits of the card. It is null for most bank accounts."""
    last_four: str | None = None
    """The last four digits of the account."""
    routing: str | None = None
    """The bank's routing number, 9 digits. It is masked in the repr and in `to_dict()`."""
    ach_sec_code: AchSecCode | None = None
    """How the account holder agreed to a bank payment: WEB, PPD, CCD, TEL, POP or C21."""
    ach_identifier: str | None = None
    """`P` marks a payroll check."""
    check_number: str | None = None
    """The number of the check."""
    avs: str | None = None
    """The address check: GOOD, BAD, STREET or ZIP. STREET and ZIP name the part that does not match."""
    avs_enhanced: str | None = None
    """The address check as the issuer's letter: Y, A, Z, N and so on."""
    cvv_response: str | None = None
    """The check of the CVV: M match, N no match, P not processed and so on."""
    recaptcha_score: Decimal | None = None
    """The score of a payment page's robot check."""
    billing_street: str | None = None
    """The street of the billing address."""
    billing_city: str | None = None
    """The city of the billing address."""
    billing_state: str | None = None
    """The state of the billing address."""
    billing_zip: str | None = None
    """The zip code of the billing address."""
    billing_phone: str | None = None
    """The customer's phone number, 10 digits."""
    service_address: str | None = None
    """The street where the service was given, if it is not the billing address. Only Mastercard uses it."""
    service_city: str | None = None
    """The city of the service address."""
    service_state: str | None = None
    """The state of the service address."""
    service_zip: str | None = None
    """The zip code of the service address."""
    service_country: str | None = None
    """The country of the service address as three digits: 840 is the USA."""
    batch: str | None = None
    """The number of the batch. It is null for authorizations, address checks and bank payments."""
    order_num: str | None = None
    """The order number. The gateway generates one if none was sent."""
    po_number: str | None = None
    """The purchase order number."""
    clerk_number: str | None = None
    """The clerk who took the payment."""
    customer_id: str | None = None
    """Your id for the customer."""
    customer_ip: str | None = None
    """The customer's IP address."""
    description: str | None = None
    """Your description."""
    transaction_code: str | None = None
    """A code of the processor. It is null in all known records."""
    transaction_settlement_status: str | None = None
    """The processor's result of the settlement."""
    notification_email_address: str | None = None
    """The address for the receipt."""
    notification_email_sent: bool | None = None
    """Whether a receipt was sent. New gateways say true even without an address."""
    terms_agree: bool | None = None
    """Whether the customer agreed to the terms."""
    bill_payment: bool | None = None
    """Whether the payment is for a bill."""
    is_recurring: bool | None = None
    """Whether a recurring payment made the transaction."""
    recurring_flag: str | None = None
    """Whether the payment is one of the gateway's series: `no` for most."""
    recurring_number: str | None = None
    """The number of the payment in the gateway's series."""
    installment_number: str | None = None
    """The number of the installment in the gateway's plan."""
    installment_total_count: str | None = None
    """The number of installments in the gateway's plan."""
    external_recurring_flag: str | None = None
    """Whether the payment is one of the merchant's series: `no` for most."""
    external_recurring_number: str | None = None
    """The number of the payment in the merchant's series."""
    external_installment_number: str | None = None
    """The number of the installment in the merchant's plan."""
    external_installment_total_count: str | None = None
    """The number of installments in the merchant's plan."""
    is_accountvault: bool | None = None
    """Whether an account vault was charged."""
    tags: Sequence[Any] | None = attrs.field(default=None, hash=False)
    """The tags of the transaction: a list of `{id, title}`. Request them with `expand=("tags",)`."""
    transaction_c1: str | None = None
    """Your first custom field."""
    transaction_c2: str | None = None
    """Your second custom field."""
    transaction_c3: str | None = None
    """Your third custom field."""
    transaction_c4: str | None = None
    """Your fourth custom field, for internal use."""
    custom_data: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    """Your own data, as an object."""
    emv_receipt_data: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    """The data that the receipt of a chip card must show. It is null for cards without a chip."""
    online_payment_cryptogram: str | None = None
    """The cryptogram of a 3-D Secure payment. It is masked in the repr and in `to_dict()`."""
    digital_payment_cryptogram: str | None = None
    """The cryptogram of a wallet's payment. It is masked in the repr and in `to_dict()`."""
    ecommerce_indicator: str | None = None
    """The security level of a payment on the web."""
    tlid: str | None = None
    """The card network's id of the payment."""
    effective_date: date | None = None
    """The day on which a bank payment starts."""
    settle_date: date | None = None
    """The day of the settlement."""
    return_date: date | None = None
    """The day on which the bank returned the payment."""
    charge_back_date: date | None = None
    """The day of the chargeback."""
    void_date: datetime | date | None = None
    """The time of the void."""
    checkin_date: date | None = None
    """The first day of a stay."""
    checkout_date: date | None = None
    """The last day of a stay."""
    room_num: str | None = None
    """The room of a stay."""
    room_rate: Decimal | None = None
    """Daily room rate."""
    advance_deposit: bool | None = None
    """Whether the payment is a deposit for a later stay."""
    no_show: bool | None = None
    """Whether the guest did not come."""
    item: str | None = None
    """The number within the batch, which only old records have."""
    folio_num: str | None = None
    """The order number under another name, which only old records have."""
    code: str | None = None
    """The action, such as AUTH, which only old records have."""
    timestamp: datetime | None = None
    """The time of the processor's response, which only old records have."""
    created_user_id: str | None = None
    """The user who created the transaction."""
    modified_user_id: str | None = None
    """The user of the last change."""
    created_ts: datetime | None = None
    """When it was created, in UTC."""
    modified_ts: datetime | None = None
    """When it was last changed, in UTC."""

    uncertain: ClassVar[frozenset[str]] = frozenset(
        {
            "auth_surcharge_fee",
            "auth_surcharge_rate",
            "bill_payment",
            "code",
            "digital_payment_cryptogram",
            "ecommerce_indicator",
            "external_installment_number",
            "external_installment_total_count",
            "external_recurring_flag",
            "external_recurring_number",
            "folio_num",
            "installment_number",
            "installment_total_count",
            "is_surcharge",
            "item",
            "online_payment_cryptogram",
            "recaptcha_score",
            "recurring_flag",
            "recurring_number",
            "service_country",
            "tlid",
        }
    )

    @property
    def approved(self) -> bool:
        """Whether the payment was approved, fully or partially.

        An ACH payment counts as approved once it is accepted.
        """
        return self.status_id is not None and self.status_id.is_approved

    @property
    def declined(self) -> bool:
        """Whether the issuer, the terminal or the bank declined."""
        return self.status_id in (TransactionStatus.REJECTED, TransactionStatus.DECLINED)

    @property
    def voided(self) -> bool:
        """Whether the transaction was voided before it settled."""
        return self.status_id == TransactionStatus.VOIDED

    @property
    def partially_approved(self) -> bool:
        """Whether less than the requested amount was approved; `auth_amount` is the approved amount."""
        return self.approved and self.reason_code_id == ReasonCode.PARTIALLY_APPROVED

    def raise_for_decline(self) -> "Transaction":
        """Raise `DeclinedError` if this transaction was declined; return it otherwise.

        Raises:
            DeclinedError: the transaction was declined.
        """
        if self.declined:
            raise DeclinedError(
                self, reason_code_id=self.reason_code_id, message=self.response_message or self.verbiage
            )
        return self


def _seal_data(data: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    sealed: Mapping[str, Any] | None = seal(data)
    return sealed


def _seal_change(data: Mapping[str, Any] | Unset | None) -> Mapping[str, Any] | Unset | None:
    sealed: Mapping[str, Any] | Unset | None = seal(data)
    return sealed


@attrs.frozen(kw_only=True, eq=False, repr=False)
class TransactionCreate(Request):
    """A transaction without a terminal: `sale`, `authonly`, `avsonly`, `force`, `refund`, `debit` or `credit`.

    One field identifies the account: `account_number` with `exp_date`, a vault, an earlier transaction, track data or a
    ticket. `transaction_api_id` is generated when omitted, so the transaction can be looked up if the response is
    lost. Without a `location_id` here and on the client, the gateway uses the user's primary location. Give one if the
    same `transaction_api_id` may exist in several locations that the user sees.
    """

    action: CreateAction
    """The action: `sale`, `authonly`, `avsonly`, `force`, `refund`, `debit` or `credit`. Required."""
    payment_method: PaymentMethodCode = PaymentMethod.CARD
    """`cc` for a card (the default), `ach` for a bank account."""
    transaction_amount: Amount | None = None
    """The total with tax, tip and surcharge, at most 10 characters.

    It is above 0. Required for every action except `avsonly`. A refund of an earlier transaction is sent without it
    too, and the gateway decides.
    """
    location_id: Id | None = None
    """The location, at most 36 characters. The default is the client's, or else the user's primary location."""
    location_api_id: LocationApiId | None = None
    """Your id for the location, at most 36 characters, instead of `location_id`."""
    transaction_api_id: OwnApiId | None = None
    """Your id, at most 64 characters without spaces, unique in the location. Generated when omitted."""
    product_transaction_id: Id | None = None
    """The merchant account, at most 36 characters. The default is the location's account for the payment method."""
    contact_id: ContactOrNone | None = None
    """The customer, at most 36 characters."""
    contact_api_id: ApiIdText | None = None
    """Your id for the customer, at most 64 characters, instead of `contact_id`."""

    account_number: CardOrAccountNumber | None = attrs.field(
        default=None, converter=attrs.converters.optional(AccountNumber)
    )
    """The card or bank account number, 4 to 19 digits."""
    exp_date: Expiry | None = None
    """The card's expiry, `MMYY`. Required with the number of a card."""
    cvv: Cvv | None = attrs.field(default=None, converter=attrs.converters.optional(Secret))
    """The card's CVV, 3 or 4 digits."""
    account_vault_id: Id | None = None
    """The vault to charge, at most 36 characters."""
    account_vault_api_id: ApiIdText | None = None
    """Your id for the vault to charge, at most 64 characters."""
    previous_transaction_id: Id | None = None
    """An earlier transaction whose account is used, at most 36 characters. A refund names the sale here."""
    previous_transaction_api_id: ApiIdText | None = None
    """Your id for the earlier transaction, at most 64 characters."""
    track_data: TrackData | None = attrs.field(default=None, converter=attrs.converters.optional(Secret))
    """The data of a card's magnetic stripe, at most 256 characters.

    For `POP` and `C21`, the line at the bottom of the check.
    """
    e_format: SwipeFormat | None = None
    """The format of an encrypted swipe: `ksn`, `ksnpin`, `idtech` or `magnesafe`."""
    e_track_data: HexData | None = attrs.field(default=None, converter=attrs.converters.optional(Secret))
    """The data of an encrypted swipe as hexadecimal digits."""
    e_serial_number: KeySerialNumber | None = None
    """The key serial number of an encrypted swipe, at most 20 hexadecimal digits."""
    ticket: Ticket | None = attrs.field(default=None, converter=attrs.converters.optional(Secret))
    """A ticket for card data, at most 36 characters. The Ticketing method is deprecated."""
    card_present: bool | None = None
    """Whether the card was present. The gateway's default depends on the merchant's industry."""
    wallet_id: WalletId | None = None
    """The wallet, at most 3 characters: `100` is a phone wallet inside an app."""
    cavv: Cryptogram | None = attrs.field(default=None, converter=attrs.converters.optional(Secret))
    """The authentication value of 3-D Secure, at most 40 characters."""
    xid: ThreeDSecureId | None = None
    """The transaction id of 3-D Secure, at most 40 characters."""

    account_holder_name: HolderName | None = None
    """The name on the card or account, at most 60 characters. Required with the number of a bank account."""
    account_type: AnyAccountType | None = None
    """`checking` or `savings`. Required with the number of a bank account."""
    routing: RoutingNumber | None = attrs.field(default=None, converter=attrs.converters.optional(AccountNumber))
    """The bank's routing number, 9 digits. Required with the number of a bank account."""
    ach_sec_code: SecCode | None = None
    """How the account holder agreed: WEB, PPD, CCD, TEL, POP or C21. Required with the number of a bank account."""
    ach_identifier: AchIdentifier | None = None
    """`P` marks a payroll check of `POP` or `C21`. One character."""
    image_front: CheckImage | None = attrs.field(default=None, converter=attrs.converters.optional(Secret))
    """The front of the check as base64, at most 65535 characters. The gateway requires it for `C21`."""
    image_back: CheckImage | None = attrs.field(default=None, converter=attrs.converters.optional(Secret))
    """The back of the check as base64, at most 65535 characters. The gateway requires it for `C21`."""
    check_number: Text | None = None
    """The number of the check, documented with at most 15 characters. The gateway requires it for `TEL` and `C21`."""
    dl_number: LicenseNumber | None = None
    """The account holder's driver's license, at most 50 characters. Only together with `dl_state`."""
    dl_state: LicenseState | None = None
    """The state of the license, 2 letters. Only together with `dl_number`."""
    ssn4: FourDigits | None = None
    """The last four digits of the account holder's social security number."""
    dob_year: FourDigits | None = None
    """The account holder's year of birth, 4 digits."""

    billing_street: Street | None = None
    """The street, at most 64 characters; the contract says 32."""
    billing_city: City | None = None
    """The city, at most 36 characters."""
    billing_state: State | None = None
    """The state or province, at most 26 characters. Canadian merchants send it with `locale`."""
    billing_zip: Zip | None = None
    """The zip code, at most 12 characters."""
    billing_phone: Phone | None = None
    """The phone number, 10 digits."""
    locale: Locale | None = None
    """The locale, 5 characters. Canadian merchants send `en_CA` with `billing_state`."""
    service_address: ServiceStreet | None = None
    """The street where the service is given, at most 32 characters.

    Only Mastercard uses it, if it is not the billing address.
    """
    service_city: ServiceCity | None = None
    """The city of the service address, at most 36 characters."""
    service_state: State | None = None
    """The state of the service address, at most 26 characters."""
    service_zip: ServiceZip | None = None
    """The zip code of the service address, 4 to 12 characters."""
    service_country: Country | None = None
    """The country of the service address as three digits: 840 is the USA."""
    tax: Amount | None = None
    """The tax within the total, at most 10 characters."""
    tip_amount: Amount | None = None
    """The tip within the total, at most 10 characters."""
    subtotal_amount: Amount | None = None
    """The amount without tax and surcharge.

    The gateway requires it if the merchant account has a surcharge or computes the tax.
    """
    surcharge_amount: Amount | None = None
    """The surcharge within the total, at most 10 characters.

    For `sale` and `authonly`, if the merchant account has a surcharge.
    """
    additional_amounts: AmountList | None = attrs.field(default=None, hash=False)
    """Healthcare amounts, such as `{"type": "4S", "amount": "12.50"}`.

    The types are 4S healthcare, 4U prescription, 4V vision, 4W clinic and 4X dental. An amount has at most 12
    characters.
    """
    auth_code: Text | None = None
    """The issuer's approval code, 6 characters. Required for `force`, ignored elsewhere."""
    order_num: OrderNumber | None = None
    """The order number, at most 32 characters. The gateway generates one when omitted."""
    po_number: Text | None = None
    """The purchase order number. The contract says at most 24 characters."""
    clerk_number: Text | None = None
    """The clerk. The contract says at most 16 characters."""
    customer_id: Text | None = None
    """Your id for the customer. The contract says at most 64 characters.

    It replaces a driver's license where bank payments need one.
    """
    customer_ip: Annotated[str, Length(0, 45)] | None = None
    """The customer's IP address, at most 45 characters."""
    description: Description | None = None
    """Your description, at most 64 characters."""
    notification_email_address: Email | None = None
    """The address for the receipt, at most 128 characters."""
    effective_date: date | None = None
    """The day on which a bank payment starts. The default is today."""
    terminal_serial_number: SerialNumber | None = None
    """The serial number of the card reader, at most 24 characters."""
    save_account: bool | None = None
    """Whether to store the account in a new vault. The response has its id in `account_vault_id`."""
    save_account_title: AccountTitle | None = None
    """The title of the vault that `save_account` makes, at most 16 characters."""
    terms_agree: bool | None = None
    """Whether the customer agreed to the terms."""
    tags: TagNames | str | None = attrs.field(default=None, hash=False)
    """Titles of tags: one as text, or a list of texts."""
    transaction_c1: Custom | None = None
    """Your first custom field, at most 128 characters."""
    transaction_c2: Custom | None = None
    """Your second custom field, at most 128 characters."""
    transaction_c3: Custom | None = None
    """Your third custom field, at most 128 characters."""
    transaction_c4: Custom | None = None
    """Your fourth custom field, for internal use, at most 128 characters."""
    custom_data: Mapping[str, Any] | None = attrs.field(default=None, converter=_seal_data, hash=False)
    """Your own data, as an object. The contract says at most 512 characters."""
    checkin_date: date | None = None
    """The first day of a stay. The gateway requires it from lodging merchants."""
    checkout_date: date | None = None
    """The last day of a stay, at most 99 days after the first. The gateway requires it from lodging merchants."""
    room_num: Text | None = None
    """The room. The contract says at most 12 characters."""
    room_rate: Amount | None = None
    """Daily room rate, at most 10 characters. The gateway requires it from lodging merchants."""
    advance_deposit: bool | None = None
    """Whether the payment is a deposit for a later stay."""
    no_show: bool | None = None
    """Whether the guest did not come."""
    allow_partial_authorization_override: bool | None = None
    """Whether a partial approval is allowed, for this payment only. Not for recurring payments."""
    auto_decline_cvv_override: bool | None = None
    """Whether a CVV that could not be checked declines, for this payment only. It needs a CVV."""
    auto_decline_street_override: bool | None = None
    """Whether a wrong street declines, for this payment only. It needs a street."""
    auto_decline_zip_override: bool | None = None
    """Whether a wrong zip code declines, for this payment only. It needs a zip code."""

    rules: ClassVar[tuple[FieldRule, ...]] = (
        ExactlyOne(SOURCES, pair=frozenset({"account_number", "track_data"})),
        NotBoth(("contact_id", "contact_api_id")),
        NotBoth(("location_id", "location_api_id")),
        Together(("dl_number", "dl_state")),
        RequiredWhen("transaction_amount", "action", ("sale", "authonly", "force", "debit", "credit")),
        RequiredWhen("auth_code", "action", ("force",)),
        RequiredWhen("exp_date", "payment_method", ("cc",), given="account_number"),
        *(
            RequiredWhen(field, "payment_method", ("ach",), given="account_number")
            for field in ("ach_sec_code", "account_type", "routing", "account_holder_name")
        ),
    )


@attrs.frozen(kw_only=True, eq=False, repr=False)
class TransactionUpdate(Request):
    """A change to a transaction: `void`, `authcomplete`, `authincrement`, `partialreversal`, `tipadjust` or `edit`.

    Omitted fields keep their values; None is sent as null.
    """

    action: UpdateAction
    """The action: `void`, `authcomplete`, `authincrement`, `partialreversal`, `tipadjust` or `edit`. Required."""
    transaction_amount: Amount | Unset | None = UNSET
    """The new total, at most 10 characters.

    Required for `authincrement` and `partialreversal`, and documented as required for `tipadjust`, where it includes
    the tip. Not allowed with `edit`.
    """
    tip_amount: Amount | Unset | None = UNSET
    """The tip within the total, at most 10 characters. Required for `tipadjust`."""
    tax: Amount | Unset | None = UNSET
    """The tax within the total, at most 10 characters."""
    subtotal_amount: Amount | Unset | None = UNSET
    """The amount without tax and surcharge.

    The gateway requires it for an `authcomplete` of another total with a surcharge.
    """
    surcharge_amount: Amount | Unset | None = UNSET
    """The surcharge within the total, at most 10 characters. For `authcomplete`."""
    order_num: OrderNumber | Unset | None = UNSET
    """The order number, at most 32 characters."""
    po_number: Text | Unset | None = UNSET
    """The purchase order number, at most 250 characters."""
    clerk_number: Text | Unset | None = UNSET
    """The clerk, at most 250 characters."""
    customer_id: Text | Unset | None = UNSET
    """Your id for the customer, at most 250 characters."""
    description: Description | Unset | None = UNSET
    """Your description, at most 64 characters. Also for `edit`."""
    contact_id: ContactOrNone | Unset | None = UNSET
    """The customer, at most 36 characters. Also for `edit`, where `""` detaches the transaction from its customer."""
    contact_api_id: ApiIdText | Unset | None = UNSET
    """Your id for the customer, at most 64 characters, instead of `contact_id`."""
    move_account_vault: bool | Unset | None = UNSET
    """Whether the transaction's vault moves to the new customer as well. Only for `edit`, with `contact_id`."""
    move_account_vault_transactions: bool | Unset | None = UNSET
    """Whether all transactions of the vault move to the new customer as well. Only for `edit`, with `contact_id`."""
    account_holder_name: HolderName | Unset | None = UNSET
    """The name on the card, at most 60 characters."""
    exp_date: Expiry | Unset | None = UNSET
    """The card's expiry, `MMYY`."""
    account_vault_api_id: ApiIdText | Unset | None = UNSET
    """Your id for the vault, at most 64 characters; the contract says 36."""
    location_api_id: LocationApiId | Unset | None = UNSET
    """Your id for the transaction's location, at most 36 characters."""
    quick_invoice_id: Id | Unset | None = UNSET
    """The quick invoice that the transaction pays, at most 36 characters."""
    terminal_serial_number: SerialNumber | Unset | None = UNSET
    """The serial number of the card reader, at most 24 characters."""
    billing_street: Street | Unset | None = UNSET
    """The street, at most 64 characters."""
    billing_city: City | Unset | None = UNSET
    """The city, at most 36 characters."""
    billing_state: State | Unset | None = UNSET
    """The state or province, at most 26 characters."""
    billing_zip: Zip | Unset | None = UNSET
    """The zip code, at most 12 characters."""
    billing_phone: Phone | Unset | None = UNSET
    """The phone number, 10 digits."""
    notification_email_address: Email | Unset | None = UNSET
    """The address for the receipt, at most 128 characters."""
    tags: TagNames | str | Unset | None = attrs.field(default=UNSET, hash=False)
    """Titles of tags: one as text, or a list of texts. They replace the earlier ones. Also for `edit`."""
    transaction_c1: Custom | Unset | None = UNSET
    """Your first custom field, at most 128 characters."""
    transaction_c2: Custom | Unset | None = UNSET
    """Your second custom field, at most 128 characters."""
    transaction_c3: Custom | Unset | None = UNSET
    """Your third custom field, at most 128 characters."""
    transaction_c4: Custom | Unset | None = UNSET
    """Your fourth custom field, for internal use, at most 128 characters."""
    custom_data: Mapping[str, Any] | Unset | None = attrs.field(default=UNSET, converter=_seal_change, hash=False)
    """Your own data, as an object."""
    checkin_date: date | Unset | None = UNSET
    """The first day of a stay."""
    checkout_date: date | Unset | None = UNSET
    """The last day of a stay, at most 99 days after the first."""
    room_num: Text | Unset | None = UNSET
    """The room, at most 250 characters."""
    room_rate: Amount | Unset | None = UNSET
    """Daily room rate, at most 10 characters."""
    advance_deposit: bool | Unset | None = UNSET
    """Whether the payment is a deposit for a later stay."""
    no_show: bool | Unset | None = UNSET
    """Whether the guest did not come."""

    rules: ClassVar[tuple[FieldRule, ...]] = (
        NotBoth(("contact_id", "contact_api_id")),
        RequiredWhen("transaction_amount", "action", ("authincrement", "partialreversal")),
        RequiredWhen("tip_amount", "action", ("tipadjust",)),
        RequiredWhen("contact_id", "move_account_vault", (True,)),
        RequiredWhen("contact_id", "move_account_vault_transactions", (True,)),
        NotWhen("transaction_amount", "action", ("edit",)),
        NotWhen("move_account_vault", "action", _MOVING_ACTIONS),
        NotWhen("move_account_vault_transactions", "action", _MOVING_ACTIONS),
    )


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RouterTransactionCreate(Request):
    """A transaction at a terminal. The request stays open until the terminal has finished.

    Without a `location_id` here and on the client, the gateway uses the user's primary location.
    """

    action: TerminalAction
    """The action: `sale`, `authonly`, `avsonly`, `force`, `refund` or `settle`. Required."""
    terminal_id: Id
    """The terminal, at most 36 characters. Required."""
    transaction_amount: Amount
    """The total, at most 10 characters. Required."""
    payment_method: PaymentMethodCode = PaymentMethod.CARD
    """`cc`, the default, because terminals read cards."""
    location_id: Id | None = None
    """The location, at most 36 characters. The default is the client's, or else the user's primary location."""
    transaction_api_id: OwnApiId | None = None
    """Your id, at most 64 characters without spaces, unique in the location. Generated when omitted."""
    product_transaction_id: Id | None = None
    """The merchant account, at most 36 characters. The default is the location's account for cards."""
    contact_id: Id | None = None
    """The customer, at most 36 characters."""
    contact_api_id: ApiIdText | None = None
    """Your id for the customer, at most 64 characters, instead of `contact_id`."""
    order_num: OrderNumber | None = None
    """The order number, at most 32 characters. The gateway generates one when omitted."""
    description: Description | None = None
    """Your description, at most 64 characters."""
    tax: Amount | None = None
    """The tax within the total, at most 10 characters."""
    auth_code: TerminalAuthCode | None = None
    """The issuer's approval code, at most 6 characters. Only for `force`."""
    batch: BatchNumber | None = None
    """The batch to settle. Only for `settle`."""
    save_account: bool | None = None
    """Whether to store the card in a new vault. The response has its id in `account_vault_id`."""
    billing_street: Street | None = None
    """The street, at most 64 characters."""
    billing_zip: Zip | None = None
    """The zip code, at most 12 characters; the contract says 10."""
    po_number: Text | None = None
    """The purchase order number, at most 250 characters."""
    clerk_number: Text | None = None
    """The clerk, at most 250 characters."""
    notification_email_address: Email | None = None
    """The address for the receipt, at most 128 characters."""
    checkin_date: date | None = None
    """The first day of a stay. The gateway requires it from lodging merchants."""
    checkout_date: date | None = None
    """The last day of a stay, at most 99 days after the first. The gateway requires it from lodging merchants."""
    room_num: TerminalRoom | None = None
    """The room, at most 12 characters."""
    room_rate: Amount | None = None
    """Daily room rate, at most 10 characters. The gateway requires it from lodging merchants."""
    advance_deposit: bool | None = None
    """Whether the payment is a deposit for a later stay."""
    no_show: bool | None = None
    """Whether the guest did not come."""

    rules: ClassVar[tuple[FieldRule, ...]] = (NotBoth(("contact_id", "contact_api_id")),)
