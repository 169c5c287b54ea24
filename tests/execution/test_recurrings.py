"""Recurrings have no integrator id: lost responses are looked up by what is new, or by what has moved."""

import json
from datetime import date
from typing import Any

import anyio
import attrs
import httpx
import pytest

from gateway_async import (
    AuthenticationError,
    InvalidRequestError,
    MismatchedWriteError,
    NotFoundError,
    NotSentError,
    OutcomeUnknownError,
    PermissionDeniedError,
    RateLimitError,
    Recurring,
    RecurringCreate,
    RecurringUpdate,
    ValidationError,
)
from gateway_async.resources import lookup_of
from tests.support.scripted_transport import (
    LOST,
    NEVER_LEFT,
    NOT_THERE,
    Case,
    Script,
    ScriptedResponse,
    case,
    echo,
    error_of,
    listed,
    record,
    refusal,
    refused,
    silent,
)

from .test_ledger import LedgerScript

pytestmark = pytest.mark.anyio

NEW = RecurringCreate(
    account_vault_id="v", interval=1, interval_type="m", start_date=date(2030, 1, 31), transaction_amount="10.00"
)
CHANGES = RecurringUpdate(end_date=None, description="Rent", active=True)
PLAN = {"id": "r", "interval": 1, "interval_type": "m", "next_run_date": "2019-02-23", "end_date": "2020-10-22"}


def row(id: str, created_ts: int = 100, **fields: Any) -> dict[str, Any]:
    """A recurring like the new one, as a list shows it."""
    shown = {"account_vault_id": "v", "location_id": "loc", "interval": "1", "interval_type": "m"}
    shown |= {"start_date": "2030-01-31", "transaction_amount": "10.00"}
    return {"id": id, "created_ts": created_ts, **shown, **fields}


def plan(*transactions: str, **fields: Any) -> httpx.Response:
    return record("recurring", **{**PLAN, "transactions": [{"id": each} for each in transactions], **fields})


async def create(gateway: Any) -> Recurring:
    made: Recurring = await gateway.recurrings.create(NEW)
    return made


async def skip(gateway: Any) -> Recurring:
    skipped: Recurring = await gateway.recurrings.skip("r", 1)
    return skipped


async def defer(gateway: Any) -> Recurring:
    deferred: Recurring = await gateway.recurrings.defer("r", 1)
    return deferred


# --- create


async def test_read_before() -> None:
    """Ask for the newest ones of the vault, then send the request."""
    script = Script(get=[listed("recurrings")], post=[echo("recurring")])
    assert (await script.run(create)).id == "made"
    first, second = script.asked
    assert dict(first.url.params) == {"account_vault_id": "v", "sort": "-created_ts", "page": "1", "page_size": "100"}
    assert (second.method, second.url.path) == ("POST", "/v2/recurrings")
    assert script.bodies("POST") == [
        {
            "recurring": {
                "transaction_amount": "10.00",
                "interval": 1,
                "interval_type": "m",
                "start_date": "2030-01-31",
                "account_vault_id": "v",
                "location_id": "loc",
            }
        }
    ]


async def test_own_vault_id() -> None:
    """Records show the system id of the vault only, so the list is filtered by that."""
    vault = record("accountvault", id="v", account_vault_api_id="mine", location_id="loc")
    script = Script(get=[vault, listed("recurrings"), listed("recurrings", row("new"))], post=[LOST])
    new = attrs.evolve(NEW, account_vault_id=None, account_vault_api_id="mine")
    assert (await script.run(lambda g: g.recurrings.create(new))).id == "new"
    assert [request.url.path for request in script.asked] == [
        "/v2/accountvaults/mine",
        "/v2/recurrings",
        "/v2/recurrings",
        "/v2/recurrings",
    ]
    assert script.asked[1].url.params["account_vault_id"] == "v"
    assert script.bodies("POST")[0]["recurring"]["account_vault_api_id"] == "mine"


OLD, NONE = listed("recurrings", row("old")), listed("recurrings")
BY_OWN_ID = attrs.evolve(NEW, account_vault_id=None, account_vault_api_id="mine")
LOST_CREATES: list[ScriptedResponse] = [
    LOST, record("recurring", **row("old")), *(httpx.Response(status) for status in (500, 503, 429)),
    httpx.Response(200, json={}),
]  # fmt: skip
NOT_ONE: dict[str, tuple[httpx.Response, str]] = {
    "none": (OLD, "connection reset"),
    "two": (listed("recurrings", row("a"), row("b"), row("old")), "several records are new: a, b"),
    "one of another amount": (listed("recurrings", row("a", transaction_amount="11.00"), row("old")), "not as sent: a"),
    "one of another interval": (listed("recurrings", row("a", interval=2), row("old")), "not as sent: a"),
    "one of another date": (listed("recurrings", row("a", start_date="2030-02-01"), row("old")), "not as sent: a"),
    "no list": (httpx.Response(200, json={}), "its lookup failed"),
}
CREATES = [
    *(
        case(f"{number}: the only new one is the lost one", create, {"id": "new"}, "GET POST GET",
             get=[OLD, listed("recurrings", row("new"), row("old"))], post=[response])
        for number, response in enumerate(LOST_CREATES)
    ),
    *(
        case(f"unknown: {name}", create, (OutcomeUnknownError, reason), "GET POST GET",
             get=[OLD, response], post=[LOST])
        for name, (response, reason) in NOT_ONE.items()
    ),
    case("an unknown vault is not found", lambda g: g.recurrings.create(BY_OWN_ID), NotFoundError, "GET",
         get=[NOT_THERE]),
    case("of two new ones, that with the sent values is this client's", create, {"id": "new"}, "GET POST GET",
         get=[NONE, listed("recurrings", row("other", transaction_amount="11.00"), row("new"))], post=[LOST]),
    case("fields that the gateway omits are not compared", create, {"id": "new"}, "GET POST GET",
         get=[NONE, listed("recurrings", {"id": "new", "created_ts": 100, "account_vault_id": "v"})], post=[LOST]),
    case("nothing can have been created by what never left", create, {"id": "made"}, "GET POST POST",
         get=[NONE], post=[NEVER_LEFT, echo("recurring")]),
    case("a 429 is a refusal, unless a lookup shows the contrary", create, RateLimitError, "GET POST GET",
         get=[NONE], post=[refusal(429)]),
    case("a response for another vault is a mismatch", create,
         (MismatchedWriteError, "account_vault_id is 'another', not 'v'"), "GET POST GET",
         get=[NONE], post=[echo("recurring", account_vault_id="another")]),
]  # fmt: skip


@pytest.mark.parametrize("call", CREATES)
async def test_requests_and_outcomes_of_creates(call: Case) -> None:
    await call.check()


# --- the read before


@pytest.mark.parametrize(
    ("status", "kind"), [(401, AuthenticationError), (403, PermissionDeniedError), (404, NotFoundError)]
)
async def test_refused_read(status: int, kind: type[Exception]) -> None:
    """The refusal says more than "not sent", and nothing was sent."""
    script = Script(get=[httpx.Response(status, json={"message": "no", "status": status, "name": "no", "code": 0})])
    await script.fail(create, kind)
    await script.fail(skip, kind)
    assert "POST" not in script.methods


@pytest.mark.parametrize("response", [NEVER_LEFT, LOST, httpx.Response(503), httpx.Response(404, text="<html>")])
async def test_without_the_read_before_nothing_is_sent(response: ScriptedResponse) -> None:
    script = Script(get=[response])
    await script.fail(create, NotSentError, match="its prerequisite read failed")
    await script.fail(defer, NotSentError, match="its prerequisite read failed")
    assert "POST" not in script.methods


async def test_read_time() -> None:
    """Half of the total time at most is spent on it."""
    script = Script(get=[silent], post=[echo("recurring")])
    async with script.gateway(timeout=10) as gateway:
        await anyio.sleep(7)
        await error_of(create(gateway), NotSentError, match=r"within 5 s")
        assert anyio.current_time() == 12


async def test_shared_deadline() -> None:
    """A request without a response ends with the total time, not with twice as much."""

    async def read_slowly(_: httpx.Request) -> ScriptedResponse:
        await anyio.sleep(4)
        return listed("recurrings")

    script = Script(get=[read_slowly, listed("recurrings")], post=[silent])
    async with script.gateway(timeout=10) as gateway:
        started = anyio.current_time()
        await error_of(create(gateway), OutcomeUnknownError)
        assert anyio.current_time() - started <= 10


# --- skip and defer

MOVED = {
    "skip": (skip, {"next_run_date": "2019-03-23"}),
    "defer": (defer, {"next_run_date": "2019-03-23", "end_date": "2020-11-22"}),
}


@pytest.mark.parametrize(("verb", "parameter"), [("skip", "skip_count"), ("defer", "defer_count")])
async def test_charge_count(verb: str, parameter: str) -> None:
    """The request has no body."""
    path = {"skip": "/v2/recurrings/r/skipPayment", "defer": "/v2/recurrings/r/deferPayment"}[verb]
    end = {"skip": {}, "defer": {"end_date": "2021-01-22"}}[verb]
    script = Script(get=[plan()], post=[plan(next_run_date="2019-05-23", **end)])
    moved = await script.run(lambda g: getattr(g.recurrings, verb)("r", 3))
    assert moved.next_run_date == date(2019, 5, 23)
    before, asked = script.asked
    assert (before.url.path, dict(before.url.params)) == ("/v2/recurrings/r", {"expand": "transactions"})
    assert (asked.url.path, dict(asked.url.params), asked.content) == (path, {parameter: "3"}, b"")


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "1", None])
async def test_a_number_of_charges_is_a_whole_number_above_0(count: Any) -> None:
    script = Script()
    await script.fail(lambda g: g.recurrings.skip("r", count), InvalidRequestError, match="count: must be")
    await script.fail(lambda g: g.recurrings.defer("r", count), InvalidRequestError, match="count: must be")
    await script.fail(lambda g: g.recurrings.skip("", 1), InvalidRequestError, match="id: must not be empty")
    assert script.asked == []


UNPROVEN: dict[str, tuple[dict[str, Any], str]] = {
    "not moved": ({}, "connection reset$"),
    "moved too far": ({"next_run_date": "2019-05-23"}, "another number of intervals"),
    "moved back": ({"next_run_date": "2019-01-23"}, "another number of intervals"),
    "the end moved": ({"next_run_date": "2019-03-23", "end_date": "2020-11-22"}, "another number of intervals"),
    "between two dates": ({"next_run_date": "2019-03-10"}, "not a number of intervals apart"),
    "no next charge": ({"next_run_date": "0000-00-00", "status": "on hold"}, "it shows no next charge"),
    "no transactions": ({"next_run_date": "2019-03-23", "transactions": None}, "a charge may have run"),
    "moved by a charge": ({"next_run_date": "2019-03-23", "transactions": [{"id": "t"}, {"id": "u"}]}, "reset"),
}
MISSING: list[dict[str, Any]] = [{"next_run_date": "0000-00-00"}, {"interval": None}, {"transactions": None}]
SKIPPED = date(2019, 3, 23)
ENDED = {"next_run_date": "0000-00-00", "status": "ended"}
LAST: list[dict[str, Any]] = [
    {"end_date": "2019-03-22"},
    {"end_date": "2019-02-23"},
    {"interval": 2, "interval_type": "w", "end_date": "2019-03-08"},
    {"next_run_date": "9999-12-15", "end_date": "9999-12-31"},
]
NOT_LAST: list[dict[str, Any]] = [
    {"end_date": "2019-04-22"},
    {"interval": 2, "interval_type": "w", "end_date": "2019-03-09"},
    {"interval": 2, "interval_type": "y", "end_date": "2019-03-08"},
    {"end_date": None},
]
SKIPS = [
    *(
        case(f"unknown: {name}", skip, (OutcomeUnknownError, reason), "GET POST GET",
             get=[plan("t"), plan("t", **after)], post=[LOST])
        for name, (after, reason) in UNPROVEN.items()
    ),
    *(
        case(f"without {before} a lost one cannot be found", skip, OutcomeUnknownError, "GET POST GET",
             get=[plan(**before), plan(next_run_date=str(SKIPPED))], post=[LOST])
        for before in MISSING
    ),
    *(
        case(f"without {before} the gateway decides whether it can be skipped", skip, {"next_run_date": SKIPPED},
             "GET POST", get=[plan(**before)], post=[plan(next_run_date=str(SKIPPED))])
        for before in MISSING
    ),
    case("beside a charge, two intervals show the skip", skip, {"next_run_date": date(2019, 4, 23)}, "GET POST GET",
         get=[plan("t"), plan("t", "u", next_run_date="2019-04-23")], post=[LOST]),
    *(
        case(f"after the last charge, {before}, it has ended", skip, {"status": "ended"}, way,
             get=[plan(**before), plan(**before | ENDED)], post=[post])
        for before in LAST
        for way, post in (("GET POST", plan(**before | ENDED)), ("GET POST GET", LOST))
    ),
    *(
        case(f"before the last charge, {before}, a skip does not end it", skip, OutcomeUnknownError, "GET POST GET",
             get=[plan(**before), plan(**before | ENDED)], post=[LOST])
        for before in NOT_LAST
    ),
    case("a charge in the meantime may have been the last one", skip, OutcomeUnknownError, "GET POST GET",
         get=[plan(end_date="2019-03-22"), plan("t", **ENDED, end_date="2019-03-22")], post=[LOST]),
    case("a deferral ends nothing", defer, OutcomeUnknownError, "GET POST GET",
         get=[plan(end_date="2019-03-22"), plan(**ENDED, end_date="2019-03-22")], post=[LOST]),
    case("the dates of another recurring are not compared", skip, (NotSentError, "id is 'another'"), "GET",
         get=[plan(id="another")]),
    case("a refusal is checked, because a proxy may have sent the request twice", skip, ValidationError,
         "GET POST GET", get=[plan()], post=[refused(status="Skip Payment is not allowed when status is ended.")]),
    case("a plan may end when it is activated, as all its charges may be in the past",
         lambda g: g.recurrings.activate("r"), {"status": "ended"}, "POST GET",
         post=[plan(status="ended")], get=[plan(status="ended")]),
    case("a date that is set to null may come back as zeros", lambda g: g.recurrings.update("r", CHANGES),
         {"end_date": None}, "PUT GET",
         put=[LOST], get=[plan(end_date="0000-00-00", description="Rent", active="1")]),
]  # fmt: skip


@pytest.mark.parametrize("call", SKIPS)
async def test_requests_and_outcomes_of_changes(call: Case) -> None:
    await call.check()


async def test_paid_by_link() -> None:
    """The customer paid a declined charge by a link, so the date may have moved by the skip."""
    script = Script(get=[plan("t"), plan("t", "paid", next_run_date="2019-03-23")], post=[LOST])
    async with script.gateway(in_doubt_seconds=0.01) as gateway:
        error = await error_of(skip(gateway), OutcomeUnknownError)
        await error_of(error.resolve(wait=1.0), OutcomeUnknownError, match="by a charge or by this call")


async def test_fewer_intervals() -> None:
    """Two charges ran, and five were to skip; the end date tells about a deferral."""
    moved = plan("t", "u", "v", next_run_date="2019-04-23")
    for verb in ("skip", "defer"):
        script = Script(get=[plan("t"), moved], post=[LOST])
        async with script.gateway(in_doubt_seconds=0.01) as gateway:
            count = 5 if verb == "skip" else 1
            error = await error_of(getattr(gateway.recurrings, verb)("r", count), OutcomeUnknownError)
            assert await error.resolve(wait=1.0) is None


@pytest.mark.parametrize("verb", ["skip", "defer"])
async def test_old_response(verb: str) -> None:
    """A late response to the read shows the old dates; as for a lost one, the lookup finds what has moved."""
    operation, after = MOVED[verb]
    for response in (LOST, plan("t")):
        script = Script(get=[plan("t"), plan("t", **after)], post=[response])
        moved = await script.run(operation)
        assert {name: str(getattr(moved, name)) for name in after} == after
        assert script.methods == ["GET", "POST", "GET"]
    script = Script(get=[plan("t")], post=[plan("t")])
    await script.fail(operation, MismatchedWriteError, match="next_run_date is still 2019-02-23")
    assert script.methods.count("POST") == 1


# --- hold and activate

STATES = {"hold": ("placeOnHold", "on hold", "active"), "activate": ("activate", "active", "on hold")}


@pytest.mark.parametrize(("verb", "path", "done", "not_done"), [(name, *facts) for name, facts in STATES.items()])
async def test_lost_status(verb: str, path: str, done: str, not_done: str) -> None:
    """Setting a status twice has the same effect as setting it once."""
    script = Script(post=[LOST], get=[plan(status=done)])
    assert (await script.run(lambda g: getattr(g.recurrings, verb)("r"))).status == done
    assert [request.url.path for request in script.asked] == [f"/v2/recurrings/r/{path}", "/v2/recurrings/r"]
    assert script.asked[0].content == b""
    script = Script(post=[LOST, plan(status=done)], get=[plan(status=not_done)])
    assert (await script.run(lambda g: getattr(g.recurrings, verb)("r"))).status == done
    assert script.methods.count("POST") == 2


@pytest.mark.parametrize(
    ("verb", "done", "not_done"), [(name, done, not_done) for name, (_, done, not_done) in STATES.items()]
)
async def test_old_status(verb: str, done: str, not_done: str) -> None:
    """A late response to an earlier read shows it, so the status is read again."""
    script = Script(post=[plan(status=not_done)], get=[plan(status=done)])
    assert (await script.run(lambda g: getattr(g.recurrings, verb)("r"))).status == done
    script = Script(post=[plan(status=not_done)], get=[plan(status=not_done)])
    match = f"shows no effect of the call: status is '{not_done}'"
    await script.fail(lambda g: getattr(g.recurrings, verb)("r"), MismatchedWriteError, match=match)


@pytest.mark.parametrize(("verb", "path", "done", "not_done"), [(name, *facts) for name, facts in STATES.items()])
async def test_a_status_is_recognized_in_title_case(verb: str, path: str, done: str, not_done: str) -> None:
    script = Script(post=[plan(status=done.title())])
    assert (await script.run(lambda g: getattr(g.recurrings, verb)("r"))).status == done.title()
    assert [request.url.path for request in script.asked] == [f"/v2/recurrings/r/{path}"]
    script = Script(post=[plan(status=not_done.title())], get=[plan(status=not_done.title())])
    await script.fail(lambda g: getattr(g.recurrings, verb)("r"), MismatchedWriteError, match="shows no effect")


# --- update and delete


@pytest.mark.parametrize(
    "changes",
    [RecurringUpdate(account_vault_api_id="mine"), RecurringUpdate(recurring_api_id="mine", description="Rent")],
)
async def test_own_id(changes: RecurringUpdate) -> None:
    """Records may not show that id, so a read proves nothing. A second change has no further effect."""
    script = Script(put=[LOST], get=[plan(description="Rent")])
    async with script.gateway() as gateway:
        error = await error_of(gateway.recurrings.update("r", changes), OutcomeUnknownError)
        await error_of(error.resolve(wait=1000.0), OutcomeUnknownError)
        assert script.methods.count("PUT") == 3
        script.responses["put"] = [plan(description="Rent")]
        assert (await gateway.recurrings.update("r", changes)).id == "r"  # accepted, and contradicted by nothing


# --- what a ledger keeps


async def test_an_outcome_query_of_a_skip_outlives_the_process() -> None:
    script = LedgerScript(get=[plan("t"), plan("t")], post=[LOST])
    await script.fail(skip, OutcomeUnknownError)
    (intent,) = script.ledger.intents
    assert (intent.resource, intent.sent) == ("recurrings", {"skip_count": "1"})
    lookup = lookup_of(json.loads(json.dumps(intent.outcome_query)))
    assert lookup is not None
    after = json.loads(plan("t", next_run_date="2019-03-23").content)
    assert getattr(lookup.read(after).record, "next_run_date", None) == date(2019, 3, 23)


async def test_intent() -> None:
    """The list is read first, so that the intent contains the ids from before."""
    script = LedgerScript(get=[listed("recurrings", row("old"))], post=[LOST])
    await script.fail(create, OutcomeUnknownError)
    assert script.ledger.notes[0] == ("record_intent", 1)
    (intent,) = script.ledger.intents
    assert intent.sent["transaction_amount"] == "10.00"
    lookup = lookup_of(json.loads(json.dumps(intent.outcome_query)))
    assert lookup is not None
    after = json.loads(listed("recurrings", row("new"), row("old")).content)
    assert getattr(lookup.read(after).record, "id", None) == "new"


# --- calls of one client at the same time


async def test_equal_calls() -> None:
    """The second call reads the list after the first has ended, so the lost create does not find its recurring."""
    rows: list[dict[str, Any]] = []

    async def make(request: httpx.Request) -> httpx.Response:
        await anyio.sleep(0.1)
        rows.append(row("made", 200))
        return echo("recurring")(request)

    script = Script(get=[lambda _: listed("recurrings", *rows)], post=[LOST, make])
    ends: list[Any] = []

    async def end(gateway: Any) -> None:
        try:
            ends.append((await create(gateway)).id)
        except OutcomeUnknownError as error:
            ends.append(error)

    async with script.gateway() as gateway, anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(end, gateway)
    assert isinstance(ends[0], OutcomeUnknownError)
    assert ends[1:] == ["made"]


async def test_waiting_call() -> None:
    """A call waits for an equal one up to its `timeout`, and then is not sent."""
    script = Script(get=[plan()], post=[silent])
    async with script.gateway(timeout=60) as gateway:
        with anyio.move_on_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(skip, gateway)
                await anyio.sleep(0.1)
                await error_of(
                    gateway.with_options(timeout=1).recurrings.skip("r"),
                    NotSentError,
                    match="another call of this client",
                )
                tasks.cancel_scope.cancel()
    assert script.methods.count("POST") == 1
