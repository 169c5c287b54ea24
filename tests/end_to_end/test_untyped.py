"""Resources without models at the sandbox."""

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


async def test_verbs(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """Create, get, list, update, delete and an action in the path."""
    contacts = gateway.resource("contacts", name="contact", api_id="contact_api_id")
    made = await contacts.create({"last_name": "Lovelace-Tea", "location_id": sandbox.location_id})
    changed = await contacts.update(made["id"], {"first_name": "Ada"})
    assert (changed["first_name"], (await contacts.get(made["id"]))["last_name"]) == ("Ada", "Lovelace-Tea")
    assert [each.id async for each in contacts.list({"last_name": "Lovelace-Tea"})] == [made.id]
    assert await contacts.list({"last_name": "Lovelace-Tea"}).count() == 1
    await contacts.delete(made["id"])
    paylinks = gateway.resource("paylinks", name="paylink", api_id="paylink_api_id")
    link = await paylinks.create({"amount_due": "5.00", "contact_id": sandbox.contact_id, "email": "ada@example.test"})
    await paylinks.action(link["id"], "resend", params={"email": 1})


@pytest.mark.parametrize(
    ("plural", "is_shown"), [("contacts", True), ("users", True), ("locations", True), ("accountvaults", False)]
)
async def test_the_number_of_a_customer_is_no_bank_account(gateway: AsyncGateway, plural: str, is_shown: bool) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        await gateway.resource(plural, name=plural[:-1]).create({"account_number": "C-100123", "amount_due": 0.5})
    frames = [frame.f_locals.get("new", {}) for frame, _ in traceback.walk_tb(refused.value.__traceback__)]
    sealed = [each for each in frames if each]
    assert {"C-100123" in str(each) for each in sealed} == {is_shown}


async def test_device_terms(sandbox: Sandbox) -> None:
    """They get a generated id, and their signature stays sealed."""
    new = {"terminal_id": sandbox.terminal_id, "terms_conditions": "Tea is served at five.", "require_signature": True}
    async with sandbox.gateway() as gateway:
        terms = gateway.resource("deviceterms", name="deviceterm", api_id="device_terms_api_id")
        accepted = await terms.create(new)
        assert (accepted["reason_code_id"], accepted["signature"]["resource"].reveal()) == (1000, "DeviceTerm")
        assert len(accepted["device_term_api_id"]) == 32
        assert await terms.list().count() == 1


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


async def test_a_refusal_of_a_single_request_names_its_fields(gateway: AsyncGateway) -> None:
    with pytest.raises(ValidationError) as refused:
        await gateway.request("POST", "/v2/contacts", body={"contact": {}})
    assert "last_name" in refused.value.fields
    reply = await gateway.request("GET", "/v2/contacts", params={"page_size": 1})
    assert reply.status_code == 200
    assert "contacts" in reply.json()
