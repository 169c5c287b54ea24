"""The outcome of lost writes: cards stored at a terminal, older responses that arrive late, texts of the error."""

from typing import Any

import anyio
import httpx
import pytest
import trio

from gateway_async import (
    AccountVault,
    AsyncGateway,
    ConnectionLostError,
    ContactUpdate,
    HashKey,
    MismatchedReplyError,
    NotFoundError,
    NotSentError,
    OutcomeUnknownError,
    RouterAccountVaultCreate,
    SendStage,
    ServerError,
    StatusError,
    ValidationError,
)
from gateway_async._http.progress import PROGRESS
from gateway_async.observe import OutcomeLookedUp
from tests.support.scripted_transport import (
    APPROVED,
    LOST,
    NEVER_LEFT,
    NOT_THERE,
    Case,
    Script,
    ScriptedResponse,
    UsedConnections,
    absent,
    case,
    error_of,
    listed,
    record,
    refusal,
    refused,
    sell_at_terminal,
    sell_named,
    silent,
)

pytestmark = pytest.mark.anyio

STORE = RouterAccountVaultCreate(terminal_id="t", contact_id="c")


def vaults(*ids: str) -> httpx.Response:
    rows = [
        {"id": each, "contact_id": "c", "payment_method": "cc", "created_ts": 100 + number}
        for number, each in enumerate(reversed(ids))
    ]
    return listed("accountvaults", *rows[::-1])


# --- cards stored at a terminal


async def test_new_card() -> None:
    """The contact's vaults are listed before the store and after its lost response, and it is sent once."""
    script = Script(post=[LOST], get=[vaults("old"), vaults("old"), vaults("new", "old")])
    assert (await script.run(store)).id == "new"
    assert script.methods == ["GET", "POST", "GET", "GET"]
    assert {request.url.params["contact_id"] for request in script.asked if request.method == "GET"} == {"c"}


async def store(gateway: AsyncGateway) -> AccountVault:
    return await gateway.router_account_vaults.create(STORE)


OTHERS: list[dict[str, Any]] = [
    {"id": "old"}, {"id": "x", "contact_id": "d"}, {"id": "x", "account_vault_api_id": "of-another-client"}
]  # fmt: skip
CASES = [
    case("a response takes no lookup", store, {"id": "new"}, "GET POST",
         post=[record("accountvault", id="new")], get=[vaults()]),
    *(
        case(f"a terminal does not store {others}", store, {"id": "new"}, "GET POST GET",
             post=[record("accountvault", **others)], get=[vaults("old"), vaults("new", "old")])
        for others in OTHERS
    ),
    case("a refused store is neither looked up nor in doubt", store, ValidationError, "GET POST",
         post=[refused(terminal_id="Terminal not found")], get=[vaults()]),
    case("a 404 to a change of a record that exists is that to another request", lambda g: g.transactions.void("found"),
         OutcomeUnknownError, "PUT GET", put=[NOT_THERE], get=[APPROVED]),
    case("a 404 to a void that the lookup confirms", lambda g: g.transactions.void("found"), NotFoundError, "PUT GET",
         put=[NOT_THERE], get=[absent], ends=0),
    case("an update whose response does not show it has been answered, and is not waited for",
         lambda g: g.contacts.update("c", ContactUpdate(city="Bern")), OutcomeUnknownError, "PUT GET",
         put=[record("contact", id="c")], get=[absent], options={"max_attempts": 1}, ends=0),
    case("a 404 to a deletion that the lookup confirms", lambda g: g.contacts.delete("found"), NotFoundError,
         "DELETE GET", delete=[NOT_THERE], get=[absent]),
    case("the amount of a declined increment stays", lambda g: g.transactions.increment("found", "15.00"),
         {"reason_code_id": 1661}, "PUT",
         put=[record("transaction", status_id=102, transaction_amount="10.00", reason_code_id=1661)]),
]  # fmt: skip


@pytest.mark.parametrize("call", CASES)
async def test_requests_and_outcomes_of_lookups(call: Case) -> None:
    await call.check()


@pytest.mark.parametrize(
    "response", [httpx.Response(500), httpx.Response(200, text="hello"), NOT_THERE, NEVER_LEFT, silent]
)
async def test_missing_list(response: ScriptedResponse) -> None:
    """A store that could not be looked up is not begun."""
    script = Script(post=[record("accountvault")], get=[response])
    await script.fail(store, NotSentError, timeout=5)
    assert "POST" not in script.methods


async def test_several_cards() -> None:
    """With several new cards the outcome of a store stays unknown, and the error names them."""
    async with Script(post=[LOST], get=[vaults("old"), vaults("b", "a", "old")]).gateway() as gateway:
        error = await error_of(store(gateway), OutcomeUnknownError, match="several records are new: b, a")
        await error_of(error.resolve(), OutcomeUnknownError, match="several records are new: b, a")
    assert error.reached is SendStage.SENT


async def test_no_card() -> None:
    """The customer may still present it: for the device's time, and two minutes more; then it was never stored."""
    script = Script(post=[LOST], get=[vaults("old")])
    async with script.gateway(terminal_timeout=60) as gateway:
        error = await error_of(store(gateway), OutcomeUnknownError)
        assert 9 <= trio.current_time() <= 10
        await error_of(error.resolve(), OutcomeUnknownError)
        await anyio.sleep(350)
        assert await error.resolve() is None
        assert 420 <= trio.current_time() <= 421
    assert script.methods.count("POST") == 1


@pytest.mark.parametrize("terminal_timeout", [5, 30, 300])
@pytest.mark.parametrize("by_view", [False, True], ids=["client", "with_options"])
async def test_device_time(terminal_timeout: float, *, by_view: bool) -> None:
    """The gateway keeps the request open for 300 seconds: until then, and `in_doubt_seconds`, nothing is certain."""
    script = Script(post=[silent], get=[absent])
    options: Any = {"terminal_timeout": terminal_timeout}
    async with script.gateway(**({} if by_view else options)) as gateway:
        till = gateway.with_options(**options) if by_view else gateway
        error = await error_of(sell_at_terminal(till), OutcomeUnknownError)
        assert trio.current_time() <= terminal_timeout + 10
        await error_of(error.resolve(wait=419 - trio.current_time()), OutcomeUnknownError)
        assert await error.resolve(wait=2) is None
    assert trio.current_time() == pytest.approx(420, abs=1)


async def test_long_timeout() -> None:
    """With a `terminal_timeout` above 300 seconds the response may be lost later than the device can wait."""
    script = Script(post=[silent], get=[absent])
    async with script.gateway(terminal_timeout=900) as gateway:
        error = await error_of(sell_at_terminal(gateway), OutcomeUnknownError)
        await error_of(error.resolve(wait=1019 - trio.current_time()), OutcomeUnknownError)
        assert await error.resolve(wait=2) is None


async def test_doubt_start() -> None:
    """A connection that took 200 seconds delays the device as long."""

    class Slow(Script):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            if request.method == "POST":
                await anyio.sleep(200)
                await request.extensions[PROGRESS].check()
            return await super().handle_async_request(request)

    script = Slow(post=[LOST], get=[absent])
    async with script.gateway() as gateway:
        error = await error_of(sell_at_terminal(gateway), OutcomeUnknownError)
        await error_of(error.resolve(wait=619 - trio.current_time()), OutcomeUnknownError)
        assert await error.resolve(wait=2) is None


async def test_cancelled_store() -> None:
    """Report a stored card to the observers of a cancelled call."""
    script = Script(post=[silent], get=[vaults("old"), vaults("new", "old")])
    await script.cancel(store, 5)
    assert [(event.outcome, event.cancelled) for event in script.events_of(OutcomeLookedUp)] == [("found", True)]


async def test_acquired_terminal() -> None:
    """Never take the card of the call before for this call's."""
    stored = 0

    def lose(_: httpx.Request) -> ScriptedResponse:
        nonlocal stored
        stored += 1
        return LOST

    script = Script(post=[lose], get=[lambda _: vaults(*[f"card-{number}" for number in range(stored, 0, -1)])])
    found: list[str] = []

    async def create() -> None:
        found.append((await store(gateway)).id)

    async with script.gateway() as gateway, anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(create)
    assert found == ["card-1", "card-2", "card-3"]


async def test_a_hash_key_may_list_the_vaults() -> None:
    script = Script(post=[LOST], get=[vaults("old"), vaults("new", "old")])
    assert (await script.run(store, credentials=HashKey("user", "key"))).id == "new"


# --- older responses that come late


STALE = [
    ("void", {}, {"status_id": 101}, {"status_id": 201}),
    ("void", {}, {"status_id": "102"}, {"status_id": 201}),
    ("authcomplete", {}, {"status_id": 102}, {"status_id": 101}),
    (
        "authcomplete",
        {"amount": "5.00"},
        {"status_id": 101, "transaction_amount": "10.00", "auth_amount": "10.00"},
        {"status_id": 101, "transaction_amount": "5.00"},
    ),
    (
        "authincrement",
        {"new_total": "15.00"},
        {"status_id": 102, "transaction_amount": "10.00", "auth_amount": "10.00"},
        {"status_id": 102, "transaction_amount": "15.00"},
    ),
]
VERBS = {"void": "void", "authcomplete": "complete", "authincrement": "increment"}


@pytest.mark.parametrize(("action", "given", "before", "after"), STALE)
async def test_old_response(action: str, given: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> None:
    """A late copy of an older response, or one without status and amount, shows no action: it is read again."""
    for response in (before, {}):
        script = Script(put=[record("transaction", **response)], get=[record("transaction", **after)])
        done = await script.run(lambda gateway: getattr(gateway.transactions, VERBS[action])("found", **given))
        assert done.status_id == after["status_id"]
        assert script.methods == ["PUT", "GET"]


@pytest.mark.parametrize(("action", "given", "after"), [(action, given, after) for action, given, _, after in STALE])
async def test_declined_action(action: str, given: dict[str, Any], after: dict[str, Any]) -> None:
    """A declined action was executed too."""
    for response in (after, {"status_id": 301}):
        script = Script(put=[record("transaction", **response)])
        await script.run(lambda gateway: getattr(gateway.transactions, VERBS[action])("found", **given))
        assert script.methods == ["PUT"]


async def test_unchanged_transaction() -> None:
    """The response and the record contradict the success: that is said, and nothing is sent again."""
    same = APPROVED
    script = Script(put=[same], get=[same])
    error = await script.fail(lambda g: g.transactions.void("found"), OutcomeUnknownError)
    assert isinstance(error, MismatchedReplyError)
    assert error.differences == ("the record shows no effect of the call: status_id is 101",)
    assert script.methods.count("PUT") == 1


# --- words of the error


async def test_error_facts() -> None:
    """The error of an unknown outcome has the id, what was sent, how far it got, and why the lookup failed too."""
    script = Script(post=[LOST], get=[httpx.Response(500, json={"message": "down"})])
    error = await script.fail(sell_named, OutcomeUnknownError)
    assert (error.api_id, error.sent["transaction_amount"], error.reached) == ("mine", "12.50", SendStage.SENT)
    assert str(error) == (
        "POST /v2/transactions (api id mine): the outcome is unknown (sent): "
        "POST /v2/transactions: the connection was lost: ReadError: connection reset; then its lookup failed: "
        "GET /v2/transactions/mine: the gateway failed (500): down"
    )
    assert isinstance(error.__cause__, ServerError)


async def test_furthest_try() -> None:
    """A first try that was answered with a 500 got further than the second, which lost its connection: the cause."""
    script = Script(post=[httpx.Response(500), LOST], get=[NOT_THERE])
    error = await script.fail(sell_named, OutcomeUnknownError, max_attempts=2)
    assert error.reached is SendStage.RESPONDED
    assert isinstance(error.__cause__, ConnectionLostError)


@pytest.mark.parametrize("status", [401, 403])
async def test_wrong_key(status: int) -> None:
    """A wrong key is an error of its own, caused by that of the lookup, not an unknown outcome of each payment."""
    script = UsedConnections(post=[refusal(status)], get=[refusal(status)])
    error = await script.fail(sell_named, StatusError)
    assert (type(error) is not StatusError, error.status_code, script.methods) == (True, status, ["POST", "GET"])
    assert (type(error.__cause__), error.call) == (type(error), "POST /v2/transactions")


@pytest.mark.parametrize("response", [refusal(403), LOST, httpx.Response(401)], ids=["403", "lost", "of a proxy"])
async def test_used_connection(response: ScriptedResponse) -> None:
    """The refusal may be that of another call, and nothing says that this one was not executed."""
    script = UsedConnections(post=[refusal(401)], get=[response])
    await script.fail(sell_named, OutcomeUnknownError)


async def test_a_refusal_that_has_no_lookup_is_not_its_own_cause() -> None:
    script = UsedConnections(post=[refusal(401)], put=[refusal(401)])
    error = await script.fail(lambda gateway: gateway.quick_invoices.resend("q"), StatusError)
    assert (error.status_code, error.__cause__) == (401, None)


@pytest.mark.parametrize("kind", [Script, UsedConnections])
@pytest.mark.parametrize("status", [404, 409, 410])
async def test_deleted_before(kind: type[Script], status: int) -> None:
    """A record that was deleted before is not deleted by this call, whatever connection the answer came from."""
    script = kind(delete=[refusal(status)], get=[absent])
    error = await script.fail(lambda gateway: gateway.contacts.delete("c"), StatusError)
    assert (error.status_code, error.call) == (status, "DELETE /v2/contacts/c")
