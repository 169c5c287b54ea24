"""Postbacks: which changes are reported, what is sent, and what the log shows."""

import base64
import json
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from gateway_async import InvalidRequestError
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.runtime import postback_delivery
from gateway_async.sandbox.runtime.store import Store
from gateway_async.sandbox.schema import CONTACT

from .conftest import Configure, Eventually, OpenShop, Record, Shop
from .receiver import ALL, DAY, Receiver, configured, ends, reconfigure

SAMPLES = Path(__file__).parents[1] / "samples"
CARD = "4111111111111111"
BANK: Record = {"payment_method": "ach", "action": "debit", "account_number": "12345678", "routing": "072000326"}
BANK |= {"account_type": "checking", "account_holder_name": "Ada", "ach_sec_code": "WEB", "exp_date": ...}


def sample(name: str) -> Record:
    """Return the record of a recorded postback."""
    record: Record = json.loads(json.loads((SAMPLES / f"postback-{name}.json").read_text())["data"])
    return record


# --- which changes are reported


def change_contact(shop: Shop) -> None:
    """Create, change and delete a contact."""
    path = f"/v2/contacts/{shop.contact().json()['contact']['id']}"
    assert shop.put("contact", path, {"city": "Gainesville"}).status_code == 200
    assert shop.http.delete(path).status_code == 204


def change_vault(shop: Shop) -> None:
    """Create, change and delete an account vault."""
    path = f"/v2/accountvaults/{shop.vault().json()['accountvault']['id']}"
    assert shop.put("accountvault", path, {"title": "Card"}).status_code == 200
    assert shop.http.delete(path).status_code == 204


def change_transaction(shop: Shop) -> None:
    """Create and void a payment."""
    assert shop.act(shop.paid(), "void").status_code == 200


def change_batch(shop: Shop) -> None:
    """Open a batch and settle it."""
    shop.pay()
    (batch,) = shop.get("/v2/transactionbatches", is_open=1).json()["transactionbatches"]
    assert shop.http.post(f"/v2/transactionbatches/{batch['id']}/settle").status_code == 200


CHANGES = {
    "contact": (change_contact, ["CREATE", "UPDATE", "DELETE"]),
    "accountvault": (change_vault, ["CREATE", "UPDATE", "DELETE"]),
    "transaction": (change_transaction, ["CREATE", "UPDATE"]),
    "transactionbatch": (change_batch, ["CREATE", "UPDATE"]),
}


@pytest.mark.parametrize("switch", [*ALL, "none", "all"])
@pytest.mark.parametrize("resource", CHANGES)
def test_switches(
    shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure, resource: str, switch: str
) -> None:
    """Only changes that the config asks for are reported, in their order."""
    change, types = CHANGES[resource]
    on = {name: int(switch in {name, "all"}) for name in ALL}
    configure(resource, **on)
    change(shop)
    sandbox.wait_until_idle()
    expected = [kind for kind in types if on[f"on_{kind.lower()}"]]
    assert receiver.summaries() == [(resource, kind) for kind in expected]


def test_switched_off(shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure) -> None:
    """A switch has four spellings for on and two for off; a config that is switched on later reports later changes."""
    configs = [configure(on_create=spelling) for spelling in (1, "1", True, "true", "0", False)]
    inactive = configure(is_active=0)
    shop.contact(last_name="Before")
    reconfigure(shop, inactive, is_active="1")
    sandbox.wait_until_idle()
    shop.contact(last_name="After")
    sandbox.wait_until_idle()
    told = [(one["config_id"], json.loads(one["body"]["data"])["last_name"]) for one in sandbox.postbacks()]
    on = [config["id"] for config in configs[:4]]
    assert told == [(one, "Before") for one in on] + [(one, "After") for one in [*on, inactive["id"]]]
    assert len(receiver.requests) == len(told)


def test_unreported_changes(
    shop: Shop, neighbor: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure
) -> None:
    """A contact elsewhere and a bank payment are not reported to a config for cards."""
    for resource in CHANGES:
        configure(resource)
    neighbor.contact()
    neighbor.pay()
    shop.pay(**BANK)
    sandbox.wait_until_idle()
    assert receiver.summaries() == []
    shop.pay()
    sandbox.wait_until_idle()
    assert sorted(receiver.summaries()) == [("transaction", "CREATE"), ("transactionbatch", "CREATE")]


def test_causes(shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure) -> None:
    """End of day, terminals, payment pages and the processor report their changes too."""
    for resource in ("transaction", "transactionbatch", "accountvault"):
        configure(resource)
    configure("transaction", product_transaction_id=shop.info.ach_product_transaction_id)

    def reported_by(act: Callable[[], object]) -> list[tuple[str, str]]:
        before = len(receiver.requests)
        act()
        sandbox.wait_until_idle()
        return sorted((one.fields["resource"], one.fields["type"]) for one in receiver.requests[before:])

    invoice = shop.invoice().json()["quickinvoice"]
    paylink = shop.paylink().json()["paylink"]
    made = ("transaction", "CREATE")
    begun = ("transactionbatch", "CREATE")
    stored = ("accountvault", "CREATE")
    assert reported_by(lambda: sandbox.pay_quick_invoice(invoice["id"])) == [made, begun]
    assert {one.data.get("quick_invoice_id", "batch") for one in receiver.requests} == {invoice["id"], "batch"}
    assert reported_by(lambda: sandbox.pay_paylink(paylink["id"])) == [made]
    assert reported_by(shop.at_terminal) == [made]
    assert reported_by(shop.store_at_terminal) == [stored]
    assert reported_by(lambda: shop.pay(save_account=1)) == [stored, made]
    assert reported_by(lambda: shop.pay("5.00")) == [made]  # a decline is a record too
    assert reported_by(lambda: shop.pay(**BANK)) == [made]
    assert reported_by(lambda: sandbox.add_vaults(3)) == [stored] * 3
    midnight = reported_by(lambda: sandbox.advance(DAY))
    assert midnight == [("transaction", "UPDATE")] * 5 + [("transactionbatch", "UPDATE")]
    settled = [made, ("transaction", "UPDATE"), begun, ("transactionbatch", "UPDATE")]
    assert reported_by(lambda: change_batch(shop)) == settled
    shop.pay()
    (batch,) = shop.get("/v2/transactionbatches", is_open=1).json()["transactionbatches"]
    assert reported_by(lambda: sandbox.process_batch(batch["id"], 5))[-1] == ("transactionbatch", "UPDATE")


def test_jump(shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure) -> None:
    """After three midnights in a jump, each step of a bank payment has the second of its midnight."""
    configure("transaction", product_transaction_id=shop.info.ach_product_transaction_id, on_create=0)
    shop.pay(**BANK)
    sandbox.advance(3 * DAY)
    sandbox.wait_until_idle()
    assert [one.data["status_id"] for one in receiver.requests] == [132, 133, 134]
    assert all(one.data["modified_ts"] % DAY == 0 for one in receiver.requests)


def test_rollback(
    shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A payment that fails after its record was stored leaves neither the record nor a postback."""

    def fail(*_args: object) -> None:
        raise RuntimeError("behind the record")

    configure("transaction")
    invoice = shop.invoice().json()["quickinvoice"]
    monkeypatch.setattr("gateway_async.sandbox.handlers.invoice_payments.notify_about_invoice", fail)
    with pytest.raises(RuntimeError, match="behind the record"):
        sandbox.pay_quick_invoice(invoice["id"])
    sandbox.wait_until_idle()
    assert (receiver.requests, sandbox.postbacks(), sandbox.ledger()["transactions"]) == ([], [], [])


def test_missing_postback() -> None:
    """A change without its postback is rolled back: both are one transaction, also outside of a request."""

    def fail(*_args: object) -> None:
        raise RuntimeError("not noted")

    store = Store()
    with closing(store):
        store.insert(CONTACT, {"id": "c1", "last_name": "Kept"})
        before = store.select(CONTACT)
        store.watch(CONTACT, fail)
        changes: tuple[Callable[[], object], ...] = (
            lambda: store.insert(CONTACT, {"id": "c2"}),
            lambda: store.update(CONTACT, "c1", {"last_name": "Changed"}),
            lambda: store.delete(CONTACT, "c1"),
        )
        for change in changes:
            with pytest.raises(RuntimeError, match="not noted"):
                change()
            assert store.select(CONTACT) == before


# --- what is sent


@pytest.mark.parametrize(
    ("resource", "name", "act"),
    [
        ("contact", "contact-create", lambda shop: shop.contact()),
        ("transaction", "transaction-create", lambda shop: shop.pay()),
        ("transactionbatch", "transactionbatch-update", change_batch),
    ],
)
def test_body(
    shop: Shop,
    sandbox: Sandbox,
    receiver: Receiver,
    configure: Configure,
    resource: str,
    name: str,
    act: Callable[[Shop], object],
) -> None:
    """The fields have the recorded order and types; those of change logs too."""
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


def test_sent_records(shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure) -> None:
    """An account vault is sent without links and account number, and a deletion carries the record."""
    configure("accountvault")
    configure(on_create=0, on_update=0)
    vault = shop.vault(title="Card").json()["accountvault"]
    change_contact(shop)
    sandbox.wait_until_idle()
    stored, deleted = receiver.requests
    del vault["_links"]
    assert stored.data == vault
    assert "account_number" not in vault
    assert deleted.fields["type"] == "DELETE"
    assert (deleted.data["city"], deleted.data["last_name"]) == ("Gainesville", "Smith")


FORMATS = {"json": ("application/json", 1), "form": ("application/x-www-form-urlencoded", "1")}


def check_fields(shop: Shop, sandbox: Sandbox, receiver: Receiver, postback_format: str) -> None:
    """Check the postback of a new contact."""
    contact = shop.contact(last_name="Žižek & Söhne = 100 %").json()["contact"]
    sandbox.wait_until_idle()
    sent, (content_type, number) = receiver.requests[-1], FORMATS[postback_format]
    assert (sent.method, sent.path, sent.headers["content-type"]) == ("POST", "/hook", content_type)
    assert list(sent.fields) == ["type", "resource", "number_of_attempts", "data"]
    assert [sent.fields[name] for name in ("type", "resource", "number_of_attempts")] == ["CREATE", "contact", number]
    del contact["_links"], contact["header_message_type"]
    assert json.loads(sent.fields["data"]) == contact


def test_the_four_fields(shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure) -> None:
    """The body is JSON, or a form after a control call; `data` is a JSON text in both."""
    path = "/_sandbox/postbacks/format"
    assert configure()["format"] == "api-default"
    assert shop.get(path).json() == {"format": "json"}
    check_fields(shop, sandbox, receiver, "json")
    sandbox.set_postback_format("form")
    assert shop.get(path).json() == {"format": "form"}
    check_fields(shop, sandbox, receiver, "form")
    assert shop.http.post(path, json={"format": "json"}).json() == {"format": "json"}
    check_fields(shop, sandbox, receiver, "json")
    assert shop.http.post(path, json={"format": "xml"}).status_code == 400


def test_format_option(receiver: Receiver, open_shop: OpenShop) -> None:
    """The sandbox keeps it, also after a reset; other names are refused."""
    with Sandbox(postback_format="form") as sandbox:
        sandbox.reset()
        shop = open_shop(sandbox.info)
        configured(shop, receiver.url)
        check_fields(shop, sandbox, receiver, "form")
    with pytest.raises(InvalidRequestError, match=r"^nothing was sent: postback_format: must be json or form"):
        Sandbox(postback_format="xml")  # type: ignore[arg-type]


def test_expands(shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure) -> None:
    """Expands work as `expand` does for responses."""
    configure("transaction", expands="contact,account_vault,changelogs,tags")
    contact = shop.contact(last_name="Lovelace").json()["contact"]
    vault = shop.vault().json()["accountvault"]
    account = {"account_number": ..., "exp_date": ..., "account_vault_id": vault["id"]}
    shop.pay(contact_id=contact["id"], **account)
    sandbox.wait_until_idle()
    data = receiver.requests[0].data
    assert (data["contact"]["last_name"], data["account_vault"]["id"]) == ("Lovelace", vault["id"])
    assert (data["changelogs"], data["tags"]) == ([], [])


def test_snapshot(
    shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure, eventually: Eventually
) -> None:
    """Later changes do not show in a waiting postback, nor in its expanded records."""
    receiver.may_respond.clear()
    configure("transaction", expands="contact")
    contact = shop.contact(last_name="Then").json()["contact"]
    shop.pay("1.00")
    sale = shop.paid("2.00", contact_id=contact["id"], description="then")
    eventually(lambda: receiver.requests)
    shop.act(sale, "edit", description="now")
    shop.put("contact", f"/v2/contacts/{contact['id']}", {"last_name": "Now"})
    receiver.may_respond.set()
    sandbox.wait_until_idle()
    received = [(one.fields["type"], one.data["description"]) for one in receiver.requests[1:]]
    assert received == [("CREATE", "then"), ("UPDATE", "now")]
    assert receiver.requests[1].data["contact"]["last_name"] == "Then"


def test_credentials(shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure) -> None:
    """A name with a password is Basic authorization; those in the address are not sent."""
    url = receiver.url.replace("//", "//user:word@")
    configure(url=url, basic_auth_username="shop", basic_auth_password="pläin:ted")
    for half in ({"basic_auth_username": "shop"}, {"basic_auth_password": "planted"}, {}):
        configure(url=url, **half)
    shop.contact()
    sandbox.wait_until_idle()
    sent = f"Basic {base64.b64encode('shop:pläin:ted'.encode()).decode()}"
    # The four are delivered at the same time.
    assert Counter(one.headers["authorization"] for one in receiver.requests) == {sent: 1, None: 3}


# --- the log


def test_logged_address(shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure) -> None:
    """Credentials and query of the url are omitted; the host is the one that was reached."""
    for more in ("?key=planted", "#@receiver.test/", "#?", "?a#@receiver.test"):
        configure(url=receiver.url.replace("//", "//user:planted@") + more)
    shop.contact()
    sandbox.wait_until_idle()
    shown = [(one["url"], [(each["url"], each["status"]) for each in one["attempts"]]) for one in sandbox.postbacks()]
    addresses = [receiver.url + query for query in ("?…", "", "", "?…")]
    assert shown == [(address, [(address, 204)]) for address in addresses]


def test_log(shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure) -> None:
    """The log has time, address and result; HTTP shows the same, also for one config or record."""
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


def test_secrets(
    shop: Shop,
    sandbox: Sandbox,
    receiver: Receiver,
    configure: Configure,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Credentials, queries and card numbers are hidden; the receiver gets the card number."""
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


def test_replay(shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure) -> None:
    """A replay sends the same record and continues the numbering, for delivered and failed postbacks."""
    configure()
    receiver.responses[:] = [204, 500]
    for name in ("One", "Two"):
        shop.contact(last_name=name)
    assert ends(sandbox) == [("delivered", [1]), ("failed", [1])]
    one, two = (postback["id"] for postback in sandbox.postbacks())
    assert sandbox.replay_postback(one)["state"] == "waiting"
    sandbox.wait_until_idle()
    response = shop.http.post(f"/_sandbox/postbacks/{two}/replay")
    assert (response.status_code, response.json()["id"]) == (200, two)
    assert ends(sandbox) == [("delivered", [1, 2])] * 2
    received = [(request.data["last_name"], request.fields["number_of_attempts"]) for request in receiver.requests]
    assert received == [("One", 1), ("Two", 1), ("One", 2), ("Two", 2)]
    unknown = shop.http.post("/_sandbox/postbacks/nothing/replay")
    assert (unknown.status_code, unknown.json()["message"]) == (404, "postback nothing: not found.")


def test_early_replay(shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure) -> None:
    """It is sent at once, although the log shows that its next attempt is due later."""
    configure(number_of_attempts=3, attempt_interval=DAY)
    receiver.responses[:] = [500]
    shop.contact()
    assert ends(sandbox) == [("waiting", [1])]
    (waiting,) = sandbox.postbacks()
    assert DAY - 10 < waiting["next_attempt_ts"] - sandbox.now() <= DAY
    sandbox.replay_postback(waiting["id"])
    assert ends(sandbox) == [("delivered", [1, 2])]


def test_log_limit(
    shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is for ended postbacks, of which the newest stay; waiting ones are always stored."""
    monkeypatch.setattr(postback_delivery, "MOST_ENDED", 10)
    configure(number_of_attempts=2)
    receiver.responses[:] = [500]
    for number in range(40):
        shop.contact(last_name=f"Smith {number}")
    sandbox.wait_until_idle()
    kept = sandbox.postbacks()
    assert [one["state"] for one in kept] == ["waiting", *["delivered"] * (len(kept) - 1)]
    assert 10 <= len(kept) - 1 <= 12
    assert json.loads(kept[-1]["body"]["data"])["last_name"] == "Smith 39"


def test_reset(shop: Shop, sandbox: Sandbox, receiver: Receiver, configure: Configure, eventually: Eventually) -> None:
    """A reset deletes all postbacks; attempts in progress end too, and the new first contact is not reported."""
    receiver.may_respond.clear()
    configure(number_of_attempts=3)
    shop.contact()
    shop.contact()
    eventually(lambda: receiver.requests)
    sandbox.reset()
    sandbox.wait_until_idle(timeout=2)
    receiver.may_respond.set()
    sandbox.advance(DAY)
    sandbox.wait_until_idle()
    assert (len(receiver.requests), sandbox.postbacks()) == (1, [])
    configure()
    shop.contact()
    assert ends(sandbox) == [("delivered", [1])]
