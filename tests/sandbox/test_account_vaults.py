"""Account vaults: every way to create one, and the data that is never stored."""

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway_async.sandbox import Sandbox

from .conftest import BANK_ACCOUNT, Errors, OpenShop, Record, Shop, recorded


@pytest.mark.parametrize("kind", ["cc", "ach"])
def test_new_vault(shop: Shop, kind: str) -> None:
    """A vault has the fields of the contract, and only the first six and last four digits of its number."""
    sample, number = recorded(f"accountvault-create-{kind}-response"), "5454545454545454"
    response = (shop.vault if kind == "cc" else partial(bank_account, shop))(account_number=number)
    vault = response.json()["accountvault"]
    assert (response.status_code, set(sample) - set(vault), number in response.text) == (201, set(), False)
    assert (vault["account_type"], vault["first_six"], vault["last_four"]) == (
        "mc" if kind == "cc" else "checking",
        "545454",
        "5454",
    )
    assert type(vault["active"]) is type(sample["active"])
    assert (vault["has_recurring"], vault["routing"]) == (sample["has_recurring"], None)


def bank_account(shop: Shop, **fields: Any) -> httpx.Response:
    return shop.vault(**BANK_ACCOUNT | {"is_company": 0, "ach_sec_code": ...} | fields)


def test_bank_account_mask(shop: Shop) -> None:
    """The first six digits are shown only if some remain hidden between them and the last four."""
    for number, first_six in [("123456", None), ("7009533657", None), ("70095336571", "700953"), ("1234", None)]:
        vault = bank_account(shop, account_number=number).json()["accountvault"]
        assert (vault["first_six"], vault["last_four"]) == (first_six, number[-4:])


def test_bank_account_checks(shop: Shop, errors: Errors) -> None:
    """A routing number has a check digit, an account number is digits, a type is checking or savings."""
    wrong = {"routing": ["072000327", "07200032"], "account_type": ["visa"], "account_number": ["12a4"]}
    for field, values in wrong.items():
        for value in values:
            assert list(errors(bank_account(shop, **{field: value}))) == [field]


def test_card_checks(shop: Shop, errors: Errors) -> None:
    """A card needs a known brand, the right check digit and a month; no response repeats the number."""
    for number in ["4111111111111112", "1234567890123456", "4111", "4111-1111-1111-1111"]:
        refused = shop.vault(account_number=number)
        assert errors(refused) == {"account_number": ["Account Number is not a valid card number."]}, number
        assert number not in refused.text
    for exp_date in ["1330", "0030", "12/3", "123"]:
        assert list(errors(shop.vault(exp_date=exp_date))) == ["exp_date"]


def test_empty_texts(shop: Shop, errors: Errors) -> None:
    """The empty string is refused on POST and PUT; null clears a field."""
    for field in ["title", "account_holder_name", "billing_address"]:
        path = f"/v2/accountvaults/{shop.vault(**{field: 'x'}).json()['accountvault']['id']}"
        for refused in (shop.vault(**{field: ""}), shop.put("accountvault", path, {field: ""})):
            assert list(errors(refused)) == [field]
        assert shop.put("accountvault", path, {field: None}).json()["accountvault"][field] is None


def test_a_swiped_card_is_read_off_its_track(shop: Shop) -> None:
    both = "%B4111111111111111^SMITH/JOHN^3012101000000000?;4111111111111111=30121010000000000000?"
    for track in (both, ";4111111111111111=3012?"):
        response = shop.vault(account_number=..., exp_date=..., track_data=track)
        vault = response.json()["accountvault"]
        assert (vault["last_four"], vault["exp_date"]) == ("1111", "1230")
        assert "4111111111111111" not in response.text


def test_a_vault_has_exactly_one_source(shop: Shop, errors: Errors) -> None:
    assert list(errors(shop.vault(account_number=...))) == ["account_number"]
    assert list(errors(shop.vault(ticket="T"))) == ["account_number", "ticket"]


FAILED = {"run_avs": ["Account Verification failed"]}
GOOD, DENIED = {"billing_address": "5800 NW 39th AVE", "billing_zip": "32606"}, {"billing_zip": "32615"}


def checks(shop: Shop) -> list[tuple[Any, ...]]:
    """Return status, type, reason and last digits of each transaction, oldest first."""
    found = shop.get("/v2/transactions", sort="id").json()["transactions"]
    assert {each["transaction_amount"] for each in found} <= {"0.00"}
    return [tuple(each[name] for name in ("status_id", "type_id", "reason_code_id", "last_four")) for each in found]


def test_verification(shop: Shop, sandbox: Sandbox, errors: Errors) -> None:
    """With run_avs an avsonly is made before the card is stored; if it fails, it is the only trace of the card."""
    stored = shop.vault(run_avs=1, contact_id=shop.info.contact_id, **GOOD)
    assert (stored.status_code, checks(shop)) == (201, [(121, 21, 1000, "1111")])
    assert shop.get("/v2/transactions").json()["transactions"][0]["contact_id"] == shop.info.contact_id
    assert errors(shop.vault(run_avs=1, account_vault_api_id="v1", **DENIED)) == FAILED
    assert checks(shop)[1:] == [(301, 21, 1655, "1111")]
    assert [vault["id"] for vault in shop.get("/v2/accountvaults").json()["accountvaults"]] == [
        stored.json()["accountvault"]["id"]
    ]
    assert shop.vault(account_vault_api_id="v1").status_code == 201
    assert len(checks(shop)) == 2
    assert sandbox.ledger()["charged"] == {}


def test_verification_setting(shop: Shop, sandbox: Sandbox, errors: Errors) -> None:
    """The merchant account asks for the verification of every card, and run_avs replaces the setting once."""
    sandbox.change_product(run_avs_on_accountvault_create=True)
    assert errors(shop.vault(**DENIED)) == FAILED
    assert shop.vault(run_avs=0, **DENIED).status_code == 201
    assert shop.vault(**GOOD).status_code == 201
    assert [status for status, *_ in checks(shop)] == [301, 121]
    sandbox.change_product(auto_decline_zip=True)
    assert errors(shop.vault(billing_address=GOOD["billing_address"], billing_zip="10001")) == FAILED
    copy = {"account_number": ..., "exp_date": ..., "previous_transaction_id": None}
    for transaction in shop.get("/v2/transactions", sort="id").json()["transactions"][:2]:
        copied = shop.vault(**copy | {"previous_transaction_id": transaction["id"]})
        assert copied.status_code == (422 if transaction["status_id"] == 301 else 201)


def test_a_bank_account_has_no_address_to_verify(shop: Shop, sandbox: Sandbox) -> None:
    sandbox.change_product(run_avs_on_accountvault_create=True)
    sandbox.change_product(sandbox.ach_product_transaction_id, run_avs_on_accountvault_create=True)
    assert bank_account(shop, run_avs=1, **DENIED).status_code == 201
    assert checks(shop) == []


def test_ticket(shop: Shop, sandbox: Sandbox, errors: Errors) -> None:
    """A ticket can be used once; that of a card whose verification failed stays valid."""
    source = {"account_number": ..., "exp_date": ..., "ticket": sandbox.ticket("371449635398431", "0931")}
    assert errors(shop.vault(run_avs=1, **source, **DENIED)) == FAILED
    vault = shop.vault(run_avs=1, **source, **GOOD).json()["accountvault"]
    assert (vault["account_type"], vault["last_four"], vault["exp_date"]) == ("amex", "8431", "0931")
    assert errors(shop.vault(**source)) == {"ticket": ["ticket provided is not valid"]}


def test_company_sec_code(shop: Shop) -> None:
    """A given SEC code is kept, and a payment from the vault has the vault's."""
    rows = [(1, ..., "CCD"), (0, ..., "PPD"), (1, "WEB", "WEB"), (0, None, "PPD")]
    for is_company, given, code in rows:
        vault = bank_account(shop, is_company=is_company, ach_sec_code=given).json()["accountvault"]
        assert vault["ach_sec_code"] == code
        debit = shop.pay(action="debit", account_number=..., exp_date=..., account_vault_id=vault["id"])
        assert debit.json()["transaction"]["ach_sec_code"] == code


def test_changed_company(shop: Shop) -> None:
    """A later change of is_company changes a code that was not given; a payment without any code has it."""
    vault, card = bank_account(shop).json()["accountvault"], shop.vault().json()["accountvault"]

    def change(record: Record = vault, **fields: Any) -> Any:
        changed = shop.put("accountvault", f"/v2/accountvaults/{record['id']}", fields)
        return changed.json()["accountvault"]["ach_sec_code"]

    assert [change(is_company=1), change(title="x"), change(is_company=0)] == ["CCD", "CCD", "PPD"]
    assert [change(ach_sec_code="WEB"), change(is_company=1), change(ach_sec_code=None)] == ["WEB", "WEB", None]
    debit = shop.pay(action="debit", account_number=..., exp_date=..., account_vault_id=vault["id"])
    assert (debit.json()["transaction"]["ach_sec_code"], change(card, is_company=1)) == ("CCD", None)


def test_a_saved_bank_account_keeps_the_sec_code_of_its_payment(shop: Shop) -> None:
    paid = shop.pay_from_bank(save_account=1).json()["transaction"]
    saved = shop.get(f"/v2/accountvaults/{paid['account_vault_id']}").json()["accountvault"]
    assert saved["ach_sec_code"] == "WEB"


def test_a_vault_is_changed_but_not_its_account(shop: Shop, errors: Errors) -> None:
    path = f"/v2/accountvaults/{shop.vault().json()['accountvault']['id']}"
    changed = shop.put("accountvault", path, {"title": "Travel", "exp_date": "0135"}).json()["accountvault"]
    assert (changed["title"], changed["exp_date"]) == ("Travel", "0135")
    refused = shop.put("accountvault", path, {"account_number": "4012888888881881", "account_type": "mc"})
    assert list(errors(refused)) == ["account_number", "account_type"]


def test_only_cards_have_bin_info(shop: Shop, errors: Errors) -> None:
    sample = recorded("bininfo-response")
    card = shop.vault(account_number="5454545454545454").json()["accountvault"]
    info = shop.get(f"/v2/accountvaults/{card['id']}/bininfo").json()["bininfo"]
    assert (set(info), info["detail_card_product"]) == (set(sample), "M")
    account = bank_account(shop).json()["accountvault"]
    assert list(errors(shop.get(f"/v2/accountvaults/{account['id']}/bininfo"))) == ["payment_method"]


def test_data_on_disk(tmp_path: Path, open_shop: OpenShop) -> None:
    """No column and no data file contains numbers, track data, CVV or routing numbers."""
    path = tmp_path / "sandbox.db"
    with Sandbox(data=path) as sandbox:
        shop = open_shop(sandbox.info)
        shop.vault(account_number="4012888888881881")
        shop.vault(account_number=..., exp_date=..., track_data=";371449635398431=3012?")
        bank_account(shop, account_number="9988776655443")
        shop.pay(account_number="6011000995500000", cvv="842")
    dump = "".join(file.read_bytes().decode("latin-1") for file in tmp_path.iterdir())
    with closing(sqlite3.connect(path)) as records:
        dump += "\n".join(records.iterdump())
    for secret in ("4012888888881881", "371449635398431", "9988776655443", "6011000995500000", "'842'"):
        assert secret not in dump


def test_expands_show_the_creator_and_the_merchant_account(shop: Shop) -> None:
    card, bank = shop.vault().json()["accountvault"], bank_account(shop).json()["accountvault"]
    names = ("created_user", "product_transaction")
    products = (shop.info.cc_product_transaction_id, shop.info.ach_product_transaction_id)
    for vault, product in zip((card, bank), products, strict=True):
        shown = shop.get(f"/v2/accountvaults/{vault['id']}", expand=",".join(names)).json()["accountvault"]
        assert [shown[name]["id"] for name in names] == [shop.info.user_id, product]
        assert vault["created_user_id"] == shop.info.user_id
