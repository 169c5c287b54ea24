"""Signed URLs of hosted forms: vectors computed by other programs, checks, and the sandbox's pages."""

import hmac
import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import httpx
import pytest

from gateway_async import (
    AccountVault,
    InvalidRequestError,
    PaymentMethod,
    Secret,
    Transaction,
    TransactionCreate,
    TransactionStatus,
)
from gateway_async.hosted_forms import SignedForm, accountform_url, check_form_url, compare_form_result, payform_url
from gateway_async.sandbox import Sandbox

BASE = "https://api.example.test"
USER, KEY, NOW = "11e8a4b2c3d4e5f6a7b8c9d0", "hash-key-of-the-user", 1_700_000_000.9
SIGNER: dict[str, Any] = {"developer_id": "dev-1", "user_id": USER, "user_hash_key": KEY}
SECONDS = "1700000000"
DIGEST = "bedac269d820f3f6d5949d4ba67b6fccc837452be048b2da3b01eea5419358c8"
"""By `openssl dgst -sha256 -hmac hash-key-of-the-user` of the user id and 1700000000."""

SALE: dict[str, Any] = {
    "payment_method": "cc",
    "action": "sale",
    "transaction_amount": Decimal("12.5"),
    "product_transaction_id": "11e9",
    "transaction_api_id": "order-1001",
}
SALE_DATA = (
    "7b227472616e73616374696f6e223a7b227061796d656e745f6d6574686f64223a226363222c22616374696f6e223a2273616c65222c2274"
    "72616e73616374696f6e5f616d6f756e74223a2231322e3530222c2270726f647563745f7472616e73616374696f6e5f6964223a22313165"
    "39222c227472616e73616374696f6e5f6170695f6964223a226f726465722d31303031227d7d"
)
"""By `xxd -p` of the JSON, with the amount as "12.50"."""

VAULT = {"payment_method": "cc", "location_id": "11e7", "account_vault_api_id": "card-7"}
VAULT_DATA = (
    "7b226163636f756e747661756c74223a7b227061796d656e745f6d6574686f64223a226363222c226c6f636174696f6e5f6964223a223131"
    "6537222c226163636f756e745f7661756c745f6170695f6964223a22636172642d37227d7d"
)


def payform(fields: Mapping[str, Any] = SALE, **changes: Any) -> str:
    options: dict[str, Any] = {**SIGNER, "now": NOW, **changes}
    return payform_url(options.pop("base_url", BASE), fields, **options)


def with_parameter(url: str, name: str, *values: str) -> str:
    """Return a URL with other values of one parameter."""
    address, _, query = url.partition("?")
    pairs = [pair for pair in parse_qsl(query) if pair[0] != name] + [(name, value) for value in values]
    return f"{address}?{urlencode(pairs)}"


def problems_of(call: Any, *arguments: Any, **options: Any) -> tuple[str, ...]:
    """Return the problems that a function raises."""
    with pytest.raises(InvalidRequestError) as caught:
        call(*arguments, **options)
    return caught.value.problems


def test_url() -> None:
    """The URL is that of the documents, with a digest and data that other programs computed."""
    signed = f"developer-id=dev-1&hash-key={DIGEST}&user-id={USER}&timestamp=1700000000"
    assert payform() == f"{BASE}/v2/payform?{signed}&data={SALE_DATA}"
    assert accountform_url(f"{BASE}/", VAULT, **SIGNER, now=NOW) == f"{BASE}/v2/accountform?{signed}&data={VAULT_DATA}"


def test_values() -> None:
    """Amounts have two decimals, dates are ISO 8601, flags are numbers, and other values stay."""
    more = {
        "tax": 1,
        "checkin_date": date(2030, 1, 31),
        "save_account": True,
        "parent_close_delay": 10,
        "custom_data": {"cup": ["white", False]},
        "description": "Tee für Zoë",
        "order_num": None,
    }
    fields = check_form_url(payform({**SALE, **more}), user_hash_key=KEY, now=NOW).fields
    assert fields == {
        **SALE,
        "transaction_amount": "12.50",
        "tax": "1.00",
        "checkin_date": "2030-01-31",
        "save_account": 1,
        "parent_close_delay": 10,
        "custom_data": {"cup": ["white", 0]},
        "description": "Tee für Zoë",
        "order_num": None,
    }


@pytest.mark.parametrize("name", SALE)
def test_a_form_needs_each_required_field(name: str) -> None:
    assert problems_of(payform, {each: SALE[each] for each in SALE if each != name}) == (f"{name}: is required",)
    assert problems_of(payform, SALE | {name: ""})[0].startswith(f"{name}: ")


@pytest.mark.parametrize("name", VAULT)
def test_account_fields(name: str) -> None:
    """An account needs the integrator id too, because only it finds the account vault again."""
    rest = {each: VAULT[each] for each in VAULT if each != name}
    assert problems_of(accountform_url, BASE, rest, **SIGNER) == (f"{name}: is required",)


def test_bank_payments_and_checks_of_an_address() -> None:
    assert problems_of(payform, SALE | {"payment_method": "ach"}) == ("ach_sec_code: is required",)
    assert payform({name: SALE[name] for name in SALE if name != "transaction_amount"} | {"action": "avsonly"})


@pytest.mark.parametrize("action", ["sale", "debit", "authonly", "avsonly", "refund"])
def test_actions(action: str) -> None:
    """A form accepts these actions, and no change of an existing payment."""
    assert check_form_url(payform(SALE | {"action": action}), user_hash_key=KEY, now=NOW).fields["action"] == action


NEW_ONLY = "action: must be one of sale, debit, authonly, avsonly, refund"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        *(
            ({"action": action}, f"{NEW_ONLY}, not {action} (use gateway.transactions.{method})")
            for action, method in (("void", "void"), ("authincrement", "increment"), ("authcomplete", "complete"))
        ),
        ({"action": "steal"}, NEW_ONLY),
        ({"action": ["void"]}, NEW_ONLY),
        ({"action": "refund", "previous_transaction_id": "t"}, "previous_transaction_id: a form refunds without"),
        ({"action": "refund", "previous_transaction_api_id": "t"}, "previous_transaction_api_id: a form refunds"),
    ],
)
def test_the_problem_names_an_action_no_form_takes(fields: dict[str, Any], problem: str) -> None:
    (line,) = problems_of(payform, SALE | fields)
    assert line.startswith(problem)


FLAGS = ("parent_close", "display_close_button", "show_account_holder_name", "show_street", "show_zip")
FLAGS_OF_PAYMENTS = (
    *("require_street", "require_zip", "show_cvv", "show_second_account_number", "show_service_address_fields"),
)
FORMS: dict[str, Any] = {
    "payform": payform,
    "accountform": lambda fields: accountform_url(BASE, {**VAULT, **fields}, **SIGNER, now=NOW),
}
SETTINGS: list[tuple[str, str, Any, Any]] = [
    *((form, name, good, 2) for form in FORMS for name in FLAGS for good in (True, 0, "1", "true", "false")),
    *(("payform", name, True, "yes") for name in FLAGS_OF_PAYMENTS),
    ("accountform", "show_title", 1, []),
    *((form, name, 10, 1.5) for form in FORMS for name in ("parent_close_delay", "redirect_url_delay")),
    *((form, "redirect_url_delay", "0", -1) for form in FORMS),
    *((form, "entry_method", good, "swipe") for form in FORMS for good in ("manual", "terminal", "both")),
    *((form, name, 1, 3) for form in FORMS for name in ("parent_send_message", "send_parent_message")),
    *(
        (form, name, "u" * 256, "u" * 257)
        for form in FORMS
        for name in ("stylesheet_url", "redirect_url_on_approval", "redirect_url_on_decline")
    ),
]
"""Each documented setting of a form, with a value that it takes and one that it does not take."""


@pytest.mark.parametrize("form", FORMS)
def test_settings(form: str) -> None:
    """A setting is accepted up to its documented length, and named beyond it."""
    make, fields = FORMS[form], SALE if form == "payform" else VAULT
    for name, good, bad in (setting for of_form, *setting in SETTINGS if of_form == form):
        assert name in check_form_url(make({**fields, name: good}), user_hash_key=KEY, now=NOW).fields
        (line,) = problems_of(make, {**fields, name: bad})
        assert line.startswith(f"{name}: ")


UNSENDABLE: list[tuple[str, object, str]] = [
    ("transaction_amount", 12.5, "never a float"),
    ("transaction_amount", "12.505", "more than two decimals"),
    ("transaction_amount", "-1", "must not be negative"),
    ("tax", [], "never a float"),
    ("tax", "a lot", "is not an amount"),
    ("tip_amount", True, "never a float"),
    ("description", b"tea", "cannot be sent as JSON"),
    ("description", "\ud800", "invalid character"),
    ("description", Decimal("NaN"), "is not a number"),
    ("transaction_api_id", "order 1001", "without spaces"),
    ("transaction_api_id", "1" * 65, "1 to 64 characters"),
    ("transaction_api_id", 1001, "must be text"),
    ("account_number", "4111111111111111", "must not be in a URL"),
    ("cvv", "999", "must not be in a URL"),
    ("track_data", "%B", "must not be in a URL"),
    ("custom_data", {"5454545454545454": 1}, "must not be in a URL"),
    ("show_title", 1, "is a setting of accountform only"),
    ("redirect_url_on_approve", 1, "is a setting of hostedpaymentpage only"),
    ("field_configuration", 1, "is a setting of hostedpaymentpage only"),
]


def test_unsendable() -> None:
    """A field that cannot be sent is named, and no card number quoted; nor a setting that the gateway would ignore."""
    for field, value, problem in UNSENDABLE:
        (line,) = problems_of(payform, SALE | {field: value})
        assert line.startswith(f"{field}: ")
        assert problem in line
        assert "4111" not in line, field
    (line,) = problems_of(payform, SALE | {"5454545454545454": "1"})
    assert line == "************5454: must not be in a URL; it contains a card number or a secret"
    (line,) = problems_of(payform, SALE | {"custom_data": {"weight": 1.5}})
    assert line == "custom_data.weight: must not be a float; use a Decimal or a str"
    (line,) = problems_of(payform, SALE | {"\ud800": 1})
    assert line.startswith(r"'\ud800': its name has an invalid character")


CHANGES_PROBLEMS: list[tuple[dict[str, Any], str]] = [
    ({"base_url": "http://api.example.test"}, "base_url: plain http"),
    ({"base_url": "ftp://api.example.test"}, "base_url: must be"),
    ({"base_url": "https://[x"}, "base_url: must be"),
    ({"base_url": None}, "base_url: must be"),
    ({"base_url": f"{BASE}/v2"}, "base_url: leave /v2 out"),
    *(({"base_url": f"{BASE}{rest}"}, "base_url: must be") for rest in ("?x=1", "?", "#", "\n", "/a b")),
    ({"base_url": "https://user:password@api.example.test"}, "base_url: must be"),
    *(({"now": now}, "now: must be a number of seconds") for now in (-1, 10**10, math.nan)),
    ({"developer_id": ""}, "developer_id: "),
    ({"user_id": "a\nb"}, "user_id: "),
    ({"user_hash_key": " "}, "user_hash_key: "),
]


def test_arguments_are_checked_like_those_of_a_client() -> None:
    for changes, problem in CHANGES_PROBLEMS:
        (line,) = problems_of(payform, **changes)
        assert line.startswith(problem)


def test_all_problems_are_reported_at_once() -> None:
    lines = problems_of(payform, {"cvv": "999"}, developer_id="", base_url="")
    assert len(lines) == 8


def test_check() -> None:
    """The check of a good URL returns who signed what, and when (by default, now); the repr shows no values."""
    form = check_form_url(payform(), user_hash_key=KEY, now=NOW + 299)
    fields = {**SALE, "transaction_amount": "12.50"}
    assert form == SignedForm("payform", "dev-1", USER, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC), fields)
    assert "order-1001" not in repr(form)
    assert KEY not in payform()
    assert check_form_url(payform(), user_hash_key=KEY, max_age=900, now=NOW + 899) == form
    form = check_form_url(payform(now=None), user_hash_key=Secret(KEY))
    assert abs(form.signed_at - datetime.now(UTC)).total_seconds() < 60


def test_unsigned_data() -> None:
    """The signature does not cover the data, so a check of the URL notices no other amount."""
    cheap = payform(SALE | {"transaction_amount": "0.01"})
    changed = with_parameter(payform(), "data", parse_qs(urlsplit(cheap).query)["data"][0])
    assert check_form_url(changed, user_hash_key=KEY, now=NOW).fields["transaction_amount"] == "0.01"


@pytest.mark.parametrize(
    ("name", "values", "problem"),
    [
        ("hash-key", ["0" * 64], "hash-key: does not match"),
        ("hash-key", [DIGEST.upper()], "hash-key: does not match"),
        ("hash-key", ["é"], "hash-key: does not match"),
        ("hash-key", [], "hash-key: must be given once"),
        ("hash-key", [DIGEST, DIGEST], "hash-key: must be given once"),
        ("user-id", ["another"], "hash-key: does not match"),
        ("timestamp", ["1700000001"], "hash-key: does not match"),
        ("data", ["zz"], "data: is not the form's JSON"),
        ("data", ["7b7d"], "data: is not the form's JSON"),
        ("data", [VAULT_DATA], "data: is not the form's JSON"),
        ("data", ["ff"], "data: is not the form's JSON"),
    ],
)
def test_changed_url(name: str, values: list[str], problem: str) -> None:
    """The digest must be that of user id and timestamp, and the data that of the form."""
    url = with_parameter(payform(), name, *values)
    assert [line.startswith(problem) for line in problems_of(check_form_url, url, user_hash_key=KEY, now=NOW)] == [True]


@pytest.mark.parametrize(("seconds", "word"), [(302, "older"), (-302, "later")])
def test_age(seconds: int, word: str) -> None:
    """Five minutes are allowed in both directions, at a time that is one."""
    assert problems_of(check_form_url, payform(), user_hash_key=KEY, now=math.nan) == ("now: must be a number",)
    assert problems_of(check_form_url, payform(), user_hash_key=KEY, now=NOW + seconds) == (
        f"timestamp: is {word} than allowed",
    )


def test_timestamp() -> None:
    """A timestamp has ten digits, and no leading zero; a good signature of another one does not help."""
    signed = payform()
    for text in ("", "1e9", "9" * 20, f"0{SECONDS}", f"{SECONDS}0", SECONDS[1:], f" {SECONDS}", f"{SECONDS}\u0660"):
        lines = problems_of(check_form_url, with_parameter(signed, "timestamp", text), user_hash_key=KEY, now=NOW)
        assert "timestamp: must be Unix seconds" in lines


@pytest.mark.parametrize(
    ("signer", "user", "timestamp"),
    [("till0", "till", f"0{SECONDS}"), ("till1", "till", f"1{SECONDS}"), ("till", "till1", SECONDS[1:])],
)
def test_boundary(signer: str, user: str, timestamp: str) -> None:
    """User id and timestamp are signed one after the other: no digit can go from one to the other."""
    signed = payform(user_id=signer)
    forged = with_parameter(with_parameter(signed, "user-id", user), "timestamp", timestamp)
    forever: Any = {"user_hash_key": KEY, "now": NOW, "max_age": 1e12}
    assert check_form_url(signed, **forever).user_id == signer
    assert problems_of(check_form_url, forged, **forever) == ("timestamp: must be Unix seconds",)


@pytest.mark.parametrize("key", ["", None])
def test_missing_key(key: Any) -> None:
    """Anyone can sign with an empty key, so that nothing is accepted without one."""
    forged = with_parameter(payform(), "hash-key", hmac.digest(b"", f"{USER}{SECONDS}".encode(), "sha256").hex())
    (line,) = problems_of(check_form_url, forged, user_hash_key=key, now=NOW)
    assert line.startswith("user_hash_key: must be")


@pytest.mark.parametrize(
    "url",
    ["", "https://[", f"{BASE}/v2/transactions", f"{BASE}/payform", None, payform().replace(USER, "\ud800")],
)
def test_other_urls(url: Any) -> None:
    """Only the two forms have URLs that are read."""
    (line,) = problems_of(check_form_url, url, user_hash_key=KEY)
    assert line.startswith("url: must be a URL of one of the forms")


def transaction(**changes: Any) -> Transaction:
    """Return the transaction that the form asks for."""
    fields: dict[str, Any] = {**SALE, "id": "t", "status_id": TransactionStatus.APPROVED}
    return Transaction(**{name: value for name, value in fields.items() if name != "action"} | changes)


def test_result() -> None:
    """An approved sale of the right amount at the right account has no difference."""
    assert compare_form_result(SALE, transaction()) == ()
    assert compare_form_result(SALE | {"transaction_amount": "12.50"}, transaction()) == ()
    vault = AccountVault(id="v", payment_method=PaymentMethod.CARD)
    assert compare_form_result(SALE, vault) == ("the record is an AccountVault, not a Transaction",)


@pytest.mark.parametrize(
    "changes",
    [
        {"transaction_amount": Decimal("0.01"), "subtotal_amount": Decimal("12.50")},
        {"transaction_amount": Decimal("0.01"), "auth_amount": Decimal("12.50")},
        {"transaction_amount": None},
        {"transaction_amount": Decimal("17.50"), "tip_amount": Decimal("5.00")},
        {"product_transaction_id": "another"},
        {"product_transaction_id": None},
        {"transaction_api_id": "order-1002"},
        {"payment_method": "ach"},
        {"status_id": TransactionStatus.AUTH_ONLY},
        {"status_id": TransactionStatus.AVS_ONLY},
        {"status_id": TransactionStatus.REFUNDED},
        {"status_id": TransactionStatus.DECLINED},
        {"status_id": TransactionStatus.VOIDED},
        {"status_id": None},
        {"auth_amount": Decimal("1.00"), "reason_code_id": 1201},
        {"auth_amount": Decimal("1.00")},
        {"auth_amount": Decimal("1.00"), "status_id": TransactionStatus.SETTLED},
    ],
    ids=str,
)
def test_differences(changes: dict[str, Any]) -> None:
    """Each change by the holder of the URL is a difference, and so is a decline."""
    assert len(compare_form_result(SALE, transaction(**changes))) == 1


def test_binary_float() -> None:
    """A gateway that computes with floats shows a little less than a cent."""
    paid = transaction(transaction_amount=Decimal("12.5"), auth_amount=Decimal("12.499999999999998"))
    assert compare_form_result(SALE, paid) == ()
    assert compare_form_result(SALE, transaction(transaction_amount=Decimal("12.499999999999998"))) == ()


@pytest.mark.parametrize(
    ("action", "status"),
    [
        ("authonly", TransactionStatus.AUTH_ONLY),
        ("authonly", TransactionStatus.APPROVED),
        ("authonly", TransactionStatus.SETTLED),
        ("sale", TransactionStatus.SETTLED),
        ("refund", TransactionStatus.REFUNDED),
        ("debit", TransactionStatus.PENDING_ORIGINATION),
        ("debit", TransactionStatus.SETTLED),
    ],
)
def test_statuses(action: str, status: TransactionStatus) -> None:
    """Each action is approved with a status of its own."""
    assert compare_form_result(SALE | {"action": action}, transaction(status_id=status)) == ()


def test_the_gateway_may_drop_a_surcharge() -> None:
    asked = SALE | {"transaction_amount": "12.80", "surcharge_amount": "0.30"}
    assert compare_form_result(asked, transaction()) == ()
    assert compare_form_result(asked, transaction(transaction_amount=Decimal("12.40"))) != ()


def test_account_result() -> None:
    """An account vault must be in the location that was asked for."""
    vault = AccountVault(id="v", payment_method="cc", location_id="11e7", account_vault_api_id="card-7")  # type: ignore[arg-type]  # a code as text
    assert compare_form_result(VAULT, vault) == ()
    assert compare_form_result(VAULT | {"location_id": "another"}, vault) == ("location_id is '11e7', not 'another'",)


def signer(sandbox: Sandbox) -> dict[str, Any]:
    """Return what signs URLs of a sandbox."""
    info = sandbox.info
    return {"developer_id": info.developer_id, "user_id": info.user_id, "user_hash_key": info.user_hash_key}


def test_the_sandbox_shows_a_signed_form_and_escapes_it(sandbox: Sandbox) -> None:
    tea = SALE | {"transaction_api_id": "<b>tea</b>"}
    page = httpx.get(payform_url(sandbox.base_url, tea, **signer(sandbox)))
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "12.50" in page.text
    assert "&lt;b&gt;tea" in page.text
    page = httpx.get(accountform_url(sandbox.base_url, VAULT, **signer(sandbox)))
    assert (page.status_code, "card-7" in page.text) == (200, True)


@pytest.mark.parametrize(
    ("name", "values", "status", "message"),
    [
        ("hash-key", ["0" * 64], 401, "Hash key is invalid"),
        ("hash-key", [], 401, "Your request was made without credentials."),
        ("timestamp", ["1700000000"], 401, "Hash key is invalid"),
        ("data", ["zz"], 400, "The parameter data must be hex"),
        ("data", [VAULT_DATA], 400, "The parameter data must be hex"),
        ("data", [], 400, "The parameter data must be hex"),
    ],
)
def test_the_sandbox_refuses_a_url_with_the_gateways_text(
    sandbox: Sandbox, name: str, values: list[str], status: int, message: str
) -> None:
    url = payform_url(sandbox.base_url, SALE, **signer(sandbox))
    response = httpx.get(with_parameter(url, name, *values))
    assert (response.status_code, response.json()["message"].startswith(message)) == (status, True)


def test_the_sandbox_names_missing_required_fields(sandbox: Sandbox) -> None:
    url = payform_url(sandbox.base_url, SALE, **signer(sandbox))
    data = b'{"transaction": {"payment_method": "ach"}}'.hex()
    response = httpx.get(with_parameter(url, "data", data))
    required = {"action", "product_transaction_id", "transaction_api_id", "transaction_amount", "ach_sec_code"}
    assert (response.status_code, response.json()["errors"].keys()) == (422, required)


@pytest.mark.parametrize("action", ["void", "authincrement", "authcomplete", "edit"])
def test_new_payments(sandbox: Sandbox, action: str) -> None:
    """A form makes new payments only, and refunds without a reference."""
    url, fields = payform_url(sandbox.base_url, SALE, **signer(sandbox)), {**SALE, "transaction_amount": "12.50"}
    refused = {
        "action": fields | {"action": action},
        "previous_transaction_id": fields | {"action": "refund", "previous_transaction_id": "t"},
    }
    for name, asked in refused.items():
        response = httpx.get(with_parameter(url, "data", json.dumps({"transaction": asked}).encode().hex()))
        assert (response.status_code, [*response.json()["errors"]]) == (422, [name])


def test_other_credentials_do_not_replace_the_signature(sandbox: Sandbox) -> None:
    info = sandbox.info
    headers = {"developer-id": info.developer_id, "user-id": info.user_id, "user-api-key": info.user_api_key}
    response = httpx.get(f"{sandbox.base_url}/v2/payform?data={SALE_DATA}", headers=headers)
    assert (response.status_code, response.json()["message"]) == (401, "Hash key is invalid")


@pytest.mark.asyncio
async def test_real_payment(sandbox: Sandbox) -> None:
    """The record of a real payment has no difference, and that of a cheaper one has."""
    asked = SALE | {"product_transaction_id": sandbox.info.cc_product_transaction_id}
    async with sandbox.gateway() as gateway:
        for amount, right in ((Decimal("12.50"), True), (Decimal("1.00"), False)):
            paid = await gateway.transactions.create(
                TransactionCreate(
                    action="sale", transaction_amount=amount, account_number="4111111111111111", exp_date="1230"
                )
            )
            wanted = asked | {"transaction_api_id": paid.transaction_api_id}
            assert (compare_form_result(wanted, paid) == ()) == right
