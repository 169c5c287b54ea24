"""One rule of names decides what is hidden, wherever data leaves the process."""

import asyncio
import copy
import json
import logging
import pickle
import traceback
from collections.abc import Awaitable, Callable
from typing import Any, Final

import attrs
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gateway_async as ga
from gateway_async import AsyncGateway, GatewayError, UserApiKey
from gateway_async._secrets import AccountNumber, Secret, is_card_number, is_confidential, mask_fields, seal, unseal
from gateway_async._wire.postback import postback_of
from gateway_async.cli.postback_format import postback_event
from gateway_async.hosted_forms import accountform_url, hosted_page_url, payform_url
from gateway_async.migration import Columns
from gateway_async.migration.output.rejects import mask_row
from gateway_async.models.record import Record
from gateway_async.sandbox.pages.masking import is_secret
from tests.support.leaks import leaks

pytestmark = pytest.mark.asyncio

CARD: Final = "4111111111111111"
OWN: Final = (__file__,)
FAMILY: Final = {
    "account_number": "98765432109",
    "bank_account_number": "9876543210123",
    "pan": "5454545454545454",
    "card_number": "6011000995500000",
    "routing": "072000326",
    "ach_routing": "072000327",
    "routing_number": "072000328",
    "aba": "072000329",
    "dda": "918273645",
    "cvv": "9174191741",
    "cvv2": "9174291742",
    "cvc": "9174391743",
    "cid": "9174491744",
    "pin": "4821348213",
    "track1": "B4929TRACK",
    "track2": "4929=TRACK",
    "track_data": ";4929=TRACK?",
    "ssn": "078051120",
    "ssn4": "8112081120",
    "dob": "1971-03-04",
    "dob_year": "1971319713",
    "date_of_birth": "1971-03-05",
    "dl_number": "LICENSE-77",
    "token": "TOKVALUE-1",
    "access_token": "TOKVALUE-2",
    "refresh_token": "TOKVALUE-3",
    "bearer_token": "TOKVALUE-4",
    "ticket": "TICKVALUE-1",
    "user_ticket": "TICKVALUE-2",
    "password": "PWVALUE-1",
    "new_password": "PWVALUE-2",
    "api_key": "KEYVALUE-1",
    "user_api_key": "KEYVALUE-2",
    "user_hash_key": "KEYVALUE-3",
    "hash_key": "KEYVALUE-4",
    "developer_encryption_key": "KEYVALUE-5",
    "webhook_secret": "SECVALUE-1",
    "cavv": "CAVVALUE-1",
}
"""Names of the family, each with a value that must not leave the process."""
UNDER_ANY_NAME: Final = {"memo": CARD, "order_num": "5454 5454 5454 5454", "reference": 4012888888881881}
"""Card numbers under other names."""
PLANTED: Final = (*FAMILY.values(), CARD, "5454 5454 5454 5454", "4012888888881881")
CONTENT: Final[dict[str, Any]] = {
    **FAMILY,
    **UNDER_ANY_NAME,
    "deep": [{"cvv": "9174591745", "list": [{"pin": 4821448214}]}],
}
ALL_PLANTED: Final = (*PLANTED, "9174591745", "4821448214")

HARMLESS: Final = (
    *("ticket_count", "pinned", "shipping", "expand", "token_ind", "first_six", "last_four", "dl_state"),
    *("account_type", "account_vault_id", "cvv_response", "show_cvv", "show_second_account_number", "company"),
    *("auto_decline_cvv", "requires_new_password", "password_expire_ts", "visa_large_ticket_indicator", "batch_num"),
    *("exp_date", "customer_id", "order_num", "serial_number", "transaction_api_id", "tracking_number", "monkey"),
    *("contact[account_number]", "Contact.account_number", "UserUpdate.account_number", "allow_partial_authorization"),
    *("pin_entry_timeout", "card_class", "description", "", "0", "product_file_credential_id"),
)


def spellings(name: str) -> set[str]:
    """Return other ways to write a name."""
    words = name.split("_")
    camel = words[0] + "".join(word.title() for word in words[1:])
    written = {name.upper(), "-".join(words), camel, camel[:1].upper() + camel[1:], " ".join(words).title()}
    return {name, *written, f"transaction[{name}]", f"data.{name}", f"items[0][{name}]", f"{name}[0]", f"old_{name}"}


async def test_spellings() -> None:
    """Case, separators, humps and wrappers do not matter; the sandbox, which has its own rule, hides the same names."""
    names = set().union(*map(spellings, FAMILY))
    assert {name for name in names if not is_confidential(name) or not is_secret(name)} == set()


async def test_a_harmless_name() -> None:
    """Names that only contain such a word stay visible, and so does a customer's number."""
    assert [name for name in HARMLESS if is_confidential(name)] == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (CARD, True),
        (4111111111111111, True),
        ("4111 1111 1111 1111", True),
        ("4111-1111-1111-1111", True),
        ("371449635398431", True),
        ("4111111111111112", False),
        ("411111111111", False),
        (f"order {CARD}", False),
        ("1764077674120", False),  # a time in milliseconds, whose check digit is right
        ("20261125123450", False),  # a date and a time
        (True, False),
        (None, False),
        (4.1, False),
    ],
)
async def test_card_numbers(value: object, expected: bool) -> None:
    """A card number, under any name, is 13 to 19 digits as a whole, with a check digit and a known beginning."""
    assert is_card_number(value) is expected


async def test_sealed_values() -> None:
    """Only their text is hidden: numbers, dates, flags, empty values and ids are what they were."""
    sealed = seal({"pin": 1234, "dob": "x", "cvv": "", "token": None, "has_pin": True, "contact_id": CARD, "n": CARD})
    assert (sealed["pin"].plain(), sealed["dob"].reveal(), sealed["n"].reveal()) == (1234, "x", CARD)
    assert (sealed["cvv"], sealed["token"], sealed["has_pin"], sealed["contact_id"]) == ("", None, True, CARD)
    assert (type(sealed["pin"]), type(sealed["n"])) == (Secret, AccountNumber)
    assert seal(sealed) == sealed
    assert str(seal({"memo": f";{CARD}=30121010000012345678?"})["memo"]) == "************"
    assert mask_fields({"pin": [1234, {"a": "b"}]}) == {"pin": ["***", {"a": "***"}]}


NAMES: Final = st.sampled_from([*FAMILY, "id", "order_num", "note", "contact", "account number", CARD])
JSON_VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=20,  # larger ones take a hundred times as long to make as to seal
)


@given(st.dictionaries(NAMES, JSON_VALUES))
async def test_revealed_values(data: dict[str, Any]) -> None:
    """Each sealed value can be revealed, with its type; sealed again, it is the same."""
    sealed = seal(data)
    revealed = unseal(sealed)
    assert revealed == data
    assert repr(revealed) == repr(data)
    assert seal(sealed) == sealed


# --- requests, errors, events, logs


def echo(request: httpx.Request) -> httpx.Response:
    """Refuse a request and repeat all of it."""
    return httpx.Response(400, json={"message": f"cannot take {request.url.query.decode()} {request.content.decode()}"})


def lose(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadError("connection lost", request=request)


CALLS: Final[dict[str, Callable[[AsyncGateway], Awaitable[object]]]] = {
    "untyped create": lambda g: g.resource("things", name="thing").create(CONTENT),
    "untyped update": lambda g: g.resource("things", name="thing").update("t", CONTENT),
    "untyped action": lambda g: g.resource("things", name="thing").action("t", "act", CONTENT, params=FAMILY),
    "untyped list": lambda g: g.resource("things", name="thing").list(FAMILY).first(),
    "request": lambda g: g.request("POST", "/v2/things", body={"thing": CONTENT}, params=FAMILY),
    "extra": lambda g: g.contacts.create(ga.ContactCreate(last_name="x", extra=_new(CONTENT))),
    "custom data": lambda g: g.transactions.create(
        ga.TransactionCreate(action="sale", account_vault_id="v", transaction_amount=1, custom_data=CONTENT)
    ),
    "extra filters": lambda g: g.paylinks.list(extra_filters=FAMILY).first(),
    "filters": lambda g: g.account_vaults.list({"routing": "072000326", "ssn4": "8112081120"}).first(),
    "invalid": lambda g: g.resource("things", name="thing").create({**CONTENT, "rate": 1.5}),
    "invalid filter": lambda g: _list(g, {**FAMILY, "page": 1}),
}


def _new(content: dict[str, Any]) -> dict[str, Any]:
    """Leave out the fields of a contact."""
    return {name: value for name, value in content.items() if name not in ("account_number", "date_of_birth")}


async def _list(gateway: AsyncGateway, filters: dict[str, Any]) -> object:
    return gateway.paylinks.list(extra_filters=filters)


@pytest.mark.parametrize("response", [echo, lose], ids=["echo", "lost"])
@pytest.mark.parametrize("name", CALLS)
async def test_calls(
    name: str, response: Callable[[httpx.Request], httpx.Response], caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the error of a call with its frames, nor its pickle, nor events and logs have a confidential value."""
    asked: list[httpx.Request] = []
    events: list[Any] = []

    def respond(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return response(request)

    options: Any = {"location_id": "loc", "max_attempts": 1, "timeout": 2, "observers": [events.append]}
    transport, credentials = httpx.MockTransport(respond), UserApiKey("u", "k")
    with caplog.at_level(logging.DEBUG):
        async with AsyncGateway(
            "https://gateway.test", developer_id="d", credentials=credentials, transport=transport, **options
        ) as gateway:
            with pytest.raises(GatewayError) as raised:
                await CALLS[name](gateway)
    error = raised.value
    assert {leak for leak in leaks([error, *events], ALL_PLANTED, OWN) if "MockTransport" not in leak} == set()
    trace = traceback.TracebackException.from_exception(error, capture_locals=True)
    ours = "".join(line for line in trace.format() if __file__ not in line)
    told = f"{ours}{error!r}{[attrs.asdict(event) for event in events]}{caplog.text}{pickle.dumps(error)!r}"
    assert [value for value in ALL_PLANTED if value in told] == []
    assert bool(asked) is not name.startswith("invalid")
    if name in ("untyped create", "extra", "request"):
        sent = asked[0].content.decode()
        assert [value for value in _new(CONTENT).values() if isinstance(value, str) and value not in sent] == []
        assert '"reference":4012888888881881' in sent  # sealed, and sent as the number that it is


async def test_sealing_changes_nothing_of_what_is_sent() -> None:
    sent: list[bytes] = []

    def respond(request: httpx.Request) -> httpx.Response:
        sent.append(request.content)
        return echo(request)

    new = ga.ContactCreate(last_name="x", extra={"pin": 1234, "cvv": [1], "dob": "x"})
    async with AsyncGateway(
        "https://gateway.test",
        developer_id="d",
        credentials=UserApiKey("u", "k"),
        location_id="loc",
        transport=httpx.MockTransport(respond),
    ) as gateway:
        with pytest.raises(GatewayError):
            await gateway.contacts.create(new)
    assert {"pin": 1234, "cvv": [1], "dob": "x"}.items() <= json.loads(sent[0])["contact"].items()


async def test_password_in_url() -> None:
    """The address of a postback config may have one: neither repr, JSON, error nor the gateway's echo shows it."""
    url = "https://shop:p%40ss-82c1@shop.test/postbacks?x=1"
    new = ga.PostbackConfigCreate(resource="contact", url=url)
    record = ga.PostbackConfig(id="c", url=url, extra={"other": url})
    assert "url='https://shop:***@shop.test/postbacks?x=1'" in repr(new)
    options: Any = {"developer_id": "d", "credentials": UserApiKey("u", "k"), "location_id": "l", "max_attempts": 1}
    told = f"{new!r}{record!r}{record.to_dict()}"
    for response in (echo, lose):
        async with AsyncGateway("https://gateway.test", transport=httpx.MockTransport(response), **options) as gateway:
            for call in (
                gateway.postback_configs.create(new),
                gateway.resource("things", name="thing").create({"url": url}),
            ):
                with pytest.raises(GatewayError) as raised:
                    await call
                told += f"{raised.value!r}{getattr(raised.value, 'sent', '')}"
    assert "p%40ss" not in told


# --- records


RECORDS: Final[dict[str, Callable[[dict[str, Any]], Record]]] = {
    "typed": lambda data: ga.Transaction(id="t", extra=data),
    "untyped": lambda data: ga.UntypedRecord(id="t", extra=data),
    "nested": lambda data: ga.AccountVault(id="t", extra={"location": data, "tags": [data]}),
}


@pytest.mark.parametrize("make", RECORDS.values(), ids=RECORDS)
async def test_records(make: Callable[[dict[str, Any]], Record]) -> None:
    """Neither repr, JSON, `attrs.asdict` and pickle of a record, nor a walk of its objects, has such a value."""
    record = make(CONTENT)
    told = f"{record!r}{record.to_dict()}{attrs.asdict(record)}{attrs.astuple(record)}{pickle.dumps(record)!r}"
    assert [value for value in ALL_PLANTED if value in told] == []
    assert leaks(record, ALL_PLANTED, OWN) == set()
    for again in (copy.copy(record), copy.deepcopy(record), attrs.evolve(record)):
        assert again == record
    again = pickle.loads(pickle.dumps(record))  # noqa: S301  our own bytes
    assert type(again) is type(record)
    assert again.extra.keys() == record.extra.keys()


async def test_reveal() -> None:
    """A sealed value of a record can be read by `reveal()`, and a request takes it as it is."""
    record = ga.UntypedRecord(id="t", extra={"ticket": "TICKVALUE-1", "note": "x"})
    assert (record["ticket"].reveal(), record["note"]) == ("TICKVALUE-1", "x")
    assert ga.TicketVaultCreate(ticket=record["ticket"]).ticket == Secret("TICKVALUE-1")


# --- what else leaves the process


async def test_listed_postback() -> None:
    """`listen --json` masks by the same rule; the number of a contact is the merchant's."""
    shown = postback_event(postback_of("CREATE", "transaction", {"id": "t", **CONTENT}))
    assert [value for value in ALL_PLANTED if value in json.dumps(shown.values)] == []
    contact = postback_event(postback_of("CREATE", "contact", {"id": "c", "account_number": "1001"}))
    assert contact.values["data"]["account_number"] == "1001"


async def test_the_rejects_of_a_migration_mask_confidential_cells() -> None:
    names = ("account_number", "routing", "track_data", "ticket", "ssn4", "dl_number", "dob_year")
    masked = mask_row({name: FAMILY[name] for name in names}, Columns().map_names(names))
    assert masked.keys() == set(names)
    assert [value for value in FAMILY.values() if value in str(masked)] == []


PAYMENT: Final[dict[str, Any]] = {
    "payment_method": "cc",
    "action": "sale",
    "product_transaction_id": "p",
    "transaction_api_id": "order-17",
    "transaction_amount": "12.50",
}
VAULT: Final = {"payment_method": "cc", "location_id": "l", "account_vault_api_id": "card-7"}
SIGNER: Final[dict[str, Any]] = {"developer_id": "d", "user_id": "u", "user_hash_key": "k" * 24}
FORMS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "payform": lambda fields: payform_url("https://gateway.test", {**PAYMENT, **fields}, **SIGNER),
    "accountform": lambda fields: accountform_url("https://gateway.test", {**VAULT, **fields}, **SIGNER),
    "page": lambda fields: hosted_page_url(
        "https://gateway.test",
        "p",
        {"field_configuration": {"body": {"fields": [{"id": name, "value": value} for name, value in fields.items()]}}},
        encryption_key="k",
    ),
}


CONFIDENTIAL: Final[list[tuple[str, Any]]] = [
    *FAMILY.items(),
    *((name, CARD) for name in ("description", "order_num", "customer_id", "transaction_api_id", "billing_street")),
    ("description", f"card {CARD}"),
    ("description", "5454-5454-5454-5454"),
    ("custom_data", {"note": CARD}),
    ("custom_data", {"deep": [{"cvv": "999"}]}),
    ("custom_data", {"card": int(CARD)}),
]


@pytest.mark.parametrize("form", FORMS)
async def test_refused_form(form: str) -> None:
    """The error names the field and has no value; its frames have none of a confidential name."""
    for name, value in CONFIDENTIAL:
        with pytest.raises(ga.InvalidRequestError) as refused:
            FORMS[form]({name: value})
        (problem,) = refused.value.problems
        assert name in problem.partition(" can only")[0].partition(" must")[0]
        planted = [value] if isinstance(value, str) else [CARD, "999"]
        if name in FAMILY and form != "page":
            assert leaks(refused.value, planted, OWN) == set()
        assert not any(each in str(refused.value) for each in planted)


@pytest.mark.parametrize(
    "fields",
    [
        {"show_cvv": True, "show_second_account_number": 1},
        {"description": "Tea for two", "order_num": "1764077674120", "po_number": "20261125123450"},
        {"customer_id": "C-1001", "billing_zip": "32606", "billing_phone": "3525550100"},
        {"contact_id": "11e92008f72039289e394e29", "custom_data": {"table": 4, "at": "2026-11-25 12:34:50"}},
    ],
)
async def test_form(fields: dict[str, Any]) -> None:
    """Settings, and numbers that are no card's, belong into a form's URL."""
    assert FORMS["payform"](fields)


async def test_frames_of_a_cancelled_call_hold_only_sealed_values() -> None:
    async def wait(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(60)
        return httpx.Response(200, request=request)

    async with AsyncGateway(
        "https://gateway.test", developer_id="d", credentials=UserApiKey("u", "k"), transport=httpx.MockTransport(wait)
    ) as gateway:
        with pytest.raises(TimeoutError) as raised:
            async with asyncio.timeout(0.05):
                await gateway.paylinks.list(extra_filters=FAMILY).first()
    assert leaks(raised.value, FAMILY.values(), OWN) == set()
