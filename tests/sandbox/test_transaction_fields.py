"""Effects of a transaction's fields: defaults, tags, moves to another contact, and forms of responses."""

from typing import Any

import pytest

from .conftest import VISA, Errors, Record, Shop


def changed(shop: Shop, payment: Record, action: str, **fields: Any) -> Record:
    response = shop.act(payment, action, **fields)
    assert response.status_code == 200, response.text
    after: Record = response.json()["transaction"]
    return after


def test_a_location_is_named_by_its_integrator_id_too(shop: Shop, errors: Errors) -> None:
    contact = shop.get(f"/v2/contacts/{shop.info.contact_id}", expand="location").json()["contact"]
    own = contact["location"]["location_api_id"]
    assert shop.paid(location_id=..., location_api_id=own)["location_id"] == shop.info.location_id
    assert "location_api_id" in errors(shop.pay(location_api_id=own, location_id=shop.info.location_id))
    assert "location_api_id" in errors(shop.pay(location_id=..., location_api_id="elsewhere"))


@pytest.mark.parametrize("sent", ["vip, new", ["vip", "new"], [{"id": "1", "title": "vip"}, {"title": "new"}]])
def test_tags(shop: Shop, sent: Any) -> None:
    """Titles come as text or as a list; a title has the same id everywhere."""
    sale = shop.paid(tags=sent)
    assert [tag["title"] for tag in sale["tags"]] == ["vip", "new"]
    again = changed(shop, shop.paid(), "edit", tags="vip")
    assert again["tags"] == sale["tags"][:1]
    shown = shop.get(f"/v2/transactions/{again['id']}", expand="tags").json()["transaction"]
    assert shown["tags"] == again["tags"]


def test_location_tags(shop: Shop) -> None:
    """A new title becomes a tag, a known one is used, and a deleted tag is no longer shown."""
    known = shop.post("tag", "/v2/tags", {"title": "vip", "location_id": shop.info.location_id}).json()["tag"]
    sale = shop.paid(tags=["vip", "vip", "new"])
    assert [(tag["id"] == known["id"], tag["title"]) for tag in sale["tags"]] == [(True, "vip"), (False, "new")]
    assert [tag["title"] for tag in shop.get("/v2/tags", sort="id").json()["tags"]] == ["vip", "new"]
    shop.http.delete(f"/v2/tags/{known['id']}")
    shown = shop.get(f"/v2/transactions/{sale['id']}").json()["transaction"]
    assert [tag["title"] for tag in shown["tags"]] == ["new"]
    assert shop.paid(tags="vip")["tags"][0]["id"] != known["id"]


def test_empty_tags(shop: Shop) -> None:
    """A transaction without tags shows them on request; otherwise the key is missing, as recorded."""
    sale = shop.paid()
    assert "tags" not in sale
    assert shop.get(f"/v2/transactions/{sale['id']}", expand="tags").json()["transaction"]["tags"] == []


def test_edit(shop: Shop) -> None:
    """An edit moves the transaction alone: its vault stays with the old contact; an empty id detaches."""
    vault, new = shop.vault(contact_id=shop.info.contact_id).json()["accountvault"], shop.contact().json()["contact"]
    sale = shop.paid(account_vault_id=vault["id"], account_number=..., exp_date=..., contact_id=shop.info.contact_id)
    assert changed(shop, sale, "edit", contact_id=new["id"])["contact_id"] == new["id"]
    kept = shop.get(f"/v2/accountvaults/{vault['id']}").json()["accountvault"]
    assert kept["contact_id"] == shop.info.contact_id
    assert changed(shop, sale, "edit", contact_id="")["contact_id"] is None


def test_an_edit_moves_the_vault_and_its_transactions(shop: Shop) -> None:
    vault, new = shop.vault(contact_id=shop.info.contact_id).json()["accountvault"], shop.contact().json()["contact"]
    charge = {
        "account_vault_id": vault["id"],
        "account_number": ...,
        "exp_date": ...,
        "contact_id": shop.info.contact_id,
    }
    earlier, sale, other = shop.paid(**charge), shop.paid(**charge), shop.paid(contact_id=shop.info.contact_id)
    changed(shop, sale, "edit", contact_id=new["id"], move_account_vault=1)
    assert shop.get(f"/v2/accountvaults/{vault['id']}").json()["accountvault"]["contact_id"] == new["id"]
    before = shop.get(f"/v2/transactions/{earlier['id']}").json()["transaction"]
    assert before["contact_id"] == shop.info.contact_id
    changed(shop, sale, "edit", contact_id=new["id"], move_account_vault_transactions=True)
    after = [shop.get(f"/v2/transactions/{one['id']}").json()["transaction"] for one in (earlier, sale, other)]
    assert [one["contact_id"] for one in after] == [new["id"], new["id"], shop.info.contact_id]


def test_invoice(shop: Shop, errors: Errors) -> None:
    """A PUT ties a transaction to an invoice, which counts it as a payment once."""
    invoice, sale = shop.invoice(allow_partial_pay=1).json()["quickinvoice"], shop.paid()
    assert changed(shop, sale, "edit", quick_invoice_id=invoice["id"])["quick_invoice_id"] == invoice["id"]
    after = shop.get(f"/v2/quickinvoices/{invoice['id']}").json()["quickinvoice"]
    assert (after["payment_status_id"], after["remaining_balance"]) == (3, "8.50")
    other = shop.invoice().json()["quickinvoice"]
    assert set(errors(shop.act(sale, "edit", quick_invoice_id=other["id"]))) == {"quick_invoice_id"}
    assert "quick_invoice_id" in errors(shop.pay(quick_invoice_id=invoice["id"]))


def test_encrypted_swipe(shop: Shop, errors: Errors) -> None:
    """The sandbox has no keys: it reads plain track data in hexadecimal digits, else takes a test card."""
    swipe: dict[str, Any] = {"account_number": ..., "exp_date": ..., "e_format": "idtech", "e_serial_number": "0A"}
    plain = b";5454545454545454=30121010000012345678?".hex()
    cards = [shop.paid(e_track_data=data, **swipe) for data in (plain, "00ff")]
    assert [(card["last_four"], card["entry_mode_id"]) for card in cards] == [("5454", "S"), (VISA[-4:], "S")]
    assert "e_track_data" in errors(shop.pay(e_track_data="x", **swipe))
    assert "e_format" in errors(shop.pay(e_format="morse"))


def test_checks(shop: Shop) -> None:
    """A C21 payment names its account by both, and comes with two pictures."""
    check = {"ach_sec_code": "C21", "track_data": "T072000326T100020003000", "check_number": "101"}
    response = shop.pay_from_bank(**check, image_front="aGk=", image_back="aGk=", ach_identifier="P")
    assert response.status_code == 201, response.text
    assert response.json()["transaction"]["check_number"] == "101"


@pytest.mark.parametrize(("last", "fits"), [("2030-05-11", True), ("2030-05-12", False), ("2030-01-31", False)])
def test_a_stay_lasts_0_to_99_days(shop: Shop, errors: Errors, last: str, fits: bool) -> None:
    stay = {"checkin_date": "2030-02-01", "checkout_date": last, "room_rate": "80.00", "room_num": "7"}
    response = shop.pay(**stay)
    if fits:
        sale = response.json()["transaction"]
        assert {name: sale[name] for name in stay} == stay
    else:
        assert set(errors(response)) == {"checkout_date"}
        assert set(errors(shop.at_terminal(**stay))) == {"checkout_date"}
