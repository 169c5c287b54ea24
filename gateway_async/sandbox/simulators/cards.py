"""Reads cards and bank accounts, and keeps only permitted data.

An `Account` is all that remains after a request: brand, first six, last four, holder and expiry. The account number
does not leave the functions of this module. Their errors are the predicates of sentences: "is not a valid card number."
"""

import re
from typing import Literal

import attrs

_MOST_SHOWN = 10
"""The digits of `first_six` and `last_four`."""

_DIGITS = re.compile(r"[0-9]+")
_EXPIRY = re.compile(r"(0[1-9]|1[0-2])[0-9]{2}")
_TRACK_1 = re.compile(r"%?B([0-9]{12,19})\^([^^]{2,26})\^([0-9]{4})")
_TRACK_2 = re.compile(r";?([0-9]{12,19})[=D]([0-9]{4})")
_ROUTING_WEIGHTS = (3, 7, 1, 3, 7, 1, 3, 7, 1)

_BRANDS = tuple(
    (brand, re.compile(pattern))
    for brand, pattern in (
        ("amex", r"3[47][0-9]{13}"),
        ("visa", r"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})"),
        ("mc", r"(?:5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}"),
        ("disc", r"6(?:011|4[4-9][0-9]|5[0-9]{2})[0-9]{12,15}"),
        ("jcb", r"35(?:2[89]|[3-8][0-9])[0-9]{12,15}"),
        ("diners", r"3(?:0[0-5]|[689][0-9])[0-9]{11,16}"),
    )
)

TEST_CARDS = {
    "visa": "4111111111111111",
    "mc": "5454545454545454",
    "amex": "371449635398431",
    "disc": "6011000995500000",
}
"""One published test card of each brand; the mock terminals use them."""

EntryMode = Literal["S", "K", "C", "P", "F", "B"]
"""How a card is read: swiped, keyed, chip, contactless, fallback, bar code."""

_CARD_NUMBER = re.compile(
    r"(?<![0-9A-Za-z.])[0-9](?:[ -]?[0-9]){11,18}(?![0-9A-Za-z])"
    r"|(?<=B)[0-9]{12,19}(?=\^)|(?<=;)[0-9]{12,19}(?=[=D])"
)
"""A number by itself, or from a magnetic stripe."""

DEBIT_CARDS = {"visa": "4556773060150333", "mc": "5435815271011988"}
"""The published debit test cards; the mc one is prepaid."""

_FUND_SOURCES = {DEBIT_CARDS["visa"][:6]: "D", DEBIT_CARDS["mc"][:6]: "P"}
"""The `account_fund_source` of the debit test cards: D debit, P prepaid; any other card is C, credit."""

_PRODUCTS = {"visa": "V", "mc": "M", "amex": "A", "disc": "D", "jcb": "J", "diners": "N"}
_NETWORKS = {"disc": "00", "diners": "01", "jcb": "02"}
_CREDIT_CARD, _DEBIT_CARD = "X", "E"

_SHARED = {
    "issuer_bank_name": "Sandbox Bank",
    "country_code": "USA",
    "fsa_indicator": "",
    "product_id": "G",
    "regulator_indicator": "N",
    "visa_product_sub_type": "",
    "visa_large_ticket_indicator": "",
    "card_class": "B",
    "token_ind": "",
}


@attrs.frozen
class Account:
    """The permitted data of a card or a bank account.

    Attributes:
        payment_method: `cc` or `ach`.
        account_type: The brand of a card, or `checking` or `savings` for a bank account.
        first_six: None for a bank account whose number it would complete.
        exp_date: MMYY, for cards.
        vault_id: The source account vault, if any.
        transaction_id: The source transaction, if any.
    """

    payment_method: str
    account_type: str
    first_six: str | None
    last_four: str
    exp_date: str | None = None
    account_holder_name: str | None = None
    routing: str | None = None
    ach_sec_code: str | None = None
    entry_mode: str = "K"
    billing_street: str | None = None
    billing_zip: str | None = None
    vault_id: str | None = None
    transaction_id: str | None = None


def read_card(number: str, exp_date: str | None = None, holder: str | None = None, mode: str = "K") -> Account:
    """Read a card number."""
    brand = next((brand for brand, pattern in _BRANDS if pattern.fullmatch(number)), None)
    if brand is None or not passes_luhn(number):
        raise ValueError("is not a valid card number.")
    return Account("cc", brand, number[:6], number[-4:], exp_date, holder, entry_mode=mode)


def read_track(track: str) -> Account:
    """Read the magnetic stripe of a card, track 1 or track 2."""
    if first := _TRACK_1.search(track):
        number, holder, expiry = first.groups()
    elif second := _TRACK_2.search(track):
        number, holder, expiry = second[1], None, second[2]
    else:
        raise ValueError("is not a readable magnetic stripe.")
    return read_card(number, check_expiry(expiry[2:] + expiry[:2]), holder and holder.strip(), mode="S")


def read_bank_account(number: str, routing: str, account_type: str, holder: str) -> Account:
    """Read a bank account; the routing number and the length were already checked."""
    if not _DIGITS.fullmatch(number):
        raise ValueError("must be digits only.")
    first_six = number[:6] if len(number) > _MOST_SHOWN else None
    return Account("ach", account_type, first_six, number[-4:], account_holder_name=holder, routing=routing)


def check_expiry(exp_date: str) -> str:
    """Check that an expiry has the form MMYY, and return it."""
    if not _EXPIRY.fullmatch(exp_date):
        raise ValueError("must be of the form MMYY.")
    return exp_date


def passes_luhn(number: str) -> bool:
    """Whether the check digit of a card number is right."""
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in number[-2::-2])
    return (sum(map(int, number[-1::-2])) + sum(doubled)) % 10 == 0


def mask_card_numbers(text: str) -> str:
    """Mask every card number in a text, but for its last digits."""
    return _CARD_NUMBER.sub(_mask, text)


def _mask(found: re.Match[str]) -> str:
    digits = re.sub(r"[ -]", "", found[0])
    return f"{'*' * (len(digits) - 4)}{digits[-4:]}" if passes_luhn(digits) else found[0]


def is_routing(number: str) -> bool:
    """Whether a routing number is nine digits with check digit."""
    return (
        len(number) == len(_ROUTING_WEIGHTS)
        and bool(_DIGITS.fullmatch(number))
        and sum(weight * int(digit) for weight, digit in zip(_ROUTING_WEIGHTS, number, strict=True)) % 10 == 0
    )


def is_debit(first_six: str | None) -> bool:
    """Whether the gateway removes surcharges from payments with the card."""
    return first_six in _FUND_SOURCES


def read_bin_info(brand: str, first_six: str) -> dict[str, str | None]:
    """Read the BIN info of a card."""
    source = _FUND_SOURCES.get(first_six, "C")
    return _SHARED | {
        "detail_card_product": _PRODUCTS[brand],
        "detail_card_indicator": _DEBIT_CARD if is_debit(first_six) else _CREDIT_CARD,
        "prepaid_indicator": "Y" if source == "P" else "",
        "account_fund_source": source,
        "issuing_network": _NETWORKS.get(brand),
    }
