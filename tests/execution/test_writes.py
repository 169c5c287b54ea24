"""A write moves money once: what happens after each way of losing its response."""

import math
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

import anyio
import attrs
import httpx
import pytest
import trio

from gateway_async import (
    AchVaultCreate,
    ApiId,
    AsyncGateway,
    CardVaultCreate,
    ContactCreate,
    ContactUpdate,
    DuplicateError,
    InvalidRequestError,
    MalformedReplyError,
    MismatchedReplyError,
    MismatchedWriteError,
    OutcomeUnknownError,
    PermissionDeniedError,
    RateLimitError,
    RouterTransactionCreate,
    StatusError,
    TicketVaultCreate,
    Transaction,
    TransactionCreate,
    TransactionUpdate,
    ValidationError,
)
from gateway_async.observe import Event, LookupOutcome, OutcomeLookedUp, RecordDiffers
from tests.support.outcomes import resolved
from tests.support.scripted_transport import (
    APPROVED,
    CUT,
    LOST,
    NEVER_LEFT,
    NOT_THERE,
    SALE,
    Case,
    Script,
    ScriptedResponse,
    Verb,
    absent,
    case,
    echo,
    error_of,
    listed,
    record,
    refusal,
    refused,
    sell,
    sell_named,
)

from .test_create_once import CREATES, each_resource, stored

pytestmark = pytest.mark.anyio

TAKEN = refused(transaction_api_id="already exists")
CARD_VAULT = CardVaultCreate(account_number="4111111111111111", exp_date="0930", account_vault_api_id="mine")


async def test_lost_response() -> None:
    """The transaction that the lookup finds is the call's result, and nothing is sent twice."""
    script = Script(post=[LOST], get=[APPROVED])
    transaction = await script.run(sell)
    sent = script.bodies("POST")[0]["transaction"]["transaction_api_id"]
    assert transaction.approved
    assert script.methods == ["POST", "GET"]
    assert script.asked[1].url.path == f"/v2/transactions/{sent}"
    assert dict(script.asked[1].url.params) == {"api_id": "1", "location_id": "loc"}


def selling(**changes: Any) -> Verb[Transaction]:
    return lambda gateway: gateway.transactions.create(attrs.evolve(SALE, **changes))


async def reverse(gateway: AsyncGateway) -> Transaction:
    return await gateway.transactions.update("found", REVERSAL)


def paid(amount: str, **fields: Any) -> httpx.Response:
    return record("transaction", transaction_amount=amount, **fields)


REVERSAL = TransactionUpdate(action="partialreversal", transaction_amount=Decimal(5))
TOO_MUCH = refused(transaction_amount="must be less than 5.00")
UPSERT = ContactCreate(last_name="New", contact_api_id="c", update_if_exists=True)
REFUND = TransactionCreate(
    action="refund", transaction_amount="12.50", previous_transaction_id="found", transaction_api_id="order"
)
VAULT = TicketVaultCreate(ticket="t", contact_id="c", account_vault_api_id="mine")
ODD: list[dict[str, Any]] = [{"status_id": "good"}, {"transaction_amount": "much"}, {"id": []}]
TAKEN_UNKNOWN = (OutcomeUnknownError, "transaction_api_id exists already")
SWAPPED = record("transaction", id="x", transaction_amount="99.00", transaction_api_id="another")
REQUESTS = [
    case("a decline is a result", sell, {"approved": False, "declined": True}, "POST",
         post=[echo("transaction", status_id=301)]),
    case("a repeat that never left does not say that the first attempt was not executed", sell, OutcomeUnknownError,
         "POST GET POST POST", post=[LOST, NEVER_LEFT], get=[NOT_THERE]),
    case("an id that is taken at the repeat does not say so either", sell, OutcomeUnknownError, "POST GET POST GET",
         post=[LOST, TAKEN], get=[NOT_THERE]),
    case("nor does a 404 whose lookup failed", sell, OutcomeUnknownError, "POST GET",
         post=[NOT_THERE], get=[httpx.Response(500)]),
    case("neither the throttled nor the refused try made the record that has the caller's id", sell_named,
         ValidationError, "POST GET POST", post=[refusal(429), TAKEN], get=[NOT_THERE]),
    case("a generated id is taken by this sale, sent twice by a proxy", sell, {"id": "found"}, "POST GET",
         post=[TAKEN], get=[APPROVED]),
    case("or by its throttled try", sell, {"id": "found"}, "POST GET POST GET",
         post=[refusal(429), TAKEN], get=[NOT_THERE, APPROVED]),
    case("without its record, which has two seconds to appear, the outcome is unknown", sell, TAKEN_UNKNOWN, "POST GET",
         post=[TAKEN], get=[NOT_THERE], ends=2),
    case("or if its record cannot be read", sell, TAKEN_UNKNOWN, "POST GET", post=[TAKEN], get=[httpx.Response(500)]),
    case("a sale is not taken for the refund under its id", lambda g: g.transactions.create(REFUND),
         (OutcomeUnknownError, "type_id is 20, which no refund has"), "POST GET",
         post=[LOST], get=[paid("12.50", type_id=20, status_id=101)]),
    case("a lost upsert is sent again if the record says otherwise", lambda g: g.contacts.create(UPSERT),
         {"last_name": "New"}, "POST GET POST",
         post=[LOST, echo("contact")], get=[record("contact", contact_api_id="c", last_name="Old")]),
    case("a lost update is repeated if the record does not show it",
         lambda g: g.contacts.update("c", ContactUpdate(city="Bern")), {"city": "Bern"}, "PUT GET PUT",
         put=[LOST, record("contact", id="c", city="Bern")], get=[record("contact", id="c", city="Rome")]),
    case("a vault with another card's digits is another one", lambda g: g.account_vaults.create(CARD_VAULT),
         OutcomeUnknownError, "POST GET", post=[LOST], get=[record("accountvault", last_four="0000")]),
    case("to charge another contact's vault would charge another person", lambda g: g.account_vaults.create(VAULT),
         (MismatchedWriteError, "contact_id is 'other', not 'c'"), "POST GET",
         post=[LOST], get=[record("accountvault", account_vault_api_id="mine", contact_id="other")]),
    case("a capture of another amount is not repeated", lambda g: g.transactions.complete("found", "9.00"),
         (OutcomeUnknownError, "captured for other amounts"), "PUT GET",
         put=[LOST], get=[paid("12.50", status_id=101)]),
    case("an increment is found by its new total", lambda g: g.transactions.increment("found", "30.00"),
         {"transaction_amount": 30}, "PUT GET", put=[LOST], get=[paid("30.00")]),
    case("a refused increment is not found by the total of a later one",
         lambda g: g.transactions.increment("found", "20.00"), ValidationError, "PUT GET",
         put=[refused(transaction_amount="is too low")], get=[paid("30.00")]),
    case("a refused reversal shows the amount from before", reverse, ValidationError, "GET PUT GET",
         put=[TOO_MUCH], get=[paid("12.50")]),
    *(
        case(f"a reversal that is answered with {put!r} is found by {after}", reverse,
             {"transaction_amount": Decimal(after)}, "GET PUT GET", put=[put], get=[paid("12.50"), paid(after)])
        for put in (LOST, CUT, httpx.Response(500), TOO_MUCH)
        for after in ("5.00", "7.50")  # what remains, or what is returned
    ),
    *(
        case(f"a reversal that is answered with {put!r} is not found by {after}", reverse,
             OutcomeUnknownError, "GET PUT GET", put=[put], get=[paid("12.50"), paid(after)])
        for put in (LOST, paid("12.50"))
        for after in ("12.50", "11.00")
    ),
    *(
        case(f"a debit card pays no {fee}", selling(transaction_amount="102.00", **{fee: "2.00"}),
             {"approved": True, "transaction_amount": Decimal("100.00")}, "POST",
             post=[echo("transaction", transaction_amount="100.00", auth_amount="100.00", status_id=101)])
        for fee in ("surcharge_amount", "tax")
    ),
    case("a higher amount is not the response, although `auth_amount` agrees", sell,
         {"transaction_amount": Decimal("12.50")}, "POST GET",
         post=[echo("transaction", transaction_amount="125.00", auth_amount="12.50", status_id=101)],
         get=[paid("12.50", status_id=101)]),
    *(
        case(f"nothing is guessed of {odd}", sell, OutcomeUnknownError, "POST GET",
             post=[echo("transaction", **odd)], get=[record("transaction", **{"status_id": 101, **odd})])
        for odd in ODD
    ),
    case("a message without a field may say that the id is taken", sell_named, DuplicateError, "POST",
         post=[refusal(422, "transaction_api_id already exists in this location")]),
    case("so may a list of errors", sell_named, DuplicateError, "POST",
         post=[httpx.Response(422, json={"name": "No", "code": 422, "errors": ["transaction_api_id already exists"]})]),
    case("a throttled write is not in doubt, and does not wait as long as it is asked to", sell,
         (RateLimitError, {"retry_after": 3600}), "POST GET",
         post=[refusal(429, **{"retry-after": "3600"})], get=[NOT_THERE], ends=0),
    case("a read does not wait past its deadline either", lambda g: g.transactions.get("1"),
         (RateLimitError, {"retry_after": 3600, "__cause__": None}), "GET",
         get=[httpx.Response(429, headers={"retry-after": "3600"})], ends=0),
    case("a gateway that is down says nothing, so nothing is sent again", sell, OutcomeUnknownError, "POST GET",
         post=[LOST], get=[httpx.Response(500)], options={"max_attempts": 4}, gets=4),
    case("a lost sale that is not to be sent again has two seconds to appear", sell, OutcomeUnknownError, "POST GET",
         post=[LOST], get=[NOT_THERE], options={"max_attempts": 1}, ends=2, gets=7),
    case("a mismatch that the lookup leaves open is unknown and mismatched", sell, MismatchedReplyError, "POST GET",
         post=[SWAPPED], get=[SWAPPED]),
    case("a sale with an unreadable date is accepted", sell, {"approved": True, "created_ts": None}, "POST",
         post=[echo("transaction", status_id=101, created_ts="soon")]),
]  # fmt: skip


@pytest.mark.parametrize("call", REQUESTS)
async def test_requests_and_outcomes_of_writes(call: Case) -> None:
    await call.check()


async def test_requested_pause() -> None:
    """429 with Retry-After is honored, with a lookup before the repeat."""
    busy = httpx.Response(429, headers={"retry-after": "7"})
    script = Script(post=[busy, echo("transaction", status_id=101)], get=[NOT_THERE])
    await script.run(sell)
    assert trio.current_time() >= 7
    assert script.methods.count("POST") == 2


async def test_existing_repeat() -> None:
    """The gateway's "already exists" to a repeat means that the first try arrived after all."""
    script = Script(post=[LOST, refused(transaction_api_id="transaction_api_id already exists in this location")])
    script.responses["get"] = [lambda _: NOT_THERE if script.methods.count("POST") == 1 else record("transaction")]
    assert (await script.run(sell)).id == "found"
    assert script.methods.count("POST") == 2


async def test_max_attempts() -> None:
    """After the last try and its lookup the outcome is unknown, and the error carries what the till needs."""
    script = Script(post=[LOST], get=[NOT_THERE])
    async with script.gateway(max_attempts=3) as gateway:
        error = await error_of(sell(gateway), OutcomeUnknownError)
        assert error.api_id == script.bodies("POST")[0]["transaction"]["transaction_api_id"]
        assert error.call == "POST /v2/transactions"
        assert error.sent["transaction_amount"] == "12.50"
        assert script.methods.count("POST") == 3
        assert "POSTPOST" not in "".join(script.methods)
        script.responses["get"] = [APPROVED]
        assert (await resolved(error, Transaction)).approved


async def test_conclusive_absence() -> None:
    """The gateway may execute late what it received: for 120 seconds the outcome is unknown, then "never made"."""
    async with Script(post=[LOST], get=[absent]).gateway(max_attempts=1) as gateway:
        error = await error_of(sell(gateway), OutcomeUnknownError)
        for _ in range(3):
            await error_of(error.resolve(), OutcomeUnknownError)
        assert trio.current_time() < 120
        assert await error.resolve() is None
        assert 120 <= trio.current_time() <= 121
        assert await error.resolve(wait=0) is None
        assert trio.current_time() <= 121


async def test_resolving() -> None:
    """With `wait=5` it raises again after 5 seconds, with `wait=0` after one look; neither says "never made"."""
    script = Script(post=[LOST], get=[NOT_THERE])
    async with script.gateway(max_attempts=1) as gateway:
        error = await error_of(sell(gateway), OutcomeUnknownError)
        for wait in (5, 0):
            begin, reads = trio.current_time(), script.methods.count("GET")
            await error_of(error.resolve(wait=wait), OutcomeUnknownError)
            assert wait <= trio.current_time() - begin <= wait + 1
            assert script.methods.count("GET") > reads


async def test_a_sale_that_arrives_late_is_found_by_resolving() -> None:
    script = Script(post=[LOST], get=[lambda _: NOT_THERE if trio.current_time() < 10 else record("transaction")])
    async with script.gateway(max_attempts=1) as gateway:
        error = await error_of(sell(gateway), OutcomeUnknownError)
        assert (await resolved(error, Transaction)).id == "found"


async def test_resolving_after_the_client_closed_stays_unknown() -> None:
    error = await Script(post=[LOST], get=[httpx.Response(500)]).fail(sell, OutcomeUnknownError)
    await error_of(error.resolve(), OutcomeUnknownError, match="the client is closed")


async def test_deleted_record() -> None:
    """True when the record is gone, None when it is certain to have stayed."""
    script = Script(delete=[LOST], get=[httpx.Response(500)])
    async with script.gateway(max_attempts=1) as gateway:
        error = await error_of(gateway.contacts.delete("c"), OutcomeUnknownError)
        script.responses["get"] = [absent]
        assert await error.resolve() is True
        script.responses["get"] = [record("contact", id="c")]
        assert await error.resolve(wait=math.inf) is None


async def test_slow_lookup() -> None:
    """A lookup that took long began before the sale could no longer arrive: it is asked once more, and is there."""

    async def slow(_: httpx.Request) -> httpx.Response:
        asked = trio.current_time()
        await anyio.sleep(12)
        return NOT_THERE if asked < 29 else record("transaction")

    script = Script(post=[LOST], get=[NOT_THERE])
    async with script.gateway(max_attempts=1) as gateway:
        error = await error_of(sell(gateway), OutcomeUnknownError)
        script.responses["get"] = [slow]
        assert (await resolved(error, Transaction)).id == "found"


async def test_slow_lookups_do_not_add_up_to_more_than_the_wait_and_the_timeout() -> None:
    async def slow(_: httpx.Request) -> httpx.Response:
        await anyio.sleep(9)
        return NOT_THERE

    script = Script(post=[LOST], get=[NOT_THERE])
    async with script.gateway(max_attempts=1, timeout=10) as gateway:
        error = await error_of(sell(gateway), OutcomeUnknownError)
        script.responses["get"] = [slow]
        begin = trio.current_time()
        await error_of(error.resolve(wait=2), OutcomeUnknownError)
        assert trio.current_time() - begin == 12


async def test_a_throttled_lookup_may_pause_for_longer_than_the_timeout_within_the_wait() -> None:
    script = Script(post=[LOST], get=[httpx.Response(500)])
    async with script.gateway(timeout=30) as gateway:
        error = await error_of(sell(gateway), OutcomeUnknownError)
        script.responses["get"] = [refusal(429, **{"retry-after": "45"}), APPROVED]
        assert (await resolved(error, Transaction)).approved


@pytest.mark.parametrize("wait", [-1, math.nan, "5"])
async def test_a_wait_that_is_not_a_number_of_seconds_is_refused(wait: Any) -> None:
    script = Script(post=[LOST], get=[NOT_THERE])
    async with script.gateway(max_attempts=1) as gateway:
        error = await error_of(sell(gateway), OutcomeUnknownError)
        await error_of(error.resolve(wait=wait), InvalidRequestError, match="wait: must be a number of seconds from 0")


async def test_refused_repeat() -> None:
    """The record is locked by the first try, which is still under way: that is not called refused, and found later."""
    script = Script(put=[LOST, refused(transaction="is locked")], get=[record("transaction", status_id=102)])
    async with script.gateway() as gateway:
        error = await error_of(gateway.transactions.complete("found", "9.00"), OutcomeUnknownError, match="is locked")
        script.responses["get"] = [record("transaction", status_id=101, transaction_amount="9.00")]
        assert (await resolved(error, Transaction)).approved


BLOCKED = httpx.Response(403, html="<h1>Forbidden</h1>")


@pytest.mark.parametrize("response", [LOST, httpx.Response(429), BLOCKED])
async def test_other_payment(response: ScriptedResponse) -> None:
    """Raise with the differing record, and charge nothing again."""
    other = record("transaction", status_id=101, transaction_amount="80.00")
    script = Script(post=[response], get=[other])
    async with script.gateway() as gateway:
        error = await error_of(sell_named(gateway), MismatchedWriteError)
        assert isinstance(error.record, Transaction)
        assert (error.record.transaction_amount, error.api_id) == (Decimal("80.00"), "mine")
        assert error.differences == ("transaction_amount is '80.00', not '12.50'",)
        await error_of(error.resolve(wait=0), MismatchedWriteError)
    assert script.methods.count("POST") == 1


async def test_proxy_page() -> None:
    """A proxy may have passed on what it answered with a page: nothing says that the sale was not executed."""
    script = Script(post=[BLOCKED], get=[absent])
    async with script.gateway() as gateway:
        error = await error_of(sell(gateway), OutcomeUnknownError)
        await anyio.sleep(120)
        assert await error.resolve() is None
    assert script.methods.count("POST") == 1


async def test_later_increment() -> None:
    """Another till raised it further meanwhile: it is neither lowered nor called "not made"."""
    script = Script(put=[LOST], get=[record("transaction", transaction_amount="40.00")])
    async with script.gateway() as gateway:
        error = await error_of(
            gateway.transactions.increment("found", "30.00"), OutcomeUnknownError, match="raised to more than"
        )
        await anyio.sleep(60)
        await error_of(error.resolve(), OutcomeUnknownError)
    assert script.methods.count("PUT") == 1


@pytest.mark.parametrize("status", [404, 409, 410])
async def test_lost_delete(status: int) -> None:
    """The gateway's own 404, 409 or 410 to the lookup, and a list without the record, are what a delete wants."""
    gone = refusal(status, "gone")
    script = Script(delete=[LOST], get=[lambda asked: absent(asked) if "page" in asked.url.params else gone])
    async with script.gateway() as gateway:
        delete: Callable[[ApiId], Awaitable[object]] = gateway.contacts.delete
        assert await delete(ApiId("mine")) is None
    assert script.methods == ["DELETE", "GET", "GET"]
    wanted = {"contact_api_id": "mine", "location_id": "loc", "page": "1", "page_size": "100"}
    assert dict(script.asked[2].url.params) == wanted


@pytest.mark.parametrize("page", [httpx.Response(200), httpx.Response(200, json={}), httpx.Response(202)])
async def test_unusual_deletion(page: httpx.Response) -> None:
    """Another success may be a proxy's: the record is read, and the deletion is sent again if it exists."""
    script = Script(delete=[page], get=[absent])
    await script.run(lambda gateway: gateway.recurrings.delete("r"))
    assert script.methods == ["DELETE", "GET", "GET"]
    script = Script(delete=[page, httpx.Response(204)], get=[record("recurring", id="r")])
    await script.run(lambda gateway: gateway.recurrings.delete("r"))
    assert script.methods.count("DELETE") == 2


async def test_lagging_list() -> None:
    """A list may lag behind: the deletion is neither called done nor called not executed, and not sent again."""
    lagging = listed("contacts", {"id": "c"})
    script = Script(delete=[LOST], get=[lambda request: lagging if "page" in request.url.params else NOT_THERE])
    async with script.gateway() as gateway:
        error = await error_of(gateway.contacts.delete("c"), OutcomeUnknownError, match="the list has the record")
        for wait in (130, 0):
            await error_of(error.resolve(wait=wait), OutcomeUnknownError)
        script.responses["get"] = [absent]
        assert await error.resolve(wait=0) is True
    assert script.methods.count("DELETE") == 1


@pytest.mark.parametrize("api_id", [None, ""])
async def test_hidden_integrator_id(api_id: str | None) -> None:
    """Another payment may have the same amount and card, so neither the response nor the lookup is believed."""
    another = record("transaction", status_id=101, transaction_amount="12.50", transaction_api_id=api_id)
    script = Script(post=[another], get=[another])
    async with script.gateway() as gateway:
        error = await error_of(sell_named(gateway), OutcomeUnknownError, match="transaction_api_id: missing")
        await anyio.sleep(130)
        await error_of(error.resolve(), OutcomeUnknownError)
    assert script.methods.count("POST") == 1


async def test_foreign_response() -> None:
    """A write with another request's response has an unknown outcome until it can be looked up, by its own id."""
    script = Script(post=[record("transaction", transaction_api_id="other")], get=[BLOCKED])
    async with script.gateway() as gateway:
        error = await error_of(sell_named(gateway), MismatchedWriteError)
        assert (error.api_id, error.sent["transaction_amount"]) == ("mine", "12.50")
        script.responses["get"] = [APPROVED]
        assert (await resolved(error, Transaction)).id == "found"
    lookups = [(event.outcome, type(event.error)) for event in script.events_of(OutcomeLookedUp)]
    assert lookups == [(LookupOutcome.UNKNOWN, PermissionDeniedError), (LookupOutcome.FOUND, type(None))]


PROXY_404S = {
    "plain text": httpx.Response(404, text="404 page not found"),
    "default backend": httpx.Response(404, text="default backend - 404"),
    "a proxy's JSON": httpx.Response(404, json={"message": "no Route matched"}),
    "empty": httpx.Response(404),
    "another status": httpx.Response(404, json={"name": "x", "code": 0, "status": 500}),
    "a list": httpx.Response(404, json=[]),
    "a page for people": httpx.Response(404, html="<h1>Not here</h1>"),
}


@pytest.mark.parametrize("response", PROXY_404S.values(), ids=PROXY_404S)
async def test_foreign_404(response: httpx.Response) -> None:
    """A sale stays unknown for ever, is not sent again, and a lost deletion is not called done; both are counted."""
    script = Script(post=[LOST], delete=[LOST], get=[response])
    async with script.gateway() as gateway:
        sale = await error_of(sell(gateway), OutcomeUnknownError)
        deletion = await error_of(gateway.contacts.delete("c"), OutcomeUnknownError)
        assert gateway.health().unknown_outcomes == 2
        await anyio.sleep(1000)
        for error in (sale, deletion):
            await error_of(error.resolve(), OutcomeUnknownError)
    assert (script.methods.count("POST"), script.methods.count("DELETE")) == (1, 1)


LISTS_THAT_PROVE_NOTHING = {
    "the gateway's 404": NOT_THERE,
    "no pagination": httpx.Response(200, json={"transactions": []}),
    "another list": listed("contacts"),
    "a page": httpx.Response(200, html="<h1>Welcome</h1>"),
    "500": httpx.Response(500),
}


@pytest.mark.parametrize("response", LISTS_THAT_PROVE_NOTHING.values(), ids=LISTS_THAT_PROVE_NOTHING)
async def test_missing_list(response: httpx.Response) -> None:
    """A list has to answer, too, with its pagination and without the sale."""
    script = Script(post=[LOST], get=[lambda request: response if "page" in request.url.params else NOT_THERE])
    async with script.gateway(max_attempts=1) as gateway:
        error = await error_of(sell(gateway), OutcomeUnknownError)
        await anyio.sleep(1000)
        await error_of(error.resolve(), OutcomeUnknownError)
        script.responses["get"] = [absent]
        assert await error.resolve() is None


async def test_a_list_may_have_what_the_404_denied() -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        row = {"id": "t", "transaction_api_id": request.url.params.get("transaction_api_id"), "status_id": 101}
        return listed("transactions", row) if "page" in request.url.params else NOT_THERE

    async with Script(post=[LOST], get=[respond]).gateway(max_attempts=1, in_doubt_seconds=1) as gateway:
        error = await error_of(sell(gateway), OutcomeUnknownError)
        assert (await resolved(error, Transaction)).approved


ALLEGED_DELETIONS = [{"success": False}, {"success": True}, {"contact": {"id": "c"}}, "deleted", 0, False]


@pytest.mark.parametrize("body", ALLEGED_DELETIONS)
async def test_deletion_body(body: Any) -> None:
    """The contract's deletions have none: what a body says is not trusted, be it success."""
    script = Script(delete=[httpx.Response(200, json=body)], get=[absent])
    await script.run(lambda g: g.contacts.delete("c"))
    assert script.methods == ["DELETE", "GET", "GET"]
    script.responses["get"] = [record("contact", id="c")]
    await script.fail(lambda g: g.contacts.delete("c"), OutcomeUnknownError)


async def test_a_refusal_of_fields_that_were_not_sent_is_looked_up() -> None:
    script = Script(post=[refused(item_list="cannot be blank")], get=[APPROVED, NOT_THERE])
    assert (await script.run(sell)).approved
    error = await script.fail(sell, OutcomeUnknownError)
    assert isinstance(error, MismatchedReplyError)
    assert error.differences == ("it refuses item_list, which the request does not have",)


async def test_unknown_429() -> None:
    """The sale may have been executed all the same, so it is in doubt for as long as a lost one."""
    script = Script(post=[httpx.Response(429)], get=[httpx.Response(500)])
    async with script.gateway() as gateway:
        error = await error_of(sell(gateway), OutcomeUnknownError)
        script.responses["get"] = [absent]
        await error_of(error.resolve(wait=100), OutcomeUnknownError)
        assert await error.resolve() is None
    assert script.methods.count("POST") == 1


@pytest.mark.parametrize("response", [refusal(422), refused(description="no"), refusal(409)])
@pytest.mark.parametrize("lookup", [LOST, httpx.Response(502), httpx.Response(200, json={"transaction": {}})])
async def test_only_request(response: httpx.Response, lookup: ScriptedResponse) -> None:
    """Only a lookup that shows the contrary says more than the gateway itself."""
    changes: list[Verb[Any]] = [
        lambda g: g.transactions.void("found"),
        lambda g: g.transactions.edit("found", description="new"),
        lambda g: g.contacts.delete("c"),
        sell_named,
    ]
    for change in changes:
        script = Script(post=[response], put=[response], delete=[response], get=[lookup])
        error = await script.fail(change, StatusError)
        assert error.status_code == response.status_code


# --- amounts


async def test_generated_record(caplog: pytest.LogCaptureFixture) -> None:
    """No other request has the id; an event and a warning say what differs."""
    script = Script(post=[LOST], get=[record("transaction", transaction_amount="80.00", status_id=101)])
    charged = await script.run(sell)
    assert (charged.transaction_amount, script.methods) == (Decimal("80.00"), ["POST", "GET"])
    (differs,) = script.events_of(RecordDiffers)
    assert differs.differences == ("transaction_amount is '80.00', not '12.50'",)
    (warning,) = [line for line in caplog.records if line.name == "gateway_async"]
    assert warning.levelname == "WARNING"
    assert "transaction_amount is '80.00', not '12.50'" in warning.message


async def test_changed_contact() -> None:
    """With `update_if_exists`, too: no other request has made it, so it is not called "not executed"."""
    script = Script(
        post=[LOST],
        get=[lambda request: record("contact", contact_api_id=request.url.path.rsplit("/", 1)[1], last_name="DOE")],
    )
    contact = await script.run(lambda g: g.contacts.create(ContactCreate(last_name="Doe", update_if_exists=True)))
    assert (contact.last_name, script.methods) == ("DOE", ["POST", "GET"])


async def test_account_number(caplog: pytest.LogCaptureFixture) -> None:
    """A bank account number passes no Luhn check, so the event and the warning show its end only."""

    def stored(request: httpx.Request) -> httpx.Response:
        api_id = request.url.path.rsplit("/", 1)[1]
        return record("accountvault", account_vault_api_id=api_id, last_four="1234567890")

    script = Script(post=[LOST], get=[stored])
    new = AchVaultCreate(
        account_number="1234567890",
        routing="072000326",
        account_type="checking",
        account_holder_name="Jane Doe",
        is_company=False,
        contact_id="c",
    )
    await script.run(lambda g: g.account_vaults.create(new))
    (differs,) = script.events_of(RecordDiffers)
    assert differs.differences == ("last_four is '…7890', not '7890'",)
    assert "1234567890" not in caplog.text


# --- refusals


@pytest.mark.parametrize("field", ["tags", "email", "title"])
async def test_extra_field(field: str) -> None:
    """Another resource's field in `extra=` was sent, so the refusal is this request's; the terminal is free."""
    sale = RouterTransactionCreate(action="sale", terminal_id="t", transaction_amount="1.00", extra={field: "x"})
    script = Script(post=[refused(**{field: "not allowed"}), APPROVED], get=[NOT_THERE])
    async with script.gateway() as gateway:
        error = await error_of(gateway.router_transactions.create(sale), ValidationError)
        assert error.fields == {field: ("not allowed",)}
        assert (await gateway.router_transactions.create(attrs.evolve(sale, extra={}))).approved
    assert "GET" not in script.methods


@pytest.mark.parametrize("message", ["{} already exists in this location", "must be unique", "has been taken"])
@each_resource
async def test_duplicate(resource: str, message: str) -> None:
    """The error says which id; `fetch()` and `existing` read the record that has it, whatever its values."""
    new, _, field, different = CREATES[resource]
    script = Script(post=[refused(**{field: message.format(field)})], get=[stored(resource, **different)])
    async with script.gateway() as gateway:
        error = await error_of(getattr(gateway, resource).create(new), DuplicateError)
        assert script.methods == ["POST"]
        assert (error.api_id, [*error.fields]) == ("mine", [field])
        found: list[Any] = [await error.fetch(), await getattr(gateway, resource).existing(error)]
        assert [(type(each), each.id) for each in found] == [(error.record_type, "found")] * 2
    assert dict(script.asked[1].url.params) == {"api_id": "1", "location_id": "loc"}


@pytest.mark.parametrize(
    "response",
    [
        refused(transaction_api_id="should contain at most 36 characters"),
        refused(description="already exists"),
        refusal(422, "already exists"),
    ],
)
async def test_only_words_about_the_integrator_id_make_a_duplicate(response: httpx.Response) -> None:
    error = await Script(post=[response]).fail(sell_named, ValidationError)
    assert type(error) is ValidationError


async def test_a_duplicate_of_a_client_without_a_location_is_found_in_a_list() -> None:
    script = Script(post=[TAKEN], get=[listed("transactions", {"id": "found", "transaction_api_id": "mine"})])
    async with script.gateway(location_id=None) as gateway:
        error = await error_of(sell_named(gateway), DuplicateError)
        fetched: Any = await error.fetch()
        assert fetched.id == "found"
        script.responses["get"] = [listed("transactions")]
        await error_of(error.fetch(), MalformedReplyError, match="no record has the integrator id")


async def test_closed_client() -> None:
    """The second attempt is not sent, but the first one may still be executed."""
    script = Script(post=[LOST], get=[NOT_THERE])

    async with script.gateway() as gateway:

        def close(event: Event) -> None:
            if isinstance(event, OutcomeLookedUp):
                gateway._executor._http.is_closed = True

        with gateway.observing(close):
            await error_of(sell_named(gateway), OutcomeUnknownError, match="closed")
    assert script.methods.count("POST") == 1
