"""Every method of the SDK, called once; the records that it needs are created before.

The calls to create, read, list, change and delete come from `record_types.py`, and the others are listed here.
A function that is named after a record creates one, and returns its id.
"""

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import gateway_async
from gateway_async import AsyncGateway, Attachment, UntypedResource
from gateway_async.models.request import Request
from gateway_async.resources import RESOURCES

from .endpoints import WITH_RESOURCE
from .raw_client import BANK_ACCOUNT, RECEIVER, RawClient
from .record_type import RecordType
from .sdk_matrix import make_request


def invoice(raw_client: RawClient, **fields: Any) -> str:
    items = {"title": "Tea", "due_date": "2030-01-31", "item_list": {"Tea": 12.5}, "email": "tea@example.test"}
    return str(raw_client.made("/v2/quickinvoices", "quickinvoice", **items | fields)["id"])


def closed_invoice(raw_client: RawClient) -> str:
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
    fields = {"amount_due": 12.5, "email": "tea@example.test"}
    return str(raw_client.made("/v2/paylinks", "paylink", **fields)["id"])


def open_batch(raw_client: RawClient) -> str:
    raw_client.sale()
    (batch,) = raw_client.http.get("/v2/transactionbatches?is_open=1&page_size=1").json()["transactionbatches"]
    return str(batch["id"])


def config(raw_client: RawClient) -> str:
    return str(raw_client.made("/v2/postbackconfigs", "postbackconfig", resource="contact", url=RECEIVER)["id"])


def recurring(raw_client: RawClient, **fields: Any) -> str:
    said: dict[str, Any] = {"account_vault_id": raw_client.vault()["id"], "transaction_amount": "10.00"}
    said |= {"interval": 1, "interval_type": "m", "start_date": "2030-01-31", "installment_total_count": 20}
    return str(raw_client.made("/v2/recurrings", "recurring", **said | fields)["id"])


def held_recurring(raw_client: RawClient) -> str:
    recurring_id = recurring(raw_client)
    assert raw_client.http.post(f"/v2/recurrings/{recurring_id}/placeOnHold").is_success
    return recurring_id


def tag(raw_client: RawClient) -> str:
    return str(raw_client.made("/v2/tags", "tag", title="Tea")["id"])


def note(raw_client: RawClient) -> str:
    about = {"resource": "Contact", "resource_id": raw_client.contact()["id"], "note": "Tea"}
    return str(raw_client.post("/v2/notes", "note", about).json()["note"]["id"])


def location(raw_client: RawClient) -> str:
    return str(raw_client.post("/v2/locations", "location", branch(raw_client)).json()["location"]["id"])


def branch(raw_client: RawClient) -> dict[str, Any]:
    """Return the fields of a location below the first one."""
    return {"name": "Branch", "parent_id": raw_client.info.location_id}


def terminal(raw_client: RawClient) -> str:
    return str(raw_client.made("/v2/terminals", "terminal", **DEVICE)["id"])


DEVICE = {"serial_number": "1234567890", "terminal_manufacturer_id": "1", "terminal_application_id": "1"}
"""The fields of a terminal, besides its location."""


def user(raw_client: RawClient) -> str:
    return str(raw_client.post("/v2/users", "user", {"first_name": "Ada"}).json()["user"]["id"])


def role(raw_client: RawClient) -> str:
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
    check_id = str(raw_client.made("/v2/transactions", "transaction", **CHECK, transaction_amount="12.50")["id"])
    assert raw_client.put(f"/v2/transactions/{check_id}", "transaction", {"action": "void"}).is_success
    return check_id


def _payments(gateway: AsyncGateway) -> UntypedResource:
    return gateway.resource("transactions", name="transaction", api_id="transaction_api_id")


def hosted_page(raw_client: RawClient) -> str:
    return str(raw_client.made("/v2/hostedpaymentpages", "hostedpaymentpage", title="Tea")["id"])


def _hosted_pages(gateway: AsyncGateway) -> UntypedResource:
    return gateway.resource("hostedpaymentpages", name="hostedpaymentpage")


def token(raw_client: RawClient) -> str:
    login = {name: getattr(raw_client.info, name) for name in ("username", "password", "domain")}
    return str(raw_client.http.post("/v2/token", json=login).json()["token"]["token"])


FILE = Attachment("a.txt", b"tea")

Call = Callable[[AsyncGateway, RawClient], Awaitable[Any]]


def _calls(record_type: RecordType) -> Iterator[tuple[str, Call]]:
    """Yield the calls of the methods that most resources have, and of actions that need only a new record."""
    found: dict[str, Callable[[Any, RawClient], Awaitable[Any]]] = {
        "create": lambda resource, at: resource.create(_request(record_type.create_modes[0].request, record_type, at)),
        "update": lambda resource, at: resource.update(record_type.make(at), _request(record_type.update, record_type)),
        "get": lambda resource, at: resource.get(record_type.make(at)),
        "list": lambda resource, _: resource.list().first(),
        "delete": lambda resource, at: resource.delete(record_type.make(at)),
    }
    found |= {verb: partial(_act, record_type, verb) for verb in record_type.actions.values()}
    for verb, call in found.items():
        if hasattr(RESOURCES[record_type.resource], verb):
            yield f"{record_type.resource}.{verb}", partial(_on_resource, record_type.resource, call)


def _request(name: str, record_type: RecordType, raw_client: RawClient | None = None) -> Request:
    body = record_type.create_modes[0].body(raw_client) if raw_client else record_type.change
    return make_request(getattr(gateway_async, name), body)


def _act(record_type: RecordType, verb: str, resource: Any, raw_client: RawClient) -> Awaitable[Any]:
    action: Awaitable[Any] = getattr(resource, verb)(record_type.make(raw_client))
    return action


def _on_resource(
    name: str, call: Callable[[Any, RawClient], Awaitable[Any]], gateway: AsyncGateway, raw_client: RawClient
) -> Awaitable[Any]:
    return call(getattr(gateway, name), raw_client)


CALLS: dict[str, Call] = {
    "tokens.create": lambda to, at: to.tokens.create(at.info.username, at.info.password, at.info.domain),
    "tokens.delete": lambda to, at: to.tokens.delete(token(at)),
    "quick_invoices.reopen": lambda to, at: to.quick_invoices.reopen(closed_invoice(at)),
    "quick_invoices.add_transaction": lambda to, at: to.quick_invoices.add_transaction(invoice(at), at.sale()["id"]),
    "quick_invoices.remove_transaction": lambda to, at: to.quick_invoices.remove_transaction(*paid_invoice(at)),
    "quick_invoices.resend": lambda to, at: to.quick_invoices.resend(invoice(at)),
    "quick_invoices.attach_file": lambda to, at: to.quick_invoices.attach_file(invoice(at), FILE),
    "quick_invoices.remove_file": lambda to, at: to.quick_invoices.remove_file(*attached(at)),
    "paylinks.resend": lambda to, at: to.paylinks.resend(paylink(at)),
    "account_vaults.bin_info": lambda to, at: to.account_vaults.bin_info(at.vault()["id"]),
    "transaction_batches.list": lambda to, _: to.transaction_batches.list().first(),
    "transaction_batches.get": lambda to, at: to.transaction_batches.get(open_batch(at)),
    "transaction_batches.settle": lambda to, at: to.transaction_batches.settle(open_batch(at)),
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
    "recurrings.skip": lambda to, at: to.recurrings.skip(recurring(at), 1),
    "recurrings.defer": lambda to, at: to.recurrings.defer(recurring(at), 1),
    "recurrings.activate": lambda to, at: to.recurrings.activate(held_recurring(at)),
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
} | dict(call for record_type in WITH_RESOURCE for call in _calls(record_type))
"""The calls by name: from an SDK client and a raw client to the method's result."""
