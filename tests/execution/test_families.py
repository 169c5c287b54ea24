"""Invoices, paylinks, batches and configs: what each verb sends, and what a lost response comes to."""

from collections.abc import Awaitable, Callable
from datetime import date
from decimal import Decimal
from typing import Any

import attrs
import httpx
import pytest

from gateway_async import (
    ApiId,
    AsyncGateway,
    InvalidRequestError,
    MismatchedWriteError,
    NotFoundError,
    OutcomeUnknownError,
    PaylinkCreate,
    PaylinkUpdate,
    PostbackConfigCreate,
    PostbackConfigUpdate,
    ProductFile,
    ProductFileCreate,
    QuickInvoice,
    QuickInvoiceCreate,
    QuickInvoiceUpdate,
    ValidationError,
)
from tests.support.outcomes import resolved
from tests.support.scripted_transport import (
    LOST,
    NOT_THERE,
    Case,
    Script,
    ScriptedResponse,
    absent,
    case,
    echo,
    error_of,
    record,
    refusal,
    refused,
)

pytestmark = pytest.mark.anyio

INVOICE = QuickInvoiceCreate(title="Lunch", due_date=date(2026, 12, 1), item_list={"Tea": Decimal("2.50")})
PAYLINK = PaylinkCreate(amount_due="10.00")
CONFIG = PostbackConfigCreate(url="https://shop.test/in", resource="contact", on_create=True)
FILES = ProductFileCreate(title="Files", product_file_credential_id="credential")
DONE = httpx.Response(204)

Verb = Callable[[AsyncGateway], Awaitable[Any]]


def invoice(**fields: Any) -> httpx.Response:
    return record("quickinvoice", **{"id": "i", **fields})


def payment(whose: str | None) -> httpx.Response:
    return record("transaction", id="t", quick_invoice_id=whose)


# --- what is sent


SENT: list[tuple[Verb, str, str, dict[str, str], Any]] = [
    (lambda g: g.quick_invoices.reopen(ApiId("mine")), "POST", "/v2/quickinvoices/mine/reopen",
     {"api_id": "1", "location_id": "loc"}, None),
    (lambda g: g.quick_invoices.resend("i", sms=False), "POST", "/v2/quickinvoices/i/resend", {"sms": "0"}, None),
    (lambda g: g.quick_invoices.resend(ApiId("mine"), email=False), "POST", "/v2/quickinvoices/mine/resend",
     {"api_id": "1", "location_id": "loc", "email": "0"}, None),
    (lambda g: g.quick_invoices.remove_file("i", "f/1"), "DELETE", "/v2/quickinvoices/i/files/f%2F1", {}, None),
    (lambda g: g.postback_configs.update("c", PostbackConfigUpdate(basic_auth_password="pw", expands=None)), "PUT",
     "/v2/postbackconfigs/c", {}, {"postbackconfig": {"basic_auth_password": "pw", "expands": None}}),
]  # fmt: skip


@pytest.mark.parametrize(("verb", "method", "path", "params", "body"), SENT)
async def test_requests(verb: Verb, method: str, path: str, params: dict[str, str], body: Any) -> None:
    """What `tests/contract/test_endpoints.py` does not see: ids in the path, switches, and a field set to null."""
    script = Script(**{method.lower(): [refusal(400)]})  # type: ignore[arg-type]
    await script.fail(verb, Exception, match="400")
    (asked,) = script.asked
    assert (asked.method, asked.url.raw_path.decode().partition("?")[0]) == (method, path)
    assert dict(asked.url.params) == params
    assert script.bodies(method) == [body] if body else asked.content == b""


async def test_generated_ids() -> None:
    """An invoice and a paylink get an id, so that a lost response can be looked up."""
    script = Script(post=[echo("quickinvoice"), echo("paylink")])
    assert (await script.run(lambda g: g.quick_invoices.create(INVOICE))).quick_invoice_api_id
    assert (await script.run(lambda g: g.paylinks.create(PAYLINK))).paylink_api_id


async def test_neither_email_nor_sms_is_no_resend() -> None:
    script = Script()
    with pytest.raises(InvalidRequestError, match="email, sms: at least one"):
        await script.run(lambda g: g.quick_invoices.resend("i", email=False, sms=False))
    assert script.asked == []


@pytest.mark.parametrize("wrong", ["", "a b", "..", 5, ApiId("t")])
async def test_invalid_ids(wrong: Any) -> None:
    """Reject it by its name before anything is sent."""
    script = Script()
    await script.fail(
        lambda g: g.quick_invoices.add_transaction("i", wrong), InvalidRequestError, match="transaction_id: "
    )
    await script.fail(lambda g: g.quick_invoices.remove_file("i", wrong), InvalidRequestError, match="file_id: ")
    assert script.asked == []


# --- what the contract does not show


@pytest.mark.parametrize(
    ("response", "made"),
    [
        (httpx.Response(201, json={"productfile": {"title": "Files"}}), ProductFile(title="Files")),
        (httpx.Response(200, json={"id": "p", "title": "Files"}), ProductFile(id="p", title="Files")),
        (httpx.Response(204), ProductFile()),
        (httpx.Response(200, json=True), ProductFile()),
    ],
)
async def test_file_responses(response: httpx.Response, made: ProductFile) -> None:
    """The response of file storage is read wrapped, bare or empty."""
    assert await Script(post=[response]).run(lambda g: g.product_files.create(FILES)) == made


# --- lost responses

REUSED = attrs.evolve(INVOICE, quick_invoice_api_id="mine")
CHANGES = PostbackConfigUpdate(is_active=False)
UNMARKED: dict[str, Verb] = {
    "resent invoice": lambda g: g.quick_invoices.resend("i"),
    "resent paylink": lambda g: g.paylinks.resend("p"),
    "new config": lambda g: g.postback_configs.create(CONFIG),
    "new file": lambda g: g.product_files.create(FILES),
}
MOVES: dict[str, Verb] = {
    "payment put on an invoice": lambda g: g.quick_invoices.add_transaction("i", "t"),
    "payment taken off an invoice": lambda g: g.quick_invoices.remove_transaction("i", "t"),
}


async def delete_config(gateway: AsyncGateway) -> None:
    await gateway.postback_configs.delete("c")


CASES = [
    case("an invoice that is found is the result", lambda g: g.quick_invoices.create(INVOICE), {"id": "i"}, "POST GET",
         post=[LOST], get=[invoice(title="Lunch", item_list={"Tea": 2.5})]),
    case("the title tells the invoice from one that had the caller's id before",
         lambda g: g.quick_invoices.create(REUSED), (MismatchedWriteError, "title is 'Dinner', not 'Lunch'"),
         "POST GET",
         post=[LOST], get=[invoice(title="Dinner", item_list={"Tea": "2.50"})]),
    case("a lost paylink is sent again under its id if it is not there", lambda g: g.paylinks.create(PAYLINK), {},
         "POST GET POST", post=[LOST, echo("paylink")], get=[NOT_THERE]),
    *(
        case(f"a lost {name} leaves no evidence", verb, OutcomeUnknownError, "POST", post=[LOST])
        for name, verb in UNMARKED.items()
    ),
    *(
        case(f"a {name} is unknown if the record is old and has no such field", verb, OutcomeUnknownError, "PUT GET",
             put=[LOST], get=[record("transaction", id="t"), invoice()])
        for name, verb in MOVES.items()
    ),
    case("a payment may name its invoice by a number", lambda g: g.quick_invoices.add_transaction("11", "t"),
         {"id": "11"}, "PUT GET",
         put=[LOST], get=[record("transaction", id="t", quick_invoice_id=11), invoice(id="11")]),
    case("a refused payment that is on another invoice was not put on this one", MOVES["payment put on an invoice"],
         ValidationError, "PUT GET", put=[refused(transaction_id="is on another invoice")], get=[payment("other")]),
    case("configs cannot be read, and setting one twice is setting it once",
         lambda g: g.postback_configs.update("c", CHANGES), {"is_active": False}, "PUT PUT",
         put=[LOST, record("postbackconfig", id="c", is_active="0")]),
    *(
        case(f"{says!r} does not say that it was set", lambda g: g.postback_configs.update("c", CHANGES),
             (OutcomeUnknownError, says), "PUT PUT PUT PUT", put=[LOST, response])
        for says, response in (("not found", NOT_THERE), ("another request", refused(last_name="cannot be blank")))
    ),
    *(
        case(f"{number}: a config that is gone now or was gone before is deleted", delete_config, {}, "DELETE DELETE",
             delete=[LOST, response])
        for number, response in enumerate((DONE, NOT_THERE, refusal(409, "deleted")))
    ),
    case("`success` in a body does not say that the config is gone", delete_config, OutcomeUnknownError,
         "DELETE DELETE DELETE DELETE", delete=[httpx.Response(200, json={"success": False})]),
    case("the first 404 is no effect of an earlier attempt", delete_config, NotFoundError, "DELETE DELETE",
         delete=[NOT_THERE]),
]  # fmt: skip


@pytest.mark.parametrize("call", CASES)
async def test_requests_and_outcomes_of_lost_writes(call: Case) -> None:
    await call.check()


# --- lost responses: changes

SETTLED: list[tuple[str, Verb, str, Any, httpx.Response]] = [
    ("reopen", lambda g: g.quick_invoices.reopen("i"), "POST", invoice(status_id=1), invoice(status_id=0)),
    ("close", lambda g: g.quick_invoices.update("i", QuickInvoiceUpdate(status_id=0)), "PUT",
     invoice(status_id=2), invoice(status_id=1)),
    ("items", lambda g: g.quick_invoices.update("i", QuickInvoiceUpdate(item_list={"Tea": 3})), "PUT",
     invoice(item_list={"Tea": "3.00"}), invoice(item_list={"Tea": 2})),
    ("method", lambda g: g.paylinks.update("i", PaylinkUpdate(delivery_method=0)), "PUT",
     record("paylink", id="i", delivery_method="0"), record("paylink", id="i", delivery_method=1)),
    ("settle", lambda g: g.transaction_batches.settle("i"), "POST",
     record("transactionbatch", id="i", is_open=0, processing_status_id=3),
     record("transactionbatch", id="i", is_open=1, processing_status_id=1)),
    ("delete", lambda g: g.quick_invoices.delete("i"), "DELETE", absent, invoice()),
    ("delete a paylink", lambda g: g.paylinks.delete("i"), "DELETE", absent, record("paylink", id="i")),
    ("remove a file", lambda g: g.quick_invoices.remove_file("i", "f"), "DELETE",
     invoice(files=[{"id": "g"}]), invoice(files=[{"id": "g"}, {"id": "f"}])),
    ("remove the last file", lambda g: g.quick_invoices.remove_file("i", "f"), "DELETE",
     invoice(files=None), invoice(files=[{"id": "f"}])),
    ("remove a file of no invoice", lambda g: g.quick_invoices.remove_file("i", "f"), "DELETE",
     absent, invoice(files=[{"id": "f"}])),
]  # fmt: skip


@pytest.mark.parametrize(
    ("verb", "method", "done"), [pytest.param(verb, method, done, id=name) for name, verb, method, done, _ in SETTLED]
)
async def test_lost_change(verb: Verb, method: str, done: ScriptedResponse) -> None:
    """The record shows that it was made, so nothing is sent twice."""
    responses: dict[str, list[ScriptedResponse]] = {method.lower(): [LOST], "get": [done]}
    script = Script(**responses)
    await script.run(verb)
    assert script.methods == [method, "GET", "GET"][: 3 if done is absent else 2]


@pytest.mark.parametrize(("verb", "method", "done", "not_done"), [pytest.param(*row[1:], id=row[0]) for row in SETTLED])
async def test_a_change_that_the_record_does_not_show_is_sent_again(
    verb: Verb, method: str, done: httpx.Response, not_done: httpx.Response
) -> None:
    again = DONE if method == "DELETE" else done
    script = Script(**{method.lower(): [LOST, again], "get": [not_done]})  # type: ignore[arg-type]
    await script.run(verb)
    assert script.methods.count(method) == 2


async def test_missing_files() -> None:
    """A gateway that does not expand them proves nothing."""
    script = Script(delete=[LOST], get=[invoice()])
    await script.fail(lambda g: g.quick_invoices.remove_file("i", "f"), OutcomeUnknownError)
    assert dict(script.asked[1].url.params) == {"expand": "files"}


# --- lost responses: a payment put on an invoice, or taken off

MOVED: list[tuple[str, str | None, str | None]] = [
    #                     whose it is when it was done, and when not
    ("add_transaction", "i", None),
    ("add_transaction", "i", "other"),
    ("remove_transaction", None, "i"),
]


@pytest.mark.parametrize(("verb", "done", "_not_done"), MOVED)
async def test_invoice_payment(verb: str, done: str | None, _not_done: str | None) -> None:
    """A lost response is looked up by reading the transaction; the result is the invoice, read afterwards."""
    script = Script(put=[LOST], get=[payment(done), invoice(payment_status_id=2)])
    changed = await script.run(lambda gateway: getattr(gateway.quick_invoices, verb)("i", "t"))
    assert (changed.id, changed.payment_status_id) == ("i", 2)
    assert [request.url.path for request in script.asked[1:]] == ["/v2/transactions/t", "/v2/quickinvoices/i"]


@pytest.mark.parametrize(("verb", "done", "not_done"), MOVED)
async def test_where_only_the_integrators_id_is_known_the_invoice_is_read_first(
    verb: str, done: str | None, not_done: str | None
) -> None:
    script = Script(put=[LOST], get=[invoice(), payment(not_done), payment(done), invoice()])
    await script.run(lambda gateway: getattr(gateway.quick_invoices, verb)(ApiId("mine"), "t"))
    mine, its = "/v2/quickinvoices/mine", "/v2/transactions/t"
    assert [request.url.path for request in script.asked[1:]] == [mine, its, its, mine]


@pytest.mark.parametrize(("verb", "done", "not_done"), MOVED)
async def test_unmoved_payment(verb: str, done: str | None, not_done: str | None) -> None:
    """Send the request again if the transaction is on no such invoice."""
    listed = [{"id": "t"}] if verb == "add_transaction" else []
    script = Script(put=[LOST, invoice(payment_status_id=3, transactions=listed)], get=[payment(not_done)])
    assert (await script.run(lambda gateway: getattr(gateway.quick_invoices, verb)("i", "t"))).payment_status_id == 3
    assert script.methods.count("PUT") == 2
    assert done != not_done


@pytest.mark.parametrize("response", [httpx.Response(500), NOT_THERE])
async def test_unreadable_invoice(response: httpx.Response) -> None:
    """The error can be asked again, and then gives the invoice."""
    script = Script(put=[LOST], get=[payment("i"), response])
    async with script.gateway() as gateway:
        error = await error_of(gateway.quick_invoices.add_transaction("i", "t"), OutcomeUnknownError)
        script.responses["get"] = [payment("i"), invoice()]
        assert (await resolved(error, QuickInvoice)).id == "i"


# --- lost responses: what no read shows


async def test_hidden_change() -> None:
    """A config that never shows it was changed all the same, as the gateway accepted it twice."""
    script = Script(put=[LOST, record("postbackconfig", id="c")])
    assert (await script.run(lambda g: g.postback_configs.update("c", CHANGES))).id == "c"


async def test_unsent_repeat() -> None:
    """Raise from `resolve()` without sending: a repeat could undo a later change."""
    script = Script(put=[LOST])
    async with script.gateway() as gateway:
        error = await error_of(
            gateway.postback_configs.update("c", PostbackConfigUpdate(is_active=False)), OutcomeUnknownError
        )
        sent = len(script.asked)
        await error_of(error.resolve(), OutcomeUnknownError)
    assert len(script.asked) == sent


# --- links


async def test_invoice_link() -> None:
    """The link has the gateway's id, or the integrator's with its location, percent-encoded; nothing is sent."""
    script = Script()
    async with script.gateway() as gateway:
        links = gateway.quick_invoices
        assert links.payment_url("i/1") == "https://gateway.test/#/quickinvoicepay/i%2F1"
        assert links.payment_url(ApiId("mine?")) == (
            "https://gateway.test/#/quickinvoicepay/mine%3F?api_id=1&location_id=loc"
        )
        assert links.payment_url(ApiId("a", "l&c d")).endswith("/a?api_id=1&location_id=l%26c%20d")
        with pytest.raises(InvalidRequestError, match="id: must not be empty"):
            links.payment_url("")
    assert script.asked == []


async def test_paylink_link() -> None:
    """A paylink is linked by the gateway's id alone."""
    async with Script().gateway() as gateway:
        assert gateway.paylinks.payment_url("p&1") == "https://gateway.test?paylink_id=p%261"
        with pytest.raises(InvalidRequestError, match="cannot be found by an ApiId"):
            gateway.paylinks.payment_url(ApiId("mine"))
