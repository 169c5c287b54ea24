"""`gateway-async listen`: what it shows of postbacks, which configs it makes and removes, how it ends."""

import json
import re
import signal
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from gateway_async import AsyncGateway, ContactCreate, TransactionCreate
from gateway_async._wire.postback import postback_of
from gateway_async.cli.postback_format import postback_event, refusal_event
from gateway_async.postbacks import Postback
from gateway_async.sandbox import Sandbox
from tests.support.processes import Listen, Start
from tests.support.waiting import PATIENCE

SAMPLES = Path(__file__).parents[1] / "samples"
SALE = TransactionCreate(action="sale", account_number="4111111111111111", exp_date="0930", transaction_amount="12.50")


def sample(name: str) -> dict[str, str]:
    fields: dict[str, str] = json.loads((SAMPLES / f"postback-{name}.json").read_text())
    return fields


def line_of(postback: Postback[Any]) -> str:
    """What people see of a postback, without the time."""
    return str(postback_event(postback).line)


def post(url: str, fields: dict[str, str], **options: Any) -> int:
    """Send a postback as gateways do, and return the status of the response."""
    return httpx.post(url, data=fields, trust_env=False, **options).status_code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_json(listen: Listen, number: signal.Signals) -> None:
    """Each is one object with the record as it came; a signal is the normal end: status 0, not a word more."""
    process, url = listen()
    fields = sample("transaction-create")
    assert post(url, fields) == 204
    printed = next(process.events())
    assert {name: printed[name] for name in ("event", "type", "resource", "number_of_attempts")} == {
        "event": "postback",
        "type": "CREATE",
        "resource": "transaction",
        "number_of_attempts": 1,
    }
    assert printed["data"] == json.loads(fields["data"])
    assert printed["id"] == printed["data"]["id"]
    assert datetime.fromisoformat(printed["at"]).tzinfo
    assert process.stop(number) == (0, "", "")


def test_refusals(listen: Listen) -> None:
    """Wrong credentials, another method and an invalid body are rejected, and shown with the reason."""
    process, url = listen("--username", "shop", "--password", "secret")
    printed = process.events()
    assert post(url, sample("contact-create")) == 401
    assert post(url, {"type": "CREATE"}, auth=("shop", "secret")) == 400
    assert httpx.get(url, trust_env=False).status_code == 405
    assert post(url, sample("contact-create"), auth=("shop", "secret")) == 204
    said = [next(printed) for _ in range(4)]
    assert [(each["event"], each.get("status")) for each in said] == [
        ("refused", 401),
        ("refused", 400),
        ("refused", 405),
        ("postback", None),
    ]
    assert "credentials" in said[0]["reason"]
    assert process.stop() == (0, "", "")


def test_lines(start: Start) -> None:
    """Without `--json`: where it listens, then time, type, resource, id and state of what comes."""
    process = start("listen", "--port", "0")
    assert process.stdout
    url = process.stdout.readline().split()[-1]
    assert process.stdout.readline() == "Press Ctrl-C to stop.\n"
    post(url, sample("transactionbatch-update"))
    words = process.stdout.readline().split()
    assert words[1:] == ["UPDATE", "transactionbatch", "11e92008f72039289e394e29", "batch", "1", "settled"]
    assert process.stop(signal.SIGINT) == (0, "", "")


@pytest.mark.asyncio
async def test_other_process(
    listen: Listen, sandbox: Sandbox, gateway: AsyncGateway, environment: dict[str, str]
) -> None:
    """With `--create-configs` a sale and a new contact arrive, with credentials; at the end the configs are gone."""
    options = ("--create-configs", "--product-transaction-id", sandbox.cc_product_transaction_id)
    process, _ = listen(*options, **environment)
    sale = await gateway.transactions.create(SALE)
    contact = await gateway.contacts.create(ContactCreate(last_name="Ada"))
    printed = process.events()
    heard = {(each["type"], each["resource"], each["id"]) for each in (next(printed) for _ in range(3))}
    assert {("CREATE", "transaction", sale.id), ("CREATE", "contact", contact.id)} <= heard
    assert {resource for _, resource, _ in heard} == {"transaction", "transactionbatch", "contact"}
    assert process.stop()[0] == 0
    before = len(sandbox.postbacks())
    await gateway.contacts.create(ContactCreate(last_name="Ben"))
    assert len(sandbox.postbacks()) == before


@pytest.mark.asyncio
async def test_failed_configs(
    sandbox: Sandbox, gateway: AsyncGateway, environment: dict[str, str], start: Start
) -> None:
    """If the gateway refuses one, those before it are removed, and the error is one line."""
    options = ("--create-configs", "--product-transaction-id", "nobody")
    process = start("listen", "--json", "--port", "0", *options, **environment)
    output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output) == (1, "")
    assert errors.startswith("gateway-async: POST /v2/postbackconfigs: validation failed (422): product_transaction_id")
    assert errors.count("\n") == 1
    await gateway.contacts.create(ContactCreate(last_name="Ada"))
    assert sandbox.postbacks() == []


def test_remaining_config(listen: Listen) -> None:
    """When the gateway is gone before it, its end says which config is still there."""
    with Sandbox() as sandbox:
        process, _ = listen("--create-configs", "--resource", "contact", **sandbox.environment())
    code, output, errors = process.stop()
    assert (code, output) == (0, "")
    assert re.fullmatch(r"gateway-async: cannot delete the postback config \w+: .+\n", errors)


LINES: dict[str, tuple[dict[str, object], str]] = {
    "transaction": ({"transaction_amount": "12.50", "status_id": 134}, "12.50 settled"),
    "unknown status": ({"transaction_amount": "12.50", "status_id": 999}, "12.50 status 999"),
    "accountvault": ({"account_type": "visa", "last_four": "1111"}, "visa …1111"),
    "contact": ({"last_name": "Lovelace"}, ""),
    "weather": ({"rain": True}, ""),
}


@pytest.mark.parametrize("name", LINES)
def test_record_facts(name: str) -> None:
    """The amount and the state of a payment, the last digits of a card, of a person nothing."""
    fields, state = LINES[name]
    resource = "transaction" if name == "unknown status" else name
    line = line_of(postback_of("UPDATE", resource, {"id": "x1", **fields}, attempts=2))
    assert line.endswith(f"{state}  (attempt 2)")
    assert "Lovelace" not in line


def test_control_characters_of_a_postback_are_shown_as_question_marks() -> None:
    postback = postback_of("UP\x1b[2J", "wea\nther", {"id": "x\x07\u202e"})
    assert line_of(postback).isprintable()
    assert str(refusal_event(400, "data\x1b: odd").line).endswith("data?: odd")


def test_bank_data() -> None:
    """Neither form shows a card number or bank data, wherever a record contains it."""
    card = "4111111111111111"
    raw = {
        "id": "v1",
        "routing": "021000021",
        "account_number": "123456789",
        "title": f"card {card}",
        "custom_data": {"ssn4": "9876", "note": [card, int(card), {card: Decimal("1.25")}]},
        "active": True,
        "terms_agree": 1,
    }
    postback = postback_of("CREATE", "accountvault", raw)
    printed = json.dumps(postback_event(postback).values) + line_of(postback)
    assert not any(secret in printed for secret in (card, "021000021", "123456789", "9876"))
    assert '"1.25"' in printed
    assert '"active": true, "terms_agree": 1' in printed


def test_odd_names() -> None:
    """A card number that came as the type or the resource of a postback is in neither form."""
    card = "4111111111111111"
    postback = postback_of(f"UP {card}", f"to {card}", {"id": f"v{card}"})
    assert card not in json.dumps(postback_event(postback).values) + line_of(postback)


def test_contact_number() -> None:
    """A contact's `account_number` is its number with the merchant."""
    postback = postback_of("CREATE", "contact", {"id": "c1", "account_number": "1001", "last_name": "Ada"})
    assert postback_event(postback).values["data"]["account_number"] == "1001"


def test_json_and_forms_are_shown_alike(listen: Listen) -> None:
    process, url = listen()
    fields = sample("contact-create")
    assert httpx.post(url, json=fields, trust_env=False).status_code == 204
    assert httpx.post(url, content=urlencode(fields).encode(), trust_env=False).status_code == 204
    first, second = (next(process.events()) for _ in range(2))
    assert first["data"] == second["data"] == json.loads(fields["data"])
