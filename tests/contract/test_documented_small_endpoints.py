"""Small endpoints, row by row, through raw HTTP and through the SDK: corrected checks, and transactions as files."""

import csv
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway_async.sandbox import Sandbox

from .calls import CHECK, refused_check, voided_check
from .raw_client import RawClient
from .sides import Side, refusal

DAY = 24 * 60 * 60
LIST, FILE = "/v2/transactions", "/custom/tsvtransactions"


def rows(text: str, *, delimiter: str) -> list[dict[str, str]]:
    """Return the rows of a file with their columns."""
    return list(csv.DictReader(text.splitlines(), delimiter=delimiter))


@pytest.mark.parametrize("sec_code", ["TEL", "POP", "C21"])
def test_override(side: Side, sec_code: str) -> None:
    """After reason 1663 a manager's override accepts the payment, without a body."""
    more = {"check_number": "1001", "image_front": "aGk=", "image_back": "aGk=", "track_data": "d072000326d1d2c"}
    more = more if sec_code == "C21" else {"check_number": "1001"}
    check = CHECK | more | {"ach_sec_code": sec_code}
    made = side.pay(**check, transaction_amount="16.63")
    assert (made["status_id"], made["reason_code_id"], made["auth_code"]) == (301, 1663, "")
    changed = side.act("transactions", made["id"], "override")
    assert (changed["status_id"], changed["reason_code_id"], changed["transaction_amount"]) == (131, 1000, "16.63")
    problem = refusal(lambda: side.act("transactions", made["id"], "override"))
    assert problem == {"action": ["Action override is not allowed when reason_code_id is 1000."]}


@pytest.mark.parametrize("sec_code", ["WEB", "PPD", "CCD"])
def test_only_telephone_and_check_payments_need_a_manager(side: Side, sec_code: str) -> None:
    assert side.pay(**CHECK | {"ach_sec_code": sec_code}, transaction_amount="16.63")["status_id"] == 131


@pytest.mark.parametrize("fields", [{"transaction_amount": "13.00"}, {"track_data": "d072000326d100020003000c"}])
def test_correction(raw_client: RawClient, side: Side, fields: dict[str, str]) -> None:
    """The payment is pending again, with the corrected amount or that before the void."""
    changed = side.act("transactions", voided_check(raw_client), "achupdate", fields)
    amount = fields.get("transaction_amount", "12.50")
    assert (changed["status_id"], changed["reason_code_id"], changed["void_date"]) == (131, 1000, None)
    assert (changed["transaction_amount"], changed["auth_amount"]) == (amount, amount)


def test_uncorrectable(raw_client: RawClient, sandbox: Sandbox, side: Side) -> None:
    """Only a voided check of the same day is corrected, by a track or an amount."""
    voided, declined, sale = voided_check(raw_client), refused_check(raw_client), raw_client.sale()["id"]

    def problems(record_id: str, **fields: str) -> dict[str, list[str]]:
        return refusal(lambda: side.act("transactions", record_id, "achupdate", fields))

    assert list(problems(voided)) == ["track_data"]
    assert list(problems(voided, transaction_amount="0.00")) == ["transaction_amount"]
    assert list(problems(declined, transaction_amount="1.00")) == ["action"]
    assert list(problems(sale, transaction_amount="1.00")) == ["action"]
    sandbox.advance(DAY)
    assert problems(voided, transaction_amount="1.00") == {
        "action": ["Action achupdate is only allowed on the day of the payment."]
    }


@pytest.mark.parametrize(("name", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_the_columns_of_a_file_are_the_fields_of_the_list(
    raw_client: RawClient, side: Side, name: str, delimiter: str
) -> None:
    sale = raw_client.sale(description='Tea, "hot"', custom_data={"a": [1]})
    (row,) = rows(side.read_text(LIST, _format=name, id=sale["id"]), delimiter=delimiter)
    (listed,) = raw_client.http.get(LIST, params={"id": sale["id"]}).json()["transactions"]
    assert [*row] == [field for field in listed if field not in {"_links", "tags"}]
    assert (row["id"], row["description"], row["transaction_amount"]) == (sale["id"], 'Tea, "hot"', "12.50")
    assert row["custom_data"] == '{"a":[1]}'


def test_bounds(raw_client: RawClient, sandbox: Sandbox, side: Side) -> None:
    """Times of the form yyyy-mm-dd hh:mm:ss belong to the range."""
    sandbox.advance(DAY)
    sale = raw_client.sale()
    bounds = {"created_ts_from": time_of(sale), "created_ts_to": "2099-12-31 23:59:59"}
    found = rows(side.read_text(LIST, _format="csv", created_ts="custom", **bounds), delimiter=",")
    assert [row["id"] for row in found] == [sale["id"]]


def test_location_file(raw_client: RawClient, sandbox: Sandbox, side: Side) -> None:
    """The file has twelve columns; a void and a reject follow their payments, and the id of a reject ends in cb."""
    sandbox.advance(DAY)
    sale, voided = raw_client.sale(), raw_client.sale()
    assert raw_client.put(f"{LIST}/{voided['id']}", "transaction", {"action": "void"}).is_success
    debit = raw_client.made(LIST, "transaction", **CHECK | {"ach_sec_code": "WEB"}, transaction_amount="20.00")
    since = time_of(sale)
    sandbox.advance(DAY)
    sandbox.return_payment(debit["id"], "R01")
    found = rows(side.read_text(FILE, location_id=raw_client.info.location_id, from_date=since), delimiter="\t")
    assert {len(row) for row in found} == {12}
    assert [(row["id"], row["event"], row["reason_code_id"], row["transaction_amount"]) for row in found] == [
        (sale["id"], "payment", "1000", "12.50"),
        (voided["id"], "payment", "1000", "12.50"),
        (voided["id"], "void", "1200", "-12.50"),
        (debit["id"], "payment", "1000", "20.00"),
        (f"{debit['id']}cb", "reject", "2101", "-20.00"),
    ]


def time_of(transaction: dict[str, Any]) -> str:
    """Return when a transaction was created, as a bound of a file."""
    return f"{datetime.fromtimestamp(transaction['created_ts'], UTC):%Y-%m-%d %H:%M:%S}"


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({}, ["location_id", "from_date"]),
        ({"location_id": "another", "from_date": "2030-01-31 00:00:00"}, ["location_id"]),
        ({"location_id": ..., "from_date": "2030-01-31"}, ["from_date"]),
    ],
)
def test_a_file_needs_a_location_and_a_time(raw_client: RawClient, params: dict[str, Any], names: list[str]) -> None:
    given = {name: raw_client.info.location_id if value is ... else value for name, value in params.items()}
    response = raw_client.http.get(FILE, params=given)
    assert (response.status_code, list(response.json()["errors"])) == (422, names)
