"""What errors, records and logs of resources without models show: no secret."""

import re
import traceback
from typing import Any

import pytest

from gateway_async import AsyncGateway, InvalidRequestError, ValidationError
from gateway_async.sandbox import Sandbox

pytestmark = pytest.mark.anyio

CARD = "4111111111111111"
SALE: dict[str, Any] = {
    "action": "sale",
    "payment_method": "cc",
    "transaction_amount": "12.50",
    "account_number": CARD,
    "exp_date": "1230",
}


def transactions(gateway: AsyncGateway) -> Any:
    """Return transactions as if this package had no model for them."""
    return gateway.resource("transactions", name="transaction", api_id="transaction_api_id")


@pytest.mark.parametrize(
    ("plural", "is_shown"), [("contacts", True), ("users", True), ("locations", True), ("accountvaults", False)]
)
async def test_the_number_of_a_customer_is_no_bank_account(gateway: AsyncGateway, plural: str, is_shown: bool) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        await gateway.resource(plural, name=plural[:-1]).create({"account_number": "C-100123", "amount_due": 0.5})
    frames = [frame.f_locals.get("new", {}) for frame, _ in traceback.walk_tb(refused.value.__traceback__)]
    sealed = [each for each in frames if each]
    assert {"C-100123" in str(each) for each in sealed} == {is_shown}


async def test_traceback(gateway: AsyncGateway) -> None:
    """Frames of the package hold secrets only, whether the call is refused here or by the gateway."""
    wrong = {**SALE, "transaction_amount": "0.00", "cvv": "987"}
    for call in (
        lambda content: transactions(gateway).create(content),
        lambda content: gateway.request("POST", "/v2/transactions", body={"transaction": content}),
        lambda content: transactions(gateway).create({**content, "tax": 1.5}),
    ):
        with pytest.raises(Exception, match=r"amount|tax") as refused:
            await call(wrong)
        told = traceback.TracebackException.from_exception(refused.value, capture_locals=True)
        frames = [frame for frame in told.stack if "/gateway_async/" in frame.filename]
        assert frames
        # Not a part of an id, an address or a time.
        secret = re.compile(rf"{CARD}|(?<![\w.])987(?!\w)")
        assert not any(secret.search(text) for frame in frames for text in (frame.locals or {}).values())


async def test_key(gateway: AsyncGateway, sandbox: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    """A generated key, a password and a bank account are in the records and requests only."""
    caplog.set_level("DEBUG")
    users, locations = gateway.resource("users", name="user"), gateway.resource("locations", name="location")
    planted = ["Planted-secret-1", "planted-api-key", "planted-hash-key-of-24-or-more", "072000326", "100020003000"]
    content = dict(zip(("password", "user_api_key", "user_hash_key"), planted, strict=False))
    bank = {"name": "Branch", "parent_id": sandbox.location_id, "aba": "072000326", "dda": "100020003000"}
    user, location = await users.create(content), await locations.create(bank)
    generated = await users.action(user["id"], "generateuserapikey")
    assert generated is not None
    shown = [f"{record!r} {record.to_dict()}" for record in (user, location, generated)]
    with pytest.raises(ValidationError) as refused:
        await users.create({**content, "email": "x" * 200})
    told = traceback.TracebackException.from_exception(refused.value, capture_locals=True)
    shown += [
        text for frame in told.stack if "/gateway_async/" in frame.filename for text in (frame.locals or {}).values()
    ]
    text = " ".join([*shown, str(refused.value), caplog.text])
    assert not [secret for secret in (*planted, generated["user_api_key"].reveal()) if secret in text]
