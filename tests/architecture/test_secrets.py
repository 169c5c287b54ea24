"""No model, error, log line or traceback shows a secret."""

import logging
import re
import traceback
from datetime import date
from decimal import Decimal
from typing import Any, get_args, get_type_hints

import attrs
import httpx
import pytest

import gateway_async as ga
from gateway_async import AsyncGateway, GatewayError, UserApiKey
from gateway_async._secrets import Secret, is_confidential
from gateway_async._wire.fields import fields_of
from gateway_async._wire.validation import problems
from gateway_async.models.record import Record
from gateway_async.models.request import Request

from .source import NOUNS

CARD = "4111111111111111"
PLANTED = {
    "account_number": CARD,
    "cvv": "7391",
    "track_data": ";4012888888881881=30091010000012345678?",
    "routing": "072000326",
    "e_track_data": "0f0e0d0c0b0a09",
    "e_serial_number": "f0f1f2f3f4f5",
    "ticket": "ticket-5e1d",
    "cavv": "authenticated-3d1c",
    "xid": "three-ds-77aa",
    "image_front": "aW1hZ2UtZnJvbnQ=",
    "image_back": "aW1hZ2UtYmFjaw==",
    "ssn4": "8264",
    "dob_year": "1971",
    "date_of_birth": "1983-05-06",
    "dl_number": "LICENSE-77",
    "basic_auth_password": "basic-5c0e",
}
IN_RECORDS = {"online_payment_cryptogram": "cryptogram-91f0", "digital_payment_cryptogram": "cryptogram-44b2"}
"""The secrets that only records contain."""
KEY = "planted-key-82c1"


def shown_secrets(*texts: object) -> set[str]:
    """Return the planted values in any of the texts; four digits inside another number do not count."""
    text = " ".join(map(str, texts))
    planted = (*PLANTED.values(), *IN_RECORDS.values(), "4012888888881881", KEY)
    return {value for value in planted if value in text and (len(value) > 4 or re.search(rf"\b{value}\b", text))}


def kinds(parent: type[Any]) -> list[Any]:
    """Return the request or the record classes of all nouns."""
    return [
        kind
        for module in NOUNS
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, parent) and kind is not parent
    ]


def filled(kind: Any) -> Any:
    """Make an object of `kind` with a planted value in every field, and a card number in every other text."""
    hints = get_type_hints(kind)
    values: dict[str, Any] = {"extra": {**PLANTED, CARD: CARD}}
    for field in attrs.fields(kind):
        if field.name in PLANTED and not (field.name == "account_number" and kind.__name__.startswith("Contact")):
            values[field.name] = PLANTED[field.name]
        elif field.name in IN_RECORDS:
            values[field.name] = IN_RECORDS[field.name]
        elif field.name != "extra":
            values[field.name] = {"deep": [{"note": f"card {CARD}"}]} if "Mapping" in str(hints[field.name]) else CARD
    return kind(**values)


def test_models() -> None:
    """Neither repr nor str nor a format shows a planted value of any field."""
    for full in map(filled, [*kinds(Request), *kinds(Record)]):
        assert shown_secrets(repr(full), str(full), f"{full}", [full], {"it": full}) == set()


def test_no_problem_of_a_planted_value_shows_it() -> None:
    for kind in kinds(Request):
        assert shown_secrets(*problems(filled(kind))) == set(), kind


def test_every_secret_field_is_planted() -> None:
    secret = {
        name
        for kind in kinds(Request)
        for name, hint in get_type_hints(kind).items()
        if any(isinstance(part, type) and issubclass(part, Secret) for part in (hint, *get_args(hint)))
    }
    hidden = {name for kind in kinds(Request) for name in fields_of(kind) if is_confidential(f"{kind.__name__}.{name}")}
    assert secret | hidden == set(PLANTED)


def echo(request: httpx.Request, status: int, form: str) -> httpx.Response:
    """Return a response that repeats everything of the request."""
    said = f"{request.url} {request.content.decode()}"
    bodies: dict[str, Any] = {
        "message": {"json": {"message": said}},
        "fields": {"json": {"errors": {"account_number": [said]}}},
        "unknown form": {"json": {"request": said}},
        "html": {"html": f"<html><body><p>{said}</p></body></html>"},
        "text": {"text": said},
    }
    return httpx.Response(status, **bodies[form])


def planted(*names: str) -> dict[str, Any]:
    """Return fields with their planted values."""
    return {name: PLANTED[name] for name in names}


SALE: dict[str, Any] = {"action": "sale", "transaction_amount": Decimal("12.50"), "exp_date": "0930"}
CHECK: dict[str, Any] = {
    "action": "debit",
    "payment_method": "ach",
    "ach_sec_code": "C21",
    "account_type": "checking",
    "account_holder_name": "Jo",
    "transaction_amount": 1,
}
CHECK_FIELDS = ("routing", "image_front", "image_back")
INVOICE: dict[str, Any] = {"title": f"card {CARD}", "due_date": date(2026, 12, 1), "item_list": {"Tea": 1}}
CONFIG: dict[str, Any] = {"url": "https://shop.test", "resource": "contact"}
REQUESTS: list[tuple[str, Request]] = [
    ("account_vaults", ga.CardVaultCreate(exp_date="0930", **planted("account_number", "ssn4"))),
    ("account_vaults", ga.SwipedVaultCreate(**planted("track_data", "dob_year"))),
    ("transactions", ga.TransactionCreate(**SALE, **planted("account_number", "cvv", "routing", "ssn4", "dob_year"))),
    ("transactions", ga.TransactionCreate(action="avsonly", description=f"card {CARD}", **planted("ticket"))),
    ("transactions", ga.TransactionCreate(**SALE, **planted("e_track_data", "cavv", "xid"))),
    ("transactions", ga.TransactionCreate(**CHECK, **planted("account_number", "track_data", *CHECK_FIELDS))),
    ("quick_invoices", ga.QuickInvoiceCreate(**INVOICE, dl_state="FL", **planted("ssn4", "dl_number"))),
    ("postback_configs", ga.PostbackConfigCreate(**CONFIG, **planted("basic_auth_password"))),
]


@pytest.mark.parametrize("status", [200, 400, 401, 409, 422, 500])
@pytest.mark.asyncio
async def test_no_error_log_or_traceback_shows_a_secret(status: int, caplog: pytest.LogCaptureFixture) -> None:
    for resource, new in REQUESTS:
        for form in ("message", "fields", "unknown form", "html", "text"):
            caplog.clear()
            assert await secrets_shown(resource, new, status, form, caplog) == set(), (resource, form)


async def secrets_shown(
    resource: str, new: Request, status: int, form: str, caplog: pytest.LogCaptureFixture
) -> set[str]:
    """Return the secrets that the error, the events and the log of a call show."""
    transport = httpx.MockTransport(lambda request: echo(request, status, form))
    events: list[object] = []
    with caplog.at_level(logging.DEBUG):
        async with AsyncGateway(
            "https://gateway.test",
            developer_id="dev",
            credentials=UserApiKey("user", KEY),
            location_id="loc",
            transport=transport,
            observers=[events.append],
            max_attempts=1,
        ) as gateway:
            with pytest.raises(GatewayError) as failed:
                await getattr(gateway, resource).create(new)
    printed = "".join(traceback.format_exception(failed.value))
    assert caplog.text
    return shown_secrets(printed, repr(failed.value), failed.value.args, vars(failed.value), events, caplog.text)
