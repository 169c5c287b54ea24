"""Postbacks: who is told of what, what is sent, and what the log shows of it."""

import base64
import json
from contextlib import closing
from pathlib import Path

import pytest

from gateway_async.sandbox.runtime import postback_delivery
from gateway_async.sandbox.runtime.store import Store
from gateway_async.sandbox.schema import CONTACT

from .receiver import ALL, DAY, ends, reconfigure

SAMPLES = Path(__file__).parents[1] / "samples"
CARD = "4111111111111111"
BANK = {"payment_method": "ach", "action": "debit", "account_number": "12345678", "routing": "072000326"}
BANK |= {"account_type": "checking", "account_holder_name": "Ada", "ach_sec_code": "WEB", "exp_date": ...}


def sample(name):
    """The record in a recorded postback."""
    return json.loads(json.loads((SAMPLES / f"postback-{name}.json").read_text())["data"])


# --- who is told of what


def live_contact(shop):
    """Make, change and delete a contact."""
    path = f"/v2/contacts/{shop.contact().json()['contact']['id']}"
    assert shop.put("contact", path, {"city": "Gainesville"}).status_code == 200
    assert shop.http.delete(path).status_code == 204


def live_vault(shop):
    """Make, change and delete an account vault."""
    path = f"/v2/accountvaults/{shop.vault().json()['accountvault']['id']}"
    assert shop.put("accountvault", path, {"title": "Card"}).status_code == 200
    assert shop.http.delete(path).status_code == 204


def live_transaction(shop):
    """Make and void a payment."""
    assert shop.act(shop.pay().json()["transaction"], "void").status_code == 200


def live_batch(shop):
    """Begin a batch and settle it."""
    shop.pay()
    (batch,) = shop.get("/v2/transactionbatches").json()["transactionbatches"]
    assert shop.http.post(f"/v2/transactionbatches/{batch['id']}/settle").status_code == 200


LIVES = {
    "contact": (live_contact, ["CREATE", "UPDATE", "DELETE"]),
    "accountvault": (live_vault, ["CREATE", "UPDATE", "DELETE"]),
    "transaction": (live_transaction, ["CREATE", "UPDATE"]),
    "transactionbatch": (live_batch, ["CREATE", "UPDATE"]),
}


@pytest.mark.parametrize("switch", [*ALL, "none", "all"])
@pytest.mark.parametrize("resource", LIVES)
def test_the_switches_decide(shop, sandbox, receiver, configure, resource, switch):
    """Of each family, only the changes that the config asks for, in the order in which they were made."""
    live, types = LIVES[resource]
    on = {name: int(switch in {name, "all"}) for name in ALL}
    configure(resource, **on)
    live(shop)
    sandbox.wait_until_idle()
    expected = [kind for kind in types if on[f"on_{kind.lower()}"]]
    assert receiver.told() == [(resource, kind) for kind in expected]


@pytest.mark.parametrize("spelling", [1, "1", True, "true"])
def test_a_switch_is_on_in_every_spelling(shop, sandbox, receiver, configure, spelling):
    """And off as "0" and false."""
    configure(on_create=spelling)
    configure(on_create="0")
    configure(on_create=False)
    shop.contact()
    sandbox.wait_until_idle()
    assert len(receiver.requests) == 1


def test_only_its_own_location_and_merchant_account(shop, neighbour, sandbox, receiver, configure):
    """A neighbour's contact and a bank payment are no business of a config for cards."""
    for resource in LIVES:
        configure(resource)
    neighbour.contact()
    neighbour.pay()
    shop.pay(**BANK)
    sandbox.wait_until_idle()
    assert receiver.told() == []
    shop.pay()
    sandbox.wait_until_idle()
    assert sorted(receiver.told()) == [("transaction", "CREATE"), ("transactionbatch", "CREATE")]


def test_a_config_that_is_not_active_tells_nothing(shop, sandbox, receiver, configure):
    """Until it is; what happened before is not made up for."""
    config = configure(is_active=0)
    shop.contact(last_name="Before")
    reconfigure(shop, config, is_active="1")
    shop.contact(last_name="After")
    sandbox.wait_until_idle()
    assert [one.data["last_name"] for one in receiver.requests] == ["After"]


def test_a_contact_updated_by_a_create_is_an_update(shop, sandbox, receiver, configure):
    """`update_if_exists`."""
    configure()
    for _ in range(2):
        shop.contact(contact_api_id="c1", update_if_exists=1)
    sandbox.wait_until_idle()
    assert receiver.told("type") == [("CREATE",), ("UPDATE",)]


def test_whatever_changes_a_record_is_told(shop, sandbox, receiver, configure):
    """EndOfDayScheduler, terminals, pages for customers and the processor too."""
    for resource in ("transaction", "transactionbatch", "accountvault"):
        configure(resource)
    configure("transaction", product_transaction_id=shop.info.ach_product_transaction_id)

    def told_of(act):
        before = len(receiver.requests)
        act()
        sandbox.wait_until_idle()
        return sorted((one.fields["resource"], one.fields["type"]) for one in receiver.requests[before:])

    invoice = shop.invoice().json()["quickinvoice"]
    paylink = shop.paylink().json()["paylink"]
    made = ("transaction", "CREATE")
    begun = ("transactionbatch", "CREATE")
    stored = ("accountvault", "CREATE")
    assert told_of(lambda: sandbox.pay_quick_invoice(invoice["id"])) == [made, begun]
    assert {one.data.get("quick_invoice_id", "batch") for one in receiver.requests} == {invoice["id"], "batch"}
    assert told_of(lambda: sandbox.pay_paylink(paylink["id"])) == [made]
    assert told_of(shop.at_terminal) == [made]
    assert told_of(shop.store_at_terminal) == [stored]
    assert told_of(lambda: shop.pay(save_account=1)) == [stored, made]
    assert told_of(lambda: shop.pay("5.00")) == [made]  # a decline is a record too
    assert told_of(lambda: shop.pay(**BANK)) == [made]
    assert told_of(lambda: sandbox.add_vaults(3)) == [stored] * 3
    night = told_of(lambda: sandbox.advance(DAY))
    assert night == [("transaction", "UPDATE")] * 5 + [("transactionbatch", "UPDATE")]
    shop.pay()
    (batch,) = shop.get("/v2/transactionbatches", is_open=1).json()["transactionbatches"]
    assert told_of(lambda: sandbox.process_batch(batch["id"], 5))[-1] == ("transactionbatch", "UPDATE")


def test_one_settle_is_one_update(shop, sandbox, receiver, configure):
    """Of the batch; and one of each payment in it."""
    configure("transactionbatch", on_create=0)
    configure("transaction", on_create=0)
    shop.pay()
    live_batch(shop)
    sandbox.wait_until_idle()
    assert sorted(receiver.told("resource")) == [("transaction",)] * 2 + [("transactionbatch",)]


def test_each_night_is_told_as_it_was(shop, sandbox, receiver, configure):
    """A jump over three nights: each step of a bank payment, with the second of its midnight."""
    configure("transaction", product_transaction_id=shop.info.ach_product_transaction_id, on_create=0)
    shop.pay(**BANK)
    sandbox.advance(3 * DAY)
    sandbox.wait_until_idle()
    assert [one.data["status_id"] for one in receiver.requests] == [132, 133, 134]
    assert all(one.data["modified_ts"] % DAY == 0 for one in receiver.requests)


def test_what_is_rolled_back_is_not_told(shop, sandbox, receiver, configure, monkeypatch):
    """A payment that fails behind its record leaves neither."""

    def fail(*_args):
        raise RuntimeError("behind the record")

    configure("transaction")
    invoice = shop.invoice().json()["quickinvoice"]
    monkeypatch.setattr("gateway_async.sandbox.handlers.invoice_payments.notify_about_invoice", fail)
    with pytest.raises(RuntimeError, match="behind the record"):
        sandbox.pay_quick_invoice(invoice["id"])
    sandbox.wait_until_idle()
    assert (receiver.requests, sandbox.postbacks(), sandbox.ledger()["transactions"]) == ([], [], [])


def test_a_change_that_cannot_be_noted_is_not_made():
    """Both are one transaction, outside of a request's own too."""

    def fail(*_args):
        raise RuntimeError("not noted")

    store = Store()
    with closing(store):
        store.insert(CONTACT, {"id": "c1", "last_name": "Kept"})
        before = store.select(CONTACT)
        store.watch(CONTACT, fail)
        for change in (
            lambda: store.insert(CONTACT, {"id": "c2"}),
            lambda: store.update(CONTACT, "c1", {"last_name": "Changed"}),
            lambda: store.delete(CONTACT, "c1"),
        ):
            with pytest.raises(RuntimeError, match="not noted"):
                change()
            assert store.select(CONTACT) == before


# --- what is sent


@pytest.mark.parametrize(
    ("resource", "name", "act"),
    [
        ("contact", "contact-create", lambda shop: shop.contact()),
        ("transaction", "transaction-create", lambda shop: shop.pay()),
        ("transactionbatch", "transactionbatch-update", live_batch),
    ],
)
def test_the_body_is_shaped_as_recorded(shop, sandbox, receiver, configure, resource, name, act):
    """The same fields in the same order, of the same types where both have a value; change logs too."""
    expands = "changelogs" if resource == "transactionbatch" else ""
    configure(resource, expands=expands)
    act(shop)
    sandbox.wait_until_idle()
    sent, recorded = receiver.requests[-1].data, sample(name)
    assert list(sent) == list(recorded)
    both = [field for field in sent if sent[field] is not None and recorded[field] is not None]
    assert [type(sent[field]) for field in both] == [type(recorded[field]) for field in both]
    if expands:
        newest = sent["changelogs"][0]
        assert list(newest) == list(recorded["changelogs"][0])
        assert list(newest["user"]) == list(recorded["changelogs"][0]["user"])
        assert {detail["field"] for detail in newest["changelog_details"]} >= {"is_open", "batch_close_ts"}
        assert [entry["action"] for entry in sent["changelogs"]] == ["UPDATE", "CREATE"]


def test_an_account_vault_is_sent_as_it_is_answered(shop, sandbox, receiver, configure):
    """Without links, and without its number."""
    configure("accountvault")
    vault = shop.vault(title="Card").json()["accountvault"]
    sandbox.wait_until_idle()
    del vault["_links"]
    assert receiver.requests[0].data == vault
    assert "account_number" not in vault


@pytest.mark.parametrize(
    ("format_", "content_type", "number"),
    [("api-default", "application/x-www-form-urlencoded", "1"), ("json", "application/json", 1)],
)
def test_the_four_fields(shop, sandbox, receiver, configure, format_, content_type, number):
    """A form, or JSON where the config asks for it; `data` is a JSON text in both."""
    configure(format=format_)
    contact = shop.contact(last_name="Žižek & Söhne = 100 %").json()["contact"]
    sandbox.wait_until_idle()
    (sent,) = receiver.requests
    assert (sent.method, sent.path, sent.headers["content-type"]) == ("POST", "/hook", content_type)
    assert list(sent.fields) == ["type", "resource", "number_of_attempts", "data"]
    assert [sent.fields[name] for name in ("type", "resource", "number_of_attempts")] == ["CREATE", "contact", number]
    del contact["_links"]
    assert json.loads(sent.fields["data"]) == contact


def test_a_deletion_carries_the_record(shop, sandbox, receiver, configure):
    """As it was at the end."""
    configure(on_create=0, on_update=0)
    live_contact(shop)
    sandbox.wait_until_idle()
    (sent,) = receiver.requests
    assert (sent.fields["type"], sent.data["city"], sent.data["last_name"]) == ("DELETE", "Gainesville", "Smith")


def test_expands_add_what_is_related(shop, sandbox, receiver, configure):
    """As `expand` does for answers."""
    configure("transaction", expands="contact,account_vault,changelogs,tags")
    contact = shop.contact(last_name="Lovelace").json()["contact"]
    vault = shop.vault().json()["accountvault"]
    account = {"account_number": ..., "exp_date": ..., "account_vault_id": vault["id"]}
    shop.pay(contact_id=contact["id"], **account)
    sandbox.wait_until_idle()
    data = receiver.requests[0].data
    assert (data["contact"]["last_name"], data["account_vault"]["id"]) == ("Lovelace", vault["id"])
    assert (data["changelogs"], data["tags"]) == ([], [])


def test_the_record_is_as_it_was_at_the_change(shop, sandbox, receiver, configure, eventually):
    """What happens while a postback waits for its turn does not show in it, in what is expanded neither."""
    receiver.may_answer.clear()
    configure("transaction", expands="contact")
    contact = shop.contact(last_name="Then").json()["contact"]
    shop.pay("1.00")
    sale = shop.pay("2.00", contact_id=contact["id"], description="then").json()["transaction"]
    eventually(lambda: receiver.requests)
    shop.act(sale, "edit", description="now")
    shop.put("contact", f"/v2/contacts/{contact['id']}", {"last_name": "Now"})
    receiver.may_answer.set()
    sandbox.wait_until_idle()
    told = [(one.fields["type"], one.data["description"]) for one in receiver.requests[1:]]
    assert told == [("CREATE", "then"), ("UPDATE", "now")]
    assert receiver.requests[1].data["contact"]["last_name"] == "Then"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"basic_auth_username": "shop", "basic_auth_password": "pläin:ted"}, "shop:pläin:ted"),
        ({"basic_auth_username": "shop"}, None),
        ({"basic_auth_password": "planted"}, None),
        ({}, None),
    ],
)
def test_credentials_are_sent_when_both_are_set(shop, sandbox, receiver, configure, fields, expected):
    """As Basic authorization; what stands in the address is none."""
    configure(url=receiver.url.replace("//", "//user:word@"), **fields)
    shop.contact()
    sandbox.wait_until_idle()
    header = receiver.requests[0].headers["authorization"]
    assert header == (expected and f"Basic {base64.b64encode(expected.encode()).decode()}")


# --- the log


@pytest.mark.parametrize("more", ["?key=planted", "#@receiver.test/", "#?", "?a#@receiver.test"])
def test_the_log_shows_where_it_went_and_no_secret_of_its_address(shop, sandbox, receiver, configure, more):
    """Without the credentials and the query of the url, and by the host to which it really went."""
    configure(url=receiver.url.replace("//", "//user:planted@") + more)
    shop.contact()
    sandbox.wait_until_idle()
    (postback,) = sandbox.postbacks()
    (attempt,) = postback["attempts"]
    assert attempt["status"] == 204
    assert {postback["url"], attempt["url"]} == {receiver.url + "?…" * more.startswith("?")}


def test_the_log_tells_what_was_sent(shop, sandbox, receiver, configure):
    """When, where, what came back; the same over HTTP, of one config or one record where that is asked for."""
    names = ("config_id", "url", "resource", "type", "record_id", "state", "next_attempt_ts")
    sandbox.set_clock(4_000_000_000)
    config = configure()
    other = configure("accountvault")
    contact = shop.contact().json()["contact"]
    sandbox.wait_until_idle()
    vault = shop.vault().json()["accountvault"]
    sandbox.wait_until_idle()
    first, second = sandbox.postbacks()
    assert sorted(first) == sorted([*names, "id", "created_ts", "attempts", "body"])
    (attempt,) = first["attempts"]
    assert 4_000_000_000 <= attempt.pop("when") < 4_000_000_060
    assert attempt == {"number": 1, "url": receiver.url, "status": 204, "error": None}
    sent = {"type": "CREATE", "resource": "contact", "number_of_attempts": 1}
    assert first["body"] == sent | {"data": receiver.requests[0].fields["data"]}
    expected = (config["id"], receiver.url, "contact", "CREATE", contact["id"], "delivered", None)
    assert tuple(first[name] for name in names) == expected
    assert first["created_ts"] - 4_000_000_000 in range(60)
    page = shop.get("/_sandbox/postbacks").json()["postbacks"]
    assert page == sandbox.postbacks()
    assert shop.get("/_sandbox/postbacks", config_id=other["id"]).json()["postbacks"] == [second]
    assert sandbox.postbacks(record_id=vault["id"]) == [second]
    assert sandbox.postbacks(config_id=config["id"], record_id=vault["id"]) == []


def test_the_log_shows_when_the_next_attempt_is_due(shop, sandbox, receiver, configure):
    """In seconds of the sandbox's clock."""
    configure(number_of_attempts=2, attempt_interval=500)
    receiver.answers[:] = [500]
    shop.contact()
    sandbox.wait_until_idle()
    (one,) = sandbox.postbacks()
    assert 490 < one["next_attempt_ts"] - sandbox.now() <= 500


def test_the_log_shows_no_secret(shop, sandbox, receiver, configure, capfd, caplog):
    """Neither credentials, nor the query of an address, nor a card number in a text, which the receiver gets."""
    caplog.set_level(0)
    login = {"basic_auth_username": "planted-name", "basic_auth_password": "planted-word"}
    configure("transaction", url=f"{receiver.url.replace('//', '//planted-user:planted@')}?key=planted-key", **login)
    shop.pay(description=f"card {CARD}", customer_id="5555 5555 5555 4444")
    sandbox.wait_until_idle()
    page = shop.get("/_sandbox/postbacks").text
    ours = [record.getMessage() for record in caplog.records if record.threadName != "MainThread"]
    for secret in ("planted", CARD, "5555 5555 5555", base64.b64encode(b"planted-name:planted-word").decode()):
        assert secret not in page
        assert secret not in str(ours) + str(capfd.readouterr())
    assert "card ************1111" in page
    assert receiver.requests[0].data["description"] == f"card {CARD}"
    assert receiver.requests[0].path == "/hook?key=planted-key"


def test_a_replay_sends_it_once_more(shop, sandbox, receiver, configure):
    """The same record, and the number goes on; of what was delivered and of what failed, by HTTP and from Python."""
    configure()
    receiver.answers[:] = [204, 500]
    for name in ("One", "Two"):
        shop.contact(last_name=name)
    assert ends(sandbox) == [("delivered", [1]), ("failed", [1])]
    one, two = (postback["id"] for postback in sandbox.postbacks())
    assert sandbox.replay_postback(one)["state"] == "waiting"
    sandbox.wait_until_idle()
    answer = shop.http.post(f"/_sandbox/postbacks/{two}/replay")
    assert (answer.status_code, answer.json()["id"]) == (200, two)
    assert ends(sandbox) == [("delivered", [1, 2])] * 2
    told = [(request.data["last_name"], request.fields["number_of_attempts"]) for request in receiver.requests]
    assert told == [("One", "1"), ("Two", "1"), ("One", "2"), ("Two", "2")]
    unknown = shop.http.post("/_sandbox/postbacks/nothing/replay")
    assert (unknown.status_code, unknown.json()["message"]) == (404, "postback nothing: not found.")


def test_a_replay_need_not_wait(shop, sandbox, receiver, configure):
    """What waits for its next attempt is tried at once."""
    configure(number_of_attempts=3, attempt_interval=DAY)
    receiver.answers[:] = [500]
    shop.contact()
    assert ends(sandbox) == [("waiting", [1])]
    sandbox.replay_postback(sandbox.postbacks()[0]["id"])
    assert ends(sandbox) == [("delivered", [1, 2])]


def test_the_log_keeps_the_newest(shop, sandbox, receiver, configure, monkeypatch):
    """Of those that have ended; what still waits is never forgotten."""
    monkeypatch.setattr(postback_delivery, "MOST_ENDED", 10)
    configure(number_of_attempts=2)
    receiver.answers[:] = [500]
    for number in range(40):
        shop.contact(last_name=f"Smith {number}")
    sandbox.wait_until_idle()
    kept = sandbox.postbacks()
    assert [one["state"] for one in kept] == ["waiting", *["delivered"] * (len(kept) - 1)]
    assert 10 <= len(kept) - 1 <= 12
    assert json.loads(kept[-1]["body"]["data"])["last_name"] == "Smith 39"


def test_a_reset_forgets_them(shop, sandbox, receiver, configure, eventually):
    """Those under way too; and the first contact, made anew, is told to nobody."""
    receiver.may_answer.clear()
    configure(number_of_attempts=3)
    shop.contact()
    shop.contact()
    eventually(lambda: receiver.requests)
    sandbox.reset()
    sandbox.wait_until_idle(timeout=2)
    receiver.may_answer.set()
    sandbox.advance(DAY)
    sandbox.wait_until_idle()
    assert (len(receiver.requests), sandbox.postbacks()) == (1, [])
    configure()
    shop.contact()
    assert ends(sandbox) == [("delivered", [1])]
