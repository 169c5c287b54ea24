"""Recurrings: their dates and states, and the charges that the end-of-day job makes."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import httpx
import pytest

from gateway_async.sandbox import Sandbox

from .conftest import BANK_ACCOUNT, Errors, Record, Shop, noon

START = date(2031, 2, 23)
NONE = "0000-00-00"


@pytest.fixture
def sandbox(sandbox: Sandbox) -> Sandbox:
    """A gateway whose clock shows noon of the day before the first charge."""
    sandbox.set_clock(noon(START - timedelta(1)))
    return sandbox


def vault(shop: Shop, **fields: Any) -> str:
    """Store a card, or another account, and return the vault's id."""
    return str(shop.vault(**fields).json()["accountvault"]["id"])


def plan(shop: Shop, **fields: Any) -> httpx.Response:
    """Create a plan as in the documentation's sample: monthly, 20 times 10.00."""
    said: Record = {"location_id": shop.info.location_id, "interval": 1, "interval_type": "m"}
    said |= {"start_date": START.isoformat(), "transaction_amount": "10.00", "installment_total_count": 20}
    if not {"account_vault_id", "account_vault_api_id"} & fields.keys():
        said["account_vault_id"] = vault(shop, contact_id=shop.info.contact_id)
    record = {name: value for name, value in (said | fields).items() if value is not ...}
    return shop.post("recurring", "/v2/recurrings", record)


def made(shop: Shop, **fields: Any) -> Record:
    """Create a plan and return the record; without a count it is ongoing."""
    response = plan(shop, **fields)
    assert response.status_code == 201, response.text
    record: Record = response.json()["recurring"]
    return record


def act(shop: Shop, record: Record, verb: str, **query: Any) -> httpx.Response:
    return shop.http.post(f"/v2/recurrings/{record['id']}/{verb}", params=query)


def read(shop: Shop, record: Record, **query: Any) -> Record:
    found: Record = shop.get(f"/v2/recurrings/{record['id']}", **query).json()["recurring"]
    return found


def charges(shop: Shop, record: Record) -> list[Record]:
    """Return the charges of a recurring, the oldest first."""
    found: list[Record] = shop.get("/v2/transactions", recurring_id=record["id"], sort="id").json()["transactions"]
    return found


def dates(record: Record) -> tuple[str, str]:
    return record["next_run_date"], record["end_date"]


def test_documented_sample(sandbox: Sandbox, shop: Shop) -> None:
    """Monthly from 23 February 2019, 20 times: a skip, and then a deferral."""
    sandbox.set_clock(noon(date(2019, 2, 22)))
    record = made(shop, start_date="2019-02-23")
    assert dates(record) == ("2019-02-23", "2020-10-22")
    assert (record["installment_amount_total"], record["recurring_type_id"]) == ("200.00", "i")
    skipped = act(shop, record, "skipPayment", skip_count=1)
    assert skipped.status_code == 200
    assert dates(skipped.json()["recurring"]) == ("2019-03-23", "2020-10-22")
    assert skipped.json()["recurring"]["installment_total_count"] == 20
    deferred = act(shop, record, "deferPayment", defer_count=1).json()["recurring"]
    assert dates(deferred) == ("2019-04-23", "2020-11-22")


def test_new_plan(shop: Shop, errors: Errors) -> None:
    """A vault and a plan may be named by api ids; without a number of installments a plan is ongoing."""
    vault_id, ongoing = vault(shop, account_vault_api_id="mine"), made(shop, installment_total_count=...)
    assert (ongoing["end_date"], ongoing["recurring_type_id"], ongoing["installment_amount_total"]) == (NONE, "o", None)
    assert made(shop, installment_total_count=..., end_date="2031-12-31")["end_date"] == "2031-12-31"
    record = made(shop, account_vault_api_id="mine", recurring_api_id="mine", recurring_c1="a")
    assert (record["account_vault_id"], record["product_transaction_id"]) == (
        vault_id,
        shop.info.cc_product_transaction_id,
    )
    shown = ("status", "active", "payment_method", "notification_days", "recurring_c1", "recurring_c2")
    assert [record[name] for name in shown] == ["active", "1", "cc", None, "a", None]
    assert record["_links"]["self"]["href"].endswith(f"/v2/recurrings/{record['id']}")
    assert "created_user_id" not in record
    found = shop.get("/v2/recurrings/mine", api_id=1, location_id=shop.info.location_id).json()["recurring"]
    assert (found["id"], found["recurring_c1"]) == (record["id"], "a")
    taken = {"recurring_api_id": ["recurring_api_id already exists in this location"]}
    assert errors(plan(shop, recurring_api_id="mine")) == taken
    both = errors(plan(shop, account_vault_id=vault_id, account_vault_api_id="mine"))  # may name different ones
    assert both.keys() == {"account_vault_id", "account_vault_api_id"}


def test_charges(sandbox: Sandbox, shop: Shop) -> None:
    """Each charge is a transaction of the vault's contact, at the midnight that begins the day."""
    record = made(shop, description="Rent")
    sandbox.set_clock(noon(date(2031, 2, 22)))
    assert charges(shop, record) == []
    sandbox.set_clock(noon(date(2031, 4, 24)))
    found = charges(shop, record)
    assert [datetime.fromtimestamp(each["created_ts"], UTC).date().isoformat() for each in found] == [
        "2031-02-23",
        "2031-03-23",
        "2031-04-23",
    ]
    first = found[0]
    shown = ("transaction_amount", "status_id", "is_recurring", "trx_source_id", "description", "contact_id")
    assert [first[name] for name in shown] == ["10.00", 134, True, 13, "Rent", shop.info.contact_id]
    assert (first["account_vault_id"], first["is_accountvault"]) == (record["account_vault_id"], True)
    names = ("recurring_number", "installment_number", "installment_total_count")
    assert [[each[name] for name in names] for each in found] == [["1", "1", "20"], ["2", "2", "20"], ["3", "3", "20"]]
    assert dates(read(shop, record)) == ("2031-05-23", "2032-10-22")


def test_end(sandbox: Sandbox, shop: Shop) -> None:
    """A plan ends after its number of charges, declined ones too, whatever its end date is, and has no next date."""
    plans = [made(shop, installment_total_count=3, transaction_amount=amount) for amount in ("10.00", "6.16", "10.00")]
    shop.put("recurring", f"/v2/recurrings/{plans[2]['id']}", {"end_date": "2040-01-01"})
    sandbox.set_clock(noon(date(2042, 1, 1)))
    statuses = [[each["status_id"] for each in charges(shop, record)] for record in plans]
    assert statuses == [[134] * 3, [301] * 3, [134] * 3]
    assert [read(shop, record)["status"] for record in plans] == ["ended"] * 3
    assert dates(read(shop, plans[0])) == (NONE, "2031-05-22")


def test_skip(sandbox: Sandbox, shop: Shop, errors: Errors) -> None:
    """A skipped charge never runs and the end date stays, so a plan has fewer charges; a deferred one runs later."""
    skipped, deferred = made(shop, installment_total_count=3), made(shop, installment_total_count=3)
    act(shop, skipped, "skipPayment", skip_count=2)
    act(shop, deferred, "deferPayment", defer_count=2)
    none_left = act(shop, made(shop, installment_total_count=3), "skipPayment", skip_count=3).json()["recurring"]
    assert (none_left["status"], none_left["next_run_date"]) == ("ended", NONE)
    ongoing = act(shop, made(shop, installment_total_count=...), "deferPayment", defer_count=1)
    assert errors(ongoing) == {"recurring_type_id": ["Defer Payment is not allowed for an ongoing recurring."]}
    sandbox.set_clock(noon(date(2032, 1, 1)))
    assert (len(charges(shop, skipped)), len(charges(shop, deferred))) == (1, 3)
    assert {read(shop, each)["status"] for each in (skipped, deferred)} == {"ended"}


def test_hold(sandbox: Sandbox, shop: Shop) -> None:
    """On hold nothing runs. After `activate` the schedule goes on, or has ended; missed charges are not made up."""
    record, short = made(shop, installment_total_count=...), made(shop, installment_total_count=2)
    act(shop, short, "placeOnHold")
    held = act(shop, record, "placeOnHold")
    assert held.status_code == 200
    assert (held.json()["recurring"]["status"], held.json()["recurring"]["next_run_date"]) == ("on hold", NONE)
    sandbox.set_clock(noon(date(2031, 6, 1)))
    assert charges(shop, record) == []
    active = act(shop, record, "activate").json()["recurring"]
    assert (active["status"], active["next_run_date"]) == ("active", "2031-06-23")
    assert act(shop, short, "activate").json()["recurring"]["status"] == "ended"
    sandbox.set_clock(noon(date(2031, 6, 24)))
    assert len(charges(shop, record)) == 1


def test_inactive(sandbox: Sandbox, shop: Shop) -> None:
    """With `active` 0 no charge is made, and the date of the plan goes on."""
    record = made(shop, installment_total_count=..., active=0)
    sandbox.set_clock(noon(date(2031, 3, 1)))
    assert charges(shop, record) == []
    assert read(shop, record)["next_run_date"] == "2031-03-23"


def test_a_bank_account_is_debited(sandbox: Sandbox, shop: Shop) -> None:
    account = {name: value for name, value in BANK_ACCOUNT.items() if value is not ...}
    record = made(shop, account_vault_id=vault(shop, **account, is_company=0, exp_date=...))
    assert record["payment_method"] == "ach"
    sandbox.set_clock(noon(START))
    (charge,) = charges(shop, record)
    assert (charge["type_id"], charge["product_transaction_id"]) == (50, shop.info.ach_product_transaction_id)


@pytest.mark.parametrize(
    ("interval", "unit", "start", "expected"),
    [
        (1, "m", "2031-03-31", ["2031-03-31", "2031-04-30", "2031-05-31", "2031-06-30"]),
        (2, "w", "2031-03-01", ["2031-03-01", "2031-03-15", "2031-03-29", "2031-04-12"]),
        (30, "d", "2031-03-01", ["2031-03-01", "2031-03-31", "2031-04-30", "2031-05-30"]),
        (12, "m", "2032-02-29", ["2032-02-29", "2033-02-28", "2034-02-28", "2035-02-28"]),
    ],
)
def test_dates(sandbox: Sandbox, shop: Shop, interval: int, unit: str, start: str, expected: list[str]) -> None:
    """A day that a month does not have is its last one, and the next month has it again."""
    record = made(shop, interval=interval, interval_type=unit, start_date=start, installment_total_count=4)
    sandbox.set_clock(noon(date(2037, 1, 1)))
    found = [datetime.fromtimestamp(each["created_ts"], UTC) for each in charges(shop, record)]
    assert [each.date().isoformat() for each in found] == expected


def test_past_beginning(shop: Shop) -> None:
    """Dates in the past are not made up: the next charge is on the first date of the schedule from today on."""
    assert made(shop, start_date="2030-12-01")["next_run_date"] == "2031-03-01"
    assert made(shop, start_date="2031-02-22")["next_run_date"] == "2031-02-22"
    assert made(shop, start_date="2012-01-01", installment_total_count=2)["status"] == "ended"


def test_change(sandbox: Sandbox, shop: Shop) -> None:
    """The next date can be moved; the schedule then follows it. An earlier end date ends it."""
    record, path = made(shop, installment_total_count=...), "/v2/recurrings/{id}"
    path = path.format_map(record)
    changed = shop.put("recurring", path, {"next_run_date": "2031-03-05", "notification_days": 3}).json()["recurring"]
    assert (changed["next_run_date"], changed["notification_days"]) == ("2031-03-05", 3)
    sandbox.set_clock(noon(date(2031, 3, 6)))
    assert read(shop, record)["next_run_date"] == "2031-04-05"
    ended = shop.put("recurring", path, {"end_date": "2031-03-31"}).json()["recurring"]
    assert (ended["status"], ended["next_run_date"]) == ("ended", NONE)


def test_active(shop: Shop) -> None:
    """The field is ignored in a plan with an end, as documented; an ongoing one takes it."""
    for fields, expected in (({}, "1"), ({"installment_total_count": ...}, 0)):
        record = made(shop, **fields)
        response = shop.put("recurring", f"/v2/recurrings/{record['id']}", {"active": 0})
        assert response.status_code == 200
        assert response.json()["recurring"]["active"] == expected


NAMES = {"skipPayment": "Skip Payment", "deferPayment": "Defer Payment", "placeOnHold": "Place On Hold"}
NAMES |= {"activate": "Activate"}


def test_states(shop: Shop, errors: Errors) -> None:
    """A change that the state does not allow is a 422 that names the status."""
    ended, held = made(shop, installment_total_count=2), made(shop, installment_total_count=2)
    act(shop, ended, "skipPayment", skip_count=2)
    act(shop, held, "placeOnHold")
    for record, state, verbs in ((ended, "ended", [*NAMES]), (held, "on hold", ["skipPayment", "deferPayment"])):
        assert read(shop, record)["status"] == state
        for verb in verbs:
            problem = f"{NAMES[verb]} is not allowed when status is {state}."
            assert errors(act(shop, record, verb, skip_count=1, defer_count=1)) == {"status": [problem]}


def test_a_repeated_status_returns_the_unchanged_recurring(shop: Shop) -> None:
    record = made(shop)
    active, held = read(shop, record), act(shop, record, "placeOnHold").json()["recurring"]
    for verb, unchanged in (("placeOnHold", held), ("activate", active), ("activate", active)):
        response = act(shop, record, verb)
        assert (response.status_code, response.json()["recurring"]) == (200, unchanged)


def test_number_of_charges(shop: Shop, errors: Errors) -> None:
    """The number of charges in the query is from 1 to 999; no date is after the year 9999, and nothing fails."""
    record = made(shop, start_date="9999-11-30", interval=999, installment_total_count=999)
    for count in ("", "0", "-1", "1.5", "x", "1000", "9" * 5000):
        assert errors(act(shop, record, "skipPayment", skip_count=count)).keys() == {"skip_count"}
        assert errors(act(shop, record, "deferPayment", defer_count=count)).keys() == {"defer_count"}
    assert dates(read(shop, record)) == dates(record) == ("9999-11-30", "9999-12-30")
    assert act(shop, record, "skipPayment", skip_count=999).status_code == 200


REFUSED: list[tuple[Record, str, str]] = [
    ({"interval": 0}, "interval", "Interval must be greater than 0."),
    ({"interval_type": "y"}, "interval_type", "Interval Type must be d, w or m."),
    ({"installment_total_count": 0}, "installment_total_count", "Installment Total Count must be greater than 0."),
    ({"transaction_amount": 0}, "transaction_amount", "Transaction Amount must be greater than 0.00."),
    ({"end_date": "2031-02-22"}, "end_date", "End Date must not be before Start Date."),
    ({"account_vault_id": ...}, "account_vault_id", "Account Vault Id cannot be blank."),
    ({"account_vault_id": "f" * 24}, "account_vault_id", "account_vault_id provided is not valid"),
    ({"account_vault_api_id": "x"}, "account_vault_api_id", "account_vault_api_id provided is not valid"),
    ({"payment_method": "ach"}, "payment_method", "Payment Method of this account is cc."),
    ({"location_id": ...}, "location_id", "Location Id cannot be blank."),
    ({"next_run_date": "2031-03-01"}, "next_run_date", "Next Run Date cannot be set."),
    (
        {"transaction_amount": "999999999.99"},
        "installment_total_count",
        "Installment Amount Total must be at most 999999999.99.",
    ),
]


def test_refusals(shop: Shop, errors: Errors) -> None:
    """Each refused field is a 422 with a message for it."""
    other = {"product_transaction_id": shop.info.ach_product_transaction_id}
    wrong = (other, "product_transaction_id", "product_transaction_id provided is not valid")
    for fields, name, text in [*REFUSED, wrong]:
        assert errors(plan(shop, **fields)) == {name: [text]}


def test_other_account(shop: Shop, errors: Errors) -> None:
    """A bank account instead of a card is refused."""
    record = made(shop)
    path = f"/v2/recurrings/{record['id']}"
    other = vault(shop, account_vault_api_id="mine")
    changed = shop.put("recurring", path, {"account_vault_api_id": "mine"}).json()["recurring"]
    assert changed["account_vault_id"] == other
    account = {name: value for name, value in BANK_ACCOUNT.items() if value is not ...}
    bank = vault(shop, **account, is_company=0, exp_date=...)
    found = errors(shop.put("recurring", path, {"account_vault_id": bank}))
    assert found == {"account_vault_id": ["Account Vault Id must be of a cc account."]}
    assert errors(shop.put("recurring", path, {"account_vault_id": None})).keys() == {"account_vault_id"}
    assert shop.get(f"/v2/accountvaults/{record['account_vault_id']}").json()["accountvault"]["has_recurring"] is False
    assert shop.get(f"/v2/accountvaults/{other}").json()["accountvault"]["has_recurring"] is True


def test_next_date(shop: Shop, errors: Errors) -> None:
    """Neither the date of an inactive plan can be set, nor that of an active one be cleared or moved past its end."""
    record = made(shop)
    path = f"/v2/recurrings/{record['id']}"
    said = {"next_run_date": ["Next Run Date must not be after End Date."]}
    assert errors(shop.put("recurring", path, {"next_run_date": "2032-10-23"})) == said
    assert shop.put("recurring", path, {"next_run_date": "2032-10-22"}).status_code == 200
    said = {"next_run_date": ["Next Run Date cannot be blank."]}
    assert errors(shop.put("recurring", path, {"next_run_date": NONE})) == said
    act(shop, record, "placeOnHold")
    said = {"next_run_date": ["Next Run Date cannot be set when status is on hold."]}
    assert errors(shop.put("recurring", path, {"next_run_date": "2031-05-01"})) == said


def test_vault_in_use(shop: Shop, errors: Errors) -> None:
    """The vault has `has_recurring` until the recurring ends or is deleted."""
    record = made(shop)
    path = f"/v2/accountvaults/{record['account_vault_id']}"
    assert shop.get(path).json()["accountvault"]["has_recurring"] is True
    assert errors(shop.http.delete(path)) == {"id": ["Account Vault is used by a recurring and cannot be deleted."]}
    assert shop.http.delete(f"/v2/recurrings/{record['id']}").status_code == 204
    assert shop.get(path).json()["accountvault"]["has_recurring"] is False
    assert shop.http.delete(path).status_code == 204


def test_unreported_mark(sandbox: Sandbox, shop: Shop) -> None:
    """The mark of a vault with recurrings sends no postback, as no request changes it; the charge itself does."""
    account, location = vault(shop), shop.info.location_id
    for resource in ("accountvault", "transaction"):
        config: Record = {"resource": resource, "url": "http://127.0.0.1:9/", "on_create": 1, "on_update": 1}
        config |= {"location_id": location, "product_transaction_id": shop.info.cc_product_transaction_id}
        assert shop.post("postbackconfig", "/v2/postbackconfigs", config).status_code == 201
    record = made(shop, account_vault_id=account)
    sandbox.set_clock(noon(START))
    assert [(each["resource"], each["type"]) for each in sandbox.postbacks()] == [("transaction", "CREATE")]
    assert charges(shop, record)[0]["is_recurring"] is True


def test_deletion(sandbox: Sandbox, shop: Shop, neighbor: Shop) -> None:
    """No charge of a deleted plan is made, and each request is a 409; an unknown or foreign one is a 404."""
    record = made(shop)
    path = f"/v2/recurrings/{record['id']}"
    assert act(neighbor, record, "skipPayment", skip_count=1).status_code == 404
    assert neighbor.get("/v2/recurrings").json()["recurrings"] == []
    assert shop.http.delete(path).status_code == 204
    sandbox.set_clock(noon(date(2031, 6, 1)))
    assert charges(shop, record) == []
    assert [shop.get(path).status_code, act(shop, record, "activate").status_code] == [409, 409]
    assert shop.http.delete(f"/v2/recurrings/{'f' * 24}").status_code == 404


def test_related_records(sandbox: Sandbox, shop: Shop) -> None:
    """The contact is that of the vault, and a recurring and its charge show each other."""
    record = made(shop)
    sandbox.set_clock(noon(START))
    shown = read(shop, record, expand="contact,transactions")
    assert shown["contact"]["id"] == shop.info.contact_id
    (charge,) = shown["transactions"]
    charge = shop.get(f"/v2/transactions/{charge['id']}", expand="recurring").json()["transaction"]
    assert charge["recurring"]["id"] == record["id"]
