"""Every method of the SDK, called once; the records that it needs are created before."""

from collections.abc import Awaitable, Callable
from datetime import date
from typing import Any

from gateway_async import (
    AccountVaultUpdate,
    AsyncGateway,
    Attachment,
    CardVaultCreate,
    ContactCreate,
    ContactUpdate,
    NoteCreate,
    NoteUpdate,
    PaylinkCreate,
    PaylinkUpdate,
    PostbackConfigCreate,
    PostbackConfigUpdate,
    ProductFileCreate,
    QuickInvoiceCreate,
    QuickInvoiceUpdate,
    RecurringCreate,
    RecurringUpdate,
    RouterAccountVaultCreate,
    RouterTransactionCreate,
    TagCreate,
    TagUpdate,
    TransactionCreate,
    TransactionUpdate,
    UntypedResource,
)

from .raw_client import BANK_ACCOUNT, VISA, RawClient

RECEIVER = "https://127.0.0.1/receiver"


def invoice(raw_client: RawClient, **fields: Any) -> str:
    """Return the id of an open invoice over 12.50."""
    items = {"title": "Tea", "due_date": "2030-01-31", "item_list": {"Tea": 12.5}, "email": "tea@example.test"}
    return str(raw_client.made("/v2/quickinvoices", "quickinvoice", **items | fields)["id"])


def closed_invoice(raw_client: RawClient) -> str:
    """Return the id of a closed invoice."""
    invoice_id = invoice(raw_client)
    assert raw_client.put(f"/v2/quickinvoices/{invoice_id}", "quickinvoice", {"status_id": 0}).is_success
    return invoice_id


def paid_invoice(raw_client: RawClient) -> tuple[str, str]:
    """Return the ids of an invoice and of the sale that was added to it."""
    invoice_id, sale_id = invoice(raw_client), str(raw_client.sale()["id"])
    path = f"/v2/quickinvoices/{invoice_id}/addTransaction"
    assert raw_client.put(path, "quickinvoice", {"transaction_id": sale_id}).is_success
    return invoice_id, sale_id


def attached(raw_client: RawClient) -> tuple[str, str]:
    """Return the ids of an invoice and of its file."""
    invoice_id = invoice(raw_client)
    response = raw_client.http.post(f"/v2/quickinvoices/{invoice_id}/files", files={"file[file]": ("a.txt", b"tea")})
    assert response.is_success, response.text
    return invoice_id, str(response.json()["file"]["id"])


def paylink(raw_client: RawClient) -> str:
    """Return the id of a paylink."""
    fields = {"amount_due": 12.5, "email": "tea@example.test"}
    return str(raw_client.made("/v2/paylinks", "paylink", **fields)["id"])


def open_batch(raw_client: RawClient) -> str:
    """Return the id of an open batch."""
    raw_client.sale()
    (batch,) = raw_client.http.get("/v2/transactionbatches?is_open=1&page_size=1").json()["transactionbatches"]
    return str(batch["id"])


def config(raw_client: RawClient) -> str:
    """Return the id of a postback config."""
    return str(raw_client.made("/v2/postbackconfigs", "postbackconfig", resource="contact", url=RECEIVER)["id"])


def recurring(raw_client: RawClient, **fields: Any) -> str:
    """Return the id of a monthly installment plan."""
    said: dict[str, Any] = {"account_vault_id": raw_client.vault()["id"], "transaction_amount": "10.00"}
    said |= {"interval": 1, "interval_type": "m", "start_date": "2030-01-31", "installment_total_count": 20}
    return str(raw_client.made("/v2/recurrings", "recurring", **said | fields)["id"])


def held_recurring(raw_client: RawClient) -> str:
    """Return the id of a recurring that is on hold."""
    recurring_id = recurring(raw_client)
    assert raw_client.http.post(f"/v2/recurrings/{recurring_id}/placeOnHold").is_success
    return recurring_id


def tag(raw_client: RawClient) -> str:
    """Return the id of a tag."""
    return str(raw_client.made("/v2/tags", "tag", title="Tea")["id"])


def note(raw_client: RawClient) -> str:
    """Return the id of a note about a new contact."""
    about = {"resource": "Contact", "resource_id": raw_client.contact()["id"], "note": "Tea"}
    return str(raw_client.post("/v2/notes", "note", about).json()["note"]["id"])


def location(raw_client: RawClient) -> str:
    """Return the id of a location below the first one."""
    return str(raw_client.post("/v2/locations", "location", branch(raw_client)).json()["location"]["id"])


def branch(raw_client: RawClient) -> dict[str, Any]:
    """Return the fields of a location below the first one."""
    return {"name": "Branch", "parent_id": raw_client.info.location_id}


def terminal(raw_client: RawClient) -> str:
    """Return the id of a new terminal."""
    return str(raw_client.made("/v2/terminals", "terminal", **DEVICE)["id"])


DEVICE = {"serial_number": "1234567890", "terminal_manufacturer_id": "1", "terminal_application_id": "1"}
"""The fields of a terminal, besides its location."""


def user(raw_client: RawClient) -> str:
    """Return the id of a new user."""
    return str(raw_client.post("/v2/users", "user", {"first_name": "Ada"}).json()["user"]["id"])


def role(raw_client: RawClient) -> str:
    """Return the id of a role of a new user."""
    return str(raw_client.post("/v2/authroleusers", "authroleuser", new_role(raw_client)).json()["authroleuser"]["id"])


def new_role(raw_client: RawClient) -> dict[str, Any]:
    """Return the fields of a role of a new user."""
    return {"user_id": user(raw_client), "auth_role_id": 1}


def _untyped(gateway: AsyncGateway, name: str) -> UntypedResource:
    return gateway.resource(f"{name}s", name=name)


CHECK = BANK_ACCOUNT | {"payment_method": "ach", "action": "debit", "ach_sec_code": "POP"}


def refused_check(raw_client: RawClient) -> str:
    """Return the id of a check that a manager must override."""
    return str(raw_client.made("/v2/transactions", "transaction", **CHECK, transaction_amount="16.63")["id"])


def voided_check(raw_client: RawClient) -> str:
    """Return the id of a voided check."""
    check_id = str(raw_client.made("/v2/transactions", "transaction", **CHECK, transaction_amount="12.50")["id"])
    assert raw_client.put(f"/v2/transactions/{check_id}", "transaction", {"action": "void"}).is_success
    return check_id


def _payments(gateway: AsyncGateway) -> UntypedResource:
    return gateway.resource("transactions", name="transaction", api_id="transaction_api_id")


def hosted_page(raw_client: RawClient) -> str:
    """Return the id of a hosted payment page."""
    return str(raw_client.made("/v2/hostedpaymentpages", "hostedpaymentpage", title="Tea")["id"])


def _hosted_pages(gateway: AsyncGateway) -> UntypedResource:
    return gateway.resource("hostedpaymentpages", name="hostedpaymentpage")


def token(raw_client: RawClient) -> str:
    """Return a new token of the sandbox's user."""
    login = {name: getattr(raw_client.info, name) for name in ("username", "password", "domain")}
    return str(raw_client.http.post("/v2/token", json=login).json()["token"]["token"])


NEW_INVOICE = QuickInvoiceCreate(title="Tea", due_date=date(2030, 1, 31), item_list={"Tea": 12})
NEW_VAULT = CardVaultCreate(account_number=VISA, exp_date="1230")
NEW_SALE = TransactionCreate(action="sale", transaction_amount="12.50", account_number=VISA, exp_date="1230")
NEW_CONFIG = PostbackConfigCreate(resource="contact", url=RECEIVER)
FILE = Attachment("a.txt", b"tea")

CALLS: dict[str, Callable[[AsyncGateway, RawClient], Awaitable[Any]]] = {
    "tokens.create": lambda to, at: to.tokens.create(at.info.username, at.info.password, at.info.domain),
    "tokens.delete": lambda to, at: to.tokens.delete(token(at)),
    "quick_invoices.create": lambda to, _: to.quick_invoices.create(NEW_INVOICE),
    "quick_invoices.update": lambda to, at: to.quick_invoices.update(invoice(at), QuickInvoiceUpdate(title="Tea")),
    "quick_invoices.get": lambda to, at: to.quick_invoices.get(invoice(at)),
    "quick_invoices.list": lambda to, _: to.quick_invoices.list().first(),
    "quick_invoices.delete": lambda to, at: to.quick_invoices.delete(invoice(at)),
    "quick_invoices.reopen": lambda to, at: to.quick_invoices.reopen(closed_invoice(at)),
    "quick_invoices.add_transaction": lambda to, at: to.quick_invoices.add_transaction(invoice(at), at.sale()["id"]),
    "quick_invoices.remove_transaction": lambda to, at: to.quick_invoices.remove_transaction(*paid_invoice(at)),
    "quick_invoices.resend": lambda to, at: to.quick_invoices.resend(invoice(at)),
    "quick_invoices.attach_file": lambda to, at: to.quick_invoices.attach_file(invoice(at), FILE),
    "quick_invoices.remove_file": lambda to, at: to.quick_invoices.remove_file(*attached(at)),
    "product_files.create": lambda to, _: to.product_files.create(
        ProductFileCreate(title="Files", product_file_credential_id="c" * 24)
    ),
    "paylinks.create": lambda to, _: to.paylinks.create(PaylinkCreate(amount_due="12.50")),
    "paylinks.update": lambda to, at: to.paylinks.update(paylink(at), PaylinkUpdate(email="other@example.test")),
    "paylinks.get": lambda to, at: to.paylinks.get(paylink(at)),
    "paylinks.list": lambda to, _: to.paylinks.list().first(),
    "paylinks.delete": lambda to, at: to.paylinks.delete(paylink(at)),
    "paylinks.resend": lambda to, at: to.paylinks.resend(paylink(at)),
    "account_vaults.create": lambda to, _: to.account_vaults.create(NEW_VAULT),
    "account_vaults.update": lambda to, at: to.account_vaults.update(at.vault()["id"], AccountVaultUpdate(title="Tea")),
    "account_vaults.get": lambda to, at: to.account_vaults.get(at.vault()["id"]),
    "account_vaults.list": lambda to, _: to.account_vaults.list().first(),
    "account_vaults.delete": lambda to, at: to.account_vaults.delete(at.vault()["id"]),
    "account_vaults.bin_info": lambda to, at: to.account_vaults.bin_info(at.vault()["id"]),
    "router_account_vaults.create": lambda to, at: to.router_account_vaults.create(
        RouterAccountVaultCreate(terminal_id=at.info.terminal_id, contact_id=at.info.contact_id)
    ),
    "transaction_batches.list": lambda to, _: to.transaction_batches.list().first(),
    "transaction_batches.get": lambda to, at: to.transaction_batches.get(open_batch(at)),
    "transaction_batches.settle": lambda to, at: to.transaction_batches.settle(open_batch(at)),
    "postback_configs.create": lambda to, _: to.postback_configs.create(NEW_CONFIG),
    "postback_configs.update": lambda to, at: to.postback_configs.update(
        config(at), PostbackConfigUpdate(on_create=True)
    ),
    "postback_configs.delete": lambda to, at: to.postback_configs.delete(config(at)),
    "transactions.create": lambda to, _: to.transactions.create(NEW_SALE),
    "transactions.get": lambda to, at: to.transactions.get(at.sale()["id"]),
    "transactions.list": lambda to, _: to.transactions.list().first(),
    "transactions.update": lambda to, at: to.transactions.update(at.sale()["id"], TransactionUpdate(action="void")),
    "transactions.bin_info": lambda to, at: to.transactions.bin_info(at.sale()["id"]),
    "transactions.override": lambda to, at: _payments(to).action(refused_check(at), "override"),
    "transactions.achupdate": lambda to, at: _payments(to).action(
        voided_check(at), "achupdate", {"transaction_amount": "13.00"}
    ),
    "custom.tsvtransactions": lambda to, at: to.request(
        "GET",
        "/custom/tsvtransactions",
        params={"location_id": at.info.location_id, "from_date": "2020-01-31 00:00:00"},
    ),
    "router_transactions.create": lambda to, at: to.router_transactions.create(
        RouterTransactionCreate(action="sale", terminal_id=at.info.terminal_id, transaction_amount="12.50")
    ),
    "contacts.create": lambda to, _: to.contacts.create(ContactCreate(last_name="Smith")),
    "contacts.update": lambda to, at: to.contacts.update(at.contact()["id"], ContactUpdate(city="Leeds")),
    "contacts.get": lambda to, at: to.contacts.get(at.contact()["id"]),
    "contacts.list": lambda to, _: to.contacts.list().first(),
    "contacts.delete": lambda to, at: to.contacts.delete(at.contact()["id"]),
    "recurrings.create": lambda to, at: to.recurrings.create(
        RecurringCreate(
            account_vault_id=at.vault()["id"],
            interval=1,
            interval_type="m",
            start_date=date(2030, 1, 31),
            transaction_amount="10.00",
        )
    ),
    "recurrings.update": lambda to, at: to.recurrings.update(recurring(at), RecurringUpdate(description="Tea")),
    "recurrings.get": lambda to, at: to.recurrings.get(recurring(at)),
    "recurrings.list": lambda to, _: to.recurrings.list().first(),
    "recurrings.delete": lambda to, at: to.recurrings.delete(recurring(at)),
    "recurrings.skip": lambda to, at: to.recurrings.skip(recurring(at), 1),
    "recurrings.defer": lambda to, at: to.recurrings.defer(recurring(at), 1),
    "recurrings.hold": lambda to, at: to.recurrings.hold(recurring(at)),
    "recurrings.activate": lambda to, at: to.recurrings.activate(held_recurring(at)),
    "tags.create": lambda to, _: to.tags.create(TagCreate(title="Tea")),
    "tags.update": lambda to, at: to.tags.update(tag(at), TagUpdate(title="Coffee")),
    "tags.get": lambda to, at: to.tags.get(tag(at)),
    "tags.list": lambda to, _: to.tags.list().first(),
    "tags.delete": lambda to, at: to.tags.delete(tag(at)),
    "notes.create": lambda to, at: to.notes.create(NoteCreate(resource="Contact", resource_id=at.info.contact_id)),
    "notes.update": lambda to, at: to.notes.update(note(at), NoteUpdate(note="Coffee")),
    "notes.get": lambda to, at: to.notes.get(note(at)),
    "notes.list": lambda to, _: to.notes.list().first(),
    "notes.delete": lambda to, at: to.notes.delete(note(at)),
    "hostedpaymentpages.create": lambda to, at: _hosted_pages(to).create(
        {"location_id": at.info.location_id, "title": "Tea"}
    ),
    "hostedpaymentpages.get": lambda to, at: _hosted_pages(to).get(hosted_page(at)),
    "hostedpaymentpages.list": lambda to, _: _hosted_pages(to).list().first(),
    "locations.list": lambda to, _: to.locations.list().first(),
    "locations.get": lambda to, at: to.locations.get(at.info.location_id),
    "locations.create": lambda to, at: _untyped(to, "location").create(branch(at)),
    "locations.update": lambda to, at: _untyped(to, "location").update(location(at), {"city": "Leeds"}),
    "locations.delete": lambda to, at: _untyped(to, "location").delete(location(at)),
    "locations.infos": lambda to, _: to.locations.infos().first(),
    "terminals.list": lambda to, _: to.terminals.list().first(),
    "terminals.get": lambda to, at: to.terminals.get(at.info.terminal_id),
    "terminals.create": lambda to, at: _untyped(to, "terminal").create(DEVICE | {"location_id": at.info.location_id}),
    "terminals.update": lambda to, at: _untyped(to, "terminal").update(terminal(at), {"title": "Bar"}),
    "terminals.delete": lambda to, at: _untyped(to, "terminal").delete(terminal(at)),
    "users.list": lambda to, _: to.users.list().first(),
    "users.me": lambda to, _: to.users.me(),
    "users.get": lambda to, at: to.users.get(at.info.user_id),
    "users.create": lambda to, _: _untyped(to, "user").create({"first_name": "Ada"}),
    "users.update": lambda to, at: _untyped(to, "user").update(user(at), {"first_name": "Ada"}),
    "users.delete": lambda to, at: _untyped(to, "user").delete(user(at)),
    "users.generateuserapikey": lambda to, at: _untyped(to, "user").action(user(at), "generateuserapikey"),
    "authroleusers.list": lambda to, _: _untyped(to, "authroleuser").list().first(),
    "authroleusers.get": lambda to, at: _untyped(to, "authroleuser").get(role(at)),
    "authroleusers.create": lambda to, at: _untyped(to, "authroleuser").create(new_role(at)),
    "authroleusers.delete": lambda to, at: _untyped(to, "authroleuser").delete(role(at)),
}
"""The calls by name: from an SDK client and a raw client to the method's result."""
