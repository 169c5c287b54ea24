"""The forms of values in the records of transactions, as documented and recorded, on both sides."""

from functools import partial
from typing import Any

import pytest

from .raw_client import RawClient
from .sides import Side, refusal

FACTS: dict[str, Any] = {
    "bill_payment": 0,
    "recurring_flag": "no",
    "external_recurring_flag": "no",
    **dict.fromkeys(
        f"{series}{fact}"
        for series in ("", "external_")
        for fact in ("recurring_number", "installment_number", "installment_total_count")
    ),
    **dict.fromkeys(("is_surcharge", "auth_surcharge_rate", "auth_surcharge_fee", "recaptcha_score", "tlid")),
    **dict.fromkeys(("online_payment_cryptogram", "digital_payment_cryptogram", "ecommerce_indicator")),
}
"""Field → value of a single payment."""


@pytest.mark.parametrize("action", ["sale", "authonly"])
def test_single_payment(side: Side, action: str) -> None:
    """Facts of recurring payments and installments are `no` or null."""
    made = side.pay(action=action)
    assert {name: made[name] for name in FACTS} == FACTS


@pytest.mark.parametrize(
    ("action", "batch", "code", "verbiage", "message"),
    [
        ("sale", True, 6, "APPROVED", "00"),
        ("authonly", False, 6, "APPROVED", "00"),
        ("avsonly", False, 0, "APPROVAL", None),
        ("refund", True, 0, "APPROVED", None),
    ],
)
def test_approved_payment(side: Side, action: str, batch: bool, code: int, verbiage: str, message: str | None) -> None:
    """The batch is a number as text or null, the approval code has six characters or none."""
    made = side.pay(action=action, transaction_amount=... if action == "avsonly" else "12.50")
    assert (str(made["batch"]).isdigit(), len(made["auth_code"])) == (batch, code)
    assert (made["verbiage"], made["response_message"]) == (verbiage, message)
    assert (made["room_rate"], made["notification_email_sent"]) == ("0.00", True)


def test_integrator_location(side: Side, raw_client: RawClient) -> None:
    """The integrator id replaces `location_id`, also while the SDK has a default."""
    own = raw_client.location_api_id()
    assert side.pay(location_api_id=own)["location_id"] == raw_client.info.location_id
    for fields in (
        {"location_api_id": "elsewhere"},
        {"location_api_id": own, "location_id": raw_client.info.location_id},
    ):
        assert set(refusal(partial(side.pay, **fields))) == {"location_api_id"}
