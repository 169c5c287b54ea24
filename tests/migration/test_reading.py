"""Values as people write them, and which vault-create a row asks for."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from gateway_async._secrets import unseal
from gateway_async._wire.request import prepare
from gateway_async.migration.rows.builder import build_row
from gateway_async.migration.rows.values import cell_text, read_value

from .files import CARD, OTHER_CARD

GOOD = {"account_number": CARD, "exp_date": "12/30"}


def value(field: str, raw: Any) -> Any:
    return read_value(field, cell_text(raw))


def problems(**cells: Any) -> tuple[str, ...]:
    return build_row(cells, key="k").problems


def content(**cells: Any) -> dict[str, Any]:
    row = build_row(cells, key="k")
    assert row.problems == ()
    assert row.request is not None
    return {"kind": type(row.request).__name__, **unseal(prepare(row.request).content)}


# --- values


@pytest.mark.parametrize(
    "raw",
    [
        *(
            "1230",
            "12/30",
            "12/2030",
            "12-30",
            "12-2030",
            "12.2030",
            "12 / 30",
            "2030-12",
            "2030/12",
            "203012",
            "122030",
        ),
        *("2030-12-31", "2030-12-31 00:00:00", "2030-12-31T00:00:00Z", "12/31/2030", "31.12.2030", "2030-12-01"),
        *("Dec 2030", "dec-30", "December 2030", "DEC. 2030", "Dec30", "1230.0", "'1230", ' ="12/30" '),
        *(1230, 1230.0, Decimal("1230.00"), date(2030, 12, 31), datetime(2030, 12, 31, 1, 2)),  # noqa: DTZ001  as files have it
    ],
)
def test_an_expiry_is_read(raw: Any) -> None:
    assert value("exp_date", raw) == "1230"


@pytest.mark.parametrize("raw", ["930", "9/30", 930, 930.0, "Sept 2030", "2030-9"])
def test_a_month_without_its_zero_is_read(raw: Any) -> None:
    assert value("exp_date", raw) == "0930"


@pytest.mark.parametrize(
    "raw",
    [
        "01/12/2030",
        "30-Dec",
        "12/31/30",
        "47848",
        "13/30",
        "00/30",
        "2030-13",
        "12/1930",
        "12",
        "never",
        "1.23E+03",
        "203000",
    ],
)
def test_an_ambiguous_expiry_is_refused(raw: str) -> None:
    with pytest.raises(ValueError, match=r"such as 1230, 12/30|has lost digits"):
        value("exp_date", raw)


@pytest.mark.parametrize(
    "raw",
    [
        *("2026-09-27", "2026-09-27 00:00:00", "2026-09-27T00:00:00Z", "2026/9/27", "2026.09.27", "9/27/2026"),
        *("27.09.2026", "27/9/2026", "9/27/26", "27.09.26", "09/30/26", "1932-09-01", "01/12/2030", "46292", "46292.0"),
        *(date(2026, 9, 27), datetime(2026, 12, 30, tzinfo=UTC), 46292, 46292.0, "2/2/2030", "2028-02-28"),
        *("2026-09-30T22:00:00.000Z", "2026-12-31 23:00:00+00:00"),
    ],
)
def test_a_date_that_a_spreadsheet_made_is_refused(raw: Any) -> None:
    with pytest.raises(
        ValueError, match=r"^is a full date \(.*a spreadsheet may have changed the whole column"
    ) as caught:
        value("exp_date", raw)
    assert "27" not in str(caught.value)
    assert problems(account_number=CARD, exp_date=raw)[0].startswith("exp_date: is a full date (")


@pytest.mark.parametrize(
    ("raw", "expiry"),
    [
        *(("2028-02-29", "0228"), ("2027-02-28", "0227"), ("2030-09-01 00:00:00", "0930"), ("30.09.2030", "0930")),
        *(
            ("09/30/2030", "0930"),
            ("1/1/2031", "0131"),
            ("2030-12-31T23:59:59Z", "1230"),
            ("2030-12-01T18:00Z", "1230"),
        ),
        *((date(2030, 11, 30), "1130"), (datetime(2030, 11, 1, tzinfo=UTC), "1130")),
    ],
)
def test_the_first_or_last_day_of_a_month_is_an_expiry(raw: Any, expiry: str) -> None:
    row = build_row({"account_number": CARD, "exp_date": raw}, key="k")
    assert (value("exp_date", raw), row.problems, row.has_full_date) == (expiry, (), True)
    assert not build_row(GOOD, key="k").has_full_date


@pytest.mark.parametrize(
    "raw",
    [
        *(CARD, "4111 1111 1111 1111", "4111-1111-1111-1111", "'4111111111111111", "4111\u00a01111\u20111111 1111"),
        *('="4111111111111111"', "\u200b4111111111111111", int(CARD), float(CARD), Decimal(CARD), CARD + ".0"),
    ],
)
def test_a_number_is_read(raw: Any) -> None:
    assert value("account_number", raw) == CARD


@pytest.mark.parametrize("raw", ["4.11111E+15", "4,11111E+15", "4e15", 1e22])
def test_a_number_that_lost_digits_is_refused(raw: Any) -> None:
    with pytest.raises(ValueError, match=r"^scientific notation, which has lost digits"):
        value("account_number", raw)


@pytest.mark.parametrize("raw", ["************1111", "XXXX1111", "xxxx-xxxx-xxxx-1111", "**** **** **** 1111", "****"])
def test_a_masked_number_is_called_that(raw: str) -> None:
    with pytest.raises(ValueError, match="masked"):
        value("account_number", raw)


@pytest.mark.parametrize(
    ("raw", "flag"), [("Yes", True), ("n", False), ("TRUE", True), ("0", False), (True, True), (0.0, False)]
)
def test_a_flag_is_read(raw: Any, flag: bool) -> None:
    assert value("is_company", raw) is flag


@pytest.mark.parametrize(
    ("field", "raw", "expected"),
    [
        ("billing_phone", "+1 (555) 123-4567", "5551234567"),
        ("billing_zip", 12345.0, "12345"),
        ("billing_zip", "01234", "01234"),
        ("payment_method", "Credit Card", "cc"),
        ("payment_method", "E-Check", "ach"),
        ("account_type", "Checking", "checking"),
        ("customer_id", "1E5", "1E5"),
        ("customer_id", "1001.0", "1001"),
        ("account_vault_api_id", 1001.0, "1001"),
        ("account_holder_name", " O'Neil \u00a0", "O'Neil"),
    ],
)
def test_other_values_are_read(field: str, raw: Any, expected: str) -> None:
    assert value(field, raw) == expected


@pytest.mark.parametrize(
    ("field", "raw"),
    [
        ("is_company", "maybe"),
        ("payment_method", "gold"),
        ("title", "a\nb"),
        ("title", "a\x00"),
        ("title", ["a"]),
        ("title", {}),
    ],
)
def test_what_cannot_be_read_is_refused(field: str, raw: Any) -> None:
    with pytest.raises(ValueError, match=r"must be|control"):
        value(field, raw)


@pytest.mark.parametrize("raw", [None, "", "  ", float("nan"), Decimal("NaN"), "\ufeff"])
def test_nothing_is_nothing(raw: Any) -> None:
    """Empty cells say nothing."""
    assert cell_text(raw) == ""


@pytest.mark.parametrize(
    ("raw", "key"),
    [
        *((1001, "1001"), (1001.0, "1001"), ("1001", "1001"), ("1001.0", "1001"), ("1001.00", "1001")),
        *((Decimal("1001.00"), "1001"), (' ="1001" ', "1001"), ("-5.0", "-5"), (0.0, "0"), (1001.5, "1001.5")),
        *(("007", "007"), ("007.0", "007.0"), ("1.0.0", "1.0.0"), ("12E5", "12E5"), ("7e10", "7e10"), ("1e5", "1e5")),
        *((12345678901234567890, "12345678901234567890"), (Decimal("1e20"), "1" + "0" * 20)),
    ],
)
def test_a_key_is_the_same_from_every_source(raw: Any, key: str) -> None:
    row = build_row(GOOD, key=raw)
    assert (row.key, row.problems) == (key, ())


@pytest.mark.parametrize("raw", ["1.23457E+15", "1,23E+11", 1e16, 2.0**53, "9007199254740992.0", "1e+05"])
@pytest.mark.parametrize("field", ["key", "account_vault_api_id"])
def test_a_key_that_lost_digits_is_refused(raw: Any, field: str) -> None:
    row = build_row(GOOD, key=raw) if field == "key" else build_row({**GOOD, field: raw})
    assert row.key == ""
    assert row.problems[0].startswith(f"{field}: a rounded number, which has lost digits")


@pytest.mark.parametrize(
    ("zip_code", "state", "is_problem"),
    [
        *(("2134", "MA", True), ("2134.0", "ma ", True), (2134, "Massachusetts", True), ("21340001", "MA", True)),
        *(("2134-0001", "NJ", True), ("6010001", "PR", True), ("9999", "TX", True)),
        *(("02134", "MA", False), ("021340001", "MA", False), ("2134", None, False), ("2134", "NSW", False)),
        *(("K1A 0B1", "ON", False), ("2134", "", False)),
    ],
)
def test_a_zip_code_without_its_zero_is_refused_beside_a_state(zip_code: Any, state: Any, is_problem: bool) -> None:
    found = problems(**GOOD, billing_zip=zip_code, billing_state=state)
    assert [line.partition(": has")[0] for line in found] == ["billing_zip"] * is_problem
    if found:
        assert "a leading zero is missing (expected 5 or 9 digits)" in found[0]


# --- requests

BANK = {"account_number": "123456789", "account_holder_name": "Ann", "routing": "072000326", "is_company": "no"}


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (GOOD, "CardVaultCreate"),
        ({**GOOD, "payment_method": "cc", "account_type": "visa"}, "CardVaultCreate"),
        ({**BANK, "account_type": "checking"}, "AchVaultCreate"),
        ({**BANK, "account_type": "Savings", "payment_method": "ACH"}, "AchVaultCreate"),
        ({"track_data": "%B4111111111111111^A/B^3012101?"}, "SwipedVaultCreate"),
        ({"ticket": "t-1"}, "TicketVaultCreate"),
        ({"previous_transaction_id": "t", "payment_method": "ach"}, "TransactionVaultCreate"),
        ({"previous_account_vault_api_id": "v"}, "VaultCopyCreate"),
    ],
)
def test_what_is_there_says_which_request_it_is(cells: dict[str, str], kind: str) -> None:
    sent = content(**cells)
    assert sent["kind"] == kind
    assert sent["payment_method"] == ("ach" if "ach" in kind.lower() or cells.get("payment_method") == "ach" else "cc")


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"exp_date": "1230"}, "account_number: required"),
        ({"account_number": CARD}, "exp_date: required for a card"),
        ({**GOOD, "ticket": "t"}, "account_number: not allowed together with ticket"),
        ({**GOOD, "payment_method": "cc", "routing": "072000326"}, "routing: not allowed for a card"),
        ({**BANK}, "account_type: required for a bank account"),
        ({"ticket": "t", "exp_date": "1230"}, "exp_date: not allowed for a ticket"),
        (
            {"account_number": "4111111111111112", "exp_date": "1230"},
            "account_number: fails the check digit, ends in 1112",
        ),
        ({"account_number": "42", "exp_date": "1230"}, "account_number: has 2 digits (expected 12 to 19 for a card)"),
        (
            {"account_number": CARD + "1111", "exp_date": "1230"},
            "account_number: has 20 digits (expected 12 to 19 for a card)",
        ),
        ({"account_number": "none", "exp_date": "1230"}, "account_number: must be digits only"),
        ({**GOOD, "contact_id": "a", "contact_api_id": "b"}, "contact_id, contact_api_id: only one"),
    ],
)
def test_what_is_wrong_is_said(cells: dict[str, str], said: str) -> None:
    (line,) = problems(**cells)
    assert line.startswith(said)


def test_all_that_is_wrong_is_said_at_once() -> None:
    found = problems(
        account_number="4111111111111112", billing_zip="1", title="x" * 65, is_company="no", payment_method="cc"
    )
    assert sorted(line.split(":")[0] for line in found) == [
        "account_number",
        "billing_zip",
        "exp_date",
        "is_company",
        "title",
    ]


def test_no_location_is_no_problem() -> None:
    assert "location_id" not in content(**GOOD)


# --- keys


def test_the_id_is_the_key_where_there_is_no_other() -> None:
    assert build_row({**GOOD, "account_vault_api_id": "a"}).key == "a"
    assert build_row({**GOOD, "account_vault_api_id": "a"}, key=7).key == "7"


def test_a_row_without_a_key_is_told() -> None:
    assert build_row(GOOD).problems == ("key: required (or account_vault_api_id)",)


@pytest.mark.parametrize("key", [CARD, "4111-1111-1111-1111", f"c-{CARD}", "4111.1111/1111_1111"])
def test_a_key_that_gives_the_number_away_is_refused(key: str) -> None:
    row = build_row(GOOD, key=key)
    assert row.key == ""
    assert any(line.startswith("key: contains the account number") for line in row.problems)
    assert CARD not in repr(row)


@pytest.mark.parametrize(
    "cells", [{"key": OTHER_CARD}, {"key": f"c-{OTHER_CARD[:4]} {OTHER_CARD[4:]}"}, {"key": 1, "api_id": OTHER_CARD}]
)
def test_a_key_that_is_the_number_of_another_card_is_refused(cells: dict[str, Any]) -> None:
    row = build_row({**GOOD, "account_vault_api_id": cells.get("api_id")}, key=cells["key"])
    assert (row.key, [line.partition(" (")[0] for line in row.problems]) == ("", ["key: contains a card number"])


@pytest.mark.parametrize("key", ["4111111111111112", "9999999999999995", "20261125093011", "ord-4242", 7])
def test_a_key_that_only_looks_like_a_number_is_one(key: Any) -> None:
    assert (build_row(GOOD, key=key).key, build_row(GOOD, key=key).problems) == (str(key), ())


def test_the_id_must_not_give_the_number_away_either() -> None:
    row = build_row({**GOOD, "account_vault_api_id": CARD}, key="k")
    assert any("contains the account number" in line for line in row.problems)
