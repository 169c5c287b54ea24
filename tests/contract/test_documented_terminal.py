"""The documented test amounts of the mock terminal, row by row, through raw HTTP and through the SDK."""

from typing import Any

import pytest

from .raw_client import RawClient
from .sides import Side

BRANDS = {"visa", "mc", "amex", "disc"}
READ = """
    7.10 K any
    7.11 S any
    7.12 S any
    7.13 S any
    7.14 C any
    7.15 C any
    7.16 C any
    7.17 C any
    7.18 P any
    7.19 P any
    7.20 P any
    7.21 P any
    7.50 K visa
    7.51 K mc
    7.52 K amex
    7.53 K disc
    7.54 S visa
    7.55 S mc
    7.56 S amex
    7.57 S disc
"""
"""Amount, `entry_mode_id` and brand of each amount that reads a card."""

ENDED = {
    "5.01": "CONNECT ERROR",
    "5.31": "TIMEOUT",
    "5.99": "ABORTED",
    "7.70": "Transaction Timeout",
    "7.72": "Card Entry Timeout",
    "7.73": "Pin Entry Timeout",
    "7.75": "Signature Input Timeout",
    "7.76": "Signature Storage Timeout",
}
"""The text of each amount that ends without a card."""


@pytest.fixture
def pay(side: Side, raw_client: RawClient) -> Any:
    """Run a sale of an amount at the mock terminal, and return its values."""
    sale = {"action": "sale", "payment_method": "cc", "terminal_id": raw_client.info.terminal_id}
    return lambda amount: side.create("routertransactions", sale | {"transaction_amount": amount})


def test_chip_amounts(pay: Any) -> None:
    """A chip, inserted or contactless, fills `emv_receipt_data`."""
    for amount, mode, brand in (line.split() for line in READ.strip().splitlines()):
        made = pay(amount)
        assert (made["status_id"], made["entry_mode_id"]) == (101, mode), amount
        assert made["account_type"] in (BRANDS if brand == "any" else {brand}), amount
        assert (made["emv_receipt_data"] is not None) == (mode in "CP"), amount


def test_an_amount_declines_with_the_terminals_text(pay: Any) -> None:
    for amount, text in ENDED.items():
        made = pay(amount)
        assert (made["status_id"], made["verbiage"], made["response_message"]) == (301, text, text), amount
        assert (made["auth_amount"], made["last_four"]) == ("0.00", None), amount
