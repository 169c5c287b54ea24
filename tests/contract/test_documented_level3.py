"""The documented rows of level 3 data, through raw HTTP and through the SDK."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.schema import LINE_ITEM

from .raw_client import BANK_ACCOUNT, RawClient
from .sides import Family, Side, refusal, refused
from .untyped_records import LINE, VISA_LINE

CARDS = {"visa": "4111111111111111", "mc": "5454545454545454", "amex": "371449635398431"}
LINES = {"visa": VISA_LINE, "mc": LINE}
DATA: dict[str, dict[str, Any]] = {"visa": {"tax_rate": "4"}, "mc": {}}

DATA_FIELDS = """
    both  sales_tax                   0-10  amount
    both  national_tax                0-10  amount
    both  freight_amount              0-12  amount
    both  duty_amount                 0-12  amount
    both  tax_amount                  0-9   amount
    both  tax_exempt                  1     flag
    both  shipto_zip_code             0-10  text
    both  shipfrom_zip_code           0-10  text
    both  destination_country_code    3     text
    both  transaction_discount_amount 0-12  amount
    visa  tax_rate                    1-4!  amount
    visa  order_date                  6     date
    visa  summary_commodity_code      0-4   text
    visa  unique_vat_ref_number       0-15  text
    visa  merchant_vat_registration   0-20  text
    visa  customer_vat_registration   0-13  text
"""
LINE_FIELDS = """
    both  description      1-26!  text
    both  product_code     1-12!  text
    both  quantity         1-4!   amount
    both  unit_code        1-3!   text
    both  unit_cost        1-12!  amount
    both  tax_amount       1-9!   amount
    both  tax_rate         1-2!   amount
    both  discount_amount  0-12   amount
    visa  commodity_code   1-12!  text
    visa  other_tax_amount 0-12   amount
    mc    alternate_tax_id 0-15   text
    mc    debit_credit     1      mark
    mc    discount_rate    0-5    amount
    mc    tax_type_applied 0-4    text
    mc    tax_type_id      2      tax
"""
"""Brand, field, characters (`!`: required) and kind of value."""


def read(table: str, brand: str) -> list[tuple[str, int, bool, str]]:
    """Return a brand's fields in a table: name, greatest length, whether it is required, and kind of value."""
    rows = [line.split() for line in table.strip().splitlines()]
    return [
        (name, int(span.rstrip("!").rpartition("-")[2]), span.endswith("!"), kind)
        for brands, name, span, kind in rows
        if brands in ("both", brand)
    ]


def longest(kind: str, length: int, name: str) -> str:
    """Return a valid value of the greatest length."""
    if kind == "amount" and name.endswith("_amount"):
        return "9" * (length - 3) + ".25"  # the SDK sends two decimals
    return {"flag": "1", "date": "190131", "mark": "D", "tax": "22"}.get(kind, "7" * length)


@pytest.fixture(scope="module", autouse=True)
def allowed(sandbox: Sandbox) -> Iterator[None]:
    """Let the merchant account take level 3 data."""
    sandbox.change_product(level3_allow=True)
    yield
    sandbox.change_product(level3_allow=False)


@pytest.fixture
def level3s(side: Side) -> Family:
    return Family(side, "transactionlevel3s")


@pytest.fixture(scope="module")
def sales(raw_client: RawClient) -> dict[str, str]:
    return {brand: raw_client.sale(account_number=number)["id"] for brand, number in CARDS.items()}


def content(brand: str, data: dict[str, Any] | None = None, line: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return valid data of a brand with further or other fields; `...` omits one."""
    given = DATA[brand] | {"line_items": [_kept(LINES[brand] | (line or {}))]} | (data or {})
    return {"level3_data": _kept(given)}


def _kept(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not ...}


def with_line(brand: str, line: dict[str, Any]) -> dict[str, Any]:
    """Return valid data with other fields of its line; `...` omits one."""
    return content(brand, line=line)


@pytest.mark.parametrize("brand", ["visa", "mc"])
@pytest.mark.parametrize(
    ("table", "make", "path"),
    [(DATA_FIELDS, content, "level3_data"), (LINE_FIELDS, with_line, "level3_data.line_items[0]")],
    ids=["data", "line"],
)
def test_the_fields(level3s: Family, sales: dict[str, str], brand: str, table: str, make: Any, path: str) -> None:
    """The longest value is kept, a longer one refused, and a required one named when missing."""

    def create(name: str, value: Any) -> Any:
        data = level3s.create(transaction_id=sales[brand], **make(brand, {name: value}))["level3_data"]
        return (data if make is content else data["line_items"][0])[name]

    for name, length, required, kind in read(table, brand):
        value = longest(kind, length, name)
        assert str(create(name, value)) == value
        assert f"{path}.{name}" in refusal(partial(create, name, "1" + value))
        if required:
            expected = {f"{path}.{name}": [f"{name.replace('_', ' ').title()} cannot be blank."]}
            assert refusal(partial(create, name, ...)) == expected
        else:
            assert create(name, ...) is None


def test_each_documented_tax_type_is_accepted(level3s: Family, sales: dict[str, str]) -> None:
    for code in LINE_ITEM["mc"].by_name["tax_type_id"].choices:
        made = level3s.create(transaction_id=sales["mc"], **content("mc", line={"tax_type_id": code}))
        assert made["level3_data"]["line_items"][0]["tax_type_id"] == code


WRONG: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("visa", {"order_date": "191301"}, {}, "order_date"),
    ("visa", {"sales_tax": "1.23456"}, {}, "sales_tax"),
    ("visa", {"shipto_zip_code": "32606-1"}, {}, "shipto_zip_code"),
    ("visa", {"tax_exempt": "2"}, {}, "tax_exempt"),
    ("mc", {}, {"debit_credit": "X"}, "line_items[0].debit_credit"),
    ("mc", {}, {"tax_type_id": "07"}, "line_items[0].tax_type_id"),
    ("mc", {}, {"description": "Tea & milk"}, "line_items[0].description"),
    ("mc", {}, {"quantity": "two"}, "line_items[0].quantity"),
    ("mc", {"order_date": "190131"}, {}, "order_date"),
    ("visa", {}, {"debit_credit": "D"}, "line_items[0].debit_credit"),
    ("visa", {"line_items": [LINES["visa"], "x"]}, {}, "line_items[1]"),
]


def test_wrong_values(level3s: Family, sales: dict[str, str]) -> None:
    """Codes, dates, digits, and the fields of the other brand in a strict sandbox; a line's problem has its number."""
    wrong = [(brand, content(brand, data, line), f"level3_data.{path}") for brand, data, line, path in WRONG]
    wrong += [("visa", {"level3_data": None}, "level3_data"), ("visa", {}, "level3_data")]
    for brand, data, name in wrong:
        assert list(refusal(partial(level3s.create, transaction_id=sales[brand], **data))) == [name]
    without: list[Any] = [..., [], None, "x"]
    for lines in without:
        new = {"transaction_id": sales["visa"], **content("visa", {"line_items": lines})}
        missing = {"level3_data.line_items": ["Line item record details missing"]}
        assert refusal(partial(level3s.create, **new)) == missing
    assert list(refusal(lambda: level3s.create(**content("visa")))) == ["transaction_id"]
    assert refusal(lambda: level3s.create(transaction_id="f" * 24, **content("visa"))) == {
        "transaction_id": ["transaction_id provided is not valid"]
    }


def test_documented_record(level3s: Family, side: Side, raw_client: RawClient) -> None:
    """The data is found by its own id and by that of its transaction, and the transaction shows it."""
    sale = raw_client.sale()
    made = level3s.create(transaction_id=sale["id"], **content("visa"))
    assert {*made} == {"id", "transaction_id", "level3_data", "created_ts", "modified_ts", "_links"}
    assert made["level3_data"]["line_items"][0] | LINES["visa"] == made["level3_data"]["line_items"][0]
    assert level3s.get(made["id"])["level3_data"] == made["level3_data"]
    assert raw_client.http.get(f"/v2/transactionlevel3s/{sale['id']}").json()["transactionlevel3"]["id"] == made["id"]
    assert side.read(sale, "transaction_level3")["transaction_level3"]["id"] == made["id"]


def test_second_post(level3s: Family, raw_client: RawClient) -> None:
    """A field that the second one omits is cleared."""
    sale = raw_client.sale()
    first = level3s.create(transaction_id=sale["id"], **content("visa", {"sales_tax": "1.00"}))
    second = level3s.create(transaction_id=sale["id"], **content("visa"))
    assert (second["id"], second["level3_data"]["sales_tax"]) == (first["id"], None)
    assert level3s.get(first["id"])["level3_data"] == second["level3_data"]


def test_deletion(level3s: Family, side: Side, raw_client: RawClient) -> None:
    """A second deletion is a 409, and new data can be created; once settled, it stays."""
    sale = raw_client.sale()
    made = level3s.create(transaction_id=sale["id"], **content("visa"))
    level3s.delete(made["id"])
    assert refused(lambda: level3s.delete(made["id"])).status == 409
    assert refused(lambda: level3s.get("f" * 24)).status == 404
    assert side.read(sale, "transaction_level3")["transaction_level3"] is None
    again = level3s.create(transaction_id=sale["id"], **content("visa"))
    assert again["id"] != made["id"]
    side.settle(sale["transaction_batch_id"])
    assert list(refusal(lambda: level3s.delete(again["id"]))) == ["transaction_id"]


def test_excluded_transactions(level3s: Family, sandbox: Sandbox, raw_client: RawClient) -> None:
    """The merchant account, the card and the way of payment decide whether level 3 data is taken."""
    bank = {"payment_method": "ach", "action": "debit", "ach_sec_code": "WEB", "exp_date": None}
    others = [raw_client.sale(account_number=CARDS["amex"])["id"], raw_client.sale(**BANK_ACCOUNT | bank)["id"]]
    sale = raw_client.sale()["id"]
    sandbox.change_product(level3_allow=False)
    refusals = [refusal(lambda: level3s.create(transaction_id=sale, **content("visa")))]
    sandbox.change_product(level3_allow=True)
    refusals += [refusal(lambda: level3s.create(transaction_id=other, **content("visa"))) for other in others]  # noqa: B023
    assert [list(each) for each in refusals] == [["transaction_id"]] * 3
