"""The properties of a card that its first six digits identify (contract, "BIN info")."""

__all__ = ["DEBIT_CARDS", "is_debit", "read_bin_info"]


DEBIT_CARDS = {"visa": "4556773060150333", "mc": "5435815271011988"}
"""The published debit test cards; that of mc is prepaid."""

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


def is_debit(first_six: str | None) -> bool:
    """Return whether the gateway removes surcharges from payments with the card."""
    return first_six in _FUND_SOURCES


def read_bin_info(brand: str, first_six: str) -> dict[str, str | None]:
    """Return the BIN info of a card."""
    source = _FUND_SOURCES.get(first_six, "C")
    return _SHARED | {
        "detail_card_product": _PRODUCTS[brand],
        "detail_card_indicator": _DEBIT_CARD if is_debit(first_six) else _CREDIT_CARD,
        "prepaid_indicator": "Y" if source == "P" else "",
        "account_fund_source": source,
        "issuing_network": _NETWORKS.get(brand),
    }
